//! Servers that are late, and what is known of them from before.

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Sandbox, fake_server};

use crate::{json, run};

const HANGS: &str = r#"{"start": [{"hang": true}]}"#;

/// A home with a server `good` and a server `hung`, which began to hang when everything it offers was known; it may take
/// so many milliseconds to start.
fn world(limit: u64) -> (Sandbox, [FakeScript; 2]) {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let offers = |name: &str| {
        Fake::script(json!({
            "resources": [{"uri": format!("{name}:one"), "name": "one", "text": format!("text of {name}")}],
            "prompts": [{"name": format!("ask-{name}")}],
        }))
    };
    let scripts = [offers("good"), offers("hung")];
    let entry = |script: &FakeScript| json!({"command": fake_server(), "args": [script.path()]});
    let mut servers = json!({"mcpServers": {"good": entry(&scripts[0]), "hung": entry(&scripts[1])}});
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
    assert!(run(&sandbox, &["resources"]).contains("--- exit 0"));
    std::fs::write(scripts[1].path(), HANGS).unwrap();
    servers["mcpServers"]["hung"]["startupTimeout"] = json!(limit);
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
    (sandbox, scripts)
}

/// So long that it would be noticed.
const FOREVER: u64 = 3_600_000;

#[test]
fn what_is_known_of_a_server_that_hangs_is_shown_and_marked() {
    let (sandbox, _scripts) = world(FOREVER);
    let seen = run(&sandbox, &["tools"]);
    assert!(seen.contains("mcp_good_echo") && seen.contains("mcp_hung_echo"), "{seen}");
    // On a slow machine both may be late.
    let late = seen.lines().find(|line| line.starts_with("Not answered yet, shown as of last time: "));
    assert!(late.is_some_and(|line| line.contains("hung")), "{seen}");
    assert!(seen.contains("--- exit 0"), "{seen}");
    let report = json(&sandbox, &["tools", "--json"]);
    let mut hung = report["tools"].as_array().unwrap().iter().filter(|tool| tool["server"] == "hung");
    assert!(hung.all(|tool| tool["state"] == "cached"), "{report}");
    assert_eq!(report["errors"], json!([]));
}

#[test]
fn who_wants_live_lists_waits_and_is_told() {
    let (sandbox, _scripts) = world(1000);
    let report = json(&sandbox, &["tools", "--wait", "--json"]);
    let errors: Vec<&Value> = report["errors"].as_array().unwrap().iter().collect();
    assert_eq!(errors.len(), 1, "{report}");
    assert_eq!((&errors[0]["server"], &errors[0]["code"]), (&json!("hung"), &json!("timeout")));
    assert_eq!(errors[0]["retryable"], true);
}

#[test]
fn a_server_that_hangs_holds_up_nothing_that_another_one_does() {
    let (sandbox, scripts) = world(FOREVER);
    assert!(run(&sandbox, &["call", "good/echo", "text=hi"]).contains("\nhi\n"));
    assert!(run(&sandbox, &["read", "good:one"]).contains("text of good"));
    assert!(run(&sandbox, &["prompt", "ask-good"]).contains("--- exit 0"));
    assert!(run(&sandbox, &["tools", "good"]).contains("mcp_good_echo"));
    for list in ["resources", "prompts"] {
        let seen = run(&sandbox, &[list]);
        assert!(seen.contains("good") && seen.contains("hung") && seen.contains("--- exit 0"), "{seen}");
    }
    let calls = scripts[0].methods().iter().filter(|method| *method == "tools/call").count();
    assert_eq!(calls, 1);
}

#[test]
fn what_was_never_seen_is_waited_for_as_long_as_it_may() {
    let (sandbox, _scripts) = world(1000);
    std::fs::remove_dir_all(sandbox.path("~/.switchboard/cache")).unwrap();
    let seen = run(&sandbox, &["tools"]);
    assert!(seen.contains("mcp_good_echo") && !seen.contains("mcp_hung_echo"), "{seen}");
    assert!(seen.contains("Failed to connect to \"hung\"") && seen.contains("--- exit 0"), "{seen}");
    assert!(run(&sandbox, &["tools", "hung"]).contains("--- exit 4"), "nobody answered");
}

#[test]
fn a_home_that_cannot_be_written_costs_nothing() {
    let (sandbox, _scripts) = world(FOREVER);
    std::fs::remove_dir_all(sandbox.path("~/.switchboard/cache")).unwrap();
    // Whoever may do anything can still not make a directory where a file is.
    sandbox.write("~/.switchboard/cache", "in the way");
    for _ in 0..2 {
        let seen = run(&sandbox, &["tools", "good"]);
        assert!(seen.contains("mcp_good_echo") && seen.contains("7 tools of 1 server\n--- exit 0"), "{seen}");
    }
}
