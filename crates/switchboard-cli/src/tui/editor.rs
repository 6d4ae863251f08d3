//! The text being typed: a buffer, a cursor in it, what was cut, and what can be undone. Pure.
//!
//! A large paste is one character of the buffer, shown as what it is; it becomes its text when the line is sent.

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use switchboard::visible::{is_hidden, visible};
use unicode_width::UnicodeWidthStr;

use super::look::{CODE, PLAIN};

/// A paste with more lines or characters than this is shown as a mark.
const MOST_LINES: usize = 20;
const MOST_CHARS: usize = 2000;
/// So many changes can be undone.
const MOST_UNDONE: usize = 200;
/// The characters that stand for pastes. Nobody can type them.
const FIRST_PASTE: u32 = 0x10_0000;
const LAST_PASTE: u32 = 0x10_fffd;

/// What is typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Editor {
    text: String,
    /// Always at the start of a character.
    cursor: usize,
    pastes: Vec<String>,
    undo: Vec<(String, usize)>,
    /// Whether the last change was a typed character: then the next one belongs to it.
    is_typing: bool,
    killed: String,
}

/// A change of the text or the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    Char(char),
    Newline,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    KillToEnd,
    KillToStart,
    KillWordBack,
    KillWord,
    Yank,
    Undo,
}

impl Editor {
    pub(super) fn with(text: &str) -> Self {
        let text = own(text);
        Self { cursor: text.len(), text, ..Self::default() }
    }

    /// The buffer, in which a paste is one character.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) const fn cursor(&self) -> usize {
        self.cursor
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text with every paste in full.
    pub(super) fn whole(&self) -> String {
        let mut whole = String::with_capacity(self.text.len());
        for c in self.text.chars() {
            match self.paste_of(c) {
                Some(paste) => whole.push_str(paste),
                None => whole.push(c),
            }
        }
        whole
    }

    /// The text as it is shown, line by line.
    pub(super) fn shown(&self) -> Vec<String> {
        let line = |line: &str| line.chars().map(|c| self.glyph(c).0.into_owned()).collect();
        self.text.split('\n').map(line).collect()
    }

    pub(super) fn clear(&mut self) {
        self.note();
        self.text.clear();
        self.cursor = 0;
        self.pastes.clear();
        self.undo.clear();
    }

    /// Another text instead, with the cursor at its end.
    pub(super) fn set(&mut self, text: &str) {
        self.note();
        self.text.clear();
        self.cursor = 0;
        self.paste(text);
    }

    /// Puts a text in place of a part.
    pub(super) fn replace(&mut self, start: usize, end: usize, text: &str) {
        let is_inside = start <= end && self.text.is_char_boundary(start) && self.text.is_char_boundary(end);
        if is_inside && end <= self.text.len() {
            self.note();
            let text = own(text);
            self.text.replace_range(start..end, &text);
            self.cursor = start + text.len();
        }
    }

    pub(super) fn insert(&mut self, text: &str) {
        self.note();
        self.put(&own(text));
    }

    /// A pasted text; a large one becomes a mark.
    pub(super) fn paste(&mut self, text: &str) {
        let text = own(&text.replace("\r\n", "\n").replace('\r', "\n"));
        let is_large = text.lines().count() > MOST_LINES || text.chars().count() > MOST_CHARS;
        let index = u32::try_from(self.pastes.len()).ok().map(|index| FIRST_PASTE + index);
        match index.filter(|index| is_large && *index <= LAST_PASTE).and_then(char::from_u32) {
            Some(mark) => {
                self.note();
                self.pastes.push(text);
                self.put(mark.encode_utf8(&mut [0; 4]));
            }
            None => self.insert(&text),
        }
    }

    /// Makes the change; false if there was nothing to change.
    pub(super) fn apply(&mut self, edit: Edit) -> bool {
        let before = (self.text.len(), self.cursor);
        match edit {
            Edit::Char(c) => self.type_char(c),
            Edit::Newline => self.insert("\n"),
            Edit::Backspace => self.remove(self.before(), self.cursor),
            Edit::Delete => self.remove(self.cursor, self.after()),
            Edit::Left => self.cursor = self.before(),
            Edit::Right => self.cursor = self.after(),
            Edit::WordLeft => self.cursor = self.word_start(),
            Edit::WordRight => self.cursor = self.word_end(),
            Edit::Home => self.cursor = self.line_start(),
            Edit::End => self.cursor = self.line_end(),
            // At the end of a line, the line's end itself goes.
            Edit::KillToEnd => self.kill(self.cursor, self.line_end().max(self.after_newline())),
            Edit::KillToStart => self.kill(self.line_start(), self.cursor),
            Edit::KillWordBack => self.kill(self.word_start(), self.cursor),
            Edit::KillWord => self.kill(self.cursor, self.word_end()),
            Edit::Yank => self.insert(&self.killed.clone()),
            Edit::Undo => return self.undo(),
        }
        if !matches!(edit, Edit::Char(_)) {
            self.is_typing = false;
        }
        before != (self.text.len(), self.cursor)
    }

