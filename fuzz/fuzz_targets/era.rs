//! Any JSON as the answer to the question which protocol a server speaks: only one that names ours is modern.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard::wire::fuzzing::era;

fuzz_target!(|text: &str| {
    era(text);
});
