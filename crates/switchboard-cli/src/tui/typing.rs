//! What a key does: to a question, to the aid that is open, or to the line. Pure.

use std::time::Duration;

use super::dialog::Turn;
use super::editor::Edit;
use super::keys::Key;
use super::menu::{Menu, common};
use super::model::{Aid, Effect, Model, Search};
use super::update::{leave, submit};
use crate::shell::Completion;

/// Who does not type for so long looks at the question.
const PAUSE: Duration = Duration::from_millis(700);

const HOW_TO_LEAVE: &str = "Ctrl-D leaves";
const HOW_TO_STOP: &str = "still running: Ctrl-C stops it";
const RUNS_NEXT: &str = "runs next";
const NOTHING_FITS: &str = "nothing fits";

pub(super) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    if key == Key::Cancel {
        return cancel(model);
    }
    if key == Key::ClearScreen {
        return vec![Effect::Clear];
    }
    if has_question(model, key) {
        return to_question(model, key);
    }
    match &mut model.aid {
        Aid::Search(_) => to_search(model, key),
        Aid::Menu(menu) => match key {
            Key::Tab | Key::Down | Key::Newer => {
                menu.next();
                Vec::new()
            }
            Key::BackTab | Key::Up | Key::Older => {
                menu.previous();
                Vec::new()
            }
            Key::Escape => {
                model.aid = Aid::None;
                Vec::new()
            }
            Key::Enter => take_choice(model),
            key => to_line(model, key),
        },
        Aid::None | Aid::Completing => to_line(model, key),
    }
}

pub(super) fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    model.hint = None;
    if has_question(model, Key::Edit(Edit::Newline)) {
        if let Some(asked) = model.dialogs.front_mut() {
            asked.dialog.paste(text);
        }
        return Vec::new();
    }
    if let Aid::Search(_) = model.aid {
        model.aid = Aid::None;
    }
    model.editor.paste(text);
    changed(model)
}

/// Stops one thing: what runs, else a question, else what helps typing, else the line.
pub(super) fn cancel(model: &mut Model) -> Vec<Effect> {
    model.hint = None;
    if let Some(running) = &mut model.running
        && !running.is_cancelled
    {
        running.is_cancelled = true;
        running.is_queued = false;
        return vec![Effect::Cancel];
    }
    if let Some(asked) = model.dialogs.pop_front() {
        return vec![Effect::Answer(asked.ticket, asked.dialog.unanswered())];
    }
    if model.running.is_some() {
        return vec![Effect::Abandon];
    }
    match model.aid {
        Aid::Menu(_) | Aid::Search(_) => model.aid = Aid::None,
        Aid::None | Aid::Completing if model.editor.is_empty() => model.hint = Some(HOW_TO_LEAVE),
        Aid::None | Aid::Completing => {
            model.editor.clear();
            model.history.settle();
            model.aid = Aid::None;
        }
    }
    Vec::new()
}

/// Whether the key belongs to a question. One that came up while somebody was typing gets none until they pause.
fn has_question(model: &mut Model, key: Key) -> bool {
    let (now, typed_at) = (model.now, model.typed_at);
    let Some(asked) = model.dialogs.front_mut() else { return false };
    let is_typing = typed_at.is_some_and(|at| now.saturating_sub(at) < PAUSE);
    asked.is_held = asked.is_held && is_typing && key != Key::Escape;
    !asked.is_held
}

fn to_question(model: &mut Model, key: Key) -> Vec<Effect> {
    let room = model.room(usize::from(model.size.height));
    let Some(asked) = model.dialogs.front_mut() else { return Vec::new() };
    let key = if key == Key::EndOrDelete { Key::Edit(Edit::Delete) } else { key };
    let ticket = asked.ticket;
    match asked.dialog.key(key, &room) {
        // A letter that answers nothing begins a word, and the rest of that word must not answer either.
        Turn::Foreign if matches!(key, Key::Edit(Edit::Char(_))) => {
            asked.is_held = true;
            to_line(model, key)
        }
        Turn::Stay | Turn::Foreign => Vec::new(),
        Turn::Open(url) => vec![Effect::Open { ticket, url }],
        Turn::Done(reply, page) => {
            model.dialogs.pop_front();
            let open = page.map(|url| Effect::Open { ticket, url });
            open.into_iter().chain([Effect::Answer(ticket, reply)]).collect()
        }
    }
}

