//! Cuts the output of a program into lines, one message each.
//!
//! In: bytes, in whatever pieces the pipe gives them. Out: lines that share the memory they were read into. A line over
//! the limit is told at once and then dropped as it comes, so that a program that never ends its line costs no memory.

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr;

/// How much of an overlong line is kept from each end: enough to see what it is and, for a message, whom it answers.
const KEPT: usize = 4096;
/// Room for one read, so that a big message takes few of them.
const READ: usize = 16 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What the output was cut into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A line without its end, never blank.
    Line(Bytes),
    /// A line went over the limit. The rest of it is not kept.
    Overflow {
        /// How it starts.
        head: Bytes,
    },
    /// That line has ended.
    Skipped {
        /// How it ends.
        tail: Bytes,
        /// Number of its bytes.
        length: u64,
    },
}

/// Cuts bytes into lines.
#[derive(Debug)]
pub(crate) struct Lines {
    buffer: BytesMut,
    /// So many bytes of the buffer are known to hold no line end; they are not looked at again.
    scanned: usize,
    limit: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing was read yet; a byte order mark may come.
    Start,
    Line,
    /// Inside a line over the limit.
    Skipping {
        tail: BytesMut,
        length: u64,
    },
}

impl Lines {
    /// Lines of at most `limit` bytes, a carriage return at the end included.
    pub(crate) fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), scanned: 0, limit, state: State::Start }
    }

    /// Where the reader puts what it read, with room for it. [`Lines::next`] is called until it has no more before the
    /// next read.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        self.buffer.reserve(READ);
        &mut self.buffer
    }

    /// The next frame, if the bytes read so far hold one.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        loop {
            match &self.state {
                State::Start if self.buffer.len() < BOM.len() && BOM.starts_with(&self.buffer) => {
                    return None;
                }
                State::Start => {
                    if self.buffer.starts_with(BOM) {
                        self.buffer.advance(BOM.len());
                    }
                    self.state = State::Line;
                }
                State::Skipping { .. } => return self.skip(),
                State::Line => {
                    let end = memchr(b'\n', &self.buffer[self.scanned..]).map(|at| self.scanned + at);
                    if end.unwrap_or(self.buffer.len()) > self.limit {
                        return Some(self.overflow());
                    }
                    let Some(end) = end else {
                        self.scanned = self.buffer.len();
                        return None;
                    };
                    let line = self.buffer.split_to(end).freeze();
                    self.buffer.advance(1);
                    self.scanned = 0;
                    if let Some(line) = trimmed(line) {
                        return Some(Frame::Line(line));
                    }
                }
            }
        }
    }

    /// What is left when no more bytes come; called until it has no more.
    pub(crate) fn finish(&mut self) -> Option<Frame> {
        if let Some(frame) = self.next() {
            return Some(frame);
        }
        self.scanned = 0;
        match std::mem::replace(&mut self.state, State::Line) {
            State::Skipping { tail, length } => Some(skipped(tail, length)),
            State::Start | State::Line => trimmed(std::mem::take(&mut self.buffer).freeze()).map(Frame::Line),
        }
    }

    /// The start of the line is copied, so that it does not hold the memory of all of it.
    fn overflow(&mut self) -> Frame {
        let head = Bytes::copy_from_slice(&self.buffer[..self.limit.min(KEPT)]);
        self.scanned = 0;
        self.state = State::Skipping { tail: BytesMut::new(), length: 0 };
        Frame::Overflow { head }
    }

    /// Drops what belongs to the overlong line.
    fn skip(&mut self) -> Option<Frame> {
        let State::Skipping { tail, length } = &mut self.state else { return None };
        let end = memchr(b'\n', &self.buffer);
        let part = &self.buffer[..end.unwrap_or(self.buffer.len())];
        *length += part.len() as u64;
        let last = &part[part.len().saturating_sub(KEPT)..];
        // Only as much goes as has to make room.
        tail.advance((tail.len() + last.len()).saturating_sub(KEPT));
        tail.extend_from_slice(last);
        let Some(end) = end else {
            // The memory of a line that was too long is given back.
            self.buffer = BytesMut::new();
            return None;
        };
        let frame = skipped(std::mem::take(tail), *length);
        self.buffer.advance(end + 1);
        self.state = State::Line;
        Some(frame)
    }
}

/// The line without a carriage return at its end; nothing for a blank one.
fn trimmed(mut line: Bytes) -> Option<Bytes> {
    if line.last() == Some(&b'\r') {
        line.truncate(line.len() - 1);
    }
    (!line.trim_ascii().is_empty()).then_some(line)
}

