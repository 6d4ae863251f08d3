//! What one does with a server: list what it offers, call tools, read resources, get prompts, complete arguments.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::era::Era;
use super::error::{Cause, Error};
use super::headers;
use super::ledger::{Beat, Wants};
use super::link::{Asking, Link, Shared, Traits};
use super::message::{self, Params};
use super::open;
use super::peer::{Carrier, Patience};
use super::rounds::{self, Kind};
use super::tasks;
use crate::json::Json;
use crate::notice::Progress;
use crate::offer::{
    CacheHint, CallResult, Completion, Item, Odd, Page, Prompt, PromptResult, ReadResult, Resource,
    TaskSupport, Template, Tool, page,
};

/// A whole list, page by page.
#[derive(Debug)]
pub struct Listing<T> {
    /// What can be used.
    pub items: Vec<T>,
    /// What cannot, one by one, with the reason.
    pub odd: Vec<Odd>,
    /// What was repaired, in words.
    pub notes: Vec<String>,
    /// Why the list ends before its end, if it does.
    pub cut: Option<String>,
    /// How long it stays true.
    pub hint: CacheHint,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { items: Vec::new(), odd: Vec::new(), notes: Vec::new(), cut: None, hint: CacheHint::default() }
    }
}

/// How a call is made.
#[derive(Default)]
pub struct CallOptions<'a> {
    /// Without any sign of life; the server's usual time-out if not given.
    pub timeout: Option<Duration>,
    /// Hears of progress.
    pub on_progress: Option<&'a mut (dyn FnMut(Progress) + Send)>,
}

impl std::fmt::Debug for CallOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallOptions").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Link {
    /// Every tool. On HTTP, one whose header rules are broken is not offered, as the protocol demands.
    pub async fn tools(&self) -> Result<Listing<Tool>, Error> {
        let mut listing: Listing<Tool> = self.shared.list("tools", "tools/list").await?;
        let is_http = matches!(self.shared.peer.carrier, Carrier::Http(_));
        let mut all = std::collections::HashMap::new();
        let items = std::mem::take(&mut listing.items);
        for (index, tool) in items.into_iter().enumerate() {
            let mirrors = match headers::mirrors_in(&tool.input_schema) {
                Ok(mirrors) => mirrors,
                Err(reason) if is_http => {
                    listing.odd.push(Odd { index, name: Some(tool.name), reason, raw: tool.raw });
                    continue;
                }
                Err(_) => Vec::new(),
            };
            all.insert(tool.name.clone(), Traits { mirrors, task: tool.task_support });
            listing.items.push(tool);
        }
        *self.shared.traits.lock().unwrap_or_else(PoisonError::into_inner) = all;
        Ok(listing)
    }

    /// Every resource.
    pub async fn resources(&self) -> Result<Listing<Resource>, Error> {
        self.shared.list("resources", "resources/list").await
    }

    /// Every template of resources.
    pub async fn templates(&self) -> Result<Listing<Template>, Error> {
        self.shared.list("resources", "resources/templates/list").await
    }

    /// Every prompt.
    pub async fn prompts(&self) -> Result<Listing<Prompt>, Error> {
        self.shared.list("prompts", "prompts/list").await
    }

    /// Calls a tool by the server's own name for it. Dropping the call tells the server.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &Json,
        options: CallOptions<'_>,
    ) -> Result<CallResult, Error> {
        let longest = self.shared.limits.longest_call;
        let called = timeout(longest, self.shared.call(tool, arguments, options)).await;
        let result = called.unwrap_or_else(|_| {
            Err(Error::maybe(Cause::Timeout { waiting_for: "tools/call".to_owned(), after: longest }))
        });
        let result = result.map_err(|error| error.scrubbed(&self.shared.secrets))?;
        Ok(CallResult::read(&result))
    }

    /// Reads a resource.
    pub async fn read(&self, uri: &str) -> Result<ReadResult, Error> {
        let mut asking = self.shared.plain("resources/read", Params::new().with("uri", json!(uri)));
        asking.name = Some(uri);
        let result = self.shared.ask_complete(asking).await?;
        ReadResult::read(&result).map_err(|why| Error::maybe(Cause::Malformed { why }))
    }

    /// Gets a prompt, filled in.
    pub async fn prompt(&self, name: &str, arguments: &[(String, String)]) -> Result<PromptResult, Error> {
        let mut params = Params::new().with("name", json!(name));
        if !arguments.is_empty() {
            let arguments: serde_json::Map<String, Value> =
                arguments.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            params = params.with("arguments", Value::Object(arguments));
        }
        let mut asking = self.shared.plain("prompts/get", params);
        asking.name = Some(name);
        let result = self.shared.ask_complete(asking).await?;
        PromptResult::read(&result).map_err(|why| Error::maybe(Cause::Malformed { why }))
    }

    /// Completes an argument of a prompt or template. `reference` and `context` are as the protocol has them.
    pub async fn complete(
        &self,
        reference: &Json,
        (name, value): (&str, &str),
        context: Option<&Json>,
    ) -> Result<Completion, Error> {
        let mut params = Params::new()
            .with("ref", reference.clone())
            .with("argument", json!({"name": name, "value": value}));
        if let Some(context) = context {
            params = params.with("context", context.clone());
        }
        let asking = self.shared.plain("completion/complete", params);
        let result = self.shared.ask(asking, &mut |_| {}).await?;
        Completion::read(&result).map_err(|why| Error::maybe(Cause::Malformed { why }))
    }
}

