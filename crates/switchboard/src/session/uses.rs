//! What one does with a session: call tools, read resources, get prompts, complete arguments.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use tracing::Instrument;

use super::Session;
use super::keeper::results_dir;
use crate::calls::{
    By, CallError, Decision, Deferred, Denier, GrantKind, Outcome, Request, Ruling, Standing, connected,
    perform, with_link,
};
use crate::catalog::{Entry, Missed, Promise};
use crate::connect::{Freshness, Handle};
use crate::host::{Permission, Permit, Why};
use crate::json::Json;
use crate::offer::{Completion, PromptResult, ReadResult};
use crate::problem::Explain;
use crate::spans;

/// Why a name leads to nothing that can be done.
#[derive(Debug, Clone)]
pub enum Found {
    /// No tool, resource or prompt is called so, or several are.
    Missed(Missed),
    /// It was found and did not work.
    Call(CallError),
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missed(Missed::Unknown { near }) if near.is_empty() => f.write_str("nothing is called so"),
            Self::Missed(Missed::Unknown { near }) => {
                write!(f, "nothing is called so; near are {}", near.join(", "))
            }
            Self::Missed(Missed::LeftOut { server, tool }) => {
                write!(f, "the rules for `{server}` leave out `{tool}`")
            }
            Self::Missed(Missed::Ambiguous { candidates }) => {
                write!(f, "several could be meant: {}", candidates.join(", "))
            }
            Self::Call(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Found {}

impl From<CallError> for Found {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl Session {
    /// Calls a tool by any unambiguous spelling of its name, if it may be called.
    pub async fn call(&self, tool: &str, arguments: &Json) -> Result<Outcome, Found> {
        let catalog = self.catalog();
        let entry = catalog.find(tool, None).map_err(Found::Missed)?;
        Ok(self.call_entry(entry, arguments, Request::default()).await?)
    }

    /// Calls a tool of the catalog. What the rules leave to the user is asked of the host.
    pub async fn call_entry(
        &self,
        entry: &Entry,
        arguments: &Json,
        request: Request<'_>,
    ) -> Result<Outcome, CallError> {
        let watched = self.begin(entry);
        let called = async {
            is_object(entry, arguments)?;
            self.permit(entry, arguments).await?;
            self.run(entry, arguments, request).await
        };
        let called = called.instrument(watched.span()).await;
        ended(watched, &called);
        called
    }

    /// Calls a tool without asking anybody: whoever calls this has the user's yes. Denied tools stay denied.
    pub async fn call_approved(
        &self,
        entry: &Entry,
        arguments: &Json,
        request: Request<'_>,
    ) -> Result<Outcome, CallError> {
        let watched = self.begin(entry);
        let called = async {
            is_object(entry, arguments)?;
            if let Ruling { decision: Decision::Deny { reason }, by } = self.explain(entry) {
                let server = entry.server.clone();
                return Err(CallError::Denied { server, reason, by: Denier::Rule(by) });
            }
            self.run(entry, arguments, request).await
        };
        let called = called.instrument(watched.span()).await;
        ended(watched, &called);
        called
    }

    /// A call begins, for whoever follows.
    pub(super) fn begin(&self, entry: &Entry) -> spans::Watched {
        let number = self.inner.n_calls.fetch_add(1, Ordering::Relaxed) + 1;
        spans::call(&entry.server, &entry.tool.name, number)
    }

    /// What to ask the user about a call that was put aside, if it can still be made: the tool as it is now, and the
    /// arguments it would get. Waits for its server.
    pub async fn review(&self, deferred: &Deferred) -> Result<Permission, CallError> {
        let (_, entry) = self.awaited(deferred).await?;
        let why = match self.inner.granted(&self.binding(&entry)) {
            Some(Standing::Changed) => Why::Changed,
            Some(Standing::Holds | Standing::Unseen) | None => Why::Rule,
        };
        Ok(deferred.question(&entry, why))
    }

    /// Goes on with a call that was put aside, now that the user has a word. It is made only if it is still the same tool
    /// of the same server, and if no rule forbids it. Whoever keeps such calls forgets this one first: it is made each
    /// time it is handed in.
    pub async fn resume(&self, deferred: Deferred, permit: Permit) -> Result<Outcome, CallError> {
        let kind = match permit {
            Permit::Deny { reason } => {
                return Err(CallError::Denied { server: deferred.server, reason, by: Denier::User });
            }
            Permit::Refuse { reason } => {
                return Err(CallError::Denied { server: deferred.server, reason, by: Denier::Nobody });
            }
            Permit::Defer => return Err(CallError::Deferred { request: Box::new(deferred) }),
            Permit::Once => None,
            Permit::Session => Some(GrantKind::Session),
            Permit::Always => Some(GrantKind::Always),
        };
        let (handle, entry) = self.awaited(&deferred).await?;
        is_object(&entry, &deferred.arguments)?;
        if let Some(kind) = kind {
            self.inner.remember(kind, self.binding(&entry), &entry.name).await;
        }
        let watched = self.begin(&entry);
        let called = self.run_on(&handle, &entry, &deferred.arguments, Request::default());
        let called = called.instrument(watched.span()).await;
        ended(watched, &called);
        called
    }

    /// The tool a call was put aside for, if it is still there, still the same, and not forbidden.
    async fn awaited(&self, deferred: &Deferred) -> Result<(Handle, Entry), CallError> {
        let server = &deferred.server;
        let outdated = |reason: String| CallError::Outdated { server: server.clone(), reason };
        let denied = |reason: String, by: By| CallError::Denied {
            server: server.clone(),
            reason,
            by: Denier::Rule(by),
        };
        let handle = self.handle(server).ok_or_else(|| outdated(format!("there is no server `{server}`")))?;
        connected(&handle, server).await?;
        self.inner.rebuild();
        let catalog = self.catalog();
        let spelling = format!("{server}/{}", deferred.tool);
        let found = catalog.find(&spelling, Some(server)).map_err(|missed| match missed {
            Missed::LeftOut { .. } => denied(Found::Missed(missed).to_string(), By::Lists),
            Missed::Unknown { .. } | Missed::Ambiguous { .. } => {
                outdated(format!("`{server}` offers no tool `{}`", deferred.tool))
            }
        })?;
        deferred.is_for(found, &handle.recipe().key).map_err(outdated)?;
        let Ruling { decision, by } = self.explain(found);
        match decision {
            Decision::Deny { reason } => Err(denied(reason, by)),
            Decision::Run | Decision::Ask => Ok((handle, found.clone())),
        }
    }

    async fn run(&self, entry: &Entry, arguments: &Json, request: Request<'_>) -> Result<Outcome, CallError> {
        let handle = self.handle_for(entry)?;
        self.run_on(&handle, entry, arguments, request).await
    }

    /// The server of a tool, if this part of the session may call it.
    pub(super) fn handle_for(&self, entry: &Entry) -> Result<Handle, CallError> {
        let stopped = || CallError::Stopped { server: entry.server.clone() };
        let handle = self.handle(&entry.server).ok_or_else(stopped)?;
        if !self.scope.sees_tool(&entry.server, &entry.name) {
            let reason = format!("`{}` is outside of this part of the session", entry.name);
            return Err(CallError::Denied { server: entry.server.clone(), reason, by: Denier::Scope });
        }
        Ok(handle)
    }

    async fn run_on(
        &self,
        handle: &Handle,
        entry: &Entry,
        arguments: &Json,
        mut request: Request<'_>,
    ) -> Result<Outcome, CallError> {
        let mut outcome = match perform(handle, entry, arguments, &mut request).await {
            // The server did not look at it, so it can be sent again.
            Err(error) if self.login_for(&entry.server, &error).await => {
                perform(handle, entry, arguments, &mut request).await?
            }
            performed => performed?,
        };
        let limit = usize::try_from(self.discovery().settings.max_output_bytes).unwrap_or(usize::MAX);
        let dir = results_dir(&self.inner.options.env);
        outcome.fit(limit, &dir, SystemTime::now());
        outcome.hold(self.promise(entry)).await;
        Ok(outcome)
    }

    /// What the tool promises now: what was known at the time of the call may be from an earlier day.
    fn promise(&self, entry: &Entry) -> Option<Arc<Promise>> {
        let catalog = self.inner.catalog.borrow().clone();
        let is_it = |other: &&Entry| other.server == entry.server && other.tool.name == entry.tool.name;
        let is_live = |other: &&Entry| other.freshness == Freshness::Live;
        catalog.tools.iter().find(is_it).filter(is_live).unwrap_or(entry).promise.clone()
    }

    /// Reads a resource of a server.
    pub async fn read(&self, server: &str, uri: &str) -> Result<ReadResult, CallError> {
        let uri = uri.to_owned();
        self.on(server, "resources/read", |link| {
            let uri = uri.clone();
            async move { link.read(&uri).await }
        })
        .await
    }

    /// Gets a prompt of a server, filled in.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: &[(String, String)],
    ) -> Result<PromptResult, CallError> {
        let (name, arguments) = (name.to_owned(), arguments.to_vec());
        self.on(server, "prompts/get", |link| {
            let (name, arguments) = (name.clone(), arguments.clone());
            async move { link.prompt(&name, &arguments).await }
        })
        .await
    }

    /// Completes an argument of a prompt or template of a server.
    pub async fn complete(
        &self,
        server: &str,
        reference: &Json,
        (name, value): (&str, &str),
    ) -> Result<Completion, CallError> {
        let (reference, name, value) = (reference.clone(), name.to_owned(), value.to_owned());
        self.on(server, "completion/complete", |link| {
            let (reference, name, value) = (reference.clone(), name.clone(), value.clone());
            async move { link.complete(&reference, (&name, &value), None).await }
        })
        .await
    }

    pub(super) async fn on<T, F>(
        &self,
        server: &str,
        method: &str,
        work: impl Fn(crate::wire::Link) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, crate::wire::Error>>,
    {
        let stopped = || CallError::Stopped { server: server.to_owned() };
        let handle = self.handle(server).filter(|_| self.scope.sees_rest(server)).ok_or_else(stopped)?;
        let watched = spans::request(server, method);
        let done = with_link(&handle, server, work).instrument(watched.span()).await;
        watched.over(&done, Explain::code);
        done
    }
}

/// A call came to its end, for whoever follows.
fn ended(watched: spans::Watched, called: &Result<Outcome, CallError>) {
    match called {
        Ok(outcome) if outcome.is_error => watched.failed("tool-error"),
        called => watched.over(called, Explain::code),
    }
}

/// Arguments are always an object.
fn is_object(entry: &Entry, arguments: &Json) -> Result<(), CallError> {
    let kind = match arguments.as_str().trim_start().bytes().next() {
        Some(b'{') => return Ok(()),
        Some(b'[') => "a list",
        Some(b'"') => "a text",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    };
    let reason = format!("the arguments of `{}` must be an object, and are {kind}", entry.name);
    Err(CallError::Arguments { server: entry.server.clone(), reason })
}
