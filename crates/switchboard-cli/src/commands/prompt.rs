//! `prompt`: one prompt, filled in by the server that has it.

use serde_json::{Value, json};
use switchboard::json::Json;
use switchboard::session::Session;
use switchboard::visible::visible;

use super::read::failed;
use super::{Context, Outcome, online};
use crate::error::CommandError;
use crate::printer::STRONG;

pub(super) fn run(
    context: &Context,
    name: &str,
    words: &[String],
    server: Option<&str>,
) -> Result<Outcome, CommandError> {
    let servers: Vec<String> = server.iter().map(|name| (*name).to_owned()).collect();
    online::check(context, &servers)?;
    let mut arguments = Vec::new();
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| {
            CommandError::usage("bad-arguments", format!("`{}` is not key=value", visible(word)))
        })?;
        arguments.push((key.to_owned(), value.to_owned()));
    }
    online::with_session(context, online::options(context, &servers), async |session, _| {
        session.listed().await;
        let (server, name) = owner(session, name, server)?;
        let prompt = session.prompt(&server, &name, &arguments).await.map_err(|error| failed(&error))?;
        if context.printer.json {
            let messages: Vec<&Json> = prompt.messages.iter().collect();
            return Ok(context.printer.json(&json!({"server": server, "messages": messages}))?);
        }
        let lines: Vec<String> = prompt.messages.iter().flat_map(|message| lines(&message.value())).collect();
        Ok(context.printer.data(&lines)?)
    })?;
    Ok(Outcome::Done)
}

fn owner(session: &Session, name: &str, server: Option<&str>) -> Result<(String, String), CommandError> {
    let catalog = session.catalog();
    let fits = |of: &&switchboard::catalog::Of<switchboard::offer::Prompt>| {
        let is_named = of.item.name == name || name == format!("{}:{}", of.server, of.item.name);
        is_named && server.is_none_or(|server| server == of.server)
    };
    let found: Vec<_> = catalog.prompts.iter().filter(fits).collect();
    match found.as_slice() {
        [only] => Ok((only.server.clone(), only.item.name.clone())),
        [] => {
            Err(CommandError::usage("prompt-not-found", format!("no prompt is called `{}`", visible(name)))
                .hint("see them all: switchboard prompts"))
        }
        several => {
            let servers: Vec<_> = several.iter().map(|of| of.server.as_str()).collect();
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
    lines.push(String::new());
    lines
}
