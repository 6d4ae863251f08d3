//! A person's servers, and a session over them.

use std::path::PathBuf;

use serde_json::json;
use switchboard::session::{Options, Session};
use switchboard::wire::Guard;
use testkit::Sandbox;

/// The same small server, so many times.
#[derive(Debug)]
pub(crate) struct World {
    sandbox: Sandbox,
    n_servers: usize,
    n_tools: usize,
}

/// Whether servers are started below a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guarded {
    Yes,
    No,
}

impl World {
    pub(crate) fn new(n_servers: usize, n_tools: usize) -> Self {
        let world = Self { sandbox: Sandbox::new(), n_servers, n_tools };
        world.sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        world.declare(false);
        world
    }

    fn declare(&self, lazy: bool) {
        let servers = self.commands().into_iter().enumerate();
        let entry = |args: Vec<String>| json!({"command": server(), "args": args, "lazy": lazy});
        let servers: serde_json::Map<_, _> =
            servers.map(|(n, args)| (format!("s{n}"), entry(args))).collect();
        self.sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": servers}).to_string());
    }

    /// From now on a server is started when it is called.
    pub(crate) fn make_lazy(&self) {
        self.declare(true);
    }

    /// The arguments of each server. They differ, or it would be the same server.
    pub(crate) fn commands(&self) -> Vec<Vec<String>> {
        let path = |name: String| self.path(&name).to_string_lossy().into_owned();
        let args = |n: usize| {
            let (wait, log) = (path(format!("~/wait-{n}")), path("~/log".to_owned()));
            ["--tools", &self.n_tools.to_string(), "--wait", &wait, "--log", &log].map(str::to_owned).to_vec()
        };
        (0..self.n_servers).map(args).collect()
    }

    /// From now on a server waits so many milliseconds before it hears anything.
    pub(crate) fn slow_down(&self, server: usize, by: u64) {
        self.sandbox.write(&format!("~/wait-{server}"), by.to_string());
    }

    /// When servers gave their tools, in microseconds since 1970.
    pub(crate) fn log(&self) -> Vec<u128> {
        self.sandbox.read("~/log").lines().filter_map(|line| line.parse().ok()).collect()
    }

    pub(crate) fn n_servers(&self) -> usize {
        self.n_servers
    }

    pub(crate) fn n_all_tools(&self) -> usize {
        self.n_servers * self.n_tools
    }

    /// A file in the home.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.sandbox.path(path)
    }

    pub(crate) fn options(&self, guarded: Guarded) -> Options {
        let mut options = Options::headless(self.sandbox.env());
        if guarded == Guarded::Yes {
            options.guard = Some(Guard { program: env!("CARGO_BIN_EXE_guard").into(), args: Vec::new() });
        }
        options
    }

    /// A session that came and went, so that everything is remembered.
    pub(crate) async fn visit(options: Options) {
        let session = Session::start(options).await;
        assert!(session.settled(None).await);
        session.listed().await;
        session.shutdown().await;
    }
}

/// The path of the server.
pub(crate) fn server() -> &'static str {
    env!("CARGO_BIN_EXE_echo-floor")
}
