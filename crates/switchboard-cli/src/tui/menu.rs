//! What could be typed next, as a list to choose from. Pure.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::look::{CHOSEN, FAINT, Look, PLAIN};
use super::text::{cut, plain};
use crate::shell::{Candidate, Completion};

/// More than this is no list to choose from by looking; it says how many there are.
const MOST_ROWS: usize = 8;

/// An open list.
#[derive(Debug)]
pub(super) struct Menu {
    completion: Completion,
    chosen: usize,
}

impl Menu {
    /// Nothing when there is nothing to choose from.
    pub(super) fn open(completion: Completion) -> Option<Self> {
        (!completion.candidates.is_empty()).then_some(Self { completion, chosen: 0 })
    }

    pub(super) fn next(&mut self) {
        self.chosen = (self.chosen + 1) % self.completion.candidates.len().max(1);
    }

    pub(super) fn previous(&mut self) {
        let n = self.completion.candidates.len().max(1);
        self.chosen = (self.chosen + n - 1) % n;
    }

    /// What is chosen, and which part of the text it replaces.
    pub(super) fn choice(&self) -> Option<(usize, usize, &str)> {
        let candidate = self.completion.candidates.get(self.chosen)?;
        Some((self.completion.start, self.completion.end, &candidate.insert))
    }

    /// At most so many rows, with the chosen one among them.
    pub(super) fn rows(&self, look: Look, width: usize, most: usize) -> Vec<Line<'static>> {
        let candidates = &self.completion.candidates;
        let most = most.min(MOST_ROWS);
        if most == 0 {
            return Vec::new();
        }
        let is_all = candidates.len() <= most;
        let n_rows = if is_all || most == 1 { most.min(candidates.len()) } else { most - 1 };
        let first = (self.chosen + 1).saturating_sub(n_rows);
        let widest = candidates.iter().map(|candidate| plain(&candidate.shown).width()).max().unwrap_or(0);
        let window = candidates.iter().enumerate().skip(first).take(n_rows);
        let mut rows: Vec<_> = window
            .map(|(at, candidate)| row(candidate, at == self.chosen, look, (width, widest.min(width / 2))))
            .collect();
        if !is_all && most > 1 {
            let words = format!("  {} of {}", self.chosen + 1, candidates.len());
            rows.push(Line::from(Span::styled(cut(&words, width, look), FAINT)));
        }
        rows
    }
}

fn row(candidate: &Candidate, is_chosen: bool, look: Look, (width, column): (usize, usize)) -> Line<'static> {
    let shown = cut(&plain(&candidate.shown), width.saturating_sub(2), look);
    let (mark, style) = if is_chosen { ("> ", CHOSEN) } else { ("  ", PLAIN) };
    let pad = column.saturating_sub(shown.width());
    let used = 2 + shown.width() + pad + 2;
    let mut spans = vec![Span::raw(mark), Span::styled(shown, style)];
    if let Some(note) = candidate.note.as_deref().filter(|_| used + 4 < width) {
        spans.push(Span::raw(" ".repeat(pad + 2)));
        spans.push(Span::styled(cut(&plain(note), width - used, look), FAINT));
    }
    Line::from(spans)
}

/// What all candidates begin with, as far as it goes beyond what is typed.
pub(super) fn common(completion: &Completion, typed: &str) -> Option<String> {
    let mut inserts = completion.candidates.iter().map(|candidate| candidate.insert.as_str());
    let mut common = inserts.next()?;
    for insert in inserts {
        let same = common.char_indices().zip(insert.chars()).find(|((_, a), b)| a != b);
        let end = same.map_or(common.len().min(insert.len()), |((at, _), _)| at);
        common = &common[..end];
    }
    (common.len() > typed.len() && common.starts_with(typed)).then(|| common.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::look::Marks;
    use super::*;

    const LOOK: Look = Look { is_coloured: false, marks: Marks::Ascii };

    fn completion(inserts: &[&str]) -> Completion {
        let candidate = |insert: &&str| Candidate {
            insert: (*insert).to_owned(),
            shown: (*insert).to_owned(),
            note: Some("does something".to_owned()),
        };
        Completion { start: 0, end: 1, candidates: inserts.iter().map(candidate).collect() }
    }

    #[test]
    fn the_chosen_one_is_always_seen() {
        let names: Vec<String> = (0..20).map(|n| format!("tool-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut menu = Menu::open(completion(&names)).unwrap();
        for most in [1, 2, 5, 8] {
            for _ in 0..25 {
                let rows = menu.rows(LOOK, 40, most);
                assert!(rows.len() <= most);
                let (_, _, choice) = menu.choice().unwrap();
                let chosen = format!("> {choice}");
                assert_eq!(rows.iter().filter(|row| row.to_string().starts_with(&chosen)).count(), 1);
                menu.next();
            }
        }
        menu.previous();
        assert!(Menu::open(completion(&[])).is_none());
    }

    #[test]
    fn what_is_common_can_be_typed() {
        assert_eq!(common(&completion(&["/mcp list", "/mcp logs"]), "/m").as_deref(), Some("/mcp l"));
        assert_eq!(common(&completion(&["one", "two"]), ""), None);
        assert_eq!(common(&completion(&["日本", "日曜"]), "").as_deref(), Some("日"));
        assert_eq!(common(&completion(&["a", "ab"]), "a"), None);
    }
}
