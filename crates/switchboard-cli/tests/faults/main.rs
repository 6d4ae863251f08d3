//! Every system call of every writer fails in turn, and the promise holds: a file is the old or the new one to the byte,
//! nothing is lost without a word, nothing is left in the way, and the next run makes it whole.
//!
//! The program is the real one, under a tracer. What is done at which call, and how often, is in `docs/faults.md`.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]
#![allow(clippy::print_stdout, reason = "the table of what was tried")]

mod connected;
mod edits;
mod trial;
