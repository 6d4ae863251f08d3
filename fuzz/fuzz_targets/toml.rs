//! Any text as a Toml file: read or refused, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard::Provider;
use switchboard::sources::places::Container;
use switchboard::sources::read_text;
use switchboard::sources::syntax::Format;

fuzz_target!(|text: &str| {
    for provider in [Provider::Codex, Provider::McpJson] {
        drop(read_text(text, provider, Format::Toml, &Container::Below(&[&["mcp_servers"]])));
        drop(read_text(text, provider, Format::Toml, &Container::Whole));
    }
});
