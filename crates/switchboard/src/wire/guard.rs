//! The guard: a small process between us and a server, so that no process of the server outlives us.
//!
//! A process group alone does not help when we are killed: nobody is left to end the group, and a daemon leaves it
//! anyway. The guard watches our process. It is also the one to whom orphans of the server fall, so it finds every
//! descendant however it detached itself. The server's streams pass it by: it costs nothing per message.
//!
//! It runs as `PROGRAM ARGS... HOST-PID -- COMMAND ARGS...` and does nothing else: no configuration, no threads.

use std::ffi::OsString;
use std::path::PathBuf;

/// How to start a guard: a program that hands over to [`run`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The program, usually our own.
    pub program: PathBuf,
    /// What makes it a guard.
    pub args: Vec<OsString>,
}

/// What a guard says on the server's standard error when the server cannot be started; the system's words follow.
pub(crate) const CANNOT_START: &str = "switchboard guard: cannot start the server: ";
/// The code it then ends with.
pub(crate) const CANNOT_START_CODE: i32 = 127;

/// There is no guard where there are neither groups nor signals. Whoever started us reads that in the server's place.
#[cfg(not(unix))]
pub fn run(_args: impl Iterator<Item = OsString>) -> std::process::ExitCode {
    use std::io::Write as _;
    let _unheard = writeln!(std::io::stderr(), "{CANNOT_START}there are no guards on this system");
    std::process::ExitCode::from(u8::try_from(CANNOT_START_CODE).unwrap_or(1))
}

#[cfg(unix)]
pub use unix::run;

