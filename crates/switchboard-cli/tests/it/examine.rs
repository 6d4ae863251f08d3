//! `test`: what a person sees of one connection.

use serde_json::{Value, json};
use testkit::{Fake, Sandbox, fake_server};

use crate::{json as report_of, run, switchboard};

/// Without the figures that differ from run to run.
fn steady(text: &str) -> String {
    let mut steady = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let shown: Vec<&str> = words
            .iter()
            .enumerate()
            .filter(|(index, word)| {
                !(word.is_empty() && words.get(index + 1).is_some_and(|next| next.is_empty()))
            })
            .map(|(index, word)| {
                let is_time = words.get(index + 1).is_some_and(|next| next.starts_with("ms"));
                if is_time { "N" } else { word }
            })
            .collect();
        let line = shown.join(" ");
        // Whether a server is slow today is not for this test.
        if !line.contains("no answer yet") {
            steady.push_str(line.trim_end());
            steady.push('\n');
        }
    }
    steady
}

fn with_server(script: Value) -> (Sandbox, testkit::FakeScript) {
    let sandbox = Sandbox::new();
    let script = Fake::script(script);
    let entry = json!({"mcpServers": {"fake": {"command": fake_server(), "args": [script.path()]}}});
    sandbox.write("~/.switchboard/mcp.json", entry.to_string());
    (sandbox, script)
}

#[test]
fn a_server_that_works() {
    let (sandbox, _script) = with_server(json!({"resources": [{"uri": "a:b", "name": "b", "text": "x"}]}));
    insta::assert_snapshot!(steady(&run(&sandbox, &["test", "fake"])));
}

#[test]
fn the_built_in_server_works_on_a_fresh_machine() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(steady(&run(&sandbox, &["test", "thinking"])));
}

