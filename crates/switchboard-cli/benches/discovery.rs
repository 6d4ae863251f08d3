//! How fast servers are found, as ratios of two things measured side by side in one run: `cargo bench`.
//!
//! Nothing is asserted: a shared machine is no judge. The goals stand beside the figures.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark reports")]

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use switchboard::{Options, discover};
use testkit::Sandbox;

fn main() {
    commands();
    big_file();
}

/// `list` of 20 files and 200 servers against `--version`.
fn commands() {
    let sandbox = Sandbox::new();
    let places = [
        "~/.switchboard/mcp.json",
        ".switchboard/mcp.json",
        ".omp/mcp.json",
        "~/.omp/agent/mcp.json",
        ".xcsh/mcp.json",
        ".pisces/mcp.json",
        ".claude/mcp.json",
        "~/.claude.json",
        ".gemini/settings.json",
        "~/.gemini/settings.json",
        ".cursor/mcp.json",
        "~/.cursor/mcp.json",
        "~/.codeium/windsurf/mcp_config.json",
        "~/.copilot/mcp-config.json",
        ".roo/mcp.json",
        ".kiro/settings/mcp.json",
        "~/.kiro/settings/mcp.json",
        ".vscode/mcp.json",
        "mcp.json",
        ".mcp.json",
    ];
    for (file, place) in places.iter().enumerate() {
        let servers: Vec<_> = (0..10).map(|n| server(file * 10 + n)).collect();
        sandbox.write(place, format!("{{\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", servers.join(",\n")));
    }
    let run = |args: &[&str]| {
        let mut command: Command = sandbox.command(env!("CARGO_BIN_EXE_switchboard"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        assert!(command.status().unwrap().success());
        started.elapsed()
    };
    let (version, list) = side_by_side(200, || run(&["--version"]), || run(&["list"]));
    report("list of 20 files, 200 servers", list, "--version", version, 3.0);
    let (version, json) = side_by_side(200, || run(&["--version"]), || run(&["list", "--json"]));
    report("list --json of the same", json, "--version", version, 3.0);
}

/// A file of 10,000 servers, found and decided, against reading its bytes into a `serde_json::Value`.
fn big_file() {
    let sandbox = Sandbox::new();
    let servers: Vec<_> = (0..10_000).map(server).collect();
    let text = format!("{{\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", servers.join(",\n"));
    sandbox.write("~/.switchboard/mcp.json", &text);
    let unset = sandbox.env();
    let set = (0..10_000).fold(unset.clone(), |env, n| env.with_var(&format!("KEY_{n}"), "x"));
    for (what, env) in [
        ("10,000 servers found and decided", &set),
        ("the same with 10,000 unset variables, a problem each", &unset),
    ] {
        let parse = || {
            let started = Instant::now();
            drop(black_box(serde_json::from_str::<serde_json::Value>(black_box(&text)).unwrap()));
            started.elapsed()
        };
        let whole = || {
            let started = Instant::now();
            assert!(black_box(discover(env, Options::default())).servers.len() >= 10_000);
            started.elapsed()
        };
        let (value, found) = side_by_side(30, parse, whole);
        report(what, found, "serde_json::Value of the same bytes", value, 4.0);
    }
}

fn server(n: usize) -> String {
    format!(
        "    \"server-{n}\": {{\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"@example/server-{n}\", \"--port\", \"{n}\"],\n      \"env\": {{ \"API_KEY\": \"${{KEY_{n}}}\" }}\n    }}"
    )
}

/// Runs both in turn and gives the median of each.
fn side_by_side(
    rounds: usize,
    mut one: impl FnMut() -> Duration,
    mut other: impl FnMut() -> Duration,
) -> (Duration, Duration) {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ones.push(one());
        others.push(other());
    }
    ones.sort();
    others.sort();
    (ones[rounds / 2], others[rounds / 2])
}

fn report(what: &str, time: Duration, against: &str, base: Duration, goal: f64) {
    let ratio = time.as_secs_f64() / base.as_secs_f64();
    println!("{what}: {time:.2?}, {against}: {base:.2?}, ratio {ratio:.2} (goal at most {goal})");
}
