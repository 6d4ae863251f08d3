//! What one does with a session: call tools, read resources, get prompts, complete arguments.

use std::sync::PoisonError;

use super::Session;
use super::keeper::results_dir;
use crate::calls::{CallError, Decision, Outcome, Request, decide, perform, spill, with_link};
use crate::catalog::{Entry, Missed, pin};
use crate::host::{Permission, Permit};
use crate::json::Json;
use crate::offer::{Completion, PromptResult, ReadResult};

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
        self.permit(entry, arguments).await?;
        self.run(entry, arguments, request).await
    }

    /// Calls a tool without asking anybody: whoever calls this has the user's yes. Denied tools stay denied.
    pub async fn call_approved(
        &self,
        entry: &Entry,
        arguments: &Json,
        request: Request<'_>,
    ) -> Result<Outcome, CallError> {
        if let Decision::Deny { reason } = self.decision(entry) {
            return Err(CallError::Denied { server: entry.server.clone(), reason });
        }
        self.run(entry, arguments, request).await
    }

    /// What the rules say of a call.
    pub fn decision(&self, entry: &Entry) -> Decision {
        let Some(handle) = self.handle(&entry.server) else { return Decision::Ask };
        decide(entry, &handle.recipe().spec.conduct, &self.discovery().settings)
    }

    async fn permit(&self, entry: &Entry, arguments: &Json) -> Result<(), CallError> {
        let denied = |reason: String| CallError::Denied { server: entry.server.clone(), reason };
        match self.decision(entry) {
            Decision::Run => return Ok(()),
            Decision::Deny { reason } => return Err(denied(reason)),
            Decision::Ask => {}
        }
        let key = (entry.server.clone(), entry.tool.name.clone(), pin(entry));
        if self.inner.approved.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
            return Ok(());
        }
        let question = Permission {
            name: entry.name.clone(),
            server: entry.server.clone(),
            tool: entry.tool.name.clone(),
            description: entry.tool.description.clone(),
            arguments: arguments.clone(),
        };
        match self.inner.options.host.permit(question).await {
            Permit::Once => Ok(()),
            Permit::Always => {
                self.inner.approved.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
                Ok(())
            }
            Permit::Deny { reason } => Err(denied(reason)),
        }
    }

    async fn run(&self, entry: &Entry, arguments: &Json, request: Request<'_>) -> Result<Outcome, CallError> {
        let stopped = || CallError::Stopped { server: entry.server.clone() };
        let handle = self.handle(&entry.server).ok_or_else(stopped)?;
        if !self.scope.sees_tool(&entry.server, &entry.name) {
            let reason = format!("`{}` is outside of this part of the session", entry.name);
            return Err(CallError::Denied { server: entry.server.clone(), reason });
        }
        let mut outcome = perform(&handle, entry, arguments, request).await?;
        let limit = usize::try_from(self.discovery().settings.max_output_bytes).unwrap_or(usize::MAX);
        let dir = results_dir(&self.inner.options.env);
        if let Some(spilled) = spill(&outcome.shaped.text, limit, &dir) {
            outcome.shaped.text = spilled.text;
            outcome.spilled = spilled.path;
        }
        Ok(outcome)
    }

    /// Reads a resource of a server.
    pub async fn read(&self, server: &str, uri: &str) -> Result<ReadResult, CallError> {
        let uri = uri.to_owned();
        self.on(server, |link| {
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
        self.on(server, |link| {
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
        self.on(server, |link| {
            let (reference, name, value) = (reference.clone(), name.clone(), value.clone());
            async move { link.complete(&reference, (&name, &value), None).await }
        })
        .await
    }

    async fn on<T, F>(&self, server: &str, work: impl Fn(crate::wire::Link) -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, crate::wire::Error>>,
    {
        let stopped = || CallError::Stopped { server: server.to_owned() };
        let handle = self.handle(server).filter(|_| self.scope.sees_rest(server)).ok_or_else(stopped)?;
        with_link(&handle, server, work).await
    }
}
