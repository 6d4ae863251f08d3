//! Any text as a server's challenge: read or left alone, never a panic, and no scope twice.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use switchboard::auth::challenge::parse;

fuzz_target!(|header: &str| {
    if let Some(challenge) = parse(header) {
        let mut seen = HashSet::new();
        assert!(challenge.scopes.iter().all(|scope| !scope.is_empty() && seen.insert(scope)));
    }
});
