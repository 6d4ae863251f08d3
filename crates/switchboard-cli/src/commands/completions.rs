//! `completions`: the script that makes a shell ask us what could come next.

use super::{Context, Outcome};
use crate::args::ShellArg;
use crate::complete;
use crate::error::CommandError;

pub(super) fn run(context: &Context, shell: ShellArg) -> Result<Outcome, CommandError> {
    context.printer.data(&[complete::script(shell)?])?;
    Ok(Outcome::Done)
}