fn skipped(mut tail: BytesMut, mut length: u64) -> Frame {
    if tail.last() == Some(&b'\r') {
        tail.truncate(tail.len() - 1);
        length -= 1;
    }
    Frame::Skipped { tail: tail.freeze(), length }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(chunks: &[&[u8]], limit: usize) -> Vec<Frame> {
        let mut lines = Lines::new(limit);
        let mut frames = Vec::new();
        for chunk in chunks {
            lines.buffer().extend_from_slice(chunk);
            assert!(lines.buffer.len() <= limit.max(BOM.len()) + chunk.len());
            while let Some(frame) = lines.next() {
                frames.push(frame);
            }
            assert!(lines.buffer.len() <= limit.max(BOM.len()));
        }
        while let Some(frame) = lines.finish() {
            frames.push(frame);
        }
        assert_eq!(lines.finish(), None);
        frames
    }

    fn line(text: &'static str) -> Frame {
        Frame::Line(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn lines_come_without_their_ends() {
        let text = b"\xef\xbb\xbf{\"a\":1}\r\n\n \t\r\n{\"b\":2}\nrest";
        assert_eq!(frames(&[text], 100), [line("{\"a\":1}"), line("{\"b\":2}"), line("rest")]);
        assert_eq!(frames(&[b"\xef\xbb", b"\xbfa"], 100), [line("a")]);
        assert_eq!(frames(&[b"a\n\xef\xbb\xbfb\n"], 100), [line("a"), line("\u{feff}b")]);
        assert_eq!(frames(&[b"\xef\xbb"], 100), [Frame::Line(Bytes::from_static(b"\xef\xbb"))]);
        assert_eq!(frames(&[b"", b"\n"], 100), []);
    }

    #[test]
    fn a_line_is_not_copied() {
        let mut lines = Lines::new(100);
        lines.buffer().extend_from_slice(b"first\nsecond\n");
        let place = lines.buffer.as_ptr();
        let Some(Frame::Line(first)) = lines.next() else { panic!("a line") };
        assert_eq!(first.as_ptr(), place);
    }

    #[test]
    fn a_line_over_the_limit_is_told_at_once_and_dropped() {
        let mut lines = Lines::new(8);
        lines.buffer().extend_from_slice(b"12345678");
        assert_eq!(lines.next(), None);
        lines.buffer().extend_from_slice(b"9");
        assert_eq!(lines.next(), Some(Frame::Overflow { head: Bytes::from_static(b"12345678") }));
        assert_eq!(lines.next(), None);
        lines.buffer().extend_from_slice(b"abc\r\nok\n");
        let tail = Bytes::from_static(b"123456789abc");
        assert_eq!(lines.next(), Some(Frame::Skipped { tail, length: 12 }));
        assert_eq!(lines.next(), Some(line("ok")));
        assert_eq!(lines.finish(), None);
    }

    #[test]
    fn of_a_huge_line_both_ends_are_kept() {
        let piece = [b'x'; 10_000];
        let mut lines = Lines::new(15_000);
        let mut found = Vec::new();
        for _ in 0..100 {
            lines.buffer().extend_from_slice(&piece);
            found.extend(std::iter::from_fn(|| lines.next()));
            assert!(lines.buffer.len() <= 15_000);
        }
        lines.buffer().extend_from_slice(b"END");
        found.extend(std::iter::from_fn(|| lines.finish()));
        let [Frame::Overflow { head }, Frame::Skipped { tail, length }] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((head.len(), tail.len(), *length), (KEPT, KEPT, 1_000_003));
        assert!(tail.ends_with(b"xEND"));
    }

    /// Bytes that are often line ends and parts of a byte order mark.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            4 => any::<u8>(),
            4 => Just(b'x'),
            2 => Just(b'\n'),
            1 => Just(b'\r'),
            1 => prop::sample::select(BOM),
        ];
        prop::collection::vec(byte, 0..200)
    }

    fn cut(mut bytes: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
        let mut chunks = Vec::new();
        for size in sizes {
            let (chunk, rest) = bytes.split_at((*size).min(bytes.len()));
            chunks.push(chunk.to_vec());
            bytes = rest;
        }
        chunks.push(bytes.to_vec());
        chunks
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

        #[test]
        fn chunks_make_no_difference(
            mark in any::<bool>(),
            bytes in bytes(),
            sizes in prop::collection::vec(0_usize..12, 0..60),
            limit in 0_usize..40,
        ) {
            let bytes = if mark { [BOM, &bytes].concat() } else { bytes };
            let chunks = cut(&bytes, &sizes);
            let chunks: Vec<_> = chunks.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(frames(&chunks, limit), frames(&[&bytes], limit));
        }

        #[test]
        fn without_a_limit_nothing_is_lost(bytes in bytes()) {
            let text = bytes.strip_prefix(BOM).unwrap_or(&bytes);
            let expected: Vec<_> = text
                .split(|byte| *byte == b'\n')
                .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
                .filter(|line| !line.trim_ascii().is_empty())
                .map(|line| Frame::Line(Bytes::copy_from_slice(line)))
                .collect();
            prop_assert_eq!(frames(&[&bytes], 1000), expected);
        }
    }
}
