//! Runs one command for its output, within limits.
//!
//! In: the text of a command, where it runs and what it may know. Out: what it printed, trimmed, or why there is
//! nothing. The command and everything it started is gone afterwards, also when nobody waits for it any more.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

/// What a command may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run.
    pub time: Duration,
    /// How many bytes it may print.
    pub output: usize,
    /// How long a failure is remembered before the command is tried again.
    pub failure: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(10), output: 64 * 1024, failure: Duration::from_secs(30) }
    }
}

/// Why a command gave no value. What it printed is never part of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It ended by itself and said that it failed.
    #[error("it ended with exit code {code}")]
    Exit {
        /// The code.
        code: i32,
    },
    /// Somebody else ended it.
    #[error("it was killed")]
    Killed,
    /// It took too long.
    #[error("it was still running after {limit:?}")]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// It printed too much.
    #[error("it printed more than {limit} bytes")]
    TooMuch {
        /// The limit.
        limit: usize,
    },
    /// It printed nothing but white space.
    #[error("it printed nothing")]
    Empty,
    /// It printed something else than UTF-8 text.
    #[error("it printed something that is not text")]
    NotText,
    /// The directory it should run in is not there.
    #[error("the directory it runs in does not exist")]
    NoDirectory,
    /// The system refused to start the shell.
    #[error("it could not be started ({kind})")]
    NotStarted {
        /// What the system said.
        kind: io::ErrorKind,
    },
    /// We stopped before it ended.
    #[error("it was stopped before it ended")]
    Interrupted,
}

impl Failure {
    /// What to do about it.
    pub(super) const fn hint(&self) -> &'static str {
        match self {
            Self::Exit { .. } | Self::Killed | Self::Empty => {
                "run the command by hand in the project's directory and look at what it says"
            }
            Self::TimedOut { .. } => "the command must end by itself; it cannot ask anything",
            Self::TooMuch { .. } | Self::NotText => "the command must print the value and nothing else",
            Self::NoDirectory => "start from a directory that exists",
            Self::NotStarted { .. } => "look whether the shell can be started at all",
            Self::Interrupted => "try again",
        }
    }
}

/// A command to run.
#[derive(Clone)]
pub(super) struct Request {
    /// The text for the shell.
    pub(super) command: String,
    /// Where it runs.
    pub(super) directory: PathBuf,
    /// All variables it gets.
    pub(super) env: Vec<(String, String)>,
}

/// Runs it.
pub(super) async fn run(request: &Request, limits: &Limits) -> Result<String, Failure> {
    if !request.directory.is_dir() {
        return Err(Failure::NoDirectory);
    }
    let mut child = start(request).map_err(|error| Failure::NotStarted { kind: error.kind() })?;
    let mut family = Family::of(&child);
    let ended = tokio::time::timeout(limits.time, printed(&mut child, limits.output)).await;
    // Whatever it left running in the background goes with it.
    family.kill();
    let (status, output) = match ended {
        Ok(Ok(ended)) => ended,
        Ok(Err(failure)) => {
            reap(&mut child).await;
            return Err(failure);
        }
        Err(_elapsed) => {
            reap(&mut child).await;
            return Err(Failure::TimedOut { limit: limits.time });
        }
    };
    match status.code() {
        Some(0) => {}
        Some(code) => return Err(Failure::Exit { code }),
        None => return Err(Failure::Killed),
    }
    let text = String::from_utf8(output).map_err(|_| Failure::NotText)?;
    match text.trim() {
        "" => Err(Failure::Empty),
        // Neither a variable nor a header can hold it.
        value if value.contains('\0') => Err(Failure::NotText),
        value => Ok(value.to_owned()),
    }
}

fn start(request: &Request) -> io::Result<Child> {
    let mut command = shell(&request.command);
    command
        .current_dir(&request.directory)
        .env_clear()
        .envs(request.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command.spawn()
}

#[cfg(unix)]
fn shell(text: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    // A group of its own, so that all of it can be ended at once.
    command.arg("-c").arg(text).process_group(0);
    command
}

#[cfg(windows)]
fn shell(text: &str) -> Command {
    let mut command = Command::new("cmd");
    // The shell takes the rest of the line as it stands.
    command.arg("/C").raw_arg(text);
    command
}

/// How it ended and what it printed, unless that is too much.
async fn printed(child: &mut Child, limit: usize) -> Result<(ExitStatus, Vec<u8>), Failure> {
    let failed = |error: io::Error| Failure::NotStarted { kind: error.kind() };
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // One byte over the limit tells that there is more.
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        stdout.take(most).read_to_end(&mut output).await.map_err(failed)?;
    }
    if output.len() > limit {
        return Err(Failure::TooMuch { limit });
    }
    Ok((child.wait().await.map_err(failed)?, output))
}

/// Waits for a killed child, so that nothing of it stays behind.
async fn reap(child: &mut Child) {
    // Even a killed process may hang in the system; then the runtime collects it later.
    const PATIENCE: Duration = Duration::from_secs(1);
    drop(child.start_kill());
    drop(tokio::time::timeout(PATIENCE, child.wait()).await);
}

/// A command and everything it started. Ends with this value, so that a run nobody waits for ends as well.
struct Family {
    leader: Option<u32>,
}

impl Family {
    fn of(child: &Child) -> Self {
        Self { leader: child.id() }
    }

    /// Ends all of them, once.
    fn kill(&mut self) {
        let Some(leader) = self.leader.take() else { return };
        #[cfg(unix)]
        if let Some(group) = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw) {
            // It fails if nobody is left, which is what we want.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        #[cfg(windows)]
        drop(
            std::process::Command::new("taskkill")
                .args(["/T", "/F", "/PID", &leader.to_string()])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn(),
        );
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.kill();
    }
}
