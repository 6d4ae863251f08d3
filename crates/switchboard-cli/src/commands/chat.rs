//! `chat`: a model that uses the tools. Headless: one turn, its last words, and what it did.
//!
//! Exit codes besides the usual: 1 when the turn did not come to its end (a limit, a refusal, an answer that broke off), 2 when
//! a model or key is missing, 3 when the provider does not take the key, 4 when the model cannot be reached.

use std::io::{IsTerminal, Read};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::json;
use switchboard::catalog::Catalog;
use switchboard::connect::Persistence;
use switchboard::env::SWITCHBOARD_MODEL;
use switchboard::host::{Ruled, Rules};
use switchboard::session::Session;
use switchboard_agent::{
    Agent, Choice, Chosen, Error, Event, Input, Settings, Stop, Turn, choose, providers,
};
use tokio_util::sync::CancellationToken;

use super::online::{self, Wait};
use super::{Context, Outcome, listing, s};
use crate::args::Chat;
use crate::error::{CommandError, Kind};
use crate::progress::Progress;
use crate::report::ErrorRow;
use crate::{shell, terminal};

/// What is said to a model is no longer than this.
const LONGEST_PROMPT: u64 = 16 << 20;

pub(super) fn run(context: &Context, chat: &Chat) -> Result<Outcome, CommandError> {
    let Some(prompt) = prompt(chat)? else { return interactive(context, chat) };
    let chosen = chosen(context, chat)?;
    online::say_what_is_lost(context, &online::check(context, &chat.only)?);
    let mut options = online::options(context, &chat.only);
    options.persistence = Persistence::KeepTrying;
    // Nobody is there to ask: patterns answer, and what none of them allows is denied.
    let rules = Rules { allow: chat.allow.clone(), deny: chat.deny.clone() };
    options.host = Arc::new(Ruled::new(rules, vec![context.env.cwd().to_owned()]));
    let work = async |session: &Session, progress: &Progress| {
        let teller = Teller { context, chat, progress, notes: Mutex::default() };
        let done = headless(&teller, session, &chosen, &prompt).await;
        teller.say_the_rest(session);
        if let (true, Err(error)) = (chat.stream_json, &done) {
            let mut line = error.to_json();
            line["type"] = json!("error");
            context.printer.json_line(&line)?;
        }
        done
    };
    online::with_session(context, options, Wait::Correct, work)?;
    Ok(Outcome::Done)
}

/// The session at a terminal, with the model that was named.
fn interactive(context: &Context, chat: &Chat) -> Result<Outcome, CommandError> {
    if !terminal::is_lived_in() || context.printer.json || chat.stream_json || !context.printer.is_direct() {
        let message = "there is nothing to say: give a prompt with -p PROMPT, or on standard input";
        return Err(CommandError::usage("no-prompt", message));
    }
    let env = match &chat.model {
        Some(model) => context.env.clone().with_var(SWITCHBOARD_MODEL, model),
        None => context.env.clone(),
    };
    shell::run(&Context { env, ..context.clone() })
}

/// What to say; nothing if somebody sits there to say it.
fn prompt(chat: &Chat) -> Result<Option<String>, CommandError> {
    let text = match chat.prompt.as_deref() {
        Some("-") => read_all()?,
        Some(text) => text.to_owned(),
        None if std::io::stdin().is_terminal() => return Ok(None),
        None => read_all()?,
    };
    if text.trim().is_empty() {
        return Err(CommandError::usage("no-prompt", "the prompt is empty").hint("give one with -p PROMPT"));
    }
    Ok(Some(text))
}

fn read_all() -> Result<String, CommandError> {
    let mut text = String::new();
    let read = std::io::stdin().take(LONGEST_PROMPT).read_to_string(&mut text);
    let failed = |error| CommandError::usage("no-prompt", format!("cannot read the prompt: {error}"));
    read.map_err(failed)?;
    Ok(text)
}

fn chosen(context: &Context, chat: &Chat) -> Result<Chosen, CommandError> {
    let settings = context.discover().settings;
    choose::choose(chat.model.as_deref(), &settings.chat, &context.env).map_err(|error| failed(&error))
}

/// One turn.
async fn headless(
    teller: &Teller<'_>,
    session: &Session,
    chosen: &Chosen,
    prompt: &str,
) -> Result<(), CommandError> {
    let chat = teller.chat;
    let discovery = session.discovery();
    let errors = session.errors();
    listing::required(&discovery, &session.servers(), &chat.only)?;
    let mut settings = Settings::of(&discovery.settings.chat, chosen);
    settings.first_choice = choice(&session.catalog(), &chat.tool_choice)?;
    if let Choice::Tool(name) = &settings.first_choice {
        settings.rules.pinned.push(name.clone());
    }
    settings.max_steps = chat.max_steps.unwrap_or(settings.max_steps);
    if let Some(system) = &chat.system {
        settings.system.clone_from(system);
    }
    let model = providers::connect(chosen).map_err(|error| failed(&error))?;
    let mut agent = Agent::new(session.clone(), Arc::new(model), settings);
    let errors = online::error_rows(&errors);
    teller.begin(chosen, &agent, &errors)?;
    let mut on_event = |event: Event| teller.hear(&event);
    let turn = agent.turn(Input::from(prompt), &mut on_event, &CancellationToken::new()).await;
    let turn = turn.map_err(|error| failed(&error))?;
    teller.end(&turn, chosen, errors)?;
    verdict(&turn)
}

