//! The gateway under load and among bad servers: real servers behind it, real clients before it, and a count of everything
//! afterwards.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod among;
mod chance;
mod client;
mod parked;
mod restart;
mod storm;
mod world;
