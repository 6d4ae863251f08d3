//! What the fuzzers drive: the pure parts of this room, each with what must hold for any input.

use crate::json::Json;
use crate::wire::frame::{Frame, Lines};
use crate::wire::headers::{decode, encode, mirrors_in, param_headers};
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
