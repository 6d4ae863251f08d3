//! A home with a server that wants a login, sessions over it, and a host that logs in.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard::auth::Wishes;
use switchboard::host::{Abilities, Host, Page, Reply, Visited};
use switchboard::session::{Gate, Options, Session};
use testkit::Sandbox;
use testkit::logins::{Peer, browse};

pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) peer: Peer,
}

impl World {
    pub(crate) fn new(peer: Peer) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        let entry = json!({"url": peer.url(), "approval": "never"});
        sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"tracker": entry}}).to_string());
        Self { sandbox, peer }
    }

    pub(crate) async fn session(&self, host: &Arc<Person>) -> Session {
        let mut options = Options::headless(self.sandbox.env());
        options.host = Arc::clone(host) as Arc<dyn Host>;
        let session = Session::start(options).await;
        session.ready(Gate::Correct).await;
        session
    }

    /// Logs in, in a session that ends.
    pub(crate) async fn login(&self) {
        let session = self.session(&Person::willing()).await;
        session.login("tracker", &Wishes::default()).await.unwrap();
        session.shutdown().await;
    }

    /// What is kept of the login.
    pub(crate) fn kept(&self) -> Value {
        let files = std::fs::read_dir(self.sandbox.path("~/.switchboard/credentials")).unwrap();
        let mut files = files.map(|file| file.unwrap().path());
        let file = files.find(|file| file.extension().is_some_and(|end| end == "json")).unwrap();
        let kept: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        kept["logins"][self.peer.issuer()].clone()
    }

    /// Another process with a session.
    pub(crate) fn caller(&self) -> Caller {
        let mut command = Command::new(testkit::caller());
        command.args([self.sandbox.home(), self.sandbox.project()]).arg("tracker/echo").env_clear();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Caller { child, lines }
    }
}

/// Another process with a session. It ends with this value.
pub(crate) struct Caller {
    pub(crate) child: Child,
    lines: BufReader<ChildStdout>,
}

impl Caller {
    /// The next thing it says.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Tells it to call.
    pub(crate) fn tell(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"call\n").unwrap();
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Somebody in front of the session.
#[derive(Default)]
pub(crate) struct Person {
    manner: Manner,
    // Written by the tasks that ask, read by the test.
    pages: Mutex<Vec<Page>>,
}

/// What they do with a page.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Log in.
    #[default]
    Willing,
    /// Look away.
    Absent,
    /// Say no.
    Unwilling,
    /// Look at it, and never come back; the clock runs until that is noticed.
    Lost,
}

impl Person {
    pub(crate) fn willing() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn with(manner: Manner) -> Arc<Self> {
        Arc::new(Self { manner, pages: Mutex::default() })
    }

    pub(crate) fn pages(&self) -> Vec<Page> {
        self.pages.lock().unwrap().clone()
    }
}

impl Host for Person {
    fn abilities(&self) -> Abilities {
        Abilities { urls: self.manner != Manner::Absent, ..Abilities::default() }
    }

    fn visit(&self, page: Page) -> Reply<'_, Visited> {
        self.pages.lock().unwrap().push(page.clone());
        match self.manner {
            Manner::Absent | Manner::Unwilling => Box::pin(std::future::ready(Visited::Declined)),
            Manner::Willing => {
                std::thread::spawn(move || browse(&page.url));
                Box::pin(std::future::ready(Visited::Opened))
            }
            Manner::Lost => {
                tokio::time::pause();
                Box::pin(std::future::ready(Visited::Opened))
            }
        }
    }
}

/// Calls a tool; what it says of who asks, or what is wrong.
pub(crate) async fn call(session: &Session, tool: &str) -> Result<Value, String> {
    let outcome = session.call(tool, &json!({}).into()).await.map_err(|error| error.to_string())?;
    let text = outcome.shaped.text;
    serde_json::from_str(&text).map_err(|_| text)
}
