//! The world of a reader: an empty home, the program on the path, `npx` and `uvx` that start the installed servers, a
//! server that wants a login, a model. What a page calls by another name than this machine does is put into its words.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::logins::{Peer, browse};
use testkit::{FakeModel, Sandbox, peers};

use crate::terminal::{Kind, Terminal};

/// How long something may take that must come.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a line of a session may take. A page that is out of date takes as long for each of its lines.
const SOON: Duration = Duration::from_secs(20);
/// Ports that pages write. Each is any free one here.
const PORTS: [u16; 3] = [8080, 3000, 9000];

pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    /// What this machine says, and what the page says instead.
    names: Vec<(String, String)>,
    /// Lines that hold for those after them.
    state: Vec<String>,
    /// How the last command ended.
    code: i32,
    running: Vec<Child>,
    /// An interactive session, and how much of it was looked at.
    session: Option<(Terminal, usize)>,
    _model: Option<FakeModel>,
    _login: Option<Peer>,
}

impl World {
    /// A world has what its name says: `login`, `model`.
    pub(crate) fn new(name: &str) -> Self {
        let sandbox = Sandbox::new();
        let bin = sandbox.home().parent().unwrap().join("bin");
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let sandbox = sandbox.with_var("PATH", &path).with_var("LANG", "C.UTF-8");
        fs::create_dir_all(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_switchboard"), bin.join("switchboard")).unwrap();
        let peers = peers().display().to_string();
        let npx = format!(
            "#!/bin/sh\nshift; name=$1; shift\nexec {peers}/node {peers}/node_modules/$name/dist/index.js \"$@\"\n"
        );
        let uvx = format!("#!/bin/sh\nname=$1; shift\nexec {peers}/python/bin/$name \"$@\"\n");
        for (name, text) in [("npx", npx), ("uvx", uvx)] {
            let path = bin.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut names = Vec::new();
        for port in PORTS {
            let free = free_port();
            names.extend([":", "="].map(|sign| (format!("{sign}{free}"), format!("{sign}{port}"))));
        }
        names.push((sandbox.project().display().to_string(), "/home/ada/shop".to_owned()));
        names.push((sandbox.home().display().to_string(), "/home/ada".to_owned()));
        names.push((bin.display().to_string(), "/usr/local/bin".to_owned()));
        let login = name.contains("login").then(|| Peer::oidc(&[]));
        if let Some(peer) = &login {
            names.push((peer.url().to_owned(), "https://tracker.example.com/mcp".to_owned()));
            names.push((peer.issuer().to_owned(), "https://login.example.com".to_owned()));
        }
        let model = name.contains("model").then(|| FakeModel::start(&turns()));
        if let Some(model) = &model {
            names.push((model.url().to_owned(), "http://127.0.0.1:8000".to_owned()));
        }
        Self {
            sandbox,
            names,
            state: Vec::new(),
            code: 0,
            running: Vec::new(),
            session: None,
            _model: model,
            _login: login,
        }
    }

    /// What the page means, on this machine.
    fn here(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (here, page)| text.replace(page, here))
    }

    /// What this machine says, in the words of the page.
    fn there(&self, bytes: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(bytes);
        let text = self.names.iter().fold(text.into_owned(), |text, (here, page)| text.replace(here, page));
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Writes a file that the reader is told to write.
    pub(crate) fn write(&self, path: &str, lines: &[String]) {
        self.sandbox.write(path, self.here(&(lines.join("\n") + "\n")));
    }

    fn command(&self, typed: &str) -> Command {
        let mut command = self.sandbox.command("/bin/bash");
        let typed = [&self.state.join("\n"), "exec 2>&1", &self.here(typed)].join("\n");
        command.arg("-c").arg(typed).stdin(Stdio::null());
        command
    }

    /// Types a line and gives what is seen, standard error included.
    pub(crate) fn run(&mut self, typed: &str) -> Vec<String> {
        if typed == "echo $?" {
            return vec![self.code.to_string()];
        }
        if typed.starts_with("export ") || typed.starts_with("cd ") {
            self.state.push(self.here(typed));
            return Vec::new();
        }
        let path = self.seen_path();
        let mut child = self.command(typed).stdout(fs::File::create(&path).unwrap()).spawn().unwrap();
        let start = Instant::now();
        let code = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status.code().unwrap_or(-1),
                None if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(2)),
                None => {
                    drop((child.kill(), child.wait()));
                    panic!("this does not end: {typed}");
                }
            }
        };
        self.code = code;
        self.there(&fs::read(&path).unwrap())
    }

    /// Types a line that goes on until the world ends, and waits until what is seen is right, or time is up.
    pub(crate) fn start(&mut self, typed: &str, is_right: impl Fn(&[String]) -> bool) -> Vec<String> {
        let path = self.seen_path();
        let mut command = self.command(&format!("exec {typed}"));
        self.running.push(command.stdout(fs::File::create(&path).unwrap()).spawn().unwrap());
        wait(|| self.there(&fs::read(&path).unwrap()), |seen| is_right(seen))
    }

    /// Types a line that shows the page of a login, visits it, and waits for the end.
    pub(crate) fn log_in(&mut self, typed: &str) -> Vec<String> {
        let typed = [&self.state.join("\n"), &*self.here(typed)].join("\n");
        let mut terminal = Terminal::open(&self.sandbox, Kind::Usual, &typed);
        let seen =
            wait(|| String::from_utf8_lossy(&terminal.seen()).into_owned(), |seen| page(seen).is_some());
        match page(&seen) {
            Some(page) => drop(browse(page)),
            None => terminal.give_up(),
        }
        let (code, seen) = terminal.end();
        self.code = code;
        self.there(&seen)
    }

    /// Types a line: a command that opens an interactive session, or something into the one that is open. Gives what is
    /// seen of it, once it is right and the next line can be typed, or time is up.
    pub(crate) fn converse(&mut self, typed: &str, is_right: impl Fn(&[String]) -> bool) -> Vec<String> {
        let line = self.here(typed);
        match &mut self.session {
            Some((terminal, at)) => {
                *at = transcript(terminal).len();
                terminal.say(&line);
            }
            None => self.session = Some((Terminal::open(&self.sandbox, Kind::Plain, &line), 0)),
        }
        let Some((terminal, at)) = &self.session else { return Vec::new() };
        let seen = || {
            let text = transcript(terminal);
            let text = text.get(*at..).unwrap_or_default();
            // The line itself comes first, and the next prompt last.
            let rest = if *at == 0 { text } else { text.split_once('\n').unwrap_or_default().1 };
            Some(self.there(rest.strip_suffix("> ")?.as_bytes()))
        };
        wait_for(SOON, seen, |seen| seen.as_deref().is_some_and(&is_right)).unwrap_or_default()
    }

    fn seen_path(&self) -> PathBuf {
        self.sandbox.home().parent().unwrap().join(format!("seen-{}", self.running.len()))
    }
}

