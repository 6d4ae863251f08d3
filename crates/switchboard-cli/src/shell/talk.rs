//! Words for the model, and what comes back: shown as it comes. The agent is called from here and from nowhere else.

use std::borrow::Cow;
use std::time::Duration;

use switchboard::json::Json;
use switchboard::offer::{Content as Block, Kind as BlockKind, PromptResult};
use switchboard::visible::{excerpt, visible};
use switchboard_agent::message::Image;
use switchboard_agent::{Error, Event, Fate, Input, Message, Part, Stop};
use unicode_width::UnicodeWidthStr;

use super::attach::{self, Attachment, Content};
use super::conversation::Conversation;
use super::line::{COMMANDS, ModelLine, SaveLine};
use super::turn::Turn;
use super::{Front, words};
use crate::commands::{chat, s};
use crate::error::CommandError;
use crate::printer::{FAINT, STRONG};
use crate::table::parts;

/// What to do where there is no model.
const CHOOSE: &str =
    "choose one with /model PROVIDER/NAME, set SWITCHBOARD_MODEL, or put chat.model into your settings";
/// What is shown of a result before it is cut. Less than the agent hands on, so that every cut is seen.
const RESULT_LINES: usize = 4;
const RESULT_CHARS: usize = 240;

/// Sends words to the model, with the resources they name.
pub(super) async fn talk<F: Front>(
    turn: &mut Turn<'_, F>,
    text: &str,
    conversation: &mut Conversation,
) -> Result<(), CommandError> {
    // What is missing is told before anything is read.
    conversation.chosen(&turn.context.env, &turn.session).map_err(|error| failed(&error))?;
    let session = turn.session.clone();
    let attached =
        turn.wait("reading what you attached", Box::pin(attach::collect(&session, text))).await??;
    for one in &attached {
        turn.context.printer.remark(&described(one));
    }
    let mut parts = vec![Part::text(text)];
    parts.extend(attached.into_iter().map(part));
    answer(turn, Vec::new(), Input { parts }, conversation).await
}

/// Sends a prompt of a server to the model.
pub(super) async fn send<F: Front>(
    turn: &mut Turn<'_, F>,
    prompt: &PromptResult,
    conversation: &mut Conversation,
) -> Result<(), CommandError> {
    // Somebody without a model wanted to see it.
    if conversation.chosen(&turn.context.env, &turn.session).is_err() {
        return Ok(());
    }
    let mut messages: Vec<Message> = prompt.messages.iter().filter_map(message).collect();
    // The model answers the last words of the user.
    let input = match messages.pop() {
        Some(Message::User { parts }) => Input { parts },
        Some(other) => {
            messages.push(other);
            Input::from("Go on.")
        }
        None => return Ok(()),
    };
    answer(turn, messages, input, conversation).await
}

/// A message of a prompt.
fn message(message: &Json) -> Option<Message> {
    let content = message.get("content")?;
    let blocks = content.items().unwrap_or_else(|| vec![content]);
    let parts: Vec<Part> = blocks.into_iter().filter_map(|block| block_part(&Block::read(block))).collect();
    match message.get("role")?.text()?.as_str() {
        "assistant" => {
            let texts = parts.iter().filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                Part::Image(_) => None,
            });
            let text = texts.collect::<Vec<_>>().join("\n");
            Some(Message::Assistant { text, calls: Vec::new(), thoughts: Vec::new() })
        }
        _ => Some(Message::User { parts }),
    }
}

fn block_part(block: &Block) -> Option<Part> {
    let field = |name: &str| block.raw.get(name).and_then(|value| value.text());
    match &block.kind {
        BlockKind::Image => picture(field("mimeType")?, field("data")?),
        _ => block.text.clone().map(Part::text),
    }
}

fn picture(mime_type: String, data: String) -> Option<Part> {
    Image::is_usual(&mime_type).then_some(Part::Image(Image { mime_type, data }))
}

