//! What an installation did, kept below our home so that it can be undone: which entry, what was taken, and the files as
//! they were.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::target::Target;
use crate::config::write::{self, Privacy, WriteError};
use crate::digest;
use crate::env::Env;
use crate::replace::again;
use crate::sources::read;

/// What was done to the file of one tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The tool's id.
    pub tool: String,
    /// `user` or `project`.
    pub scope: String,
    /// The tool's file.
    pub path: PathBuf,
    /// The entry that was written.
    pub entry: Value,
    /// The text of the entry that stood there before.
    pub(super) replaced: Option<String>,
    /// The tool's file as it was.
    pub(super) file: Kept,
    /// Our file as it was, if servers were moved into it.
    pub(super) own: Option<(PathBuf, Kept)>,
    /// What was moved.
    pub(super) moved: Vec<Moved>,
    /// The first directory that had to be made.
    pub(super) made: Option<PathBuf>,
}

/// A server that was moved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Moved {
    pub(super) name: String,
    /// As it stood in the tool's file.
    pub(super) piece: String,
    /// What that says.
    pub(super) theirs: Value,
    /// As it stands in ours.
    pub(super) entry: Value,
    /// Whether it stood there before.
    pub(super) is_known: bool,
}

/// A file before and after.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Whether there was a file.
    pub(super) was_there: bool,
    /// The hash of its text afterwards. While it has it, nobody else changed it.
    pub(super) after: String,
    /// Whether putting the old text back undoes all there is to undo.
    pub(super) is_exact: bool,
}

impl Kept {
    /// What is kept of a file that changes from one text to another.
    ///
    /// A second change of a file that nobody touched since the first keeps the text from before the first.
    pub(super) fn of(
        old: Option<&(Self, Option<String>)>,
        before: Option<&str>,
        after: &str,
    ) -> (Self, bool) {
        let after = hash(after);
        match old {
            None => (Self { was_there: before.is_some(), after, is_exact: true }, true),
            Some((kept, text)) => {
                let untouched =
                    before.is_some_and(|before| hash(before) == kept.after) || before == text.as_deref();
                if untouched && kept.is_exact {
                    (Self { after, ..kept.clone() }, false)
                } else {
                    (Self { was_there: before.is_some(), after, is_exact: false }, true)
                }
            }
        }
    }
}

pub(super) fn hash(text: &str) -> String {
    digest::hex(text.as_bytes())
}

/// The files of one record.
#[derive(Debug, Clone)]
pub(super) struct Place {
    base: PathBuf,
}

impl Place {
    pub(super) fn of(env: &Env, target: &Target) -> Self {
        let path = digest::hex(target.path.to_string_lossy().as_bytes());
        let name = format!("{}-{}-{}", target.tool.id(), target.scope, &path[..12]);
        Self { base: env.join(&directory(env), &name) }
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let name = self.base.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.base.with_file_name(format!("{name}.{ending}"))
    }

    /// The tool's file as it was.
    pub(super) fn backup(&self) -> PathBuf {
        self.beside("before")
    }

    /// Our file as it was.
    pub(super) fn own_backup(&self) -> PathBuf {
        self.beside("own-before")
    }

    pub(super) fn load(&self) -> Result<Option<Record>, WriteError> {
        load(&self.beside("json"))
    }

    pub(super) fn save(&self, record: &Record) -> Result<(), WriteError> {
        let text = serde_json::to_string_pretty(record).unwrap_or_default();
        put(&self.beside("json"), &format!("{text}\n"))
    }

    /// Forgets the installation; the record last, so that whoever is cut short starts over.
    pub(super) fn forget(&self) -> Result<(), WriteError> {
        for path in [self.backup(), self.own_backup(), self.beside("json")] {
            match again(|| std::fs::remove_file(&path)) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(WriteError::of(&path, error)),
            }
        }
        Ok(())
    }
}

fn directory(env: &Env) -> PathBuf {
    env.join(&env.switchboard_home(), "installs")
}

/// Writes a private file.
pub(super) fn put(path: &Path, text: &str) -> Result<(), WriteError> {
    write::update(path, Privacy::Private, |_| Ok(text.to_owned()))
}

/// The text of a file, or why it cannot be read.
pub(super) fn text(path: &Path) -> Result<Option<String>, WriteError> {
    read::text(path)
        .map_err(|problem| WriteError::Unusable { path: path.to_owned(), problem: Box::new(problem) })
}

fn load(path: &Path) -> Result<Option<Record>, WriteError> {
    let Some(text) = text(path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|_| WriteError::Content {
        path: path.to_owned(),
        line: None,
        what: "the record of an installation is damaged".to_owned(),
    })
}

/// Every installation there is a record of, by path. A record that cannot be read is left out.
pub fn records(env: &Env) -> Vec<Record> {
    files(env).iter().filter_map(|path| load(path).ok().flatten()).collect()
}

/// Why records cannot be read, for each one that is left out.
pub fn unreadable(env: &Env) -> Vec<WriteError> {
    files(env).iter().filter_map(|path| load(path).err()).collect()
}

fn files(env: &Env) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory(env)).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    paths.sort();
    paths
}
