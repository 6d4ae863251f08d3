//! Text too long for a model: head and tail are shown, the whole is kept in a private file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::digest;
use crate::replace;
use crate::sweep::{Bounds, sweep};

/// Of what is shown, so much is the end.
const TAIL_SHARE: usize = 4;
/// When a new file comes, the old go: nobody asks for the text of last month.
const BOUNDS: Bounds = Bounds { age: Duration::from_hours(30 * 24), n_files: 1000, bytes: 512 * 1024 * 1024 };

/// The text as shown, and where the whole of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spilled {
    /// Head and tail, with a word on what is between.
    pub text: String,
    /// The whole text; none when it could not be kept.
    pub path: Option<PathBuf>,
}

/// Shortens a text that is longer than the limit.
pub fn spill(text: &str, limit: usize, dir: &Path, now: SystemTime) -> Option<Spilled> {
    if text.len() <= limit {
        return None;
    }
    let kept = keep(text, dir);
    sweep(dir, BOUNDS, now);
    let tail_room = limit / TAIL_SHARE;
    let head = &text[..text.floor_char_boundary(limit - tail_room)];
    let tail = &text[text.ceil_char_boundary(text.len() - tail_room)..];
    let hidden = text.len() - head.len() - tail.len();
    let place = match &kept {
        Ok(path) => format!("the whole text is in {}", path.display()),
        Err(error) => format!("the whole text could not be kept: {error}"),
    };
    let shown = format!("{head}\n\n[... {hidden} bytes left out; {place} ...]\n\n{tail}");
    Some(Spilled { text: shown, path: kept.ok() })
}

/// The same text always goes to the same file. It appears there at once and whole, whoever else writes it, and takes the
/// place of a link instead of following it.
fn keep(text: &str, dir: &Path) -> io::Result<PathBuf> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)?;
    let hash = digest::hex(text.as_bytes());
    let path = dir.join(format!("{}.txt", &hash[..32]));
    replace::privately(&path, text.as_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, limit: usize, dir: &Path) -> Spilled {
        spill(text, limit, dir, SystemTime::now()).unwrap()
    }

    #[test]
    fn nothing_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("new").join("results");
        let text = "é".repeat(10_000);
        assert_eq!(spill(&text, 20_000, &dir, SystemTime::now()), None);
        for limit in [1, 2, 3, 1000, 1001, 19_999] {
            let spilled = kept(&text, limit, &dir);
            assert!(spilled.text.len() < limit + 300 && spilled.text.contains("left out"));
            assert_eq!(fs::read_to_string(spilled.path.unwrap()).unwrap(), text);
        }
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "the same text is the same file");
    }

    #[test]
    fn what_cannot_be_kept_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let spilled = kept("a long text", 4, &file);
        assert_eq!(spilled.path, None);
        assert!(spilled.text.contains("could not be kept: "), "{}", spilled.text);
    }

    #[test]
    fn many_writers_of_one_text_leave_it_whole() {
        let dir = tempfile::tempdir().unwrap();
        let text = "line\n".repeat(50_000);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let path = kept(&text, 100, dir.path()).path.unwrap();
                        assert!(fs::read_to_string(path).unwrap() == text);
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn what_is_old_goes_when_something_new_comes() {
        let dir = tempfile::tempdir().unwrap();
        let old = kept("an old text", 4, dir.path()).path.unwrap();
        let later = SystemTime::now() + BOUNDS.age + Duration::from_mins(1);
        assert!(spill("short", 10, dir.path(), later).is_none() && old.exists());
        spill("a new text", 4, dir.path(), later).unwrap();
        assert!(!old.exists());
    }

    #[cfg(unix)]
    #[test]
    fn it_is_for_the_user_alone_and_follows_no_link() {
        use std::os::unix::fs::PermissionsExt;
        let outer = tempfile::tempdir().unwrap();
        let dir = outer.path().join("results");
        let path = kept("a long text", 4, &dir).path.unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&dir)), (0o600, 0o700));
        let target = outer.path().join("precious");
        fs::write(&target, "precious").unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert_eq!(kept("a long text", 4, &dir).path.unwrap(), path);
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(mode(&path), 0o600);
    }
}
