//! A person's servers, scripted, and a session over them.

use serde_json::{Value, json};
use switchboard::connect::Persistence;
use switchboard::session::{Options, Session};
use switchboard::wire::Guard;
use testkit::{Fake, FakeScript, Sandbox, fake_server, guard};

/// Servers by name, and the home that declares them.
pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    servers: serde_json::Map<String, Value>,
    scripts: Vec<(String, FakeScript)>,
}

impl World {
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        Self { sandbox, servers: serde_json::Map::new(), scripts: Vec::new() }
    }

    /// A scripted server on stdio; `conduct` is merged into its entry.
    pub(crate) fn stdio(mut self, name: &str, script: Value, conduct: Value) -> Self {
        let script = Fake::script(script);
        let mut entry = json!({"command": fake_server(), "args": [script.path()]});
        merge(&mut entry, conduct);
        self.servers.insert(name.to_owned(), entry);
        self.scripts.push((name.to_owned(), script));
        self.write();
        self
    }

    /// Any entry.
    pub(crate) fn entry(mut self, name: &str, entry: Value) -> Self {
        self.servers.insert(name.to_owned(), entry);
        self.write();
        self
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.servers.shift_remove(name);
        self.write();
    }

    pub(crate) fn change(&mut self, name: &str, conduct: Value) {
        merge(self.servers.get_mut(name).unwrap(), conduct);
        self.write();
    }

    fn write(&self) {
        self.sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": self.servers}).to_string());
    }

    pub(crate) fn script(&self, name: &str) -> &FakeScript {
        &self.scripts.iter().find(|(other, _)| other == name).unwrap().1
    }

    pub(crate) fn options(&self) -> Options {
        let mut options = Options::headless(self.sandbox.env());
        options.guard = Some(Guard { program: guard(), args: Vec::new() });
        options.persistence = Persistence::KeepTrying;
        options
    }

    pub(crate) async fn start(&self) -> Session {
        Session::start(self.options()).await
    }

    /// How often a server was asked something.
    pub(crate) fn asked(&self, name: &str, method: &str) -> usize {
        self.script(name).methods().iter().filter(|asked| *asked == method).count()
    }
}

fn merge(entry: &mut Value, conduct: Value) {
    let (Value::Object(entry), Value::Object(conduct)) = (entry, conduct) else { return };
    entry.extend(conduct);
}
