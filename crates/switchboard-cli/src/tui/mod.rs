//! The terminal front of the interactive session: keys in, rows out.
//!
//! Output scrolls as in any program; below it a few live rows show what runs, what is asked, what is typed and how the
//! servers stand. `update` decides, `view` shows, both pure; `stage` alone waits and does, `live` alone draws. Commands
//! are the shell's: nothing here knows what a line means.

mod dialog;
mod editor;
mod front;
mod history;
mod keys;
mod live;
mod look;
mod menu;
mod model;
mod notices;
mod patience;
mod prose;
mod signals;
mod slots;
mod stage;
mod status;
mod text;
mod tty;
mod typing;
mod update;
mod view;

#[cfg(test)]
mod tests;

use switchboard::Env;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::commands::Context;
use crate::error::CommandError;
use crate::shell::Question;
use crate::shell::words::GREETING;
use crate::shell::{Front as _, Next, Shell};
use front::Speaker;
use stage::{Stage, Step};

/// Whether there is a terminal that live rows can be drawn on.
pub(crate) fn is_capable(env: &Env) -> bool {
    tty::is_capable(env)
}

/// Talks with the person until they leave.
pub(crate) async fn run(
    context: &Context,
    mut shell: Shell,
    questions: mpsc::Receiver<Question>,
) -> Result<(), CommandError> {
    let session = shell.session();
    let mut stage = Stage::new(&context.env, &session, shell.completer(), shell.on_disk(), questions)?;
    let ended = talk(&mut stage, &mut shell).await;
    // The terminal is given back before servers are stopped, which may take its time.
    drop(stage);
    tokio::select! {
        () = shell.close() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    ended
}

async fn talk(stage: &mut Stage<'_>, shell: &mut Shell) -> Result<(), CommandError> {
    let mut speaker = Speaker::new(stage.outbox());
    speaker.print(GREETING);
    stage.footer(shell.footer());
    let mut step = stage.during(std::future::pending::<Next>(), &CancellationToken::new()).await?;
    loop {
        step = match step {
            Step::Run(line) => {
                let cancel = CancellationToken::new();
                let work = shell.run(&line, &mut speaker, &cancel);
                stage.during(work, &cancel).await?
            }
            Step::Idle => {
                stage.footer(shell.footer());
                stage.during(std::future::pending::<Next>(), &CancellationToken::new()).await?
            }
            Step::Leave => return Ok(()),
        };
    }
}
