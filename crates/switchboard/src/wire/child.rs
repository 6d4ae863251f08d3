//! The process of a stdio server: started, listened to, ended in order.
//!
//! It is started below a guard (see [`super::guard`]) where there is one. Its standard error is always read, so it can
//! never block on it, and the last of it is kept. Ending goes: close its input, wait; ask it to end, wait; kill.

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::{Cause, Exit};
use super::guard::{self, Guard};
use super::pace::Pace;
use crate::resolve::Child as Launch;

/// How much of its standard error is kept.
const TAIL: usize = 64 * 1024;
/// After its input was closed.
const CLOSE_GRACE: Duration = Duration::from_secs(1);
/// After it was asked to end; the guard kills after a shorter time by itself.
const END_GRACE: Duration = Duration::from_secs(3);

/// A running process. Dropping it asks the guard to end everything.
#[derive(Debug)]
pub(crate) struct Process {
    /// Whom signals go to.
    #[cfg(unix)]
    pid: Option<u32>,
    is_guarded: bool,
    ended: watch::Receiver<Option<Exit>>,
    stderr: Arc<Tail>,
    /// End by themselves with the process, or with the runtime.
    #[cfg_attr(unix, expect(dead_code, reason = "where there are no groups, aborting them kills"))]
    tasks: [JoinHandle<()>; 2],
}

/// How a process was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It went when its input was closed, or had gone before.
    ByItself,
    /// It went when it was asked to.
    Asked,
    /// It had to be killed.
    Killed,
}

impl Ending {
    /// The word in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ByItself => "by-itself",
            Self::Asked => "asked",
            Self::Killed => "killed",
        }
    }
}

impl Process {
    /// Starts the process; the streams go to whoever speaks with it.
    pub(crate) fn start(
        launch: &Launch,
        guard: Option<&Guard>,
        unasked: Option<u32>,
    ) -> Result<(Self, Streams), Cause> {
        let mut command = command(launch, guard);
        let mut child = command
            .spawn()
            .map_err(|error| Cause::Start { program: launch.program.clone(), why: error.to_string() })?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Cause::Start { program: launch.program.clone(), why: "no streams".to_owned() });
        };
        #[cfg(unix)]
        let pid = child.id();
        let (tell, ended) = watch::channel(None);
        let stderr = Arc::new(Tail::default());
        let finished = AtTheEnd(Arc::clone(&stderr), |tail| &tail.finished);
        let reading = tokio::spawn(read_errors(errors, finished, Pace::new(unasked)));
        let gone = AtTheEnd(Arc::clone(&stderr), |tail| &tail.gone);
        let waiting = tokio::spawn(async move {
            let exit = child.wait().await.map_or(Exit::Unknown, how);
            tell.send_replace(Some(exit));
            drop(gone);
        });
        let tasks = [reading, waiting];
        let process = Self {
            #[cfg(unix)]
            pid,
            is_guarded: guard.is_some(),
            ended,
            stderr,
            tasks,
        };
        Ok((process, Streams { input, output }))
    }

    /// What it writes to its standard error, as it comes.
    pub(crate) fn tail(&self) -> Arc<Tail> {
        Arc::clone(&self.stderr)
    }

    /// The end of its standard error.
    pub(crate) fn stderr_tail(&self) -> String {
        self.stderr.text()
    }

    /// Waits for its end for so long at most.
    pub(crate) async fn ended(&self, limit: Duration) -> Option<Exit> {
        let mut ended = self.ended.clone();
        let exit = timeout(limit, ended.wait_for(Option::is_some)).await.ok()?.ok().and_then(|exit| *exit);
        // What it said last may still be in the pipe.
        let _still_open = timeout(Duration::from_millis(100), self.stderr.finished()).await;
        exit
    }

    /// Why it ended: a guard that could not start it says so in its place.
    pub(crate) fn cause(&self, exit: Exit, launch: &Launch) -> Cause {
        if exit == Exit::Code(guard::CANNOT_START_CODE)
            && let Some((_, why)) = self.stderr.text().split_once(guard::CANNOT_START)
        {
            let why = why.lines().next().unwrap_or_default().to_owned();
            return Cause::Start { program: launch.program.clone(), why };
        }
        Cause::Exited { how: exit }
    }

    /// Ends it in order. Its input must have been closed by whoever holds it.
    pub(crate) async fn stop(&self) -> Ending {
        if self.ended(CLOSE_GRACE).await.is_some() {
            return Ending::ByItself;
        }
        self.signal(Force::Ask);
        match self.ended(END_GRACE).await {
            Some(Exit::Signal(9)) => Ending::Killed,
            Some(_) => Ending::Asked,
            None => {
                self.signal(Force::Kill);
                self.ended(CLOSE_GRACE).await;
                Ending::Killed
            }
        }
    }

    #[cfg(unix)]
    fn signal(&self, force: Force) {
        use rustix::process::{Pid, Signal, kill_process, kill_process_group};
        if self.ended.borrow().is_some() {
            return;
        }
        let Some(pid) = self.pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw) else {
            return;
        };
        // Without a guard, the group is all that can be reached.
        let _gone = match (force, self.is_guarded) {
            (Force::Ask, true) => kill_process(pid, Signal::TERM),
            (Force::Ask, false) => kill_process_group(pid, Signal::TERM),
            (Force::Kill, true) => kill_process(pid, Signal::KILL),
            (Force::Kill, false) => kill_process_group(pid, Signal::KILL),
        };
    }

    #[cfg(not(unix))]
    fn signal(&self, _force: Force) {
        // Dropping the task that waits kills the process.
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Force::Ask);
        // Without a guard nobody comes back to look whether it went.
        if !self.is_guarded {
            self.signal(Force::Kill);
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Force {
    Ask,
    Kill,
}

/// The ends of the streams that are ours.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
}

