//! Clients with a handshake over HTTP: a session each, known by an id; requests that go on when the connection is lost;
//! streams that can be taken up again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use switchboard::wire::Era;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::stream::{Next, Tape, body, place};
use super::{empty_answer, json_answer, stream_answer, words};
use crate::client::{Client, Stay};
use crate::hub::Hub;
use crate::route;
use crate::rpc::{self, INVALID_REQUEST, Message, Request, RpcError};

/// A session nobody used for so long is over.
const IDLE: Duration = Duration::from_mins(30);
/// So many sessions at once.
const MOST: usize = 1000;
/// Streams of a session that can still be taken up again.
const STREAMS: usize = 64;
/// An answer within this time needs no stream.
const PROMPT: Duration = Duration::from_millis(50);
/// A status, and why.
type Refused = (u16, &'static str);
const SESSION: &str = "mcp-session-id";

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    all: Mutex<HashMap<String, Arc<Session>>>,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Session {
    id: String,
    client: Arc<Client>,
    /// What is not about a request of the client's.
    post: Arc<Tape>,
    streams: Mutex<HashMap<u64, Arc<Tape>>>,
    next_stream: AtomicU64,
    used: Mutex<Instant>,
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, headers: &HeaderMap) -> Result<Arc<Session>, Refused> {
        let id = headers.get(SESSION).and_then(|id| id.to_str().ok());
        let Some(id) = id else { return Err((400, "the header Mcp-Session-Id is missing")) };
        let session = self.lock().get(id).cloned();
        let session = session.ok_or((404, "there is no such session"))?;
        *session.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(session)
    }

    /// Begins a session.
    fn open(&self, hub: &Arc<Hub>) -> Option<Arc<Session>> {
        if self.lock().len() >= MOST {
            return None;
        }
        let id = crate::park::unguessable()?;
        let (client, mail) = hub.welcome(Stay::Connected);
        let session = Arc::new(Session {
            id: id.clone(),
            client,
            post: Arc::default(),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(1),
            used: Mutex::new(Instant::now()),
        });
        self.lock().insert(id, Arc::clone(&session));
        tokio::spawn(record(mail, Arc::clone(&session.post)));
        Some(session)
    }

    /// Ends sessions nobody uses. Comes back never.
    pub(crate) async fn reap(&self, hub: &Hub) {
        loop {
            tokio::time::sleep(IDLE / 10).await;
            let is_idle = |session: &Session| {
                let used = *session.used.lock().unwrap_or_else(PoisonError::into_inner);
                // Somebody who holds a stream of it is there.
                used.elapsed() > IDLE && Arc::strong_count(&session.post) <= 2
            };
            let idle: Vec<_> = self.lock().values().filter(|session| is_idle(session)).cloned().collect();
            for session in idle {
                self.close(hub, &session).await;
            }
        }
    }

    async fn close(&self, hub: &Hub, session: &Session) {
        self.lock().remove(&session.id);
        session.post.finish();
        hub.farewell(&session.client).await;
    }

    /// Ends all of them.
    pub(crate) async fn close_all(&self, hub: &Hub) {
        let all: Vec<_> = self.lock().values().cloned().collect();
        for session in all {
            self.close(hub, &session).await;
        }
    }

    /// The client ends its session.
    pub(crate) async fn delete(&self, hub: &Hub, headers: &HeaderMap) -> Response {
        match self.find(headers) {
            Ok(session) => {
                self.close(hub, &session).await;
                empty_answer(204)
            }
            Err((status, why)) => words(status, why),
        }
    }

    /// The stream of what is not about a request, or one that was lost.
    pub(crate) fn get(&self, headers: &HeaderMap) -> Response {
        let session = match self.find(headers) {
            Ok(session) => session,
            Err((status, why)) => return words(status, why),
        };
        let last = headers.get("last-event-id").and_then(|last| last.to_str().ok());
        let (name, from) = match last.map(place) {
            None => (0, session.post.len()),
            Some(Some(place)) => place,
            Some(None) => return words(400, "the header Last-Event-ID is none of ours"),
        };
        let tape = if name == 0 { Some(Arc::clone(&session.post)) } else { session.stream(name) };
        match tape {
            Some(tape) => stream_answer(body(tape, name, from, false)),
            None => words(404, "this stream is over"),
        }
    }

    /// What a client sends.
    pub(crate) async fn post(&self, hub: &Arc<Hub>, headers: &HeaderMap, messages: Vec<Message>) -> Response {
        let is_greeting =
            matches!(messages.as_slice(), [Message::Request(request)] if request.method == "initialize");
        let session = if is_greeting {
            self.open(hub).ok_or((503, "there are too many sessions"))
        } else {
            self.find(headers)
        };
        let session = match session {
            Ok(session) => session,
            Err((status, why)) => return words(status, why),
        };
        let mut requests = Vec::new();
        for message in messages {
            match message {
                Message::Request(request) => requests.push(request),
                Message::Notification { method, params } if method == "notifications/cancelled" => {
                    if let Some(id) = params.get("requestId") {
                        session.client.cancel(&id);
                    }
                }
                Message::Notification { .. } => {}
                Message::Response { id, outcome } => session.client.answered(&id, outcome),
            }
        }
        if requests.is_empty() {
            return empty_answer(202);
        }
        let mut response = session.run(hub, requests).await;
        if is_greeting && let Ok(id) = HeaderValue::from_str(&session.id) {
            response.headers_mut().insert(SESSION, id);
        }
        response
    }
}