#[test]
fn a_report_for_machines() {
    let (sandbox, _script) = with_server(json!({"era": "modern"}));
    let output = switchboard(&sandbox).args(["test", "fake", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"], true);
    assert_eq!(report["era"], "modern");
    assert_eq!(report["protocolVersion"], "2026-07-28");
    assert!(report["counts"]["tools"].as_u64().unwrap() > 3);
    assert!(report["connectMs"].is_u64() && report["listMs"].is_u64());
    assert_eq!(report["stderrTail"], "");
    assert!(report.get("error").is_none());
}

#[test]
fn a_server_that_ends_says_its_last_words() {
    let (sandbox, _script) = with_server(
        json!({"start": [{"stderr": "cannot find the database\n"}, {"exit": 3}], "era": "legacy"}),
    );
    insta::assert_snapshot!(steady(&run(&sandbox, &["test", "fake"])));
    let output = switchboard(&sandbox).args(["test", "fake", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["ok"], &report["error"]["code"]), (&json!(false), &json!("server-exited")));
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["error"]["server"], "fake");
}

#[test]
fn a_missing_secret_is_named_as_the_likely_cause() {
    let fake = Fake::http(
        json!({"on": {"*": [{"status": 401, "headers": {"WWW-Authenticate": "Bearer"}, "body": "no"}]}}),
    );
    let sandbox = Sandbox::new();
    let entry = json!({"mcpServers": {"locked": {"url": fake.url(), "headers": {"X-Key": "!false", "X-Other": "${NOT_SET}"}}}});
    sandbox.write("~/.switchboard/mcp.json", entry.to_string());
    let seen = run(&sandbox, &["test", "locked"]);
    assert!(seen.contains("exit 3"), "{seen}");
    assert!(seen.contains("likely because"), "{seen}");
    assert!(seen.contains("headers.X-Key"), "{seen}");
}

#[test]
fn a_header_is_not_blamed_for_an_address_nobody_knows() {
    let sandbox = Sandbox::new();
    let lost = json!({"url": "http://no-such-host.invalid/mcp", "headers": {"X-Key": "!false"}});
    let unset = json!({"url": "http://${NO_SUCH_HOST}.invalid/mcp", "headers": {"X-Key": "!false"}});
    let servers = json!({"lost": lost, "unset": unset});
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": servers}).to_string());
    for command in ["test", "tools"] {
        let seen = run(&sandbox, &[command, "lost"]);
        assert!(seen.contains("exit 4") && !seen.contains("likely because"), "{seen}");
        let seen = run(&sandbox, &[command, "unset"]);
        assert!(!seen.contains("likely because `headers"), "{seen}");
    }
}

#[test]
fn what_may_not_be_connected_to_is_not() {
    let (sandbox, _own) = with_server(json!({}));
    let script = Fake::script(json!({}));
    sandbox.write(
        ".mcp.json",
        json!({"mcpServers": {"project": {"command": fake_server(), "args": [script.path()]}}}).to_string(),
    );
    sandbox
        .write("~/.switchboard/.mcp.json", r#"{"mcpServers": {"off": {"command": "x", "enabled": false}}}"#);
    let codes = [("project", "exit 7"), ("off", "exit 2"), ("nowhere", "exit 2")];
    for (name, code) in codes {
        let seen = run(&sandbox, &["test", name]);
        assert!(seen.contains(code), "{seen}");
    }
    assert!(script.log().is_empty(), "nothing may have been started");
}

#[test]
fn a_command_or_an_address_needs_no_configuration() {
    let sandbox = Sandbox::new();
    let script = Fake::script(json!({}));
    let (program, path) = (fake_server(), script.path());
    let line = ["test", "--env", "FAKE_X=1", "--", program.to_str().unwrap(), path.to_str().unwrap()];
    assert!(run(&sandbox, &line).contains("--- exit 0"));
    let fake = Fake::http(json!({"transport": "sse"}));
    let seen = run(&sandbox, &["test", "--url", fake.url()]);
    assert!(seen.contains("over sse") && seen.contains("--- exit 0"), "{seen}");
    let seen = run(&sandbox, &["test", "--url", "ftp://x"]);
    assert!(seen.contains("--- exit 2"), "{seen}");
    let seen = run(&sandbox, &["test", "--", "no-such-program-anywhere"]);
    assert!(seen.contains("is not found") && seen.contains("--- exit 4"), "{seen}");
    // A report is made also of what could not be tried.
    let report = report_of(&sandbox, &["test", "--json", "--", "no-such-program-anywhere"]);
    assert_eq!((&report["ok"], &report["error"]["code"]), (&json!(false), &json!("command-not-found")));
}

#[test]
fn the_trace_has_the_traffic_and_not_the_secrets() {
    let fake =
        Fake::http(json!({"era": "both", "serverInfo": {"name": "echoes s3cr3t-value-1", "version": "1"}}));
    let sandbox = Sandbox::new();
    let entry =
        json!({"mcpServers": {"traced": {"url": fake.url(), "headers": {"X-Key": "s3cr3t-value-1"}}}});
    sandbox.write("~/.switchboard/mcp.json", entry.to_string());
    let seen = run(&sandbox, &["test", "traced", "--trace", "traffic.jsonl"]);
    assert!(seen.contains("--- exit 0"), "{seen}");
    let trace = sandbox.read("traffic.jsonl");
    assert!(trace.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    assert!(trace.contains("tools/list") && trace.contains("server/discover"), "{trace}");
    assert!(!trace.contains("s3cr3t") && !seen.contains("s3cr3t"), "{trace}{seen}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(sandbox.project().join("traffic.jsonl")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_machine_without_certificates_can_still_speak_http() {
    let fake = Fake::http(json!({}));
    let sandbox = Sandbox::new();
    let mut command = switchboard(&sandbox);
    command.env("SSL_CERT_FILE", "/nowhere").env("SSL_CERT_DIR", "/nowhere");
    let output = command.args(["test", "--url", fake.url(), "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"], true, "{report}");
}
