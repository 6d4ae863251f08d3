//! `read`: one resource, from the server that has it.

use serde_json::json;
use switchboard::Explain;
use switchboard::calls::CallError;
use switchboard::offer::Body;
use switchboard::session::Session;
use switchboard::visible::visible;
use switchboard::wire::Cause;

use super::{Context, Outcome, online};
use crate::error::{CommandError, Kind};

pub(super) fn run(context: &Context, uri: &str, server: Option<&str>) -> Result<Outcome, CommandError> {
    let servers: Vec<String> = server.iter().map(|name| (*name).to_owned()).collect();
    online::check(context, &servers)?;
    online::with_session(context, online::options(context, &servers), async |session, _| {
        session.listed().await;
        let server = match server {
            Some(server) => server.to_owned(),
            None => owner(session, uri)?,
        };
        let read = session.read(&server, uri).await.map_err(|error| failed(&error))?;
        if context.printer.json {
            let contents: Vec<_> = read.contents.iter().map(|part| &part.raw).collect();
            return Ok(context.printer.json(&json!({"server": server, "contents": contents}))?);
        }
        for part in &read.contents {
            match &part.body {
                Body::Text(text) => context.printer.text(text)?,
                Body::Blob(blob) => {
                    let kind = part.mime_type.as_deref().unwrap_or("unknown type");
                    let line = format!("[{}: {} bytes of Base64; see --json]", visible(kind), blob.len());
                    context.printer.text(&line)?;
                }
                Body::Unknown => context.printer.text("[neither text nor bytes; see --json]")?,
            }
        }
        Ok(())
    })?;
    Ok(Outcome::Done)
}

/// The server that lists the resource; one with a fitting template if none does.
fn owner(session: &Session, uri: &str) -> Result<String, CommandError> {
    let catalog = session.catalog();
    let mut owners: Vec<&str> =
        catalog.resources.iter().filter(|of| of.item.uri == uri).map(|of| of.server.as_str()).collect();
    if owners.is_empty() {
        let fitting = catalog.templates.iter().filter(|of| fits(&of.item.uri_template, uri));
        owners = fitting.map(|of| of.server.as_str()).collect();
    }
    owners.dedup();
    match owners.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => Err(CommandError::usage(
            "resource-not-found",
            format!("no server has the resource `{}`", visible(uri)),
        )
        .hint("see them all: switchboard resources; or name the server: --server NAME")),
        several => Err(CommandError::usage(
            "ambiguous-resource",
            format!("several servers have it: {}", several.join(", ")),
        )
        .hint("say which: --server NAME")),
    }
}

/// Whether an address begins and ends as a template does.
fn fits(template: &str, uri: &str) -> bool {
    let Some((start, rest)) = template.split_once('{') else { return template == uri };
    let end = rest.rsplit_once('}').map_or("", |(_, end)| end);
    !start.is_empty() && uri.starts_with(start) && uri.ends_with(end) && uri.len() >= start.len() + end.len()
}

pub(super) fn failed(error: &CallError) -> CommandError {
    let kind = match error {
        _ if error.needs_login() => Kind::LoginNeeded,
        CallError::Failed { error, .. } if matches!(error.cause, Cause::Rpc(_)) => Kind::ToolFailed,
        _ => Kind::Unreachable,
    };
    let failed = CommandError::explained(kind, error).last_words(error.last_words());
    match error.server() {
        Some(server) => failed.server(server),
        None => failed,
    }
}
