//! Any bytes as a stream of events: the same events however they come, within bounds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard::wire::fuzzing::sse;

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (chunk, limit, bytes) = input;
    sse(bytes, usize::from(chunk), usize::from(limit) * 16);
});
