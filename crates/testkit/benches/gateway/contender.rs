//! A gateway as data: how it is started and where it is reached. In: a description, as JSON:
//!
//! ```json
//! { "name": "mine", "command": ["mine", "--port", "{port}", "--config", "{config}"], "path": "/mcp" }
//! ```
//!
//! | placeholder | stands for |
//! |---|---|
//! | `{port}` | a free port it is to listen on |
//! | `{config}` | a file `{"mcpServers": {..}}` with the servers behind it |
//! | `{home}` | a home of its own; also the variable `HOME` |
//! | `{servers}` | how many there are |
//! | an argument that is `{server}` | the words of the first server's command, for those that front one |
//!
//! `modern: true` speaks the modern protocol with it. `one: true` says that it fronts one server only. Without `path` its
//! address is the first line it prints.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use testkit::front::Protocol;

use crate::world::{World, server};

/// How long it may take to come up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Somebody who takes part.
#[derive(Debug, Clone)]
pub(crate) struct Contender {
    pub(crate) name: String,
    command: Vec<String>,
    path: Option<String>,
    pub(crate) protocol: Protocol,
    pub(crate) fronts_many: bool,
}

impl Contender {
    pub(crate) fn read(text: &str) -> Self {
        let value: Value = serde_json::from_str(text).unwrap();
        let is = |name: &str| value[name].as_bool().unwrap_or(false);
        Self {
            name: value["name"].as_str().unwrap().to_owned(),
            command: value["command"]
                .as_array()
                .unwrap()
                .iter()
                .map(|word| word.as_str().unwrap().to_owned())
                .collect(),
            path: value["path"].as_str().map(str::to_owned),
            protocol: if is("modern") { Protocol::Modern } else { Protocol::Handshake },
            fronts_many: !is("one"),
        }
    }

    fn new(name: &str, command: &[&str], path: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            path: path.map(str::to_owned),
            protocol: Protocol::Handshake,
            fronts_many: true,
        }
    }

    /// The server itself, with nobody before it.
    pub(crate) fn direct() -> Self {
        Self { fronts_many: false, ..Self::new("direct", &[server(), "--http"], None) }
    }

    /// The least a gateway can do.
    pub(crate) fn floor() -> Self {
        Self::new("floor", &[env!("CARGO_BIN_EXE_bare-gateway"), "{servers}", "{server}"], None)
    }

    pub(crate) fn ours() -> Self {
        // Benchmarks are one directory deeper than programs.
        let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("switchboard");
        // No client comes near its usual rate, but this one.
        let command = [program.to_str().unwrap(), "serve", "--http", "127.0.0.1:{port}", "--rate", "0"];
        Self::new("ours", &command, Some("/mcp"))
    }

    pub(crate) fn ours_modern() -> Self {
        Self { name: "ours, modern".to_owned(), protocol: Protocol::Modern, ..Self::ours() }
    }

    pub(crate) fn start(&self, world: &World) -> Running {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let fill = |text: &String| {
            if text == "{server}" {
                return world.first();
            }
            let text = text.replace("{port}", &port.to_string());
            let text = text.replace("{servers}", &world.n_servers().to_string());
            let text = text.replace("{config}", world.config().to_str().unwrap());
            vec![text.replace("{home}", world.home().to_str().unwrap())]
        };
        let words: Vec<String> = self.command.iter().flat_map(fill).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("HOME", world.home()).current_dir(world.home());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let url = if let Some(path) = &self.path {
            format!("http://127.0.0.1:{port}{path}")
        } else {
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            line.trim().to_owned()
        };
        let host = url.trim_start_matches("http://").split('/').next().unwrap();
        let started = Instant::now();
        while TcpStream::connect(host).is_err() {
            assert!(started.elapsed() < PATIENCE, "{} does not come up", self.name);
            std::thread::sleep(Duration::from_millis(5));
        }
        Running { child, url, protocol: self.protocol }
    }
}

/// One that runs. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    pub(crate) url: String,
    pub(crate) protocol: Protocol,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        crate::usage::signal(self.pid(), rustix::process::Signal::TERM);
        self.child.wait().unwrap();
    }
}
