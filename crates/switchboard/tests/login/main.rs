//! Logins in sessions, with real login servers: renewed once for all, never lost, asked for once.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod cut_off;
mod hostile;
mod more;
mod page;
mod shared;
mod world;
