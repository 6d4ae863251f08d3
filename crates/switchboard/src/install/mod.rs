//! Puts the gateway into the files of other tools, moves their servers behind it, and undoes both.
//!
//! In: a tool, a scope, how to get to the gateway. Out: [`Prepared`]: what every file would say, so that it can be shown
//! first; then the same on disk. Only what the user asked for by name is written; anything else of the file stays byte
//! for byte. What was there is kept below our home before anything is changed, our own file is written before anything
//! is taken out of the tool's, and so a crash at any moment loses nothing.

mod entry;
mod moves;
mod perform;
mod record;
mod target;
mod text;
mod undo;

use std::path::{Path, PathBuf};

pub use entry::{Gateway, entry};
pub use moves::{Left, Move};
pub use perform::{Prepared, State, Wish, prepare};
pub use record::{Record, records, unreadable};
pub use target::{Target, recorded, target, tools};
pub use text::{Shape, Slot};
pub use undo::{Undo, undo};

use crate::config::edit::{EditError, Refusal};
use crate::config::write::WriteError;
use crate::problem::Explain;

/// The name of the entry.
pub const NAME: &str = "switchboard";

/// Why the gateway could not be put into a tool's file, or taken out. The files are as they were.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Something else has the name.
    #[error("`{NAME}` in {} is something else", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file is sound, but laid out in a way in which one entry cannot be changed alone.
    #[error("cannot edit {}: {what}; nothing was changed", path.display())]
    Unusual {
        /// The file.
        path: PathBuf,
        /// What is in the way.
        what: String,
        /// What to put there by hand.
        paste: String,
    },
    /// Our own file could not be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A file could not be changed.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl InstallError {
    fn refused(path: &Path, refusal: Refusal, paste: &str) -> Self {
        let (path, what) = (path.to_owned(), refusal.what);
        match refusal.line {
            Some(line) => WriteError::Content { path, line: Some(line), what }.into(),
            None => Self::Unusual { path, what, paste: paste.to_owned() },
        }
    }
}

impl Explain for InstallError {
    fn code(&self) -> &'static str {
        match self {
            Self::Exists { .. } => "server-exists",
            Self::Unusual { .. } => "file-not-editable",
            Self::Edit(error) => error.code(),
            Self::Write(error) => error.code(),
        }
    }

    fn message(&self) -> String {
        self.to_string()
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Exists { .. } => {
                Some("rename it there, or put the gateway in its place with --force".to_owned())
            }
            Self::Unusual { paste, .. } => Some(format!("change it by hand: {paste}")),
            Self::Edit(error) => error.hint(),
            Self::Write(error) => error.hint(),
        }
    }

    fn server(&self) -> Option<&str> {
        match self {
            Self::Exists { .. } => Some(NAME),
            Self::Edit(error) => error.server(),
            Self::Unusual { .. } | Self::Write(_) => None,
        }
    }

    fn place(&self) -> Option<(&Path, Option<u32>)> {
        match self {
            Self::Exists { path } | Self::Unusual { path, .. } => Some((path, None)),
            Self::Edit(error) => error.place(),
            Self::Write(error) => error.place(),
        }
    }
}
