//! Hours of abuse for the gateway, and a verdict: `soak/run --minutes 60 --seed 1`.
//!
//! The process under test is `switchboard serve --http` as it is shipped, with many servers behind it and clients of both eras
//! in front. Calls come at a steady rate; every five seconds something goes wrong, in an order that the seed decides. What
//! must hold is in `book`, what goes wrong in `plan`. Ends with 0 if everything held, with 1 if not.

#[cfg(target_os = "linux")]
mod book;
#[cfg(target_os = "linux")]
mod cast;
#[cfg(target_os = "linux")]
mod chance;
#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod edits;
#[cfg(target_os = "linux")]
mod fault;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod page;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod verdict;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod world;

use std::io::Write;
use std::process::ExitCode;

/// Says something to whoever started it.
fn say(text: &str) {
    drop(write!(std::io::stdout(), "{text}"));
    drop(std::io::stdout().flush());
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let options = match options::Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(why) => {
            say(&format!("{why}\n{}", options::USAGE));
            return ExitCode::from(64);
        }
    };
    let done = if options.wants_help {
        say(options::USAGE);
        Ok(ExitCode::SUCCESS)
    } else if options.is_page {
        page::write().map(|()| ExitCode::SUCCESS)
    } else if options.is_plan {
        run::show_plan(&options);
        Ok(ExitCode::SUCCESS)
    } else {
        run::run(&options)
    };
    done.unwrap_or_else(|error| {
        say(&format!("soak: {error}\n"));
        ExitCode::from(2)
    })
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    say("soak: it counts processes and files as Linux tells of them, and runs nowhere else\n");
    ExitCode::from(2)
}
