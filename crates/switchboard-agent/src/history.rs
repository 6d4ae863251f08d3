//! A conversation: every call has exactly one result, whatever happened in between.
//!
//! It can be kept as lines of JSON and read back. When it grows longer than the model can look at, old results are
//! shortened, the oldest first; nothing goes without being told.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use switchboard::config::write::{self, Privacy, WriteError};

use crate::block::tokens;
use crate::message::{CallResult, Image, Message, Part};

/// What a call is given when it was stopped.
pub const INTERRUPTED: &str = "Error: interrupted by the user; the tool may have run";
/// A shortened result keeps so many characters.
const HEAD: usize = 300;
/// Results of the last messages are left alone.
const RECENT: usize = 4;
/// A picture takes about so many tokens.
const PICTURE: u64 = 1_600;
/// A kept conversation may be so large.
const LARGEST_FILE: u64 = 256 << 20;

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    messages: Vec<Message>,
}

/// Why a conversation cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is no message.
    #[error("{} line {line} is no message of a conversation", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
}

impl History {
    /// The messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Whether nothing was said yet.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.messages.clear();
    }

    /// Adds a message. Calls get ids of their own; calls before it that have no result get one first.
    pub fn push(&mut self, message: Message) {
        match message {
            Message::Tool { results } => self.push_results(results),
            Message::Assistant { text, mut calls, thoughts } => {
                self.close(INTERRUPTED);
                // A message that says nothing is one that no provider takes.
                if text.is_empty() && calls.is_empty() {
                    return;
                }
                let mut taken = self.ids();
                for call in &mut calls {
                    call.id = unique(&call.id, &taken);
                    taken.insert(call.id.clone());
                }
                self.messages.push(Message::Assistant { text, calls, thoughts });
            }
            Message::User { parts } => {
                self.close(INTERRUPTED);
                self.messages.push(Message::User { parts });
            }
        }
    }

    /// Takes what belongs to the open calls, in the order of the calls; the others are interrupted.
    fn push_results(&mut self, mut results: Vec<CallResult>) {
        let open = self.open();
        if open.is_empty() {
            return;
        }
        let ordered =
            open.into_iter().map(|(id, name)| match results.iter().position(|result| result.id == id) {
                Some(at) => results.swap_remove(at),
                None => CallResult { id, name, text: INTERRUPTED.to_owned(), images: Vec::new() },
            });
        let results = ordered.collect();
        self.messages.push(Message::Tool { results });
    }

    /// Gives calls without a result this one, so that the conversation can go on.
    pub fn close(&mut self, text: &str) {
        let results: Vec<CallResult> = self
            .open()
            .into_iter()
            .map(|(id, name)| CallResult { id, name, text: text.to_owned(), images: Vec::new() })
            .collect();
        if !results.is_empty() {
            self.messages.push(Message::Tool { results });
        }
    }

    /// Calls of the last message, which have no result yet.
    fn open(&self) -> Vec<(String, String)> {
        match self.messages.last() {
            Some(Message::Assistant { calls, .. }) => {
                calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    fn ids(&self) -> BTreeSet<String> {
        let calls = self.messages.iter().flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            Message::User { .. } | Message::Tool { .. } => &[],
        });
        calls.map(|call| call.id.clone()).collect()
    }

    /// About how many tokens it takes.
    pub fn tokens(&self) -> u64 {
        self.messages.iter().map(weight).sum()
    }

    /// Shortens old results until it takes no more than so many tokens, the oldest first. Tells how many it shortened.
    pub fn trim(&mut self, most: u64) -> usize {
        let mut n_shortened = 0;
        let mut left = self.tokens();
        let old = self.messages.len().saturating_sub(RECENT);
        for message in self.messages.iter_mut().take(old) {
            if left <= most {
                break;
            }
            let Message::Tool { results } = message else { continue };
            for result in results.iter_mut().filter(|result| is_long(result)) {
                let before = weight_of(result);
                shorten(result);
                n_shortened += 1;
                left = left.saturating_sub(before.saturating_sub(weight_of(result)));
            }
        }
        n_shortened
    }

    /// Leaves out all pictures, for a model that takes none. Tells how many there were.
    pub fn drop_pictures(&mut self) -> usize {
        let mut n_dropped = 0;
        for message in &mut self.messages {
            match message {
                Message::User { parts } => {
                    for part in parts.iter_mut().filter(|part| matches!(part, Part::Image(_))) {
                        *part = Part::text("[a picture that the model does not take]");
                        n_dropped += 1;
                    }
                }
                Message::Tool { results } => {
                    for result in results {
                        n_dropped += std::mem::take(&mut result.images).len();
                    }
                }
                Message::Assistant { .. } => {}
            }
        }
        n_dropped
    }

    /// Keeps it in a file that only the user can read: one message a line.
    pub fn save(&self, path: &Path) -> Result<(), WriteError> {
        let mut whole = self.clone();
        whole.close(INTERRUPTED);
        let lines = whole.messages.iter().filter_map(|message| serde_json::to_string(message).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        write::update(path, Privacy::Private, |_| Ok::<_, WriteError>(text.clone()))
    }

    /// Reads what was kept.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let file = |source| LoadError::File { path: path.to_owned(), source };
        if std::fs::metadata(path).map_err(file)?.len() > LARGEST_FILE {
            return Err(file(std::io::Error::other("it is too large")));
        }
        let text = std::fs::read_to_string(path).map_err(file)?;
        let mut history = Self::default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let message = serde_json::from_str(line);
            history.push(message.map_err(|_| LoadError::Line { path: path.to_owned(), line: index + 1 })?);
        }
        history.close(INTERRUPTED);
        Ok(history)
    }
}

