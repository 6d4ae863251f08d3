//! Text too long for a model: head and tail are shown, the whole is kept in a private file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::digest;

/// Of what is shown, so much is the end.
const TAIL_SHARE: usize = 4;

/// The text as shown, and where the whole of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spilled {
    /// Head and tail, with a word on what is between.
    pub text: String,
    /// The whole text; none when it could not be kept.
    pub path: Option<PathBuf>,
}

/// Shortens a text that is longer than the limit.
pub fn spill(text: &str, limit: usize, dir: &Path) -> Option<Spilled> {
    if text.len() <= limit {
        return None;
    }
    let path = keep(text, dir).ok();
    let tail_room = limit / TAIL_SHARE;
    let head = cut(text, limit - tail_room);
    let tail_start = ceil(text, text.len() - tail_room);
    let hidden = tail_start - head.len();
    let place = match &path {
        Some(path) => format!("the whole text is in {}", path.display()),
        None => "the whole text could not be kept".to_owned(),
    };
    let shown = format!("{head}\n\n[... {hidden} bytes left out; {place} ...]\n\n{}", &text[tail_start..]);
    Some(Spilled { text: shown, path })
}

/// The same text always goes to the same file.
fn keep(text: &str, dir: &Path) -> std::io::Result<PathBuf> {
    fs::create_dir_all(dir)?;
    let hash = digest::hex(text.as_bytes());
    let path = dir.join(format!("{}.txt", &hash[..16]));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&path)?.write_all(text.as_bytes())?;
    Ok(path)
}

fn cut(text: &str, at: usize) -> &str {
    &text[..text.floor_char_boundary(at)]
}

fn ceil(text: &str, at: usize) -> usize {
    text.ceil_char_boundary(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let text = "é".repeat(10_000);
        assert_eq!(spill(&text, 20_000, dir.path()), None);
        let spilled = spill(&text, 1001, dir.path()).unwrap();
        assert!(spilled.text.len() < 1400 && spilled.text.contains("left out"));
        assert_eq!(fs::read_to_string(spilled.path.unwrap()).unwrap(), text);
    }
}
