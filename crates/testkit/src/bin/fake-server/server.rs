//! What all requests share: the script, the log, sessions, calls that run, questions without an answer yet.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::action::Action;
use crate::http::kept::Kept;
use crate::http::sse::Outlet;
use crate::script::Script;

pub(crate) struct Server {
    pub(crate) script: Script,
    pub(crate) stdout: tokio::sync::Mutex<tokio::io::Stdout>,
    /// Streams of HTTP answers that can be asked for again.
    pub(crate) kept: Mutex<HashMap<u64, Arc<Kept>>>,
    /// The open streams of the old transport.
    pub(crate) outlets: Mutex<HashMap<String, Outlet>>,
    /// Who hears notifications that belong to no call.
    pub(crate) listeners: Mutex<Vec<mpsc::Sender<Value>>>,
    /// Where `initialize` was seen: the sessions, or one entry for a server without any.
    ready: Mutex<HashSet<String>>,
    log: Option<Mutex<File>>,
    runs: Option<Mutex<File>>,
    calls: AtomicU64,
    numbers: AtomicU64,
    rounds: Mutex<HashMap<String, usize>>,
    running: Mutex<HashMap<String, Arc<Notify>>>,
    questions: Mutex<HashMap<String, oneshot::Sender<Value>>>,
}

/// A lock that a panic elsewhere does not spoil.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

impl Server {
    pub(crate) fn new(script: Script) -> io::Result<Self> {
        let path = script.log.clone().or_else(|| std::env::var_os("FAKE_LOG").map(Into::into));
        let log = path.map(|path| append(&path)).transpose()?.map(Mutex::new);
        let runs = script.runs.as_deref().map(append).transpose()?.map(Mutex::new);
        Ok(Self {
            script,
            stdout: tokio::sync::Mutex::new(tokio::io::stdout()),
            kept: Mutex::default(),
            outlets: Mutex::default(),
            listeners: Mutex::default(),
            ready: Mutex::default(),
            log,
            runs,
            calls: AtomicU64::new(0),
            numbers: AtomicU64::new(0),
            rounds: Mutex::default(),
            running: Mutex::default(),
            questions: Mutex::default(),
        })
    }

    /// Writes a line of the log. The file has it before this returns: a test sees it whatever comes next.
    pub(crate) fn log(&self, line: &Value) {
        if let Some(log) = &self.log {
            drop(lock(log).write_all(format!("{line}\n").as_bytes()));
        }
    }

    /// Notes that a tool ran. Unlike the log it leaves out what was refused before it could.
    pub(crate) fn ran(&self, params: &Value) {
        if let Some(runs) = &self.runs {
            let line = json!({"name": params["name"], "arguments": params["arguments"]});
            drop(lock(runs).write_all(format!("{line}\n").as_bytes()));
        }
    }

    /// A number nobody had before.
    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts a call of the tool `count`, also in the file that outlives the process.
    pub(crate) fn count(&self) -> io::Result<u64> {
        let count = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(path) = std::env::var_os("FAKE_COUNTER") {
            append(Path::new(&path))?.write_all(format!("{count}\n").as_bytes())?;
        }
        Ok(count)
    }

    /// The entry of the script for a method: the one for this very tool if there is one.
    fn key(&self, method: &str, tool: Option<&str>) -> Option<String> {
        let on = &self.script.on;
        let own = tool.filter(|_| method == "tools/call").map(|tool| format!("{method} {tool}"));
        own.filter(|own| on.contains_key(own)).or_else(|| on.contains_key(method).then(|| method.to_owned()))
    }

    /// What to play for a method this time; nothing if the script does not speak of it. `*` is for requests
    /// only: an answer to a notification should not come by accident.
    pub(crate) fn actions(&self, method: &str, tool: Option<&str>, wildcard: bool) -> Option<&[Action]> {
        let key = self.key(method, tool).or_else(|| wildcard.then(|| "*".to_owned()))?;
        let rounds = self.script.on.get(&key)?;
        let mut seen = lock(&self.rounds);
        let round = seen.entry(key).or_insert(0);
        let actions = rounds.get(*round).or(rounds.last())?;
        *round += 1;
        Some(actions)
    }

    /// Whether the script says for this method how the HTTP exchange itself ends.
    pub(crate) fn speaks_http(&self, method: &str, tool: Option<&str>) -> bool {
        let key = self.key(method, tool).unwrap_or_else(|| "*".to_owned());
        self.script.on.get(&key).is_some_and(|rounds| rounds.iter().flatten().any(Action::is_http))
    }

    pub(crate) fn set_ready(&self, scope: &str) {
        lock(&self.ready).insert(scope.to_owned());
    }

    pub(crate) fn is_ready(&self, scope: &str) -> bool {
        lock(&self.ready).contains(scope)
    }

    /// Ends a session; false if there was none.
    pub(crate) fn end(&self, scope: &str) -> bool {
        lock(&self.ready).remove(scope)
    }

    /// Forgets every session, as a restart would.
    pub(crate) fn forget(&self) {
        lock(&self.ready).clear();
    }

    /// Registers a call that can be cancelled.
    pub(crate) fn begin(&self, scope: &str, id: &Value) -> Arc<Notify> {
        let cancel = Arc::new(Notify::new());
        lock(&self.running).insert(format!("{scope} {id}"), Arc::clone(&cancel));
        cancel
    }

    pub(crate) fn done(&self, scope: &str, id: &Value) {
        lock(&self.running).remove(&format!("{scope} {id}"));
    }

    pub(crate) fn cancel(&self, scope: &str, id: &Value) {
        if let Some(cancel) = lock(&self.running).get(&format!("{scope} {id}")) {
            cancel.notify_one();
        }
    }

    /// Expects the client's answer to a question.
    pub(crate) fn expect(&self, id: &Value) -> oneshot::Receiver<Value> {
        let (sender, receiver) = oneshot::channel();
        lock(&self.questions).insert(id.to_string(), sender);
        receiver
    }

    /// Takes the client's answer to a question.
    pub(crate) fn answered(&self, message: Value) {
        let id = message.get("id").unwrap_or(&Value::Null).to_string();
        if let Some(question) = lock(&self.questions).remove(&id) {
            drop(question.send(message));
        }
    }

    /// Sends a notification to everyone who listens; false if nobody does.
    pub(crate) async fn broadcast(&self, message: &Value) -> bool {
        let listeners = lock(&self.listeners).clone();
        let mut heard = false;
        for listener in listeners {
            heard |= listener.send(message.clone()).await.is_ok();
        }
        heard
    }

    /// A new listener.
    pub(crate) fn listen(&self) -> mpsc::Receiver<Value> {
        let (sender, receiver) = mpsc::channel(16);
        let mut listeners = lock(&self.listeners);
        listeners.retain(|listener| !listener.is_closed());
        listeners.push(sender);
        receiver
    }
}
