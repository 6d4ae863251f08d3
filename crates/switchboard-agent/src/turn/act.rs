//! The calls of one answer, made side by side, each with exactly one result in the order of the calls.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;
use serde_json::Value;
use switchboard::calls::{CallError, Outcome, Request};
use switchboard::catalog::{Catalog, Entry, Missed};
use switchboard::connect::Status;
use switchboard::json::Json;
use switchboard::session::Found;
use switchboard::visible::excerpt;
use tokio_util::sync::CancellationToken;

use super::{Agent, Input, OnEvent, Stop, ToolCall, Turn};
use crate::block::{self, DELEGATE, SEARCH};
use crate::clean::clean;
use crate::event::{Event, Fate};
use crate::history::INTERRUPTED;
use crate::message::{Call, CallResult, Image, Message};
use crate::usage::Usage;

/// So many calls run at a time; the others wait for their turn.
const AT_ONCE: usize = 16;
/// Of a result so much is shown.
const HEAD: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acted {
    Done,
    Interrupted,
}

/// What became of one call.
struct Done {
    fate: Fate,
    is_error: bool,
    text: String,
    images: Vec<Image>,
    /// Tools that can be called from now on.
    found: Vec<String>,
    /// What another conversation took for it.
    usage: Usage,
    /// The calls it made.
    below: Vec<ToolCall>,
    /// How long the server took, without what somebody needed to agree.
    took: Option<Duration>,
}

impl Done {
    fn failed(fate: Fate, text: String) -> Self {
        Self::of(fate, true, text)
    }

    fn of(fate: Fate, is_error: bool, text: String) -> Self {
        let (images, found, below) = (Vec::new(), Vec::new(), Vec::new());
        Self { fate, is_error, text, images, found, usage: Usage::default(), below, took: None }
    }
}

/// What a call is about.
enum Target<'a> {
    Tool(&'a Entry),
    Search,
    Delegate,
    Nothing(String),
}

impl Agent {
    /// Makes the calls of the last answer.
    pub(super) async fn act(
        &mut self,
        turn: &mut Turn,
        on_event: &mut OnEvent<'_>,
        cancel: &CancellationToken,
    ) -> Acted {
        let calls = match self.history.messages().last() {
            Some(Message::Assistant { calls, .. }) => calls.clone(),
            _ => Vec::new(),
        };
        // What was offered with the question may be gone by now.
        let catalog = self.session.catalog();
        let targets: Vec<Target<'_>> = calls.iter().map(|call| self.target(&catalog, &call.name)).collect();
        for (call, target) in calls.iter().zip(&targets) {
            on_event(begun(call, target));
        }
        let mut done: Vec<Option<Done>> = calls.iter().map(|_| None).collect();
        let is_whole = {
            let mut jobs = Vec::new();
            for (index, (call, target)) in calls.iter().zip(&targets).enumerate() {
                jobs.push(self.job(index, call, target, cancel));
            }
            let mut running = stream::iter(jobs).buffer_unordered(AT_ONCE);
            loop {
                let next = tokio::select! {
                    biased;
                    () = cancel.cancelled() => break false,
                    next = running.next() => next,
                };
                let Some((index, ended, elapsed)) = next else { break true };
                on_event(told(&calls[index], &ended, elapsed));
                done[index] = Some(ended);
            }
        };
        let rows: Vec<(Option<String>, Option<String>, Option<String>)> = targets
            .iter()
            .map(|target| {
                let (server, tool) = names(target);
                let name = if let Target::Tool(entry) = target { Some(entry.name.clone()) } else { None };
                (server, tool, name)
            })
            .collect();
        drop(targets);
        let mut results = Vec::new();
        for ((call, done), (server, tool, name)) in calls.into_iter().zip(done).zip(rows) {
            let mut ended = done.unwrap_or_else(|| Done::failed(Fate::Interrupted, INTERRUPTED.to_owned()));
            self.remember(name, &ended);
            turn.usage.add(ended.usage);
            turn.tool_calls.push(ToolCall {
                name: call.name.clone(),
                server,
                tool,
                arguments: call.arguments,
                is_error: ended.is_error,
                approved: ended.fate == Fate::Made,
                fate: ended.fate,
            });
            turn.tool_calls.append(&mut ended.below);
            results.push(CallResult { id: call.id, name: call.name, text: ended.text, images: ended.images });
        }
        self.history.push(Message::Tool { results });
        if is_whole && !cancel.is_cancelled() { Acted::Done } else { Acted::Interrupted }
    }

