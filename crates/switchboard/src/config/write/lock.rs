//! A lock beside a file, for those who know of it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::WriteError;
#[cfg(unix)]
use crate::replace::again;

/// How long the lock stays free for others after it was ours; whoever waits looks twice as often.
const POLITENESS: Duration = Duration::from_millis(1);

/// A lock file beside the file. The lock is gone when dropped, also when the process dies.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// Holds the lock until it is dropped.
    file: Option<File>,
}

impl Lock {
    pub(super) fn take(path: &Path, patience: Duration) -> Result<Self, WriteError> {
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
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
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
        remove(&self.path);
        drop(self.file.take());
        // Whoever makes edit after edit would take the lock again before anyone who waits has woken up.
        thread::sleep(POLITENESS);
    }
}

#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(there)) => ours.ino() == there.ino() && ours.dev() == there.dev(),
        _ => false,
    }
}

/// It is removed before it is unlocked, so that nobody else can hold it; a leftover does no harm.
#[cfg(unix)]
fn remove(path: &Path) {
    drop(again(|| std::fs::remove_file(path)));
}

/// Nobody removes it there, so it is the one.
#[cfg(not(unix))]
fn is_same(_file: &File, _path: &Path) -> bool {
    true
}

/// Whether the file that is there is the one that is locked cannot be told, so it stays.
#[cfg(not(unix))]
fn remove(_path: &Path) {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Explain;

    #[test]
    fn a_held_lock_is_waited_for_and_then_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mcp.json");
        let held = Lock::take(&path, Duration::ZERO).unwrap();
        let error = Lock::take(&path, Duration::ZERO).unwrap_err();
        assert_eq!(error.code(), "file-locked");
        drop(held);
        drop(Lock::take(&path, Duration::ZERO).unwrap());
        #[cfg(unix)]
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the lock file stays behind");
    }
}
