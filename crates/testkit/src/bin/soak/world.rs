//! The world of one run: a home, servers that listen, and the gateway itself. Everything in it ends with it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::logins::{Peer, browse};
use testkit::{Listening, Mark, Sandbox, fake_server};

use crate::book::lock;
use crate::cast::{Nature, Part, script};
use crate::process::{NAME, signal};

/// So long anything may take that is no part of the test.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// What the state may take: enough for everything but a filler.
const DISK: &str = "size=24m";

/// A scripted server over HTTP.
struct Site {
    child: Child,
    _stdout: BufReader<ChildStdout>,
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) struct World {
    pub(crate) cast: Vec<Part>,
    pub(crate) mark: Mark,
    sandbox: Sandbox,
    switchboard: PathBuf,
    sites: Mutex<HashMap<String, Site>>,
    pub(crate) tracker: Option<Peer>,
    fixture: Option<Listening>,
    /// Whether the state is on a small disk of its own.
    pub(crate) has_disk: bool,
}

impl World {
    /// A home with this cast in its file. `may_mount` says that mounts are nobody's but ours.
    pub(crate) fn new(cast: Vec<Part>, switchboard: PathBuf, may_mount: bool) -> io::Result<Self> {
        let sandbox = Sandbox::new();
        let has = |nature: Nature| cast.iter().any(|part| part.nature == nature);
        let tracker = has(Nature::Tracker).then(|| Peer::oidc(&[]));
        let fixture = has(Nature::RealHttp).then(|| Listening::fixture(&[]));
        let mut world = Self {
            mark: Mark::new(),
            sandbox,
            switchboard,
            sites: Mutex::default(),
            tracker,
            fixture,
            has_disk: false,
            cast,
        };
        fs::create_dir_all(world.state())?;
        fs::create_dir_all(world.place("scripts"))?;
        world.has_disk = may_mount
            && Command::new("mount")
                .args(["-t", "tmpfs", "-o", DISK, "soak"])
                .arg(world.state())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success());
        fs::write(world.state().join("settings.json"), r#"{"defaults": false}"#)?;
        world.declare()?;
        Ok(world)
    }

    /// Where the state of the gateway is.
    pub(crate) fn state(&self) -> PathBuf {
        self.sandbox.home().join(".switchboard")
    }

