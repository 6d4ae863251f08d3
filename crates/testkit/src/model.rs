//! Starts `fake-model`: a script in, an address out.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::eventually_blocking;
use crate::programs::fake_model;

/// A model on this machine that follows a script until this value is dropped.
#[derive(Debug)]
pub struct FakeModel {
    _directory: TempDir,
    log: PathBuf,
    child: Child,
    url: String,
}

impl FakeModel {
    /// Starts it: each request gets the next turn.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn start(turns: &Value) -> Self {
        Self::with(json!({ "turns": turns }))
    }

    /// The same, and the last turn comes again and again.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn repeating(turns: &Value) -> Self {
        Self::with(json!({"turns": turns, "repeat": true}))
    }

    #[expect(clippy::expect_used, reason = "a test that cannot make its world must stop")]
    fn with(mut script: Value) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let log = directory.path().join("log.jsonl");
        script["log"] = json!(log);
        let path = directory.path().join("script.json");
        fs::write(&path, script.to_string()).expect("a script");
        let mut child = Command::new(fake_model())
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("fake-model");
        let mut url = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut url).expect("its address");
        Self { _directory: directory, log, child, url: url.trim().to_owned() }
    }

    /// Where it is, without a path.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it was asked so far, and when somebody went away: one value for each line of its log.
    pub fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The bodies of the requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.log()
            .into_iter()
            .filter(|line| line.get("path").is_some())
            .map(|line| line["body"].clone())
            .collect()
    }

    /// Waits until the log has a line for which this holds.
    ///
    /// # Panics
    ///
    /// When it does not come.
    #[track_caller]
    pub fn wait_for(&self, wanted: impl Fn(&Value) -> bool) {
        eventually_blocking("such a line in its log", || self.log(), |log| log.iter().any(&wanted));
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
