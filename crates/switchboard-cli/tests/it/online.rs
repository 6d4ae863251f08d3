//! The commands that connect: `tools`, `call`, `resources`, `read`, `prompts`, `prompt`.

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Sandbox, fake_server};

use crate::{json, run, session};

/// A home with one scripted server and nothing built in.
fn world(script: Value, conduct: &Value) -> (Sandbox, FakeScript) {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let script = Fake::script(script);
    let mut entry = json!({"command": fake_server(), "args": [script.path()]});
    if let (Value::Object(entry), Value::Object(conduct)) = (&mut entry, conduct) {
        entry.extend(conduct.clone());
    }
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"fake": entry}}).to_string());
    (sandbox, script)
}

fn offers() -> Value {
    json!({
        "tools": [
            {"name": "add", "description": "Adds two numbers\nand more", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}},
            {"name": "bare", "title": "A title", "inputSchema": {"type": "object"}},
            {"name": "odd", "inputSchema": {"type": "string"}}],
        "resources": [{"uri": "note:one", "name": "one", "text": "hello\nworld"}],
        "prompts": [{"name": "greet", "description": "Says hello", "arguments": [{"name": "who", "required": true}],
                     "messages": [{"role": "user", "content": {"type": "text", "text": "Say hello"}}]}],
    })
}

#[test]
fn a_fresh_machine_has_a_tool() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(session(
        &sandbox,
        &[
            &["tools"],
            &["tools", "--cached"],
            &[
                "call",
                "thinking/sequentialthinking",
                "thought=hm",
                "thoughtNumber=1",
                "totalThoughts=1",
                "nextThoughtNeeded=false"
            ]
        ]
    ));
}

#[test]
fn what_a_server_offers() {
    let (sandbox, _script) = world(offers(), &json!({}));
    insta::assert_snapshot!(session(
        &sandbox,
        &[
            &["tools"],
            &["resources"],
            &["prompts"],
            &["read", "note:one"],
            &["prompt", "greet", "who=me"],
            &["prompt", "nobody"],
            &["read", "note:two"]
        ]
    ));
    let tools = json(&sandbox, &["tools", "--json"]);
    assert_eq!(tools["tools"][1]["inputSchema"], json!({"type": "object", "properties": {}}));
    assert_eq!(tools["problems"][0]["code"], "tool-quarantined");
    assert_eq!(tools["tools"][0]["state"], "live");
}

#[test]
fn a_call_and_every_way_it_can_end() {
    let (sandbox, script) = world(json!({}), &json!({"tools": {"deny": ["count"]}}));
    insta::assert_snapshot!(session(
        &sandbox,
        &[
            &["call", "fake/add", "a=2", "b=40"],
            &["call", "mcp_fake_add", "--args", r#"{"a": 1, "b": 1}"#],
            &["call", "add", "a=two"],
            &["call", "fake/count"],
            &["call", "nothing"],
            &["call", "fake/echo", "text=\u{1b}[31mred"],
        ]
    ));
    let report = json(&sandbox, &["call", "fake/add", "a=1", "b=2", "--json"]);
    assert_eq!(report["structuredContent"], json!({"sum": 3.0}));
    assert_eq!(
        (&report["server"], &report["tool"], &report["isError"]),
        (&json!("fake"), &json!("add"), &json!(false))
    );
    assert!(!script.log().iter().any(|line| line["message"]["params"]["name"] == "count"), "denied");
}

#[test]
fn failures_have_their_exit_codes() {
    let cases = [
        (
            json!({"on": {"tools/call": [{"result": {"content": [{"type": "text", "text": "no"}], "isError": true}}]}}),
            5,
        ),
        (json!({"on": {"tools/call": [{"error": {"code": -32000, "message": "no"}}]}}), 5),
        (json!({"on": {"tools/call": [{"exit": 1}]}}), 6),
        (json!({"on": {"tools/call": [{"silent": true}]}}), 6),
        (json!({"start": [{"exit": 1}]}), 4),
    ];
    for (script, code) in cases {
        let (sandbox, _script) = world(script.clone(), &json!({"timeout": 1500}));
        let seen = run(&sandbox, &["call", "fake/echo", "text=x"]);
        assert!(seen.contains(&format!("--- exit {code}")), "{script} {seen}");
    }
    let fake = Fake::http(json!({"on": {"*": [{"status": 401, "body": "who?"}]}}));
    let sandbox = Sandbox::new();
    sandbox
        .write("~/.switchboard/mcp.json", json!({"mcpServers": {"locked": {"url": fake.url()}}}).to_string());
    assert!(run(&sandbox, &["call", "locked/x"]).contains("--- exit 3"));
    assert!(run(&sandbox, &["tools", "locked"]).contains("--- exit 4"));
}

#[test]
fn one_broken_server_costs_only_itself_unless_it_is_required() {
    let (sandbox, _script) = world(json!({}), &json!({}));
    sandbox.write(
        "~/.switchboard/.mcp.json",
        r#"{"mcpServers": {"broken": {"command": "no-such-program-anywhere"}}}"#,
    );
    let seen = run(&sandbox, &["tools"]);
    assert!(seen.contains("mcp_fake_echo") && seen.contains("--- exit 0"), "{seen}");
    assert!(
        seen.contains("Failed to connect to \"broken\": the program `no-such-program-anywhere` is not found"),
        "{seen}"
    );
    let report = json(&sandbox, &["tools", "--json"]);
    assert_eq!(report["errors"][0]["server"], "broken");
    sandbox.write(
        "~/.switchboard/.mcp.json",
        r#"{"mcpServers": {"broken": {"command": "no-such-program-anywhere", "required": true}}}"#,
    );
    assert!(run(&sandbox, &["tools"]).contains("--- exit 4"));
}

#[test]
fn what_was_not_approved_is_not_started_and_is_named() {
    let (sandbox, _script) = world(json!({}), &json!({}));
    let other = Fake::script(json!({}));
    sandbox.write(
        ".mcp.json",
        json!({"mcpServers": {"stranger": {"command": fake_server(), "args": [other.path()]}}}).to_string(),
    );
    let seen = run(&sandbox, &["tools"]);
    assert!(seen.contains("switchboard trust stranger") && seen.contains("--- exit 0"), "{seen}");
    assert!(!seen.contains("mcp_stranger"), "{seen}");
    assert!(run(&sandbox, &["tools", "stranger"]).contains("--- exit 7"));
    assert!(other.log().is_empty());
    assert!(run(&sandbox, &["tools", "--trust"]).contains("mcp_stranger_echo"));
}
