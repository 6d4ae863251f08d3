//! A session with real processes: everything at once, one bad server costs nobody else anything, nothing runs twice.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod approval_matrix;
mod calls;
mod deferred;
mod failure_table;
mod gaps;
mod grants;
mod life;
mod live;
mod logs;
mod once;
mod promises;
mod reload;
mod rules;
mod scale;
mod start;
mod world;
