//! Servers, as a gateway finds them in a file.

use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Sandbox, fake_server};

/// A home with servers in it.
#[derive(Debug)]
pub(crate) struct World {
    sandbox: Sandbox,
    entries: Value,
    /// Kept as long as their servers run.
    _scripts: Vec<FakeScript>,
}

/// The path of the quick server.
pub(crate) fn server() -> &'static str {
    env!("CARGO_BIN_EXE_echo-floor")
}

impl World {
    /// The quick server, so many times, with so many tools.
    pub(crate) fn new(n_servers: usize, n_tools: usize) -> Self {
        let args = json!(["--tools", n_tools.to_string()]);
        let mut entries = json!({});
        for n in 0..n_servers {
            // They differ, or it would be the same server.
            let env = json!({"NUMBER": n.to_string()});
            entries[format!("s{n}")] = json!({"command": server(), "args": args, "env": env});
        }
        Self::of(entries, Vec::new())
    }

    fn of(entries: Value, scripts: Vec<FakeScript>) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": entries}).to_string());
        Self { sandbox, entries, _scripts: scripts }
    }

    /// The same with servers that follow a script instead of the last ones.
    pub(crate) fn with(mut self, scripts: Vec<(&str, Value)>) -> Self {
        let map = self.entries.as_object_mut().unwrap();
        let first = map.len() - scripts.len();
        let mut kept = Vec::new();
        for (n, (name, script)) in scripts.into_iter().enumerate() {
            map.remove(&format!("s{}", first + n));
            let script = Fake::script(script);
            map.insert(name.to_owned(), json!({"command": fake_server(), "args": [script.path()]}));
            kept.push(script);
        }
        Self::of(self.entries.take(), kept)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.sandbox.home()
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.sandbox.path("~/.switchboard/mcp.json")
    }

    pub(crate) fn n_servers(&self) -> usize {
        self.entries.as_object().unwrap().len()
    }

    /// The command of its first server.
    pub(crate) fn first(&self) -> Vec<String> {
        let entry = self.entries.as_object().unwrap().values().next().unwrap();
        let args = entry["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned());
        [entry["command"].as_str().unwrap().to_owned()].into_iter().chain(args).collect()
    }
}
