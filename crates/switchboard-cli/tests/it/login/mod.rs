//! Logging in and out as its users meet it, with real login servers. Every test ends with a search for what must not be
//! seen.

mod attacks;
mod failures;
mod keyring;
mod machines;
mod use_of_it;
mod who_we_are;
mod whole;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Stdio};

use serde_json::{Value, json};
use testkit::Sandbox;
use testkit::logins::{Canaries, Peer, Reply, browse};

use crate::switchboard;

/// A home with one server that wants a login, and everything that was said in it.
struct World {
    sandbox: Sandbox,
    peer: Peer,
    said: Vec<u8>,
    canaries: Canaries,
}

/// How a command ended.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

/// A command that shows a login page and waits.
struct Waiting {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// What it said so far.
    err: String,
    page: String,
}

impl World {
    fn new(peer: Peer) -> Self {
        Self::with(peer, &json!({}))
    }

    /// The entry has this in it besides the address.
    fn with(peer: Peer, conduct: &Value) -> Self {
        let mut world =
            Self { sandbox: Sandbox::new(), peer, said: Vec::new(), canaries: Canaries::default() };
        world.sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        world.declare(conduct);
        world
    }

    fn declare(&mut self, conduct: &Value) {
        let mut entry = json!({"url": self.peer.url(), "approval": "never"});
        if let (Value::Object(entry), Value::Object(conduct)) = (&mut entry, conduct) {
            entry.extend(conduct.clone());
        }
        let file = json!({"mcpServers": {"tracker": entry}}).to_string();
        self.sandbox.write("~/.switchboard/mcp.json", file);
    }

    fn set(&mut self, name: &str, value: &str) {
        let sandbox = std::mem::take(&mut self.sandbox);
        self.sandbox = sandbox.with_var(name, value);
    }

    /// The file of the login, if there is one.
    fn kept(&self) -> Option<Value> {
        let files =
            fs::read_dir(self.sandbox.path("~/.switchboard/credentials")).into_iter().flatten().flatten();
        let mut logins = files.filter(|file| file.path().extension().is_some_and(|end| end == "json"));
        serde_json::from_slice(&fs::read(logins.next()?.path()).unwrap()).ok()
    }

    fn run(&mut self, line: &[&str]) -> Ran {
        let output = switchboard(&self.sandbox).args(line).output().unwrap();
        let (out, err) = (output.stdout, output.stderr);
        self.ran(output.status.code(), out, err)
    }

    fn ran(&mut self, code: Option<i32>, out: Vec<u8>, err: Vec<u8>) -> Ran {
        self.canaries.add_credentials(&self.sandbox.path("~/.switchboard/credentials"));
        self.said.extend(&out);
        self.said.extend(&err);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code, out: text(out), err: text(err) }
    }

    /// What the server says about whoever calls its tool.
    fn call(&mut self) -> Value {
        let ran = self.run(&["call", "tracker/echo", "text=hi"]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Begins to log in.
    fn begin(&self, more: &[&str], stdin: Stdio) -> Waiting {
        let mut command = switchboard(&self.sandbox);
        command.args(["reauth", "tracker", "--no-browser"]).args(more).stdin(stdin);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut err = String::new();
        let page = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended without a page: {err}");
            err += &line;
            if line.starts_with("  http") {
                break line.trim().to_owned();
            }
        };
        Waiting { child, stderr, err, page }
    }

    /// Nothing more is pasted.
    fn end(&mut self, mut waiting: Waiting) -> Ran {
        drop(waiting.child.stdin.take());
        let mut rest = String::new();
        waiting.stderr.read_to_string(&mut rest).unwrap();
        let output = waiting.child.wait_with_output().unwrap();
        self.ran(output.status.code(), output.stdout, (waiting.err + &rest).into_bytes())
    }

    /// Logs in as a person would whose browser is on this machine.
    fn login(&mut self, more: &[&str]) -> Ran {
        let waiting = self.begin(more, Stdio::null());
        let reply = browse(&waiting.page);
        assert!(reply.body.contains("You are logged in to Switchboard"), "{reply:?}");
        let ran = self.end(waiting);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        ran
    }

    /// Nothing that was said or written has a secret in it, but for the files of logins.
    fn ends_clean(mut self) {
        for secret in self.peer.seen() {
            self.canaries.add(&secret);
        }
        assert_eq!(self.canaries.find(&self.said), None, "{}", String::from_utf8_lossy(&self.said));
        assert_eq!(self.canaries.find_below(self.sandbox.home().parent().unwrap()), None);
    }
}

impl Waiting {
    fn paste(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    /// Waits for a line with these words in it.
    fn hear(&mut self, words: &str) {
        loop {
            let mut line = String::new();
            let n_bytes = self.stderr.read_line(&mut line).unwrap();
            assert!(n_bytes > 0, "it ended without {words:?}: {}", self.err);
            self.err += &line;
            if line.contains(words) {
                return;
            }
        }
    }

    /// What a stranger is told who knocks at the door for the browser.
    fn knock(&self, request: &str) -> Reply {
        let redirect = testkit::logins::parameter(&self.page, "redirect_uri").unwrap();
        let redirect = redirect.replace("%3A", ":").replace("%2F", "/");
        let authority = redirect.strip_prefix("http://").unwrap().strip_suffix("/callback").unwrap();
        testkit::logins::said(authority, request.replace("[HOST]", authority).as_bytes())
    }
}

impl Ran {
    /// Ended in this way, with these words.
    fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        for words in words {
            assert!(self.err.contains(words), "{words} is not in {}", self.err);
        }
    }
}