/// What is attached, as the model gets it.
fn part(attached: Attachment) -> Part {
    let Attachment { server, uri, content } = attached;
    let named = |text: &str| Part::text(format!("Resource {uri} of the server {server}:\n{text}"));
    match content {
        Content::Text(text) => named(&text),
        Content::Bytes { kind, base64 } => {
            let size = base64.len();
            picture(kind.clone(), base64)
                .unwrap_or_else(|| named(&format!("({kind}, {size} bytes of Base64, which cannot be shown)")))
        }
    }
}

/// The agent's turn. Stopped, it comes back with what there is, and the conversation can go on.
async fn answer<F: Front>(
    turn: &mut Turn<'_, F>,
    before: Vec<Message>,
    input: Input,
    conversation: &mut Conversation,
) -> Result<(), CommandError> {
    turn.flush();
    let agent = conversation.agent(&turn.context.env, &turn.session).map_err(|error| failed(&error))?;
    if !before.is_empty() {
        Conversation::recall(agent, before);
    }
    let cancel = turn.cancel();
    let width = turn.context.printer.width.unwrap_or(usize::MAX);
    let mut show = Show { front: &mut *turn.front, width, is_speaking: false };
    show.front.working(Some("thinking"));
    let done = agent.turn(input, &mut |event| show.event(event), &cancel).await;
    show.end();
    show.front.working(None);
    let done = done.map_err(|error| failed(&error))?;
    match done.stop {
        Stop::Done => Ok(()),
        _ => chat::verdict(&done),
    }
}

/// Shows a turn as it goes on.
struct Show<'s, F> {
    front: &'s mut F,
    width: usize,
    /// The last thing shown is a line of the model that may go on.
    is_speaking: bool,
}

impl<F: Front> Show<'_, F> {
    fn event(&mut self, event: Event) {
        match event {
            Event::Text { text } => {
                self.is_speaking = true;
                self.front.stream(&safe(&text));
            }
            Event::Thinking { .. } => self.front.working(Some("thinking")),
            Event::ToolCall { name, arguments, .. } => {
                self.line(&format!(
                    "{STRONG}{}{STRONG:#} {FAINT}{}{FAINT:#}",
                    excerpt(&name, 80),
                    excerpt(&arguments, 200)
                ));
                self.front.working(Some(&format!("calling {}", excerpt(&name, 80))));
            }
            Event::ToolResult { name, text, is_error, fate, elapsed, .. } => {
                self.line(&result(&name, &text, (is_error, fate), elapsed, self.width));
                self.front.working(Some("thinking"));
            }
            Event::Retry { reason, wait, discards, .. } => {
                let again = if discards { "; what came of the answer does not count" } else { "" };
                let reason = excerpt(&reason, 200);
                self.line(&format!(
                    "{FAINT}{reason}; asking again in {} ms{again}{FAINT:#}",
                    wait.as_millis()
                ));
            }
            Event::ToolsChanged { added, removed } => {
                let words = format!("the tools changed: {} came, {} went", added.len(), removed.len());
                self.line(&format!("{FAINT}{words}{FAINT:#}"));
            }
            Event::Trimmed { results } => {
                let words =
                    format!("{results} old result{} shortened, so that the conversation fits", s(results));
                self.line(&format!("{FAINT}{words}{FAINT:#}"));
            }
            Event::Notice { text } => self.line(&format!("{FAINT}{}{FAINT:#}", excerpt(&text, 300))),
            Event::Usage { .. } => {}
        }
    }

    fn line(&mut self, line: &str) {
        self.end();
        self.front.print(line);
    }

    /// Ends the line of the model.
    fn end(&mut self) {
        if std::mem::take(&mut self.is_speaking) {
            self.front.stream("\n");
        }
    }
}

