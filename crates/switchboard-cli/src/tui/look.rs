//! How things look on this terminal: colours that mean something, and marks it can show. Pure.

use std::fmt::Write;
use std::time::Duration;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use switchboard::Env;
use switchboard::env::Os;

pub(super) const PLAIN: Style = Style::new();
pub(super) const GOOD: Style = Style::new().fg(Color::Green);
pub(super) const BAD: Style = Style::new().fg(Color::Red);
pub(super) const WAITING: Style = Style::new().fg(Color::Yellow);
pub(super) const CODE: Style = Style::new().fg(Color::Cyan);
pub(super) const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
pub(super) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub(super) const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

/// One turn of a spinner.
pub(super) const BEAT: Duration = Duration::from_millis(100);

/// What this terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) is_coloured: bool,
    pub(super) marks: Marks,
}

/// Which characters are used for marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    Unicode,
    Ascii,
}

impl Look {
    pub(super) fn of(env: &Env) -> Self {
        let choice = anstream::AutoStream::choice(&std::io::stdout());
        Self { is_coloured: choice != anstream::ColorChoice::Never, marks: marks(env) }
    }

    const fn either<T: Copy>(self, unicode: T, ascii: T) -> T {
        match self.marks {
            Marks::Unicode => unicode,
            Marks::Ascii => ascii,
        }
    }

    /// Between things on one line.
    pub(super) const fn dot(self) -> &'static str {
        self.either(" · ", " - ")
    }

    /// Before what is typed.
    pub(super) const fn prompt(self) -> &'static str {
        self.either("› ", "> ")
    }

    /// Where something is missing.
    pub(super) const fn more(self) -> &'static str {
        self.either("…", "...")
    }

    /// Instead of a character nobody should see.
    pub(super) const fn mask(self) -> &'static str {
        self.either("•", "*")
    }

    /// Before an item of a list.
    pub(super) const fn bullet(self) -> &'static str {
        self.either("•", "*")
    }

    /// Before bad news.
    pub(super) const fn bad(self) -> &'static str {
        self.either("✗", "x")
    }

    /// Before good news.
    pub(super) const fn good(self) -> &'static str {
        self.either("✓", "+")
    }

    /// A sign of life.
    pub(super) fn spinner(self, now: Duration) -> char {
        const UNICODE: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
        const ASCII: [char; 4] = ['|', '/', '-', '\\'];
        let frames: &[char] = self.either(&UNICODE, &ASCII);
        let turn = usize::try_from(now.as_millis() / BEAT.as_millis()).unwrap_or(0);
        frames[turn % frames.len()]
    }

    /// A line for a terminal, with its colours.
    pub(super) fn paint(self, line: &Line<'_>) -> String {
        let mut text = String::new();
        for span in &line.spans {
            let style = self.sgr(span.style);
            text.push_str(&style);
            text.push_str(&span.content);
            if !style.is_empty() {
                text.push_str(RESET);
            }
        }
        text
    }

    /// What switches a style on; nothing for plain text.
    pub(super) fn sgr(self, style: Style) -> String {
        let colour = style.fg.and_then(|colour| match colour {
            Color::Red => Some(31),
            Color::Green => Some(32),
            Color::Yellow => Some(33),
            Color::Cyan => Some(36),
            _ => None,
        });
        let modifiers = [(Modifier::BOLD, 1), (Modifier::DIM, 2), (Modifier::REVERSED, 7)];
        let codes = modifiers.iter().filter(|(modifier, _)| style.add_modifier.contains(*modifier));
        let mut text = String::new();
        if self.is_coloured {
            for code in codes.map(|(_, code)| *code).chain(colour) {
                // Writing to a string cannot fail.
                let _ = write!(text, "\x1b[{code}m");
            }
        }
        text
    }
}

/// Switches every style off.
pub(super) const RESET: &str = "\x1b[0m";

/// Whether the locale takes more than ASCII.
fn marks(env: &Env) -> Marks {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| env.non_empty(name)).unwrap_or("C");
    let is_utf8 = ["utf-8", "utf8"].iter().any(|word| locale.to_ascii_lowercase().contains(word));
    if is_utf8 || env.os() != Os::Linux { Marks::Unicode } else { Marks::Ascii }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_follow_the_locale() {
        let env = |name: &str, value: &str| Env::new(Os::Linux, "/h", "/w").with_var(name, value);
        assert_eq!(marks(&env("LANG", "de_DE.UTF-8")), Marks::Unicode);
        assert_eq!(marks(&env("LC_ALL", "C.utf8")), Marks::Unicode);
        assert_eq!(marks(&env("LC_ALL", "C").with_var("LANG", "en_US.UTF-8")), Marks::Ascii);
        assert_eq!(marks(&env("X", "")), Marks::Ascii);
    }

    #[test]
    fn without_colour_there_is_no_code_at_all() {
        let line = Line::from(vec!["a".into(), ratatui::text::Span::styled("b", BAD.patch(STRONG))]);
        let look = Look { is_coloured: true, marks: Marks::Ascii };
        assert_eq!(look.paint(&line), "a\x1b[1m\x1b[31mb\x1b[0m");
        assert_eq!(Look { is_coloured: false, ..look }.paint(&line), "ab");
    }
}
