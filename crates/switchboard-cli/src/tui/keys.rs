//! What keys mean. Pure.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::editor::Edit;

/// What a key asks for, whoever has the keys right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Edit(Edit),
    Enter,
    /// Ctrl-D: leaves where nothing is typed, else it deletes.
    EndOrDelete,
    Cancel,
    Escape,
    Tab,
    BackTab,
    Up,
    Down,
    PageUp,
    PageDown,
    Older,
    Newer,
    Search,
    ClearScreen,
}

/// Nothing for keys without a meaning.
pub(super) fn meaning(key: &KeyEvent) -> Option<Key> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    Some(match key.code {
        KeyCode::Enter if alt || shift => Key::Edit(Edit::Newline),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Tab if shift => Key::BackTab,
        KeyCode::Tab => Key::Tab,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Left if control || alt => Key::Edit(Edit::WordLeft),
        KeyCode::Right if control || alt => Key::Edit(Edit::WordRight),
        KeyCode::Left => Key::Edit(Edit::Left),
        KeyCode::Right => Key::Edit(Edit::Right),
        KeyCode::Home => Key::Edit(Edit::Home),
        KeyCode::End => Key::Edit(Edit::End),
        KeyCode::Delete if control || alt => Key::Edit(Edit::KillWord),
        KeyCode::Delete => Key::Edit(Edit::Delete),
        KeyCode::Backspace if control || alt => Key::Edit(Edit::KillWordBack),
        KeyCode::Backspace => Key::Edit(Edit::Backspace),
        KeyCode::Char(c) if control && !alt => return with_control(c),
        KeyCode::Char(c) if alt && !control => return with_alt(c),
        KeyCode::Char(c) => Key::Edit(Edit::Char(c)),
        _ => return None,
    })
}

fn with_control(c: char) -> Option<Key> {
    Some(match c.to_ascii_lowercase() {
        'a' => Key::Edit(Edit::Home),
        'b' => Key::Edit(Edit::Left),
        'c' => Key::Cancel,
        'd' => Key::EndOrDelete,
        'e' => Key::Edit(Edit::End),
        'f' => Key::Edit(Edit::Right),
        'h' => Key::Edit(Edit::Backspace),
        'j' => Key::Edit(Edit::Newline),
        'k' => Key::Edit(Edit::KillToEnd),
        'l' => Key::ClearScreen,
        'n' => Key::Newer,
        'p' => Key::Older,
        'r' => Key::Search,
        'u' => Key::Edit(Edit::KillToStart),
        'w' => Key::Edit(Edit::KillWordBack),
        'y' => Key::Edit(Edit::Yank),
        // What terminals send for Ctrl-_ differs.
        'z' | '_' | '7' | '/' => Key::Edit(Edit::Undo),
        _ => return None,
    })
}

fn with_alt(c: char) -> Option<Key> {
    Some(match c.to_ascii_lowercase() {
        'b' => Key::Edit(Edit::WordLeft),
        'd' => Key::Edit(Edit::KillWord),
        'f' => Key::Edit(Edit::WordRight),
        _ => return None,
    })
}
