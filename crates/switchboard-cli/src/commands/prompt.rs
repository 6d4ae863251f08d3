//! `prompt`: one prompt, filled in by the server that has it.

use serde_json::{Value, json};
use switchboard::catalog::{Catalog, Of};
use switchboard::json::Json;
use switchboard::offer::{Prompt, PromptResult};
use switchboard::session::{self, Session};
use switchboard::visible::visible;

use super::online::{self, Wait};
use super::read::failed;
use super::{Context, Outcome};
use crate::error::CommandError;
use crate::printer::STRONG;
use crate::progress::Progress;

pub(super) fn run(
    context: &Context,
    name: &str,
    words: &[String],
    server: Option<&str>,
) -> Result<Outcome, CommandError> {
    let arguments = pairs(words)?;
    let servers = match server {
        Some(server) => vec![server.to_owned()],
        None => likely(context, name),
    };
    online::say_what_is_lost(context, &online::check(context, &servers)?);
    let work = async |session: &Session, progress: &Progress| {
        let (server, name) = owner(session, name, server).await?;
        progress.say(format!("getting {name} from {server}"));
        let prompt = session.prompt(&server, &name, &arguments).await.map_err(|error| failed(&error))?;
        progress.end();
        show(context, &server, &prompt)
    };
    match server {
        Some(_) => online::with_session(context, online::options(context, &servers), Wait::Nothing, work)?,
        None => online::with_likely(context, &servers, Wait::Nothing, work)?,
    }
    Ok(Outcome::Done)
}

/// Arguments as they are typed.
pub(crate) fn pairs(words: &[String]) -> Result<Vec<(String, String)>, CommandError> {
    let pair = |word: &String| {
        let (key, value) = word.split_once('=').ok_or_else(|| {
            CommandError::usage("bad-arguments", format!("`{}` is not key=value", visible(word)))
        })?;
        Ok((key.to_owned(), value.to_owned()))
    };
    words.iter().map(pair).collect()
}

pub(crate) fn show(context: &Context, server: &str, prompt: &PromptResult) -> Result<(), CommandError> {
    if context.printer.json {
        let messages: Vec<&Json> = prompt.messages.iter().collect();
        return Ok(context.printer.json(&json!({"server": server, "messages": messages}))?);
    }
    let messages: Vec<String> =
        prompt.messages.iter().map(|message| lines(&message.value()).join("\n")).collect();
    Ok(context.printer.data(&[messages.join("\n\n")])?)
}

/// The servers that had it last time, else the one its name says.
fn likely(context: &Context, name: &str) -> Vec<String> {
    let (discovery, known) = session::cached(&online::options(context, &[]));
    let mut owners: Vec<String> =
        known.prompts.iter().filter(|of| is(of, name)).map(|of| of.server.clone()).collect();
    owners.dedup();
    if owners.is_empty() {
        let servers = discovery.servers.iter().map(|server| &server.name);
        let is_said =
            |server: &&String| name.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with(':'));
        owners.extend(servers.filter(is_said).cloned());
    }
    owners
}

fn is(of: &Of<Prompt>, name: &str) -> bool {
    of.item.name == name || name == format!("{}:{}", of.server, of.item.name)
}

/// The server that has the prompt, as soon as one does, and the prompt's own name.
pub(crate) async fn owner(
    session: &Session,
    name: &str,
    server: Option<&str>,
) -> Result<(String, String), CommandError> {
    let look = |catalog: &Catalog| {
        let is_meant = |of: &&Of<Prompt>| is(of, name) && server.is_none_or(|server| server == of.server);
        let found =
            catalog.prompts.iter().filter(is_meant).map(|of| (of.server.clone(), of.item.name.clone()));
        Some(found.collect::<Vec<_>>()).filter(|found| !found.is_empty())
    };
    let found = online::found(session, session.listed(), look).await.unwrap_or_default();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => {
            let error =
                CommandError::usage("prompt-not-found", format!("no prompt is called `{}`", visible(name)));
            let otherwise = "see them all: switchboard prompts";
            Err(error.hint(online::who_failed(session).unwrap_or_else(|| otherwise.to_owned())))
        }
        several => {
            let servers: Vec<_> = several.iter().map(|(server, _)| server.as_str()).collect();
            let message = format!("several servers have it: {}", servers.join(", "));
            Err(CommandError::usage("ambiguous-prompt", message).hint("say which: --server NAME"))
        }
    }
}

fn lines(message: &Value) -> Vec<String> {
    let role = message["role"].as_str().unwrap_or("?");
    let mut lines = vec![format!("{STRONG}{}{STRONG:#}", visible(role))];
    let blocks = match &message["content"] {
        Value::Array(blocks) => blocks.clone(),
        one => vec![one.clone()],
    };
    for block in blocks {
        match (block["text"].as_str(), block["resource"]["text"].as_str()) {
            (Some(text), _) | (None, Some(text)) => {
                lines.extend(text.lines().map(|line| visible(line).into_owned()));
            }
            (None, None) => {
                lines.push(format!("[{}; see --json]", visible(block["type"].as_str().unwrap_or("?"))));
            }
        }
    }
    lines
}
