//! Logins on disk: private, whole, one file each, one writer at a time.
//!
//! In: the id of a credential and what is to be kept. Out: what was kept, or why it cannot be used. What is there is
//! never followed if it is a link, never used if others could read or change it, and never overwritten if it cannot be
//! read. Everything here may wait for a disk: not for a task that must not.
//!
//! Where the system has a keyring, the keyring holds one key and the files are sealed with it: what makes them whole,
//! shared and safe from a crash stays as it is. What people may see of a login stands beside the seal, in the clear.
//!
//! Two locks, both beside the files. [`Store::lock`] is for whoever reads, asks an issuer and writes: it may be held for
//! seconds. The turn is for one look and one rename, and is taken in here.

mod error;
mod file;
mod form;
mod keyring;
mod lock;
mod seal;

#[cfg(test)]
#[cfg(unix)]
mod absent;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use self::error::StoreError;
pub(crate) use self::form::Outline;
use self::form::{decode, encode, outline};
pub(crate) use self::keyring::Keyring;
use self::keyring::NoKey;
pub(crate) use self::lock::Lock;
use self::seal::Key;
use super::kept::{CredentialId, Kept};
use crate::config::write::{self, WriteError};
use crate::env::Env;
use crate::replace::{self, again};

/// A larger file is none of ours.
const MOST_BYTES: u64 = 1024 * 1024;
/// Whoever has the turn only looks and renames.
const TURN_PATIENCE: Duration = Duration::from_secs(10);
/// More broken files than this are not kept.
const MOST_BROKEN: u32 = 1000;

/// The credentials of a user.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    dir: PathBuf,
    keyring: Keyring,
}

/// A file in the store, for whoever looks after it.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) path: PathBuf,
    pub(crate) found: Found,
}

/// What is in a file.
#[derive(Debug)]
pub(crate) enum Found {
    /// A credential.
    Kept(Box<Outline>),
    /// Something that cannot be used, in place of a credential.
    Unusable(StoreError),
    /// Something that could not be read, and was put aside.
    SetAside,
}

impl Store {
    /// The store below our own directory.
    pub(crate) fn of(env: &Env, keyring: Keyring) -> Self {
        Self { dir: env.switchboard_home().join("credentials"), keyring }
    }

    /// Whether nothing is kept for an id, and nothing is wrong about that: what [`Self::read`] would find, in two looks at the
    /// directory and without a file. Each request to a server without a login asks.
    pub(crate) fn has_none(&self, id: &CredentialId) -> bool {
        file::check_dir(&self.dir).is_ok() && file::is_absent_at(&self.path(id))
    }

    /// What is kept for an id. What cannot be read is renamed, so that it is told of once and then out of the way.
    pub(crate) fn read(&self, id: &CredentialId) -> Result<Option<Kept>, StoreError> {
        match self.look(&self.path(id)) {
            Err(StoreError::Broken { path, what, aside: _ }) => {
                // A directory that cannot be written leaves it where it is.
                let Ok(turn) = self.turn() else {
                    return Err(StoreError::Broken { path, what, aside: None });
                };
                self.look_again(&path, &turn)
            }
            other => other,
        }
    }

    /// The same for whoever has a new login to put in its place: what is sealed and cannot be opened is in nobody's way.
    pub(crate) fn read_to_replace(&self, id: &CredentialId) -> Result<Option<Kept>, StoreError> {
        match self.read(id) {
            Err(StoreError::Sealed { .. }) => Ok(None),
            other => other,
        }
    }

    /// What may be seen of it, without changing anything, and without asking the keyring.
    pub(crate) fn peek(&self, id: &CredentialId) -> Result<Option<Outline>, StoreError> {
        self.glance(&self.path(id))
    }

    /// Whether what is sealed could be opened now: why not, of the first that could not.
    pub(crate) fn check_seals(&self) -> Option<StoreError> {
        let is_sealed = |found: &Found| matches!(found, Found::Kept(outline) if outline.is_sealed);
        let sealed = self.all().into_iter().find(|listed| is_sealed(&listed.found))?;
        self.look(&sealed.path).err().filter(|error| matches!(error, StoreError::Sealed { .. }))
    }

    /// Replaces what is kept, at once and for good: when this returns, the disk has it.
    pub(crate) fn write(&self, kept: &Kept) -> Result<(), StoreError> {
        let path = self.path(&kept.id);
        file::make_dir(&self.dir)?;
        // A keyring may be slow, and a turn is short.
        let key = self.key();
        let text = encode(kept, key.as_ref()).map_err(|what| WriteError::Content {
            path: path.clone(),
            line: None,
            what,
        })?;
        let turn = self.turn()?;
        match self.look_again(&path, &turn) {
            Ok(_) | Err(StoreError::Broken { aside: Some(_), .. }) => {}
            // Whoever writes has a new login. The old one may be opened again one day.
            Err(error @ StoreError::Sealed { .. }) => drop(put_aside(&path).ok_or(error)?),
            Err(error) => return Err(error),
        }
        self.clear(|name| is_leftover(name, &kept.id.key()));
        file::replace(&path, &text)
    }

