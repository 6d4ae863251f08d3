//! Clients of the oldest kind (2024-11-05): one stream for all that is said to them, and a second address for all they say.
//!
//! The stream is the session: it begins with the address to write to, which nobody can guess, and when it closes, all that
//! was under way for it ends.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::handshake::one;
use super::limits::Limits;
use super::room::{Room, Ticket, too_many};
use super::stream::event;
use super::{empty_answer, stream_answer, words};
use crate::client::{Client, Stay};
use crate::hub::Hub;
use crate::metrics::Refused;
use crate::route;
use crate::rpc::{self, INVALID_REQUEST, Message, Request, RpcError};

/// Answers that wait for a slow reader.
const LANE: usize = 256;
/// Something is said at least so often.
const PULSE: Duration = Duration::from_secs(15);

/// All of them, by the id in their address.
#[derive(Debug)]
pub(crate) struct Seats {
    all: Mutex<HashMap<String, Arc<Seat>>>,
    limits: Limits,
}

#[derive(Debug)]
struct Seat {
    client: Arc<Client>,
    lane: mpsc::Sender<Bytes>,
    room: Room,
}

impl Seats {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { all: Mutex::default(), limits }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Seat>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// The session that the query of an address names, if there is one.
    pub(crate) fn named(&self, query: Option<&str>) -> Option<String> {
        let id = id(query?)?;
        self.lock().contains_key(id).then(|| id.to_owned())
    }

    /// Begins a session: its stream.
    pub(crate) fn open(self: &Arc<Self>, hub: &Arc<Hub>) -> Response {
        if self.len() >= self.limits.sessions {
            hub.metrics.refused(Refused::Sessions);
            let limit = self.limits.sessions;
            return words(503, &format!("there are {limit} sessions already, which is the limit"));
        }
        let Some(id) = crate::park::unguessable() else {
            return words(500, "no random numbers can be had");
        };
        let (client, mail) = hub.welcome(Stay::Connected);
        let (lane, said) = mpsc::channel(LANE);
        let seat = Seat { client: Arc::clone(&client), lane, room: Room::new(self.limits.requests_of_one) };
        self.lock().insert(id.clone(), Arc::new(seat));
        let first = Bytes::from(format!("event: endpoint\ndata: /messages?sessionId={id}\n\n"));
        let presence = Presence { id, client, hub: Arc::clone(hub), seats: Arc::clone(self) };
        let talk = Talk { first: Some(first), said, mail, presence };
        let events = stream::unfold(talk, |mut talk| async move {
            let text = talk.next().await?;
            Some((Ok::<_, Infallible>(text), talk))
        });
        stream_answer(Body::from_stream(events))
    }

    /// What a client says. Answers come on its stream.
    pub(crate) async fn post(
        &self,
        hub: &Arc<Hub>,
        room: &Room,
        (id, messages): (&str, Vec<Message>),
    ) -> Response {
        let Some(seat) = self.lock().get(id).cloned() else {
            return words(404, "there is no such session");
        };
        let n_requests = messages.iter().filter(|message| matches!(message, Message::Request(_))).count();
        let Some(ticket) = Ticket::take(n_requests, [room, &seat.room]) else {
            return too_many(hub, self.limits);
        };
        for message in messages {
            match message {
                Message::Request(request) => seat.begin(hub, request, ticket.clone()),
                Message::Notification { method, params } => {
                    route::told(hub, &seat.client, &method, &params).await;
                }
                Message::Response { id, outcome } => seat.client.answered(&id, outcome),
            }
        }
        empty_answer(202)
    }
}

impl Seat {
    fn begin(self: &Arc<Self>, hub: &Arc<Hub>, request: Request, ticket: Ticket) {
        let is_ready =
            matches!(request.method.as_str(), "initialize" | "ping") || self.client.greeting.get().is_some();
        let (seat, hub) = (Arc::clone(self), Arc::clone(hub));
        tokio::spawn(async move {
            if is_ready {
                one(&hub, &seat.client, request, seat.lane.clone()).await;
            } else {
                let error = RpcError::new(INVALID_REQUEST, "`initialize` comes first");
                let _gone = seat.lane.send(rpc::failure(Some(&request.id), &error)).await;
            }
            drop(ticket);
        });
    }
}

/// What is said to one client.
struct Talk {
    first: Option<Bytes>,
    said: mpsc::Receiver<Bytes>,
    mail: mpsc::Receiver<Bytes>,
    presence: Presence,
}

impl Talk {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let message = async {
            tokio::select! {
                biased;
                message = self.said.recv() => message,
                message = self.mail.recv() => message,
                () = self.presence.hub.closing() => None,
            }
        };
        match timeout(PULSE, message).await {
            Ok(message) => message.map(|message| event("", &message)),
            Err(_) => Some(Bytes::from_static(b": still here\n\n")),
        }
    }
}

/// A client is there as long as its stream is.
struct Presence {
    id: String,
    client: Arc<Client>,
    hub: Arc<Hub>,
    seats: Arc<Seats>,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.seats.lock().remove(&self.id);
        self.client.leave();
        let (hub, client) = (Arc::clone(&self.hub), Arc::clone(&self.client));
        // Nothing can be waited for here. Without a runtime everything is over anyway.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            drop(runtime.spawn(async move { hub.farewell(&client).await }));
        }
    }
}

/// The session a query names.
fn id(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("sessionId="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_stands_in_the_query() {
        assert_eq!(id("sessionId=abc"), Some("abc"));
        assert_eq!(id("x=1&sessionId=abc&y"), Some("abc"));
        assert_eq!((id("xsessionId=abc"), id(""), id("sessionid=a")), (None, None, None));
    }
}
