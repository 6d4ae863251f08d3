//! The scripted server, as a plain client sees it: well-behaved first, then its vices.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]
#![allow(clippy::needless_pass_by_value, reason = "`json!` as an argument reads better")]

mod client;
mod http;
mod sse;
mod stdio;
mod vices;
