//! Any bytes as the output of a program: cut into the same lines however they come, within bounds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard::wire::fuzzing::frame;

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (chunk, limit, bytes) = input;
    frame(bytes, usize::from(chunk), usize::from(limit) * 16);
});