    /// Forgets an id, with whatever was put aside for it. Says whether there was anything.
    pub(crate) fn remove(&self, id: &CredentialId) -> Result<bool, StoreError> {
        let path = self.path(id);
        match self.look(&path) {
            // Whatever it was, it was to be forgotten.
            Ok(_) | Err(StoreError::Broken { .. } | StoreError::Sealed { .. }) => {}
            Err(error) => return Err(error),
        }
        // One that cannot be looked at may hold what is to be forgotten.
        if !write::is_there(&self.dir)? {
            return Ok(false);
        }
        let turn = self.turn()?;
        let gone = match again(|| fs::remove_file(&path)) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(WriteError::of(&path, error).into()),
        };
        let key = id.key();
        let more = self.clear(|name| is_leftover(name, &key) || is_broken(name, &key));
        file::sync_dir(&self.dir)?;
        drop(turn);
        Ok(gone || more)
    }

    /// Keeps other processes from changing a credential until the lock is dropped.
    pub(crate) fn lock(&self, id: &CredentialId, patience: Duration) -> Result<Lock, StoreError> {
        file::make_dir(&self.dir)?;
        Lock::take(&self.dir.join(format!("{}.lock", id.key())), patience)
    }

    /// Every file there is, in the order of their names. Changes nothing.
    pub(crate) fn all(&self) -> Vec<Listed> {
        let paths = match file::check_dir(&self.dir).and_then(|()| file::names(&self.dir)) {
            Ok(paths) => paths,
            Err(error) => return vec![Listed { path: self.dir.clone(), found: Found::Unusable(error) }],
        };
        paths.into_iter().filter_map(|path| self.listed(path)).collect()
    }

    fn listed(&self, path: PathBuf) -> Option<Listed> {
        let name = path.file_name()?.to_str()?;
        let (key, rest) = name.split_once('.')?;
        let found = if rest == "json" {
            match self.glance(&path) {
                Ok(outline) => Found::Kept(Box::new(outline?)),
                Err(error) => Found::Unusable(error),
            }
        } else if is_broken(name, key) {
            Found::SetAside
        } else {
            return None;
        };
        Some(Listed { path, found })
    }

    fn path(&self, id: &CredentialId) -> PathBuf {
        self.dir.join(format!("{}.json", id.key()))
    }

    /// What to seal with. Without a keyring it is a file for the user alone, as ever.
    fn key(&self) -> Option<Key> {
        match self.keyring.find() {
            Ok(key) => Some(key),
            Err(NoKey::Unknown) => {
                // Two at once would make two.
                let _lock = Lock::take(&self.dir.join("keyring.lock"), TURN_PATIENCE).ok()?;
                self.keyring.make().ok()
            }
            Err(_) => None,
        }
    }

    /// The right to look and rename.
    fn turn(&self) -> Result<Lock, StoreError> {
        Lock::take(&self.dir.join("turn.lock"), TURN_PATIENCE)
    }

    /// What is in a file. Changes nothing.
    fn look(&self, path: &Path) -> Result<Option<Kept>, StoreError> {
        file::check_dir(&self.dir)?;
        let Some(bytes) = file::read(path, MOST_BYTES)? else { return Ok(None) };
        decode(path, &bytes, &self.keyring).map(Some)
    }

    /// What may be seen of a file. Changes nothing.
    fn glance(&self, path: &Path) -> Result<Option<Outline>, StoreError> {
        file::check_dir(&self.dir)?;
        let Some(bytes) = file::read(path, MOST_BYTES)? else { return Ok(None) };
        outline(path, &bytes).map(Some)
    }

    /// The same while nobody else writes: what is broken now is put aside.
    fn look_again(&self, path: &Path, _turn: &Lock) -> Result<Option<Kept>, StoreError> {
        match self.look(path) {
            Err(StoreError::Broken { path, what, aside: _ }) => {
                let aside = put_aside(&path);
                Err(StoreError::Broken { path, what, aside })
            }
            other => other,
        }
    }

    /// Removes files by their names. They are nobody's: we have the turn.
    fn clear(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        let mut removed = false;
        for path in file::names(&self.dir).unwrap_or_default() {
            if path.file_name().and_then(|name| name.to_str()).is_some_and(&is_meant) {
                removed |= again(|| fs::remove_file(&path)).is_ok();
            }
        }
        removed
    }
}

/// Whether a file is one that could not be read.
fn is_broken(name: &str, key: &str) -> bool {
    name.strip_prefix(key).is_some_and(|rest| rest.starts_with(".json.broken-"))
}

/// Whether a file was left by a writer that was killed.
fn is_leftover(name: &str, key: &str) -> bool {
    replace::is_draft_of(name, &format!("{key}.json"))
}

fn put_aside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let names = (1..=MOST_BROKEN).map(|n| path.with_file_name(format!("{name}.broken-{n}")));
    let free = names.into_iter().find(|free| free.symlink_metadata().is_err())?;
    again(|| fs::rename(path, &free)).ok()?;
    Some(free)
}
