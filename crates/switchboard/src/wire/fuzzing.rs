//! What the fuzzers drive: the pure parts of this room, each with what must hold for any input.

use crate::wire::frame::{Frame, Lines};

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
