//! What lets clients in: made here, or given by argument, file or variable. One that was given is never shown again.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use switchboard::env::SWITCHBOARD_GATEWAY_TOKEN;
use switchboard_gateway::Edge;

use super::super::Context;
use crate::args::Serve;
use crate::error::{CommandError, Kind};

/// The longest one that is taken.
const LONGEST: u64 = 4096;

/// A token, and where it is from.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) from: From,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Made,
    /// Others on this machine see it in the list of processes.
    Argument,
    Hidden,
}

/// The token clients need, if they need one.
pub(super) fn choose(context: &Context, serve: &Serve) -> Result<Option<Token>, CommandError> {
    let (text, from) = match (&serve.token, &serve.token_file) {
        (Some(None), _) => (made()?, From::Made),
        (Some(Some(text)), _) => (text.clone(), From::Argument),
        (None, Some(path)) => (read(context, path)?, From::Hidden),
        (None, None) => match context.env.var(SWITCHBOARD_GATEWAY_TOKEN) {
            Some(text) if serve.http.is_some() => (text.to_owned(), From::Hidden),
            _ => return Ok(None),
        },
    };
    let text = text.trim().to_owned();
    // Anything else could not be sent in a header, or would be taken apart there.
    if text.is_empty() || !text.chars().all(|c| c.is_ascii_graphic()) {
        let message = "the token has to be a word of letters, digits and signs, and not empty";
        return Err(CommandError::usage("bad-token", message)
            .hint("switchboard serve --http --token makes one and prints it"));
    }
    Ok(Some(Token { text, from }))
}

fn made() -> Result<String, CommandError> {
    Edge::new_token().ok_or_else(|| {
        CommandError::new(
            Kind::Failed,
            "no-random-numbers",
            "no token can be made: no random numbers can be had",
        )
    })
}

/// What is in a file that only we may read.
fn read(context: &Context, path: &Path) -> Result<String, CommandError> {
    let path = context.env.absolute(path);
    let shown = context.env.display(&path);
    let cannot =
        |why: String| CommandError::usage("token-file", format!("cannot use the token in {shown}: {why}"));
    let file = File::open(&path).map_err(|error| {
        cannot(error.to_string()).hint("name a file that holds the token; --token without a value makes one")
    })?;
    let metadata = file.metadata().map_err(|error| cannot(error.to_string()))?;
    if is_open_to_others(&metadata) {
        return Err(cannot("others can read the file".to_owned()).hint(format!("chmod 600 {shown}")));
    }
    let mut text = String::new();
    let read = file.take(LONGEST + 1).read_to_string(&mut text);
    read.map_err(|error| cannot(error.to_string()))?;
    if text.len() as u64 > LONGEST {
        return Err(cannot(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(text)
}

#[cfg(unix)]
fn is_open_to_others(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o077 != 0
}

// Elsewhere the home directory is closed to others by itself.
#[cfg(not(unix))]
fn is_open_to_others(_metadata: &std::fs::Metadata) -> bool {
    false
}
