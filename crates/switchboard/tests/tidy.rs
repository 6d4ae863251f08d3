//! Keeps the house in order: the direction of the rooms, module comments, sizes, no stray words.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::path::{Path, PathBuf};

/// Words: known to every room, knowing none.
const WORDS: &[&str] = &[
    "context", "declared", "dial", "digest", "env", "glob", "host", "json", "notice", "offer", "origin",
    "problem", "provider", "redact", "replace", "secret", "spans", "sweep", "template", "visible",
];
/// Rooms, in the order of the flow: a room knows the words and the rooms before it.
const ROOMS: &[&str] = &[
    "sources", "config", "install", "resolve", "auth", "wire", "examine", "connect", "catalog", "calls",
    "discover", "session",
];

const MOST_LINES: usize = 600;

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn all() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    sources(crates, &mut found);
    found
}

/// The word or room a file of the library belongs to.
fn home(path: &Path) -> String {
    let relative = path.strip_prefix(library()).unwrap();
    let first = relative.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// The code before the tests at the end of a file.
fn code(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

#[test]
fn data_goes_one_way() {
    let mut files = Vec::new();
    sources(&library(), &mut files);
    assert!(files.len() > 30);
    for path in files {
        let home = home(&path);
        if home == "lib" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for line in code(&text).lines().filter(|line| !line.trim_start().starts_with("//")) {
            assert!(!line.contains("use crate::{"), "{}: one room a line: {line}", path.display());
            for target in ROOMS.iter().chain(WORDS) {
                if !line.contains(&format!("crate::{target}::"))
                    && !line.contains(&format!("crate::{target};"))
                {
                    continue;
                }
                let place = |name: &str| ROOMS.iter().position(|room| *room == name);
                let forward = match (place(&home), place(target)) {
                    (_, None) => true,
                    (Some(here), Some(there)) => there <= here,
                    (None, Some(_)) => false,
                };
                assert!(forward, "{}: `{home}` must not know `{target}`: {line}", path.display());
            }
        }
    }
}

#[test]
fn every_room_and_word_is_declared() {
    let text = fs::read_to_string(library().join("lib.rs")).unwrap();
    let declared: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    let expected: Vec<_> = WORDS.iter().chain(ROOMS).copied().collect();
    assert_eq!(declared, expected, "lib.rs lists the words, then the rooms in the order of the flow");
}

#[test]
fn every_file_says_what_it_is_for() {
    for path in all() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{} has no module comment", path.display());
    }
}

#[test]
fn no_file_is_a_place_nobody_wants_to_live_in() {
    for path in all().into_iter().filter(|path| !path.components().any(|part| part.as_os_str() == "tests")) {
        let text = fs::read_to_string(&path).unwrap();
        let lines = code(&text).lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines; look for the missing concept", path.display());
    }
}

/// Some module comments say which test shows what. A test that is renamed is renamed there as well.
#[test]
fn tests_that_are_named_in_comments_exist() {
    let texts: Vec<String> = all().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let is_name = |word: &&str| {
        word.matches('_').count() >= 2 && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    let mut n_named = 0;
    for path in all().iter().filter(|path| path.components().any(|part| part.as_os_str() == "session")) {
        let text = fs::read_to_string(path).unwrap();
        let comment = text.lines().filter(|line| line.starts_with("//! "));
        for name in comment.flat_map(|line| line.split('`').skip(1).step_by(2)).filter(is_name) {
            n_named += 1;
            let head = format!("fn {name}(");
            assert!(texts.iter().any(|text| text.contains(&head)), "{}: there is no {name}", path.display());
        }
    }
    assert!(n_named > 80, "only {n_named} are named");
}

#[test]
fn no_marker_words_and_no_ignored_tests() {
    // Put together, so that this file does not name them.
    let banned =
        [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["XX", "X"].concat(), ["#[ign", "ore"].concat()];
    for path in all() {
        let text = fs::read_to_string(&path).unwrap();
        for word in &banned {
            assert!(!text.contains(word.as_str()), "{} has {word} in it", path.display());
        }
    }
}
