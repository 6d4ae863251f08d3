//! What is at which path, for those who are let in: the guard first, then how often they come, then what they want.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request as HttpRequest;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::Response;
use bytes::Bytes;
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::guard::{Denied, Edge};
use super::handshake::Sessions;
use super::legacy::Seats;
use super::limits::Limits;
use super::rate::{Rates, Who};
use super::room::{Room, Ticket, too_many};
use super::{Entrance, answer, json_answer, modern, no_profile, not_so, words};
use crate::hub::Hub;
use crate::metrics::{self, Now, Refused};
use crate::rpc::{self, INVALID_REQUEST, Message, RpcError};

/// The answer to a request that is not served. Boxed: most are.
type Refusal = Box<Response>;

pub(super) struct Site {
    pub(super) hub: Arc<Hub>,
    pub(super) sessions: Sessions,
    edge: Edge,
    seats: Arc<Seats>,
    rates: Rates,
    room: Room,
}

impl Site {
    pub(super) fn new(hub: &Arc<Hub>, edge: Edge) -> Self {
        let limits = edge.limits;
        Self {
            hub: Arc::clone(hub),
            sessions: Sessions::new(limits),
            seats: Arc::new(Seats::new(limits)),
            rates: Rates::new(limits.rate),
            room: Room::new(limits.requests),
            edge,
        }
    }

    const fn limits(&self) -> Limits {
        self.edge.limits
    }

    /// Answers a request of whoever is at that end.
    pub(super) async fn answer(&self, who: Who, request: HttpRequest) -> Response {
        let (head, body) = request.into_parts();
        if let Err(refused) = self.let_in(&head) {
            return *refused;
        }
        let path = head.uri.path();
        let who = match path {
            "/messages" => self.seats.named(head.uri.query()),
            _ => self.sessions.named(&head.headers),
        }
        .map_or(who, Who::Session);
        if let Err(refused) = self.in_time(&who, 1) {
            return *refused;
        }
        let entrance = match path.strip_prefix("/mcp/").map(|name| self.hub.door(name)) {
            None => None,
            Some(Ok(facet)) => Some(facet),
            Some(Err(names)) => return no_profile(&names),
        };
        let place = if entrance.is_some() { "/mcp" } else { path };
        match (place, &head.method) {
            ("/mcp", &Method::POST) => self.post((&head, entrance), body, &who).await,
            ("/mcp", &Method::GET) => self.sessions.get(&head.headers, &entrance),
            ("/mcp", &Method::DELETE) => self.sessions.delete(&self.hub, &head.headers, &entrance).await,
            ("/mcp", _) => not_so("GET, POST, DELETE"),
            ("/health", &Method::GET) => json_answer(200, self.health()),
            ("/metrics", &Method::GET) => {
                let text = metrics::render(&self.hub.metrics, &self.now());
                answer(200, Body::from(text), "text/plain; version=0.0.4; charset=utf-8")
            }
            ("/health" | "/metrics", _) => not_so("GET"),
            ("/sse", &Method::GET) if self.edge.sse => self.seats.open(&self.hub),
            ("/sse", _) if self.edge.sse => not_so("GET"),
            ("/messages", &Method::POST) if self.edge.sse => self.message(&head, body, &who).await,
            ("/messages", _) if self.edge.sse => not_so("POST"),
            _ => words(404, "there is nothing here; the server is at /mcp"),
        }
    }

