//! Puts a text in the place of a file, so that whoever looks sees the old or the new one, whatever fails in between.
//!
//! The text goes into a draft beside the file, is flushed to disk, and takes the name of the file. A draft that comes to
//! nothing is removed. One whose writer was killed stays; its name tells what it is, and [`clear`] removes it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What stands between the name of a file and the number of its draft.
const MARK: &str = ".switchboard-";
/// No writer leaves so many.
const MOST_DRAFTS: u32 = 1000;

/// Who may do what with the new file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rights<'a> {
    /// The user alone.
    Private,
    /// As the user's umask says.
    Shared,
    /// Who could with the old one.
    Like(&'a Metadata),
}

/// Why a text is not in its place.
#[derive(Debug)]
pub(crate) enum Unplaced {
    /// The old one is still there.
    Old(io::Error),
    /// The new one is there, and the disk did not confirm that it stays.
    New(io::Error),
}

impl From<Unplaced> for io::Error {
    fn from(unplaced: Unplaced) -> Self {
        match unplaced {
            Unplaced::Old(error) | Unplaced::New(error) => error,
        }
    }
}

/// A text on its way to a file.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    target: &'a Path,
    path: PathBuf,
    file: File,
    is_placed: bool,
}

impl<'a> Draft<'a> {
    /// An empty one. Nobody may read it who may not read the file.
    pub(crate) fn open(target: &'a Path, rights: Rights<'_>) -> io::Result<Self> {
        let (path, file) = create(target, rights)?;
        let draft = Self { target, path, file, is_placed: false };
        if let Rights::Like(old) = rights {
            take_after(&draft.file, old)?;
        }
        Ok(draft)
    }

    /// Adds to it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Puts it in the place of the file.
    pub(crate) fn place(mut self) -> Result<(), Unplaced> {
        self.file.sync_all().map_err(Unplaced::Old)?;
        self.rename().map_err(Unplaced::Old)?;
        let dir = self.target.parent().unwrap_or(Path::new("."));
        sync_dir(dir).map_err(Unplaced::New)
    }

    fn rename(&mut self) -> io::Result<()> {
        again(|| fs::rename(&self.path, self.target))?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            // What stays is cleared away by the next writer.
            drop(again(|| fs::remove_file(&self.path)));
        }
    }
}

/// Puts a text for the user alone in the place of a file.
pub(crate) fn privately(path: &Path, bytes: &[u8]) -> Result<(), Unplaced> {
    let mut draft = Draft::open(path, Rights::Private).map_err(Unplaced::Old)?;
    draft.write(bytes).map_err(Unplaced::Old)?;
    draft.place()
}

/// The same for what can be had again: nobody waits for the disk, and after a power cut it may be cut short.
pub(crate) fn lightly(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::open(path, Rights::Private)?;
    draft.write(bytes)?;
    draft.rename()
}

/// Removes what killed writers left beside a file. Only for whoever keeps other writers out.
pub(crate) fn clear(target: &Path) {
    let Some((dir, name)) = target.parent().zip(target.file_name().and_then(|name| name.to_str())) else {
        return;
    };
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|other| is_draft_of(other, name)) {
            drop(again(|| fs::remove_file(entry.path())));
        }
    }
}

/// Whether a name is that of a draft of some file.
pub(crate) fn is_draft(name: &str) -> bool {
    name.split_once(MARK)
        .and_then(|(target, _)| target.strip_prefix('.'))
        .is_some_and(|target| is_draft_of(name, target))
}

/// Whether a name is that of a draft of the file with this name.
pub(crate) fn is_draft_of(name: &str, target: &str) -> bool {
    let number = name.strip_prefix('.').and_then(|name| name.strip_prefix(target)?.strip_prefix(MARK));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    number.and_then(|number| number.split_once('-')).is_some_and(|(pid, n)| is_number(pid) && is_number(n))
}

/// Does something until no signal comes in between.
pub(crate) fn again<T>(work: impl Fn() -> io::Result<T>) -> io::Result<T> {
    loop {
        match work() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Makes sure that the disk knows which files there are.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(dir).and_then(|dir| dir.sync_all()) {
        // Some file systems have nothing to do for it.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

/// A file with a name that nobody has.
fn create(target: &Path, rights: Rights<'_>) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().ok_or(ErrorKind::IsADirectory)?.to_string_lossy();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(
        &mut options,
        if matches!(rights, Rights::Shared) { 0o666 } else { 0o600 },
    );
    #[cfg(not(unix))]
    let _ = rights;
    let pid = std::process::id();
    for n in 0..MOST_DRAFTS {
        let path = target.with_file_name(format!(".{name}{MARK}{pid}-{n}"));
        match options.open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// The owner first: a change of it may take rights away. Whoever may not give a file away keeps it.
#[cfg(unix)]
fn take_after(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = again(|| file.metadata())?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        match again(|| fchown(file, Some(old.uid()), Some(old.gid()))) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            done => done?,
        }
    }
    again(|| file.set_permissions(old.permissions()))
}

#[cfg(not(unix))]
fn take_after(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_that_comes_to_nothing_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "old").unwrap();
        let mut draft = Draft::open(&path, Rights::Shared).unwrap();
        draft.write(b"new").unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        drop(draft);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        privately(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        lightly(&path, b"newer").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_drafts_are_cleared_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mcp.json");
        let kept = [
            "mcp.json",
            ".mcp.json.backup",
            ".mcp.json.switchboard-",
            ".mcp.json.switchboard-1",
            ".mcp.json.switchboard-1-x",
            ".mcp.json.switchboard-1-2.bak",
            ".other.json.switchboard-1-2",
        ];
        for name in kept.iter().chain(&[".mcp.json.switchboard-1-2", ".mcp.json.switchboard-77-0"]) {
            fs::write(dir.path().join(name), "").unwrap();
        }
        clear(&path);
        let mut left: Vec<String> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort_unstable();
        let mut kept = kept.map(str::to_owned);
        kept.sort_unstable();
        assert_eq!(left, kept);
        assert!(is_draft(".mcp.json.switchboard-1-2") && !is_draft(".mcp.json.backup"));
    }

    #[cfg(unix)]
    #[test]
    fn rights_are_kept() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        privately(&path, b"x").unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let old = fs::metadata(&path).unwrap();
        Draft::open(&path, Rights::Like(&old)).unwrap().place().unwrap();
        assert_eq!(mode(&path), 0o640);
    }
}
