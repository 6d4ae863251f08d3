//! The command line as its users meet it: exit code, standard output, standard error.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod about;
mod add;
mod builtin;
mod chat;
mod completions;
mod consent;
mod conversation;
mod doctor;
mod eight_tools;
mod errors;
mod examine;
mod hostile;
mod import;
mod install;
mod interactive;
mod interrupt;
mod inventory;
mod late;
mod list;
mod login;
mod logins;
mod neighbours;
mod online;
mod reference;
mod remedies;
mod remove;
mod screen;
mod seat;
#[cfg(unix)]
mod serve;
mod shapes;
mod status;
mod switch;
mod telemetry;
mod terminal;
mod trust;
mod tui;
mod why;

use std::process::{Command, Stdio};

use testkit::Sandbox;

/// The program, in a sealed world.
pub(crate) fn switchboard(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_switchboard"));
    command.stdin(Stdio::null());
    command
}

/// Runs a command line and gives all there is to see of it.
pub(crate) fn run(sandbox: &Sandbox, line: &[&str]) -> String {
    let output = switchboard(sandbox).args(line).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let code = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    sandbox.filter(&format!("$ switchboard {}\n{out}--- stderr\n{err}--- exit {code}\n", line.join(" ")))
}

/// The commands that the help names.
pub(crate) fn verbs(help: &str) -> Vec<&str> {
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What is long goes on in a line that begins further in.
    let named = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    named.filter(|verb| !verb.is_empty() && *verb != "help").collect()
}

/// Runs several command lines, one after the other.
pub(crate) fn session(sandbox: &Sandbox, lines: &[&[&str]]) -> String {
    lines.iter().map(|line| run(sandbox, line)).collect::<Vec<_>>().join("\n")
}

/// Standard output as JSON.
pub(crate) fn json(sandbox: &Sandbox, line: &[&str]) -> serde_json::Value {
    let output = switchboard(sandbox).args(line).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A world with a few servers in a few tools.
pub(crate) fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "~/.switchboard/mcp.json",
        "{\n  // mine\n  \"mcpServers\": {\n    \"files\": { \"command\": \"sh\", \"args\": [\"-c\", \"true\"] },\n    \"remote\": { \"url\": \"https://mcp.example.com/mcp?key=hunter2\", \"headers\": { \"Authorization\": \"Bearer hunter2\" } }\n  }\n}\n",
    );
    sandbox.write(
        "~/.cursor/mcp.json",
        "{\n  \"mcpServers\": {\n    \"files\": { \"command\": \"cursor-files\" },\n    \"search\": { \"command\": \"npx\", \"args\": [\"-y\", \"search\", \"--api-key\", \"hunter2\"], \"env\": { \"KEY\": \"${env:SEARCH_KEY}\" } },\n    \"off\": { \"command\": \"x\", \"disabled\": true }\n  }\n}\n",
    );
    sandbox.write(".mcp.json", "{\n  \"mcpServers\": {\n    \"broken\": { \"command\": \"x\", \"url\": \"https://y\" },\n    \"odd\": null\n  }\n}\n");
    sandbox.write("~/.codex/config.toml", "[mcp_servers.torn\n");
    sandbox
}
