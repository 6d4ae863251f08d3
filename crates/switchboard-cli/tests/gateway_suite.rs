//! The official suite for servers, through `switchboard serve` and beside it without: what passes directly passes through,
//! over HTTP and over standard input and output.
//!
//! In: the suite and Node, which `peers/install` provides, and `peers/fixture.mjs`, a server that offers everything. Each
//! column has a fixture of its own. `peers/suite.mjs` is stricter than the suite: a warning is a failure, and a scenario
//! in which nothing was checked does not pass. The suite speaks only HTTP; `peers/bridge.mjs` takes it to a pipe.
//!
//! Out: the tables in `docs/gateway.md`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::process::Command;

use serde_json::{Value, json};
use testkit::{Listening, SaidOn, Sandbox};

fn node(sandbox: &Sandbox, script: &str) -> Command {
    let mut command = sandbox.command(testkit::peers().join("node"));
    command.arg(testkit::workspace().join("peers").join(script)).env("SWITCHBOARD_PEERS", testkit::peers());
    command
}

/// A world with the fixture as its only server.
fn world(entry: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"fixture": entry}}).to_string());
    sandbox
}

const SERVE: [&str; 4] = ["serve", "--raw-names", "--only", "fixture"];

/// The gateway over HTTP, before a fixture over HTTP.
fn over_http(fixture: &Listening) -> (Sandbox, Listening) {
    let sandbox = world(&json!({"url": fixture.url()}));
    let mut serve = sandbox.command(env!("CARGO_BIN_EXE_switchboard"));
    serve.args(SERVE).args(["--http", "127.0.0.1:0"]);
    let gateway = Listening::start(serve, SaidOn::Error);
    (sandbox, gateway)
}

/// The gateway on a pipe, before a fixture on a pipe, with a bridge before both.
fn over_stdio() -> (Sandbox, Listening) {
    let fixture = testkit::workspace().join("peers/fixture.mjs");
    let sandbox = world(&json!({"command": testkit::peers().join("node"), "args": [fixture, "--stdio"]}));
    let mut bridge = node(&sandbox, "bridge.mjs");
    bridge.args(["--", env!("CARGO_BIN_EXE_switchboard")]).args(SERVE);
    let gateway = Listening::start(bridge, SaidOn::Output);
    (sandbox, gateway)
}

/// Runs the scenarios of a revision on all sides; so many of them have to count, and so many not.
fn passes_through(revision: &str, (n_scored, n_others): (usize, usize)) {
    let (alone, behind) = (Listening::fixture(&[]), Listening::fixture(&[]));
    let (sandbox, http) = over_http(&behind);
    let (_home, stdio) = over_stdio();
    let results = sandbox.path("results.json");
    let output = node(&sandbox, "suite.mjs")
        .args(["--revision", revision, "--json", results.to_str().unwrap()])
        .args([format!("direct={}", alone.url()), format!("http={}", http.url())])
        .arg(format!("stdio={}", stdio.url()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    let results: Value = serde_json::from_str(&std::fs::read_to_string(results).unwrap()).unwrap();
    let rows = results["rows"].as_array().unwrap();
    let (scored, others): (Vec<&Value>, Vec<&Value>) = rows.iter().partition(|row| row["isScored"] == true);
    assert_eq!((scored.len(), others.len()), (n_scored, n_others), "{told}");
    for row in &scored {
        assert!((0..3).all(|side| has_passed(row, side)), "{row}");
    }
    let table = table(revision, &[("scored", scored), ("others", others)]);
    let page = testkit::workspace().join("docs/gateway.md");
    testkit::golden_part(&page, &format!("suite {revision}"), &table);
}

fn has_passed(row: &Value, side: usize) -> bool {
    let result = &row["results"][side];
    result["bad"] == json!([]) && result["good"].as_u64() > Some(0)
}

/// How many scenarios passed on each side.
fn table(revision: &str, groups: &[(&str, Vec<&Value>)]) -> String {
    let mut table = format!("| {revision} | direct | through, HTTP | through, stdio |\n|---|---|---|---|\n");
    for (name, rows) in groups.iter().filter(|(_, rows)| !rows.is_empty()) {
        let passed = |side: usize| rows.iter().filter(|row| has_passed(row, side)).count();
        let of = rows.len();
        let [direct, http, stdio] = [0, 1, 2].map(passed);
        table += &format!("| {name} | {direct} of {of} | {http} of {of} | {stdio} of {of} |\n");
    }
    table
}

#[test]
fn of_2025_06_18() {
    passes_through("2025-06-18", (27, 0));
}

#[test]
fn of_2025_11_25() {
    passes_through("2025-11-25", (30, 3));
}

#[test]
fn of_2026_07_28() {
    passes_through("2026-07-28", (37, 16));
}
