//! The turn loop: ask the model, make its calls, ask again, until it is done.
//!
//! Each step looks at the tools anew, so that servers that come, go or change in the middle of a turn are told truly. A
//! step's calls are made only when its answer is whole: an answer that breaks off is asked for again without any tool having
//! run. Cancelling drops the answer and the calls, which tells the model's provider and the servers; the history stays fit
//! to go on.

mod act;
mod ask;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};
use switchboard::catalog::Catalog;
use switchboard::config::settings::{Chat, Price};
use switchboard::json::Json;
use switchboard::session::{Scope, Session};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::block::{Block, Rules};
use crate::choose::Chosen;
use crate::error::Error;
use crate::event::{Event, Fate};
use crate::history::History;
use crate::message::{Message, Part};
use crate::model::{Choice, Ending, Model};
use crate::prompt;
use crate::usage::Usage;

/// Hears what happens.
pub type OnEvent<'a> = dyn FnMut(Event) + Send + 'a;

/// How a turn goes.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What the model is told before anything else.
    pub system: String,
    /// How often it is asked in one turn.
    pub max_steps: u32,
    /// Which tools are sent.
    pub rules: Rules,
    /// Whether it must call a tool in the first step of a turn.
    pub first_choice: Choice,
    /// How many tokens it can look at.
    pub context_tokens: u64,
    /// How long one answer may be, in tokens.
    pub max_tokens: Option<u32>,
    /// What it costs, if that is known.
    pub price: Option<Price>,
    /// How often it is asked again when it does not answer.
    pub retries: u32,
    /// How long the first wait before that is; the next ones are twice as long each.
    pub backoff: Duration,
}

impl Settings {
    /// What the user's settings say for a model.
    pub fn of(chat: &Chat, chosen: &Chosen) -> Self {
        let rules =
            Rules { tokens: chat.tool_tokens, pinned: chat.pinned.clone(), sub_agents: chat.sub_agents };
        Self {
            system: prompt::USUAL.to_owned(),
            max_steps: chat.max_steps,
            rules,
            first_choice: Choice::Auto,
            context_tokens: chat.context_tokens,
            max_tokens: chat.max_tokens,
            price: chat.prices.get(&chosen.full_name()).copied(),
            retries: 4,
            backoff: Duration::from_secs(1),
        }
    }
}

/// What the user says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// In order.
    pub parts: Vec<Part>,
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Self { parts: vec![Part::text(text)] }
    }
}

/// What a turn brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// What the model said last.
    pub text: String,
    /// The calls, in the order the model made them.
    pub tool_calls: Vec<ToolCall>,
    /// How many of them nobody allowed.
    pub denied: usize,
    /// What it took in all.
    pub usage: Usage,
    /// Why it ended.
    #[serde(rename = "stopReason")]
    pub stop: Stop,
    /// How often the model was asked.
    pub steps: u32,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stop {
    /// The model is done.
    Done,
    /// It was asked as often as it may be; it was asked for a last answer without tools.
    MaxSteps,
    /// The last answer was as long as it may be.
    Length,
    /// The model or its provider does not want to answer.
    Refused,
    /// The last answer broke off again and again; what came of it is there.
    Cut,
    /// The user stopped it.
    Interrupted,
}

impl Stop {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::MaxSteps => "maxSteps",
            Self::Length => "length",
            Self::Refused => "refused",
            Self::Cut => "cut",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A call of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The name the model used.
    pub name: String,
    /// The server, if there is such a tool.
    pub server: Option<String>,
    /// The server's own name for it.
    pub tool: Option<String>,
    /// As the model wrote them.
    #[serde(serialize_with = "as_json")]
    pub arguments: String,
    /// The tool or the call failed.
    pub is_error: bool,
    /// It was allowed and made.
    pub approved: bool,
    /// What became of it.
    pub fate: Fate,
}

/// As JSON where it is some, else as the text it is.
fn as_json<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match Json::from_text(text) {
        Ok(json) => json.serialize(serializer),
        Err(_) => serializer.serialize_str(text),
    }
}

/// A conversation with a model that uses the tools of a session.
pub struct Agent {
    session: Session,
    model: Arc<dyn Model>,
    settings: Settings,
    history: History,
    /// Tools the model has found or used, in that order.
    found: Vec<String>,
    /// Every tool there was in this conversation, with its server: to say truly what became of it.
    seen: BTreeMap<String, (String, String)>,
    /// The names at the last step.
    offered: Option<BTreeSet<String>>,
    usage: Usage,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

impl Agent {
    /// A new conversation.
    pub fn new(session: Session, model: Arc<dyn Model>, settings: Settings) -> Self {
        Self {
            session,
            model,
            settings,
            history: History::default(),
            found: Vec::new(),
            seen: BTreeMap::new(),
            offered: None,
            usage: Usage::default(),
        }
    }

    /// What was said so far.
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// Goes on from another conversation, or from none.
    pub fn set_history(&mut self, history: History) {
        self.history = history;
        self.found.clear();
    }

