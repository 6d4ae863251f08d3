//! Clients over HTTP, of either protocol, at one address.

mod guard;
mod handshake;
mod modern;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::handshake::Sessions;
use crate::hub::Hub;
use crate::rpc::{self, INVALID_REQUEST, Message, RpcError};

pub use guard::Edge;

/// The largest request.
const LARGEST: usize = 16 * 1024 * 1024;
const TOO_LARGE: &str = "the request is larger than 16 MiB";
/// So long those who are being answered have when all ends.
const DRAIN: Duration = Duration::from_secs(10);

struct Site {
    hub: Arc<Hub>,
    edge: Edge,
    sessions: Sessions,
}

/// Serves clients until told to stop; then lets those who are being answered have their answer.
pub(crate) async fn serve(
    hub: &Arc<Hub>,
    listener: TcpListener,
    edge: Edge,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let site = Arc::new(Site { hub: Arc::clone(hub), edge, sessions: Sessions::default() });
    let app = axum::Router::new().fallback(enter).with_state(Arc::clone(&site));
    let last = Arc::clone(&site);
    let told = CancellationToken::new();
    let stopping = told.clone();
    let stopped = async move {
        stop.await;
        stopping.cancel();
        last.hub.close();
        last.sessions.close_all(&last.hub).await;
    };
    tokio::select! {
        served = axum::serve(listener, app).with_graceful_shutdown(stopped) => served,
        () = site.sessions.reap(hub) => Ok(()),
        () = async { told.cancelled().await; tokio::time::sleep(DRAIN).await } => Ok(()),
    }
}

async fn enter(State(site): State<Arc<Site>>, request: HttpRequest) -> Response {
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    if let Err(denied) = site.edge.judge(request.headers(), authority.as_deref()) {
        let mut response = words(denied.status(), denied.words());
        if denied == guard::Denied::Token {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        return response;
    }
    match (request.uri().path(), request.method()) {
        ("/mcp", &Method::POST) => post(&site, request).await,
        ("/mcp", &Method::GET) => site.sessions.get(request.headers()),
        ("/mcp", &Method::DELETE) => site.sessions.delete(&site.hub, request.headers()).await,
        ("/mcp", _) => not_so("GET, POST, DELETE"),
        ("/health", &Method::GET) => json_answer(200, Bytes::from_static(br#"{"status":"ok"}"#)),
        ("/health", _) => not_so("GET"),
        _ => words(404, "there is nothing here; the server is at /mcp"),
    }
}

async fn post(site: &Site, request: HttpRequest) -> Response {
    let (head, body) = request.into_parts();
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        return words(415, "the Content-Type has to be application/json");
    }
    let told = head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|length| length > LARGEST as u64) {
        return words(413, TOO_LARGE);
    }
    let Ok(body) = axum::body::to_bytes(body, LARGEST).await else {
        return words(413, TOO_LARGE);
    };
    let mut messages = Vec::new();
    for message in rpc::decode(body) {
        match message {
            Ok(message) => messages.push(message),
            Err(error) => return json_answer(400, rpc::failure(None, &error)),
        }
    }
    match messages.as_slice() {
        [Message::Request(request)] if modern::is_meant(&head.headers, request) => {
            let request = request.clone();
            modern::answer(&site.hub, &head.headers, request).await
        }
        several if several.len() > 1 && several.iter().any(|message| is_modern(&head.headers, message)) => {
            let error = RpcError::new(INVALID_REQUEST, "one message at a time");
            json_answer(400, rpc::failure(None, &error))
        }
        _ => site.sessions.post(&site.hub, &head.headers, messages).await,
    }
}

fn is_modern(headers: &axum::http::HeaderMap, message: &Message) -> bool {
    matches!(message, Message::Request(request) if modern::is_meant(headers, request))
}

fn answer(status: u16, body: Body, kind: &'static str) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if !kind.is_empty() {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn json_answer(status: u16, text: Bytes) -> Response {
    answer(status, Body::from(text), "application/json")
}

fn stream_answer(body: Body) -> Response {
    answer(200, body, "text/event-stream")
}

fn empty_answer(status: u16) -> Response {
    answer(status, Body::empty(), "")
}

/// An error outside of any request, in the form clients can read.
fn words(status: u16, words: &str) -> Response {
    json_answer(status, rpc::failure(None, &RpcError::new(-32000, words)))
}

fn not_so(allowed: &'static str) -> Response {
    let mut response = words(405, "this method is not possible here");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
