//! What was typed before: walked through, searched, and kept in a private file.
//!
//! Lines that begin with a blank, that name a secret or that are very long are not written to disk. A file that cannot
//! be read or written costs only itself.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use switchboard::Env;
use switchboard::config::write::{self, Privacy, WriteError};
use switchboard::redact::{self, is_telling_option};
use switchboard::visible::visible;

/// So many lines are kept.
const MOST: usize = 1000;
/// Longer texts are not worth keeping.
const LONGEST: usize = 16 * 1024;
/// No file of ours gets so large.
const LARGEST: u64 = 32 * 1024 * 1024;

/// The lines of before, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct History {
    lines: Vec<String>,
    walk: Option<Walk>,
}

/// Somebody looks at older lines.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Walk {
    at: usize,
    /// What was typed before.
    draft: String,
}

impl History {
    pub(super) const fn new(lines: Vec<String>) -> Self {
        Self { lines, walk: None }
    }

    pub(super) fn add(&mut self, line: &str) {
        self.walk = None;
        if self.lines.last().is_none_or(|last| last != line) {
            self.lines.push(line.to_owned());
        }
        if self.lines.len() > MOST {
            self.lines.remove(0);
        }
    }

    /// The line before the one that is shown.
    pub(super) fn older(&mut self, typed: &str) -> Option<&str> {
        let at = self.walk.as_ref().map_or(self.lines.len(), |walk| walk.at).checked_sub(1)?;
        let draft = self.walk.take().map_or_else(|| typed.to_owned(), |walk| walk.draft);
        self.walk = Some(Walk { at, draft });
        self.lines.get(at).map(String::as_str)
    }

    /// The line after it; after the last, what was typed.
    pub(super) fn newer(&mut self) -> Option<String> {
        let walk = self.walk.take()?;
        match self.lines.get(walk.at + 1) {
            Some(line) => {
                let line = line.clone();
                self.walk = Some(Walk { at: walk.at + 1, ..walk });
                Some(line)
            }
            None => Some(walk.draft),
        }
    }

    /// What is shown was changed: it is a new line now.
    pub(super) fn settle(&mut self) {
        self.walk = None;
    }

    /// The newest line with these words in it that is older than `before`.
    pub(super) fn find(&self, words: &str, before: usize) -> Option<(usize, &str)> {
        let lines = self.lines.iter().enumerate().take(before).rev();
        lines.map(|(at, line)| (at, line.as_str())).find(|(_, line)| line.contains(words))
    }

    pub(super) const fn len(&self) -> usize {
        self.lines.len()
    }
}

/// Whether a line may be written to disk.
fn is_kept(line: &str) -> bool {
    let tells = |word: &str| {
        let name = word.split('=').next().unwrap_or(word);
        is_telling_option(name) || matches!(name, "--header" | "-H" | "--env" | "-e")
    };
    let has_key = || redact::word(line) != visible(line);
    !line.starts_with(' ') && line.len() <= LONGEST && !line.split_whitespace().any(tells) && !has_key()
}

/// The file that keeps the lines.
#[derive(Debug, Clone)]
pub(super) struct Archive {
    path: PathBuf,
}

impl Archive {
    pub(super) fn of(env: &Env) -> Self {
        Self { path: env.switchboard_home().join("history") }
    }

    /// The lines of earlier sessions. A file that grew too long is made short.
    pub(super) fn load(&self) -> Vec<String> {
        let is_ours = fs::metadata(&self.path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
        let text = is_ours.then(|| fs::read_to_string(&self.path).ok()).flatten().unwrap_or_default();
        // What is no line of ours is passed over: half a line may stand there after a crash.
        let mut lines: Vec<String> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if lines.len() > 2 * MOST {
            lines.drain(..lines.len() - MOST);
            // A file that stays long is read all the same the next time.
            drop(self.rewrite(&lines));
        }
        lines.drain(..lines.len().saturating_sub(MOST));
        lines
    }

    /// Adds a line, if it may be kept.
    pub(super) fn append(&self, line: &str) -> io::Result<()> {
        if !is_kept(line) {
            return Ok(());
        }
        if let Some(dir) = self.path.parent() {
            private_dir(dir)?;
        }
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let mut options = OpenOptions::new();
        private(options.append(true).create(true)).open(&self.path)?.write_all(text.as_bytes())
    }

    fn rewrite(&self, lines: &[String]) -> Result<(), WriteError> {
        let lines = lines.iter().filter_map(|line| serde_json::to_string(line).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        write::update(&self.path, Privacy::Private, |_| Ok(text.clone()))
    }
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

fn private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(dir)
}

#[cfg(test)]
mod tests {
    use testkit::Sandbox;

    use super::*;

    #[test]
    fn older_lines_are_walked_through_and_the_draft_stays() {
        let mut history = History::new(vec!["one".into(), "two".into()]);
        assert_eq!(history.older("draft"), Some("two"));
        assert_eq!(history.older("two"), Some("one"));
        assert_eq!(history.older("one"), None);
        assert_eq!(history.newer().as_deref(), Some("two"));
        assert_eq!(history.newer().as_deref(), Some("draft"));
        assert_eq!(history.newer(), None);
        assert_eq!(history.find("o", 2), Some((1, "two")));
        assert_eq!(history.find("o", 1), Some((0, "one")));
        assert_eq!(history.find("x", 2), None);
    }

    #[test]
    fn secrets_are_not_written_down() {
        for line in [
            " hidden",
            "/mcp add x --url https://a --token abc",
            "/mcp add x --token=abc",
            "/mcp add x --header 'Authorization: Bearer abc'",
            "/mcp add x --env KEY=abc -- y",
            "my key is sk-abcdefghijklmnopqrstuvwxyz0123456789",
        ] {
            assert!(!is_kept(line), "{line}");
        }
        assert!(is_kept("/call github/create_issue title=x") && is_kept("what is a token?"));
    }

    #[test]
    fn lines_come_back_in_the_next_session() {
        let sandbox = Sandbox::new();
        let archive = Archive::of(&sandbox.env());
        assert!(archive.load().is_empty());
        for line in ["one", " secret", "two\nlines"] {
            archive.append(line).unwrap();
        }
        assert_eq!(archive.load(), ["one", "two\nlines"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&archive.path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        for n in 0..3 * MOST {
            archive.append(&n.to_string()).unwrap();
        }
        let lines = archive.load();
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (MOST, Some("2999")));
        assert_eq!(sandbox.read("~/.switchboard/history").lines().count(), MOST);
        sandbox.write("~/.switchboard/history", "\"good\"\n{broken\n\"also good\"\n");
        assert_eq!(archive.load(), ["good", "also good"]);
    }
}
