//! What the fuzzers drive: the pure parts of this room, each with what must hold for any input.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::json::Json;
use crate::wire::era::{Era, MODERN, Verdict, judge};
use crate::wire::frame::{Frame, Lines};
use crate::wire::headers::{decode, encode, mirrors_in, param_headers};
use crate::wire::message::{AnswerId, Fault, Incoming, RpcError, decode as decode_messages};
use crate::wire::sse::{Event, Parser};

/// Bytes cut into lines: the pieces they come in make no difference, and memory is bounded.
pub fn frame(bytes: &[u8], chunk: usize, limit: usize) {
    let read = |chunk: usize| {
        let mut lines = Lines::new(limit);
        let mut frames: Vec<Frame> = Vec::new();
        for chunk in bytes.chunks(chunk) {
            let buffer = lines.buffer();
            assert!(buffer.len() <= limit.max(3), "the buffer holds {} bytes", buffer.len());
            buffer.extend_from_slice(chunk);
            frames.extend(std::iter::from_fn(|| lines.next()));
        }
        frames.extend(std::iter::from_fn(|| lines.finish()));
        frames
    };
    assert_eq!(read(chunk.max(1)), read(bytes.len().max(1)));
}

/// Bytes as a stream of events: the pieces they come in make no difference.
pub fn sse(bytes: &[u8], chunk: usize, limit: usize) {
    let read = |chunk: usize| {
        let mut parser = Parser::new(limit);
        let mut events: Vec<Event> = Vec::new();
        // The pieces after an event that is too long are refused like that one.
        let outcome = bytes.chunks(chunk).try_for_each(|chunk| parser.push(chunk, &mut events));
        for event in &events {
            assert!(event.data.len() <= limit && !event.name.is_empty());
            assert!(event.id.as_ref().is_none_or(|id| !id.contains(['\0', '\r', '\n'])));
        }
        (outcome.map_err(|error| error.limit), parser.last_id().map(str::to_owned), parser.retry(), events)
    };
    assert_eq!(read(chunk.max(1)), read(bytes.len().max(1)));
}

/// A text as a header value, and as an input schema that asks for headers.
pub fn headers(text: &str) {
    let sent = encode(text);
    assert!(sent.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && sent.trim() == sent, "{sent:?}");
    assert_eq!(decode(&sent).as_deref(), Some(text));
    drop(decode(text));
    let Ok(schema) = Json::from_text(text) else { return };
    let Ok(mirrors) = mirrors_in(&schema) else { return };
    assert!(mirrors.iter().all(|mirror| !mirror.name.is_empty() && mirror.name.is_ascii()));
    assert!(param_headers(&mirrors, &schema.value()).len() <= mirrors.len());
}

/// A text as messages: each is taken apart and written again as it is understood, or told as no message.
pub fn message(text: &str) -> Vec<Result<Json, String>> {
    let bytes = Bytes::copy_from_slice(text.as_bytes());
    decode_messages(&bytes).into_iter().map(|message| message.map(again)).collect()
}

/// The message as it was understood, its parts as they came. An id we never sent is not kept, and neither is an answer
/// against the rules.
fn again(message: Incoming) -> Json {
    let mut fields = Vec::new();
    let mut set = |name, value: Option<Json>| fields.extend(value.map(|value| (name, value)));
    match message {
        Incoming::Request { id, method, params } => {
            set("id", Some(id));
            set("method", Some(json!(method).into()));
            set("params", params);
        }
        Incoming::Notification { method, params } => {
            set("method", Some(json!(method).into()));
            set("params", params);
        }
        Incoming::Response { id, outcome } => {
            set("id", answer_id(id));
            match outcome {
                Ok(result) => set("result", Some(result)),
                Err(Fault::Malformed(why)) => set("malformed", Some(json!(why).into())),
                Err(Fault::Rpc(error)) => set("error", Some(error_again(error))),
            }
        }
    }
    Json::object(fields)
}

fn error_again(error: RpcError) -> Json {
    let known = [("code", json!(error.code).into()), ("message", json!(error.message).into())];
    Json::object(known.into_iter().chain(error.data.map(|data| ("data", data))))
}

fn answer_id(id: AnswerId) -> Option<Json> {
    match id {
        AnswerId::Number(number) => Some(json!(number).into()),
        AnswerId::Missing => None,
        AnswerId::Foreign => Some(json!("foreign").into()),
    }
}

/// Whether a server with this answer to the first question is taken for modern. Only one that names the version is.
pub fn era(result: &str) -> bool {
    let Ok(result) = Json::from_text(result) else { return false };
    let value = result.value();
    let versions = value.get("supportedVersions").and_then(Value::as_array);
    let names_ours = versions.is_some_and(|versions| versions.iter().any(|version| version == MODERN));
    let is_modern = match judge(&Ok(result)) {
        Verdict::Modern(facts) => {
            assert_eq!((facts.era, facts.version.as_str()), (Era::Modern, MODERN));
            true
        }
        Verdict::Handshake => false,
        Verdict::Again | Verdict::Unclear => panic!("an answer is clear"),
    };
    assert!(names_ours || !is_modern, "{value}");
    is_modern
}
