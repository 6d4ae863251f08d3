//! Widths, wrapping, and text that does no harm. Pure.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use switchboard::visible::{is_hidden, visible};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::look::{Look, RESET};

/// A tab is so wide.
const TAB: &str = "    ";

/// Columns of a character that can be seen.
pub(super) fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Text of others, on one line.
pub(super) fn plain(text: &str) -> String {
    visible(text).into_owned()
}

/// Text of others, line by line; tabs become blanks.
pub(super) fn plain_lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split('\t').map(visible).collect::<Vec<_>>().join(TAB)).collect()
}

/// The text cut to a width, with a mark where something is missing.
pub(super) fn cut(text: &str, width: usize, look: Look) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let more = look.more();
    let room = width.saturating_sub(more.width());
    let mut shown = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += columns(c);
        if used > room {
            break;
        }
        shown.push(c);
    }
    if more.width() <= width {
        shown.push_str(more);
    }
    shown
}

/// Columns of a line.
pub(super) fn width(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| span.content.width()).sum()
}

/// A line in rows that fit, broken at blanks where there are any.
pub(super) fn wrap(line: &Line<'_>, width: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    let chars: Vec<(char, Style)> =
        line.spans.iter().flat_map(|span| span.content.chars().map(|c| (c, span.style))).collect();
    let mut rows = Vec::new();
    let mut start = 0;
    while start < chars.len() {
        let (end, next) = break_at(&chars, start, width);
        rows.push(joined(&chars[start..end]));
        start = next;
    }
    if rows.is_empty() {
        rows.push(Line::default());
    }
    rows
}

/// Where a row that begins there ends, and where the next begins.
fn break_at(chars: &[(char, Style)], start: usize, width: usize) -> (usize, usize) {
    let mut used = 0;
    let mut blank = None;
    for (at, (c, _)) in chars.iter().enumerate().skip(start) {
        if *c == ' ' && at > start {
            blank = Some(at);
        }
        used += columns(*c);
        if used > width {
            return match blank {
                // Blanks at the start of a line are its indent, no place to break.
                Some(blank) if chars[start..blank].iter().any(|(c, _)| *c != ' ') => (blank, blank + 1),
                _ => (at.max(start + 1), at.max(start + 1)),
            };
        }
    }
    (chars.len(), chars.len())
}

fn joined(chars: &[(char, Style)]) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for (c, style) in chars {
        match spans.last_mut() {
            Some(span) if span.style == *style => span.content.to_mut().push(*c),
            _ => spans.push(Span::styled(c.to_string(), *style)),
        }
    }
    Line::from(spans)
}

/// Plain text in rows of one style.
pub(super) fn rows(text: &str, style: Style, width: usize) -> Vec<Line<'static>> {
    wrap(&Line::from(Span::styled(text.to_owned(), style)), width)
}

/// Text for the terminal: of everything a terminal would act on, only colours pass, and those only if wanted. The rest
/// stands there as its code. Lines end as a raw terminal needs it.
pub(super) fn safe(text: &str, look: Look) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut is_styled = false;
    while let Some(c) = rest.chars().next() {
        let colour = if c == '\x1b' { colour(rest) } else { None };
        if let Some(colour) = colour {
            if look.is_coloured {
                shown.push_str(colour);
                is_styled = true;
            }
            rest = &rest[colour.len()..];
            continue;
        }
        let (head, tail) = rest.split_at(c.len_utf8());
        match c {
            '\n' => shown.push_str("\r\n"),
            '\t' => shown.push('\t'),
            '\r' if tail.starts_with('\n') => {}
            c if is_hidden(c) => shown.push_str(&visible(head)),
            c => shown.push(c),
        }
        rest = tail;
    }
    if is_styled {
        shown.push_str(RESET);
    }
    shown
}

/// A sequence that changes colours and nothing else, if the text begins with one.
fn colour(text: &str) -> Option<&str> {
    let codes = text.strip_prefix("\x1b[")?;
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
    codes[end..].starts_with('m').then(|| &text[..end + 3])
}

#[cfg(test)]
mod tests {
    use super::super::look::Marks;
    use super::*;

    const LOOK: Look = Look { is_coloured: true, marks: Marks::Unicode };

    fn wrapped(text: &str, width: usize) -> Vec<String> {
        rows(text, Style::new(), width).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_break_at_blanks_where_there_are_any() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("onetwothree", 4), ["onet", "woth", "ree"]);
        assert_eq!(wrapped("  indented words", 10), ["  indented", "words"]);
        assert_eq!(wrapped("日本語日本語", 5), ["日本", "語日", "本語"]);
        assert_eq!(wrapped("日", 1), ["日"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn only_colours_pass() {
        let check = |text: &str, shown: &str| assert_eq!(safe(text, LOOK), shown);
        check("a\nb", "a\r\nb");
        check("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m\x1b[0m");
        check("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}");
        check("\x1b[2J\x1b[?1049h\r", "\\u{1b}[2J\\u{1b}[?1049h\\r");
        check("\u{9b}31m", "\\u{9b}31m");
        assert_eq!(safe("\x1b[1mx\x1b[0m", Look { is_coloured: false, ..LOOK }), "x");
    }

    #[test]
    fn a_cut_is_marked() {
        assert_eq!(cut("abcdef", 4, LOOK), "abc…");
        assert_eq!(cut("abcdef", 4, Look { marks: Marks::Ascii, ..LOOK }), "a...");
        assert_eq!(cut("abcdef", 0, LOOK), "");
        assert_eq!(cut("abc", 3, LOOK), "abc");
    }
}
