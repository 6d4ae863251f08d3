//! One call: permitted, sent, shaped. Resources and prompts go the same way without the question.
//!
//! In: a tool of the catalog and its arguments. Out: an [`Outcome`], also when the tool reports a failure; or a
//! [`CallError`] that says what class of failure it is and whether the server may have acted. A call is sent at most once,
//! unless it provably was not sent or repeating it is safe. One that waits for the user's word is a [`Deferred`]; a yes
//! that is remembered is among the [`Grants`].

mod coerce;
mod conform;
mod deferred;
mod error;
mod grants;
mod media;
mod outcome;
mod perform;
mod policy;
mod shape;
mod spill;

pub use coerce::{Coercion, arguments, complete, unlisted, usage};
pub use deferred::Deferred;
pub use error::{CODES, CallError, Class, Denier};
pub use grants::{GrantKind, Grants, Standing};
pub use media::Media;
pub use outcome::Outcome;
pub use perform::Request;
pub use policy::{By, Decision, Ruling, rule};
pub use shape::{Shaped, shape};
pub use spill::{Spilled, spill};

pub(crate) use deferred::question;
pub(crate) use grants::{Binding, Yes};
pub(crate) use perform::{connected, is_safe, perform, run_errand, with_link};
