//! The terminal while it is ours: keys come one by one, pastes come whole. Whatever happens, it is given back as it was.

use std::io::{self, IsTerminal, Write};

use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::{cursor, queue, terminal};
use switchboard::Env;

use super::live::Size;

/// Whether somebody is there who can see and type more than lines.
pub(super) fn is_capable(env: &Env) -> bool {
    let is_dumb = env.non_empty("TERM").is_none_or(|term| term == "dumb");
    io::stdin().is_terminal() && io::stdout().is_terminal() && !(is_dumb && cfg!(unix))
}

/// The terminal, taken until this is dropped.
#[derive(Debug)]
pub(super) struct Tty {
    /// Whether keys can be told apart that otherwise look the same. An old console takes the question for something else.
    has_more_keys: bool,
}

impl Tty {
    pub(super) fn take(env: &Env) -> io::Result<Self> {
        let tty = Self { has_more_keys: cfg!(unix) && env.var("TERM") != Some("linux") };
        terminal::enable_raw_mode()?;
        let mut out = io::stdout();
        queue!(out, EnableBracketedPaste)?;
        if tty.has_more_keys {
            queue!(out, PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES))?;
        }
        out.flush()?;
        Ok(tty)
    }

    fn give_back(&self) -> io::Result<()> {
        let mut out = io::stdout();
        if self.has_more_keys {
            queue!(out, PopKeyboardEnhancementFlags)?;
        }
        queue!(out, DisableBracketedPaste, cursor::Show)?;
        out.flush()?;
        terminal::disable_raw_mode()
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        // A terminal that is gone cannot be given back.
        drop(self.give_back());
    }
}

/// Columns and rows.
pub(super) fn size() -> Size {
    let (width, height) = terminal::size().unwrap_or((0, 0));
    sized(width, height)
}

/// What terminals have always had, if this one does not say.
pub(super) const fn sized(width: u16, height: u16) -> Size {
    if width == 0 || height == 0 { Size { width: 80, height: 24 } } else { Size { width, height } }
}
