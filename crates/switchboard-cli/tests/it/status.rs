//! `status`.

use std::path::Path;

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Sandbox, fake_server};

use crate::{run, session, world};

/// A server that starts only where this file is.
fn moody(flag: &Path, script: &FakeScript) -> Value {
    let starts = format!("test -f {} || {{ echo no disk >&2; exit 1; }}; exec \"$0\" \"$1\"", flag.display());
    json!({"command": "sh", "args": ["-c", starts, fake_server(), script.path()]})
}

#[test]
fn tells_whether_each_could_start() {
    let sandbox = world();
    sandbox.write(
        ".switchboard/settings.json",
        r#"{"defaults": false, "mcp_servers": {"login": {"url": "https://a.dev/mcp", "auth": {"type": "oauth"}},
            "token": {"url": "https://b.dev/mcp", "auth": {"type": "bearer", "tokenEnv": "NO_TOKEN"}},
            "gone": {"command": "no-such-program"}, "away": {"command": "./no/such/path"},
            "needs": {"command": "sh", "args": ["${UNSET}", "${ALSO_UNSET}"]}}}"#,
    );
    insta::assert_snapshot!(session(
        &sandbox,
        &[&["status", "--trust"], &["status"], &["status", "files", "--json"], &["status", "nope"]]
    ));
    let json = run(&sandbox, &["status", "gone", "--trust", "--json"]);
    assert!(json.contains("\"status\": \"no-such-program not found\""), "{json}");
}

#[test]
fn tells_what_was_seen_last_time_and_connects_to_nobody() {
    let sandbox = Sandbox::new();
    let script = Fake::script(json!({}));
    let entry = json!({"command": fake_server(), "args": [script.path()]});
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"fake": entry}}).to_string());
    assert!(!run(&sandbox, &["status", "fake"]).contains("seen"));
    run(&sandbox, &["tools"]);
    let asked = script.log().len();
    let seen = run(&sandbox, &["status", "fake"]);
    assert!(seen.contains("ready   7 tools, seen just now"), "{seen}");
    assert_eq!(script.log().len(), asked);
    let seen = run(&sandbox, &["status"]);
    assert!(seen.contains("thinking  ready      1 tool, seen just now"), "{seen}");
}

#[test]
fn an_empty_machine_is_told_how_to_begin() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let seen = run(&sandbox, &["status"]);
    assert!(seen.contains("switchboard add NAME"), "{seen}");
}

#[test]
fn tells_who_did_not_work_when_last_tried_until_it_works() {
    let sandbox = Sandbox::new();
    let login = Fake::http(json!({"on": {"*": [{"status": 401, "body": "who?"}]}}));
    let flag = sandbox.write("~/works", "");
    let script = Fake::script(json!({}));
    let servers = json!({"locked": {"url": login.url()}, "moody": moody(&flag, &script)});
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": servers}).to_string());
    std::fs::remove_file(&flag).unwrap();
    assert!(run(&sandbox, &["status", "moody"]).contains("moody  ready"));
    run(&sandbox, &["tools"]);
    let seen = run(&sandbox, &["status", "moody", "locked"]);
    assert!(seen.contains("moody   failed"), "{seen}");
    assert!(seen.contains("it asked for a login just now: switchboard reauth locked"), "{seen}");
    assert!(seen.contains("2 servers: 1 failed, 1 needs login"), "{seen}");
    sandbox.write("~/works", "");
    run(&sandbox, &["tools", "moody"]);
    let seen = run(&sandbox, &["status", "moody"]);
    assert!(seen.contains("moody  ready   7 tools, seen just now"), "{seen}");
}

#[test]
fn tells_what_a_test_found() {
    let sandbox = Sandbox::new();
    let (flag, script) = (sandbox.path("~/works"), Fake::script(json!({})));
    let servers = json!({"moody": moody(&flag, &script)});
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": servers}).to_string());
    let status = || run(&sandbox, &["status", "moody"]);
    run(&sandbox, &["tools"]);
    assert!(status().contains("moody  failed"), "{}", status());
    sandbox.write("~/works", "");
    run(&sandbox, &["test", "moody"]);
    assert!(status().contains("moody  ready"), "{}", status());
    std::fs::remove_file(&flag).unwrap();
    run(&sandbox, &["test", "moody"]);
    assert!(status().contains("moody  failed"), "{}", status());
}

#[test]
fn tells_what_is_missing_of_one_that_did_not_work_as_well() {
    let sandbox = Sandbox::new();
    let login = Fake::http(json!({"on": {"*": [{"status": 401, "body": "who?"}]}}));
    let servers = json!({
        "locked": {"url": login.url(), "headers": {"X-Key": "${UNSET}"}},
        "moody": {"command": "sh", "args": ["-c", "exit 1"], "env": {"KEY": "${UNSET}"}},
    });
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": servers}).to_string());
    run(&sandbox, &["tools"]);
    let seen = run(&sandbox, &["status", "moody"]);
    let what = "; `env.KEY` needs the variable UNSET, which is not set";
    assert!(seen.contains("moody  failed") && seen.contains(what), "{seen}");
    let seen = run(&sandbox, &["status", "locked"]);
    let what = "switchboard reauth locked; `headers.X-Key` needs the variable UNSET, which is not set";
    assert!(seen.contains(what), "{seen}");
}