/// Words of a model, harmless to a terminal, with their line breaks.
fn safe(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// What became of a call, and the beginning of what it gave back, in rows that fit.
fn result(name: &str, text: &str, (is_error, fate): (bool, Fate), elapsed: Duration, width: usize) -> String {
    let verb = match fate {
        Fate::Made if is_error => "failed",
        Fate::Made => "done",
        Fate::Denied => "denied",
        Fate::Unknown => "not there",
        Fate::Malformed => "not understood",
        Fate::Interrupted => "stopped",
    };
    // What was not made took nobody's time but that of whoever was asked.
    let time = if fate == Fate::Made { format!(" in {} ms", elapsed.as_millis()) } else { String::new() };
    let mut lines = vec![format!("{FAINT}  {} {verb}{time}{FAINT:#}", excerpt(name, 80))];
    let text = compact(text);
    let n_lines = text.lines().count();
    let shown: String = text.lines().take(RESULT_LINES).collect::<Vec<_>>().join("\n");
    let shown: String = shown.chars().take(RESULT_CHARS).collect();
    let rows = shown.lines().flat_map(|line| rows(&visible(line), width.saturating_sub(2)));
    lines.extend(rows.map(|row| format!("{FAINT}  {row}{FAINT:#}")));
    if n_lines > RESULT_LINES || shown.len() < text.trim_end().len() {
        lines.push(format!("{FAINT}  ...{FAINT:#}"));
    }
    lines.join("\n")
}

fn rows(line: &str, width: usize) -> Vec<String> {
    if line.width() <= width { vec![line.to_owned()] } else { parts(line, width) }
}

/// JSON in many lines becomes one, so that more of it is seen; it may be cut. Other text stays as it is.
fn compact(text: &str) -> Cow<'_, str> {
    if !text.starts_with("{\n") && !text.starts_with("[\n") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.lines().map(str::trim).collect::<Vec<_>>().join(" "))
}

/// What went wrong with the model, with what to type here.
fn failed(error: &Error) -> CommandError {
    match error {
        Error::NoModel => chat::failed(error).hint(CHOOSE),
        _ => chat::failed(error),
    }
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
pub(super) fn choose<F: Front>(
    turn: &Turn<'_, F>,
    line: ModelLine,
    conversation: &mut Conversation,
) -> Result<(), CommandError> {
    let (env, session) = (&turn.context.env, &turn.session);
    if let Some(name) = line.model {
        conversation.name(name, env, session).map_err(|error| failed(&error))?;
    }
    let chosen = conversation.chosen(env, session).map_err(|error| failed(&error))?;
    turn.context.printer.remark(&format!("Model: {}", excerpt(&chosen.full_name(), 100)));
    Ok(())
}

/// `/clear`.
pub(super) fn clear<F: Front>(turn: &Turn<'_, F>, conversation: &mut Conversation) {
    let words =
        if conversation.clear() { "The conversation begins anew." } else { "There is no conversation yet." };
    turn.context.printer.remark(words);
}

/// `/save`.
pub(super) fn save<F: Front>(
    turn: &Turn<'_, F>,
    line: &SaveLine,
    conversation: &Conversation,
) -> Result<(), CommandError> {
    let path = turn.context.env.absolute(&line.file);
    let shown = turn.context.env.display(&path);
    let Some(history) = conversation.history() else {
        let message = format!("there is no conversation to write to {shown}");
        return Err(CommandError::usage("no-conversation", message));
    };
    history.save(&path)?;
    turn.context.printer.remark(&format!("Wrote the conversation to {shown}"));
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, fate: Fate) -> String {
        let lines = result("mcp_a_b", text, (false, fate), Duration::from_millis(7), 30);
        anstream::adapter::strip_str(&lines).to_string()
    }

    #[test]
    fn a_result_is_shown_in_short_and_a_cut_is_marked() {
        assert_eq!(shown("one\ntwo", Fate::Made), "  mcp_a_b done in 7 ms\n  one\n  two");
        assert_eq!(shown("not now", Fate::Denied), "  mcp_a_b denied\n  not now");
        assert_eq!(
            shown("{\n  \"a\": {\n    \"b\": 1\n  }\n}", Fate::Made),
            "  mcp_a_b done in 7 ms\n  { \"a\": { \"b\": 1 } }"
        );
        assert_eq!(
            shown("a line of words that is too long for one row", Fate::Made),
            "  mcp_a_b done in 7 ms\n  a line of words that is too\n  long for one row"
        );
        assert!(shown("1\n2\n3\n4\n5", Fate::Made).ends_with("  4\n  ..."));
        assert!(shown(&"x".repeat(400), Fate::Made).ends_with("x\n  ..."));
    }
}
