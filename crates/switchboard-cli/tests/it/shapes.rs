//! What `--json` promises: fields may be added, none may be missing or renamed.

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Sandbox, fake_server};

use crate::{json as report, switchboard};

fn world() -> (Sandbox, FakeScript) {
    let sandbox = Sandbox::new();
    let script = Fake::script(json!({
        "tools": [{"name": "t", "title": "T", "description": "d", "inputSchema": {"type": "object"},
            "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}],
        "on": {"tools/call": [{"result": {"content": [], "structuredContent": {}, "_meta": {"a": 1}}}]},
        "resources": [{"uri": "note:one", "name": "one", "text": "x"}],
        "templates": [{"uriTemplate": "day:{day}", "name": "day"}],
        "prompts": [{"name": "greet", "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}],
    }));
    let fake = json!({"command": fake_server(), "args": [script.path()], "env": {"A": "${HOME}"}, "description": "d"});
    let servers = json!({"fake": fake, "gone": {"command": "no-such-program"}, "web": {"url": "https://x.dev", "enabled": false}});
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": servers}).to_string());
    sandbox.write(
        "~/.cursor/mcp.json",
        json!({"mcpServers": {"fake": {"command": "x"}, "new": {"command": "y"}}}).to_string(),
    );
    (sandbox, script)
}

/// Whether the value has these fields, and those of what is in them.
fn check(value: &Value, path: &str, fields: &[&str]) {
    let Value::Object(object) = value else { panic!("{path} is no object: {value}") };
    for field in fields {
        assert!(object.contains_key(*field), "{path} lacks {field}: {value}");
    }
}

/// The first of a list for which something holds.
fn first(value: &Value, is_meant: impl Fn(&Value) -> bool) -> &Value {
    value.as_array().unwrap().iter().find(|item| is_meant(item)).unwrap()
}

const SERVER: &[&str] = &["name", "state", "transport", "provider", "scope", "path", "line"];
const PROBLEM: &[&str] = &["code", "message"];
const ERROR: &[&str] = &["server", "code", "message", "hint", "retryable"];

#[test]
fn what_never_connects() {
    let (sandbox, _script) = world();
    let list = report(&sandbox, &["list", "--all", "--json"]);
    check(&list, "list", &["servers", "problems"]);
    let of = |name: &str, state: &str| {
        first(&list["servers"], |row| row["name"] == name && row["state"] == state).clone()
    };
    check(&of("fake", "enabled"), "fake", &[SERVER, &["command", "args", "description"]].concat());
    check(&of("fake", "shadowed"), "shadowed", &[SERVER, &["shadowedBy"]].concat());
    check(&of("web", "disabled"), "web", &[SERVER, &["url"]].concat());
    check(&list["problems"][0], "problem", PROBLEM);
    let why = report(&sandbox, &["why", "fake", "--json"]);
    check(&why, "why", &["name", "winner", "shadowed", "values", "consent", "problems"]);
    check(&why["values"][0], "value", &["field", "from", "resolved"]);
    check(&why["consent"], "consent", &["state", "definitionHash"]);
    let status = report(&sandbox, &["status", "--json"]);
    let seen: Vec<_> = status["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str(), row["status"].as_str()))
        .collect();
    assert!(seen.contains(&(Some("gone"), Some("no-such-program not found"))), "{seen:?}");
    assert!(seen.contains(&(Some("new"), Some("untrusted"))), "{seen:?}");
}

#[test]
fn what_connects() {
    let (sandbox, _script) = world();
    let tools = report(&sandbox, &["tools", "--json"]);
    check(&tools, "tools", &["tools", "errors", "problems"]);
    let fields = [
        "name",
        "server",
        "tool",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "state",
    ];
    check(first(&tools["tools"], |tool| tool["server"] == "fake"), "tool", &fields);
    check(&tools["errors"][0], "error", ERROR);
    check(&tools["problems"][0], "problem", &[PROBLEM, &["hint", "server"]].concat());
    let resources = report(&sandbox, &["resources", "--json"]);
    check(&resources, "resources", &["resources", "templates", "errors"]);
    check(&resources["resources"][0], "resource", &["server", "uri", "name"]);
    check(&resources["templates"][0], "template", &["server", "uriTemplate", "name"]);
    let prompts = report(&sandbox, &["prompts", "--json"]);
    check(&prompts, "prompts", &["prompts", "errors"]);
    check(&prompts["prompts"][0], "prompt", &["server", "name"]);
    let call = report(&sandbox, &["call", "fake/t", "--json"]);
    let fields =
        ["name", "server", "tool", "isError", "content", "structuredContent", "text", "meta", "elapsedMs"];
    check(&call, "call", &fields);
    check(&report(&sandbox, &["read", "note:one", "--json"]), "read", &["server", "contents"]);
    check(&report(&sandbox, &["prompt", "greet", "--json"]), "prompt", &["server", "messages"]);
    let test = [
        "name",
        "ok",
        "era",
        "protocolVersion",
        "serverInfo",
        "capabilities",
        "counts",
        "connectMs",
        "listMs",
        "stderrTail",
    ];
    let good = report(&sandbox, &["test", "fake", "--json"]);
    check(&good, "test", &test);
    check(&good["counts"], "counts", &["tools", "resources", "prompts"]);
    let bad = report(&sandbox, &["test", "gone", "--json"]);
    check(&bad, "test", &test);
    check(&bad["error"], "error", ERROR);
}

#[test]
fn an_error_is_one_object() {
    let (sandbox, _script) = world();
    for line in [
        &["call", "new/x"][..],
        &["test", "web"],
        &["tools", "nowhere"],
        &["read", "x:y", "--server", "gone"],
    ] {
        let output = switchboard(&sandbox).args(line).arg("--json").output().unwrap();
        let error: Value = serde_json::from_slice(&output.stderr).unwrap();
        check(&error["error"], "error", &["code", "message", "hint", "server"]);
    }
}
