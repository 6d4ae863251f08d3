//! Why a file could not be changed: what happened, to which file, and what to type next.

use std::io;
use std::path::{Path, PathBuf};

use crate::problem::{Explain, Problem};
use crate::replace::Unplaced;

/// Why a file could not be changed. It is as it was before, unless the error says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file's mode says that it must not be written.
    #[error("{} is read-only; nothing was changed", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Nothing can be written where it is.
    #[error("{} is on a file system that is read-only; nothing was changed", path.display())]
    ReadOnlySystem {
        /// The file.
        path: PathBuf,
    },
    /// The file or its directory belongs to someone else.
    #[error("no permission to write {}; nothing was changed", path.display())]
    Denied {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("no space left on the disk for {}; nothing was changed", path.display())]
    NoSpace {
        /// The file.
        path: PathBuf,
    },
    /// Another program holds the lock.
    #[error("another program is changing {} and did not finish within 10 seconds; nothing was changed", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Other programs change the file faster than we can.
    #[error("{} keeps changing while it is edited; nothing was changed", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// What is there cannot be read as a text file.
    #[error("cannot use {}: {}; nothing was changed", path.display(), problem.message)]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: Box<Problem>,
    },
    /// What is in the file cannot be edited.
    #[error("cannot edit {}: {what}; nothing was changed", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, if one is to blame.
        line: Option<u32>,
        /// What is in the way.
        what: String,
    },
    /// The new text is there, and the disk did not confirm that it stays.
    #[error("{} was changed, but the disk does not confirm that it keeps the change: {source}", path.display())]
    Unconfirmed {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else the system said.
    #[error("cannot write {}: {source}; nothing was changed", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl WriteError {
    /// What the system said of a file.
    pub(crate) fn of(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnlySystem { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path },
            _ => Self::Io { path, source },
        }
    }

    /// Why a text is not in the place of a file.
    pub(crate) fn unplaced(path: &Path, why: Unplaced) -> Self {
        match why {
            Unplaced::Old(source) => Self::of(path, source),
            Unplaced::New(source) => Self::Unconfirmed { path: path.to_owned(), source },
        }
    }

    fn dir(&self) -> &Path {
        self.path().parent().unwrap_or(Path::new("."))
    }

    fn path(&self) -> &Path {
        match self {
            Self::ReadOnly { path }
            | Self::ReadOnlySystem { path }
            | Self::Denied { path }
            | Self::NoSpace { path }
            | Self::Locked { path }
            | Self::Busy { path }
            | Self::Unusable { path, .. }
            | Self::Content { path, .. }
            | Self::Unconfirmed { path, .. }
            | Self::Io { path, .. } => path,
        }
    }
}

/// Codes of files that were not changed, with their meanings, for the reference page.
pub const CODES: &[(&str, &str)] = &[
    ("file-read-only", "The file, or the disk it is on, is read-only; nothing was changed."),
    ("file-denied", "The system does not allow to write the file; nothing was changed."),
    ("disk-full", "There is no room for the new text; nothing was changed."),
    ("file-locked", "Another program is changing the file, and did not finish within ten seconds."),
    ("file-busy", "The file was changed again and again while it was to be changed; nothing was written."),
    (
        "file-not-editable",
        "The file has something in it that cannot be changed without damage; nothing was changed.",
    ),
    ("file-unconfirmed", "The new text is in its place, and the disk did not say that it keeps it."),
    ("file-not-written", "The disk or the system failed; nothing was changed."),
];

impl Explain for WriteError {
    fn code(&self) -> &'static str {
        match self {
            Self::ReadOnly { .. } | Self::ReadOnlySystem { .. } => "file-read-only",
            Self::Denied { .. } => "file-denied",
            Self::NoSpace { .. } => "disk-full",
            Self::Locked { .. } => "file-locked",
            Self::Busy { .. } => "file-busy",
            Self::Unusable { problem, .. } => problem.code.as_str(),
            Self::Content { .. } => "file-not-editable",
            Self::Unconfirmed { .. } => "file-unconfirmed",
            Self::Io { .. } => "file-not-written",
        }
    }

    fn message(&self) -> String {
        self.to_string()
    }

    fn hint(&self) -> Option<String> {
        let path = self.path().display();
        match self {
            Self::ReadOnly { .. } => Some(format!("make it writable: chmod u+w {path}")),
            Self::Denied { .. } => Some(format!("see who owns it: ls -l {path}")),
            Self::NoSpace { .. } => Some("free some space and try again".to_owned()),
            Self::Locked { .. } | Self::Busy { .. } => {
                Some("try again when the other program is done".to_owned())
            }
            Self::ReadOnlySystem { .. } => {
                Some(format!("see how it is mounted: df {}; then try again", self.dir().display()))
            }
            Self::Unusable { problem, .. } => {
                Some(problem.hint.clone().unwrap_or_else(|| format!("see what is there: ls -l {path}")))
            }
            Self::Content { .. } => Some("mend the file by hand or move it aside, then try again".to_owned()),
            Self::Unconfirmed { .. } => Some(format!("see to the disk, then look at it: cat {path}")),
            Self::Io { .. } => Some(format!("see to the disk: df {}; then try again", self.dir().display())),
        }
    }

    fn server(&self) -> Option<&str> {
        None
    }

    fn place(&self) -> Option<(&Path, Option<u32>)> {
        let line = match self {
            Self::Content { line, .. } => *line,
            Self::Unusable { problem, .. } => problem.origin.as_ref().and_then(|origin| origin.line),
            _ => None,
        };
        Some((self.path(), line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_becomes_a_code() {
        let check = |kind: io::ErrorKind, code: &str| {
            assert_eq!(WriteError::of(Path::new("x"), kind.into()).code(), code);
        };
        check(io::ErrorKind::StorageFull, "disk-full");
        check(io::ErrorKind::QuotaExceeded, "disk-full");
        check(io::ErrorKind::PermissionDenied, "file-denied");
        check(io::ErrorKind::ReadOnlyFilesystem, "file-read-only");
        check(io::ErrorKind::Interrupted, "file-not-written");
    }
}