fn to_line(model: &mut Model, key: Key) -> Vec<Effect> {
    match key {
        Key::Edit(edit) => {
            if let Edit::Char(_) = edit {
                model.typed_at = Some(model.now);
            }
            if model.editor.apply(edit) { changed(model) } else { Vec::new() }
        }
        Key::Enter => enter(model),
        Key::EndOrDelete if !model.editor.is_empty() => {
            model.editor.apply(Edit::Delete);
            changed(model)
        }
        Key::EndOrDelete if model.running.is_some() => {
            model.hint = Some(HOW_TO_STOP);
            Vec::new()
        }
        Key::EndOrDelete => leave(model),
        Key::Escape => match &mut model.running {
            Some(running) if !running.is_cancelled => {
                running.is_cancelled = true;
                running.is_queued = false;
                vec![Effect::Cancel]
            }
            _ => Vec::new(),
        },
        Key::Tab => ask_completer(model),
        Key::Up if model.editor.up() => Vec::new(),
        Key::Down if model.editor.down() => Vec::new(),
        Key::Up | Key::Older => {
            let typed = model.editor.whole();
            if let Some(line) = model.history.older(&typed) {
                model.editor.set(line);
            }
            Vec::new()
        }
        Key::Down | Key::Newer => {
            if let Some(line) = model.history.newer() {
                model.editor.set(&line);
            }
            Vec::new()
        }
        Key::Search => {
            model.aid = Aid::Search(Search { words: String::new(), found: None });
            Vec::new()
        }
        Key::BackTab | Key::PageUp | Key::PageDown | Key::Cancel | Key::ClearScreen => Vec::new(),
    }
}

fn enter(model: &mut Model) -> Vec<Effect> {
    if model.editor.ends_with_backslash() {
        model.editor.apply(Edit::Backspace);
        model.editor.apply(Edit::Newline);
        return changed(model);
    }
    match &mut model.running {
        None => submit(model),
        Some(_) if model.editor.is_empty() => Vec::new(),
        Some(running) => {
            running.is_queued = !running.is_cancelled;
            model.hint = Some(if running.is_queued { RUNS_NEXT } else { HOW_TO_STOP });
            Vec::new()
        }
    }
}

/// The line is another one now.
fn changed(model: &mut Model) -> Vec<Effect> {
    model.history.settle();
    if let Some(running) = &mut model.running {
        running.is_queued = false;
    }
    match model.aid {
        Aid::Menu(_) => ask_completer(model),
        Aid::Completing => {
            model.aid = Aid::None;
            Vec::new()
        }
        Aid::None | Aid::Search(_) => Vec::new(),
    }
}

fn ask_completer(model: &mut Model) -> Vec<Effect> {
    model.asked_completions += 1;
    if let Aid::None | Aid::Search(_) = model.aid {
        model.aid = Aid::Completing;
    }
    let (text, cursor) = (model.editor.text().to_owned(), model.editor.cursor());
    vec![Effect::Complete { ticket: model.asked_completions, text, cursor }]
}

pub(super) fn completed(model: &mut Model, ticket: u64, completion: Completion) -> Vec<Effect> {
    let text = model.editor.text();
    let typed = text.get(completion.start..completion.end);
    let (Some(typed), true) = (typed, ticket == model.asked_completions) else { return Vec::new() };
    match (&model.aid, completion.candidates.as_slice()) {
        (Aid::None | Aid::Search(_), _) => {}
        (Aid::Menu(_), _) => model.aid = Menu::open(completion).map_or(Aid::None, Aid::Menu),
        (Aid::Completing, []) => {
            model.aid = Aid::None;
            model.hint = Some(NOTHING_FITS);
        }
        (Aid::Completing, [only]) => {
            model.editor.replace(completion.start, completion.end, &only.insert);
            model.aid = Aid::None;
        }
        (Aid::Completing, _) => {
            let mut completion = completion;
            if let Some(more) = common(&completion, typed) {
                model.editor.replace(completion.start, completion.end, &more);
                completion.end = model.editor.cursor();
            }
            model.aid = Menu::open(completion).map_or(Aid::None, Aid::Menu);
        }
    }
    Vec::new()
}

fn take_choice(model: &mut Model) -> Vec<Effect> {
    if let Aid::Menu(menu) = &model.aid
        && let Some((start, end, insert)) = menu.choice()
    {
        model.editor.replace(start, end, insert);
    }
    model.aid = Aid::None;
    changed(model)
}

fn to_search(model: &mut Model, key: Key) -> Vec<Effect> {
    let Aid::Search(search) = &mut model.aid else { return Vec::new() };
    let newest = model.history.len();
    let look = |words: &str, before: usize| {
        model.history.find(words, before).map(|(at, line)| (at, line.to_owned()))
    };
    match key {
        Key::Edit(Edit::Char(c)) => {
            search.words.push(c);
            let before = search.found.as_ref().map_or(newest, |(at, _)| at + 1);
            search.found = look(&search.words, before);
        }
        Key::Edit(Edit::Backspace) => {
            search.words.pop();
            search.found = if search.words.is_empty() { None } else { look(&search.words, newest) };
        }
        Key::Search => {
            let before = search.found.as_ref().map_or(newest, |(at, _)| *at);
            // At the oldest it stays.
            search.found = look(&search.words, before).or(search.found.take());
        }
        Key::Escape => model.aid = Aid::None,
        key => {
            let found = search.found.take();
            model.aid = Aid::None;
            if let Some((_, line)) = found {
                model.editor.set(&line);
            }
            return to_line(model, key);
        }
    }
    Vec::new()
}
