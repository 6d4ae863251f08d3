//! Requests of somebody else, passed on to the server they are for: what a gateway does all day.

use std::sync::Arc;

use tracing::Instrument;

use super::Session;
use crate::calls::{CallError, Decision, Denier, Ruling, is_safe, run_errand};
use crate::catalog::Entry;
use crate::connect::Handle;
use crate::json::Json;
use crate::problem::Explain;
use crate::spans;
use crate::wire::{Errand, Facts, Heard, Interest, Subscription};

/// Hears of a request while it is under way.
pub(super) type Hear<'a> = &'a mut (dyn FnMut(Heard) + Send);

impl Session {
    /// Passes on a call of a tool. Whoever sends it asked the user, if there was anything to ask; denied tools stay denied.
    /// The parameters go out as they are, under the server's own name for the tool; the result comes back as it came.
    pub async fn relay_call(
        &self,
        entry: &Entry,
        params: &Json,
        errand: &Errand,
        hear: Hear<'_>,
    ) -> Result<Json, CallError> {
        let handle = self.handle_for(entry)?;
        self.relay_call_on(&handle, entry, (params, errand), hear).await
    }

    /// The same, over one of the connections to its server.
    pub(super) async fn relay_call_on(
        &self,
        handle: &Handle,
        entry: &Entry,
        (params, errand): (&Json, &Errand),
        hear: Hear<'_>,
    ) -> Result<Json, CallError> {
        if let Ruling { decision: Decision::Deny { reason }, by } = self.explain(entry) {
            return Err(CallError::Denied { server: entry.server.clone(), reason, by: Denier::Rule(by) });
        }
        self.handle_for(entry)?;
        let watched = self.begin(entry);
        let request = ("tools/call", params);
        let relayed = run_errand(handle, (&entry.server, is_safe(entry)), request, errand, hear);
        let relayed = relayed.instrument(watched.span()).await;
        watched.over(&relayed, Explain::code);
        relayed
    }

    /// Passes on any other request. It must be one that does no harm when it is sent twice.
    pub async fn relay(
        &self,
        server: &str,
        request: (&str, &Json),
        errand: &Errand,
        hear: Hear<'_>,
    ) -> Result<Json, CallError> {
        let handle = self.seen(server)?;
        self.relay_on(&handle, server, (request, errand), hear).await
    }

    /// The same, over one of the connections to the server.
    pub(super) async fn relay_on(
        &self,
        handle: &Handle,
        server: &str,
        (request, errand): ((&str, &Json), &Errand),
        hear: Hear<'_>,
    ) -> Result<Json, CallError> {
        let watched = spans::request(server, request.0);
        let relayed = run_errand(handle, (server, true), request, errand, hear);
        let relayed = relayed.instrument(watched.span()).await;
        watched.over(&relayed, Explain::code);
        relayed
    }

    /// What a server said of itself, now or last time.
    pub fn facts(&self, server: &str) -> Option<Arc<Facts>> {
        self.handle(server)?.facts()
    }

    /// Hears of changes of resources of a server, for as long as the subscription is held.
    pub async fn subscribe(&self, server: &str, uris: &[String]) -> Result<Subscription, CallError> {
        self.listen(server, Interest { uris: uris.to_vec(), ..Interest::default() }).await
    }

    /// Hears of changes of tasks of a server, for as long as the subscription is held.
    pub async fn subscribe_tasks(&self, server: &str, tasks: &[String]) -> Result<Subscription, CallError> {
        self.listen(server, Interest { tasks: tasks.to_vec(), ..Interest::default() }).await
    }

    async fn listen(&self, server: &str, interest: Interest) -> Result<Subscription, CallError> {
        self.on(server, "subscriptions/listen", |link| {
            let interest = interest.clone();
            async move { link.subscribe(&interest).await }
        })
        .await
    }

    /// Asks a server to log from this level on. Servers of the modern protocol are told with each request instead.
    pub async fn log_from(&self, server: &str, level: &str) -> Result<(), CallError> {
        self.on(server, "logging/setLevel", |link| async move { link.set_log_level(level).await }).await
    }

    fn seen(&self, server: &str) -> Result<Handle, CallError> {
        self.handle(server).ok_or_else(|| CallError::Stopped { server: server.to_owned() })
    }
}