    /// Tools that were found or used stay in sight.
    fn remember(&mut self, name: Option<String>, done: &Done) {
        let used = name.filter(|_| done.fate == Fate::Made);
        for name in done.found.iter().cloned().chain(used) {
            if !self.found.contains(&name) {
                self.found.push(name);
            }
        }
    }

    fn target<'a>(&self, catalog: &'a Catalog, name: &str) -> Target<'a> {
        // Our own names first: a server must not take them by a spelling.
        match name {
            SEARCH => return Target::Search,
            DELEGATE if self.settings.rules.sub_agents => return Target::Delegate,
            _ => {}
        }
        match catalog.find(name, None) {
            Ok(entry) => Target::Tool(entry),
            Err(missed) => Target::Nothing(self.why_missing(name, missed)),
        }
    }

    /// The truth about a tool that is not there.
    fn why_missing(&self, name: &str, missed: Missed) -> String {
        let shown = excerpt(name, 100);
        let Some((server, tool)) = self.seen.get(name) else {
            return format!("Error: there is no tool `{shown}`: {}", Found::Missed(missed));
        };
        let report = self.session.servers().into_iter().find(|report| report.name == *server);
        let why = match report.map(|report| report.status) {
            None => format!("its server `{server}` was removed or switched off"),
            Some(Status::Connected) => format!("its server `{server}` does not offer `{tool}` any more"),
            Some(_) => format!("its server `{server}` is not connected"),
        };
        format!("Error: the tool `{shown}` is gone: {why}. Go on without it, or say so")
    }

    /// One call, with its place among the others. Boxed, so that it can be sent between threads.
    fn job<'a>(
        &'a self,
        index: usize,
        call: &'a Call,
        target: &'a Target<'a>,
        cancel: &'a CancellationToken,
    ) -> Pin<Box<dyn Future<Output = (usize, Done, Duration)> + Send + 'a>> {
        Box::pin(async move {
            let started = Instant::now();
            let done = self.perform(target, call, cancel).await;
            let elapsed = done.took.unwrap_or_else(|| started.elapsed());
            (index, done, elapsed)
        })
    }

    async fn perform(&self, target: &Target<'_>, call: &Call, cancel: &CancellationToken) -> Done {
        let arguments = match target {
            Target::Nothing(why) => return Done::failed(Fate::Unknown, why.clone()),
            Target::Tool(_) | Target::Search | Target::Delegate => match arguments(call) {
                Ok(arguments) => arguments,
                Err(why) => return Done::failed(Fate::Malformed, why),
            },
        };
        match target {
            Target::Tool(entry) => self.call(entry, &arguments).await,
            Target::Search => self.search(&arguments.value()),
            Target::Delegate => self.delegate(&arguments.value(), cancel).await,
            Target::Nothing(why) => Done::failed(Fate::Unknown, why.clone()),
        }
    }

    async fn call(&self, entry: &Entry, arguments: &Json) -> Done {
        match self.session.call_entry(entry, arguments, Request::default()).await {
            Ok(outcome) => brought(&outcome),
            Err(error) => {
                let fate = match &error {
                    CallError::Denied { .. } | CallError::Deferred { .. } | CallError::Outdated { .. } => {
                        Fate::Denied
                    }
                    CallError::Arguments { .. } => Fate::Malformed,
                    CallError::Stopped { server } => {
                        let why = format!(
                            "Error: the server `{server}` was stopped or switched off; nothing was sent"
                        );
                        return Done::failed(Fate::Unknown, why);
                    }
                    CallError::Down { .. } | CallError::TooLate { .. } | CallError::Failed { .. } => {
                        Fate::Made
                    }
                };
                Done::failed(fate, clean(&error.text()).into_owned())
            }
        }
    }

    fn search(&self, arguments: &Value) -> Done {
        let query = arguments["query"].as_str().unwrap_or_default().trim();
        if query.is_empty() {
            let why = "Error: `query` must be a few words".to_owned();
            return Done::failed(Fate::Malformed, why);
        }
        let (found, text) = block::find(&self.session.catalog(), query);
        Done { found, ..Done::of(Fate::Made, false, text) }
    }

    /// Another conversation for one task. Boxed, since a turn is inside of a turn.
    fn delegate<'a>(
        &'a self,
        arguments: &Value,
        cancel: &'a CancellationToken,
    ) -> Pin<Box<dyn Future<Output = Done> + Send + 'a>> {
        let task = arguments["task"].as_str().unwrap_or_default().to_owned();
        let servers: Option<BTreeSet<String>> = arguments["servers"]
            .as_array()
            .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        Box::pin(async move {
            if task.trim().is_empty() {
                return Done::failed(Fate::Malformed, "Error: `task` must say what to do".to_owned());
            }
            let mut sub = self.sub(servers.as_ref());
            match sub.turn(Input::from(task.as_str()), &mut |_| {}, cancel).await {
                Ok(turn) => {
                    let is_error = turn.stop != Stop::Done;
                    let text = match turn.stop {
                        Stop::Done => turn.text,
                        stop => format!(
                            "Error: the helper did not finish ({}). It said: {}",
                            stop.as_str(),
                            turn.text
                        ),
                    };
                    Done { usage: turn.usage, below: turn.tool_calls, ..Done::of(Fate::Made, is_error, text) }
                }
                Err(error) => Done::failed(Fate::Made, format!("Error: the helper failed: {error}")),
            }
        })
    }
}

