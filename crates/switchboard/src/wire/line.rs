//! A transport that is up, before anybody has said hello: the ledger, what carries messages, and the tasks behind both.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::child::{Ending, Process, Streams};
use super::door::Door;
use super::error::{Cause, Error};
use super::http::{Http, Site};
use super::legacy_sse::LegacySse;
use super::open::Terms;
use super::peer::{Carrier, Peer};
use super::questions::{self, Desk};
use super::router::{Question, Router};
use super::stdio;
use crate::resolve::{Address, Child};
use crate::secret::Secrets;

/// For what was said last to reach a process.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Ends with everything behind it when dropped.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) peer: Peer,
    pub(crate) desk: Desk,
    pub(crate) process: Option<Arc<Process>>,
    pub(crate) tasks: JoinSet<()>,
    /// Resolves when everything for a process was written.
    written: Option<oneshot::Receiver<()>>,
}

impl Line {
    /// Starts a process.
    pub(crate) fn start(child: &Child, terms: &Terms) -> Result<Self, Error> {
        let (router, questions) = Router::new(terms.trace.clone(), &terms.log, terms.limits.unasked);
        let mut tasks = JoinSet::new();
        let (process, Streams { input, output }) =
            Process::start(child, terms.guard.as_ref(), terms.limits.unasked).map_err(Error::never)?;
        terms.log.started(process.tail());
        let process = Arc::new(process);
        let limit = terms.limits.message;
        let (queue, written) = stdio::attach(&process, (input, output), child, (&router, limit), &mut tasks);
        let mut line = Self::new((router, questions), Carrier::Pipe(queue), Some(process), tasks, terms);
        line.written = Some(written);
        Ok(line)
    }

    /// Prepares to speak Streamable HTTP; nothing is sent yet.
    pub(crate) fn http(address: &Address, secrets: &Secrets, terms: &Terms) -> Self {
        let (router, questions) = Router::new(terms.trace.clone(), &terms.log, terms.limits.unasked);
        let mut tasks = JoinSet::new();
        let http = Http::new(site(address, secrets, terms), &router, &mut tasks);
        Self::new((router, questions), Carrier::Http(http), None, tasks, terms)
    }

    /// Opens a stream of the older kind.
    pub(crate) async fn legacy_sse(
        address: &Address,
        secrets: &Secrets,
        terms: &Terms,
    ) -> Result<Self, Error> {
        let (router, questions) = Router::new(terms.trace.clone(), &terms.log, terms.limits.unasked);
        let mut tasks = JoinSet::new();
        let sse = LegacySse::open(site(address, secrets, terms), &router, &mut tasks).await?;
        Ok(Self::new((router, questions), Carrier::Sse(sse), None, tasks, terms))
    }

    fn new(
        (router, questions): (Arc<Router>, tokio::sync::mpsc::Receiver<Question>),
        carrier: Carrier,
        process: Option<Arc<Process>>,
        mut tasks: JoinSet<()>,
        terms: &Terms,
    ) -> Self {
        let thinking = router.thinking.clone();
        let desk =
            Desk { server: terms.server.clone(), host: Arc::clone(&terms.host), owner: None, thinking };
        let peer = Peer { router, carrier, context: terms.context.clone() };
        tasks.spawn(questions::serve(desk.clone(), peer.clone(), questions));
        Self { peer, desk, process, tasks, written: None }
    }

    /// Ends it in order: says goodbye, closes, waits, and only then uses force.
    pub(crate) async fn stop(&mut self) -> Ending {
        match &self.peer.carrier {
            Carrier::Pipe(_) => {}
            Carrier::Http(http) => {
                http.finish_errands().await;
                http.goodbye().await;
            }
            Carrier::Sse(sse) => sse.finish_errands().await,
        }
        self.peer.router.lose(&Cause::Stopped);
        if let Some(written) = self.written.take() {
            let _stuck = timeout(LAST_WORDS, written).await;
        }
        // Ends the writer, which closes the input of a process.
        self.tasks.shutdown().await;
        match &self.process {
            Some(process) => process.stop().await,
            None => Ending::ByItself,
        }
    }
}

fn site(address: &Address, secrets: &Secrets, terms: &Terms) -> Site {
    let mut headers = HeaderMap::new();
    for (name, value) in &address.headers {
        let value = HeaderValue::from_bytes(value.as_bytes()).map(|mut value| {
            value.set_sensitive(true);
            value
        });
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), value)
            && !is_ours(&name)
        {
            headers.insert(name, value);
        }
    }
    Site {
        door: Door { web: Arc::clone(&terms.web), pass: terms.pass.clone() },
        url: address.url.clone(),
        headers,
        limit: terms.limits.message,
        secrets: secrets.clone(),
    }
}

/// Headers that say something of a message, which nobody but us knows.
fn is_ours(name: &HeaderName) -> bool {
    name.as_str().starts_with("mcp-") || name == "last-event-id"
}
