//! A page in, its blocks out, in order: what a reader is told to type, to write or to look at. And the page again, with
//! what is seen today.

use std::fs;

use testkit::workspace;

/// A page of the documentation, line by line.
pub(crate) struct Page {
    /// Its path, from the root of the repository.
    pub(crate) path: String,
    pub(crate) lines: Vec<String>,
}

/// What a walk through a page meets.
pub(crate) enum Piece {
    /// `<!-- world: NAME -->`: the reader starts anew, or comes back to where that world began.
    World(String),
    Block(Block),
}

/// A fenced block.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// The line of its fence, counted from one.
    pub(crate) line: usize,
    /// What stands behind the fence.
    pub(crate) info: String,
    /// What stands in comments directly above it.
    pub(crate) words: Vec<String>,
    pub(crate) text: Vec<String>,
}

impl Page {
    pub(crate) fn open(path: &str) -> Self {
        let text =
            fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { path: path.to_owned(), lines: text.lines().map(str::to_owned).collect() }
    }

    /// All pages a reader may come to.
    pub(crate) fn all() -> Vec<Self> {
        let docs = fs::read_dir(workspace().join("docs")).unwrap().flatten();
        let mut paths: Vec<_> = docs
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "md"))
            .map(|entry| format!("docs/{}", entry.file_name().display()))
            .collect();
        paths.extend(
            ["README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", "CHANGELOG.md"]
                .map(str::to_owned),
        );
        paths.sort();
        paths.iter().map(|path| Self::open(path)).collect()
    }

    pub(crate) fn pieces(&self) -> Vec<Piece> {
        let (mut pieces, mut words, mut open) = (Vec::new(), Vec::new(), None::<Block>);
        for (n, line) in (1..).zip(&self.lines) {
            let fence = line.trim_start().strip_prefix("```");
            let comment = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
            match (&mut open, fence, comment) {
                (Some(_), Some(_), _) => pieces.extend(open.take().map(Piece::Block)),
                (Some(block), None, _) => block.text.push(line.clone()),
                (None, Some(info), _) => {
                    let words = std::mem::take(&mut words);
                    open = Some(Block { line: n, info: info.to_owned(), words, text: Vec::new() });
                }
                (None, None, Some(word)) => match word.strip_prefix("world: ") {
                    Some(name) => pieces.push(Piece::World(name.to_owned())),
                    None => words.push(word.to_owned()),
                },
                (None, None, None) if line.is_empty() => {}
                (None, None, None) => words.clear(),
            }
        }
        assert!(open.is_none(), "{}: a block has no end", self.path);
        pieces
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        let block = |piece| match piece {
            Piece::Block(block) => Some(block),
            Piece::World(_) => None,
        };
        self.pieces().into_iter().filter_map(block).collect()
    }

    /// Puts other text into blocks, the last first, so that the lines of the others stay true.
    pub(crate) fn replace(&mut self, mut news: Vec<(Block, Vec<String>)>) {
        if news.is_empty() {
            return;
        }
        news.sort_by_key(|(block, _)| std::cmp::Reverse(block.line));
        for (block, text) in news {
            self.lines.splice(block.line..block.line + block.text.len(), text);
        }
        fs::write(workspace().join(&self.path), self.lines.join("\n") + "\n").unwrap();
    }
}

impl Block {
    /// The word `KEY: VALUE` in a comment above.
    pub(crate) fn word(&self, key: &str) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix(": "))
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|there| there == word)
    }

    /// What is typed, and what the page says is then seen.
    pub(crate) fn steps(&self) -> Vec<(String, Vec<String>)> {
        let mut steps: Vec<(String, Vec<String>)> = Vec::new();
        let mut goes_on = false;
        for line in &self.text {
            let typed = line.strip_prefix("> ").filter(|_| self.has("session"));
            match (line.strip_prefix("$ ").or(typed), steps.last_mut()) {
                (Some(typed), _) => steps.push((typed.to_owned(), Vec::new())),
                (None, Some((typed, _))) if goes_on => *typed += &format!("\n{line}"),
                (None, Some((_, seen))) => seen.push(line.clone()),
                (None, None) => {
                    panic!("line {}: the block shows something before anything is typed", self.line)
                }
            }
            goes_on = steps.last().is_some_and(|(typed, seen)| seen.is_empty() && typed.ends_with('\\'));
        }
        steps
    }
}
