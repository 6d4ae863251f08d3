//! An open connection to a server, the same for every transport and either protocol: callers never ask which it is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::child::{Ending, Process};
use super::era::{self, Era, Facts, MODERN};
use super::errand::Errand;
use super::error::{Cause, Error};
use super::headers::Mirror;
use super::ledger::Wants;
use super::line::Line;
use super::log::Direction;
use super::message::{self, Params};
use super::open::{self, Limits, Terms};
use super::peer::{Carrier, Listener, Patience, Peer, Request, Rules};
use super::questions::Desk;
use crate::json::Json;
use crate::notice::Notice;
use crate::offer::TaskSupport;
use crate::resolve::Launch;
use crate::secret::Secrets;

/// An open connection. Clones share it; the last one to go ends it, by force if need be. Use [`Link::stop`] to end it
/// in order.
#[derive(Clone)]
pub struct Link {
    pub(super) shared: Arc<Shared>,
}

impl std::fmt::Debug for Link {
    /// Not the address, nor anything else that may hold a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Link");
        shown.field("server", &self.shared.desk.server).field("transport", &self.transport());
        shown.field("version", &self.facts().version).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) peer: Peer,
    pub(super) desk: Desk,
    pub(super) facts: Facts,
    pub(super) limits: Limits,
    /// The usual limit of one request.
    // Written when the definition changes, read in passing.
    timeout: Mutex<Option<Duration>>,
    process: Option<Arc<Process>>,
    pub(super) secrets: Secrets,
    /// What calling a tool needs to know of it; filled by listing.
    // Written by lists, read by calls, never held across a wait.
    pub(super) traits: Mutex<HashMap<String, Traits>>,
    /// The level it logs from, as far as we said so. Held while it is told.
    pub(super) log_level: tokio::sync::Mutex<Option<String>>,
    /// What runs behind the connection. Waited for only by whoever ends or renews it.
    line: tokio::sync::Mutex<Option<Line>>,
    renewals: tokio::sync::Mutex<Renewals>,
}

/// Held while a session is renewed.
#[derive(Debug)]
struct Renewals {
    /// How often it was: whoever finds it renewed since need not do it again.
    count: u64,
    /// Hears what the server says unasked, in the session of now.
    listener: Option<AbortHandle>,
}

/// What calling a tool needs to know of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Traits {
    pub(super) mirrors: Vec<Mirror>,
    pub(super) task: TaskSupport,
}

/// One question to the server.
#[derive(Debug)]
pub(super) struct Asking<'a> {
    pub(super) method: &'a str,
    pub(super) params: Params,
    /// What `Mcp-Name` says.
    pub(super) name: Option<&'a str>,
    /// More headers for HTTP.
    pub(super) headers: Vec<(String, String)>,
    pub(super) wants: Wants,
    pub(super) patience: Patience,
    /// Made for somebody else: what they can be asked, and who asks them.
    pub(super) errand: Option<&'a Errand>,
}

impl Link {
    pub(super) fn new(mut line: Line, facts: Facts, launch: &Launch, terms: &Terms) -> Self {
        let listener = match &line.peer.carrier {
            Carrier::Http(http) if facts.era == Era::Handshake => {
                Some(line.tasks.spawn(Arc::clone(http).listen()))
            }
            _ => None,
        };
        let shared = Shared {
            peer: line.peer.clone(),
            desk: line.desk.clone(),
            facts,
            limits: terms.limits,
            timeout: Mutex::new(terms.timeout),
            process: line.process.clone(),
            secrets: launch.secrets.clone(),
            traits: Mutex::default(),
            log_level: tokio::sync::Mutex::default(),
            line: tokio::sync::Mutex::new(Some(line)),
            renewals: tokio::sync::Mutex::new(Renewals { count: 0, listener }),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Whether both are the same connection.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// What the server says of itself.
    pub fn facts(&self) -> &Facts {
        &self.shared.facts
    }

    /// What the server says unasked, in order. For one consumer.
    pub async fn notice(&self) -> Notice {
        self.shared.peer.router.notices.next().await
    }

    /// The next notice, if there is one already.
    pub fn take_notice(&self) -> Option<Notice> {
        self.shared.peer.router.notices.take()
    }

    /// Notes that something may have been missed: what the server offers must be asked anew.
    pub(crate) fn ask_anew(&self) {
        self.shared.peer.router.notices.push(Notice::SessionRenewed);
    }

    /// Resolves when the connection is gone, with the reason.
    pub async fn lost(&self) -> Error {
        Error::maybe(self.shared.peer.router.lost().await)
    }

    /// Whether the connection still stands, as far as we know.
    pub fn is_up(&self) -> bool {
        self.shared.peer.router.why_lost().is_none()
    }

    /// The last words on the standard error of its process, without secrets.
    pub fn stderr_tail(&self) -> String {
        let tail = self.shared.process.as_ref().map(|process| process.stderr_tail()).unwrap_or_default();
        self.shared.secrets.scrub(&tail).into_owned()
    }

    /// Lines on its output that were no messages, and the first of them, without secrets.
    pub fn noise(&self) -> (u64, Option<String>) {
        self.shared.peer.router.noise(&self.shared.secrets)
    }

    /// Answers nobody waited for, and notices that found no room.
    pub fn strays(&self) -> u64 {
        self.shared.peer.router.strays() + self.shared.peer.router.notices.dropped()
    }

    /// Which transport it turned out to be.
    pub fn transport(&self) -> &'static str {
        match &self.shared.peer.carrier {
            Carrier::Pipe(_) => "stdio",
            Carrier::Http(_) => "http",
            Carrier::Sse(_) => "sse",
        }
    }

    /// From now on a request may take so long, unless it says otherwise.
    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) {
        *self.shared.timeout.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
    }