    /// To the line above; false in the first.
    pub(super) fn up(&mut self) -> bool {
        let start = self.line_start();
        let Some(end) = start.checked_sub(1) else { return false };
        let above = self.text[..end].rfind('\n').map_or(0, |newline| newline + 1);
        self.cursor = self.column_in(above, end, self.cursor - start);
        true
    }

    /// To the line below; false in the last.
    pub(super) fn down(&mut self) -> bool {
        let column = self.cursor - self.line_start();
        let end = self.line_end();
        if end == self.text.len() {
            return false;
        }
        let below = end + 1;
        let end = self.text[below..].find('\n').map_or(self.text.len(), |newline| below + newline);
        self.cursor = self.column_in(below, end, column);
        true
    }

    fn column_in(&self, start: usize, end: usize, column: usize) -> usize {
        let mut at = (start + column).min(end);
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// Whether Enter should go on in the next line.
    pub(super) fn ends_with_backslash(&self) -> bool {
        self.cursor == self.text.len() && self.text.ends_with('\\')
    }

    /// The rows it takes at a width, and the row and column of the cursor.
    pub(super) fn layout(&self, width: usize, mask: Option<&str>) -> (Vec<Line<'static>>, (usize, usize)) {
        let width = width.max(1);
        let mut rows: Vec<Vec<Span<'static>>> = vec![Vec::new()];
        let mut used = 0;
        let mut cursor = (0, 0);
        for (at, c) in self.text.char_indices() {
            let (glyph, style) = match mask {
                Some(mask) if c != '\n' => (Cow::Owned(mask.to_owned()), PLAIN),
                _ => self.glyph(c),
            };
            // What is longer than a row is parted; a mark for a paste is not worth more care.
            let columns = glyph.width();
            if c != '\n' && used > 0 && used + columns > width {
                rows.push(Vec::new());
                used = 0;
            }
            if at == self.cursor {
                cursor = (rows.len() - 1, used);
            }
            if c == '\n' {
                rows.push(Vec::new());
                used = 0;
                continue;
            }
            used += columns;
            if let Some(row) = rows.last_mut() {
                push(row, &glyph, style);
            }
        }
        if self.cursor == self.text.len() {
            if used >= width {
                rows.push(Vec::new());
                used = 0;
            }
            cursor = (rows.len() - 1, used);
        }
        (rows.into_iter().map(Line::from).collect(), cursor)
    }

    /// What stands for a character.
    fn glyph(&self, c: char) -> (Cow<'_, str>, Style) {
        if let Some(paste) = self.paste_of(c) {
            return (Cow::Owned(described(paste)), CODE);
        }
        match c {
            '\t' => (Cow::Borrowed("    "), PLAIN),
            c if is_hidden(c) => (Cow::Owned(visible(c.encode_utf8(&mut [0; 4])).into_owned()), CODE),
            c => (Cow::Owned(c.to_string()), PLAIN),
        }
    }

    fn paste_of(&self, c: char) -> Option<&str> {
        let index = u32::from(c).checked_sub(FIRST_PASTE)?;
        self.pastes.get(usize::try_from(index).ok()?).map(String::as_str)
    }

    fn type_char(&mut self, c: char) {
        if !self.is_typing {
            self.note();
        }
        self.put(&own(c.encode_utf8(&mut [0; 4])));
        self.is_typing = true;
    }

    fn put(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn remove(&mut self, start: usize, end: usize) {
        if start < end {
            self.note();
            self.text.replace_range(start..end, "");
            self.cursor = start;
        }
    }

    fn kill(&mut self, start: usize, end: usize) {
        if start < end {
            self.text[start..end].clone_into(&mut self.killed);
            self.remove(start, end);
        }
    }

    /// Remembers how it is, before it changes.
    fn note(&mut self) {
        self.is_typing = false;
        if self.undo.len() == MOST_UNDONE {
            self.undo.remove(0);
        }
        self.undo.push((self.text.clone(), self.cursor));
    }

    fn undo(&mut self) -> bool {
        self.is_typing = false;
        match self.undo.pop() {
            Some((text, cursor)) => {
                (self.text, self.cursor) = (text, cursor);
                true
            }
            None => false,
        }
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    fn after_newline(&self) -> usize {
        if self.text[self.cursor..].starts_with('\n') { self.cursor + 1 } else { self.cursor }
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |newline| newline + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |newline| self.cursor + newline)
    }

    fn word_start(&self) -> usize {
        let before = self.text[..self.cursor].trim_end_matches(|c: char| !c.is_alphanumeric());
        before.trim_end_matches(char::is_alphanumeric).len()
    }

    fn word_end(&self) -> usize {
        let rest = &self.text[self.cursor..];
        let word = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        self.text.len() - word.trim_start_matches(char::is_alphanumeric).len()
    }
}

fn push(row: &mut Vec<Span<'static>>, glyph: &str, style: Style) {
    match row.last_mut() {
        Some(span) if span.style == style => span.content.to_mut().push_str(glyph),
        _ => row.push(Span::styled(glyph.to_owned(), style)),
    }
}

fn described(paste: &str) -> String {
    match paste.lines().count() {
        0 | 1 => format!("[pasted {} characters]", paste.chars().count()),
        lines => format!("[pasted {lines} lines]"),
    }
}

/// Text without the characters that stand for pastes.
fn own(text: &str) -> String {
    let is_mark = |c: char| (FIRST_PASTE..=LAST_PASTE).contains(&u32::from(c));
    text.replace(is_mark, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, edits: &[Edit]) -> (String, usize) {
        let mut editor = Editor::with(text);
        for edit in edits {
            editor.apply(*edit);
        }
        (editor.text, editor.cursor)
    }

    #[test]
    fn edits_do_what_they_say() {
        let check = |text: &str, edits: &[Edit], after: &str, cursor: usize| {
            assert_eq!(edited(text, edits), (after.to_owned(), cursor), "{text:?} {edits:?}");
        };
        check("ab", &[Edit::Left, Edit::Char('x')], "axb", 2);
        check("日本", &[Edit::Backspace], "日", 3);
        check("one two-three", &[Edit::WordLeft, Edit::WordLeft], "one two-three", 4);
        check("one two", &[Edit::Home, Edit::WordRight, Edit::KillWord], "one", 3);
        check("one two", &[Edit::KillWordBack, Edit::Yank, Edit::Yank], "one twotwo", 10);
        check("a\nbc", &[Edit::Home, Edit::Left, Edit::KillToEnd], "abc", 1);
        check("a\nbc", &[Edit::KillToStart], "a\n", 2);
        check("ab", &[Edit::Home, Edit::Delete, Edit::Undo], "ab", 0);
        check("", &[Edit::Char('a'), Edit::Char('b'), Edit::Undo], "", 0);
        check("", &[Edit::Backspace, Edit::Delete, Edit::Left, Edit::Right, Edit::Undo], "", 0);
    }

    #[test]
    fn lines_are_walked_through() {
        let mut editor = Editor::with("long line\nx\nläng");
        assert!(editor.up() && editor.up() && !editor.up());
        assert_eq!(editor.cursor, 1);
        assert!(editor.down() && editor.down() && !editor.down());
        assert_eq!(&editor.text[..editor.cursor], "long line\nx\nl");
    }

    #[test]
    fn a_large_paste_is_a_mark_until_it_is_sent() {
        let large = "line\r\n".repeat(10_000);
        let mut editor = Editor::with("see ");
        editor.paste(&large);
        editor.insert("!");
        assert_eq!(editor.shown(), ["see [pasted 10000 lines]!"]);
        assert_eq!(editor.whole(), format!("see {}!", large.replace('\r', "")));
        assert_eq!(editor.layout(80, None).1, (0, 25));
        editor.apply(Edit::Backspace);
        editor.apply(Edit::Backspace);
        assert_eq!(editor.whole(), "see ");
        editor.paste("two\nlines");
        assert_eq!(editor.shown(), ["see two", "lines"]);
        editor.set("\u{100000}");
        assert_eq!(editor.whole(), "?", "nobody can type a mark");
    }

    #[test]
    fn rows_break_where_the_width_ends() {
        let rows = |text: &str, width| {
            let (rows, cursor) = Editor::with(text).layout(width, None);
            (rows.iter().map(ToString::to_string).collect::<Vec<_>>(), cursor)
        };
        assert_eq!(rows("", 5), (vec![String::new()], (0, 0)));
        assert_eq!(rows("abcde", 5), (vec!["abcde".into(), String::new()], (1, 0)));
        assert_eq!(rows("ab\ncd", 5), (vec!["ab".into(), "cd".into()], (1, 2)));
        assert_eq!(rows("日本語", 5), (vec!["日本".into(), "語".into()], (1, 2)));
        assert_eq!(rows("a\u{1b}b", 9), (vec!["a\\u{1b}b".into()], (0, 8)));
    }
}