/// Whether the answer is a task in place of a result. Most are not; looking for the word is cheaper than a walk.
fn holds_task(result: &Json) -> bool {
    result.mentions("\"task\"") && message::fields(result).iter().any(|(name, _)| name == "task")
}

impl Shared {
    /// All pages of a list. A server that does not have it has an empty one.
    async fn list<T: Item>(&self, capability: &str, method: &str) -> Result<Listing<T>, Error> {
        let mut listing = Listing::default();
        if !self.facts.can(capability) {
            return Ok(listing);
        }
        let mut cursor: Option<String> = None;
        let mut seen = BTreeSet::new();
        let mut n_bytes = 0;
        for n_pages in 1.. {
            let params = match &cursor {
                Some(cursor) => Params::new().with("cursor", json!(cursor)),
                None => Params::new(),
            };
            let result = match self.ask(self.plain(method, params), &mut |_| {}).await {
                Err(Error { cause: Cause::Rpc(error), .. }) if error.code == -32601 => return Ok(listing),
                answer => answer?,
            };
            let Page { items, odd, next, notes, hint } =
                page(&result).map_err(|why| Error::maybe(Cause::Malformed { why }))?;
            listing.hint = if n_pages == 1 { hint } else { listing.hint.and(hint) };
            let room = self.limits.items.saturating_sub(listing.items.len());
            let n_items = items.len();
            n_bytes += result.len();
            listing.items.extend(items.into_iter().take(room));
            listing.odd.extend(odd.into_iter().take(self.limits.items));
            listing.notes.extend(notes.into_iter().take(self.limits.items));
            if n_items > room {
                listing.cut = Some(format!("more than {} items", self.limits.items));
                break;
            }
            let Some(next) = next else { break };
            listing.cut = if n_bytes > self.limits.message {
                Some(format!("more than {} bytes", self.limits.message))
            } else if n_pages >= self.limits.pages {
                Some(format!("more than {} pages", self.limits.pages))
            } else if !seen.insert(next.clone()) {
                Some("the server gives the same cursor again".to_owned())
            } else {
                cursor = Some(next);
                continue;
            };
            break;
        }
        Ok(listing)
    }

    async fn call(&self, tool: &str, arguments: &Json, options: CallOptions<'_>) -> Result<Json, Error> {
        let CallOptions { timeout, mut on_progress } = options;
        let mut listener = |beat: Beat| {
            if let (Beat::Progress(progress), Some(hear)) = (beat, on_progress.as_mut()) {
                hear(progress);
            }
        };
        let patience =
            Patience { idle: timeout.or_else(|| self.timeout()), total: Some(self.limits.longest_call) };
        let first = self.call_once(tool, arguments, patience, &mut listener).await;
        let (result, kind) = match first {
            Err(error) if error.is_misquoted() => {
                self.refresh_traits().await?;
                self.call_once(tool, arguments, patience, &mut listener).await?
            }
            answer => answer?,
        };
        let is_task = match self.facts.era {
            Era::Modern => matches!(kind, Kind::Task),
            Era::Handshake => holds_task(&result),
        };
        if is_task { self.follow_task(&result, None).await } else { Ok(result) }
    }

