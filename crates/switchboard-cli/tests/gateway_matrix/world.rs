//! One combination: a fixture that speaks one protocol over one transport, and the gateway before it.

use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;
use testkit::{Listening, SaidOn, Sandbox};

use crate::client::{Era, PATIENCE};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Stdio,
    Http,
    Sse,
}

/// How one side of the gateway speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) era: Era,
    pub(crate) way: Way,
}

impl Side {
    pub(crate) fn words(self) -> String {
        let era = match self.era {
            Era::Modern => "modern",
            Era::Handshake => "handshake",
        };
        let way = match self.way {
            Way::Stdio => "stdio",
            Way::Http => "HTTP",
            Way::Sse => "SSE",
        };
        format!("{era}, {way}")
    }
}

/// Items on a page of the fixture's lists, and resources it has besides its own.
pub(crate) const PAGE: &str = "50";
pub(crate) const MANY: &str = "600";

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) client: Side,
    pub(crate) server: Side,
    sandbox: Sandbox,
    gateway: Option<Listening>,
    // Ends after the gateway.
    _fixture: Option<Listening>,
}

impl World {
    pub(crate) fn open(client: Side, server: Side) -> Self {
        let era = match server.era {
            Era::Modern => "modern",
            Era::Handshake => "handshake",
        };
        let sandbox = Sandbox::new();
        let notes = sandbox.path("notes.txt").to_string_lossy().into_owned();
        let flags = ["--era", era, "--page", PAGE, "--many", MANY, "--notes", notes.as_str()];
        let fixture = match server.way {
            Way::Stdio => None,
            Way::Http => Some(Listening::fixture(&flags)),
            Way::Sse => Some(Listening::fixture(&[&flags[..], &["--sse"]].concat())),
        };
        let entry = match &fixture {
            Some(fixture) if server.way == Way::Sse => json!({"type": "sse", "url": fixture.url()}),
            Some(fixture) => json!({ "type": "http", "url": fixture.url() }),
            None => {
                let program = testkit::workspace().join("peers/fixture.mjs");
                let mut args = vec![program.to_string_lossy().into_owned(), "--stdio".to_owned()];
                args.extend(flags.map(str::to_owned));
                json!({"command": testkit::peers().join("node"), "args": args})
            }
        };
        // A busy machine is no reason to greet anybody before the server has said what it is.
        sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false, "startupWindow": 10000}"#);
        sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"fixture": entry}}).to_string());
        let mut world = Self { client, server, sandbox, gateway: None, _fixture: fixture };
        if client.way == Way::Http {
            let mut serve = world.serve();
            serve.args(["--http", "127.0.0.1:0"]);
            world.gateway = Some(Listening::start(serve, SaidOn::Error));
        }
        world
    }

    /// The gateway, about to be started.
    pub(crate) fn serve(&self) -> Command {
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_switchboard"));
        command.arg("serve").stderr(Stdio::inherit());
        command
    }

    /// Comes back when the fixture has noted this. Any of its processes may have.
    pub(crate) fn noted(&self, line: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.has_noted(line) {
            assert!(
                Instant::now() < end,
                "`{line}` is not noted; there is {:?}",
                self.sandbox.read("notes.txt")
            );
            std::thread::yield_now();
        }
    }

    pub(crate) fn has_noted(&self, line: &str) -> bool {
        self.sandbox.read("notes.txt").lines().any(|noted| noted == line)
    }

    /// Where the gateway listens.
    pub(crate) fn url(&self) -> &str {
        self.gateway.as_ref().map(Listening::url).unwrap()
    }
}
