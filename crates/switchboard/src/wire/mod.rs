//! The protocol: from a launch to an open link, over any transport, in either era. Raw JSON is kept.
//!
//! In: a [`Launch`](crate::resolve::Launch) and the [`Terms`]. Out: a [`Link`], or a [`Failure`] that says all that is
//! known. A link speaks for itself: lists, calls, reads, subscriptions look the same whatever is behind it. It decides
//! nothing about retries: an [`Error`] says whether the request can have reached the server, and the caller judges.
//!
//! From the outside in: `open` finds out what a server speaks; `link`, `features`, `rounds`, `tasks` and `subscribe` are
//! what one does with it; `peer` and `router` are the conversation; `stdio`, `http` and `legacy_sse` carry it; `frame`,
//! `sse`, `headers`, `message`, `glance` and `era` are pure.

mod child;
mod door;
mod era;
mod errand;
mod error;
mod features;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod glance;
pub mod guard;
mod headers;
mod http;
mod ledger;
mod legacy_sse;
mod levels;
mod line;
mod link;
mod log;
mod memory;
mod message;
mod notices;
mod open;
mod pace;
mod peer;
mod questions;
mod rounds;
mod router;
mod sse;
mod stage;
mod stdio;
mod steps;
mod subscribe;
mod tasks;
mod thoughts;
mod trace;
mod web;
mod whose;

pub use child::Ending;
pub(crate) use era::CUT;
pub use era::{Era, Facts, HANDSHAKES, MODERN};
pub use errand::{Errand, Heard, Tasks};
pub use error::{CODES, Cause, Error, Exit, Sent, Step as Obstacle};
pub use features::{CallOptions, Listing};
pub use guard::Guard;
pub use headers::misquoted;
pub use link::Link;
pub use log::{Direction, End, Kind, Log, Logs, Passage};
pub use memory::{LastFault, Memory};
pub use message::RpcError;
pub use open::{Failure, Limits, Terms, open};
pub use peer::Patience;
pub use steps::{Onlooker, Step, Steps};
pub use subscribe::{Interest, Subscription};
pub use trace::Trace;
pub use web::Web;
