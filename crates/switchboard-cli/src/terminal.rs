//! What kind of terminal we are on.

use std::io::IsTerminal;

use switchboard::Env;

/// Whether someone can be asked: we hear them and they see us.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Columns of the terminal that everything else goes to.
pub(crate) fn error_width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0))
}

/// Columns of the terminal that data goes to; none when it goes elsewhere.
pub(crate) fn width(env: &Env) -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let told = env.var("COLUMNS").and_then(|columns| columns.parse().ok());
    told.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))).or(Some(80))
}

/// Whether the terminal only shows what it is sent, line after line.
pub(crate) fn is_dumb(env: &Env) -> bool {
    !cfg!(windows) && env.non_empty("TERM").is_none_or(|term| term == "dumb")
}

/// Whether somebody sits there and sees what we show.
pub(crate) fn is_lived_in() -> bool {
    is_interactive() && std::io::stdout().is_terminal()
}

/// Whether what we say is seen on a terminal.
#[cfg(unix)]
pub(crate) fn is_seen() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether the terminal we were started in is still there.
#[cfg(unix)]
pub(crate) fn is_there() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}
