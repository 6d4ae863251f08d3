//! A session with real processes: everything at once, one bad server costs nobody else anything, nothing runs twice.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod calls;
mod deferred;
mod failure_table;
mod gaps;
mod life;
mod live;
mod once;
mod promises;
mod rules;
mod scale;
mod start;
mod world;
