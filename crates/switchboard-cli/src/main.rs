//! The command line of Switchboard. Parses, runs one command, gives its exit code.

mod age;
mod args;
mod ask;
mod commands;
mod complete;
mod control;
mod error;
mod printer;
mod progress;
mod report;
mod shell;
#[cfg(unix)]
mod socket;
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
    keep_memory_private();
    // Answers a shell's request for completions, and only then ends the program.
    clap_complete::CompleteEnv::with_factory(args::command)
        .var(complete::VARIABLE)
        .shells(complete::SHELLS)
        .complete();
    commands::run()
}

/// A crash leaves no image of the memory behind, which holds the keys of others; nor does anybody of the same user get to
/// look at it. What is started from here is not affected.
fn keep_memory_private() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Where it cannot be had, everything else still holds.
        let _not_there = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
