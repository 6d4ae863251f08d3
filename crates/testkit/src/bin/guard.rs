//! The guard of a server, for tests of the library, which has no program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchboard::wire::guard::run(std::env::args_os().skip(1))
}
