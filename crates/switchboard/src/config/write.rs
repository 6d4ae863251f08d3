//! Changes a file so that nobody ever sees half of it and no other writer's change is lost.
//!
//! Under a lock beside the file: read it, let a pure function make the new text, write that to a temporary file,
//! flush it to disk, and rename it into place. Links are followed, modes kept, a byte order mark put back. When
//! anything fails, the file is as it was.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use atomic_write_file::AtomicWriteFile;

use crate::problem::{Explain, Problem};
use crate::sources::read::{self, BYTE_ORDER_MARK};

/// How long another writer may keep us waiting.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// How often we start over when the file changes under our hands.
const ATTEMPTS: u32 = 5;
/// How long the lock stays free for others after it was ours; whoever waits looks twice as often.
const POLITENESS: Duration = Duration::from_millis(1);

/// Who may read a file that is made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// The user alone: it may hold secrets.
    Private,
    /// As the user's umask says: it is shared with the project.
    Shared,
}

/// Why a file could not be changed. In every case it is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file's mode says that it must not be written.
    #[error("{} is read-only; nothing was changed", path.display())]
    ReadOnly {
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
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path },
            _ => Self::Io { path, source },
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::ReadOnly { path }
            | Self::Denied { path }
            | Self::NoSpace { path }
            | Self::Locked { path }
            | Self::Busy { path }
            | Self::Unusable { path, .. }
            | Self::Content { path, .. }
            | Self::Io { path, .. } => path,
        }
    }
}

