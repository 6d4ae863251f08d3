//! Streamable HTTP of both eras: headers, sessions, the stream that a GET opens.

use std::io;
use std::sync::Arc;

use serde_json::Value;

use crate::answers::Refusal;
use crate::call::{Call, Port, VERSION_KEY};
use crate::http::request::Request;
use crate::http::{event, sse};
use crate::script::{Era, Sessions, Transport};
use crate::server::{Server, lock};

/// The name under which the state of a handshake is kept.
pub(crate) fn scope(server: &Server, request: &Request) -> String {
    match server.script.sessions {
        Sessions::No => String::new(),
        Sessions::Yes | Sessions::Refused400 => {
            request.header("mcp-session-id").unwrap_or_default().to_owned()
        }
    }
}

/// The scope of a message, and the session that begins with it.
pub(crate) fn enter(server: &Server, request: &Request, message: &Value) -> (String, Option<String>) {
    if message["method"] != "initialize" || server.script.era == Era::Modern {
        return (scope(server, request), None);
    }
    let session = (server.script.sessions != Sessions::No)
        .then(|| format!("session-{}-{}", std::process::id(), server.number()));
    let scope = session.clone().unwrap_or_default();
    server.set_ready(&scope);
    (scope, session)
}

/// What a well-behaved server wants of a POST before it looks at the message.
pub(crate) fn check(call: &Call) -> Result<(), Refusal> {
    let Some(request) = &call.http else { return Ok(()) };
    let nameless = |status: u16, code: i32, message: &str| Refusal {
        anonymous: true,
        ..Refusal::new(code, message).with_status(status)
    };
    let accept = request.header("accept").unwrap_or_default();
    if !accept.contains("application/json") || !accept.contains("text/event-stream") {
        let message = "Not Acceptable: accept both application/json and text/event-stream";
        return Err(nameless(406, -32000, message));
    }
    if !request.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        let message = "Unsupported Media Type: the content type must be application/json";
        return Err(nameless(415, -32000, message));
    }
    if call.modern {
        return if call.is_notification() || call.method == "initialize" {
            Ok(())
        } else {
            mirrored(call, request)
        };
    }
    if call.method == "initialize" { Ok(()) } else { session(call, request) }
}

fn session(call: &Call, request: &Request) -> Result<(), Refusal> {
    let sessions = call.server.script.sessions;
    let id = request.header("mcp-session-id");
    if sessions == Sessions::No || id.is_some_and(|id| call.server.is_ready(id)) {
        return Ok(());
    }
    let (status, code, message) = match (sessions, id) {
        (Sessions::Refused400, _) => (400, -32000, "Bad Request: No valid session ID provided"),
        (_, None) => (400, -32000, "Bad Request: Mcp-Session-Id header is required"),
        (_, Some(_)) => (404, -32001, "Session not found"),
    };
    Err(Refusal { anonymous: true, ..Refusal::new(code, message).with_status(status) })
}

/// The headers must say what the body says.
fn mirrored(call: &Call, request: &Request) -> Result<(), Refusal> {
    let param = |name: &str| call.params.get(name).and_then(Value::as_str).map(str::to_owned);
    let meta = call.params.get("_meta").and_then(|meta| meta.get(VERSION_KEY)).and_then(Value::as_str);
    // A body without a version is an error of its own.
    let Some(version) = meta else { return Ok(()) };
    let name = match call.method.as_str() {
        "tools/call" | "prompts/get" => param("name"),
        "resources/read" => param("uri"),
        _ => None,
    };
    let wanted = [
        ("MCP-Protocol-Version", Some(version.to_owned())),
        ("Mcp-Method", Some(call.method.clone())),
        ("Mcp-Name", name),
    ];
    for (header, wanted) in wanted {
        let Some(wanted) = wanted else { continue };
        let found = request.header(&header.to_ascii_lowercase()).and_then(decode);
        if found.as_ref() != Some(&wanted) {
            let found = found.map_or("missing".to_owned(), |found| format!("`{found}`"));
            let message = format!("Header mismatch: {header} is {found}, the body says `{wanted}`");
            return Err(Refusal::new(-32020, message).with_status(400));
        }
    }
    Ok(())
}

