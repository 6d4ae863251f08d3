//! Somebody at the interactive session, in a real terminal. The same for every front: lines are typed, and what comes of
//! them is seen after them.

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Mark, Sandbox, fake_server};

use crate::screen::Screen;

/// Which front the terminal gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Front {
    /// For terminals that only show lines.
    Plain,
}

impl Front {
    const fn term(self) -> &'static str {
        match self {
            Self::Plain => "dumb",
        }
    }
}

/// A home without built-in servers, as the front needs it.
pub(crate) fn home(front: Front) -> Sandbox {
    let sandbox = Sandbox::new().with_var("TERM", front.term());
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    sandbox
}

/// A scripted server, its log, and its entry.
pub(crate) struct Server {
    pub(crate) script: FakeScript,
    pub(crate) mark: Mark,
}

impl Server {
    pub(crate) fn new(script: Value) -> Self {
        Self { script: Fake::script(script), mark: Mark::new() }
    }

    pub(crate) fn entry(&self) -> Value {
        let env = json!({Mark::NAME: self.mark.value()});
        json!({"command": fake_server(), "args": [self.script.path()], "env": env})
    }

    /// How often it was started and spoken to.
    pub(crate) fn starts(&self) -> usize {
        self.script.methods().iter().filter(|method| *method == "initialize").count()
    }
}

/// Writes the user's own file.
pub(crate) fn configure(sandbox: &Sandbox, servers: &[(&str, Value)]) {
    let servers: serde_json::Map<String, Value> =
        servers.iter().map(|(name, entry)| ((*name).to_owned(), entry.clone())).collect();
    let text = serde_json::to_string_pretty(&json!({"mcpServers": servers})).unwrap();
    sandbox.write("~/.switchboard/mcp.json", text);
}

/// Somebody who sits there.
pub(crate) struct Seat {
    pub(crate) screen: Screen,
    /// How much was shown before the last line was typed.
    mark: usize,
}

impl Seat {
    /// Opens the session and waits until it can be typed.
    pub(crate) fn take(sandbox: &Sandbox) -> Self {
        let mut seat = Self::open(sandbox);
        seat.screen.wait_for("/help");
        seat
    }

    /// Opens the session.
    pub(crate) fn open(sandbox: &Sandbox) -> Self {
        Self { screen: Screen::open(sandbox, 140, &[]), mark: 0 }
    }

    /// Types a line, once there is something to type it behind.
    pub(crate) fn say(&mut self, line: &str) {
        self.screen.wait_until_written(|raw| [&b"> "[..], b": ", b") "].iter().any(|end| raw.ends_with(end)));
        self.mark = self.screen.raw.len();
        self.screen.send(&format!("{line}\r"));
    }

    /// Waits for something that comes of the last line.
    pub(crate) fn see(&mut self, text: &str) {
        let mark = self.mark;
        self.screen.wait_until_written(|raw| plain(&raw[mark..]).contains(text));
    }

    /// Types a line and waits for what comes of it.
    pub(crate) fn ask(&mut self, line: &str, answer: &str) {
        self.say(line);
        self.see(answer);
    }

    /// What came of the last line so far.
    pub(crate) fn seen(&self) -> String {
        plain(&self.screen.raw[self.mark..])
    }

    /// Waits for something anywhere.
    pub(crate) fn notice(&mut self, text: &str) {
        self.screen.wait_until_written(|raw| plain(raw).contains(text));
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.mark = self.screen.raw.len();
        self.screen.send(keys);
    }

    /// Leaves, in order.
    pub(crate) fn leave(mut self) -> u32 {
        self.say("/quit");
        self.screen.end()
    }
}

/// What was written, as lines.
fn plain(raw: &[u8]) -> String {
    String::from_utf8_lossy(raw).replace("\r\n", "\n")
}
