//! From what a file declares to what one could connect to. The texts are a contract.

use super::spec::{Endpoint, ServerSpec, Stdio, Transport};
use crate::declared::{Declared, Remote, TransportName};
use crate::template::Template;
use crate::visible::excerpt;

/// Longest name we write.
const MAX_NAME_CHARS: usize = 100;

/// Checks a name we are about to write.
pub fn name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("Server name cannot be empty");
    }
    if name.chars().count() > MAX_NAME_CHARS {
        return Err("Server name is too long (max 100 characters)");
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')) {
        return Err("Server name can only contain letters, numbers, dash, underscore, and dot");
    }
    Ok(())
}

/// Checks a declaration; every reason that applies is given.
pub fn server(name: &str, declared: Declared) -> Result<ServerSpec, Vec<String>> {
    let mut reasons = Reasons { name, list: Vec::new() };
    if name.is_empty() {
        reasons.list.push("Server name cannot be empty".to_owned());
    }
    let is_set = |field: &Option<Template>| field.as_ref().is_some_and(is_not_blank);
    if is_set(&declared.command) && is_set(&declared.url) {
        reasons.add(format_args!(
            "both \"command\" and \"url\" are set - server should be either stdio (command) OR http/sse (url), not both"
        ));
    }
    let Declared {
        transport,
        bare_url,
        command,
        args,
        env,
        env_file,
        cwd,
        inherit_env,
        url,
        headers,
        conduct,
    } = declared;
    let kind = match transport {
        Some(TransportName::Remote(kind)) => Some(kind),
        Some(TransportName::Unknown(word)) => {
            reasons.add(format_args!("unknown server type \"{}\"", excerpt(&word, 60)));
            return Err(reasons.list);
        }
        None if !is_set(&command) && url.is_some() => Some(bare_url),
        Some(TransportName::Stdio) | None => None,
    };
    let transport = match (kind, command.filter(is_not_blank), url.filter(is_not_blank)) {
        (None, Some(command), _) => {
            let words = std::iter::once(&command).chain(&args).chain(&cwd).chain(&env_file);
            check_stdio(words, &env, &mut reasons);
            Transport::Stdio(Stdio { command, args, env, env_file, cwd, inherit_env })
        }
        (None, None, _) => {
            reasons.add(format_args!("stdio server requires \"command\" field"));
            return Err(reasons.list);
        }
        (Some(kind), _, Some(url)) => {
            check_url(&url, &mut reasons);
            check_headers(&headers, &mut reasons);
            Transport::Remote(Endpoint { kind, url, headers })
        }
        (Some(kind), _, None) => {
            let word = if kind == Remote::Sse { "sse" } else { "http" };
            reasons.add(format_args!("{word} server requires \"url\" field"));
            return Err(reasons.list);
        }
    };
    if reasons.list.is_empty() { Ok(ServerSpec { transport, conduct }) } else { Err(reasons.list) }
}

/// What is wrong with a server; its name is put before each reason.
struct Reasons<'n> {
    name: &'n str,
    list: Vec<String>,
}

impl Reasons<'_> {
    fn add(&mut self, reason: std::fmt::Arguments<'_>) {
        self.list.push(format!("Server \"{}\": {reason}", excerpt(self.name, 100)));
    }
}

fn is_not_blank(text: &Template) -> bool {
    !text.raw().trim().is_empty()
}

fn check_stdio<'t>(
    mut words: impl Iterator<Item = &'t Template>,
    env: &[(String, Template)],
    reasons: &mut Reasons<'_>,
) {
    if words.next().is_some_and(|command| command.raw().contains(['\0', '\n', '\r'])) {
        reasons.add(format_args!("\"command\" has a line break or NUL in it"));
    }
    if words.any(|word| word.raw().contains('\0')) {
        reasons.add(format_args!("an argument or directory has a NUL in it"));
    }
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) {
            reasons.add(format_args!("\"{}\" cannot be the name of a variable", excerpt(name, 60)));
        }
        if value.raw().contains('\0') {
            reasons.add(format_args!("the value of \"env.{}\" has a NUL in it", excerpt(name, 60)));
        }
    }
}

/// Structure only, and only as far as there is no placeholder in the way.
fn check_url(url: &Template, reasons: &mut Reasons<'_>) {
    let raw = url.raw();
    if !url.is_plain() {
        return;
    }
    let mut refuse = |what: &str| reasons.add(format_args!("\"url\" {what}"));
    let rest = match raw.split_once("://") {
        Some((scheme, rest))
            if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") =>
        {
            rest
        }
        _ => return refuse("must start with http:// or https://"),
    };
    if raw.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
        return refuse("has a blank, control character or backslash in it");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host_port = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match host_port.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (host_port, None),
    };
    let is_ipv6 = host.starts_with('[') && host.ends_with(']');
    if !is_ipv6 && host.contains(['[', ']', ':']) {
        return refuse("has a host that is not one; an IPv6 address stands in [ ]");
    }
    if host.is_empty() {
        return refuse("has no host in it");
    }
    if port.is_some_and(|port| !port.parse::<u16>().is_ok_and(|port| port != 0)) {
        refuse("has a port that is not a number from 1 to 65535");
    }
}

