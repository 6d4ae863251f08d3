//! One line being obeyed: where its words go, how it waits, and how it is stopped.

use std::time::Duration;

use switchboard::session::Session;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::line::How;
use super::notices::Told;
use super::{Front, Shell};
use crate::args::Command;
use crate::commands::{self, Context};
use crate::error::{CommandError, Kind};
use crate::printer::{Buffer, Printer, Sink, Volume};
use crate::terminal;

/// What takes less is not worth a word.
const WORTH_A_WORD: Duration = Duration::from_millis(150);

/// A line being obeyed.
pub(super) struct Turn<'t, F> {
    /// For commands: what they print is collected.
    pub(super) context: Context,
    pub(super) session: Session,
    /// What was said of servers already.
    pub(super) told: Told,
    pub(super) front: &'t mut F,
    buffer: Buffer,
    cancel: CancellationToken,
}

impl<'t, F: Front> Turn<'t, F> {
    pub(super) fn new(shell: &Shell, front: &'t mut F, cancel: &CancellationToken) -> Self {
        let (context, session) = (&shell.context, &shell.session);
        let buffer = Buffer::default();
        let mut context = context.clone();
        context.printer = Printer {
            sink: Sink::Buffer(buffer.clone()),
            width: terminal::width(&context.env),
            ..context.printer
        };
        context.cancel = cancel.child_token();
        Self {
            context,
            session: session.clone(),
            told: shell.told.clone(),
            front,
            buffer,
            cancel: cancel.clone(),
        }
    }

    /// From now on it speaks so.
    pub(super) fn speak(&mut self, how: How) {
        self.context.printer.json = how.json;
        if how.verbose {
            self.context.printer.volume = Volume::Verbose;
        }
    }

    /// What stops it.
    pub(super) fn cancel(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Shows what was said so far.
    pub(super) fn flush(&mut self) {
        let text = self.buffer.take();
        if !text.is_empty() {
            self.front.print(text.strip_suffix('\n').unwrap_or(&text));
        }
    }

    /// Waits for something, and says what for if it takes its time. Stopped, the work is dropped.
    pub(super) async fn wait<T>(
        &mut self,
        words: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, CommandError> {
        let (_sender, words) = watch::channel(words.to_owned());
        self.follow(words, work).await
    }

    /// The same, with words that change as the work goes on.
    pub(super) async fn follow<T>(
        &mut self,
        mut words: watch::Receiver<String>,
        work: impl Future<Output = T>,
    ) -> Result<T, CommandError> {
        self.flush();
        tokio::pin!(work);
        let soon = tokio::time::sleep(WORTH_A_WORD);
        tokio::pin!(soon);
        let mut is_told = false;
        let done = loop {
            tokio::select! {
                biased;
                done = &mut work => break Ok(done),
                () = self.cancel.cancelled() => break Err(CommandError::stopped()),
                () = &mut soon, if !is_told => {
                    is_told = true;
                    self.front.working(Some(&words.borrow_and_update()));
                }
                Ok(()) = words.changed(), if is_told => self.front.working(Some(&words.borrow_and_update())),
            }
        };
        if is_told {
            self.front.working(None);
        }
        done
    }

    /// Runs a command of the command line as it is, with what it says collected.
    pub(super) async fn obey(&mut self, words: &str, command: Command) -> Result<(), CommandError> {
        let context = self.context.clone();
        self.apart(words, move || commands::dispatch(command, &context).map(drop)).await
    }

    /// Does work that blocks where nobody else waits. It stops by itself, by the token of its context.
    pub(super) async fn apart<T: Send + 'static>(
        &mut self,
        words: &str,
        work: impl FnOnce() -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, CommandError> {
        self.flush();
        let mut working = tokio::task::spawn_blocking(work);
        let done = tokio::select! {
            done = &mut working => done,
            () = tokio::time::sleep(WORTH_A_WORD) => {
                self.front.working(Some(words));
                let done = working.await;
                self.front.working(None);
                done
            }
        };
        done.unwrap_or_else(|error| {
            Err(CommandError::new(Kind::Failed, "failed", format!("the command broke down: {error}")))
        })
    }

    /// Hands the terminal to work that asks. It says what it has to say right there.
    pub(super) async fn aside<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Context) -> T + Send + 'static,
    ) -> T {
        self.flush();
        let mut context = self.context.clone();
        context.printer.sink = Sink::Session;
        self.front.aside(move || work(&context)).await
    }
}
