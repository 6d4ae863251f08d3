//! The official schemas and examples of the protocol against what we read and what we send.
//!
//! They are not part of this repository: they are looked for beside it, and where they are not, nothing is checked.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod examples;
mod judge;
mod sent;

use std::path::PathBuf;

const MODERN: &str = "2026-07-28";
const HANDSHAKES: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Where the official files are, if they are.
#[expect(clippy::print_stdout, reason = "a test that checks nothing says so")]
fn official() -> Option<PathBuf> {
    let path = testkit::workspace().join("../shared/protocol");
    if !path.is_dir() {
        println!("the schemas of the protocol are not there; nothing was checked");
        return None;
    }
    Some(path)
}