fn command(launch: &Launch, guard: Option<&Guard>) -> Command {
    let mut command = match guard {
        Some(guard) => {
            let mut command = Command::new(&guard.program);
            command.args(&guard.args).arg(std::process::id().to_string()).arg("--").arg(&launch.program);
            command
        }
        None => Command::new(&launch.program),
    };
    command.args(&launch.args).env_clear().envs(launch.env.iter().map(|(name, value)| (name, value)));
    command.current_dir(&launch.cwd);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    if guard.is_none() {
        command.process_group(0);
    }
    #[cfg(not(unix))]
    command.kill_on_drop(true);
    command
}

fn how(status: ExitStatus) -> Exit {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Exit::Signal(signal);
    }
    status.code().map_or(Exit::Unknown, Exit::Code)
}

/// The last words of a process.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    // Written by one task in short steps, read when something went wrong.
    bytes: Mutex<std::collections::VecDeque<u8>>,
    /// Nothing is left that could write to it.
    finished: watch::Sender<bool>,
    /// The process itself has ended, and with a guard everything it started.
    gone: watch::Sender<bool>,
}

impl Tail {
    pub(crate) fn push(&self, chunk: &[u8]) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let chunk = &chunk[chunk.len().saturating_sub(TAIL)..];
        let excess = (bytes.len() + chunk.len()).saturating_sub(TAIL);
        bytes.drain(..excess);
        bytes.extend(chunk);
    }

    pub(crate) fn text(&self) -> String {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(bytes.make_contiguous()).into_owned()
    }

    /// Its other end is closed: nothing is left that could write to it.
    async fn finished(&self) {
        until(&self.finished).await;
    }

    /// Waits until nothing is left of the process. A guard lets go of the streams long before it ends.
    pub(super) async fn gone(&self) {
        self.finished().await;
        until(&self.gone).await;
    }
}

/// Makes a fact so when dropped, also with a task that is aborted. Otherwise whoever waits would wait for nobody.
struct AtTheEnd(Arc<Tail>, fn(&Tail) -> &watch::Sender<bool>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        (self.1)(&self.0).send_replace(true);
    }
}

/// Waits until it is so. The sender is there, so it cannot fail.
async fn until(fact: &watch::Sender<bool>) {
    drop(fact.subscribe().wait_for(|is_so| *is_so).await);
}

/// A read is a word, however much it brings: while we wait, more of it comes together.
async fn read_errors(mut errors: ChildStderr, finished: AtTheEnd, pace: Pace) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(n @ 1..) = errors.read(&mut buffer).await {
        finished.0.push(&buffer[..n]);
        pace.unasked(0);
        pace.rest().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_waits_for_a_task_that_was_aborted() {
        let tail = Arc::new(Tail::default());
        let finished = AtTheEnd(Arc::clone(&tail), |tail| &tail.finished);
        let gone = AtTheEnd(Arc::clone(&tail), |tail| &tail.gone);
        let task = tokio::spawn(async move {
            std::future::pending::<()>().await;
            drop((finished, gone));
        });
        assert!(timeout(Duration::from_millis(20), tail.gone()).await.is_err(), "it still runs");
        task.abort();
        assert!(timeout(Duration::from_secs(5), tail.gone()).await.is_ok());
    }
}
