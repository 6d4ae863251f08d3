//! The guard of one server, as a program of its own: it is loaded with every server, so it has to be small.
//!
//! Its arguments are those of [`switchboard::wire::guard`]. It may be of another version than the `switchboard` that
//! starts it, while one is replaced after the other, so they stay as they are.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchboard::wire::guard::run(std::env::args_os().skip(1))
}
