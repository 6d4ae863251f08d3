//! Opens and replaces the store's files: no link is followed, nothing is used that others could read or change.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::StoreError;
use crate::config::write::WriteError;
use crate::replace;

/// The directory, made if need be, for us alone.
pub(super) fn make_dir(dir: &Path) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(dir) {
        Ok(()) => check_dir(dir),
        // A link to nowhere, or a file.
        Err(_) if dir.symlink_metadata().is_ok() => {
            check_dir(dir).and(Err(StoreError::NotOurs { path: dir.to_owned() }))
        }
        Err(error) => Err(WriteError::of(dir, error).into()),
    }
}

/// Whether a directory can be trusted. One that is not there holds nothing bad.
pub(super) fn check_dir(dir: &Path) -> Result<(), StoreError> {
    let path = dir.to_owned();
    let metadata = match dir.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(source) => return Err(StoreError::Unreadable { path, source }),
    };
    if !metadata.is_dir() {
        return Err(StoreError::NotOurs { path });
    }
    if is_foreign(&metadata) {
        return Err(StoreError::Foreign { path });
    }
    // Names tell nothing, and each file is looked at by itself: only those who could swap a file are in the way.
    if has_mode(&metadata, 0o022) {
        return Err(StoreError::DirTooOpen { path });
    }
    Ok(())
}

/// Whether there is nothing at a path.
pub(super) fn is_absent_at(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| is_absent(&error))
}

/// What is in a directory, in the order of the names. One that is not there is empty.
pub(super) fn names(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match dir.read_dir() {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(source) => return Err(StoreError::Unreadable { path: dir.to_owned(), source }),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// The bytes of a private file, one more than the limit at most; `None` if there is no such file.
pub(super) fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let unreadable = |source| StoreError::Unreadable { path: path.to_owned(), source };
    let Some(file) = open(path, OpenOptions::new().read(true))? else { return Ok(None) };
    let metadata = file.metadata().map_err(unreadable)?;
    if has_mode(&metadata, 0o077) {
        return Err(StoreError::TooOpen { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Some(bytes))
}

/// A file to be locked, made if need be.
pub(super) fn lockable(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    match open(path, &mut options) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(WriteError::of(path, io::ErrorKind::NotFound.into()).into()),
        // We came to write.
        Err(StoreError::Unreadable { path, source }) => Err(WriteError::of(&path, source).into()),
        Err(error) => Err(error),
    }
}

/// Puts a text in the place of a file. Whoever looks sees the old or the new, also after a crash.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), StoreError> {
    Ok(replace::privately(path, text.as_bytes()).map_err(|why| WriteError::unplaced(path, why))?)
}

/// Makes sure that the disk knows which files there are.
pub(super) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    let unplaced = |error| WriteError::unplaced(dir, replace::Unplaced::New(error));
    Ok(replace::sync_dir(dir).map_err(unplaced)?)
}

/// A regular file of our own, opened; `None` if there is none.
fn open(path: &Path, options: &mut OpenOptions) -> Result<Option<File>, StoreError> {
    let not_ours = || StoreError::NotOurs { path: path.to_owned() };
    // Opening a pipe would wait for the other end, and a socket cannot be opened at all.
    if path.symlink_metadata().is_ok_and(|there| !there.is_file()) {
        return Err(not_ours());
    }
    // It may have become something else since we looked.
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) if is_link(&error) => return Err(not_ours()),
        Err(source) => return Err(StoreError::Unreadable { path: path.to_owned(), source }),
    };
    let metadata =
        file.metadata().map_err(|source| StoreError::Unreadable { path: path.to_owned(), source })?;
    if !metadata.is_file() {
        return Err(not_ours());
    }
    if is_foreign(&metadata) {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    Ok(Some(file))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(unix)]
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(unix)]
fn is_foreign(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(metadata) != rustix::process::geteuid().as_raw()
}

#[cfg(unix)]
fn has_mode(metadata: &Metadata, bits: u32) -> bool {
    std::os::unix::fs::MetadataExt::mode(metadata) & bits != 0
}

// Elsewhere the home directory is closed to others by itself.

#[cfg(not(unix))]
fn is_link(_error: &io::Error) -> bool {
    false
}

#[cfg(not(unix))]
fn is_foreign(_metadata: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn has_mode(_metadata: &Metadata, _bits: u32) -> bool {
    false
}
