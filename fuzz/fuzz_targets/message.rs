//! Any text as messages: taken apart or refused, never a panic, and what was understood is understood again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard::wire::fuzzing::message;

fuzz_target!(|text: &str| {
    for understood in message(text).into_iter().flatten() {
        let again = message(understood.as_str());
        // An answer against the rules is told as such, and that is no message of its own.
        let is_malformed = understood.get("malformed").is_some();
        assert!(is_malformed || again == [Ok(understood.clone())], "{understood:?} {again:?}");
    }
});