    /// Where things of the test are, beside the home.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.sandbox.project().join(name)
    }

    /// The file with the servers.
    pub(crate) fn config(&self) -> PathBuf {
        self.state().join("mcp.json")
    }

    /// Where a server of ours notes what ran.
    pub(crate) fn runs(&self, name: &str) -> PathBuf {
        self.place("scripts").join(format!("{name}.runs"))
    }

    pub(crate) fn script_path(&self, name: &str) -> PathBuf {
        self.place("scripts").join(format!("{name}.json"))
    }

    fn write_script(&self, part: &Part, listen_on: u16) -> io::Result<()> {
        let mut script = script(part);
        script["runs"] = json!(self.runs(&part.name));
        script["port"] = json!(listen_on);
        fs::write(self.script_path(&part.name), script.to_string())
    }

    /// Writes the file, a line for each server and a comment before it.
    fn declare(&self) -> io::Result<()> {
        let extra = Part { name: "extra".to_owned(), nature: Nature::Pipe, era: "legacy" };
        self.write_script(&extra, 0)?;
        let mut text = "// soak: the first comment\n{\n  \"mcpServers\": {\n".to_owned();
        let mut lines = Vec::new();
        for part in &self.cast {
            let entry = self.entry(part)?;
            let name = json!(part.name);
            lines.push(format!("    // soak: about {}\n    {name}: {entry}", part.name));
        }
        text += &lines.join(",\n");
        text += "\n    // soak: after the servers\n  }\n}\n// soak: the last comment\n";
        fs::write(self.config(), text)
    }

    fn entry(&self, part: &Part) -> io::Result<Value> {
        let (startup, call) = part.nature.limits();
        let mut entry = if part.nature.is_process() {
            let (program, args) = self.program(part)?;
            let env = json!({Mark::NAME: self.mark.value(), NAME: part.name, "ROUND": "0"});
            json!({"command": program, "args": args, "env": env})
        } else {
            let kind = if part.nature == Nature::Sse { "sse" } else { "http" };
            let url = match (part.nature, &self.tracker, &self.fixture) {
                (Nature::Tracker, Some(tracker), _) => tracker.url().to_owned(),
                (Nature::RealHttp, _, Some(fixture)) => fixture.url().to_owned(),
                _ => self.open_site(part)?,
            };
            json!({"type": kind, "url": url})
        };
        entry["timeout"] = json!(call.as_millis());
        entry["startupTimeout"] = json!(startup.as_millis());
        match part.nature {
            Nature::Lazy => entry["lazy"] = json!(true),
            Nature::Idle => entry["idleTimeout"] = json!(2000),
            Nature::Asking => entry["idleTimeout"] = json!(5000),
            _ => {}
        }
        Ok(entry)
    }

    fn program(&self, part: &Part) -> io::Result<(PathBuf, Vec<String>)> {
        if part.nature.is_ours() {
            self.write_script(part, 0)?;
            return Ok((fake_server(), vec![self.script_path(&part.name).to_string_lossy().into_owned()]));
        }
        let peers = testkit::peers();
        if part.nature == Nature::RealPipe {
            return Ok((
                peers.join("python/bin/mcp-server-time"),
                vec!["--local-timezone".to_owned(), "UTC".to_owned()],
            ));
        }
        let program = peers.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        Ok((peers.join("node"), vec![program.to_string_lossy().into_owned(), "stdio".to_owned()]))
    }

    /// Starts a scripted server over HTTP for the first time. Gives its address.
    fn open_site(&self, part: &Part) -> io::Result<String> {
        self.write_script(part, 0)?;
        let url = self.start_site(&part.name)?;
        let listens_on = url.rsplit(':').next().and_then(|rest| rest.split('/').next()?.parse().ok());
        self.write_script(part, listens_on.ok_or_else(|| io::Error::other(format!("no address: {url}")))?)?;
        Ok(url)
    }

    fn start_site(&self, name: &str) -> io::Result<String> {
        let mut command = Command::new(fake_server());
        command.arg(self.script_path(name)).env(NAME, name);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        let mut url = String::new();
        stdout.read_line(&mut url)?;
        lock(&self.sites).insert(name.to_owned(), Site { child, _stdout: stdout });
        Ok(url.trim_end().to_owned())
    }

    /// Kills a server over HTTP.
    pub(crate) fn kill_site(&self, name: &str) {
        drop(lock(&self.sites).remove(name));
    }

    /// Starts it again where it was.
    pub(crate) fn restart_site(&self, name: &str) -> io::Result<()> {
        let start = Instant::now();
        // Its address may be in use for a moment.
        while !self.start_site(name)?.starts_with("http") {
            if start.elapsed() > PATIENCE {
                return Err(io::Error::other(format!("{name} does not come back to its address")));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    /// The process of a server over HTTP.
    pub(crate) fn site_pid(&self, name: &str) -> Option<u32> {
        lock(&self.sites).get(name).map(|site| site.child.id())
    }

    /// A command of the program in this world.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(&self.switchboard);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Logs in, with a browser that agrees.
    pub(crate) fn log_in(&self, name: &str) -> io::Result<()> {
        let mut child = self.command(&["reauth", name, "--no-browser"]).spawn()?;
        let stderr = BufReader::new(child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?);
        let mut said = String::new();
        for line in stderr.lines() {
            let line = line?;
            if line.starts_with("  http") {
                browse(line.trim());
            }
            said += &line;
        }
        let status = child.wait()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("no login for {name}: {said}"))) }
    }

    /// Starts the gateway.
    pub(crate) fn serve(&self) -> io::Result<Gateway> {
        let (log, said) = (self.place("gateway.log"), self.place("gateway.err"));
        let mut command = self.command(&["serve", "--http", "--log-file"]);
        command.arg(&log).stdout(Stdio::null()).stderr(File::create(&said)?);
        let mut gateway = Gateway { child: command.spawn()?, address: ([127, 0, 0, 1], 0).into(), log, said };
        let start = Instant::now();
        loop {
            let text = fs::read_to_string(&gateway.said)?;
            let line = text.lines().find_map(|line| line.strip_prefix("listening on http://"));
            if let Some(address) = line.and_then(|line| line.strip_suffix("/mcp")?.parse().ok()) {
                gateway.address = address;
                return Ok(gateway);
            }
            if start.elapsed() > PATIENCE || gateway.child.try_wait()?.is_some() {
                return Err(io::Error::other(format!("the gateway does not listen: {text}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if self.has_disk {
            drop(Command::new("umount").arg("-l").arg(self.state()).status());
        }
    }
}

/// The process that is tested.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) log: PathBuf,
    pub(crate) said: PathBuf,
}

impl Gateway {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it in order. Gives how it ended, if it did in time.
    pub(crate) fn terminate(&mut self, patience: Duration) -> io::Result<Option<std::process::ExitStatus>> {
        signal(self.pid(), Signal::TERM)?;
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(None)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Its guards end the servers.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The program, beside this one.
pub(crate) fn beside(name: &str) -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let path = own.parent().unwrap_or(Path::new(".")).join(name);
    if path.exists() {
        Ok(path)
    } else {
        Err(io::Error::other(format!("{} is not there; soak/run builds it", path.display())))
    }
}
