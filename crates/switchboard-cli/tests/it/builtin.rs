//! The built-in server `thinking`, as a client starts it.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::Sandbox;

use crate::switchboard;

#[test]
fn thinking_answers_until_its_input_ends() {
    let sandbox = Sandbox::new();
    let mut child = switchboard(&sandbox)
        .args(["builtin", "thinking"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let arguments =
        json!({"thought": "a", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        "noise".to_owned(),
        String::new(),
        json!({"jsonrpc": "2.0", "id": "two", "method": "tools/list"}).to_string(),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "sequentialthinking", "arguments": arguments}}).to_string(),
    ];
    child.stdin.take().unwrap().write_all(format!("{}\n", lines.join("\n")).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1), Value::Null, json!("two"), json!(3)]);
    assert_eq!(answers[3]["result"]["structuredContent"]["thoughtHistoryLength"], 1);
}
