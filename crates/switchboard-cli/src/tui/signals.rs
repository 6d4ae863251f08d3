//! What comes from outside of the terminal: signals, and panics, which must not tear what is shown.

use std::io::{self, Write};
use std::panic;

use switchboard::visible::visible;

use super::front::{Outbox, Said};

/// Somebody outside wants something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// As if Ctrl-C were pressed.
    Interrupt,
    /// It is over.
    End,
}

/// Signals, as they come.
#[derive(Debug)]
pub(super) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(super) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    #[cfg(unix)]
    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::End,
            _ = self.hang_up.recv() => Signal::End,
        }
    }

    #[cfg(not(unix))]
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) -> Signal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}

type Hook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Sync + Send>;

/// As long as it lives, panics are told like anything else that is printed, and not in the middle of the rows.
pub(super) struct Panics {
    outbox: Outbox,
    before: Option<Hook>,
}

impl Panics {
    pub(super) fn catch(outbox: Outbox) -> Self {
        let before = Some(panic::take_hook());
        let told = outbox.clone();
        panic::set_hook(Box::new(move |info| {
            told.put(Said::Print(visible(&format!("internal error: {info}")).into_owned()));
        }));
        Self { outbox, before }
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        // In the middle of a panic the hook cannot be changed; the program ends anyway.
        if !std::thread::panicking()
            && let Some(before) = self.before.take()
        {
            panic::set_hook(before);
        }
        while let Some(said) = self.outbox.take() {
            if let Said::Print(text) = said {
                // There is nobody left to tell that nobody can be told.
                drop(writeln!(io::stderr(), "{text}"));
            }
        }
    }
}
