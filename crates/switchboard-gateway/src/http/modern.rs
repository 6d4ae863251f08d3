//! A request of the modern protocol over HTTP: it stands for itself, its headers repeat what is in it, and when the
//! connection closes nobody wants the answer any more.

use std::sync::Arc;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream;
use serde_json::json;
use switchboard::digest;
use switchboard::json::Json;
use switchboard::wire::{HANDSHAKES, MODERN, misquoted};
use tokio::sync::mpsc;

use super::room::Ticket;
use super::{Entrance, json_answer, outcome_answer, stream::event, stream_answer};
use crate::facet::Facet;
use crate::hub::Hub;
use crate::metrics;
use crate::route;
use crate::rpc::{self, HEADER_MISMATCH, Request, RpcError, UNSUPPORTED_VERSION};
use crate::view::List;

/// Messages about one request that wait for a slow reader.
const LANE: usize = 256;

/// Whether a request follows the modern rules: its header or its body says so.
pub(crate) fn is_meant(headers: &HeaderMap, request: &Request) -> bool {
    let header = version_header(headers);
    let says_body = version_in(request).is_some();
    says_body || header.as_deref().is_some_and(|version| !HANDSHAKES.contains(&version))
}

fn version_header(headers: &HeaderMap) -> Option<String> {
    headers.get("mcp-protocol-version").map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn version_in(request: &Request) -> Option<String> {
    request.meta.as_ref()?.get("io.modelcontextprotocol/protocolVersion")?.text()
}

fn mismatch(header: &str) -> RpcError {
    RpcError::new(HEADER_MISMATCH, format!("the header {header} does not say what the body says"))
}

/// Whether the headers say what the body says.
pub(crate) fn check(headers: &HeaderMap, request: &Request) -> Result<(), RpcError> {
    let unsupported = |version: &str| {
        let data = json!({"supported": [MODERN], "requested": version});
        RpcError::new(UNSUPPORTED_VERSION, "this protocol version is not supported").with(data)
    };
    let one = |name: &str| {
        let all: Vec<_> = headers.get_all(name).iter().collect();
        match all.as_slice() {
            [value] => value.to_str().ok().map(str::to_owned),
            _ => None,
        }
    };
    let in_body =
        version_in(request).ok_or_else(|| RpcError::params("`_meta` has to name the protocol version"))?;
    if one("mcp-protocol-version").is_none_or(|version| version != in_body) {
        return Err(mismatch("MCP-Protocol-Version"));
    }
    if in_body != MODERN {
        return Err(unsupported(&in_body));
    }
    if one("mcp-method").is_none_or(|method| method != request.method) {
        return Err(mismatch("Mcp-Method"));
    }
    let named = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    let in_body = request.params.get(named).and_then(|name| name.text());
    match one("mcp-name").as_deref().map(decoded) {
        Some(Some(name)) if Some(&name) == in_body.as_ref() => Ok(()),
        // Nothing is named, which is another mistake than a wrong header.
        None if in_body.is_none() => Ok(()),
        _ => Err(mismatch("Mcp-Name")),
    }
}

/// Whether the headers repeat the arguments that the tool wants repeated.
async fn check_arguments(
    hub: &Hub,
    facet: &Facet,
    headers: &HeaderMap,
    request: &Request,
) -> Result<(), RpcError> {
    let name = request.params.get("name").and_then(|name| name.text());
    let Some(name) = name.filter(|_| request.method == "tools/call") else { return Ok(()) };
    let view = hub.view_with(facet, List::Tools, |view| view.tool(&name).is_some()).await;
    let Some(entry) = view.tool(&name) else { return Ok(()) };
    let header =
        |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let arguments = request.params.get("arguments");
    match misquoted(&entry.tool.input_schema, arguments.as_ref(), header) {
        Some(header) => Err(mismatch(&header)),
        None => Ok(()),
    }
}

/// What a header value stands for.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// Answers it: as one body, or as a stream if there is something to say before the answer.
pub(crate) async fn answer(
    hub: &Arc<Hub>,
    (headers, entrance): (&HeaderMap, Entrance),
    request: Request,
    ticket: Ticket,
) -> Response {
    let refused =
        |error: &RpcError| json_answer(route::status(error).max(400), rpc::failure(Some(&request.id), error));
    if let Err(error) = check(headers, &request) {
        return refused(&error);
    }
    let era = match route::era(&request) {
        Ok(era) => era,
        Err(error) => return refused(&error),
    };
    let facet = entrance.unwrap_or_else(|| route::facet_of(hub, &request));
    if let Err(error) = check_arguments(hub, &facet, headers, &request).await {
        return refused(&error);
    }
    let guest = Guest::new(hub);
    guest.client.enter(facet);
    let shown = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
    let _first = guest.client.badge.set(digest::hex(shown));
    let (lane, mut said) = mpsc::channel(LANE);
    let shared = Arc::clone(hub);
    let mut work = Box::pin(async move {
        let caller = route::caller(&shared, &guest.client, &request, era, lane);
        let outcome = metrics::answer(&shared, &caller, &request).await;
        let status = outcome.as_ref().map_or_else(route::status, |_| 200);
        drop(guest);
        drop(ticket);
        (status, request.id, outcome)
    });
    tokio::select! {
        biased;
        Some(first) = said.recv() => stream_answer(talk(first, said, work)),
        (status, id, outcome) = &mut work => outcome_answer(status, &id, &outcome),
    }
}

/// What is said about a request, and its answer at the end.
fn talk(
    first: Bytes,
    said: mpsc::Receiver<Bytes>,
    work: impl Future<Output = (u16, Json, Result<Json, RpcError>)> + Send + Unpin + 'static,
) -> axum::body::Body {
    let start = (Some(first), said, Some(work));
    let events = stream::unfold(start, |(first, mut said, mut work)| async move {
        if let Some(first) = first {
            return Some((Ok::<_, std::convert::Infallible>(event("", &first)), (None, said, work)));
        }
        if let Some(running) = &mut work {
            let text = tokio::select! {
                biased;
                Some(text) = said.recv() => event("", &text),
                (_, id, outcome) = running => {
                    work = None;
                    let mut rest: Vec<u8> = Vec::new();
                    while let Ok(text) = said.try_recv() {
                        rest.extend_from_slice(&event("", &text));
                    }
                    rest.extend_from_slice(&event("", &rpc::answer(&id, &outcome)));
                    Bytes::from(rest)
                }
                () = tokio::time::sleep(std::time::Duration::from_secs(15)) => Bytes::from_static(b": still here\n\n"),
            };
            return Some((Ok(text), (None, said, work)));
        }
        None
    });
    axum::body::Body::from_stream(events)
}

/// A client for one request. Gone with it.
struct Guest {
    client: Arc<crate::client::Client>,
    hub: Arc<Hub>,
}

impl Guest {
    fn new(hub: &Arc<Hub>) -> Self {
        let (client, _no_mail) = hub.welcome(crate::client::Stay::OneRequest);
        Self { client, hub: Arc::clone(hub) }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.hub.forget(&self.client);
    }
}
