//! What the values of a server become: variables, folders, files, commands, program.
//!
//! In: a checked server and the environment. Out, for people: what each value is made of, without secrets; nothing is
//! run for that. Out, for one attempt to connect: a [`Launch`] with every value filled in. A value that cannot be
//! filled in is a problem, never silence. The server itself is neither started nor dialled, and nothing is written.

mod account;
mod address;
mod commands;
mod env_file;
mod error;
mod glimpse;
mod identity;
mod launch;
mod preview;
mod program;
mod run;
mod secrets;
mod surroundings;
mod values;

#[cfg(test)]
mod tests;

pub use account::{Account, Given, Machine};
pub use address::UrlFault;
pub use commands::Commands;
pub use error::{About, CODES, Error};
pub(crate) use glimpse::glimpse;
pub use identity::Identity;
pub use launch::{Address, Child, Launch, Subject, Target, launch};
pub use preview::{Preview, preview, unresolved};
pub use program::{Program, find as find_program, line_hint};
pub use run::{Failure, Limits};
pub use secrets::clear_secrets;
