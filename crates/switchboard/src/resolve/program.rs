//! Finds the program of a stdio server the way its start would.

use std::path::{Path, PathBuf};

use super::preview::expand;
use crate::config::Stdio;
use crate::env::Env;

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
    let Some(command) = expand(&stdio.command, env) else { return Program::Unknown };
    let path = match stdio.env.iter().find(|(name, _)| name == "PATH") {
        Some((_, value)) => match expand(value, env) {
            Some(path) => Some(path),
            None => return Program::Unknown,
        },
        None => env.var("PATH").map(str::to_owned),
    };
    let cwd = match &stdio.cwd {
        Some(cwd) => match expand(cwd, env) {
            Some(cwd) => directory.join(cwd),
            None => return Program::Unknown,
        },
        None => directory.to_owned(),
    };
    match which::which_in(command, path, cwd) {
        Ok(found) => Program::Found(found),
        Err(_) => Program::NotFound,
    }
}
