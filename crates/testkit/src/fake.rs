//! Starts `fake-server`: a script in, an address or a file out.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::eventually_blocking;
use crate::programs::fake_server;

/// A script in a file, for a server that somebody else starts: `fake-server SCRIPT`.
#[derive(Debug)]
pub struct FakeScript {
    directory: TempDir,
    log: PathBuf,
}

impl FakeScript {
    /// Where the script is: the one argument of `fake-server`.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("script.json")
    }

    /// A command that starts the server on stdio.
    pub fn command(&self) -> Command {
        let mut command = Command::new(fake_server());
        command.arg(self.path());
        command
    }

    /// What the server has received so far, one value for each line of its log.
    pub fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        // The last line may still be half written.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The methods of the messages received so far.
    pub fn methods(&self) -> Vec<String> {
        let lines = self.log();
        let methods = lines.iter().filter_map(|line| line["message"]["method"].as_str());
        methods.map(str::to_owned).collect()
    }

    /// Waits until the log has a line for which this holds.
    ///
    /// # Panics
    ///
    /// When it does not come.
    #[track_caller]
    pub fn wait_for(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let log = eventually_blocking("such a line in its log", || self.log(), |log| log.iter().any(&wanted));
        log.into_iter().find(wanted).unwrap_or_default()
    }
}

/// A server that listens on an address of its own until this value is dropped.
#[derive(Debug)]
pub struct Fake {
    script: FakeScript,
    child: Child,
    url: String,
    /// Kept open: a server that plays with its standard output must not die of it.
    _stdout: BufReader<ChildStdout>,
}

impl Fake {
    /// Writes a script for a server on stdio. A `log` is added unless the script names one.
    ///
    /// # Panics
    ///
    /// When the disk refuses.
    #[expect(clippy::expect_used, reason = "a test that cannot make its world must stop")]
    pub fn script(mut script: Value) -> FakeScript {
        let directory = TempDir::new().expect("a temporary directory");
        let own = script.get("log").and_then(Value::as_str).map(PathBuf::from);
        let log = own.unwrap_or_else(|| directory.path().join("log.jsonl"));
        script["log"] = json!(log);
        fs::write(directory.path().join("script.json"), script.to_string()).expect("a script");
        FakeScript { directory, log }
    }

    /// Starts a server on HTTP; with `"transport": "sse"` on the old transport.
    pub fn http(script: Value) -> Self {
        Self::with_vars(script, &[])
    }

    /// Starts a server on HTTP with these variables in its environment.
    ///
    /// # Panics
    ///
    /// When it does not start.
    #[expect(clippy::expect_used, reason = "a test that cannot start its server must stop")]
    pub fn with_vars(mut script: Value, vars: &[(&str, &str)]) -> Self {
        if script.get("transport").is_none() {
            script["transport"] = json!("http");
        }
        let script = Self::script(script);
        let stderr = fs::File::create(script.directory.path().join("stderr")).expect("a file");
        let mut command = script.command();
        command.envs(vars.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().expect("fake-server");
        let mut stdout = BufReader::new(child.stdout.take().expect("its standard output"));
        let mut url = String::new();
        stdout.read_line(&mut url).expect("its address");
        let fake = Self { script, child, url: url.trim_end().to_owned(), _stdout: stdout };
        assert!(fake.url.starts_with("http://"), "it does not start: {}{}", fake.url, fake.stderr());
        fake
    }

    /// The address of its endpoint.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to the standard error so far.
    pub fn stderr(&self) -> String {
        fs::read_to_string(self.script.directory.path().join("stderr")).unwrap_or_default()
    }

    /// What it has received so far, one value for each line of its log.
    pub fn log(&self) -> Vec<Value> {
        self.script.log()
    }

    /// The methods of the messages received so far.
    pub fn methods(&self) -> Vec<String> {
        self.script.methods()
    }

    /// Waits until the log has a line for which this holds.
    #[track_caller]
    pub fn wait_for(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        self.script.wait_for(wanted)
    }

    /// Ends the server; connections to it break.
    pub fn stop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop();
    }
}