/// Looks again and again until what is seen is right, or time is up.
fn wait<T>(look: impl Fn() -> T, is_right: impl Fn(&T) -> bool) -> T {
    wait_for(PATIENCE, look, is_right)
}

fn wait_for<T>(patience: Duration, look: impl Fn() -> T, is_right: impl Fn(&T) -> bool) -> T {
    let start = Instant::now();
    loop {
        let seen = look();
        if is_right(&seen) || start.elapsed() > patience {
            return seen;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The page of a login that a command shows.
fn page(seen: &str) -> Option<&str> {
    seen.lines().find_map(|line| line.strip_prefix("  ").filter(|line| line.starts_with("http")))
}

/// What a session has shown, without prompts that something else took the place of.
fn transcript(terminal: &Terminal) -> String {
    String::from_utf8_lossy(&terminal.seen()).replace("> \r", "")
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some((mut terminal, _)) = self.session.take() {
            terminal.give_up();
            terminal.end();
        }
        for mut child in self.running.drain(..) {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// What the model says, one request after the other: it looks at the clock and tells; or is not allowed to.
fn turns() -> serde_json::Value {
    let arguments = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let asks = json!({"calls": [{"name": "mcp_time_convert_time", "arguments": arguments}]});
    let tells = json!({"text": "When it is 12:00 UTC, it is 21:00 in Tokyo."});
    json!([asks, tells, asks, {"text": "I was not allowed to convert it."}, asks, tells])
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
