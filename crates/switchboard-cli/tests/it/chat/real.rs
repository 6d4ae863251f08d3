//! A real model, small enough for any machine, that calls a real server. What it says is its own business: the test looks
//! at the protocol.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use testkit::{Sandbox, peers, workspace};

use crate::switchboard;

/// The model, until this value is dropped.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start() -> Self {
        let peers = peers();
        let mut child = Command::new(peers.join("python-model/bin/python"))
            .arg(workspace().join("peers/model.py"))
            .arg(workspace().join("peers/model.jinja"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.find_map(|line| line.unwrap().strip_prefix("ready ").map(str::to_owned)).unwrap();
        Self { child, url }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_real_model_calls_a_real_server() {
    let model = Served::start();
    let sandbox = Sandbox::new().with_var("OPENAI_BASE_URL", &format!("{}/v1", model.url));
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let program = peers().join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let server = json!({"command": peers().join("node"), "args": [program, "stdio"], "prefix": "calc",
        "tools": {"allow": ["get-sum"]}});
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"everything": server}}).to_string());
    let output = switchboard(&sandbox)
        .args([
            "chat",
            "--model",
            "openai/smollm2",
            "--tool-choice",
            "required",
            "--allow",
            "*",
            "--stream-json",
        ])
        .args(["--system", "You are a helpful assistant.", "--max-steps", "3", "-p", "What is 2 + 40?"])
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let result = lines.last().unwrap();
    assert_eq!((&result["type"], output.status.code()), (&json!("result"), Some(0)), "{out}{err}");
    let call = &result["toolCalls"][0];
    assert_eq!(
        (&call["server"], &call["tool"], &call["approved"]),
        (&json!("everything"), &json!("get-sum"), &json!(true)),
        "{out}"
    );
    assert_eq!(call["arguments"], json!({"a": 2, "b": 40}), "{out}");
    assert_eq!(call["isError"], false);
    let told = lines.iter().find(|line| line["type"] == "toolResult").unwrap();
    assert!(told["text"].as_str().unwrap().contains("42"), "{out}");
    assert!(result["usage"]["inputTokens"].as_u64().unwrap() > 0);
    assert!(!result["text"].as_str().unwrap().is_empty(), "{out}");
}
