//! What the values of a server would become: variables, folders, program. Nothing is run and nothing is kept.
//!
//! In: a checked server and the environment. Out: for each value what it is made of, shown without secrets, and
//! what is missing. The program is looked up, never started.

mod preview;
mod program;
mod secrets;

pub use preview::{Preview, preview, unresolved};
pub use program::{Program, find as find_program};
pub use secrets::clear_secret;
