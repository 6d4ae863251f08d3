//! What each server spoke last time, so that it need not be asked again, whether it ever asked a client something, and why
//! it did not work when it was last tried. A hint only: whoever finds it wrong says so by remembering anew.
//!
//! Small files, below the cache directory, named by the definition of the server ([`crate::resolve::Identity::key`]). There is no secret in them. One that
//! cannot be read or written costs a question, nothing else.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::era::Era;
use crate::env::Env;
use crate::replace;
use crate::sweep::{Bounds, sweep};

/// The memory of a user.
#[derive(Debug, Clone)]
pub struct Memory {
    dir: PathBuf,
    /// A file for each server that asks.
    asking: PathBuf,
    /// A file for each server that did not work when it was last tried.
    faults: PathBuf,
}

/// Why a server did not work when it was last tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastFault {
    /// Whether a login would have helped.
    pub needs_login: bool,
    /// What happened, without secrets.
    pub message: String,
    /// When.
    pub at: SystemTime,
}

/// A failure longer ago says nothing about the next try.
const FAULT_COUNTS: Duration = Duration::from_hours(24);
const NEEDS_LOGIN: &str = "needs login";
const FAILED: &str = "failed";

impl Memory {
    /// The memory below our own directory.
    pub fn of(env: &Env) -> Self {
        let cache = env.switchboard_home().join("cache");
        Self { dir: cache.join("eras"), asking: cache.join("asking"), faults: cache.join("faults") }
    }

    /// What it spoke last time.
    pub fn recall(&self, key: &str) -> Option<Era> {
        let (text, _) = read(&self.dir.join(key))?;
        Era::from_word(text.trim())
    }

    /// Keeps what it speaks.
    pub fn remember(&self, key: &str, era: Era) {
        if self.recall(key) != Some(era) {
            write(&self.dir, key, &format!("{}\n", era.as_str()));
        }
    }

    /// Forgets what it spoke: it did not work out.
    pub fn forget(&self, key: &str) {
        let _not_there = fs::remove_file(self.dir.join(key));
    }

    /// Whether the server of this definition ever asked a client something.
    pub(crate) fn has_asked(&self, key: &str) -> bool {
        self.asking.join(key).is_file()
    }

    /// Keeps that it did. It holds for this definition: another one has another key.
    pub(crate) fn keep_asked(&self, key: &str) {
        write(&self.asking, key, "asks\n");
    }

    /// Why it did not work when it was last tried, if that was of late.
    pub(crate) fn last_fault(&self, key: &str, now: SystemTime) -> Option<LastFault> {
        let (text, at) = read(&self.faults.join(key))?;
        if now.duration_since(at).is_ok_and(|age| age > FAULT_COUNTS) {
            return None;
        }
        let (word, message) = text.trim_end().split_once('\n')?;
        let needs_login = match word {
            NEEDS_LOGIN => true,
            FAILED => false,
            _ => return None,
        };
        Some(LastFault { needs_login, message: message.to_owned(), at })
    }

    /// Keeps why it does not work; the message is without secrets.
    pub fn keep_fault(&self, key: &str, needs_login: bool, message: &str) {
        let word = if needs_login { NEEDS_LOGIN } else { FAILED };
        write(&self.faults, key, &format!("{word}\n{message}\n"));
    }

    /// It works.
    pub fn forget_fault(&self, key: &str) {
        let _not_there = fs::remove_file(self.faults.join(key));
    }

    /// Removes what was not learnt anew for long.
    pub(crate) fn clear_old(&self, now: SystemTime) {
        let age = Duration::from_hours(180 * 24);
        for dir in [&self.dir, &self.asking, &self.faults] {
            sweep(dir, Bounds { age, n_files: 1000, bytes: 1024 * 1024 }, now);
        }
    }
}

/// What a file says, and since when. Another thing of that name, such as a pipe, could keep us waiting for ever.
fn read(file: &Path) -> Option<(String, SystemTime)> {
    let data = fs::metadata(file).ok().filter(Metadata::is_file)?;
    Some((fs::read_to_string(file).ok()?, data.modified().ok()?))
}

/// Puts a text in the place of whatever is there. One that cannot be kept is no reason to fail.
fn write(dir: &Path, key: &str, text: &str) {
    let file = dir.join(key);
    let write = || replace::lightly(&file, text.as_bytes());
    let _forgotten = write().or_else(|_| {
        fs::create_dir_all(dir)?;
        write()
    });
}
