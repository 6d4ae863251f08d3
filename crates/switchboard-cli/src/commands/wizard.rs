//! The questions of `add` without a name.

use switchboard::config::validate;

use super::connection;
use crate::args::{Add, ScopeArg, TransportArg};
use crate::ask::Ask;
use crate::complete::line;
use crate::error::CommandError;

const KINDS: [&str; 3] = [
    "a command on this machine (stdio)",
    "an address (Streamable HTTP)",
    "an address (older: HTTP with SSE)",
];
const SCOPES: [&str; 2] = ["this project", "me, in every project"];

/// Asks for what is needed to add a server.
pub(crate) fn ask(ask: Ask<'_>, add: Add) -> Result<Add, CommandError> {
    connection::block_on(questions(ask, add))?
}

async fn questions(ask: Ask<'_>, mut add: Add) -> Result<Add, CommandError> {
    let check = |name: &str| validate::name(name).map_err(str::to_owned);
    add.name = Some(ask.text("Name of the server:", check).await?);
    // What was given on the command line is not asked again.
    if add.url.is_some() || !add.command.is_empty() {
        return Ok(add);
    }
    match ask.one("What is it?", &KINDS).await? {
        0 => {
            let check = |line: &str| not_blank(line).and_then(|()| words(line).map(drop));
            let line = ask.text("Command line:", check).await?;
            add.command = words(&line).map_err(|reason| CommandError::usage("usage", reason))?;
            add.env.extend(several(ask, "Variable NAME=VALUE (empty to go on):", '=').await?);
        }
        kind => {
            add.transport = Some(if kind == 2 { TransportArg::Sse } else { TransportArg::Http });
            add.url = Some(ask.text("Address:", not_blank).await?);
            add.headers.extend(several(ask, "Header NAME: VALUE (empty to go on):", ':').await?);
        }
    }
    if add.scope.is_none() {
        let chosen = ask.one("For whom?", &SCOPES).await?;
        add.scope = Some(if chosen == 1 { ScopeArg::User } else { ScopeArg::Project });
    }
    Ok(add)
}

fn not_blank(text: &str) -> Result<(), String> {
    if text.trim().is_empty() { Err("This cannot be empty".to_owned()) } else { Ok(()) }
}

/// Answers until an empty one.
async fn several(ask: Ask<'_>, question: &str, separator: char) -> Result<Vec<String>, CommandError> {
    let mut answers = Vec::new();
    loop {
        let check = move |text: &str| {
            let is_right = text.is_empty() || text.contains(separator);
            if is_right { Ok(()) } else { Err(format!("There must be a `{separator}` in it")) }
        };
        match ask.text(question, check).await? {
            answer if answer.is_empty() => return Ok(answers),
            answer => answers.push(answer),
        }
    }
}

/// The words of a command line, as a shell splits them.
fn words(line: &str) -> Result<Vec<String>, String> {
    line::words(line).ok_or_else(|| "a quotation mark is not closed in the command line".to_owned())
}
