//! Login: from a server's challenge to a token, kept and renewed.
//!
//! In: what a server says when it refuses us, and who can visit a page for us. Out: headers that are let in. Tokens live
//! here and in the store; nobody else sees one except to send it. Nothing here knows the life of a server.

mod callback;
pub mod challenge;
mod discover;
mod error;
mod fetch;
mod gate;
mod grant;
mod kept;
mod keys;
mod login;
mod look;
mod pass;
mod place;
mod register;
mod sign;
mod store;

pub use error::{CODES, Error};
pub use keys::{Facts, Keys, Options};
pub use login::Wishes;
pub use look::Standing;
pub use pass::Pass;
pub(crate) use pass::Verdict;
pub use place::Place;
