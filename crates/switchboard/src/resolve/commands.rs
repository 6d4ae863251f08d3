//! The commands whose output is a value: each runs once for everybody who asks.
//!
//! In: a command and the directory it runs in. Out: its output. A success is kept as long as the process lives, a
//! failure for a while, and callers that come while it runs share that run. The output is kept in memory only.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::run::{self, Failure, Limits, Request};

/// So many run at a time; more would only slow each other down.
const MOST_AT_ONCE: usize = 16;
/// So many are remembered; nobody configures that many.
const MOST_KNOWN: usize = 1024;

/// Every command of this process and what became of it. One for all launches.
pub struct Commands {
    limits: Limits,
    /// Locked for a look into a map, never while something is waited for.
    runs: Mutex<Runs>,
    places: Arc<Semaphore>,
}

#[derive(Default)]
struct Runs {
    known: HashMap<Key, watch::Receiver<Option<Finished>>>,
    /// The runs themselves: a caller that goes away takes nothing with it, and all end with this set.
    running: JoinSet<()>,
}

type Key = (String, PathBuf);

pub(super) struct Finished {
    result: Result<String, Failure>,
    at: Instant,
}

impl Default for Commands {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Commands {
    /// No command has run yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, runs: Mutex::default(), places: Arc::new(Semaphore::new(MOST_AT_ONCE)) }
    }

    /// The output of the command: remembered, of the run under way, or of a new one.
    pub(super) async fn output(&self, request: Request) -> Result<String, Failure> {
        let mut run = self.start(request);
        match run.wait_for(Option::is_some).await {
            Ok(finished) => finished.as_ref().map_or(Err(Failure::Interrupted), |run| run.result.clone()),
            Err(_closed) => Err(Failure::Interrupted),
        }
    }

    /// Starts the command unless that is not needed, and does not wait for it.
    pub(super) fn start(&self, request: Request) -> watch::Receiver<Option<Finished>> {
        let key = (request.command.clone(), request.directory.clone());
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = runs.known.get(&key).filter(|run| self.is_good(run)) {
            return run.clone();
        }
        while runs.running.try_join_next().is_some() {}
        if runs.known.len() >= MOST_KNOWN {
            runs.known.retain(|_, run| run.borrow().is_none());
        }
        let (sender, receiver) = watch::channel(None);
        let (limits, places) = (self.limits, Arc::clone(&self.places));
        runs.running.spawn(async move {
            // Nobody closes the semaphore, so there is a place in the end.
            let _place = places.acquire_owned().await;
            let result = run::run(&request, &limits).await;
            sender.send_replace(Some(Finished { result, at: Instant::now() }));
        });
        runs.known.insert(key, receiver.clone());
        receiver
    }

    /// Whether the run is under way or its result still counts.
    fn is_good(&self, run: &watch::Receiver<Option<Finished>>) -> bool {
        match run.borrow().as_ref() {
            Some(Finished { result: Ok(_), .. }) => true,
            Some(Finished { result: Err(_), at }) => at.elapsed() < self.limits.failure,
            // A run whose sender is gone ended with the runtime it was on.
            None => run.has_changed().is_ok(),
        }
    }
}

impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands").field("limits", &self.limits).finish_non_exhaustive()
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::time::Duration;

    use tempfile::TempDir;
    use tokio::sync::oneshot;

    use super::*;

    fn request(command: &str, directory: &TempDir) -> Request {
        let path = ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
        Request { command: command.to_owned(), directory: directory.path().to_owned(), env: vec![path] }
    }

    fn n_lines(directory: &TempDir, file: &str) -> usize {
        fs::read_to_string(directory.path().join(file)).unwrap().lines().count()
    }

    #[tokio::test]
    async fn each_way_to_fail_has_its_name() {
        let home = TempDir::new().unwrap();
        let commands = Commands::default();
        let check = async |command: &str, expected: Result<&str, Failure>| {
            let result = commands.output(request(command, &home)).await;
            assert_eq!(result, expected.map(str::to_owned), "{command}");
        };
        check("echo ' hi there '; echo", Ok("hi there")).await;
        check("exit 3", Err(Failure::Exit { code: 3 })).await;
        check("echo secret; false", Err(Failure::Exit { code: 1 })).await;
        check("kill -9 $$", Err(Failure::Killed)).await;
        check("echo; echo ' '", Err(Failure::Empty)).await;
        check("", Err(Failure::Empty)).await;
        check("printf 'a\\0b'", Err(Failure::NotText)).await;
        check("printf '\\377'", Err(Failure::NotText)).await;
        check("cat", Err(Failure::Empty)).await;
        check("echo \0", Err(Failure::NotStarted { kind: std::io::ErrorKind::InvalidInput })).await;
        let nowhere = Request { directory: home.path().join("gone"), ..request("echo x", &home) };
        assert_eq!(commands.output(nowhere).await, Err(Failure::NoDirectory));
    }

    #[tokio::test]
    async fn output_has_a_limit() {
        let home = TempDir::new().unwrap();
        let commands = Commands::default();
        let limit = Limits::default().output;
        let of = |n: usize| request(&format!("head -c {n} /dev/zero | tr '\\0' x"), &home);
        assert_eq!(commands.output(of(limit)).await.map(|text| text.len()), Ok(limit));
        assert_eq!(commands.output(of(limit + 1)).await, Err(Failure::TooMuch { limit }));
        assert_eq!(commands.output(request("yes", &home)).await, Err(Failure::TooMuch { limit }));
    }

    #[tokio::test]
    async fn callers_share_one_run() {
        let home = TempDir::new().unwrap();
        let commands = Arc::new(Commands::default());
        let mut callers = JoinSet::new();
        for _ in 0..10 {
            let (commands, request) = (Arc::clone(&commands), request("echo x >> runs; echo token", &home));
            callers.spawn(async move { commands.output(request).await });
        }
        for result in callers.join_all().await {
            assert_eq!(result, Ok("token".to_owned()));
        }
        commands.output(request("echo x >> runs; echo token", &home)).await.unwrap();
        assert_eq!(n_lines(&home, "runs"), 1);
    }

    #[tokio::test]
    async fn a_failure_is_remembered_for_a_while() {
        let home = TempDir::new().unwrap();
        let check = async |failure: Duration, file: &str, n_runs: usize| {
            let commands = Commands::new(Limits { failure, ..Limits::default() });
            for _ in 0..3 {
                let result = commands.output(request(&format!("echo x >> {file}; exit 1"), &home)).await;
                assert_eq!(result, Err(Failure::Exit { code: 1 }));
            }
            assert_eq!(n_lines(&home, file), n_runs);
        };
        check(Duration::from_secs(30), "remembered", 1).await;
        check(Duration::ZERO, "forgotten", 3).await;
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_takes_nothing_with_it() {
        let home = TempDir::new().unwrap();
        let commands = Commands::default();
        let script = "mkfifo door; echo x >> runs; cat door";
        tokio::select! {
            biased;
            result = commands.output(request(script, &home)) => panic!("too early: {result:?}"),
            () = tokio::task::yield_now() => {}
        }
        let door = home.path().join("door");
        let opened = async {
            while !door.exists() {
                tokio::task::yield_now().await;
            }
            tokio::task::spawn_blocking(move || fs::write(door, "token")).await
        };
        let (result, _) = tokio::join!(commands.output(request(script, &home)), opened);
        assert_eq!(result, Ok("token".to_owned()));
        assert_eq!(n_lines(&home, "runs"), 1);
    }

    /// A pipe of which one can tell when the first process holds it and when the last one is gone.
    struct Pipe {
        started: oneshot::Receiver<()>,
        gone: oneshot::Receiver<usize>,
    }

    impl Pipe {
        fn new(home: &TempDir) -> Self {
            let path = home.path().join("pipe");
            assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
            let (on_start, started) = oneshot::channel();
            let (at_end, gone) = oneshot::channel();
            std::thread::spawn(move || {
                let mut pipe = fs::File::open(path).unwrap();
                on_start.send(()).unwrap();
                at_end.send(pipe.read_to_end(&mut Vec::new()).unwrap())
            });
            Self { started, gone }
        }

        async fn until_gone(self) {
            tokio::time::timeout(Duration::from_secs(20), self.gone).await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn nothing_outlives_its_limit() {
        let home = TempDir::new().unwrap();
        let pipe = Pipe::new(&home);
        let limit = Duration::from_secs(1);
        let commands = Commands::new(Limits { time: limit, ..Limits::default() });
        let result = commands.output(request("exec 3>pipe; sleep 100 & sleep 100", &home)).await;
        assert_eq!(result, Err(Failure::TimedOut { limit }));
        pipe.until_gone().await;
    }

    #[tokio::test]
    async fn nothing_outlives_a_success() {
        let home = TempDir::new().unwrap();
        let pipe = Pipe::new(&home);
        let script = "exec 3>pipe; sleep 100 >/dev/null & echo token";
        assert_eq!(Commands::default().output(request(script, &home)).await, Ok("token".to_owned()));
        pipe.until_gone().await;
    }

    #[tokio::test]
    async fn nothing_outlives_us() {
        let home = TempDir::new().unwrap();
        let mut pipe = Pipe::new(&home);
        let commands = Commands::default();
        drop(commands.start(request("exec 3>pipe; sleep 100 & sleep 100", &home)));
        (&mut pipe.started).await.unwrap();
        drop(commands);
        pipe.until_gone().await;
    }
}