/// Which tool must be called first.
fn choice(catalog: &Catalog, word: &str) -> Result<Choice, CommandError> {
    Ok(match word {
        "auto" => Choice::Auto,
        "required" => Choice::Required,
        "none" => Choice::Never,
        name => match catalog.find(name, None) {
            Ok(entry) => Choice::Tool(entry.name.clone()),
            Err(missed) => {
                let why = switchboard::session::Found::Missed(missed);
                let message = format!("--tool-choice {name}: {why}");
                return Err(
                    CommandError::usage("bad-tool-choice", message).hint("auto, required, none, or a tool")
                );
            }
        },
    })
}

/// A turn that did not come to its end failed, whatever it said.
pub(crate) fn verdict(turn: &Turn) -> Result<(), CommandError> {
    let (code, message) = match turn.stop {
        Stop::Done => return Ok(()),
        Stop::Interrupted => return Err(CommandError::stopped()),
        Stop::MaxSteps => ("step-limit", format!("the limit of {} steps was reached", turn.steps - 1)),
        Stop::Length => ("answer-too-long", "the answer was cut off: it may not be longer".to_owned()),
        Stop::Refused => ("answer-refused", "the model refused to answer".to_owned()),
        Stop::Cut => {
            ("answer-cut", "the answer broke off again and again; this is what came of it".to_owned())
        }
    };
    let error = CommandError::new(Kind::Failed, code, message);
    Err(match turn.stop {
        Stop::MaxSteps => error.hint("raise it: --max-steps N, or `chat.maxSteps` in your settings.json"),
        Stop::Length => error.hint("raise it: `chat.maxTokens` in your settings.json"),
        Stop::Done | Stop::Interrupted | Stop::Refused | Stop::Cut => error,
    })
}

pub(crate) fn failed(error: &Error) -> CommandError {
    let kind = match error {
        _ if error.is_of_the_setup() => Kind::Usage,
        Error::Unauthorized { .. } => Kind::LoginNeeded,
        Error::Unreachable { .. } | Error::Busy { .. } => Kind::Unreachable,
        _ => Kind::Failed,
    };
    CommandError::explained(kind, error)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'r> {
    #[serde(flatten)]
    turn: &'r Turn,
    model: String,
    errors: Vec<ErrorRow>,
}

/// Tells what happens, in the way that was asked for.
struct Teller<'t> {
    context: &'t Context,
    chat: &'t Chat,
    progress: &'t Progress,
    /// Said when the line of progress is gone.
    notes: Mutex<Vec<String>>,
}

impl Teller<'_> {
    fn begin(&self, chosen: &Chosen, agent: &Agent, errors: &[ErrorRow]) -> Result<(), CommandError> {
        self.progress.say(format!("asking {}", chosen.full_name()));
        if self.chat.stream_json {
            let block = agent.block();
            let line = json!({"type": "start", "model": chosen.full_name(), "tools": block.tools.len(),
                "hiddenTools": block.hidden, "toolTokens": block.tokens, "errors": errors});
            self.context.printer.json_line(&line)?;
        }
        Ok(())
    }

    fn hear(&self, event: &Event) {
        if self.chat.stream_json {
            // Whoever does not read any more is told with the last line.
            let _closed = self.context.printer.json_line(event);
        }
        match event {
            Event::ToolCall { name, .. } => self.progress.say(format!("calling {name}")),
            Event::ToolResult { .. } => self.progress.say("asking the model".to_owned()),
            Event::Retry { reason, wait, .. } => {
                let words = format!("{reason}; trying again in {} ms", wait.as_millis());
                self.progress.say(words.clone());
                self.note(words);
            }
            Event::ToolsChanged { added, removed } => {
                self.note(format!("the tools changed: {} came, {} went", added.len(), removed.len()));
            }
            Event::Trimmed { results } => {
                self.note(format!(
                    "{results} old result{} shortened, so that the conversation fits",
                    s(*results)
                ));
            }
            Event::Notice { text } => self.note(text.clone()),
            Event::Text { .. } | Event::Thinking { .. } | Event::Usage { .. } => {}
        }
    }

    fn note(&self, words: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(words);
    }

    fn end(&self, turn: &Turn, chosen: &Chosen, errors: Vec<ErrorRow>) -> Result<(), CommandError> {
        self.progress.end();
        let printer = &self.context.printer;
        let report = Report { turn, model: chosen.full_name(), errors };
        if self.chat.stream_json {
            let mut line = serde_json::to_value(&report).unwrap_or_default();
            line["type"] = json!("result");
            printer.json_line(&line)?;
        } else if printer.json {
            printer.json(&report)?;
        } else {
            printer.text(&turn.text)?;
        }
        if turn.denied > 0 {
            let n = turn.denied;
            let was = if n == 1 { "was" } else { "were" };
            self.note(format!("{n} call{} {was} not allowed; --allow GLOB allows what it fits", s(n)));
        }
        Ok(())
    }

    /// What happened on the way, and what is wrong with servers, once the line of progress is gone.
    fn say_the_rest(&self, session: &Session) {
        self.progress.end();
        for note in self.notes.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            self.context.printer.remark(note);
        }
        online::say_errors(self.context, &session.errors());
        if self.chat.only.is_empty() {
            online::say_who_waits(self.context, &session.discovery());
        }
    }
}