    /// Ends the connection in order and says how it went. Open requests fail.
    pub async fn stop(&self) -> Ending {
        let line = self.shared.line.lock().await.take();
        match line {
            Some(mut line) => line.stop().await,
            None => Ending::ByItself,
        }
    }

    /// Asks for a sign of life.
    pub async fn ping(&self) -> Result<(), Error> {
        let method = match self.facts().era {
            Era::Modern => "server/discover",
            Era::Handshake => "ping",
        };
        let answer = self.shared.ask(self.shared.plain(method, Params::new()), &mut |_| {}).await;
        match answer {
            // A server that does not know the question is there to say so.
            Ok(_) | Err(Error { cause: Cause::Rpc(_), .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Tells the server that the folders changed. The modern protocol has no such notice.
    pub async fn roots_changed(&self) -> Result<(), Error> {
        match self.facts().era {
            Era::Modern => Ok(()),
            Era::Handshake => {
                let method = "notifications/roots/list_changed";
                let text = message::notification(method, None);
                self.shared.peer.router.log.said(Direction::Sent, method, text.len());
                self.shared.peer.say(text, Rules::Handshake).await
            }
        }
    }

    /// Any request, answered as it comes: questions inside the answer are not answered.
    pub async fn request(&self, method: &str, params: &Json) -> Result<Json, Error> {
        self.shared.ask(self.shared.plain(method, Params::of(params)), &mut |_| {}).await
    }
}

impl Shared {
    pub(super) const fn rules(&self) -> Rules {
        match self.facts.era {
            Era::Modern => Rules::Modern,
            Era::Handshake => Rules::Handshake,
        }
    }

    pub(super) fn timeout(&self) -> Option<Duration> {
        *self.timeout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A question with the usual patience and nothing special about it.
    pub(super) fn plain<'a>(&self, method: &'a str, params: Params) -> Asking<'a> {
        let patience = Patience::of(self.timeout());
        Asking {
            method,
            params,
            name: None,
            headers: Vec::new(),
            wants: Wants::Answer,
            patience,
            errand: None,
        }
    }

    /// Asks, in the way of the server's protocol. A session that was lost is renewed and the question put once more:
    /// the server refused to look at it, so nothing happens twice.
    pub(super) async fn ask(&self, asking: Asking<'_>, listener: Listener<'_>) -> Result<Json, Error> {
        // Waits for a renewal that is under way.
        let seen = self.renewals.lock().await.count;
        let answer = self.put(&asking, listener).await;
        let Err(error) = answer else { return answer };
        match &error.cause {
            Cause::SessionLost => {
                // Rare and large, so no request carries it along.
                Box::pin(self.renew(seen)).await?;
                self.put(&asking, listener).await
            }
            // Servers exist that refuse the first request in the very version they name.
            Cause::Rpc(refusal)
                if refusal.code == -32022
                    && refusal.data.as_ref().is_some_and(|data| data.as_str().contains(MODERN)) =>
            {
                self.put(&asking, listener).await
            }
            _ => Err(error),
        }
    }

    pub(super) async fn put(&self, asking: &Asking<'_>, listener: Listener<'_>) -> Result<Json, Error> {
        let rules = self.rules();
        let mut params = asking.params.clone();
        let mut headers = asking.headers.clone();
        if rules == Rules::Modern {
            params = open::modern(params, &self.desk);
            if let Some(errand) = asking.errand {
                params = params
                    .with_meta("io.modelcontextprotocol/clientCapabilities", errand.capabilities.clone());
            }
            let level = match asking.errand {
                Some(errand) => errand.log_level.clone(),
                None => self.log_level.lock().await.clone(),
            };
            if let Some(level) = level {
                params = params.with_meta("io.modelcontextprotocol/logLevel", json!(level));
            }
            headers.extend(open::standard_headers(asking.method, asking.name));
        }
        let (method, wants, patience) = (asking.method, asking.wants, asking.patience);
        let behalf = asking.errand.map(|errand| errand.behalf.clone());
        let request = Request { method, params, headers, rules, wants, patience, behalf };
        let answer = self.peer.request(request, listener).await;
        answer.map_err(|error| error.scrubbed(&self.secrets))
    }

    /// Makes a new session in place of the one the server forgot; once for all who noticed.
    async fn renew(&self, seen: u64) -> Result<(), Error> {
        let Carrier::Http(http) = &self.peer.carrier else { return Err(Error::never(Cause::SessionLost)) };
        let mut renewals = self.renewals.lock().await;
        if renewals.count != seen {
            return Ok(());
        }
        let asking = self.plain("initialize", open::greeting(&self.desk));
        let never = |error: Error| Error::never(error.cause);
        let result = self.put(&asking, &mut |_| {}).await.map_err(never)?;
        let facts = era::initialized(&result).map_err(Error::never)?;
        let limit = self.timeout().unwrap_or(self.limits.longest_call);
        let concluded = timeout(limit, open::conclude(&self.peer, &facts.version)).await;
        let waiting_for = "notifications/initialized".to_owned();
        let late = |_| Err(Error::never(Cause::Timeout { waiting_for, after: limit }));
        concluded.unwrap_or_else(late).map_err(never)?;
        renewals.count += 1;
        self.say_level_again().await;
        if let Some(line) = self.line.lock().await.as_mut() {
            let listener = line.tasks.spawn(Arc::clone(http).listen());
            if let Some(old) = renewals.listener.replace(listener) {
                old.abort();
            }
        }
        self.peer.router.notices.push(Notice::SessionRenewed);
        Ok(())
    }
}
