//! The command line of Switchboard. Parses, runs one command, gives its exit code.

mod age;
mod args;
mod ask;
mod commands;
mod complete;
mod error;
mod printer;
mod progress;
mod report;
mod shell;
mod table;
mod telemetry;
mod terminal;
mod thinking;
mod tui;
mod visitor;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A guard has nothing to do with commands: it must be small and start at once.
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|verb| verb == commands::GUARD) {
        return switchboard::wire::guard::run(args);
    }
    // Answers a shell's request for completions, and only then ends the program.
    clap_complete::CompleteEnv::with_factory(args::command)
        .var(complete::VARIABLE)
        .shells(complete::SHELLS)
        .complete();
    commands::run()
}