    async fn call_once(
        &self,
        tool: &str,
        arguments: &Json,
        patience: Patience,
        listener: &mut (dyn FnMut(Beat) + Send),
    ) -> Result<(Json, Kind), Error> {
        let traits = self.traits_of(tool);
        let mut params = Params::new().with("name", json!(tool)).with("arguments", arguments.clone());
        params = self.as_task(tool, params);
        let mirrored = self.mirrored(&traits, arguments);
        let asking = Asking {
            method: "tools/call",
            params,
            name: Some(tool),
            headers: mirrored,
            wants: Wants::Progress,
            patience,
            errand: None,
        };
        self.heard().await;
        match self.facts.era {
            Era::Modern => self.ask_in_rounds(asking, listener).await,
            Era::Handshake => self.ask(asking, listener).await.map(|result| (result, Kind::Complete)),
        }
    }

    /// Waits a moment until the server can ask what a call makes it ask.
    pub(super) async fn heard(&self) {
        if let (Carrier::Http(http), Era::Handshake) = (&self.peer.carrier, self.facts.era) {
            http.heard().await;
        }
    }

    /// The parameters of a call, as those of a task if the tool cannot be called otherwise.
    pub(super) fn as_task(&self, tool: &str, params: Params) -> Params {
        let is_needed = self.traits_of(tool).task == TaskSupport::Required;
        if is_needed && self.facts.era == Era::Handshake {
            params.with("task", json!({"ttl": tasks::KEEP_MS}))
        } else {
            params
        }
    }

    /// Whether a result is a task in place of one.
    pub(super) fn is_task(&self, result: &Json) -> bool {
        match self.facts.era {
            Era::Modern => matches!(rounds::kind(result), Ok(Kind::Task)),
            Era::Handshake => holds_task(result),
        }
    }

    pub(super) fn traits_of(&self, tool: &str) -> Traits {
        let known = self.traits.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(tool).cloned().unwrap_or_default()
    }

    /// The arguments that are repeated in headers.
    pub(super) fn mirrored(&self, traits: &Traits, arguments: &Json) -> Vec<(String, String)> {
        let is_http = matches!(self.peer.carrier, Carrier::Http(_));
        if is_http && self.facts.era == Era::Modern && !traits.mirrors.is_empty() {
            headers::param_headers(&traits.mirrors, &arguments.value())
        } else {
            Vec::new()
        }
    }

    /// Learns anew what calling each tool needs.
    pub(super) async fn refresh_traits(&self) -> Result<(), Error> {
        let listing: Listing<Tool> = self.list("tools", "tools/list").await?;
        let mut traits = self.traits.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in &listing.items {
            let mirrors = headers::mirrors_in(&tool.input_schema).unwrap_or_default();
            traits.insert(tool.name.clone(), Traits { mirrors, task: tool.task_support });
        }
        Ok(())
    }

    /// Asks for something that may come back with questions, but not as a task.
    async fn ask_complete(&self, asking: Asking<'_>) -> Result<Json, Error> {
        if self.facts.era == Era::Handshake {
            return self.ask(asking, &mut |_| {}).await;
        }
        match self.ask_in_rounds(asking, &mut |_| {}).await? {
            (result, Kind::Complete) => Ok(result),
            _ => Err(Error::maybe(Cause::Malformed { why: "a task where none may be".to_owned() })),
        }
    }

    /// Sends a request whose answer nobody waits for.
    pub(super) fn ask_and_forget(&self, method: &str, params: Params, name: &str) {
        open::ask_and_forget(&self.desk, &self.peer, self.rules(), (method, params, name));
    }
}
