//! `serve`, through the program itself, with scripted servers behind it.

mod apart;
mod cached;
mod control;
mod crossing;
mod drain;
mod edge;
mod facets;
mod fuzz;
mod guest;
mod http;
mod legacy;
mod limits;
mod metrics;
mod neighbours;
mod pipe;
mod questions;
mod searched;
mod unread;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};
use testkit::{FakeScript, Mark, PATIENCE, Sandbox, fake_server};

use crate::switchboard;

/// A home with these servers, whose processes carry the mark.
fn world(servers: &[(&str, &FakeScript)], mark: &Mark) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let mut entries = json!({});
    for (name, script) in servers {
        let env = json!({Mark::NAME: mark.value()});
        entries[*name] = json!({"command": fake_server(), "args": [script.path()], "env": env});
    }
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": entries}).to_string());
    sandbox
}

/// What a modern request says of itself.
fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    params
}

/// A client at the other end of the pipe.
struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// What came while something else was waited for.
    kept: Vec<Value>,
    errors: std::thread::JoinHandle<String>,
}

impl Pipe {
    fn open(sandbox: &Sandbox) -> Self {
        Self::with(sandbox, &[])
    }

    fn with(sandbox: &Sandbox, flags: &[&str]) -> Self {
        Self::telling(sandbox, flags, Stdio::piped())
    }

    /// The same with another standard error.
    fn telling(sandbox: &Sandbox, flags: &[&str], stderr: impl Into<Stdio>) -> Self {
        let mut command = switchboard(sandbox);
        command.arg("serve").args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().unwrap();
        let (said, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "no message": line }));
                if said.send(message).is_err() {
                    return;
                }
            }
        });
        let stderr = child.stderr.take();
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            if let Some(mut stderr) = stderr {
                drop(std::io::Read::read_to_string(&mut stderr, &mut text));
            }
            text
        });
        let input = child.stdin.take();
        Self { child, input, lines, kept: Vec::new(), errors }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.bytes(format!("{message}\n").as_bytes());
    }

    fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let mut message = json!({"jsonrpc": "2.0", "id": id.into(), "method": method});
        message["params"] = params;
        self.send(&message);
    }

    /// The first message for which this holds. What comes before it is kept.
    fn wait(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&is_meant) {
            return self.kept.remove(at);
        }
        loop {
            let Ok(message) = self.lines.recv_timeout(PATIENCE) else {
                panic!("it does not come; there were {:#?}", self.kept)
            };
            if is_meant(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Asks, and gives the result.
    fn result(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id = id.into();
        self.request(id.clone(), method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].take()
    }

    fn greet(&mut self) -> Value {
        self.greet_as("test")
    }

    fn greet_as(&mut self, name: &str) -> Value {
        let info = json!({"name": name, "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": info});
        let result = self.result("greeting", "initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        result
    }

    fn count(&self, method: &str) -> usize {
        self.kept.iter().filter(|message| message["method"] == method).count()
    }

    /// Closes our end; gives the exit code and the standard error.
    fn close(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        self.end()
    }

    /// Waits for the end.
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        (code, self.errors.join().unwrap())
    }
}

/// The same with settings of the gateway.
fn world_with(servers: &[(&str, &FakeScript)], gateway: &Value) -> Sandbox {
    let sandbox = world(servers, &Mark::new());
    let settings = json!({"defaults": false, "gateway": gateway});
    sandbox.write("~/.switchboard/settings.json", settings.to_string());
    sandbox
}

/// The names in a list.
fn names(result: &Value, list: &str, field: &str) -> Vec<String> {
    let items = result[list].as_array().unwrap().iter();
    items.map(|item| item[field].as_str().unwrap().to_owned()).collect()
}
