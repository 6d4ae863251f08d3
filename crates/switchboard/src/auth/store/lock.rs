//! A lock that other processes see: a file that stays, locked as long as the guard lives or its process does.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::{StoreError, file};
use crate::config::write::WriteError;

/// How often whoever waits looks again.
const PAUSE: Duration = Duration::from_millis(25);

/// Keeps others out until it is dropped. The file stays: removing it would let two in.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    pub(super) fn take(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        let file = file::lockable(path)?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(WriteError::of(path, error).into()),
            }
            let Some(left) = patience.checked_sub(started.elapsed()).filter(|left| !left.is_zero()) else {
                return Err(StoreError::Busy { path: path.to_owned() });
            };
            thread::sleep(PAUSE.min(left));
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough while a child that is about to start still has it open.
        let _closed_anyway = self.file.unlock();
    }
}
