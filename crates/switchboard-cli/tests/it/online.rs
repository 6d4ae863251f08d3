//! The commands that connect: `tools`, `call`, `resources`, `read`, `prompts`, `prompt`.

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Sandbox, fake_server};

use crate::{json, run, session, switchboard};

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
fn tools_that_a_rule_leaves_out_are_named() {
    let rules = json!({"tools": {"allow": ["a*", "odd"], "deny": ["odd", "add"]}});
    let (sandbox, _script) = world(offers(), &rules);
    let said = "Left out of fake by `tools.deny`: add, odd; by `tools.allow`: bare\n";
    for line in [&["tools", "fake", "-v"][..], &["tools", "--cached", "-v"]] {
        let seen = run(&sandbox, line);
        assert!(seen.contains(said) && seen.contains("--- exit 0"), "{line:?} {seen}");
    }
    assert!(!run(&sandbox, &["tools", "fake"]).contains("Left out"));
    let by = |tool: &str, by: &str| json!({"server": "fake", "tool": tool, "by": by});
    let left_out = json!([by("add", "tools.deny"), by("bare", "tools.allow"), by("odd", "tools.deny")]);
    assert_eq!(json(&sandbox, &["tools", "--json"])["leftOut"], left_out);
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
fn a_call_by_the_second_name_of_a_connection_says_which_one_counts() {
    let (sandbox, script) = world(json!({}), &json!({}));
    let entry = json!({"command": fake_server(), "args": [script.path()]});
    let servers = json!({"mcpServers": {"fake": entry, "same": entry}});
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
    let seen = run(&sandbox, &["call", "same/add", "a=1", "b=2"]);
    assert!(seen.contains("error: Server \"same\" does not count") && seen.contains("--- exit 2"), "{seen}");
    assert!(seen.contains("hint: switchboard why same\n"), "{seen}");
    assert!(script.log().is_empty(), "nothing was started");
    assert!(run(&sandbox, &["call", "fake/add", "a=1", "b=2"]).contains("--- exit 0"));
}

#[test]
fn arguments_that_would_fail_are_refused_with_what_the_tool_takes() {
    let strict = json!({
        "type": "object", "required": ["city"], "additionalProperties": false,
        "properties": {"city": {"type": "string"}, "unit": {"enum": ["c", "f"]}, "days": {"type": "integer"}}});
    let tools = json!([{"name": "weather", "inputSchema": strict}, {"name": "any", "inputSchema": {"type": "object"}}]);
    let (sandbox, script) = world(json!({"tools": tools}), &json!({}));
    insta::assert_snapshot!(session(
        &sandbox,
        &[
            &["call", "fake/weather"],
            &["call", "fake/weather", "citty=Oslo"],
            &["call", "fake/weather", "city=Oslo", "unit=k"],
            &["call", "fake/weather", "city=Oslo", "city=Bergen"],
            &["call", "fake/weather", "city=Oslo", "days=123456789012345678901"],
            &["call", "fake/weather", "--args", r#"{"city": "Oslo", "where": 1}"#],
            &["call", "fake/weather", "--args", "[1]"],
        ]
    ));
    assert!(!script.methods().iter().any(|method| method == "tools/call"), "nothing was sent");
    // As JSON any number can be given, and is sent as it was written.
    let given = r#"{"id": 123456789012345678901234567890}"#;
    assert!(run(&sandbox, &["call", "fake/any", "--args", given]).contains("--- exit 0"));
}

#[test]
fn an_argument_the_tool_does_not_list_is_named() {
    let input = json!({
        "type": "object", "required": ["timezone"],
        "properties": {"timezone": {"type": "string"}, "format": {"type": "string"}}});
    let (sandbox, script) = world(json!({"tools": [{"name": "now", "inputSchema": input}]}), &json!({}));
    let said = run(&sandbox, &["call", "fake/now", "tz=UTC"]);
    let refused = "error: there is no argument `tz`; did you mean `timezone`? It needs timezone\n";
    assert!(said.contains(refused) && said.contains("--- exit 2"), "{said}");
    assert!(said.contains("hint: it takes timezone=string [format=string]\n"), "{said}");
    assert!(!script.methods().iter().any(|method| method == "tools/call"), "nothing was sent");
    // With nothing missing the server decides; who typed it is told.
    let warning = "warning: the tool does not list an argument `fromat` (did you mean `format`?); it is sent all the \
                   same. It lists: timezone=string [format=string]\n";
    let typed = &["call", "fake/now", "timezone=UTC", "fromat=x"][..];
    for line in [typed, &["call", "fake/now", "--args", r#"{"timezone": "UTC", "fromat": "x"}"#]] {
        let said = run(&sandbox, line);
        assert!(said.contains(warning) && said.contains("--- exit 0"), "{said}");
    }
    assert!(!run(&sandbox, &[typed, &["-q"]].concat()).contains("warning"));
}

#[test]
fn a_result_that_is_not_what_was_promised_is_shown_and_marked() {
    let output = json!({"type": "object", "properties": {"t": {"type": "number"}}, "required": ["t"]});
    let odd = json!({"type": "object", "properties": {"t": {"$ref": "https://example.com/t"}}});
    let input = json!({"type": "object"});
    let tools = json!([
        {"name": "weather", "inputSchema": input, "outputSchema": output},
        {"name": "odd", "inputSchema": input, "outputSchema": odd}]);
    let result = json!({"content": [{"type": "text", "text": "warm"}], "structuredContent": {"t": "warm"}});
    let (sandbox, _script) =
        world(json!({"tools": tools, "on": {"tools/call": [{"result": result}]}}), &json!({}));
    insta::assert_snapshot!(session(
        &sandbox,
        &[
            &["call", "fake/weather"],
            &["-q", "call", "fake/weather"],
            &["call", "fake/odd"],
            &["-v", "call", "fake/odd"]
        ]
    ));
    let report = json(&sandbox, &["call", "fake/weather", "--json"]);
    let message = "the value is not of type \"number\"";
    assert_eq!(report["violations"], json!([{"at": "/t", "message": message}]));
    assert_eq!(report["structuredContent"], json!({"t": "warm"}));
    assert!(report["text"].as_str().unwrap().ends_with(&format!("output schema: /t: {message}]")));
    let report = json(&sandbox, &["call", "fake/odd", "--json"]);
    assert!(report["unchecked"].as_str().unwrap().contains("example.com") && report["violations"].is_null());
}

#[test]
fn what_a_server_sent_stays_as_it_was_written() {
    // Deeper than readers go, and with more digits than they keep.
    let deep = "[".repeat(200) + &"]".repeat(200);
    let raw = format!(r#"{{"type":"odd","id":123456789012345678901234567890,"x":1.10,"deep":{deep}}}"#);
    let answer = |id: u32| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{raw}],"structuredContent":{raw}}}}}"#)
            + "\n"
    };
    let answers: Vec<_> = (1..9).map(|id| json!({"raw": answer(id)})).collect();
    let (sandbox, _script) = world(json!({"on": {"tools/call": answers}}), &json!({}));
    let seen = run(&sandbox, &["call", "fake/echo", "text=x", "--json"]);
    assert!(seen.contains("--- exit 0") && seen.matches(&raw).count() == 2, "{seen}");
    let seen = run(&sandbox, &["call", "fake/echo", "text=x"]);
    assert!(seen.contains("--- exit 0") && seen.contains("123456789012345678901234567890"), "{seen}");
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
fn the_last_words_of_a_server_are_shown() {
    let words = json!({"stderr": "disk full\n"});
    let cases = [
        json!({"start": [words, {"exit": 1}]}),
        json!({"on": {"tools/list": [words, {"exit": 1}]}}),
        json!({"on": {"tools/call": [words, {"exit": 1}]}}),
        json!({"on": {"tools/call": [words, {"silent": true}]}}),
    ];
    for script in cases {
        let (sandbox, _script) = world(script.clone(), &json!({"timeout": 1500}));
        let seen = run(&sandbox, &["call", "fake/echo", "text=x"]);
        assert!(seen.contains("\n  it said: disk full\n"), "{script} {seen}");
        let output = switchboard(&sandbox).args(["call", "fake/echo", "text=x", "--json"]).output().unwrap();
        let error: Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!(error["error"]["lastWords"], "disk full", "{script}");
    }
    let (sandbox, _script) = world(json!({"start": [words, {"exit": 1}]}), &json!({}));
    assert_eq!(json(&sandbox, &["tools", "--json"])["errors"][0]["lastWords"], "disk full");
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

#[test]
fn a_file_that_cannot_be_read_is_named_by_whatever_uses_servers() {
    let (sandbox, _script) = world(json!({}), &json!({}));
    sandbox.write("~/.switchboard/.mcp.json", "{ not json");
    for args in [
        &["tools"][..],
        &["tools", "--cached"],
        &["resources"],
        &["call", "fake/echo", "text=x"],
        &["call", "echo", "--server", "fake", "text=x"],
        &["test", "fake"],
        &["status"],
    ] {
        let seen = run(&sandbox, args);
        assert_eq!(seen.matches("[syntax-error]").count(), 1, "{args:?} {seen}");
        assert!(seen.contains("~/.switchboard/.mcp.json line 1"), "{args:?} {seen}");
    }
    for args in [&["tools", "--json"][..], &["status", "--json"]] {
        assert_eq!(json(&sandbox, args)["problems"][0]["code"], "syntax-error", "{args:?}");
    }
}
