//! `man`: manual pages, made from the same text as the help.

use clap::CommandFactory;
use clap_mangen::Man;

use super::{Context, Outcome};
use crate::args::Cli;
use crate::error::CommandError;

/// Prints the page of the program, or of one command.
pub(super) fn run(context: &Context, verb: Option<&str>) -> Result<Outcome, CommandError> {
    let mut program = Cli::command();
    program.build();
    let command = match verb {
        None => program,
        Some(verb) => page(&program, verb)?,
    };
    let mut text = Vec::new();
    Man::new(command).render(&mut text)?;
    context.printer.text(String::from_utf8_lossy(&text).trim_end())?;
    Ok(Outcome::Done)
}

fn page(program: &clap::Command, verb: &str) -> Result<clap::Command, CommandError> {
    let known = program.find_subcommand(verb).filter(|command| !command.is_hide_set());
    let command = known.ok_or_else(|| {
        let shown = switchboard::visible::excerpt(verb, 60);
        CommandError::usage("usage", format!("there is no command `{shown}`")).hint("switchboard help")
    })?;
    Ok(command.clone())
}
