//! `add`: writes a new server into a file of ours. What the user adds is trusted as it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use switchboard::config::edit::{EditError, IfExists};
use switchboard::config::file::ServerEntry;
use switchboard::config::write::{self, Privacy};
use switchboard::config::{Approvals, Approved, Because, ServerSpec, definition, schema, validate};
use switchboard::declared::{Declared, Limit, Remote, TransportName};
use switchboard::sources::read;
use switchboard::template::{Syntax, Template};
use switchboard::visible::{excerpt, shell_word};
use switchboard::{Scope, redact, resolve};
use url::{Host, Url};

use super::{Context, Outcome, login, own_file, trust, unread, wizard};
use crate::args::{Add, ScopeArg, TransportArg};
use crate::error::CommandError;

pub(super) fn run(context: &Context, add: Add) -> Result<Outcome, CommandError> {
    let add = match &add.name {
        Some(_) => add,
        None if context.can_ask() => wizard::ask(context.ask(), add)?,
        None => {
            return Err(CommandError::usage("usage", "a name is needed where nobody can be asked")
                .hint("switchboard add NAME -- COMMAND, or switchboard add NAME --url URL"));
        }
    };
    let path = write(context, &add)?;
    let name = add.name.as_deref().unwrap_or_default();
    context.printer.remark(&format!("Try it: switchboard test {name}"));
    if add.url.is_some() && add.token.is_none() && add.headers.is_empty() {
        login::welcome(context, name, &path);
    }
    Ok(Outcome::Done)
}

/// Writes a server that was typed, says so, and gives the file.
pub(crate) fn write(context: &Context, add: &Add) -> Result<PathBuf, CommandError> {
    let name = add.name.clone().unwrap_or_default();
    let spec = spec(&name, add)?;
    let entry = ServerEntry::from_spec(&spec).map_err(|inexpressible| {
        let what = format!("`{}` holds a placeholder that cannot be kept", inexpressible.field);
        CommandError::usage("invalid-server", what)
    })?;
    let discovery = context.discover();
    let target = add.scope.unwrap_or(ScopeArg::Project);
    let (path, file) = own_file(context, &discovery, target);
    let if_exists = if add.replace { IfExists::Replace } else { IfExists::Refuse };
    let replaced = read::text(&path).is_ok_and(|text| file.has(text.as_deref(), &name));
    file.add(&name, &entry, if_exists)?;
    write_schema(&path, target);
    approve(context, &[&name], target, &path)?;
    let warnings: Vec<Warning> = [
        secret_warning(&spec, target),
        mode_warning(&spec, target, &path),
        shadow_warning(context, &name, &path),
    ]
    .into_iter()
    .flatten()
    .collect();
    if context.printer.json {
        let messages: Vec<_> = warnings.iter().map(|warning| &warning.message).collect();
        let scope = scope(target).as_str();
        let report = serde_json::json!({"name": name, "scope": scope, "path": path, "warnings": messages});
        context.printer.json(&report)?;
    }
    let shown = context.env.display(&path);
    let done =
        if replaced { format!("Replaced `{name}` in {shown}") } else { format!("Added `{name}` to {shown}") };
    context.printer.remark(&done);
    for warning in warnings {
        warning.say(context);
    }
    Ok(path)
}

/// Something to know about what was just written.
pub(super) struct Warning {
    message: String,
    hint: String,
}

impl Warning {
    pub(super) fn say(&self, context: &Context) {
        context.printer.remark(&format!("warning: {}", self.message));
        context.printer.remark(&format!("  hint: {}", self.hint));
    }
}

pub(super) const fn scope(scope: ScopeArg) -> Scope {
    match scope {
        ScopeArg::User => Scope::User,
        ScopeArg::Project => Scope::Project,
    }
}

