//! Any text and any edit: done as meant or refused, never a panic, and never another meaning.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard::config::edit::{Edit, apply, redacted};

fuzz_target!(|input: (String, Vec<String>, Option<String>)| {
    let (text, path, value) = input;
    let edit = match value {
        Some(value) => Edit::Set(path, serde_json::json!({ "command": value })),
        None => Edit::Remove(path),
    };
    // `apply` reads its own result and compares the meaning.
    if let Err(refusal) = apply(&text, &[edit]) {
        assert!(!refusal.what.contains("more than it should"), "{}", refusal.what);
    }
    drop(redacted(&text));
});
