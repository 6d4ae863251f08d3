//! What every test needs: servers that end with the test, a host that answers, short words for common checks.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::catalog::{Promise, Verdict};
use switchboard::declared::Remote;
use switchboard::host::{Abilities, Answer, Elicitation, Host, Reply, Root, Wish};
use switchboard::json::Json;
use switchboard::notice::Notice;
use switchboard::offer::{Body, CallResult, ReadResult};
use switchboard::wire::{self, CallOptions, Ending, Era, Link, Terms};
use testkit::{PATIENCE, connect, eventually};

/// The entry of a package of the official servers.
pub(crate) fn package(path: &str) -> String {
    let path = testkit::peers().join("node_modules/@modelcontextprotocol").join(path);
    path.to_str().unwrap().to_owned()
}

/// An example server of the SDK for TypeScript.
pub(crate) fn example(name: &str) -> String {
    package(&format!("sdk/dist/esm/examples/server/{name}.js"))
}

pub(crate) fn node() -> PathBuf {
    testkit::peers().join("node")
}

/// A file of ours beside the lock files of the servers.
pub(crate) fn source(name: &str) -> PathBuf {
    testkit::workspace().join("peers").join(name)
}

/// A server that listens, until this value is dropped.
pub(crate) struct Listening {
    child: Child,
    port: u16,
}

impl Listening {
    /// A server in JavaScript.
    pub(crate) fn node(args: &[&str]) -> Self {
        let mut command = Command::new(node());
        command.arg("--require").arg(source("any-port.cjs")).args(args);
        Self::start(command, 1)
    }

    /// A server in JavaScript that starts one for logins before it listens itself.
    pub(crate) fn node_after_login(args: &[&str]) -> Self {
        let mut command = Command::new(node());
        command.arg("--require").arg(source("any-port.cjs")).args(args);
        Self::start(command, 2)
    }

    /// The server in Python.
    pub(crate) fn fastmcp(args: &[&str]) -> Self {
        let mut command = Command::new(testkit::peers().join("python/bin/python"));
        command.arg(source("fastmcp_server.py")).arg("0").args(args);
        Self::start(command, 1)
    }

    /// The port is the one it says at this time of saying.
    fn start(mut command: Command, time: usize) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // Below its guard before anything can fail.
        let mut listening = Self { child, port: 0 };
        let mut ports = lines.by_ref().filter_map(|line| line.strip_prefix("listening ")?.parse().ok());
        listening.port = ports.nth(time - 1).expect("the port it listens on");
        // Some talk all the time, and would stand still if nobody listened.
        std::thread::spawn(move || lines.for_each(drop));
        listening
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Says yes to everything, and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Willing {
    pub(crate) folder: PathBuf,
    /// The values for every form; those a form does not have are left out.
    pub(crate) values: Value,
    // Written by the tasks that answer, read by the test at its end.
    asked: Mutex<Vec<String>>,
}

impl Willing {
    pub(crate) fn new(folder: &Path, values: Value) -> Arc<Self> {
        Arc::new(Self { folder: folder.to_owned(), values, asked: Mutex::default() })
    }

    /// What it was asked so far, in order: `roots`, `form ..`, `visit ..`, `sample ..`.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until it was asked something that starts like this.
    pub(crate) async fn wait_for(&self, start: &str) {
        let is_asked = |asked: &Vec<String>| asked.iter().any(|asked| asked.starts_with(start));
        eventually(format!("it is asked for {start}"), || self.asked(), is_asked).await;
    }

    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }
}

impl Host for Willing {
    fn abilities(&self) -> Abilities {
        Abilities { roots: true, forms: true, urls: true, sampling: true }
    }

    fn roots(&self) -> Vec<Root> {
        self.note("roots".to_owned());
        vec![Root::new(&self.folder)]
    }

    fn elicit(&self, question: Elicitation) -> Reply<'_, Answer> {
        assert_eq!(question.server, "test");
        let answer = match question.wish {
            Wish::Form { schema } => {
                self.note(format!("form {}", question.message));
                let schema = schema.value();
                let has = |name: &str| schema["properties"].get(name).is_some();
                let values = self.values.as_object().cloned().unwrap_or_default();
                json!(values.into_iter().filter(|(name, _)| has(name)).collect::<serde_json::Map<_, _>>())
            }
            Wish::Visit { url } => {
                self.note(format!("visit {url}"));
                Value::Null
            }
        };
        Box::pin(std::future::ready(Answer::Accept(answer.into())))
    }

    fn sample(&self, server: String, params: Json) -> Reply<'_, Result<Json, String>> {
        assert_eq!(server, "test");
        self.note(format!("sample {}", params.value()["messages"][0]["content"]["text"]));
        let answer = json!({
            "role": "assistant", "model": "test-model", "stopReason": "endTurn",
            "content": {"type": "text", "text": "an old silent pond"},
        });
        Box::pin(std::future::ready(Ok(answer.into())))
    }
}

/// The usual terms, with more time: two servers start at once on a slow machine.
pub(crate) fn terms() -> Terms {
    let limit = Some(Duration::from_secs(30));
    Terms { startup: limit, timeout: limit, ..connect::terms() }
}

