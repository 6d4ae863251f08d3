//! Why a credential cannot be read or kept, and what to do about it. Never a word of what is in the file.

use std::io;
use std::path::{Path, PathBuf};

use super::keyring::NoKey;
use crate::config::write::WriteError;
use crate::problem::Explain;

/// Why a credential cannot be read or kept. Nothing of what was kept is lost.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Others can read the file.
    #[error("{} can be read by others; it was not used", path.display())]
    TooOpen {
        /// The file.
        path: PathBuf,
    },
    /// Others can change what is in the directory.
    #[error("{} can be changed by others; nothing in it was used", path.display())]
    DirTooOpen {
        /// The directory.
        path: PathBuf,
    },
    /// The file or directory belongs to somebody else.
    #[error("{} belongs to another user; it was not used", path.display())]
    Foreign {
        /// The file or directory.
        path: PathBuf,
    },
    /// There is a link, a pipe or the like.
    #[error("{} is not a file of ours but a link or something else; it was not used", path.display())]
    NotOurs {
        /// What is in the way.
        path: PathBuf,
    },
    /// What is in the file makes no sense.
    #[error("the login in {} cannot be read: {what}{}", path.display(), kept_as(aside.as_deref()))]
    Broken {
        /// Where it was.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// Where it is now, if it could be moved.
        aside: Option<PathBuf>,
    },
    /// The login is sealed, and there is no key to it.
    #[error("the login in {} is sealed with a key of the keyring, which is not to be had: {why}", path.display())]
    Sealed {
        /// The file.
        path: PathBuf,
        /// Why there is no key.
        why: NoKey,
    },
    /// A newer program wrote the file.
    #[error("{} is in version {version}, which this program does not know; it was not used", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// Another process has the lock.
    #[error("another process holds {} and did not finish in time", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// The system does not let us read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It could not be written; what was there is still there.
    #[error(transparent)]
    Unwritten(#[from] WriteError),
}

fn kept_as(aside: Option<&Path>) -> String {
    aside.map(|aside| format!("; it is now {}", aside.display())).unwrap_or_default()
}

impl StoreError {
    fn path(&self) -> Option<&Path> {
        match self {
            Self::TooOpen { path }
            | Self::DirTooOpen { path }
            | Self::Foreign { path }
            | Self::NotOurs { path }
            | Self::Sealed { path, .. }
            | Self::Newer { path, .. }
            | Self::Busy { path }
            | Self::Unreadable { path, .. } => Some(path),
            Self::Broken { path, aside, .. } => Some(aside.as_deref().unwrap_or(path)),
            Self::Unwritten(error) => error.place().map(|(path, _)| path),
        }
    }
}

/// What opens what is sealed.
const fn cure(why: &NoKey) -> &'static str {
    match why {
        NoKey::Off => "set `login.keyring` to `auto`",
        NoKey::NoKeyring => "use it where your desktop is, with DBUS_SESSION_BUS_ADDRESS set",
        NoKey::Locked => "unlock the keyring",
        NoKey::Silent | NoKey::Failed(_) => "see to the keyring",
        NoKey::Unknown => "put the keyring back that had it",
    }
}

impl Explain for StoreError {
    fn code(&self) -> &'static str {
        match self {
            Self::TooOpen { .. }
            | Self::DirTooOpen { .. }
            | Self::Foreign { .. }
            | Self::NotOurs { .. }
            | Self::Broken { .. }
            | Self::Newer { .. }
            | Self::Unreadable { .. } => "credential-unreadable",
            Self::Sealed { .. } => "credential-sealed",
            Self::Busy { .. } => "credential-busy",
            Self::Unwritten(error) => error.code(),
        }
    }

    fn message(&self) -> String {
        self.to_string()
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::TooOpen { path } => Some(format!("close it to others: chmod 600 {}", path.display())),
            Self::DirTooOpen { path } => Some(format!("close it to others: chmod 700 {}", path.display())),
            Self::Foreign { path } | Self::Unreadable { path, .. } => {
                Some(format!("see who owns it: ls -ld {}", path.display()))
            }
            Self::NotOurs { path } => Some(format!("move it away: mv {0} {0}.old", path.display())),
            Self::Broken { .. } => Some("log in again".to_owned()),
            Self::Sealed { why, .. } => Some(format!("{}, or log in again", cure(why))),
            Self::Newer { .. } => Some("use the newer Switchboard here too".to_owned()),
            Self::Busy { .. } => Some("try again when the other process is done".to_owned()),
            Self::Unwritten(error) => error.hint(),
        }
    }

    fn server(&self) -> Option<&str> {
        None
    }

    fn place(&self) -> Option<(&Path, Option<u32>)> {
        self.path().map(|path| (path, None))
    }
}
