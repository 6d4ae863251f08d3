//! `enable` and `disable`: in the file that owns the server, if it is ours; else in our user file.

use switchboard::config::edit::OwnFile;
use switchboard::declared::{Conduct, Switch};
use switchboard::sources::places;
use switchboard::visible::shell_word;
use switchboard::{Origin, Provider, Server, State};

use super::{Context, Outcome, online, privacy, unknown_server};
use crate::error::CommandError;

pub(super) use Switch::{Off, On};

pub(super) fn run(context: &Context, name: &str, to: Switch) -> Result<Outcome, CommandError> {
    let discovery = context.discover();
    let word = if to == On { "enabled" } else { "disabled" };
    let (origin, conduct, now) = if let Some(server) = discovery.server(name) {
        (&server.origin, conduct(server), Some(server.switch))
    } else if let Some(aside) = discovery.shadowed.iter().find(|aside| aside.name == name) {
        // A duplicate has no state of its own, but it can be switched off.
        let conduct = aside.definition.as_ref().map(|spec| spec.conduct.clone()).unwrap_or_default();
        (&aside.origin, conduct, None)
    } else {
        online::say_what_is_lost(context, &discovery);
        return Err(unknown_server(&discovery, name));
    };
    if now == Some(to) {
        context.printer.remark(&format!("`{name}` is already {word}"));
        return done(context, name, word);
    }
    let written = write(context, name, to, origin, &conduct)?;
    context.printer.remark(&format!("`{name}` is now {word} ({})", context.env.display(&written)));
    if to == On && context.discover().server(name).is_some_and(|server| server.state() == State::Untrusted) {
        context
            .printer
            .remark(&format!("It waits for your approval: switchboard trust {}", shell_word(name)));
    }
    done(context, name, word)
}

fn done(context: &Context, name: &str, word: &str) -> Result<Outcome, CommandError> {
    if context.printer.json {
        context.printer.json(&serde_json::json!({"name": name, "state": word}))?;
    }
    Ok(Outcome::Done)
}

/// What its own tool says of it.
fn conduct(server: &Server) -> Conduct {
    let conduct = server.definition.as_ref().map(|spec| spec.conduct.clone()).unwrap_or_default();
    Conduct { enabled: server.switch_of_tool, ..conduct }
}

fn write(
    context: &Context,
    name: &str,
    to: Switch,
    origin: &Origin,
    conduct: &Conduct,
) -> Result<std::path::PathBuf, CommandError> {
    let user_path = places::user_file(&context.env);
    let user_file = OwnFile::new(&user_path, privacy(switchboard::Scope::User));
    match &origin.path {
        Some(path) if origin.provider.is_ours() => {
            // All of it or nothing, where it is one file.
            if **path == *user_path && conduct.enabled != to {
                user_file.switch_here(name, to)?;
                return Ok(user_path);
            }
            // A switch in the user's list would count more than the entry.
            if user_path.try_exists().unwrap_or(true) {
                let agreed = Conduct { enabled: to, ..conduct.clone() };
                user_file.switch_foreign(name, to, &agreed)?;
            }
            if conduct.enabled != to {
                OwnFile::new(path, privacy(origin.scope)).switch(name, to)?;
            }
            Ok(path.to_path_buf())
        }
        None if origin.provider == Provider::Environment => Err(CommandError::usage(
            "not-our-file",
            format!("Server \"{name}\" comes from SWITCHBOARD_MCP_SERVERS"),
        )
        .server(name)
        .hint("change the variable")),
        _ => {
            user_file.switch_foreign(name, to, conduct)?;
            Ok(user_path)
        }
    }
}
