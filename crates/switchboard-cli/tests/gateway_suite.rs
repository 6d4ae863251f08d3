//! The official suite for servers, through `switchboard serve` and beside it without: what passes directly passes through.
//!
//! In: the suite and Node, which `peers/install` provides, and `peers/fixture.mjs`, a server that offers everything. Each
//! column has a fixture of its own. `peers/suite.mjs` is stricter than the suite: a warning is a failure, and a scenario
//! in which nothing was checked does not pass.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testkit::Sandbox;

/// A process that said where it listens. It ends with the test.
struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    fn start(mut command: Command, is_on_stderr: bool) -> Self {
        command.stdin(Stdio::piped());
        if is_on_stderr {
            command.stderr(Stdio::piped())
        } else {
            command.stdout(Stdio::piped())
        };
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        if is_on_stderr {
            BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        } else {
            BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        }
        let url = line.trim().strip_prefix("listening on ").map(str::to_owned);
        let Some(url) = url else { panic!("instead of its address it said {line:?}") };
        Self { child, url }
    }

    fn fixture() -> Self {
        let mut command = Command::new(testkit::peers().join("node"));
        command.arg(testkit::workspace().join("peers/fixture.mjs"));
        Self::start(command, false)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs the scored scenarios of a revision on both sides; there have to be so many.
fn passes_through(revision: &str, n_scenarios: usize) {
    let (alone, behind) = (Listening::fixture(), Listening::fixture());
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let servers = json!({"mcpServers": {"fixture": {"url": behind.url}}});
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
    let mut serve = sandbox.command(env!("CARGO_BIN_EXE_switchboard"));
    serve.args(["serve", "--http", "127.0.0.1:0", "--raw-names", "--only", "fixture"]);
    let gateway = Listening::start(serve, true);

    let results = sandbox.path("results.json");
    let output = Command::new(testkit::peers().join("node"))
        .arg(testkit::workspace().join("peers/suite.mjs"))
        .args(["--scored", "--revision", revision, "--json", results.to_str().unwrap()])
        .args([format!("direct={}", alone.url), format!("through={}", gateway.url)])
        .env("SWITCHBOARD_PEERS", testkit::peers())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    let results: Value = serde_json::from_str(&std::fs::read_to_string(results).unwrap()).unwrap();
    let rows = results["rows"].as_array().unwrap();
    assert_eq!(rows.len(), n_scenarios, "{told}");
    for row in rows {
        for side in row["results"].as_array().unwrap() {
            assert!(side["bad"] == json!([]) && side["good"].as_u64() > Some(0), "{row}");
        }
    }
}

#[test]
fn of_2025_06_18() {
    passes_through("2025-06-18", 27);
}

#[test]
fn of_2025_11_25() {
    passes_through("2025-11-25", 30);
}

#[test]
fn of_2026_07_28() {
    passes_through("2026-07-28", 37);
}
