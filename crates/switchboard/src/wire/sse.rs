//! Reads `text/event-stream`, by the rules of the WHATWG.
//!
//! In: bytes, in whatever pieces they come. Out: events. An event that was not ended by an empty line is none, so there
//! is nothing to ask for at the end of the stream.

use std::borrow::Cow;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr, memchr2};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its type; `message` when none was given.
    pub(crate) name: Cow<'static, str>,
    /// The data lines, with a newline between them. May be empty: some servers send an id before there is anything to say.
    pub(crate) data: Bytes,
    /// The id that came with it, as it was sent.
    pub(crate) id: Option<String>,
}

/// An event is larger than it may be. The stream cannot be read on from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub(crate) struct TooLong {
    /// Most bytes of one event.
    pub(crate) limit: usize,
}

/// Reads a stream of events.
#[derive(Debug)]
pub(crate) struct Parser {
    limit: usize,
    /// So many bytes of a byte order mark have come; all of it once it cannot come any more.
    mark: usize,
    /// A line feed now would belong to the carriage return before it.
    after_return: bool,
    /// A line whose end has not come yet.
    line: BytesMut,
    name: Option<String>,
    /// `None` until a data line has come: no data is not the same as empty data.
    data: Option<BytesMut>,
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    failed: bool,
}

impl Parser {
    /// Events of at most `limit` bytes: the data so far and the line being read, its field name included.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            mark: 0,
            after_return: false,
            line: BytesMut::new(),
            name: None,
            data: None,
            id: None,
            last_id: None,
            retry: None,
            failed: false,
        }
    }

    /// Reads on; the events that were completed are added to `events`, also those before one that is too long.
    pub(crate) fn push(&mut self, chunk: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        let mut rest = self.without_mark(chunk);
        while !self.failed && !rest.is_empty() {
            if std::mem::take(&mut self.after_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = memchr2(b'\r', b'\n', rest);
            let part = &rest[..end.unwrap_or(rest.len())];
            let held = self.data.as_ref().map_or(0, BytesMut::len) + self.line.len();
            if held + part.len() > self.limit {
                self.failed = true;
                break;
            }
            let Some(end) = end else {
                self.line.extend_from_slice(part);
                break;
            };
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            events.extend(self.end_line(part));
        }
        if self.failed { Err(TooLong { limit: self.limit }) } else { Ok(()) }
    }

    /// A new connection begins: what was half read is gone, the id to resume after and the pause stay.
    pub(crate) fn restart(&mut self) {
        let (last_id, retry) = (self.last_id.take(), self.retry);
        *self = Self { last_id, retry, ..Self::new(self.limit) };
    }

    /// The id to resume after: the last one of a block that has ended. An empty one takes back those before it.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// How long the server wants to be left alone before the next connection.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The bytes without a byte order mark at the very start, which may itself come in pieces.
    fn without_mark<'a>(&mut self, mut chunk: &'a [u8]) -> &'a [u8] {
        while self.mark < BOM.len() {
            match chunk.split_first() {
                None => break,
                Some((byte, rest)) if *byte == BOM[self.mark] => {
                    self.mark += 1;
                    chunk = rest;
                }
                Some(_) => {
                    // It only began like one: then it is text.
                    self.line.extend_from_slice(&BOM[..self.mark]);
                    self.mark = BOM.len();
                }
            }
        }
        chunk
    }

    /// A line has ended with `part`; what came of it before is in `self.line`.
    fn end_line(&mut self, part: &[u8]) -> Option<Event> {
        if self.line.is_empty() {
            if part.is_empty() {
                return self.end_event();
            }
            let (field, value) = split(part);
            match field {
                b"data" => self.add_data(&part[value..]),
                _ => self.set(field, &part[value..]),
            }
            return None;
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(part);
        let (field, value) = split(&line);
        match field {
            // A big message came in many pieces; it is not copied once more.
            b"data" if self.data.is_none() => {
                line.advance(value);
                self.data = Some(line);
            }
            b"data" => self.add_data(&line[value..]),
            _ => self.set(field, &line[value..]),
        }
        None
    }

    fn add_data(&mut self, value: &[u8]) {
        match &mut self.data {
            Some(data) => {
                data.extend_from_slice(b"\n");
                data.extend_from_slice(value);
            }
            None => self.data = Some(BytesMut::from(value)),
        }
    }

    /// Fields other than data. A comment is a field without a name, and unknown like any other.
    fn set(&mut self, field: &[u8], value: &[u8]) {
        match field {
            b"event" => self.name = Some(lossy(value)),
            b"id" if memchr(0, value).is_none() => self.id = Some(lossy(value)),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                if let Ok(milliseconds) = lossy(value).parse() {
                    self.retry = Some(Duration::from_millis(milliseconds));
                }
            }
            _ => {}
        }
    }

    fn end_event(&mut self) -> Option<Event> {
        let (name, data, id) = (self.name.take(), self.data.take(), self.id.take());
        if id.is_some() {
            self.last_id.clone_from(&id);
        }
        let name = name.filter(|name| !name.is_empty()).map_or(Cow::Borrowed("message"), Cow::Owned);
        Some(Event { name, data: data?.freeze(), id })
    }
}

/// The field's name, and where its value starts.
fn split(line: &[u8]) -> (&[u8], usize) {
    let Some(colon) = memchr(b':', line) else { return (line, line.len()) };
    let space = usize::from(line.get(colon + 1) == Some(&b' '));
    (&line[..colon], colon + 1 + space)
}

