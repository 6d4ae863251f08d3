//! Clients with a handshake over HTTP: a session each, known by an id; requests that go on when the connection is lost;
//! streams that can be taken up again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use switchboard::json::Json;
use switchboard::wire::Era;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lasting::{Lasting, Settled, Timers, promptly};
use super::limits::Limits;
use super::room::{Room, Ticket, too_many};
use super::stream::{Tape, body, place};
use super::{Entrance, empty_answer, outcome_answer, stream_answer, words};
use crate::client::{Client, Stay};
use crate::hub::Hub;
use crate::metrics::{self, Refused};
use crate::route;
use crate::rpc::{self, INVALID_REQUEST, Message, Request, RpcError};

/// Streams of a session that can still be taken up again.
const STREAMS: usize = 64;
/// Messages about one request that wait to be sent.
const LANE: usize = 256;
/// A status, and why.
type No = (u16, &'static str);
const SESSION: &str = "mcp-session-id";

#[derive(Debug)]
pub(crate) struct Sessions {
    all: Mutex<HashMap<String, Arc<Session>>>,
    limits: Limits,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Session {
    id: String,
    client: Arc<Client>,
    /// Where it came in, and has to come in again.
    entrance: Entrance,
    /// What is not about a request of the client's.
    post: Arc<Tape>,
    streams: Mutex<HashMap<u64, Arc<Tape>>>,
    next_stream: AtomicU64,
    used: Mutex<Instant>,
    room: Room,
    timers: Timers,
}

impl Sessions {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { all: Mutex::default(), limits }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// The session a request is of, if there is one.
    pub(crate) fn named(&self, headers: &HeaderMap) -> Option<String> {
        let id = headers.get(SESSION).and_then(|id| id.to_str().ok())?;
        self.lock().contains_key(id).then(|| id.to_owned())
    }

    fn find(&self, headers: &HeaderMap, entrance: &Entrance) -> Result<Arc<Session>, No> {
        let id = headers.get(SESSION).and_then(|id| id.to_str().ok());
        let Some(id) = id else { return Err((400, "the header Mcp-Session-Id is missing")) };
        let session = self.lock().get(id).filter(|session| session.entrance == *entrance).cloned();
        let session = session.ok_or((404, "there is no such session"))?;
        session.touch();
        Ok(session)
    }

    /// Begins a session.
    fn open(&self, hub: &Arc<Hub>, entrance: Entrance) -> Option<Arc<Session>> {
        if self.len() >= self.limits.sessions {
            return None;
        }
        let id = crate::park::unguessable()?;
        let (client, mail) = hub.welcome(Stay::Connected);
        if let Some(facet) = &entrance {
            client.enter(facet.clone());
        }
        let session = Arc::new(Session {
            id: id.clone(),
            client,
            entrance,
            post: Arc::default(),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(1),
            used: Mutex::new(Instant::now()),
            room: Room::new(self.limits.requests_of_one),
            timers: Timers::default(),
        });
        self.lock().insert(id, Arc::clone(&session));
        tokio::spawn(record(mail, Arc::clone(&session.post)));
        Some(session)
    }

    /// Ends sessions nobody uses. Comes back never.
    pub(crate) async fn reap(&self, hub: &Hub) {
        loop {
            tokio::time::sleep(self.limits.idle / 10).await;
            let is_idle = |session: &Session| {
                let used = *session.used.lock().unwrap_or_else(PoisonError::into_inner);
                // Somebody who holds a stream of it is there, and so is whoever waits for an answer.
                used.elapsed() > self.limits.idle
                    && Arc::strong_count(&session.post) <= 2
                    && session.room.is_empty()
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

    /// Ends what clients only listen to. What they asked for goes on.
    pub(crate) fn hang_up(&self) {
        for session in self.lock().values() {
            session.post.finish();
        }
    }

    /// Ends all of them.
    pub(crate) async fn close_all(&self, hub: &Hub) {
        let all: Vec<_> = self.lock().values().cloned().collect();
        for session in all {
            self.close(hub, &session).await;
        }
    }

    /// The client ends its session.
    pub(crate) async fn delete(&self, hub: &Hub, headers: &HeaderMap, entrance: &Entrance) -> Response {
        match self.find(headers, entrance) {
            Ok(session) => {
                self.close(hub, &session).await;
                empty_answer(204)
            }
            Err((status, why)) => words(status, why),
        }
    }

    /// The stream of what is not about a request, or one that was lost.
    pub(crate) fn get(&self, headers: &HeaderMap, entrance: &Entrance) -> Response {
        let session = match self.find(headers, entrance) {
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
    pub(crate) async fn post(
        &self,
        hub: &Arc<Hub>,
        room: &Room,
        (headers, entrance): (&HeaderMap, Entrance),
        messages: Vec<Message>,
    ) -> Response {
        let is_greeting =
            matches!(messages.as_slice(), [Message::Request(request)] if request.method == "initialize");
        let session = if is_greeting {
            self.open(hub, entrance)
        } else {
            match self.find(headers, &entrance) {
                Ok(session) => Some(session),
                Err((status, why)) => return words(status, why),
            }
        };
        let Some(session) = session else {
            hub.metrics.refused(Refused::Sessions);
            return words(
                503,
                &format!("there are {} sessions already, which is the limit", self.limits.sessions),
            );
        };
        let mut requests = Vec::new();
        for message in messages {
            match message {
                Message::Request(request) => requests.push(request),
                Message::Notification { method, params } => {
                    route::told(hub, &session.client, &method, &params).await;
                }
                Message::Response { id, outcome } => session.client.answered(&id, outcome),
            }
        }
        if requests.is_empty() {
            return empty_answer(202);
        }
        let Some(ticket) = Ticket::take(requests.len(), [room, &session.room]) else {
            return too_many(hub, self.limits);
        };
        let mut response = session.run(hub, requests, ticket).await;
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
    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

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
    async fn run(self: &Arc<Self>, hub: &Arc<Hub>, mut requests: Vec<Request>, ticket: Ticket) -> Response {
        let (lane, said) = mpsc::channel(LANE);
        let tape: Arc<Tape> = Arc::default();
        let run = |request, lane, ticket| settle((Arc::clone(hub), Arc::clone(self)), request, lane, ticket);
        match (requests.pop(), requests.is_empty()) {
            (Some(request), true) => {
                let work = Lasting::new(run(request, lane, ticket));
                if let Some((id, outcome)) = promptly(work, said, (&tape, &self.timers)).await {
                    return outcome_answer(200, &id, &outcome);
                }
            }
            (last, _) => {
                for request in requests.into_iter().chain(last) {
                    let (work, lane) = (run(request, lane.clone(), ticket.clone()), lane.clone());
                    tokio::spawn(async move {
                        if let Some((id, outcome)) = work.await {
                            let _gone = lane.send(rpc::answer(&id, &outcome)).await;
                        }
                    });
                }
                tokio::spawn(record(said, Arc::clone(&tape)));
            }
        }
        let name = self.next_stream.fetch_add(1, Ordering::Relaxed);
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
}

async fn settle(
    (hub, session): (Arc<Hub>, Arc<Session>),
    request: Request,
    lane: mpsc::Sender<Bytes>,
    ticket: Ticket,
) -> Settled {
    let outcome = outcome(&hub, &session.client, &request, lane).await;
    session.touch();
    drop(ticket);
    Some((request.id, outcome?))
}

/// Answers one request of a client with a handshake, on that lane.
pub(super) async fn one(hub: &Arc<Hub>, client: &Arc<Client>, request: Request, lane: mpsc::Sender<Bytes>) {
    if let Some(outcome) = outcome(hub, client, &request, lane.clone()).await {
        let _gone = lane.send(rpc::answer(&request.id, &outcome)).await;
    }
}

/// What comes of a request; nothing if it was taken back.
async fn outcome(
    hub: &Arc<Hub>,
    client: &Arc<Client>,
    request: &Request,
    lane: mpsc::Sender<Bytes>,
) -> Option<Result<Json, RpcError>> {
    let stop = CancellationToken::new();
    if !client.begin(&request.id, &stop) {
        return Some(Err(RpcError::new(INVALID_REQUEST, "a request with this id is under way")));
    }
    let caller = route::caller(hub, client, request, Era::Handshake, lane);
    let outcome = tokio::select! {
        outcome = metrics::answer(hub, &caller, request) => Some(outcome),
        () = stop.cancelled() => None,
    };
    client.end(&request.id);
    outcome
}