/// The server that was typed, checked like one that was read.
pub(super) fn spec(name: &str, add: &Add) -> Result<ServerSpec, CommandError> {
    if add.url.is_some() && !add.command.is_empty() {
        return Err(CommandError::usage("usage", "Use either --url or -- <command...>, not both."));
    }
    if add.token.is_some() && add.url.is_none() {
        return Err(CommandError::usage("usage", "--token requires --url (HTTP/SSE transport)."));
    }
    if !add.headers.is_empty() && add.url.is_none() {
        return Err(CommandError::usage("usage", "--header requires --url (HTTP/SSE transport)."));
    }
    if !add.env.is_empty() && add.url.is_some() {
        return Err(CommandError::usage("usage", "--env requires -- <command...> (stdio transport)."));
    }
    validate::name(name).map_err(EditError::Name)?;
    let mut declared = Declared::empty(Remote::Http);
    declared.transport = match add.transport {
        Some(TransportArg::Http) => Some(TransportName::Remote(Remote::Http)),
        Some(TransportArg::Sse) => Some(TransportName::Remote(Remote::Sse)),
        None => None,
    };
    let mut words = add.command.iter().map(|word| template(word));
    declared.command = words.next().filter(|command| !command.raw().trim().is_empty());
    declared.args = words.collect();
    declared.url = add.url.as_deref().map(template);
    for pair in &add.env {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            CommandError::usage("usage", "--env needs NAME=VALUE").hint("for example --env PORT=8080")
        })?;
        declared.env.push((key.to_owned(), template(value)));
    }
    for header in &add.headers {
        let (key, value) = header.split_once(':').ok_or_else(|| {
            CommandError::usage("usage", "--header needs 'NAME: VALUE'")
                .hint("for example --header 'X-Team: blue'")
        })?;
        declared.headers.push((key.trim().to_owned(), template(value.trim())));
    }
    if let Some((name, _)) = declared.headers.iter().find(|(name, _)| {
        declared.headers.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).count() > 1
            || (add.token.is_some() && name.eq_ignore_ascii_case("authorization"))
    }) {
        return Err(CommandError::usage("usage", format!("the header {name} is given more than once")));
    }
    if let Some((name, _)) = declared
        .env
        .iter()
        .find(|(name, _)| declared.env.iter().filter(|(other, _)| other == name).count() > 1)
    {
        return Err(CommandError::usage("usage", format!("the variable {name} is given more than once")));
    }
    if let Some(token) = &add.token {
        declared.headers.push(("Authorization".to_owned(), template(&format!("Bearer {token}"))));
    }
    declared.conduct.timeout = add.timeout.map(Limit::from_millis);
    validate::server(name, declared).map_err(|reasons| {
        let error = CommandError::from(EditError::Invalid { name: name.to_owned(), reasons });
        if add.url.is_none() && add.command.is_empty() {
            return error.hint(format!(
                "say what to run: switchboard add {name} -- COMMAND, \
                 or where it is: switchboard add {name} --url URL"
            ));
        }
        match add.url.as_deref().and_then(whole_address) {
            Some(url) => error.hint(format!("did you mean {url}?")),
            None => error,
        }
    })
}

/// What an address without a scheme is probably meant to be, as it may be shown.
fn whole_address(text: &str) -> Option<String> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "\\{}".contains(c);
    if text.contains("://") || text.starts_with('/') || text.contains(is_odd) {
        return None;
    }
    let url = Url::parse(&format!("https://{text}")).ok()?;
    let host = url.host()?;
    let is_here = match &host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    // A mere word is no host, and what stands before an `@` may as well be another scheme.
    let is_host = is_here || url.port().is_some() || host.to_string().contains(['.', ':']);
    if !is_host || url.port() == Some(0) || text.contains('@') {
        return None;
    }
    let scheme = if is_here { "http" } else { "https" };
    Some(redact::url(&format!("{scheme}://{text}")))
}

fn template(text: &str) -> Template {
    Template::parse(text, Syntax::Braced)
}

/// What a user adds is approved as it now stands in the file, in either scope, until it changes.
pub(super) fn approve(
    context: &Context,
    names: &[&str],
    scope: ScopeArg,
    path: &Path,
) -> Result<(), CommandError> {
    // Our own user file needs no approval.
    if scope == ScopeArg::User {
        return Ok(());
    }
    let discovery = context.discover();
    let winners = discovery.servers.iter().map(|server| (&server.name, &server.origin, &server.definition));
    let aside = discovery.shadowed.iter().map(|aside| (&aside.name, &aside.origin, &aside.definition));
    let source = path.display().to_string();
    let mut new = Vec::new();
    for name in names {
        // Of a key that stands twice, only the definition that counts was written by us.
        let mut definitions = winners.clone().chain(aside.clone());
        let ours =
            definitions.find(|(other, origin, _)| other == name && origin.path.as_deref() == Some(path));
        let Some((_, origin, Ok(spec))) = ours else {
            // Whoever was told that it was added would wonder why it does not start.
            if let Some(error) = unread(&discovery, name) {
                let hint =
                    format!("approve it when the file can be read: switchboard trust {}", shell_word(name));
                return Err(error.reworded(|why| format!("not approved: {why}")).hint(hint));
            }
            continue;
        };
        let others: BTreeMap<String, Approved> = winners
            .clone()
            .chain(aside.clone())
            .filter(|(other, ..)| other != name)
            .filter_map(|(other, origin, spec)| {
                let hash = definition::hash(spec.as_ref().ok()?, origin, &discovery.project);
                Some((hash, Approved { server: other.clone(), source: trust::source(origin) }))
            })
            .collect();
        // What stood there before is no longer agreed to.
        Approvals::remove_from(&context.env, name, &source, &others)?;
        let approved = Approved { server: (*name).to_owned(), source: source.clone() };
        new.push((definition::hash(spec, origin, &discovery.project), approved));
    }
    if new.is_empty() {
        return Ok(());
    }
    Ok(Approvals::add(&context.env, &new)?)
}

