//! What all servers offer together: one immutable snapshot with unique names.
//!
//! In: the offers of all servers and the rules for each. Out: a [`Catalog`]: tools by unique name, sorted, the same bytes
//! for the same input whoever connected first; prompts, resources, instructions; and a problem for everything that was
//! renamed, left out or repaired. `cache` keeps offers for the next start, `pins` notices what changed behind a name.

mod build;
mod builder;
mod cache;
mod check;
mod effort;
mod fine;
mod lookup;
pub mod naming;
mod pins;
mod promise;
#[cfg(test)]
pub(crate) mod sample;
mod search;

pub use build::{Catalog, Entry, LeftOut, Of, Part, Rule};
pub use builder::{Builder, build};
pub use cache::Cache;
pub use lookup::Missed;
pub use pins::Pins;
pub use promise::{Promise, Verdict};
pub use search::{Ranked, search};

pub(crate) use build::is_allowed;
pub(crate) use pins::pin;