fn lossy(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NO_LIMIT: usize = usize::MAX / 2;

    #[derive(Debug, PartialEq)]
    struct Seen {
        events: Vec<Event>,
        last_id: Option<String>,
        retry: Option<Duration>,
        outcome: Result<(), TooLong>,
    }

    fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Seen {
        let mut parser = Parser::new(limit);
        let mut events = Vec::new();
        let mut outcome = Ok(());
        for chunk in chunks {
            outcome = parser.push(chunk, &mut events);
        }
        Seen { events, last_id: parser.last_id().map(str::to_owned), retry: parser.retry(), outcome }
    }

    fn event(name: &'static str, data: &'static str, id: Option<&str>) -> Event {
        Event { name: name.into(), data: Bytes::from_static(data.as_bytes()), id: id.map(str::to_owned) }
    }

    fn check(text: &str, expected: &[Event]) -> Seen {
        let seen = read([text.as_bytes()], NO_LIMIT);
        assert_eq!(seen.events, expected, "{text:?}");
        assert_eq!(read(text.as_bytes().chunks(1), NO_LIMIT), seen, "{text:?} byte by byte");
        seen
    }

    #[test]
    fn events_by_the_rules() {
        let message = |data| event("message", data, None);
        check("data: a\n\n", &[message("a")]);
        check("data:a\r\rdata:  b\r\n\r\n", &[message("a"), message(" b")]);
        check("\u{feff}data: a\n\n", &[message("a")]);
        check("\u{feff}\u{feff}data: a\n\n", &[]);
        check(": keep-alive\n\ndata: a\n: more\ndata: b\n\n", &[message("a\nb")]);
        check("data\n\ndata\ndata\n\n", &[message(""), message("\n")]);
        check(
            "event: endpoint\ndata: /x\n\nevent:\ndata: y\n\n",
            &[event("endpoint", "/x", None), message("y")],
        );
        check("event: lost\n\ndata: a\n\n", &[message("a")]);
        check("Data: a\n data: b\nother: c\n\n", &[]);
        check("data: a\n", &[]);
        check("data: a\n\ndata: cut off", &[message("a")]);
        check("data: a:b\n\n", &[message("a:b")]);
    }

    #[test]
    fn ids_and_waits_are_remembered() {
        let seen = check(
            "id: 1\ndata: a\n\ndata: b\n\n",
            &[event("message", "a", Some("1")), event("message", "b", None)],
        );
        assert_eq!(seen.last_id.as_deref(), Some("1"));
        // An id counts once its block has ended, with or without data.
        assert_eq!(check("id: 1\n\nid: 2\n", &[]).last_id.as_deref(), Some("1"));
        assert_eq!(check("id: 1\n\nid: a\0b\n\n", &[]).last_id.as_deref(), Some("1"));
        assert_eq!(check("id: 1\n\nid\n\n", &[]).last_id, None);
        assert_eq!(check("retry: 250\n\n", &[]).retry, Some(Duration::from_millis(250)));
        for odd in ["retry: -1\n", "retry: 1.5\n", "retry:\n", "retry: 99999999999999999999\n", "retry: ٣\n"]
        {
            assert_eq!(check(odd, &[]).retry, None, "{odd:?}");
        }
    }

    #[test]
    fn an_event_over_the_limit_is_an_error_and_stays_one() {
        let mut parser = Parser::new(10);
        let mut events = Vec::new();
        assert_eq!(parser.push(b"data: 1234\n\ndata: 12345\n\n", &mut events), Err(TooLong { limit: 10 }));
        assert_eq!(events, [event("message", "1234", None)]);
        assert_eq!(parser.push(b"data: a\n\n", &mut events), Err(TooLong { limit: 10 }));
        assert_eq!(events.len(), 1);
    }

    #[test]
    fn a_big_line_in_many_pieces_is_one_event() {
        let big = "x".repeat(10_000_000);
        let text = format!("data: {big}\n\n");
        let seen = read(text.as_bytes().chunks(16 * 1024), NO_LIMIT);
        assert_eq!(seen.events.len(), 1);
        assert_eq!(seen.events[0].data, big.as_bytes());
    }

    /// Pieces that make streams of some meaning.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            prop::sample::select(vec![
                "data", "event", "id", "retry", ":", ": ", "\n", "\r", "\r\n", "\n\n", "1", "\0", "\u{feff}",
                "é",
            ])
            .prop_map(|text| text.as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..4),
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    fn encoded(event: &Event) -> String {
        let mut text = format!("event: {}\n", event.name);
        if let Some(id) = &event.id {
            text.push_str(&format!("id: {id}\n"));
        }
        for line in std::str::from_utf8(&event.data).unwrap().split('\n') {
            text.push_str(&format!("data: {line}\n"));
        }
        text + "\n"
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

        #[test]
        fn chunks_make_no_difference(stream in stream(), size in 1_usize..20, limit in 0_usize..40) {
            for limit in [limit, NO_LIMIT] {
                prop_assert_eq!(read(stream.chunks(size), limit), read([stream.as_slice()], limit));
            }
        }

        #[test]
        fn what_is_written_is_read(
            written in prop::collection::vec(
                ("[a-z]{1,8}", "[^\r]{0,40}", prop::option::of("[^\r\n\0]{1,8}")),
                0..6,
            ),
        ) {
            let written: Vec<_> = written
                .into_iter()
                .map(|(name, data, id)| Event { name: name.into(), data: data.into(), id })
                .collect();
            let text: String = written.iter().map(encoded).collect();
            prop_assert_eq!(read([text.as_bytes()], NO_LIMIT).events, written);
        }
    }
}
