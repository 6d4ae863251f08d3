//! Changes a file so that nobody ever sees half of it and no other writer's change is lost.
//!
//! Under a lock beside the file: read it, let a pure function make the new text, write that to a draft, flush it to disk,
//! and rename it into place. Links are followed, modes kept, a byte order mark put back. When anything fails, the file is
//! as it was; but for [`WriteError::Unconfirmed`], which says that it is not.

mod error;
mod lock;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::error::{CODES, WriteError};
use self::lock::Lock;
use crate::replace::{self, Draft, Rights, again};
use crate::sources::read::{self, BYTE_ORDER_MARK};

/// How long another writer may keep us waiting.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// How often we start over when the file changes under our hands.
const ATTEMPTS: u32 = 5;

/// Who may read a file that is made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// The user alone: it may hold secrets.
    Private,
    /// As the user's umask says: it is shared with the project.
    Shared,
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
    let project = path.parent().and_then(Path::parent).filter(|_| privacy == Privacy::Shared);
    update_inside(path, privacy, project, change)
}

/// The same for a file that may be a link, but not to something outside of that directory.
pub fn update_inside<E: From<WriteError>>(
    path: &Path,
    privacy: Privacy,
    project: Option<&Path>,
    change: impl Fn(Option<&str>) -> Result<String, E>,
) -> Result<(), E> {
    let link = path;
    let path = follow(link)?;
    if let Some(project) = project {
        stay_inside(link, &path, project)?;
    }
    if !is_there(&path)? {
        // What fails without a file leaves no directory behind.
        if change(None)?.is_empty() {
            return Ok(());
        }
    }
    make_parent(&path, privacy)?;
    let lock = Lock::take(&path, LOCK_PATIENCE)?;
    replace::clear(&path);
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
        let draft = draft(&path, privacy, &[mark, &new])?;
        // An editor without our lock may have saved since we read.
        if read_whole(&path)? == old {
            draft.place().map_err(|why| WriteError::unplaced(&path, why))?;
            drop(lock);
            return Ok(());
        }
    }
    Err(WriteError::Busy { path }.into())
}

/// Takes a file away if it says exactly this; tells whether it did.
pub fn remove(path: &Path, text: &str) -> Result<bool, WriteError> {
    let path = follow(path)?;
    if !is_there(&path)? {
        return Ok(false);
    }
    let lock = Lock::take(&path, LOCK_PATIENCE)?;
    if read_whole(&path)?.as_deref() != Some(text) {
        return Ok(false);
    }
    again(|| fs::remove_file(&path)).map_err(|error| WriteError::of(&path, error))?;
    drop(lock);
    Ok(true)
}

/// The file itself, if the path is a link to it.
fn follow(path: &Path) -> Result<PathBuf, WriteError> {
    let mut path = path.to_owned();
    // As many links as systems themselves follow.
    for _ in 0..40 {
        // A link that cannot be looked at must not be taken for a file: it would be replaced by one.
        let is_link = metadata(&path, Path::symlink_metadata)?.is_some_and(|there| there.is_symlink());
        if is_link {
            let target = again(|| fs::read_link(&path)).map_err(|error| WriteError::of(&path, error))?;
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

/// What is at a path; nothing if that is nothing.
fn metadata(
    path: &Path,
    look: impl Fn(&Path) -> io::Result<fs::Metadata>,
) -> Result<Option<fs::Metadata>, WriteError> {
    match again(|| look(path)) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(WriteError::of(path, error)),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether there is a file; an error where that cannot be told.
pub(crate) fn is_there(path: &Path) -> Result<bool, WriteError> {
    Ok(metadata(path, Path::metadata)?.is_some())
}

/// A project's file may be a link, but not to something outside of the project: whoever wrote the project would
/// decide which file of the user is changed.
fn stay_inside(link: &Path, target: &Path, project: &Path) -> Result<(), WriteError> {
    let Some(parent) = target.parent() else { return Ok(()) };
    let whole = |path: &Path| match again(|| path.canonicalize()) {
        Ok(path) => Ok(Some(path)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(WriteError::of(link, error)),
    };
    let (Some(project), Some(parent)) = (whole(project)?, whole(parent)?) else { return Ok(()) };
    if parent.starts_with(&project) {
        return Ok(());
    }
    let what = format!("it is a link to {}, outside of the project", target.display());
    Err(WriteError::Content { path: link.to_owned(), line: None, what })
}

fn make_parent(path: &Path, privacy: Privacy) -> Result<(), WriteError> {
    let Some(parent) = path.parent().filter(|parent| !parent.is_dir()) else { return Ok(()) };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if privacy == Privacy::Private {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    #[cfg(not(unix))]
    let _ = privacy;
    again(|| builder.create(parent)).map_err(|error| WriteError::of(path, error))
}

/// The text with its byte order mark; `None` when there is no file.
fn read_whole(path: &Path) -> Result<Option<String>, WriteError> {
    read::whole(path)
        .map_err(|problem| WriteError::Unusable { path: path.to_owned(), problem: Box::new(problem) })
}

/// The new text, beside the file.
fn draft<'a>(path: &'a Path, privacy: Privacy, text: &[&str]) -> Result<Draft<'a>, WriteError> {
    let failed = |error| WriteError::of(path, error);
    let there = metadata(path, Path::metadata)?;
    let rights = match (&there, privacy) {
        // Replacing a file needs no right to write it, so the mode must be asked.
        (Some(old), _) if old.permissions().readonly() => {
            return Err(WriteError::ReadOnly { path: path.to_owned() });
        }
        (Some(old), _) => Rights::Like(old),
        (None, Privacy::Private) => Rights::Private,
        (None, Privacy::Shared) => Rights::Shared,
    };
    let mut draft = Draft::open(path, rights).map_err(failed)?;
    text.iter().try_for_each(|part| draft.write(part.as_bytes())).map_err(failed)?;
    Ok(draft)
}