/// An id that no other call has, in letters that every provider takes.
fn unique(wanted: &str, taken: &BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let id: String = wanted.chars().take(48).map(plain).collect();
    let id = if id.is_empty() { "call".to_owned() } else { id };
    if !taken.contains(&id) {
        return id;
    }
    // Among one more than there are, one is free.
    let mut others = (2..=taken.len() + 2).map(|n| format!("{id}_{n}"));
    others.find(|id| !taken.contains(id)).unwrap_or(id)
}

fn is_long(result: &CallResult) -> bool {
    !result.images.is_empty() || result.text.chars().count() > HEAD + 100
}

fn shorten(result: &mut CallResult) {
    let pictures = match std::mem::take(&mut result.images).len() {
        0 => String::new(),
        n => format!(", and {n} pictures"),
    };
    let n_chars = result.text.chars().count();
    let head: String = result.text.chars().take(HEAD).collect();
    let n_gone = n_chars.saturating_sub(HEAD);
    result.text = format!(
        "{head}\n[shortened to save room: {n_gone} more characters{pictures}; call the tool again if you need them]"
    );
}

fn weight(message: &Message) -> u64 {
    4 + match message {
        Message::User { parts } => parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => tokens(text.len()),
                Part::Image(Image { .. }) => PICTURE,
            })
            .sum(),
        Message::Assistant { text, calls, thoughts } => {
            let calls: u64 =
                calls.iter().map(|call| tokens(call.name.len() + call.arguments.len()) + 8).sum();
            let thoughts: usize =
                thoughts.iter().map(|it| it.signature.len() + it.text.as_ref().map_or(0, String::len)).sum();
            tokens(text.len()) + calls + tokens(thoughts)
        }
        Message::Tool { results } => results.iter().map(weight_of).sum(),
    }
}

fn weight_of(result: &CallResult) -> u64 {
    let n_pictures = u64::try_from(result.images.len()).unwrap_or(u64::MAX);
    8 + tokens(result.text.len()) + n_pictures.saturating_mul(PICTURE)
}

#[cfg(test)]
mod tests;
