//! Any text as a Yaml file: read or refused, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard::Provider;
use switchboard::sources::places::Container;
use switchboard::sources::read_text;
use switchboard::sources::syntax::Format;

fuzz_target!(|text: &str| {
    for provider in [Provider::Goose, Provider::McpJson] {
        drop(read_text(text, provider, Format::Yaml, &Container::Below(&[&["extensions"]])));
        drop(read_text(text, provider, Format::Yaml, &Container::Whole));
    }
});
