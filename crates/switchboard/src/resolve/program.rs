//! Finds the program of a stdio server the way its start would.

use std::env::{join_paths, split_paths};
use std::path::{Path, PathBuf};

use super::preview::expand;
use crate::config::Stdio;
use crate::env::Env;
use crate::redact;
use crate::template::Template;

/// Where a program is, or why it is nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// It is this file.
    Found(PathBuf),
    /// Neither the path nor any directory of `PATH` has it.
    NotFound,
    /// Its name holds something that is known only when it is started.
    Unknown,
}

/// Looks for the program in the server's own `PATH`, if it has one, else in ours; a relative path starts at the
/// server's directory.
pub fn find(stdio: &Stdio, env: &Env, directory: &Path) -> Program {
    let Some(command) = expand(&stdio.command, env, directory) else { return Program::Unknown };
    let path = match stdio.env.iter().find(|(name, _)| name == "PATH") {
        Some((_, value)) => match value_of(value, env, directory) {
            Some(path) => Some(path),
            None => return Program::Unknown,
        },
        None => env.var("PATH").map(str::to_owned),
    };
    let cwd = match &stdio.cwd {
        Some(cwd) => match expand(cwd, env, directory) {
            Some(cwd) => directory.join(from_home(&cwd, env)),
            None => return Program::Unknown,
        },
        None => directory.to_owned(),
    };
    match locate(&from_home(&command, env), path.as_deref(), &cwd) {
        Some(found) => Program::Found(found),
        None => Program::NotFound,
    }
}

/// What to do about a program that is not found, where its text is a whole command line.
pub fn line_hint(stdio: &Stdio, env: &Env, directory: &Path) -> Option<String> {
    let is_program = |word: &str| {
        let alone = Stdio { command: Template::plain(word), ..stdio.clone() };
        matches!(find(&alone, env, directory), Program::Found(_))
    };
    hint_for_line(stdio.command.raw(), is_program)
}

/// What to do about a text that is no program, if its first word is one or could be the name of one.
pub(super) fn hint_for_line(command: &str, is_program: impl FnOnce(&str) -> bool) -> Option<String> {
    let command = command.trim();
    let (program, _) = command.split_once(' ')?;
    // The blank may as well stand in a directory's name or in a placeholder.
    if program.contains(['/', '\\', '$', '{']) && !is_program(program) {
        return None;
    }
    // All words at once: an option tells that a key follows.
    let shown = redact::word(command);
    let (_, args) = shown.split_once(' ')?;
    Some(format!("write the program alone as `command`, and `{}` as `args`", args.trim()))
}

/// The file of a program. Directories of `PATH` that depend on where one is do not count: a project could plant a
/// program in them that has the name of a well-known one.
pub(super) fn locate(command: &Path, path: Option<&str>, cwd: &Path) -> Option<PathBuf> {
    let fixed = split_paths(path.unwrap_or_default()).filter(|directory| directory.is_absolute());
    let path = join_paths(fixed).ok()?;
    which::which_in(command, Some(path), cwd).ok()
}

/// A path in which a leading `~` is the home directory.
pub(super) fn from_home(path: &str, env: &Env) -> PathBuf {
    match path.strip_prefix('~') {
        Some("") => env.home().to_owned(),
        Some(rest) if rest.starts_with(['/', std::path::MAIN_SEPARATOR]) => env.home().join(&rest[1..]),
        Some(_) | None => PathBuf::from(path),
    }
}

/// The value of a variable, if nothing has to be run or read for it.
fn value_of(template: &Template, env: &Env, directory: &Path) -> Option<String> {
    if template.shell_command().is_some() {
        return None;
    }
    let named = template.is_plain().then(|| env.non_empty(template.raw())).flatten();
    named.map(str::to_owned).or_else(|| expand(template, env, directory))
}
