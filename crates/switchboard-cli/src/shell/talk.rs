//! Words for the model, and what belongs to a conversation. The agent is called from here and from nowhere else.

use switchboard::Env;
use switchboard::offer::PromptResult;
use switchboard::session::Session;
use switchboard::visible::excerpt;

use super::attach::{self, Attachment, Content};
use super::line::{COMMANDS, ModelLine, SaveLine};
use super::turn::Turn;
use super::{Front, words};
use crate::error::{CommandError, Kind};
use crate::printer::{FAINT, STRONG};

/// Names the model where no setting does.
const VARIABLE: &str = "SWITCHBOARD_MODEL";
/// What to do where there is no model.
const CHOOSE: &str =
    "choose one with /model PROVIDER/NAME, set SWITCHBOARD_MODEL, or put chat.model into your settings";

/// The model in force: the one of this session, else the variable's, else the setting's.
pub(super) fn model(env: &Env, session: &Session, chosen: Option<&str>) -> Option<String> {
    let set = || {
        let settings = &session.discovery().settings;
        settings.chat.model.clone()
    };
    let named = chosen.or_else(|| env.non_empty(VARIABLE)).map(str::to_owned);
    named.or_else(set)
}

/// Sends words to the model, with the resources they name.
pub(super) async fn talk<F: Front>(
    turn: &mut Turn<'_, F>,
    text: &str,
    chosen: Option<&str>,
) -> Result<(), CommandError> {
    let session = turn.session.clone();
    let attached =
        turn.wait("reading what you attached", Box::pin(attach::collect(&session, text))).await??;
    for one in &attached {
        turn.context.printer.remark(&described(one));
    }
    answer(turn, text, chosen)
}

/// Sends a prompt of a server to the model.
pub(super) fn send<F: Front>(
    turn: &Turn<'_, F>,
    _prompt: &PromptResult,
    chosen: Option<&str>,
) -> Result<(), CommandError> {
    // Somebody without a model wanted to see it.
    if model(&turn.context.env, &turn.session, chosen).is_none() {
        return Ok(());
    }
    answer(turn, "", chosen)
}

/// The agent's turn. Until there is one, it is said what is missing.
fn answer<F: Front>(turn: &Turn<'_, F>, _text: &str, chosen: Option<&str>) -> Result<(), CommandError> {
    Err(match model(&turn.context.env, &turn.session, chosen) {
        None => CommandError::new(Kind::Usage, "no-model", "no model is configured").hint(CHOOSE),
        Some(model) => {
            let message = format!("`{}` cannot be talked to: this program has no agent", excerpt(&model, 60));
            CommandError::new(Kind::Failed, "no-agent", message)
        }
    })
}

fn described(attached: &Attachment) -> String {
    let Attachment { server, uri, content } = attached;
    let size = match content {
        Content::Text(text) => format!("{} characters", text.chars().count()),
        Content::Bytes { kind, base64 } => format!("{}, {} bytes of Base64", excerpt(kind, 40), base64.len()),
    };
    format!("Attached {}:{} ({size})", excerpt(server, 60), excerpt(uri, 100))
}

/// `/model`.
pub(super) fn choose<F: Front>(turn: &Turn<'_, F>, line: ModelLine, chosen: &mut Option<String>) {
    if line.model.is_some() {
        *chosen = line.model;
    }
    if let Some(model) = model(&turn.context.env, &turn.session, chosen.as_deref()) {
        turn.context.printer.remark(&format!("Model: {}", excerpt(&model, 100)));
    } else {
        turn.context.printer.remark("No model is configured.");
        turn.context.printer.remark(&format!("  hint: {CHOOSE}"));
    }
}

/// `/clear`.
pub(super) fn clear<F: Front>(turn: &Turn<'_, F>) {
    turn.context.printer.remark("There is no conversation yet.");
}

/// `/save`.
pub(super) fn save<F: Front>(turn: &Turn<'_, F>, line: &SaveLine) -> Result<(), CommandError> {
    let path = turn.context.env.absolute(&line.file);
    let message = format!("there is no conversation to write to {}", turn.context.env.display(&path));
    Err(CommandError::usage("no-conversation", message))
}

/// `/help`.
pub(super) fn help() -> String {
    let tasks = [
        ("see how the servers stand", "/mcp list"),
        ("add a server", "/mcp add, or /mcp add NAME -- COMMAND, or /mcp add NAME --url URL"),
        ("find out what is wrong", "/mcp test NAME, /mcp why NAME, /mcp logs NAME, /mcp doctor"),
        ("see what can be called", "/tools, /tools WORD..., /tools NAME"),
        ("call a tool", "/call TOOL key=value..., or /call TOOL {\"key\": \"value\"}"),
        ("use a prompt of a server", "/SERVER:PROMPT key=value..."),
        ("show the model a resource", "@SERVER:URI inside your words"),
        ("decide what runs without asking", "/approve, /approve SERVER/TOOL never"),
    ];
    let mut text = format!("{STRONG}To talk to the model, type. To ...{STRONG:#}\n");
    for (task, how) in tasks {
        text.push_str(&format!("  {task:<32} {how}\n"));
    }
    text.push_str(&format!("\n{STRONG}Commands{STRONG:#}\n"));
    for (name, does) in COMMANDS.iter().filter(|(name, _)| *name != "exit") {
        text.push_str(&format!("  /{name:<10} {FAINT}{does}{FAINT:#}\n"));
    }
    text.push_str("\nTab completes. Ctrl-C stops what is being done, Ctrl-D leaves.\n");
    words::in_session(&text).into_owned()
}