    /// Goes on with another model.
    pub fn set_model(&mut self, model: Arc<dyn Model>, settings: Settings) {
        self.model = model;
        self.settings = settings;
    }

    /// Goes on by other settings.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// What the conversation took in all.
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// The tools as the model would see them now.
    pub fn block(&self) -> Block {
        Block::build(&self.session.catalog(), &self.settings.rules, &self.found)
    }

    /// A conversation of its own over the same connections, with the tools of some servers or of all that this one has.
    #[must_use]
    pub fn sub(&self, servers: Option<&BTreeSet<String>>) -> Self {
        let session = match servers {
            None => self.session.clone(),
            // By tool, so that it never gets more than this one has.
            Some(servers) => {
                let catalog = self.session.catalog();
                let tools = catalog.tools.iter().filter(|entry| servers.contains(&entry.server));
                self.session.scoped(Scope::Tools(tools.map(|entry| entry.name.clone()).collect()))
            }
        };
        let mut settings = self.settings.clone();
        settings.rules.sub_agents = false;
        settings.first_choice = Choice::Auto;
        Self::new(session, Arc::clone(&self.model), settings)
    }

    /// One turn: from the user's words to the model's last ones.
    pub async fn turn(
        &mut self,
        input: Input,
        on_event: &mut OnEvent<'_>,
        cancel: &CancellationToken,
    ) -> Result<Turn, Error> {
        let span = tracing::info_span!("agent.turn", model = self.model.name());
        self.history.push(Message::User { parts: input.parts });
        let mut turn = Turn::new();
        let ended = self.steps(&mut turn, on_event, cancel).instrument(span).await;
        self.usage.add(turn.usage);
        turn.denied = turn.tool_calls.iter().filter(|call| call.fate == Fate::Denied).count();
        turn.stop = ended?;
        Ok(turn)
    }

    async fn steps(
        &mut self,
        turn: &mut Turn,
        on_event: &mut OnEvent<'_>,
        cancel: &CancellationToken,
    ) -> Result<Stop, Error> {
        loop {
            let is_last = turn.steps >= self.settings.max_steps;
            let catalog = self.look(on_event);
            let choice = self.choice(turn.steps, is_last);
            turn.steps += 1;
            let answer = match self.ask(&catalog, choice, on_event, cancel).await? {
                ask::Asked::Whole(answer) => answer,
                ask::Asked::Partial { text, stop } => {
                    turn.text.clone_from(&text);
                    self.history.push(Message::Assistant { text, calls: Vec::new(), thoughts: Vec::new() });
                    return Ok(stop);
                }
            };
            turn.usage.add(answer.usage);
            turn.text.clone_from(&answer.text);
            let has_calls = !answer.calls.is_empty();
            self.history.push(Message::Assistant {
                text: answer.text,
                calls: answer.calls,
                thoughts: answer.thoughts,
            });
            match answer.ending {
                Ending::Refused => {
                    self.history.close("Error: not run: the answer was refused");
                    return Ok(Stop::Refused);
                }
                Ending::Done | Ending::Length if is_last => {
                    self.history.close("Error: not run: the limit of steps was reached");
                    return Ok(Stop::MaxSteps);
                }
                Ending::Length if !has_calls => return Ok(Stop::Length),
                Ending::Done if !has_calls => return Ok(Stop::Done),
                Ending::Done | Ending::Length => {}
            }
            if self.act(turn, on_event, cancel).await == act::Acted::Interrupted {
                return Ok(Stop::Interrupted);
            }
        }
    }

    /// Whether a tool must be called in this step.
    fn choice(&mut self, step: u32, is_last: bool) -> Choice {
        if is_last {
            let limit = self.settings.max_steps;
            let words = format!(
                "[The limit of {limit} steps is reached. Answer now with what you have, without tools.]"
            );
            self.history.push(Message::user(words));
            return Choice::Never;
        }
        match step {
            0 => self.settings.first_choice.clone(),
            _ => Choice::Auto,
        }
    }

    /// The tools as they are now; tells if they are not what they were.
    fn look(&mut self, on_event: &mut OnEvent<'_>) -> Arc<Catalog> {
        let catalog = self.session.catalog();
        for entry in &catalog.tools {
            self.seen.insert(entry.name.clone(), (entry.server.clone(), entry.tool.name.clone()));
        }
        let names: BTreeSet<String> = catalog.tools.iter().map(|entry| entry.name.clone()).collect();
        if let Some(before) = self.offered.replace(names.clone())
            && before != names
        {
            let added = names.difference(&before).cloned().collect();
            let removed = before.difference(&names).cloned().collect();
            on_event(Event::ToolsChanged { added, removed });
        }
        catalog
    }
}

impl Turn {
    fn new() -> Self {
        Self {
            text: String::new(),
            tool_calls: Vec::new(),
            denied: 0,
            usage: Usage::default(),
            stop: Stop::Done,
            steps: 0,
        }
    }
}
