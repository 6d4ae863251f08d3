//! Text to tree: one pure `parse(text)` per format.
//!
//! In: the text of a file. Out: its tree, nothing if the file says nothing, or the first error with its line.
//! Error texts never repeat the source: a secret may stand there.

mod json;
pub(crate) use json::OPTIONS as JSON_OPTIONS;
mod toml;
mod yaml;

use super::tree::Node;

/// The formats configuration files come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, with comments and trailing commas allowed.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl Format {
    /// What people call it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }
}

/// Why a text could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Line of the error, counted from 1.
    pub line: Option<u32>,
    /// Column of the error, counted from 1.
    pub column: Option<u32>,
    /// What was wrong, in lower case, without any of the source.
    pub what: String,
}

/// Reads a text in the given format; a text that says nothing gives nothing.
pub fn parse(text: &str, format: Format) -> Result<Option<Node<'_>>, SyntaxError> {
    match format {
        Format::Json => json::parse(text),
        Format::Toml => toml::parse(text),
        Format::Yaml => yaml::parse(text),
    }
}

/// Finds the line of a byte offset; cheap when asked in rising order.
struct Lines<'a> {
    bytes: &'a [u8],
    offset: usize,
    line: u32,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), offset: 0, line: 1 }
    }

    #[expect(
        clippy::naive_bytecount,
        reason = "the compiler turns it into vector code; a crate would not be faster"
    )]
    fn at(&mut self, offset: usize) -> u32 {
        let offset = offset.min(self.bytes.len());
        if offset < self.offset {
            self.offset = 0;
            self.line = 1;
        }
        let passed = self.bytes[self.offset..offset].iter().filter(|byte| **byte == b'\n').count();
        self.line += u32::try_from(passed).unwrap_or(u32::MAX - self.line);
        self.offset = offset;
        self.line
    }

    /// Line and column of a byte offset, for an error message.
    fn position(&mut self, offset: usize) -> (u32, u32) {
        let line = self.at(offset);
        let before = &self.bytes[..self.offset];
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        (line, u32::try_from(column).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests;
