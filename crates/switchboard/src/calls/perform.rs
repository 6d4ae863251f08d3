//! Sends a call, at most once unless it is safe to send it again.

use std::time::{Duration, Instant};

use super::error::CallError;
use super::outcome::Outcome;
use crate::catalog::Entry;
use crate::connect::{Freshness, Handle, Lease, View};
use crate::json::Json;
use crate::notice::Progress;
use crate::spans;
use crate::wire::{self, CallOptions, Errand, Heard, Link, Sent};

/// A call to make.
#[derive(Default)]
pub struct Request<'a> {
    /// Without any sign of life; the server's own limit if not given.
    pub timeout: Option<Duration>,
    /// Hears of progress.
    pub on_progress: Option<&'a mut (dyn FnMut(Progress) + Send)>,
}

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// Calls the tool. When the connection is lost before anything was sent, or the tool says that repeating it is safe, the
/// call waits for the next connection and goes out once more.
pub(crate) async fn perform(
    handle: &Handle,
    entry: &Entry,
    arguments: &Json,
    request: &mut Request<'_>,
) -> Result<Outcome, CallError> {
    let started = Instant::now();
    let is_safe = is_safe(entry);
    let mut is_first = true;
    loop {
        let lease = lease(handle, &entry.server, request.timeout, started).await?;
        spans::attempt(if is_first { 1 } else { 2 });
        let options = CallOptions {
            timeout: request.timeout,
            on_progress: match &mut request.on_progress {
                Some(hear) => Some(&mut **hear),
                None => None,
            },
        };
        let error = match lease.link.call(&entry.tool.name, arguments, options).await {
            Ok(result) => return Ok(Outcome::new(entry, result, started.elapsed())),
            Err(error) => error,
        };
        let tried = Tried { handle, lease: &lease, server: &entry.server, is_first, is_safe };
        tried.go_on(error).await?;
        is_first = false;
    }
}

/// Whether the tool said just now that calling it twice does no harm.
pub(crate) fn is_safe(entry: &Entry) -> bool {
    entry.freshness == Freshness::Live && (entry.tool.is_read_only() || entry.tool.is_idempotent())
}

/// Sends a request of somebody else as it is. Like a call of our own it is sent once more only if that does no harm.
pub(crate) async fn run_errand(
    handle: &Handle,
    (server, is_safe): (&str, bool),
    request: (&str, &Json),
    errand: &Errand,
    hear: &mut (dyn FnMut(Heard) + Send),
) -> Result<Json, CallError> {
    let started = Instant::now();
    let mut is_first = true;
    loop {
        let lease = lease(handle, server, errand.timeout, started).await?;
        let error = match lease.link.run_errand(request, errand, hear).await {
            Ok(result) => return Ok(result),
            Err(error) => error,
        };
        Tried { handle, lease: &lease, server, is_first, is_safe }.go_on(error).await?;
        is_first = false;
    }
}

/// A request that failed.
struct Tried<'a> {
    handle: &'a Handle,
    lease: &'a Lease,
    server: &'a str,
    is_first: bool,
    /// Sending it twice does no harm.
    is_safe: bool,
}

impl Tried<'_> {
    /// Makes ready for another try, if there may be one.
    async fn go_on(&self, error: wire::Error) -> Result<(), CallError> {
        let link = &self.lease.link;
        if error.is_logged_out() {
            // Whoever calls next is told so without asking the server.
            self.handle.useless(link, &error).await;
        }
        let may_repeat = error.sent == Sent::Never || self.is_safe;
        if !(self.is_first && may_repeat && is_of_the_connection(&error)) {
            // An answer speaks for itself; for anything else the process may have said why.
            let is_answer = matches!(error.cause, wire::Cause::Rpc(_));
            let stderr = if is_answer { String::new() } else { link.stderr_tail() };
            return Err(CallError::Failed { server: self.server.to_owned(), error, stderr });
        }
        // The owner learns of a loss by itself. Over HTTP a broken request says nothing of the next one, and others may be
        // under way on the same link: it stays, unless nobody is there at all.
        if link.is_up() && (link.transport() != "http" || is_unreachable(&error)) {
            self.handle.useless(link, &error).await;
        }
        Ok(())
    }
}

/// Whether the connection failed, rather than the request.
fn is_of_the_connection(error: &wire::Error) -> bool {
    use wire::Cause;
    matches!(
        error.cause,
        Cause::Exited { .. } | Cause::Closed | Cause::CutOff | Cause::SessionLost | Cause::Unreachable { .. }
    )
}

/// Whether nobody answers at the address.
fn is_unreachable(error: &wire::Error) -> bool {
    use wire::{Cause, Obstacle};
    let step = match &error.cause {
        Cause::Unreachable { step, .. } => *step,
        _ => return false,
    };
    matches!(step, Obstacle::Dns | Obstacle::Connect | Obstacle::Tls | Obstacle::NoTls)
}

/// Does something that is always safe to repeat, such as reading, once more after a loss.
pub(crate) async fn with_link<T, F>(
    handle: &Handle,
    server: &str,
    work: impl Fn(Link) -> F,
) -> Result<T, CallError>
where
    F: Future<Output = Result<T, wire::Error>>,
{
    let mut is_first = true;
    let started = Instant::now();
    loop {
        let lease = lease(handle, server, None, started).await?;
        let error = match work(lease.link.clone()).await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        Tried { handle, lease: &lease, server, is_first, is_safe: true }.go_on(error).await?;
        is_first = false;
    }
}

/// Waits until the server is up and has said what it offers now.
pub(crate) async fn connected(handle: &Handle, server: &str) -> Result<(), CallError> {
    let started = Instant::now();
    let _lease = lease(handle, server, None, started).await?;
    let is_live = |view: &View| view.offer.as_ref().is_some_and(|offer| offer.freshness == Freshness::Live);
    let mut view = handle.watch();
    let live = view.wait_for(is_live);
    let limit = handle.recipe().startup();
    let came = match limit {
        None => live.await.is_ok(),
        Some(limit) => tokio::time::timeout(limit, live).await.is_ok_and(|live| live.is_ok()),
    };
    let late = || CallError::TooLate { server: server.to_owned(), after: started.elapsed() };
    if came { Ok(()) } else { Err(late()) }
}

/// A link, for as long as the call may wait for one in all.
async fn lease(
    handle: &Handle,
    server: &str,
    timeout: Option<Duration>,
    started: Instant,
) -> Result<Lease, CallError> {
    let recipe = handle.recipe();
    // Without a limit on either, there is none.
    let usual = || recipe.startup().zip(recipe.timeout()).map(|(startup, timeout)| startup.max(timeout));
    let limit = timeout.or_else(usual);
    // The second wait of a call gets what the first left over.
    let left = limit.map(|limit| limit.saturating_sub(started.elapsed()));
    handle.lease(left).await.map_err(|refused| CallError::refused(server, refused))
}
