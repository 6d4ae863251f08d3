//! A text that may be longer than the room for it. Pure.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::keys::Key;
use super::super::look::{FAINT, Look, PLAIN};
use super::super::text::{cut, plain_lines, rows};
use super::Turn;

/// Lines, and how far down somebody looks.
#[derive(Debug)]
pub(super) struct Scroll {
    lines: Vec<String>,
    top: usize,
}

impl Scroll {
    /// Text of others, made harmless.
    pub(super) fn new(text: &str) -> Self {
        Self { lines: plain_lines(text), top: 0 }
    }

    fn all(&self, width: usize) -> Vec<Line<'static>> {
        self.lines.iter().flat_map(|line| rows(line, PLAIN, width)).collect()
    }

    /// Whether the key was one for scrolling.
    pub(super) fn key(&mut self, key: Key, width: usize) -> bool {
        let last = self.all(width).len();
        self.top = match key {
            Key::Up => self.top.saturating_sub(1),
            Key::Down => self.top + 1,
            Key::PageUp => self.top.saturating_sub(5),
            Key::PageDown => self.top + 5,
            _ => return false,
        }
        .min(last);
        true
    }

    /// The same for a question that has nothing else to do with a key.
    pub(super) fn turn(&mut self, key: Key, width: usize) -> Turn {
        if self.key(key, width) { Turn::Stay } else { Turn::Foreign }
    }

    /// As many rows as there is room for; the last one says if there is more.
    pub(super) fn rows(&self, look: Look, width: usize, height: usize) -> Vec<Line<'static>> {
        let all = self.all(width);
        if all.len() <= height || height == 0 {
            return all.into_iter().take(height).collect();
        }
        if height == 1 && self.top > 0 {
            return all.into_iter().skip(self.top - 1).take(1).collect();
        }
        if height == 1 {
            return vec![more(&format!("{} rows, PgDn to read", all.len()), look, width)];
        }
        let shown = height - 1;
        let first = self.top.min(all.len() - shown);
        let words = format!("rows {}-{} of {}, PgDn and PgUp", first + 1, first + shown, all.len());
        let mut rows: Vec<_> = all.into_iter().skip(first).take(shown).collect();
        rows.push(more(&words, look, width));
        rows
    }
}

fn more(words: &str, look: Look, width: usize) -> Line<'static> {
    let style: Style = FAINT;
    Line::from(Span::styled(cut(words, width, look), style))
}