async fn record(mut mail: mpsc::Receiver<Bytes>, tape: Arc<Tape>) {
    while let Some(text) = mail.recv().await {
        tape.push(text);
    }
    tape.finish();
}

impl Session {
    fn streams(&self) -> MutexGuard<'_, HashMap<u64, Arc<Tape>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stream(&self, name: u64) -> Option<Arc<Tape>> {
        self.streams().get(&name).cloned()
    }

    /// Whether streams begin with a number to come back by: older clients stumble over an event without data.
    fn is_primed(&self) -> bool {
        self.client.greeting.get().is_some_and(|greeting| greeting.version.as_str() >= "2025-11-25")
    }

    /// Runs requests to their end, whoever is still connected, and answers with what comes of them.
    async fn run(self: &Arc<Self>, hub: &Arc<Hub>, requests: Vec<Request>) -> Response {
        let name = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let tape: Arc<Tape> = Arc::default();
        let n_requests = requests.len();
        let (lane, said) = mpsc::channel(256);
        for request in requests {
            let (hub, lane, session) = (Arc::clone(hub), lane.clone(), Arc::clone(self));
            tokio::spawn(async move { session.one(&hub, request, lane).await });
        }
        drop(lane);
        tokio::spawn(record(said, Arc::clone(&tape)));
        // Most requests are answered by one message, and that is the answer to the POST. What takes longer gets a stream,
        // so that the client can come back for it.
        if n_requests == 1
            && let Ok(Next::Message(0, text)) = tokio::time::timeout(PROMPT, tape.next(0)).await
            && is_answer(&text)
        {
            return json_answer(200, text);
        }
        let mut streams = self.streams();
        streams.insert(name, Arc::clone(&tape));
        if streams.len() > STREAMS
            && let Some(oldest) = streams.keys().min().copied()
        {
            streams.remove(&oldest);
        }
        drop(streams);
        stream_answer(body(tape, name, 0, self.is_primed()))
    }

    async fn one(&self, hub: &Arc<Hub>, request: Request, lane: mpsc::Sender<Bytes>) {
        let stop = CancellationToken::new();
        if !self.client.begin(&request.id, &stop) {
            let error = RpcError::new(INVALID_REQUEST, "a request with this id is under way");
            let _gone = lane.send(rpc::failure(Some(&request.id), &error)).await;
            return;
        }
        let caller = route::caller(&self.client, &request, Era::Handshake, lane.clone());
        let outcome = tokio::select! {
            outcome = route::answer(hub, &caller, &request) => Some(outcome),
            () = stop.cancelled() => None,
        };
        self.client.end(&request.id);
        // A request that was taken back gets no answer.
        if let Some(outcome) = outcome {
            let _gone = lane.send(rpc::answer(&request.id, &outcome)).await;
        }
    }
}

/// Whether the message ends a request: it has no method of its own. The envelope is ours, so its head tells.
fn is_answer(text: &Bytes) -> bool {
    let head = String::from_utf8_lossy(&text[..text.len().min(300)]).into_owned();
    head.find("\"method\"").is_none_or(|at| head[..at].matches('{').count() != 1)
}
