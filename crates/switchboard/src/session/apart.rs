//! Connections that are not shared: one more to a server, for somebody who answers its questions.
//!
//! It is the same server under the same rules: what is denied stays denied, a login is the session's, and it ends when the
//! server is changed, removed or no longer approved. What the server offers is known from the connection that is shared.

use std::sync::Arc;

use tokio::sync::broadcast;

use super::relay::Hear;
use super::{Events, Session};
use crate::calls::{CallError, connected, with_link};
use crate::catalog::Entry;
use crate::config::Transport;
use crate::connect::{Event, Handle};
use crate::declared::Remote;
use crate::host::Host;
use crate::json::Json;
use crate::wire::{Errand, Error};

/// A connection of one's own. It ends when it is dropped; see also [`Apart::end`].
#[derive(Debug)]
pub struct Apart {
    session: Session,
    server: String,
    handle: Handle,
    events: broadcast::Sender<Event>,
}

impl Drop for Apart {
    fn drop(&mut self) {
        self.end();
    }
}

impl Session {
    /// Whether a server asks its clients something, as far as its entry or its past tell. Who serves several clients gives
    /// each of them a connection of its own then.
    pub fn is_asking(&self, server: &str) -> bool {
        self.handle(server).is_some_and(|handle| handle.is_asking())
    }

    /// Whether what a server asks comes on the stream of the call it is about, as over Streamable HTTP. A server of the older
    /// kind that was written down as one of these asks as if it were not so.
    pub fn asks_on_streams(&self, server: &str) -> bool {
        let is_http = |handle: Handle| match &handle.recipe().spec.transport {
            Transport::Remote(endpoint) => endpoint.kind == Remote::Http,
            Transport::Stdio(_) => false,
        };
        self.handle(server).is_some_and(is_http)
    }

    /// Opens one more connection to a server. The host answers its questions, also those about no request in particular,
    /// and says what it may be asked.
    pub async fn apart(&self, server: &str, host: Arc<dyn Host>) -> Result<Apart, CallError> {
        let stopped = || CallError::Stopped { server: server.to_owned() };
        self.handle(server).ok_or_else(stopped)?;
        let mut fleet = self.inner.fleet.lock().await;
        let made = fleet.as_mut().and_then(|fleet| fleet.apart(server, host));
        let (handle, events) = made.ok_or_else(stopped)?;
        Ok(Apart { session: self.clone(), server: server.to_owned(), handle, events })
    }
}

impl Apart {
    /// Passes on a call of a tool, as [`Session::relay_call`] does.
    pub async fn relay_call(
        &self,
        entry: &Entry,
        params: &Json,
        errand: &Errand,
        hear: Hear<'_>,
    ) -> Result<Json, CallError> {
        self.session.relay_call_on(&self.handle, entry, (params, errand), hear).await
    }

    /// Passes on any other request, as [`Session::relay`] does.
    pub async fn relay(
        &self,
        request: (&str, &Json),
        errand: &Errand,
        hear: Hear<'_>,
    ) -> Result<Json, CallError> {
        self.session.relay_on(&self.handle, &self.server, (request, errand), hear).await
    }

    /// Waits until it is up and has said what it offers.
    pub async fn connected(&self) -> Result<(), CallError> {
        connected(&self.handle, &self.server).await
    }

    /// Asks the server to log from this level on.
    pub async fn log_from(&self, level: &str) -> Result<(), CallError> {
        let tell = |link: crate::wire::Link| async move { link.set_log_level(level).await };
        with_link(&self.handle, &self.server, tell).await
    }

    /// Tells the server that the folders changed, if it is connected: otherwise it asks for them anyway.
    pub async fn roots_changed(&self) -> Result<(), Error> {
        match self.handle.link() {
            Some(link) => link.roots_changed().await,
            None => Ok(()),
        }
    }

    /// What happens to it, and what the server says on it unasked, from now on.
    pub fn events(&self) -> Events {
        Events::new(self.events.subscribe(), Arc::clone(&self.session.scope))
    }

    /// Whether it has ended for good: the server was changed or removed, or the session is over.
    pub fn is_over(&self) -> bool {
        self.handle.is_over()
    }

    /// Ends it in order, without waiting for that. The end of the session does wait.
    pub fn end(&self) {
        self.handle.stop_soon();
    }
}