/// A header's value; one that is not plain comes as `=?base64?...?=`.
fn decode(value: &str) -> Option<String> {
    let Some(coded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for letter in coded.trim_end_matches('=').bytes() {
        let six = alphabet.iter().position(|known| *known == letter)?;
        bits = bits << 6 | u32::try_from(six).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Behaves well for a request that is not a message to the server.
pub(crate) async fn bare(call: &mut Call) -> io::Result<()> {
    let script = &call.server.script;
    let (old, modern) = (script.transport == Transport::Sse, script.era == Era::Modern);
    let (post_status, sessions) = (script.post_status, script.sessions != Sessions::No);
    let checked = call.http.as_ref().map_or(Ok(()), |request| session(call, request));
    if call.method == "GET" && old {
        return sse::stream(call).await;
    }
    let method = call.method.clone();
    let Some(reply) = call.port.reply() else { return Ok(()) };
    match method.as_str() {
        "POST" if old && post_status != 405 => {
            let kind = ("Content-Type".to_owned(), "text/html; charset=utf-8".to_owned());
            let page = "<!DOCTYPE html><html><body><h1>Cannot POST /sse</h1></body></html>\n";
            reply.whole(post_status, &[kind], page.as_bytes()).await
        }
        "GET" | "DELETE" if !old && !modern => {
            if let Err(refusal) = checked {
                return reply.whole(refusal.status, &[], refusal.message.as_bytes()).await;
            }
            if method == "GET" {
                return listen(call).await;
            }
            if sessions {
                call.server.end(&call.scope);
                return reply.whole(200, &[], b"").await;
            }
            reply.whole(405, &[], b"Method Not Allowed").await
        }
        path if path.contains(' ') => reply.whole(404, &[], b"Not Found").await,
        _ => {
            let allow = ("Allow".to_owned(), if old { "GET" } else { "POST" }.to_owned());
            reply.whole(405, &[allow], b"Method Not Allowed").await
        }
    }
}

/// Gives the rest of a stream that was lost, or opens one for notifications.
async fn listen(call: &mut Call) -> io::Result<()> {
    let server = Arc::clone(&call.server);
    let last = call.http.as_ref().and_then(|request| request.header("last-event-id")).map(str::to_owned);
    let Port::Reply(reply) = &mut call.port else { return Ok(()) };
    if let Some(last) = last.filter(|_| server.script.resumable) {
        let place = last
            .split_once('-')
            .and_then(|(stream, index)| Some((stream.parse::<u64>().ok()?, index.parse::<usize>().ok()?)));
        let kept = place.and_then(|(stream, _)| lock(&server.kept).get(&stream).cloned());
        let (Some(kept), Some((_, index))) = (kept, place) else {
            return reply.whole(404, &[], b"There is no such event").await;
        };
        reply.open_exact().await?;
        let mut next = index + 1;
        while let Some(text) = kept.get(next).await {
            reply.raw(text.as_bytes()).await?;
            next += 1;
        }
        return reply.finish().await;
    }
    if !server.script.listen {
        let allow = ("Allow".to_owned(), "POST".to_owned());
        return reply.whole(405, &[allow], b"Method Not Allowed").await;
    }
    let mut messages = server.listen();
    reply.open_exact().await?;
    while let Some(message) = messages.recv().await {
        reply.raw(event::message(&message).as_bytes()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn names_that_are_not_plain_come_in_base64() {
        assert_eq!(decode("echo").as_deref(), Some("echo"));
        assert_eq!(decode("=?base64?w6k=?=").as_deref(), Some("é"));
        assert_eq!(decode("=?base64?w6nDqQ==?=").as_deref(), Some("éé"));
        assert_eq!(decode("=?base64?*?="), None);
    }
}
