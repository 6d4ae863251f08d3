//! No command at all: the interactive session.

use super::{Context, Outcome, connection};
use crate::error::CommandError;
use crate::shell::Shell;
use crate::tui;

pub(super) fn run(context: &Context) -> Result<Outcome, CommandError> {
    connection::block_on(async {
        let (shell, questions) = Shell::start(context).await;
        Box::pin(tui::run(context, shell, questions)).await
    })??;
    Ok(Outcome::Done)
}
