//! Any text as the value of a header: the same text again. Any schema: read for headers or refused, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard::wire::fuzzing::headers;

fuzz_target!(|text: &str| headers(text));
