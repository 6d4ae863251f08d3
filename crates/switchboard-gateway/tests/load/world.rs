//! A gateway on a thread of its own, as the program has it, with scripted servers behind it.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use serde_json::{Value, json};
use switchboard::session::{Options, Session};
use switchboard::wire::Guard;
use switchboard_gateway::{Edge, Gateway};
use testkit::{FakeScript, Mark, PATIENCE, Sandbox, fake_server, guard};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// What is behind a gateway.
pub(crate) struct World {
    sandbox: Sandbox,
    mark: Mark,
    entries: Value,
}

impl World {
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        Self { sandbox, mark: Mark::new(), entries: json!({}) }
    }

    /// A server on stdio.
    pub(crate) fn stdio(&mut self, name: &str, script: &FakeScript) {
        let env = json!({Mark::NAME: self.mark.value()});
        self.entries[name] = json!({"command": fake_server(), "args": [script.path()], "env": env});
    }

    /// A server that listens somewhere.
    pub(crate) fn http(&mut self, name: &str, url: &str) {
        self.entries[name] = json!({"type": "http", "url": url});
    }

    /// Sets a field of a server.
    pub(crate) fn set(&mut self, name: &str, field: &str, value: Value) {
        self.entries[name][field] = value;
    }

    /// The processes of its servers, guards included.
    pub(crate) fn n_processes(&self) -> usize {
        self.mark.alive().len()
    }

    pub(crate) fn serve(&self) -> Served {
        self.sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": self.entries}).to_string());
        let mut options = Options::headless(self.sandbox.env());
        options.guard = Some(Guard { program: guard(), args: Vec::new() });
        Served::start(options)
    }
}

/// A gateway that runs.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    gateway: Gateway,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn start(options: Options) -> Self {
        let (tell, told) = channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let session = Session::start(options).await;
                let gateway = Gateway::new(session.clone(), switchboard_gateway::Options::default());
                tell.send((address, gateway.clone(), Handle::current())).unwrap();
                let stopped = async {
                    let _either_way = stopped.await;
                };
                gateway.http(listener, Edge::default(), stopped).await.unwrap();
                session.shutdown().await;
            });
        });
        let (address, gateway, runtime) = told.recv().unwrap();
        Self { address, gateway, runtime, stop: Some(stop), thread: Some(thread) }
    }

    /// A client on a pipe.
    pub(crate) fn pipe(&self) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let gateway = self.gateway.clone();
        self.runtime.spawn(async move {
            let (input, output) = tokio::net::UnixStream::from_std(theirs).unwrap().into_split();
            gateway.stdio(input, output).await.unwrap();
        });
        ours.set_read_timeout(Some(PATIENCE)).unwrap();
        ours
    }

    /// What there is of it.
    pub(crate) fn census(&self, world: &World) -> Census {
        Census {
            tasks: self.runtime.metrics().num_alive_tasks(),
            fds: fs::read_dir("/proc/self/fd").unwrap().count(),
            processes: world.n_processes(),
        }
    }

    pub(crate) fn stop(mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// What must not grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) tasks: usize,
    pub(crate) fds: usize,
    pub(crate) processes: usize,
}

impl Census {
    /// Whether there is no more than before. Connections that nobody uses may take longer to go.
    pub(crate) fn is_within(&self, before: Self) -> bool {
        self.tasks <= before.tasks && self.fds <= before.fds && self.processes == before.processes
    }
}

/// Kilobytes that are in memory.
pub(crate) fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}
