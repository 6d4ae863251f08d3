//! `doctor --report`: one file for whoever helps, with everything the commands would tell, and no secret.
//!
//! It is made of what `list`, `status` and `doctor` print, which hide secrets by themselves; it reads nothing else but the
//! names and sizes of our own files.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use switchboard::config::write::{self, Privacy, WriteError};
use switchboard::{Discovery, Env, Problem};

use super::about::About;
use super::{Context, list, status};
use crate::error::{CommandError, Kind};
use crate::report::{ProblemRow, ServerRow, StatusRow};

/// Our own files that are named at most.
const MOST_FILES: usize = 200;

#[derive(Debug, Serialize)]
struct Bundle {
    about: About,
    servers: Vec<ServerRow>,
    status: Vec<StatusRow>,
    problems: Vec<ProblemRow>,
    read: Vec<String>,
    /// Only their names: values may be secret.
    variables: Vec<String>,
    files: Vec<Own>,
}

/// A file of ours.
#[derive(Debug, Serialize)]
struct Own {
    path: String,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
}

/// Writes the file; what is there already is never overwritten.
pub(super) fn write(
    context: &Context,
    (discovery, problems): (&Discovery, &[Problem]),
    path: &Path,
) -> Result<(), CommandError> {
    let env = &context.env;
    let bundle = Bundle {
        about: About::of(env),
        servers: list::rows(discovery, true),
        status: status::rows(context, &[])?.1,
        problems: problems.iter().map(ProblemRow::from).collect(),
        read: discovery.files.iter().map(|file| env.display(file)).collect(),
        variables: variables(env),
        files: own_files(env),
    };
    let path = env.absolute(path);
    let text = serde_json::to_string_pretty(&bundle)
        .map_err(|error| CommandError::new(Kind::Failed, "report", error.to_string()))?;
    create(&path, &without_home(&text, env)).map_err(|error| refused(&path, env, &error))?;
    let shown = env.display(&path);
    context.printer.remark(&format!("Wrote {shown}. Secrets are hidden; read it before you pass it on."));
    Ok(())
}

/// Why there is no such file.
enum Refused {
    /// There is one already.
    Exists,
    Unwritten(WriteError),
}

impl From<WriteError> for Refused {
    fn from(error: WriteError) -> Self {
        Self::Unwritten(error)
    }
}

fn refused(path: &Path, env: &Env, why: &Refused) -> CommandError {
    let shown = env.display(path);
    let error = match why {
        Refused::Exists => CommandError::usage("file-exists", format!("{shown} is there already")),
        Refused::Unwritten(error) => CommandError::new(Kind::Failed, "cannot-write", error.to_string()),
    };
    error.hint("name another file: switchboard doctor --report FILE")
}

/// All of it or nothing: half a report would be in the way of the next.
fn create(path: &Path, text: &str) -> Result<(), Refused> {
    let missing = |error| WriteError::Io { path: path.to_owned(), source: error };
    // A directory that is not there is a slip of the pen.
    path.parent().unwrap_or(Path::new("/")).metadata().map_err(missing)?;
    if path.symlink_metadata().is_ok() {
        return Err(Refused::Exists);
    }
    let whole = |there: Option<&str>| match there {
        None => Ok(format!("{text}\n")),
        Some(_) => Err(Refused::Exists),
    };
    write::update(path, Privacy::Private, whole)
}

/// The name of a home directory is often the name of a person.
fn without_home(text: &str, env: &Env) -> String {
    let quoted = serde_json::json!(env.home().to_string_lossy()).to_string();
    match quoted.trim_matches('"') {
        "" | "/" => text.to_owned(),
        home => text.replace(home, "~"),
    }
}

/// Those that change what we do.
fn variables(env: &Env) -> Vec<String> {
    let is_ours = |name: &str| {
        name.starts_with("SWITCHBOARD_")
            || name.starts_with("OTEL_")
            || name.to_uppercase().ends_with("_PROXY")
    };
    let mut names: Vec<_> =
        env.vars().map(|(name, _)| name.to_owned()).filter(|name| is_ours(name)).collect();
    names.sort_unstable();
    names
}

/// Names, sizes and rights of what we keep, by path.
fn own_files(env: &Env) -> Vec<Own> {
    let mut found = Vec::new();
    let mut left = vec![env.switchboard_home()];
    while let Some(dir) = left.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort_unstable();
        for path in paths {
            let Ok(data) = path.symlink_metadata() else { continue };
            if data.is_dir() {
                left.push(path);
            } else if found.len() < MOST_FILES {
                found.push(Own { path: env.display(&path), bytes: data.len(), mode: mode(&data) });
            }
        }
    }
    found.sort_unstable_by(|left, right| left.path.cmp(&right.path));
    found
}

/// Who may read and write it, as `chmod` has it.
fn mode(data: &fs::Metadata) -> Option<String> {
    #[cfg(unix)]
    let mode = Some(std::os::unix::fs::PermissionsExt::mode(&data.permissions()));
    #[cfg(not(unix))]
    let mode = data.permissions().readonly().then_some(0o444);
    mode.map(|mode: u32| format!("{:o}", mode & 0o7777))
}
