//! The life of connections: one owner task per server keeps its link and knows what it offers.
//!
//! In: what a [`Plan`](crate::config::Plan) says may be connected to. Out: for each server a [`Handle`] with its status
//! and its offer, live. `machine` decides and is pure; `owner` waits and performs; `fleet` makes reality match a plan.
//! Nothing here knows what tools are called or who may call them.

mod event;
mod fault;
mod fleet;
mod handle;
mod machine;
mod offer;
mod owner;
mod recipe;
mod refresh;
mod usage;

pub use event::Event;
pub use fault::Fault;
pub use fleet::Changes;
pub use handle::{Handle, Lease, Refused, Status, View};
pub use offer::{Freshness, Hints, Kept, Offer};
pub use recipe::{Persistence, Recipe, Shared};

pub(crate) use fault::last_words;
pub(crate) use fleet::Fleet;
