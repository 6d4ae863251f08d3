//! Secrets that stand in clear text.

use crate::config::{Field, ServerSpec, Transport};
use crate::redact;
use crate::template::Template;
use crate::visible::visible;

/// The fields that hold a secret in clear text: under a telling name, after a telling option, looking like a key, in
/// the query of an address or as its password.
pub fn clear_secrets(spec: &ServerSpec) -> Vec<String> {
    let shown_args = match &spec.transport {
        Transport::Stdio(stdio) => redact::args(&stdio.args),
        Transport::Remote(_) => Vec::new(),
    };
    let is_hidden = |field: Field<'_>, raw: &str| match field {
        // Whether it is one may be told by the argument before it.
        Field::Arg(index) => shown_args.get(index).is_some_and(|shown| *shown != visible(raw)),
        // All of its query is hidden, secret or not.
        Field::Url => false,
        Field::Command | Field::Env(_) | Field::EnvFile | Field::Cwd | Field::Header(_) | Field::OAuth(_) => {
            redact::word(raw) != visible(raw)
        }
    };
    let is_secret = |field: Field<'_>, value: &Template| {
        let raw = value.raw();
        let literal = value.is_plain() && value.shell_command().is_none() && !raw.is_empty();
        let by_itself =
            field.name().is_some_and(redact::is_telling) || is_hidden(field, raw) || has_password(raw);
        (literal && by_itself) || (field == Field::Url && has_telling_query(value))
    };
    let values = spec.values().into_iter();
    values.filter(|(field, value)| is_secret(*field, value)).map(|(field, _)| field.to_string()).collect()
}

/// `?name=value` with a value that is a secret by its name or by its look, and no placeholder.
fn has_telling_query(address: &Template) -> bool {
    let whole = address.raw().split('#').next().unwrap_or_default();
    let Some((_, query)) = whole.split_once('?') else { return false };
    let is_literal = |value: &str| !value.is_empty() && (address.is_plain() || !value.contains(['$', '{']));
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.any(|(name, value)| {
        is_literal(value) && (redact::is_telling(name) || redact::word(value) == redact::STARS)
    })
}

/// `scheme://user:password@host`.
fn has_password(text: &str) -> bool {
    let authority =
        text.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    authority.and_then(|authority| authority.rsplit_once('@')).is_some_and(|(user, _)| user.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Endpoint, Stdio};
    use crate::declared::{Conduct, InheritEnv, Remote};
    use crate::template::Syntax;

    fn found(transport: Transport) -> Vec<String> {
        clear_secrets(&ServerSpec { transport, conduct: Conduct::default() })
    }

    #[test]
    fn arguments_are_judged_by_the_option_before_them() {
        let check = |args: &[&str], expected: &[&str]| {
            let parse = |text: &&str| Template::parse(*text, Syntax::Braced);
            let stdio = Stdio {
                command: Template::plain("sh"),
                args: args.iter().map(parse).collect(),
                env: vec![("API_TOKEN".to_owned(), Template::plain("!pass token"))],
                env_file: None,
                cwd: None,
                inherit_env: InheritEnv::Safe,
            };
            assert_eq!(found(Transport::Stdio(stdio)), expected, "{args:?}");
        };
        check(&["--api-key", "hunter2", "--port", "80"], &["args[1]"]);
        check(&["--api-key=hunter2", "-y", "--token", "hunter2"], &["args[0]", "args[3]"]);
        check(&["--api-key", "${KEY}", "--token=${TOKEN}"], &[]);
        check(&["--token", "--verbose", "-y", "server"], &[]);
    }

    #[test]
    fn the_query_of_an_address_may_hold_one() {
        let check = |url: &str, expected: &[&str]| {
            let url = Template::parse(url, Syntax::Braced);
            let endpoint = Endpoint { kind: Remote::Http, url, headers: Vec::new() };
            assert_eq!(found(Transport::Remote(endpoint)), expected);
        };
        for secret in ["api_key=hunter2", "token=hunter2", "a=b&key=hunter2", "x=ghp_exampleexampleexample"] {
            check(&format!("https://x.dev/mcp?{secret}"), &["url"]);
            check(&format!("https://${{HOST}}/mcp?{secret}#a"), &["url"]);
        }
        for fine in ["", "tools=a", "key=${KEY}", "token=", "a=b#token=c"] {
            check(&format!("https://x.dev/mcp?{fine}"), &[]);
        }
        check("https://me:hunter2@x.dev/mcp", &["url"]);
    }
}
