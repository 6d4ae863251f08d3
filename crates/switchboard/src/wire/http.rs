//! Streamable HTTP: every message a POST; the answer comes as its body or on its own stream of events.
//!
//! Under the handshake rules there is a session, a lost stream is resumed where it broke, and the server may open a
//! stream of its own. Under the modern rules a request stands for itself and a lost stream is a lost answer.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Response};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use url::Url;

use super::door::{self, Door};
use super::error::{Cause, Error};
use super::message::{self, Incoming};
use super::peer::{Frame, Rules};
use super::router::{Router, Via};
use super::sse;
use super::web::{self, Ask, BodyError};
use crate::notice::Notice;
use crate::secret::Secrets;
use crate::visible::excerpt;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Before a broken stream is resumed, unless the server says how long.
const RESUME_AFTER: Duration = Duration::from_secs(1);
/// A server that says zero would be asked in a tight loop.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// Resumptions in a row that brought nothing.
const MOST_RESUMES: u32 = 5;
/// How often a request that was turned away for now is sent again.
const MOST_RETRIES: u32 = 3;
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// The rest of a stream after its answer, so that the connection can be used again.
const DRAIN: Duration = Duration::from_secs(1);
/// Bytes of an answer that tells what a server is.
const GREETING: usize = 1024 * 1024;
const HEARD: Duration = Duration::from_secs(1);
/// Errands that wait: many calls may be given up at once, and the server is told of each.
pub(crate) const ERRANDS: usize = 1024;
const GOODBYE: Duration = Duration::from_secs(2);

/// Where and how.
#[derive(Debug)]
pub(crate) struct Http {
    pub(crate) door: Door,
    pub(crate) url: Url,
    /// The configured ones. They go to this address only.
    pub(crate) headers: HeaderMap,
    pub(crate) router: Arc<Router>,
    pub(crate) limit: usize,
    /// What no error may repeat.
    secrets: Secrets,
    /// Written by answers, read by requests; never held across a wait.
    session: Mutex<Option<HeaderValue>>,
    /// The negotiated version of the handshake.
    version: OnceLock<HeaderValue>,
    errands: mpsc::Sender<Errand>,
    /// Whether the server was asked for its own stream and has answered.
    listening: watch::Sender<bool>,
}

/// What is done in the background.
#[derive(Debug)]
pub(crate) enum Errand {
    Say(Frame),
    Drain(Response),
    /// Tell when everything was said.
    Finish(oneshot::Sender<()>),
}

/// What is needed to speak HTTP with a server.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) door: Door,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) limit: usize,
    pub(crate) secrets: Secrets,
}

impl Http {
    pub(crate) fn new(site: Site, router: &Arc<Router>, tasks: &mut JoinSet<()>) -> Arc<Self> {
        let (errands, work) = mpsc::channel(ERRANDS);
        let Site { door, url, headers, limit, secrets } = site;
        let router = Arc::clone(router);
        let http = Arc::new(Self {
            door,
            url,
            headers,
            router,
            limit,
            secrets,
            session: Mutex::default(),
            version: OnceLock::new(),
            errands,
            listening: watch::Sender::new(false),
        });
        tasks.spawn(run_errands(Arc::downgrade(&http), work));
        http
    }

    /// From now on every message names this version.
    pub(crate) fn negotiated(&self, version: &str) {
        if let Ok(value) = HeaderValue::from_str(version) {
            // A renewed session negotiates the same version again.
            let _again = self.version.set(value);
        }
    }

