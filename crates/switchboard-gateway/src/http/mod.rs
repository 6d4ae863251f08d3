//! Clients over HTTP, of either protocol, at one address.

mod door;
mod guard;
mod handshake;
mod lasting;
mod legacy;
mod limits;
mod modern;
mod rate;
mod room;
mod site;
mod stream;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream as streams};
use switchboard::json::Json;
use tokio_util::sync::CancellationToken;

use self::door::{Busy, Door, Doorway, Line};
use self::site::Site;
use crate::facet::Facet;
use crate::hub::Hub;
use crate::rpc::{self, RpcError};

pub(crate) use modern::{check, is_meant};

pub use guard::Edge;
pub use limits::Limits;
pub use rate::Rate;

const EVENTS: &str = "text/event-stream";
/// Bytes from which on it is cheaper to send a result in pieces than to copy it.
const LONG: usize = 64 * 1024;
/// So long those who are being answered have when all ends.
const DRAIN: Duration = Duration::from_secs(10);

/// Serves clients until told to stop; then lets those who are being answered have their answer.
pub(crate) async fn serve<L: Doorway>(
    hub: &Arc<Hub>,
    listener: L,
    edge: Edge,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()>
where
    L::Addr: 'static,
{
    let door = Door::new(listener, edge.limits.connections, edge.limits.head_time, Arc::clone(&hub.metrics));
    let site = Arc::new(Site::new(hub, edge));
    let app = axum::Router::new().fallback(enter).with_state(Arc::clone(&site));
    let app = app.into_make_service_with_connect_info::<Line>();
    let last = Arc::clone(&site);
    let told = CancellationToken::new();
    let stopping = told.clone();
    let stopped = async move {
        stop.await;
        stopping.cancel();
        last.hub.close();
        last.sessions.hang_up();
    };
    let served = tokio::select! {
        served = axum::serve(door, app).with_graceful_shutdown(stopped) => served,
        () = site.sessions.reap(hub) => Ok(()),
        () = async { told.cancelled().await; tokio::time::sleep(DRAIN).await } => Ok(()),
    };
    // Only now: to end a session is to take back what it asked for.
    site.sessions.close_all(hub).await;
    served
}

async fn enter(
    State(site): State<Arc<Site>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: HttpRequest,
) -> Response {
    let busy = line.busy();
    let response = site.answer(line.who(), request).await;
    let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == EVENTS);
    if is_stream { response.map(|body| held(body, busy)) } else { response }
}

/// A body that is part of a request under way as long as it lasts.
fn held(body: Body, busy: Busy) -> Body {
    Body::from_stream(body.into_data_stream().inspect(move |_| {
        let _held = &busy;
    }))
}

/// The profile somebody asked for by the address; none leaves it to the name of the client.
type Entrance = Option<Facet>;

fn no_profile(names: &[String]) -> Response {
    let known = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
    words(404, &format!("there is no such profile; known are: {known}"))
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

/// The answer to a request. A long result goes out from where it is, and is not copied between what frames it.
fn outcome_answer(status: u16, id: &Json, outcome: &Result<Json, RpcError>) -> Response {
    let result = match outcome {
        Ok(result) if result.len() > LONG => result,
        Ok(_) | Err(_) => return json_answer(status, rpc::answer(id, outcome)),
    };
    let [head, tail] = rpc::frame(id);
    let length = head.len() + result.len() + tail.len();
    let parts = [head, result.bytes().clone(), tail].map(Ok::<_, Infallible>);
    let mut response = answer(status, Body::from_stream(streams::iter(parts)), "application/json");
    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    response
}

fn stream_answer(body: Body) -> Response {
    answer(200, body, EVENTS)
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
