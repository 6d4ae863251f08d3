//! `completions`: the script that makes a shell ask us what could come next, live server names included.

use clap_complete::env::Shells;

use super::{Context, Outcome};
use crate::args::ShellArg;
use crate::error::{CommandError, Kind};

pub(super) fn run(context: &Context, shell: ShellArg) -> Result<Outcome, CommandError> {
    let shells = Shells::builtins();
    let completer = shells.completer(shell.as_str()).ok_or_else(|| {
        CommandError::new(Kind::Failed, "usage", format!("no completions for {}", shell.as_str()))
    })?;
    let mut script = Vec::new();
    completer.write_registration("COMPLETE", "switchboard", "switchboard", "switchboard", &mut script)?;
    context.printer.data(&[String::from_utf8_lossy(&script).trim_end().to_owned()])?;
    Ok(Outcome::Done)
}