    fn session(&self) -> Option<HeaderValue> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a message and delivers what comes back on it. Ends when nothing more can come.
    pub(crate) async fn exchange(&self, frame: Frame) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            let error = match self.attempt(&frame).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let Some(pause) = pause(&error.cause, frame.may_repeat).filter(|_| tries < MOST_RETRIES) else {
                return Err(error);
            };
            tries += 1;
            sleep(pause).await;
        }
    }

    async fn attempt(&self, frame: &Frame) -> Result<(), Error> {
        if !frame.stage.leave() {
            return Err(Error::never(Cause::Cancelled));
        }
        if let Some(trace) = &self.router.trace {
            trace.sent(&frame.text);
        }
        // The old session stays until there is a new one: whoever still names it hears that it is lost, and waits.
        let session = self.session().filter(|_| !frame.starts_session);
        let ask = Ask {
            method: Method::POST,
            url: self.url.clone(),
            headers: self.post_headers(frame, session.as_ref()),
            body: Some(frame.text.clone()),
        };
        let response = self.door.send(ask).await.map_err(|(cause, may_have_left)| {
            if may_have_left {
                return Error::maybe(cause);
            }
            frame.stage.stayed();
            Error::never(cause)
        })?;
        self.step(&response);
        if response.status().is_success() {
            self.remember_session(&response, frame);
            self.take(response, frame).await
        } else {
            self.refused(response, frame, session.is_some()).await
        }
    }

    fn post_headers(&self, frame: &Frame, session: Option<&HeaderValue>) -> HeaderMap {
        let mut headers = self.common_headers(frame.rules, session);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        for (name, value) in &frame.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.insert(name, value);
            }
        }
        headers
    }

    /// The configured headers, below those the protocol owns.
    fn common_headers(&self, rules: Rules, session: Option<&HeaderValue>) -> HeaderMap {
        let mut headers = self.headers.clone();
        if rules == Rules::Handshake {
            if let Some(version) = self.version.get() {
                headers.insert(VERSION, version.clone());
            }
            if let Some(session) = session {
                headers.insert(SESSION, session.clone());
            }
        }
        headers
    }

    fn remember_session(&self, response: &Response, frame: &Frame) {
        let id = response.headers().get(SESSION).cloned();
        if frame.starts_session || (frame.rules == Rules::Handshake && id.is_some()) {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = id;
        }
    }

    /// Takes what a successful POST brought.
    async fn take(&self, mut response: Response, frame: &Frame) -> Result<(), Error> {
        let Some(id) = frame.id else {
            self.drain_later(response);
            return Ok(());
        };
        if response.status().as_u16() == 202 {
            return Ok(());
        }
        match content_type(&response).as_str() {
            "text/event-stream" => self.follow(response, id, frame).await,
            "application/json" => {
                let limit = self.limit_for(frame);
                let body = web::body(&mut response, limit).await.map_err(|error| broken(&error, limit))?;
                self.router.deliver(&body, Via::Body(id));
                if self.router.is_pending(id) {
                    let why = "the body holds no answer".to_owned();
                    return Err(Error::maybe(Cause::Malformed { why }));
                }
                Ok(())
            }
            "" => Err(Error::maybe(Cause::CutOff)),
            other => {
                Err(Error::maybe(Cause::NotMcp { content_type: excerpt(&self.secrets.scrub(other), 80) }))
            }
        }
    }

    /// Reads a stream of events to its answer, across breaks where the rules allow it.
    async fn follow(&self, response: Response, id: u64, frame: &Frame) -> Result<(), Error> {
        let rules = frame.rules;
        let mut events = sse::Parser::new(self.limit_for(frame));
        let mut response = Some(response);
        let mut in_vain = 0;
        loop {
            if let Some(stream) = response.take() {
                let got = self.pump(stream, &mut events, id).await?;
                in_vain = if got { 0 } else { in_vain + 1 };
            } else {
                in_vain += 1;
            }
            if !self.router.is_pending(id) {
                return Ok(());
            }
            let Some(last) = events.last_id().filter(|_| rules == Rules::Handshake && in_vain < MOST_RESUMES)
            else {
                return Err(Error::maybe(Cause::CutOff));
            };
            let last = HeaderValue::from_str(last).map_err(|_| Error::maybe(Cause::CutOff))?;
            let pause = events.retry().unwrap_or(RESUME_AFTER).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
            sleep(pause).await;
            events.restart();
            // Why it cannot be resumed matters less than that the call was taken and its outcome is not known.
            response = self.get(Some(last)).await.map_err(|_| Error::maybe(Cause::CutOff))?;
        }
    }

    /// Delivers events until the stream ends or the answer is there. True if anything came.
    async fn pump(&self, mut stream: Response, events: &mut sse::Parser, id: u64) -> Result<bool, Error> {
        let mut any = false;
        while let Ok(Some(chunk)) = stream.chunk().await {
            let mut parsed = Vec::new();
            let read = events.push(&chunk, &mut parsed);
            for event in parsed {
                any = true;
                if !event.data.is_empty() {
                    self.router.deliver(&event.data, Via::Stream(id));
                }
            }
            if let Err(sse::TooLong { limit }) = read
                && self.router.is_pending(id)
            {
                return Err(Error::maybe(Cause::TooLarge { limit }));
            }
            if !self.router.is_pending(id) {
                self.drain_later(stream);
                break;
            }
            self.router.pace.rest().await;
        }
        Ok(any)
    }

    /// Opens a stream. `None` when the connection broke, which may be better next time.
    async fn get(&self, last_event: Option<HeaderValue>) -> Result<Option<Response>, Cause> {
        let mut headers = self.common_headers(Rules::Handshake, self.session().as_ref());
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_event {
            headers.insert(LAST_EVENT, id);
        }
        let ask = Ask { method: Method::GET, url: self.url.clone(), headers, body: None };
        let Ok(mut response) = self.door.send(ask).await else { return Ok(None) };
        self.step(&response);
        let status = response.status();
        if status.is_success() && content_type(&response) == "text/event-stream" {
            return Ok(Some(response));
        }
        if status.is_server_error() {
            return Ok(None);
        }
        let body = web::error_body(&mut response).await;
        Err(Cause::Http {
            status: status.as_u16(),
            body: web::shown(&body, &self.secrets),
            retry_after: None,
        })
    }

    /// Listens to what the server says unasked, until it says that it has no such stream.
    pub(crate) async fn listen(self: Arc<Self>) {
        let mut events = sse::Parser::new(self.limit);
        let mut pause = RESUME_AFTER;
        let mut is_first = true;
        loop {
            let last = events.last_id().and_then(|id| HeaderValue::from_str(id).ok());
            events.restart();
            let is_resumed = last.is_some();
            let opened = self.get(last).await;
            self.listening.send_replace(true);
            match opened {
                Err(_) => return,
                Ok(None) => pause = (pause * 2).min(LONGEST_PAUSE),
                Ok(Some(stream)) => {
                    // What was said while nobody listened is not said again.
                    if !std::mem::take(&mut is_first) && !is_resumed {
                        self.router.notices.push(Notice::SessionRenewed);
                    }
                    let any = self.hear(stream, &mut events).await;
                    let usual = if any { RESUME_AFTER } else { pause * 2 };
                    pause = events.retry().unwrap_or(usual).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
                }
            }
            sleep(pause).await;
        }
    }

    /// Delivers what the server says unasked until the stream ends. True if anything came.
    async fn hear(&self, mut stream: Response, events: &mut sse::Parser) -> bool {
        let mut any = false;
        while let Ok(Some(chunk)) = stream.chunk().await {
            any = true;
            let mut parsed = Vec::new();
            let read = events.push(&chunk, &mut parsed);
            for event in parsed.into_iter().filter(|event| !event.data.is_empty()) {
                self.router.deliver(&event.data, Via::Common);
            }
            if read.is_err() {
                break;
            }
            self.router.pace.rest().await;
        }
        any
    }

    /// Waits a moment for the server's own stream: what a call makes it ask may come there.
    pub(crate) async fn heard(&self) {
        if *self.listening.borrow() {
            return;
        }
        let mut listening = self.listening.subscribe();
        if timeout(HEARD, listening.wait_for(|listening| *listening)).await.is_err() {
            // A server that holds it back for ever is waited for once.
            self.listening.send_replace(true);
        }
    }

    /// An answer with a status that says no. What it says in the protocol counts more than the number.
    async fn refused(&self, mut response: Response, frame: &Frame, had_session: bool) -> Result<(), Error> {
        let status = response.status().as_u16();
        let unauthorized = door::unauthorized(&response);
        let retry_after = response.headers().get(RETRY_AFTER).and_then(seconds);
        let body = web::error_body(&mut response).await;
        if matches!(status, 401 | 403) {
            return Err(Error::never(unauthorized));
        }
        let is_handshake = frame.rules == Rules::Handshake;
        if had_session && is_handshake && is_session_loss(status, &body) {
            return Err(Error::never(Cause::SessionLost));
        }
        if let Some(id) = frame.id
            && is_error(&body)
        {
            self.router.deliver(&body, Via::Body(id));
            return Ok(());
        }
        // A refusal below 500 means that the server did not act.
        let cause = Cause::Http { status, body: web::shown(&body, &self.secrets), retry_after };
        Err(if status < 500 { Error::never(cause) } else { Error::maybe(cause) })
    }

    /// The first answers are short. They may come two at a time, so they get less room.
    fn limit_for(&self, frame: &Frame) -> usize {
        let asks = |(name, value): &(String, String)| name == "mcp-method" && value == "server/discover";
        let is_greeting = frame.starts_session || frame.headers.iter().any(asks);
        if is_greeting { self.limit.min(GREETING) } else { self.limit }
    }

    fn step(&self, response: &Response) {
        if let Some(trace) = &self.router.trace {
            trace.step(&format!("HTTP {} {}", response.status().as_u16(), content_type(response)));
        }
    }

    /// Says something without anybody waiting for it.
    pub(crate) fn say_later(&self, frame: Frame) {
        let _too_busy = self.errands.try_send(Errand::Say(frame));
    }

    fn drain_later(&self, response: Response) {
        let _too_busy = self.errands.try_send(Errand::Drain(response));
    }

    /// Waits until what is said in the background was said, such as that a call is no longer needed.
    pub(crate) async fn finish_errands(&self) {
        let (done, finished) = oneshot::channel();
        if self.errands.try_send(Errand::Finish(done)).is_ok() {
            let _stuck = timeout(GOODBYE, finished).await;
        }
    }

    /// Tells the server that the session is over.
    pub(crate) async fn goodbye(&self) {
        let Some(session) = self.session() else { return };
        let headers = self.common_headers(Rules::Handshake, Some(&session));
        let ask = Ask { method: Method::DELETE, url: self.url.clone(), headers, body: None };
        let _unheard = timeout(GOODBYE, self.door.send(ask)).await;
    }
}