fn names(target: &Target<'_>) -> (Option<String>, Option<String>) {
    match target {
        Target::Tool(entry) => (Some(entry.server.clone()), Some(entry.tool.name.clone())),
        Target::Search | Target::Delegate | Target::Nothing(_) => (None, None),
    }
}

fn begun(call: &Call, target: &Target<'_>) -> Event {
    let (server, tool) = names(target);
    Event::ToolCall {
        id: call.id.clone(),
        name: call.name.clone(),
        server,
        tool,
        arguments: call.arguments.clone(),
    }
}

fn told(call: &Call, done: &Done, elapsed: Duration) -> Event {
    Event::ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: done.text.chars().take(HEAD).collect(),
        is_error: done.is_error,
        fate: done.fate,
        elapsed,
    }
}

/// What a tool brought, as a model may read it.
fn brought(outcome: &Outcome) -> Done {
    let text = &outcome.shaped.text;
    let mut kept = clean(text).into_owned();
    let n_gone = text.chars().count() - kept.chars().count();
    if n_gone > 0 {
        kept.push_str(&format!("\n[{n_gone} invisible characters were left out]"));
    }
    if kept.is_empty() {
        kept.push_str("(the tool gave back nothing)");
    }
    let usual = outcome.shaped.images.iter().filter(|media| Image::is_usual(&media.mime_type));
    let images =
        usual.map(|media| Image { mime_type: media.mime_type.clone(), data: media.data.clone() }).collect();
    Done { images, took: Some(outcome.elapsed), ..Done::of(Fate::Made, outcome.is_error, kept) }
}

/// The arguments, if they are an object.
fn arguments(call: &Call) -> Result<Json, String> {
    let text = call.arguments.trim();
    let text = if text.is_empty() { "{}" } else { text };
    let name = excerpt(&call.name, 100);
    match Json::from_text(text) {
        Ok(json) if text.starts_with('{') => Ok(json),
        Ok(_) => Err(format!("Error: the arguments of `{name}` must be one JSON object. Nothing was run")),
        Err(error) => Err(format!(
            "Error: the arguments of `{name}` are not valid JSON ({error}). Nothing was run: call it again with one JSON object"
        )),
    }
}
