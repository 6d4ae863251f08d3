//! Running text of a model: whole lines as they come, with a little of their markdown shown, and the line that is not
//! finished yet. Pure.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::look::{CODE, FAINT, Look, PLAIN, STRONG};
use super::text::{plain, plain_lines, wrap};

/// A line that goes on for longer is parted.
const LONGEST: usize = 8 * 1024;

/// Text on its way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Prose {
    /// The line that is not finished.
    rest: String,
    /// Inside of a block of code.
    is_code: bool,
}

impl Prose {
    /// Takes a piece; gives the lines that are whole now.
    pub(super) fn take(&mut self, delta: &str, look: Look, width: usize) -> Vec<Line<'static>> {
        self.rest.push_str(delta);
        let mut lines = Vec::new();
        while let Some(end) = self.end_of_line() {
            let line: String = self.rest.drain(..end).collect();
            lines.extend(self.finished(line.trim_end_matches(['\n', '\r']), look, width));
        }
        lines
    }

    /// What is left when no more comes.
    pub(super) fn finish(&mut self, look: Look, width: usize) -> Vec<Line<'static>> {
        let rest = std::mem::take(&mut self.rest);
        let lines = if rest.is_empty() { Vec::new() } else { self.finished(&rest, look, width) };
        self.is_code = false;
        lines
    }

    /// The unfinished line, in rows.
    pub(super) fn rows(&self, look: Look, width: usize) -> Vec<Line<'static>> {
        if self.rest.trim().is_empty() {
            return Vec::new();
        }
        Self { is_code: self.is_code, rest: String::new() }.finished(&self.rest, look, width)
    }

    fn end_of_line(&self) -> Option<usize> {
        if let Some(newline) = self.rest.find('\n') {
            return Some(newline + 1);
        }
        let mut end = LONGEST;
        while !self.rest.is_char_boundary(end) {
            end -= 1;
        }
        (self.rest.len() > LONGEST).then(|| self.rest[..end].rfind(' ').map_or(end, |blank| blank + 1))
    }

    fn finished(&mut self, line: &str, look: Look, width: usize) -> Vec<Line<'static>> {
        let line = plain_lines(line).pop().unwrap_or_else(|| plain(line));
        if line.trim_start().starts_with("```") {
            self.is_code = !self.is_code;
            return vec![Line::from(Span::styled(line, FAINT))];
        }
        if self.is_code {
            return vec![Line::from(Span::styled(line, CODE))];
        }
        wrap(&styled(&line, look), width)
    }
}

/// Headings, lists, strong words and code, as far as one line tells.
fn styled(line: &str, look: Look) -> Line<'static> {
    let indent = line.len() - line.trim_start().len();
    let (indent, words) = line.split_at(indent);
    let hashes = words.len() - words.trim_start_matches('#').len();
    if (1..=6).contains(&hashes) && words[hashes..].starts_with(' ') {
        return Line::from(Span::styled(words[hashes + 1..].to_owned(), STRONG));
    }
    let mut spans = vec![Span::raw(indent.to_owned())];
    let item = words.strip_prefix("- ").or_else(|| words.strip_prefix("* "));
    if item.is_some() {
        spans.push(Span::raw(format!("{} ", look.bullet())));
    }
    spans.extend(inline(item.unwrap_or(words)));
    Line::from(spans)
}

fn inline(words: &str) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut rest = words;
    while !rest.is_empty() {
        let marked = [("**", STRONG), ("`", CODE)].iter().find_map(|(mark, style)| {
            let (inner, after) = rest.strip_prefix(mark)?.split_once(mark)?;
            let is_tight = !inner.is_empty() && !inner.starts_with(' ') && !inner.ends_with(' ');
            is_tight.then(|| (Span::styled(inner.to_owned(), *style), after))
        });
        if let Some((span, after)) = marked {
            spans.push(span);
            rest = after;
            continue;
        }
        // Up to where the next mark may be.
        let mut next = rest.char_indices().skip(1);
        let end = next.find(|(_, c)| matches!(c, '*' | '`')).map_or(rest.len(), |(at, _)| at);
        push(&mut spans, &rest[..end], PLAIN);
        rest = &rest[end..];
    }
    spans
}

fn push(spans: &mut Vec<Span<'static>>, text: &str, style: Style) {
    match spans.last_mut() {
        Some(span) if span.style == style => span.content.to_mut().push_str(text),
        _ => spans.push(Span::styled(text.to_owned(), style)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::look::Marks;
    use super::*;

    const LOOK: Look = Look { is_coloured: true, marks: Marks::Ascii };

    #[test]
    fn lines_come_when_they_are_whole() {
        let mut prose = Prose::default();
        let mut seen = Vec::new();
        for delta in ["# Tit", "le\nsome **bo", "ld** words\n\n```\nlet **x**", ";\n```\nend"] {
            seen.extend(prose.take(delta, LOOK, 80).iter().map(|line| LOOK.paint(line)));
        }
        assert_eq!(
            seen,
            [
                "\x1b[1mTitle\x1b[0m",
                "some \x1b[1mbold\x1b[0m words",
                "",
                "\x1b[2m```\x1b[0m",
                "\x1b[36mlet **x**;\x1b[0m",
                "\x1b[2m```\x1b[0m"
            ]
        );
        assert_eq!(prose.rows(LOOK, 80)[0].to_string(), "end");
        assert_eq!(prose.finish(LOOK, 80)[0].to_string(), "end");
        assert!(prose.finish(LOOK, 80).is_empty());
    }

    #[test]
    fn marks_that_mean_nothing_stay() {
        for text in ["2 * 3 * 4", "a ** b", "** x", "`open", "", "5 ** 2 ** 1", "***"] {
            let line = styled(text, LOOK).to_string();
            assert_eq!(line, text);
        }
        assert_eq!(styled("  - `x` and y", LOOK).to_string(), "  * x and y");
    }

    #[test]
    fn hostile_text_is_shown_and_endless_lines_are_parted() {
        let mut prose = Prose::default();
        let line = prose.take("\x1b]0;x\x07\tok\n", LOOK, 80);
        assert_eq!(line[0].to_string(), "\\u{1b}]0;x\\u{7}    ok");
        for _ in 0..1000 {
            let _lines = prose.take("wordswordswords ", LOOK, 80);
        }
        assert!(prose.rest.len() <= LONGEST);
        let _lines = prose.take(&"ä".repeat(LONGEST), LOOK, 80);
        assert!(prose.rest.len() <= LONGEST);
    }
}