async fn run_errands(http: std::sync::Weak<Http>, mut work: mpsc::Receiver<Errand>) {
    let mut saying = JoinSet::new();
    let mut draining = JoinSet::new();
    while let Some(errand) = work.recv().await {
        while saying.try_join_next().is_some() || draining.try_join_next().is_some() {}
        match errand {
            Errand::Say(frame) => {
                let Some(http) = http.upgrade() else { return };
                saying.spawn(async move { drop(timeout(GOODBYE, http.exchange(frame)).await) });
            }
            Errand::Drain(mut response) => {
                draining.spawn(async move {
                    let _cut =
                        timeout(DRAIN, async { while let Ok(Some(_)) = response.chunk().await {} }).await;
                });
            }
            Errand::Finish(done) => {
                while saying.join_next().await.is_some() {}
                let _nobody_waits = done.send(());
            }
        }
    }
}

/// How long to wait before the same request may be sent again, if the server turned it away for now.
fn pause(cause: &Cause, may_repeat: bool) -> Option<Duration> {
    let Cause::Http { status, retry_after, .. } = cause else { return None };
    let turned_away = *status == 429 || (*status == 503 && may_repeat && retry_after.is_some());
    let pause = retry_after.unwrap_or(RESUME_AFTER).max(SHORTEST_PAUSE);
    (turned_away && pause <= LONGEST_RETRY).then_some(pause)
}

fn seconds(value: &HeaderValue) -> Option<Duration> {
    let seconds: f64 = value.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn broken(error: &BodyError, limit: usize) -> Error {
    Error::maybe(match error {
        BodyError::TooLarge => Cause::TooLarge { limit },
        BodyError::Broken => Cause::CutOff,
    })
}

/// The type without its parameters, in lower case.
pub(crate) fn content_type(response: &Response) -> String {
    let value =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a text is an error in the protocol.
fn is_error(body: &Bytes) -> bool {
    matches!(message::decode(body).as_slice(), [Ok(Incoming::Response { outcome: Err(_), .. })])
}

/// 404 is the word of the protocol; the reference server says 400 and speaks of the session.
fn is_session_loss(status: u16, body: &Bytes) -> bool {
    let speaks_of_session = || String::from_utf8_lossy(body).to_lowercase().contains("session");
    match status {
        404 => true,
        400 => speaks_of_session(),
        _ => false,
    }
}
