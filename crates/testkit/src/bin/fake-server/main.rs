//! A server of the Model Context Protocol that does what a script says: `fake-server SCRIPT.json`.
//! Without a script's word it behaves well. Every byte is written by hand, so that it can misbehave exactly.

#![allow(clippy::exit, reason = "to leave at any point is one of its vices")]
#![allow(clippy::disallowed_methods, reason = "it is a program of its own, with an environment of its own")]

mod action;
mod answers;
mod call;
mod http;
mod keys;
mod lists;
mod play;
mod process;
mod script;
mod server;
mod stdio;
mod tools;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use script::{Script, Transport};
use server::Server;

/// Says why the script is refused; a typo must never pass silently.
fn refuse(why: &str) -> ExitCode {
    drop(writeln!(io::stderr(), "fake-server: {why}"));
    ExitCode::from(64)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [mode @ ("--stubborn" | "--tree" | "--daemon"), port] => process::hidden(mode, port),
        [path] => match Script::load(path) {
            Ok(script) => run(script),
            Err(why) => refuse(&format!("{path}: {why}")),
        },
        _ => refuse("usage: fake-server SCRIPT.json"),
    }
}

fn run(script: Script) -> ExitCode {
    // One thread, so that to stop that thread is to stop everything.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&format!("no runtime: {error}")),
    };
    let done: io::Result<()> = runtime.block_on(async {
        let server = Arc::new(Server::new(script)?);
        if server.script.ignore_term {
            process::ignore_termination()?;
        }
        match server.script.transport {
            Transport::Stdio => stdio::serve(server).await,
            Transport::Http | Transport::Sse => http::serve(server).await,
        }
    });
    match done {
        // Not a return: the thread that reads the standard input would keep the process alive.
        Ok(()) => std::process::exit(0),
        Err(error) => {
            drop(writeln!(io::stderr(), "fake-server: {error}"));
            std::process::exit(1)
        }
    }
}