#[cfg(unix)]
mod unix {
    use std::collections::HashSet;
    use std::ffi::OsString;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    #[cfg(target_os = "linux")]
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitCode};
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    #[cfg(target_os = "linux")]
    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
    #[cfg(target_os = "linux")]
    use rustix::process::{WaitId, WaitIdOptions};
    use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

    use super::{CANNOT_START, CANNOT_START_CODE};

    /// Between the request to end and the end by force, when we are asked to stop.
    const GRACE: Duration = Duration::from_millis(1500);
    /// The same, when nobody is left who could wait.
    const ORPHAN_GRACE: Duration = Duration::from_millis(500);
    /// For what a server leaves behind when it ends by itself.
    const LEFTOVER_GRACE: Duration = Duration::from_millis(200);
    /// Until every killed process is gone.
    const SWEEP: Duration = Duration::from_secs(2);

    /// Acts as the guard of one server until that has ended with all its descendants.
    pub fn run(mut args: impl Iterator<Item = OsString>) -> ExitCode {
        let host = args.next().and_then(|pid| pid.to_str()?.parse().ok()).and_then(Pid::from_raw);
        let (Some(host), Some(_), Some(program)) = (host, args.next(), args.next()) else {
            return ExitCode::from(64);
        };
        let Ok(mut guard) = Watch::new(host) else { return ExitCode::from(70) };
        let mut command = Command::new(program);
        command.args(args).process_group(0);
        let server = match command.spawn() {
            Ok(child) => child.id(),
            Err(error) => {
                // The one who started us reads this from the server's standard error.
                let _unheard = writeln!(std::io::stderr(), "{CANNOT_START}{error}");
                return ExitCode::from(u8::try_from(CANNOT_START_CODE).unwrap_or(1));
            }
        };
        let Some(server) = i32::try_from(server).ok().and_then(Pid::from_raw) else {
            return ExitCode::FAILURE;
        };
        let_go_of_the_streams();
        let status = guard.until_over(server);
        leave_as(status)
    }

    /// What the guard waits for.
    struct Watch {
        host: Pid,
        #[cfg(target_os = "linux")]
        host_end: OwnedFd,
        asked: UnixStream,
        child: UnixStream,
    }

    /// Why the server is to end.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Over {
        HostGone,
        Asked,
    }

    impl Watch {
        fn new(host: Pid) -> std::io::Result<Self> {
            // Out of the terminal's reach: Ctrl-C is for the one who sits there, not for servers.
            let _already_leader = rustix::process::setsid();
            #[cfg(target_os = "linux")]
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
            let (asked, ask) = UnixStream::pair()?;
            let (child, tell) = UnixStream::pair()?;
            for signal in [SIGTERM, SIGINT, SIGHUP] {
                signal_hook::low_level::pipe::register(signal, ask.try_clone()?)?;
            }
            signal_hook::low_level::pipe::register(SIGCHLD, tell)?;
            asked.set_nonblocking(true)?;
            child.set_nonblocking(true)?;
            Ok(Self {
                host,
                #[cfg(target_os = "linux")]
                host_end: rustix::process::pidfd_open(host, rustix::process::PidfdFlags::empty())?,
                asked,
                child,
            })
        }

        /// Waits until the server has ended, helps it if need be, and leaves nothing of it.
        fn until_over(&mut self, server: Pid) -> Option<WaitStatus> {
            let mut status = None;
            loop {
                if reap(server, &mut status) {
                    end(server, &mut status, LEFTOVER_GRACE);
                    return status;
                }
                if let Some(why) = self.wait() {
                    let grace = if why == Over::Asked { GRACE } else { ORPHAN_GRACE };
                    end(server, &mut status, grace);
                    return status;
                }
            }
        }

        /// Waits for the next event; says so if the server has to go.
        fn wait(&mut self) -> Option<Over> {
            // The host may have died before we could watch it.
            if rustix::process::getppid() != Some(self.host) {
                return Some(Over::HostGone);
            }
            #[cfg(target_os = "linux")]
            {
                let mut fds = [
                    PollFd::new(&self.host_end, PollFlags::IN),
                    PollFd::new(&self.asked, PollFlags::IN),
                    PollFd::new(&self.child, PollFlags::IN),
                ];
                let _interrupted = poll(&mut fds, None);
                if !fds[0].revents().is_empty() {
                    return Some(Over::HostGone);
                }
            }
            #[cfg(not(target_os = "linux"))]
            {
                let mut fds =
                    [PollFd::new(&self.asked, PollFlags::IN), PollFd::new(&self.child, PollFlags::IN)];
                let _interrupted = poll(&mut fds, Some(&timespec(Duration::from_millis(200))));
            }
            drain(&mut self.child);
            drain(&mut self.asked).then_some(Over::Asked)
        }
    }

    /// Reads what is there; true if there was something.
    fn drain(stream: &mut UnixStream) -> bool {
        let mut any = false;
        let mut buffer = [0; 64];
        while matches!(stream.read(&mut buffer), Ok(n) if n > 0) {
            any = true;
        }
        any
    }

    /// Buries the dead. True once the server itself is among them.
    fn reap(server: Pid, status: &mut Option<WaitStatus>) -> bool {
        while let Ok(Some((pid, how))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid == server {
                *status = Some(how);
            }
        }
        status.is_some()
    }

    /// Asks everything below us to end, waits, and kills what is left.
    fn end(server: Pid, status: &mut Option<WaitStatus>, grace: Duration) {
        signal_all(server, status.is_none(), Signal::TERM);
        wait_for_none(server, status, grace, None);
        wait_for_none(server, status, SWEEP, Some(Signal::KILL));
    }

    fn wait_for_none(server: Pid, status: &mut Option<WaitStatus>, limit: Duration, signal: Option<Signal>) {
        let deadline = Instant::now() + limit;
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(signal) = signal {
                signal_all(server, status.is_none(), signal);
            }
            reap(server, status);
            // A process whose threads are still ending looks dead before it can be buried, and how it ended is not known.
            let is_over = status.is_some() && descendants(server).is_empty();
            if is_over || Instant::now() >= deadline {
                return;
            }
            let _interrupted = poll(&mut [], Some(&timespec(pause)));
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    fn timespec(duration: Duration) -> Timespec {
        Timespec { tv_sec: 0, tv_nsec: duration.subsec_nanos().into() }
    }

    fn signal_all(server: Pid, server_lives: bool, signal: Signal) {
        // Where nothing but the group is known, what the server left behind is still in it. Elsewhere its number may be
        // another's by now.
        if server_lives || cfg!(not(target_os = "linux")) {
            let _gone = rustix::process::kill_process_group(server, signal);
        }
        for pid in descendants(server) {
            let _gone = rustix::process::kill_process(pid, signal);
        }
    }

    /// What is left of the server's group, which is all that can be known here.
    #[cfg(not(target_os = "linux"))]
    fn descendants(server: Pid) -> HashSet<Pid> {
        let is_left = rustix::process::test_kill_process_group(server).is_ok();
        is_left.then_some(server).into_iter().collect()
    }

    /// Every living process below us, however it detached itself from its parent.
    #[cfg(target_os = "linux")]
    fn descendants(_server: Pid) -> HashSet<Pid> {
        // Orphans fall to us, so without a child of ours there is nobody. Looking at every process of a machine is slow.
        let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if rustix::process::waitid(WaitId::All, any).is_err_and(|error| error == Errno::CHILD) {
            return HashSet::new();
        }
        let mut parents = Vec::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
            // The name stands in brackets and may hold anything; state and parent follow the last one.
            let Some((_, rest)) = stat.rsplit_once(')') else { continue };
            let mut words = rest.split_whitespace();
            let (state, parent) = (words.next(), words.next().and_then(|word| word.parse::<i32>().ok()));
            if let (Some(parent), Some(pid)) = (parent, Pid::from_raw(pid))
                && state != Some("Z")
            {
                parents.push((pid, parent));
            }
        }
        let mut below = HashSet::new();
        let own = rustix::process::getpid();
        loop {
            let known = below.len();
            for (pid, parent) in &parents {
                let Some(parent) = Pid::from_raw(*parent) else { continue };
                if parent == own || below.contains(&parent) {
                    below.insert(*pid);
                }
            }
            if below.len() == known {
                return below;
            }
        }
    }

    /// The server has the streams; if we kept them open too, nobody would see it close them.
    fn let_go_of_the_streams() {
        let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") else { return };
        let _kept = rustix::stdio::dup2_stdin(null.as_fd());
        let _kept = rustix::stdio::dup2_stdout(null.as_fd());
        let _kept = rustix::stdio::dup2_stderr(null.as_fd());
    }

    /// Ends the way the server ended, so that whoever waits for us learns it.
    fn leave_as(status: Option<WaitStatus>) -> ExitCode {
        let Some(status) = status else { return ExitCode::from(137) };
        if let Some(signal) = status.terminating_signal() {
            let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
            let _no_core = rustix::process::setrlimit(rustix::process::Resource::Core, none);
            let _unknown = signal_hook::low_level::emulate_default_handler(signal);
            return ExitCode::from(u8::try_from(128 + signal).unwrap_or(1));
        }
        ExitCode::from(status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}
