//! A person's servers, scripted, and a session over them.

use serde_json::{Value, json};
use switchboard::calls::Outcome;
use switchboard::connect::Persistence;
use switchboard::session::{Found, Gate, Options, Scope, Session};
use switchboard::wire::Guard;
use testkit::{Fake, FakeScript, Mark, Sandbox, eventually, fake_server, guard};

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

    /// Sets a variable of the person who starts the session.
    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.sandbox = self.sandbox.with_var(name, value);
        self
    }

    /// From its next start on, a server follows another script.
    pub(crate) fn rescript(&self, name: &str, mut script: Value) {
        let path = self.script(name).path();
        let before: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        script["log"] = before["log"].clone();
        std::fs::write(path, script.to_string()).unwrap();
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

    /// A session in which every server without cached tools is live or failed.
    pub(crate) async fn ready(&self) -> Session {
        let session = self.start().await;
        session.ready(Gate::Correct).await;
        session
    }

    /// Connects to everything once, so that all tools are cached.
    pub(crate) async fn warm(&self) {
        let session = self.ready().await;
        session.listed().await;
        session.shutdown().await;
    }

    /// Waits until a server was asked something so many times.
    pub(crate) async fn until_asked(&self, name: &str, method: &str, times: usize) {
        let what = format!("`{name}` is asked for {method} {times} times");
        eventually(what, || self.asked(name, method), |n| *n >= times).await;
    }

    /// How often a server was asked something.
    pub(crate) fn asked(&self, name: &str, method: &str) -> usize {
        self.script(name).methods().iter().filter(|asked| *asked == method).count()
    }
}

/// Waits until no process with the mark is left.
pub(crate) async fn until_gone(mark: &Mark) {
    eventually("all its processes are gone", || mark.alive(), Vec::is_empty).await;
}

/// The conduct of a server whose processes carry the mark.
pub(crate) fn marked(mark: &Mark) -> Value {
    json!({"approval": "never", "env": {Mark::NAME: mark.value()}})
}

/// The part of a session that is one server, for those who wait for just that one.
pub(crate) fn only(session: &Session, server: &str) -> Session {
    session.scoped(Scope::Servers([server.to_owned()].into()))
}

/// The word for how a server stands.
pub(crate) fn status(session: &Session, server: &str) -> &'static str {
    let reports = only(session, server).servers();
    reports.first().map_or("absent", |report| report.status.as_str())
}

/// The names of all tools, in their order.
pub(crate) fn names(session: &Session) -> Vec<String> {
    session.catalog().tools.iter().map(|entry| entry.name.clone()).collect()
}

/// Has a server of the usual tools say something.
pub(crate) async fn echo(session: &Session, server: &str, text: &str) -> Result<String, Found> {
    let outcome: Outcome = session.call(&format!("{server}/echo"), &json!({"text": text}).into()).await?;
    Ok(outcome.shaped.text)
}

/// A tool of which nothing is known but its name.
pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

fn merge(entry: &mut Value, conduct: Value) {
    let (Value::Object(entry), Value::Object(conduct)) = (entry, conduct) else { return };
    entry.extend(conduct);
}