/// The schema that the file refers to. Editors miss it if it cannot be written; nothing else does.
pub(super) fn write_schema(path: &Path, scope: ScopeArg) {
    let beside = path.with_file_name(schema::FILE_REFERENCE.trim_start_matches("./"));
    let refers = std::fs::read_to_string(path).is_ok_and(|text| text.contains(schema::FILE_REFERENCE));
    // Only a copy of ours is replaced: whatever else stands there is none of our business.
    let is_free = match beside.symlink_metadata() {
        Ok(there) => {
            there.is_file() && std::fs::read_to_string(&beside).is_ok_and(|text| text.contains(schema::TITLE))
        }
        Err(_) => true,
    };
    if !refers || !is_free {
        return;
    }
    let privacy = if scope == ScopeArg::User { Privacy::Private } else { Privacy::Shared };
    let text = format!("{:#}\n", schema::mcp_file().to_value());
    drop(write::update::<write::WriteError>(&beside, privacy, |_| Ok(text.clone())));
}

/// A secret in a file that others get to see.
pub(super) fn secret_warning(spec: &ServerSpec, scope: ScopeArg) -> Option<Warning> {
    let fields = clear_fields(spec).filter(|_| scope == ScopeArg::Project)?;
    Some(Warning {
        message: format!("{fields} in clear text in a file that is shared with the project"),
        hint: "use --scope user, or a placeholder such as '${TOKEN}'".to_owned(),
    })
}

/// Which fields hold a secret in clear text, if any, as the beginning of a sentence.
fn clear_fields(spec: &ServerSpec) -> Option<String> {
    let fields = resolve::clear_secrets(spec);
    let stand = if fields.len() == 1 { "stands" } else { "stand" };
    (!fields.is_empty()).then(|| format!("{} now {stand}", quoted(&fields)))
}

/// Fields in a sentence.
pub(super) fn quoted(fields: &[String]) -> String {
    fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")
}

/// A secret in a file of the user's that others on the machine may read.
#[cfg(unix)]
fn mode_warning(spec: &ServerSpec, scope: ScopeArg, path: &Path) -> Option<Warning> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    let fields = clear_fields(spec).filter(|_| scope == ScopeArg::User && mode & 0o077 != 0)?;
    Some(Warning {
        message: format!("{fields} in clear text in a file that others on this machine may read"),
        hint: format!("chmod 600 {}", path.display()),
    })
}

#[cfg(not(unix))]
fn mode_warning(_spec: &ServerSpec, _scope: ScopeArg, _path: &Path) -> Option<Warning> {
    None
}

/// The new definition may not be the one that counts, or may be the reason that another one no longer does.
fn shadow_warning(context: &Context, name: &str, path: &Path) -> Option<Warning> {
    let discovery = context.discover();
    let counts = discovery.server(name).is_some_and(|server| server.origin.path.as_deref() == Some(path));
    let same = discovery.shadowed.iter().find_map(|aside| match &aside.because {
        Because::Duplicate(of, _) if of == name || aside.name == name => {
            Some((aside.name.as_str(), of.as_str()))
        }
        _ => None,
    });
    let (message, why) = match same {
        Some((aside, of)) if counts || aside == name => {
            let (aside, of) = (excerpt(aside, 60), excerpt(of, 60));
            let message = format!("`{aside}` is the same connection as `{of}`, which is used instead");
            (message, aside)
        }
        _ if counts => return None,
        _ => (format!("another definition of `{name}` counts"), name.to_owned()),
    };
    Some(Warning { message, hint: format!("switchboard why {}", shell_word(&why)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_its_scheme_is_completed() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(whole_address(text).as_deref(), expected, "{text}");
        };
        check("foo.com/mcp", Some("https://foo.com/mcp"));
        check("foo.com:8443/mcp?key=hunter2", Some("https://foo.com:8443/mcp?key=***"));
        check("host:8443", Some("https://host:8443"));
        check("localhost:3000/mcp", Some("http://localhost:3000/mcp"));
        check("127.0.0.1/mcp", Some("http://127.0.0.1/mcp"));
        check("[::1]:3000", Some("http://[::1]:3000"));
        for odd in [
            "",
            "foo",
            "foo/mcp",
            "ftp://foo.com",
            "/srv/foo.sock",
            "foo.com/a b",
            "foo.com:0/",
            "mailto:me@foo.com",
            "me:hunter2@foo.com",
            "javascript:alert(1)",
            "{HOST}.com/mcp",
        ] {
            check(odd, None);
        }
    }
}