fn check_headers(headers: &[(String, Template)], reasons: &mut Reasons<'_>) {
    for (name, value) in headers {
        let shown = excerpt(name, 60);
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(is_token) {
            reasons.add(format_args!("\"{shown}\" cannot be the name of a header"));
        } else if is_reserved(name) {
            reasons
                .add(format_args!("the header \"{shown}\" is set by the protocol and cannot be configured"));
        }
        if value.raw().contains(['\r', '\n', '\0']) {
            reasons.add(format_args!("the value of the header \"{shown}\" has a line break or NUL in it"));
        }
    }
}

fn is_reserved(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    matches!(
        header.as_str(),
        "host" | "content-length" | "transfer-encoding" | "connection" | "content-type" | "accept"
    ) || header.starts_with("mcp-")
        || header == "last-event-id"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared() -> Declared {
        Declared::empty(Remote::Http)
    }

    fn check(declared: Declared, expected: Result<&str, &[&str]>) {
        match (server("x", declared), expected) {
            (Ok(spec), Ok(transport)) => assert_eq!(spec.transport.as_str(), transport),
            (Err(reasons), Err(expected)) => assert_eq!(reasons, expected),
            (got, expected) => panic!("{got:?} is not {expected:?}"),
        }
    }

    #[test]
    fn the_transport_is_inferred() {
        let command = Some(Template::plain("npx"));
        let url = Some(Template::plain("https://x.dev/mcp"));
        check(Declared { command: command.clone(), ..declared() }, Ok("stdio"));
        check(Declared { url: url.clone(), ..declared() }, Ok("http"));
        check(Declared { url: url.clone(), ..Declared::empty(Remote::Sse) }, Ok("sse"));
        let sse = Some(TransportName::Remote(Remote::Sse));
        check(Declared { url: url.clone(), transport: sse.clone(), ..declared() }, Ok("sse"));
        check(declared(), Err(&["Server \"x\": stdio server requires \"command\" field"]));
        check(
            Declared { transport: sse, ..declared() },
            Err(&["Server \"x\": sse server requires \"url\" field"]),
        );
        check(
            Declared { transport: Some(TransportName::Remote(Remote::Http)), ..declared() },
            Err(&["Server \"x\": http server requires \"url\" field"]),
        );
        check(
            Declared { command, url, ..declared() },
            Err(&[
                "Server \"x\": both \"command\" and \"url\" are set - server should be either stdio (command) OR http/sse (url), not both",
            ]),
        );
        check(
            Declared { transport: Some(TransportName::Unknown("ws".to_owned())), ..declared() },
            Err(&["Server \"x\": unknown server type \"ws\""]),
        );
    }

    #[test]
    fn names_we_write_follow_the_rule() {
        assert_eq!(name("my-server_1.x"), Ok(()));
        assert_eq!(name(""), Err("Server name cannot be empty"));
        assert_eq!(name(&"a".repeat(101)), Err("Server name is too long (max 100 characters)"));
        // The order is part of the contract: length before characters.
        assert_eq!(name(&"ä".repeat(101)), Err("Server name is too long (max 100 characters)"));
        for bad in ["a b", "a/b", "ä", "a\u{202e}", "a\n"] {
            assert_eq!(
                name(bad),
                Err("Server name can only contain letters, numbers, dash, underscore, and dot")
            );
        }
    }

    #[test]
    fn addresses_are_checked_as_far_as_they_are_known() {
        let check_url = |url: &str, reason: Option<&str>| {
            let declared =
                Declared { url: Some(Template::parse(url, crate::template::Syntax::Braced)), ..declared() };
            let got = server("x", declared).err().map(|reasons| reasons.join("; "));
            assert_eq!(
                got.as_deref(),
                reason.map(|reason| format!("Server \"x\": \"url\" {reason}")).as_deref(),
                "{url}"
            );
        };
        for good in
            ["https://x.dev", "HTTP://X.dev/", "http://[::1]:80/mcp", "${BASE}/mcp", "https://a:b@x.dev/?q#f"]
        {
            check_url(good, None);
        }
        check_url("x.dev/mcp", Some("must start with http:// or https://"));
        check_url("file:///etc/passwd", Some("must start with http:// or https://"));
        check_url("javascript:alert(1)", Some("must start with http:// or https://"));
        check_url("https://", Some("has no host in it"));
        check_url("https://x.dev:0/", Some("has a port that is not a number from 1 to 65535"));
        check_url("https://x.dev:99999/", Some("has a port that is not a number from 1 to 65535"));
        check_url("https://x.dev/a b", Some("has a blank, control character or backslash in it"));
    }
}
