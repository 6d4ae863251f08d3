//! The wire against servers on stdio that behave well, oddly, or badly.
//!
//! Every test plays a script: `crates/testkit/README.md` says what scripts can do.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]
#![allow(clippy::needless_pass_by_value, reason = "scripts are written where they are played")]

mod asked;
mod crash;
mod era;
mod flood;
mod hang;
mod ids;
mod kit;
mod lists;
mod memory;
mod odd;
mod patience;
mod rounds;
mod split;
mod stop;
mod subscriptions;
mod tasks;
