//! `read`: one resource, from the server that has it.

use serde_json::json;
use switchboard::Explain;
use switchboard::calls::CallError;
use switchboard::catalog::Catalog;
use switchboard::offer::{Body, ReadResult};
use switchboard::session::{self, Session};
use switchboard::visible::visible;
use switchboard::wire::Cause;

use super::online::{self, Wait};
use super::{Context, Outcome};
use crate::error::{CommandError, Kind};
use crate::progress::Progress;

pub(super) fn run(context: &Context, uri: &str, server: Option<&str>) -> Result<Outcome, CommandError> {
    let servers = match server {
        Some(server) => vec![server.to_owned()],
        // If it is known from last time, only its server need be started.
        None => owners(&session::cached(&online::options(context, &[])).1, uri),
    };
    online::say_what_is_lost(context, &online::check(context, &servers)?);
    let work = async |session: &Session, progress: &Progress| {
        let server = match server {
            Some(server) => server.to_owned(),
            None => owner(session, uri).await?,
        };
        progress.say(format!("reading {uri} from {server}"));
        let read = session.read(&server, uri).await.map_err(|error| failed(&error))?;
        progress.end();
        show(context, &server, &read)
    };
    match server {
        Some(_) => online::with_session(context, online::options(context, &servers), Wait::Nothing, work)?,
        None => online::with_likely(context, &servers, Wait::Nothing, work)?,
    }
    Ok(Outcome::Done)
}

pub(crate) fn show(context: &Context, server: &str, read: &ReadResult) -> Result<(), CommandError> {
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
}

/// The server that lists the resource, as soon as one does; one with a fitting template if none does.
pub(crate) async fn owner(session: &Session, uri: &str) -> Result<String, CommandError> {
    let listed = |catalog: &Catalog| Some(listed(catalog, uri)).filter(|owners| !owners.is_empty());
    let owners = match online::found(session, session.listed(), listed).await {
        Some(owners) => owners,
        None => owners(&session.catalog(), uri),
    };
    match owners.as_slice() {
        [only] => Ok(only.clone()),
        [] => {
            let error = CommandError::usage(
                "resource-not-found",
                format!("no server has the resource `{}`", visible(uri)),
            );
            let otherwise = "see them all: switchboard resources; or name the server: --server NAME";
            Err(error.hint(online::who_failed(session).unwrap_or_else(|| otherwise.to_owned())))
        }
        several => Err(CommandError::usage(
            "ambiguous-resource",
            format!("several servers have it: {}", several.join(", ")),
        )
        .hint("say which: --server NAME")),
    }
}

/// The servers that list the resource; those with a fitting template if none does.
fn owners(catalog: &Catalog, uri: &str) -> Vec<String> {
    let mut owners = listed(catalog, uri);
    if owners.is_empty() {
        let fitting = catalog.templates.iter().filter(|of| fits(&of.item.uri_template, uri));
        owners = fitting.map(|of| of.server.clone()).collect();
    }
    owners.dedup();
    owners
}

/// The servers that list the resource.
fn listed(catalog: &Catalog, uri: &str) -> Vec<String> {
    let listed = catalog.resources.iter().filter(|of| of.item.uri == uri);
    let mut servers: Vec<String> = listed.map(|of| of.server.clone()).collect();
    servers.dedup();
    servers
}

/// Whether an address begins and ends as a template does.
fn fits(template: &str, uri: &str) -> bool {
    let Some((start, rest)) = template.split_once('{') else { return template == uri };
    let end = rest.rsplit_once('}').map_or("", |(_, end)| end);
    !start.is_empty() && uri.starts_with(start) && uri.ends_with(end) && uri.len() >= start.len() + end.len()
}

pub(crate) fn failed(error: &CallError) -> CommandError {
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