impl Explain for WriteError {
    fn code(&self) -> &'static str {
        match self {
            Self::ReadOnly { .. } => "file-read-only",
            Self::Denied { .. } => "file-denied",
            Self::NoSpace { .. } => "disk-full",
            Self::Locked { .. } => "file-locked",
            Self::Busy { .. } => "file-busy",
            Self::Unusable { problem, .. } => problem.code.as_str(),
            Self::Content { .. } => "file-not-editable",
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
            Self::Unusable { problem, .. } => problem.hint.clone(),
            Self::Content { .. } => Some("mend the file by hand or move it aside, then try again".to_owned()),
            Self::Io { .. } => None,
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

/// Replaces the file's text by what `change` makes of it; `None` stands for a file that is not there.
///
/// `change` may be called more than once, with newer text, when somebody who does not know our lock edits the
/// file meanwhile. Returning the same text writes nothing.
pub fn update<E: From<WriteError>>(
    path: &Path,
    privacy: Privacy,
    change: impl Fn(Option<&str>) -> Result<String, E>,
) -> Result<(), E> {
    let link = path;
    let path = follow(link)?;
    if privacy == Privacy::Shared {
        stay_inside(link, &path)?;
    }
    if !path.exists() {
        // What fails without a file leaves no directory behind.
        if change(None)?.is_empty() {
            return Ok(());
        }
    }
    make_parent(&path, privacy)?;
    let lock = Lock::take(&path, LOCK_PATIENCE)?;
    for _ in 0..ATTEMPTS {
        let old = read_whole(&path)?;
        let (mark, body) = match &old {
            Some(text) => match text.strip_prefix(BYTE_ORDER_MARK) {
                Some(body) => (BYTE_ORDER_MARK, Some(body)),
                None => ("", Some(text.as_str())),
            },
            None => ("", None),
        };
        let new = change(body)?;
        if body == Some(new.as_str()) {
            return Ok(());
        }
        refuse_read_only(&path)?;
        let mut file = open_beside(&path, privacy)?;
        let written = file.write_all(mark.as_bytes()).and_then(|()| file.write_all(new.as_bytes()));
        written.map_err(|error| WriteError::of(&path, error))?;
        // An editor without our lock may have saved since we read.
        if read_whole(&path)? == old {
            file.commit().map_err(|error| WriteError::of(&path, error))?;
            drop(lock);
            return Ok(());
        }
    }
    Err(WriteError::Busy { path }.into())
}

/// The file itself, if the path is a link to it.
fn follow(path: &Path) -> Result<PathBuf, WriteError> {
    let mut path = path.to_owned();
    // As many links as systems themselves follow.
    for _ in 0..40 {
        if let Ok(target) = fs::read_link(&path) {
            path = path.parent().unwrap_or(Path::new("")).join(target);
        } else {
            // Without `..` in it, so that messages name the file as people know it.
            let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
            return Ok(match (parent, path.file_name()) {
                (Some(parent), Some(name)) => parent.join(name),
                _ => path,
            });
        }
    }
    Err(WriteError::of(&path, io::Error::other("the link leads in a circle")))
}

/// A project's file may be a link, but not to something outside of the project: whoever wrote the project would
/// decide which file of the user is changed.
fn stay_inside(link: &Path, target: &Path) -> Result<(), WriteError> {
    let project = link.parent().and_then(Path::parent).and_then(|project| project.canonicalize().ok());
    let (Some(project), Some(parent)) =
        (project, target.parent().and_then(|parent| parent.canonicalize().ok()))
    else {
        return Ok(());
    };
    if parent.starts_with(&project) {
        return Ok(());
    }
    let what = format!("it is a link to {}, outside of the project", target.display());
    Err(WriteError::Content { path: link.to_owned(), line: None, what })
}

fn make_parent(path: &Path, privacy: Privacy) -> Result<(), WriteError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if privacy == Privacy::Private {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    #[cfg(not(unix))]
    let _ = privacy;
    builder.create(parent).map_err(|error| WriteError::of(path, error))
}

/// The text with its byte order mark; `None` when there is no file.
fn read_whole(path: &Path) -> Result<Option<String>, WriteError> {
    read::whole(path)
        .map_err(|problem| WriteError::Unusable { path: path.to_owned(), problem: Box::new(problem) })
}

/// Replacing a file needs no right to write it, so the mode must be asked.
fn refuse_read_only(path: &Path) -> Result<(), WriteError> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.permissions().readonly() => {
            Err(WriteError::ReadOnly { path: path.to_owned() })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn open_beside(path: &Path, privacy: Privacy) -> Result<AtomicWriteFile, WriteError> {
    let mut options = AtomicWriteFile::options();
    #[cfg(unix)]
    {
        use atomic_write_file::unix::OpenOptionsExt as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        options.preserve_mode(path.exists());
        options.try_preserve_owner(path.exists());
        options.mode(match privacy {
            Privacy::Private => 0o600,
            Privacy::Shared => 0o666,
        });
    }
    #[cfg(not(unix))]
    let _ = privacy;
    options.open(path).map_err(|error| WriteError::of(path, error))
}

/// A lock file beside the file; gone when dropped, also when the process dies.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    /// Holds the lock until it is dropped.
    file: Option<File>,
}

impl Lock {
    fn take(path: &Path, patience: Duration) -> Result<Self, WriteError> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let lock_path = path.with_file_name(format!(".{}.lock", name.trim_start_matches('.')));
        let deadline = Instant::now() + patience;
        loop {
            // A pipe would hold us up, and a link would lead elsewhere.
            if lock_path.symlink_metadata().is_ok_and(|there| !there.is_file()) {
                let what = format!("{} is in the way", lock_path.display());
                return Err(WriteError::of(path, io::Error::other(what)));
            }
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&lock_path)
                .map_err(|error| WriteError::of(path, error))?;
            match file.try_lock() {
                // The last holder removes the file, so the lock may be on one that is no longer there.
                Ok(()) if is_same(&file, &lock_path) => {
                    return Ok(Self { path: lock_path, file: Some(file) });
                }
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(WriteError::of(path, error)),
            }
            if Instant::now() >= deadline {
                return Err(WriteError::Locked { path: path.to_owned() });
            }
            thread::sleep(POLITENESS / 2);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed before it is unlocked, so that nobody else can hold it; a leftover does no harm.
        drop(fs::remove_file(&self.path));
        drop(self.file.take());
        // Whoever makes edit after edit would take the lock again before anyone who waits has woken up.
        thread::sleep(POLITENESS);
    }
}

#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => ours.ino() == there.ino() && ours.dev() == there.dev(),
        _ => false,
    }
}

/// An open file cannot be removed there.
#[cfg(not(unix))]
fn is_same(_file: &File, _path: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_waited_for_and_then_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mcp.json");
        let held = Lock::take(&path, Duration::ZERO).unwrap();
        let error = Lock::take(&path, Duration::ZERO).unwrap_err();
        assert_eq!(error.code(), "file-locked");
        drop(held);
        drop(Lock::take(&path, Duration::ZERO).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "the lock file stays behind");
    }

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
