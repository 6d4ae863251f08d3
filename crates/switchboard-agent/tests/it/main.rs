//! Turns over real servers, with a model that does what the test says.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod interrupted;
mod mid_turn;
mod scopes;
mod stable;
mod world;
