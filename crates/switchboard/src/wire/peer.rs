//! One side of a JSON-RPC conversation: asks, waits with patience, gives up properly.
//!
//! A request ends exactly once: with its answer, with the loss of the connection, or with the end of patience. When the
//! caller goes away before that, the server is told, in the way its transport and era want it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::error::{Cause, Error};
use super::http::Http;
use super::ledger::{Beat, Wants};
use super::legacy_sse::LegacySse;
use super::log::Direction;
use super::message::{self, Params};
use super::router::{Router, Ticket};
use super::stage::Stage;
use super::thoughts::Thought;
use crate::context;
use crate::host::Behalf;
use crate::json::Json;
use crate::notice::Progress;

/// How long something that needs no answer may take on its way.
const SAYING: Duration = Duration::from_secs(30);

/// How long to wait. Progress extends `idle`, nothing extends `total`; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Without any sign of life.
    pub idle: Option<Duration>,
    /// In all.
    pub total: Option<Duration>,
}

impl Patience {
    /// The same limit for both.
    pub const fn of(limit: Option<Duration>) -> Self {
        Self { idle: limit, total: limit }
    }
}

/// What carries messages to the server.
#[derive(Debug, Clone)]
pub(crate) enum Carrier {
    /// Standard input of a child.
    Pipe(mpsc::Sender<Frame>),
    /// A POST each, answered on its own stream.
    Http(Arc<Http>),
    /// A POST each, answered on the one stream.
    Sse(Arc<LegacySse>),
}

impl Carrier {
    fn send_later(&self, frame: Frame) {
        match self {
            // A full queue means that the server does not read; it will not read this either.
            Self::Pipe(queue) => drop(queue.try_send(frame)),
            Self::Http(http) => http.say_later(frame),
            Self::Sse(sse) => sse.say_later(frame),
        }
    }
}

/// A message on its way out.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// The request's id; none for notifications and answers.
    pub(crate) id: Option<u64>,
    /// The text.
    pub(crate) text: Bytes,
    /// How far it got.
    pub(crate) stage: Arc<Stage>,
    /// Headers that mirror the message, where HTTP carries it.
    pub(crate) headers: Vec<(String, String)>,
    /// The rules that apply to it.
    pub(crate) rules: Rules,
    /// Acting on it twice does no harm.
    pub(crate) may_repeat: bool,
    /// A new session begins with it, so it names none.
    pub(crate) starts_session: bool,
}

/// Which rules of transport a message follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Self-contained requests, no session, a closed stream is a cancellation.
    Modern,
    /// Sessions, resumable streams, cancellation by notification.
    Handshake,
}

/// A request of ours.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Params,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) rules: Rules,
    pub(crate) wants: Wants,
    pub(crate) patience: Patience,
    /// Who answers what the server asks about it.
    pub(crate) behalf: Option<Behalf>,
}

/// Hears of progress and other signs of life while a request is under way.
pub(crate) type Listener<'a> = &'a mut (dyn FnMut(Beat) + Send);

#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) router: Arc<Router>,
    pub(crate) carrier: Carrier,
    pub(crate) context: Option<context::Source>,
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("carrier", &self.carrier).finish_non_exhaustive()
    }
}

impl Peer {
    /// The parameters, with where the work stands in a trace.
    pub(crate) fn traced(&self, params: Params) -> Params {
        let Some(context) = self.context.as_ref().and_then(|source| source()) else { return params };
        let params = params.with_meta("traceparent", serde_json::Value::from(context.traceparent));
        match context.tracestate {
            Some(state) => params.with_meta("tracestate", serde_json::Value::from(state)),
            None => params,
        }
    }

    /// Asks and waits for the answer.
    pub(crate) async fn request(&self, request: Request<'_>, listener: Listener<'_>) -> Result<Json, Error> {
        let owner = request.behalf.as_ref().map(|behalf| behalf.owner);
        let ticket =
            self.router.register(request.wants, request.method, request.behalf).map_err(Error::never)?;
        let mut params = self.traced(request.params);
        if request.wants == Wants::Progress {
            params = params.with_meta("progressToken", serde_json::Value::from(ticket.id));
        }
        let frame = Frame {
            id: Some(ticket.id),
            text: message::request(ticket.id, request.method, &params),
            stage: Arc::clone(&ticket.stage),
            headers: request.headers,
            rules: request.rules,
            may_repeat: request.method != "tools/call",
            starts_session: request.method == "initialize",
        };
        self.router.log.asked(ticket.id, request.method, frame.text.len());
        let waiting = Waiting {
            ticket,
            carrier: self.carrier.clone(),
            rules: request.rules,
            is_open: true,
            owner,
            // The protocol forbids cancelling the handshake, and older servers do not know the other question.
            may_cancel: !matches!(request.method, "initialize" | "server/discover"),
        };
        self.wait(waiting, frame, request.patience, (request.method, listener)).await
    }

