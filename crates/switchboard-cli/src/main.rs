//! The command line of Switchboard. Parses, runs one command, gives its exit code.

mod args;
mod commands;
mod error;
mod printer;
mod report;
mod table;
mod terminal;
mod thinking;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Answers a shell's request for completions, and only then ends the program.
    clap_complete::CompleteEnv::with_factory(args::command).complete();
    commands::run()
}
