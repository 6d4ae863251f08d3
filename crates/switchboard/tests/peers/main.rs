//! Real servers, made by others: what they offer, how they answer, what they ask, and that they end.
//!
//! In: the servers `peers/install` provides. Each test starts its own, on a port of its own, and leaves none behind.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod event_stream;
mod everything;
mod fastmcp;
mod logins;
mod remote;
mod stdio;
mod world;
