//! Vices of a process: to die by a signal, not to die by one, to leave others behind, to stand still.

use std::io;
use std::process::ExitCode;

use crate::action::Fork;

const SIGNALS: &[&str] = &[
    "ABRT", "BUS", "FPE", "HUP", "ILL", "INT", "KILL", "QUIT", "SEGV", "STOP", "SYS", "TERM", "TRAP", "USR1",
    "USR2",
];

/// Whether `signal` can send this one.
pub(crate) fn knows_signal(name: &str) -> bool {
    SIGNALS.contains(&name)
}

/// Does nothing any more, and lets nobody else in this process do anything.
pub(crate) fn freeze() -> ! {
    loop {
        std::thread::park();
    }
}

#[cfg(unix)]
mod unix {
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process, setsid};
    use tokio::signal::unix::{SignalKind, signal};

    use super::{ExitCode, Fork, io};

    fn signal_of(name: &str) -> Signal {
        match name {
            "ABRT" => Signal::ABORT,
            "BUS" => Signal::BUS,
            "FPE" => Signal::FPE,
            "HUP" => Signal::HUP,
            "ILL" => Signal::ILL,
            "INT" => Signal::INT,
            "QUIT" => Signal::QUIT,
            "SEGV" => Signal::SEGV,
            "STOP" => Signal::STOP,
            "SYS" => Signal::SYS,
            "TERM" => Signal::TERM,
            "TRAP" => Signal::TRAP,
            "USR1" => Signal::USR1,
            "USR2" => Signal::USR2,
            _ => Signal::KILL,
        }
    }

    /// Sends itself a signal.
    pub(crate) fn raise(name: &str) -> io::Result<()> {
        let signal = signal_of(name);
        kill_process(getpid(), signal)?;
        if matches!(signal, Signal::SEGV | Signal::BUS) {
            // The first one only takes away the handler that the runtime has for a full stack.
            std::thread::sleep(Duration::from_millis(5));
            kill_process(getpid(), signal)?;
        }
        Ok(())
    }

    /// From now on SIGTERM changes nothing.
    pub(crate) fn ignore_termination() -> io::Result<()> {
        // The handler stays when the stream of signals is gone.
        drop(signal(SignalKind::terminate())?);
        Ok(())
    }

    /// Gives up the standard output while the process lives on.
    pub(crate) fn close_stdout() -> io::Result<()> {
        let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(nothing)?;
        Ok(())
    }

    fn spawn(mode: &str, port: &str, detached: bool) -> io::Result<std::process::Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(mode).arg(port);
        if detached {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        }
        command.spawn()
    }

    /// Starts processes that do not go away, and returns when they are past being killed by SIGTERM.
    pub(crate) fn fork(kind: Fork) -> io::Result<()> {
        // Each one calls when it is ready. Nothing else could be watched without a race.
        let ready = TcpListener::bind("127.0.0.1:0")?;
        let port = ready.local_addr()?.port().to_string();
        let count = match kind {
            Fork::Grandchild => {
                drop(spawn("--stubborn", &port, false)?);
                1
            }
            Fork::Tree => {
                drop(spawn("--tree", &port, false)?);
                3
            }
            Fork::Daemon => {
                spawn("--daemon", &port, true)?.wait()?;
                1
            }
        };
        for _ in 0..count {
            drop(ready.accept()?);
        }
        Ok(())
    }

    fn play_part(mode: &str, port: &str) -> io::Result<()> {
        if mode == "--daemon" {
            setsid()?;
            drop(spawn("--stubborn", port, true)?);
            return Ok(());
        }
        if mode == "--tree" {
            drop(spawn("--stubborn", port, false)?);
            drop(spawn("--stubborn", port, false)?);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            for kind in [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()] {
                drop(signal(kind)?);
            }
            drop(TcpStream::connect(format!("127.0.0.1:{port}"))?);
            // A test that fails must not leave it behind for ever.
            tokio::time::sleep(Duration::from_mins(10)).await;
            Ok(())
        })
    }

    /// The part of a process that was left behind.
    pub(crate) fn hidden(mode: &str, port: &str) -> ExitCode {
        play_part(mode, port).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
    }
}

#[cfg(unix)]
pub(crate) use unix::{close_stdout, fork, hidden, ignore_termination, raise};

#[cfg(not(unix))]
mod elsewhere {
    use super::{ExitCode, Fork, io};

    fn missing() -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, "this vice needs a Unix system")
    }

    pub(crate) fn raise(_: &str) -> io::Result<()> {
        Err(missing())
    }

    pub(crate) fn ignore_termination() -> io::Result<()> {
        Err(missing())
    }

    pub(crate) fn close_stdout() -> io::Result<()> {
        Err(missing())
    }

    pub(crate) fn fork(_: Fork) -> io::Result<()> {
        Err(missing())
    }

    pub(crate) fn hidden(_: &str, _: &str) -> ExitCode {
        ExitCode::FAILURE
    }
}

#[cfg(not(unix))]
pub(crate) use elsewhere::{close_stdout, fork, hidden, ignore_termination, raise};
