//! `doctor`.

use serde_json::{Value, json};
use testkit::{Fake, Sandbox, fake_server};

use crate::{json as as_json, run, session, world};

#[test]
fn names_causes_worst_first() {
    let sandbox = world();
    sandbox.write(".switchboard/mcp.json", "{\"mcpServers\": {\"shared\": {\"command\": \"sh\", \"env\": {\"API_TOKEN\": \"hunter2\", \"DB\": \"postgres://a:hunter2@db/x\"}}}}");
    let text = session(&sandbox, &[&["doctor"], &["doctor", "--json"]]);
    assert!(!text.contains("hunter2"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn is_content_with_an_empty_machine() {
    insta::assert_snapshot!(run(&Sandbox::new(), &["doctor"]));
}

#[test]
fn names_who_did_not_work_when_last_tried_until_it_works() {
    let sandbox = Sandbox::new();
    let (flag, script) = (sandbox.path("~/works"), Fake::script(json!({})));
    let login = Fake::http(json!({"on": {"*": [{"status": 401, "body": "who?"}]}}));
    let starts = format!("test -f {} || exit 1; exec \"$0\" \"$1\"", flag.display());
    let servers = json!({
        "moody": {"command": "sh", "args": ["-c", starts, fake_server(), script.path()]},
        "locked": {"url": login.url()},
    });
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": servers}).to_string());
    let failed = |line: &[&str]| -> Vec<Value> {
        let report = as_json(&sandbox, line);
        let problems = report["problems"].as_array().unwrap().iter();
        problems.filter(|problem| problem["code"] == "server-failed").cloned().collect()
    };
    let doctor = ["doctor", "--json"];
    assert!(failed(&doctor).is_empty());
    run(&sandbox, &["tools"]);
    let seen = run(&sandbox, &["doctor"]);
    assert!(seen.contains("error: `moody` did not work when it was last tried, just now: "), "{seen}");
    assert!(seen.contains("hint: switchboard test moody"), "{seen}");
    assert!(seen.contains("`locked` asked for a login when it was last tried, just now: "), "{seen}");
    assert!(seen.contains("hint: switchboard reauth locked") && seen.contains("--- exit 2"), "{seen}");
    assert_eq!(failed(&doctor).len(), 2);
    // What comes of a new try counts instead.
    sandbox.write("~/works", "");
    let tried = failed(&["doctor", "--json", "--connect"]);
    assert!(tried.len() == 1 && tried[0]["server"] == "locked", "{tried:?}");
    assert_eq!(failed(&doctor).len(), 1);
}