    /// Whether it may come in.
    fn let_in(&self, head: &Parts) -> Result<(), Refusal> {
        let authority = head.uri.authority().map(axum::http::uri::Authority::as_str);
        if let Err(denied) = self.edge.judge(&head.headers, authority) {
            self.hub.metrics.refused(denied.reason());
            let mut response = words(denied.status(), denied.words());
            if denied == Denied::Token {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            return Err(response.into());
        }
        let limit = self.limits().head;
        if size(&head.headers) > limit {
            self.hub.metrics.refused(Refused::Size);
            return Err(words(431, &format!("the headers are larger than {} KiB", limit / 1024)).into());
        }
        Ok(())
    }

    /// Whether it does not come too often.
    fn in_time(&self, who: &Who, n_requests: u32) -> Result<(), Refusal> {
        let Err(wait) = self.rates.take(who.clone(), n_requests, Instant::now()) else { return Ok(()) };
        self.hub.metrics.refused(Refused::Rate);
        let seconds = wait.as_secs() + 1;
        let rate = self.limits().rate.unwrap_or_default().per_second;
        let mut response =
            words(429, &format!("more than {rate} requests a second: come again in {seconds} s"));
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        Err(response.into())
    }

    async fn post(&self, (head, entrance): (&Parts, Entrance), body: Body, who: &Who) -> Response {
        let mut messages = match self.messages(head, body, who).await {
            Ok(messages) => messages,
            Err(refused) => return *refused,
        };
        let is_modern = |message: &Message| matches!(message, Message::Request(request) if modern::is_meant(&head.headers, request));
        if messages.len() > 1 && messages.iter().any(is_modern) {
            let error = RpcError::new(INVALID_REQUEST, "one message at a time");
            return json_answer(400, rpc::failure(None, &error));
        }
        match messages.pop() {
            Some(Message::Request(request)) if modern::is_meant(&head.headers, &request) => {
                let Some(ticket) = Ticket::take(1, [&self.room]) else {
                    return too_many(&self.hub, self.limits());
                };
                modern::answer(&self.hub, (&head.headers, entrance), request, ticket).await
            }
            last => {
                messages.extend(last);
                self.sessions.post(&self.hub, &self.room, (&head.headers, entrance), messages).await
            }
        }
    }

    /// What a client of the oldest kind says.
    async fn message(&self, head: &Parts, body: Body, who: &Who) -> Response {
        let Who::Session(id) = who else { return words(404, "there is no such session") };
        match self.messages(head, body, who).await {
            Ok(messages) => self.seats.post(&self.hub, &self.room, (id, messages)).await,
            Err(refused) => *refused,
        }
    }

    /// The messages in a body.
    async fn messages(&self, head: &Parts, body: Body, who: &Who) -> Result<Vec<Message>, Refusal> {
        if !is_json(&head.headers) {
            return Err(words(415, "the Content-Type has to be application/json").into());
        }
        let body = self.read(&head.headers, body).await?;
        let decoded = rpc::decode(&body);
        let n_more = u32::try_from(decoded.len().saturating_sub(1)).unwrap_or(u32::MAX);
        if n_more > 0 {
            self.in_time(who, n_more)?;
        }
        let messages: Result<Vec<_>, RpcError> = decoded.into_iter().collect();
        messages.map_err(|error| json_answer(400, rpc::failure(None, &error)).into())
    }

    /// The whole body, if it is not too large and comes in time.
    async fn read(&self, headers: &HeaderMap, body: Body) -> Result<Bytes, Refusal> {
        let Limits { body: largest, body_time, .. } = self.limits();
        let too_large = || {
            self.hub.metrics.refused(Refused::Size);
            words(413, &format!("the request is larger than {} MiB", largest / (1024 * 1024)))
        };
        let told = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if told.is_some_and(|length| length > largest as u64) {
            return Err(too_large().into());
        }
        let Ok(read) = timeout(body_time, axum::body::to_bytes(body, largest)).await else {
            self.hub.metrics.refused(Refused::Slow);
            let seconds = body_time.as_secs();
            return Err(words(408, &format!("the request did not come within {seconds} s")).into());
        };
        read.map_err(|error| {
            if is_too_large(&error) { too_large() } else { words(400, "the request broke off") }.into()
        })
    }

    /// Whether all is well, as far as that can be told without asking anybody.
    fn health(&self) -> Bytes {
        let reports = self.hub.session.servers();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for report in &reports {
            *counts.entry(report.status.as_str()).or_default() += 1;
        }
        let is_ready = reports.iter().all(|report| report.status.is_settled());
        Bytes::from(json!({"status": "ok", "ready": is_ready, "servers": counts}).to_string())
    }

    fn now(&self) -> Now {
        let clients = self.hub.present();
        let n_greeted = clients.iter().filter(|client| client.greeting.get().is_some()).count();
        let servers = self.hub.session.servers();
        Now {
            n_clients: [n_greeted, clients.len() - n_greeted],
            n_sessions: [self.sessions.len(), self.seats.len()],
            n_parked: self.hub.park.len(),
            n_tools: self.hub.session.catalog().tools.len(),
            servers: servers.into_iter().map(|report| (report.name, report.status.as_str())).collect(),
        }
    }
}

/// Whether the body says that it is JSON. A page in a browser cannot say so without asking first.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Whether a body was larger than it may be, and did not just break off.
fn is_too_large(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|cause| cause.to_string() == "length limit exceeded")
}

/// Bytes of all headers.
fn size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}
