//! Any text as a Json file: read or refused, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard::Provider;
use switchboard::sources::places::Container;
use switchboard::sources::read_text;
use switchboard::sources::syntax::Format;

fuzz_target!(|text: &str| {
    for provider in [Provider::Native, Provider::McpJson] {
        drop(read_text(text, provider, Format::Json, &Container::Whole));
        drop(read_text(text, provider, Format::Json, &Container::Whole));
    }
});