    async fn wait(
        &self,
        mut waiting: Waiting,
        frame: Frame,
        patience: Patience,
        (method, listener): (&str, Listener<'_>),
    ) -> Result<Json, Error> {
        let mut clock = Clock::start(patience);
        let (carry, late) = (self.carry(frame), sleep_until(clock.deadline().unwrap_or(clock.started)));
        tokio::pin!(carry, late);
        let mut carried = false;
        loop {
            let ticket = &mut waiting.ticket;
            // Mostly it is the same as before, and then the timer is not touched.
            let deadline = clock.deadline();
            if let Some(deadline) = deadline.filter(|deadline| *deadline != late.deadline()) {
                late.as_mut().reset(deadline);
            }
            tokio::select! {
                biased;
                beat = next(&mut ticket.beats) => {
                    clock.heard(&beat);
                    listener(beat);
                }
                answer = &mut ticket.reply => {
                    while let Some(beat) = ticket.beats.as_mut().and_then(|beats| beats.try_recv().ok()) {
                        listener(beat);
                    }
                    let cause = match answer {
                        Ok(Ok(result)) => return Ok(waiting.done(result)),
                        Ok(Err(cause)) => cause,
                        Err(_) => Cause::Closed,
                    };
                    return Err(waiting.failed(cause));
                }
                ended = &mut carry, if !carried => match ended {
                    Ok(()) => carried = true,
                    Err(error) => return Err(waiting.refused(error)),
                },
                () = &mut late, if deadline.is_some() => {
                    // While the host thinks about a question of the server, the server waits for us.
                    let Thought { open, ended } = self.router.thinking.of(waiting.owner);
                    if open > 0 {
                        clock.resume(Instant::now());
                    } else if let Some(ended) = ended.filter(|ended| *ended > clock.idle_since) {
                        clock.resume(ended);
                    } else {
                        return Err(waiting.gave_up(method, &clock));
                    }
                }
            }
        }
    }

    /// Brings the message on its way; ends when the transport has nothing more to say about it.
    async fn carry(&self, frame: Frame) -> Result<(), Error> {
        match &self.carrier {
            Carrier::Pipe(queue) => queue.send(frame).await.map_err(|_| Error::never(self.why_lost())),
            Carrier::Http(http) => http.exchange(frame).await,
            Carrier::Sse(sse) => sse.post(frame).await,
        }
    }

    /// Says something that needs no answer. Comes back when it is on its way.
    pub(crate) async fn say(&self, text: Bytes, rules: Rules) -> Result<(), Error> {
        let late =
            || Error::maybe(Cause::Timeout { waiting_for: "the server to listen".to_owned(), after: SAYING });
        timeout(SAYING, self.carry(passing(text, rules))).await.unwrap_or_else(|_| Err(late()))
    }

    /// Sends something without anybody waiting for it.
    pub(crate) fn send_later(&self, frame: Frame) {
        self.carrier.send_later(frame);
    }

    fn why_lost(&self) -> Cause {
        self.router.why_lost().unwrap_or(Cause::Closed)
    }
}

fn passing(text: Bytes, rules: Rules) -> Frame {
    Frame {
        id: None,
        text,
        stage: Arc::default(),
        headers: Vec::new(),
        rules,
        may_repeat: true,
        starts_session: false,
    }
}

/// A request that somebody waits for. Dropping it open tells the server.
struct Waiting {
    ticket: Ticket,
    carrier: Carrier,
    rules: Rules,
    is_open: bool,
    may_cancel: bool,
    /// Who answers for it, if not the host.
    owner: Option<u64>,
}

impl Waiting {
    fn done(mut self, result: Json) -> Json {
        self.is_open = false;
        result
    }

    fn failed(mut self, cause: Cause) -> Error {
        self.is_open = false;
        if self.ticket.stage.has_left() { Error::maybe(cause) } else { Error::never(cause) }
    }

    /// The transport could not carry it, or lost the answer.
    fn refused(mut self, error: Error) -> Error {
        self.is_open = false;
        error
    }

    fn gave_up(self, method: &str, clock: &Clock) -> Error {
        let cause = Cause::Timeout { waiting_for: method.to_owned(), after: clock.waited() };
        if self.ticket.stage.take_back() { Error::never(cause) } else { Error::maybe(cause) }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_open || self.ticket.stage.take_back() || !self.may_cancel {
            return;
        }
        let id = serde_json::Value::from(self.ticket.id);
        let params =
            Params::new().with("requestId", id).with("reason", serde_json::json!("no longer needed"));
        let method = "notifications/cancelled";
        let frame = passing(message::notification(method, Some(&params)), self.rules);
        match (&self.carrier, self.rules) {
            // Dropping the exchange closes the stream, which is the cancellation.
            (Carrier::Http(_), Rules::Modern) => {}
            (carrier, _) => {
                self.ticket.log().said(Direction::Sent, method, frame.text.len());
                carrier.send_later(frame);
            }
        }
    }
}

/// The two limits of a request.
struct Clock {
    patience: Patience,
    started: Instant,
    idle_since: Instant,
    /// Progress that does not advance is no sign of life.
    furthest: f64,
}

impl Clock {
    fn start(patience: Patience) -> Self {
        let now = Instant::now();
        Self { patience, started: now, idle_since: now, furthest: f64::NEG_INFINITY }
    }

    fn heard(&mut self, beat: &Beat) {
        match beat {
            Beat::Progress(Progress { progress, .. }) if *progress > self.furthest => {
                self.furthest = *progress;
                self.idle_since = Instant::now();
            }
            Beat::Progress(_) | Beat::Granted(_) | Beat::Said(_) | Beat::Meanwhile(_) => {}
        }
    }

    /// The time until then was not the server's.
    fn resume(&mut self, then: Instant) {
        self.started = then;
        self.idle_since = then;
    }

    fn deadline(&self) -> Option<Instant> {
        let idle = self.patience.idle.map(|idle| self.idle_since + idle);
        let total = self.patience.total.map(|total| self.started + total);
        idle.into_iter().chain(total).min()
    }

    fn waited(&self) -> Duration {
        self.deadline().map_or(Duration::ZERO, |deadline| deadline - self.started)
    }
}

async fn next(beats: &mut Option<mpsc::Receiver<Beat>>) -> Beat {
    let heard = match beats {
        Some(beats) => beats.recv().await,
        None => None,
    };
    match heard {
        Some(beat) => beat,
        None => std::future::pending().await,
    }
}
