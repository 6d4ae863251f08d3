//! `status`.

use serde_json::json;
use testkit::{Fake, Sandbox, fake_server};

use crate::{run, session, world};

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