pub(crate) fn terms_with(host: &Arc<Willing>) -> Terms {
    Terms { host: Arc::clone(host) as Arc<dyn Host>, ..terms() }
}

/// A server on stdio, opened.
pub(crate) async fn stdio(program: &Path, args: &[&str], terms: &Terms) -> Link {
    let launch = connect::command(program, args, &[]).await;
    let link = wire::open(&launch, terms).await.unwrap_or_else(|failure| panic!("{failure:?}"));
    assert_eq!(link.transport(), "stdio");
    link
}

/// A server over HTTP, opened.
pub(crate) async fn dial(url: &str, kind: Remote, terms: &Terms) -> Link {
    let launch = connect::address(url, kind, &[]).await;
    wire::open(&launch, terms).await.unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// Checks the version, which says the era as well.
pub(crate) fn speaks(link: &Link, version: &str) {
    let era = if version == "2026-07-28" { Era::Modern } else { Era::Handshake };
    assert_eq!((link.facts().era, link.facts().version.as_str()), (era, version));
}

/// The names of the tools, of which every one can be used.
pub(crate) async fn tools(link: &Link) -> BTreeSet<String> {
    let listing = link.tools().await.unwrap();
    assert!(listing.odd.is_empty() && listing.notes.is_empty() && listing.cut.is_none(), "{listing:?}");
    listing.items.into_iter().map(|tool| tool.name).collect()
}

pub(crate) fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What a tool makes of its promise, if it has one.
pub(crate) async fn promised(link: &Link, tool: &str, result: &CallResult) -> Option<Verdict> {
    let listing = link.tools().await.unwrap();
    let schema = listing.items.into_iter().find(|item| item.name == tool)?.output_schema?;
    Some(Promise::new(schema).check(result.structured.as_ref().unwrap()))
}

/// Calls a tool that must not fail.
pub(crate) async fn call(link: &Link, tool: &str, arguments: Value) -> CallResult {
    let result = link.call(tool, &arguments.into(), CallOptions::default()).await.unwrap();
    assert!(!result.is_error, "{tool}: {result:?}");
    result
}

/// Calls a tool and gives the text of its first block.
pub(crate) async fn say(link: &Link, tool: &str, arguments: Value) -> String {
    let result = call(link, tool, arguments).await;
    result.content.first().and_then(|block| block.text.clone()).expect("a block of text")
}

/// Calls a tool and gives the steps of its progress.
pub(crate) async fn steps(link: &Link, tool: &str, arguments: Value) -> Vec<(f64, Option<f64>)> {
    let mut heard = Vec::new();
    let mut hear = |progress: switchboard::notice::Progress| heard.push((progress.progress, progress.total));
    let options = CallOptions { timeout: None, on_progress: Some(&mut hear) };
    let result = link.call(tool, &arguments.into(), options).await.unwrap();
    assert!(!result.is_error, "{tool}: {result:?}");
    heard
}

/// The one text of a resource.
pub(crate) fn text(read: &ReadResult) -> &str {
    match read.contents.as_slice() {
        [contents] => match &contents.body {
            Body::Text(text) => text,
            other => panic!("no text: {other:?}"),
        },
        other => panic!("not one: {other:?}"),
    }
}

/// Waits for a notice for which this holds.
pub(crate) async fn notice(link: &Link, wanted: impl Fn(&Notice) -> bool) -> Notice {
    let wait = async {
        loop {
            let notice = link.notice().await;
            if wanted(&notice) {
                return notice;
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("the notice")
}

/// Ends a link whose server goes when its input is closed.
pub(crate) async fn ends_by_itself(link: &Link) {
    ends(link, Ending::ByItself, 0).await;
}

/// Ends a link to a server we started: in this way, clean on its output, with so many stray answers at most, and
/// nothing is left of it.
pub(crate) async fn ends(link: &Link, ending: Ending, strays: u64) {
    assert_eq!(link.noise().0, 0, "{:?}", link.noise());
    assert!(link.strays() <= strays, "{}", link.strays());
    let before = below(std::process::id());
    assert!(!before.is_empty());
    assert_eq!(link.stop().await, ending);
    assert!(!link.is_up());
    let alive: BTreeSet<u32> = processes().into_iter().map(|(pid, _)| pid).collect();
    assert!(before.is_disjoint(&alive), "left behind: {:?}", before.intersection(&alive));
}

/// All processes below one.
fn below(top: u32) -> BTreeSet<u32> {
    let all = processes();
    let mut found = BTreeSet::new();
    let mut next = vec![top];
    while let Some(parent) = next.pop() {
        let children = all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid);
        next.extend(children.filter(|pid| found.insert(*pid)));
    }
    found
}

/// The processes that live, each with its parent.
fn processes() -> Vec<(u32, u32)> {
    let mut command = Command::new("ps");
    command.args(["-A", "-o", "pid=,ppid=,stat="]).stdout(Stdio::piped());
    let child = command.spawn().unwrap();
    let own = child.id();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let read = |line: &str| {
        let mut fields = line.split_whitespace();
        let (pid, parent, state) = (fields.next()?, fields.next()?, fields.next()?);
        let pid = pid.parse().ok().filter(|pid| *pid != own && !state.starts_with('Z'))?;
        Some((pid, parent.parse().ok()?))
    };
    text.lines().filter_map(read).collect()
}
