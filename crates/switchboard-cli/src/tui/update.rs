//! What happens becomes what is known and what is to be done. Pure.

use std::time::Duration;

use ratatui::text::{Line, Span};

use super::dialog::{Ask, Dialog, refused};
use super::keys::meaning;
use super::look::FAINT;
use super::model::{Aid, Asked, AskedKind, Effect, Event, Model, Running};
use super::text::{plain, wrap};
use super::typing;
use crate::shell::Next;

/// Questions of servers that wait at once; and those about calls.
const MOST_ASKED: usize = 32;
const MOST_CALLS: usize = 100;
/// Whoever typed so recently is still typing.
const TYPING: Duration = Duration::from_secs(1);

/// Takes notice of what happened.
pub(super) fn update(model: &mut Model, now: Duration, event: Event) -> Vec<Effect> {
    model.now = now;
    match event {
        Event::Key(key) => {
            model.hint = None;
            meaning(&key).map(|key| typing::key(model, key)).unwrap_or_default()
        }
        Event::Paste(text) => typing::paste(model, &text),
        Event::Interrupt => typing::cancel(model),
        Event::Resize(size) => {
            model.size = size;
            Vec::new()
        }
        Event::Beat => Vec::new(),
        Event::Print(text) => {
            let mut effects = flush(model);
            effects.push(Effect::Print(text));
            effects
        }
        Event::Notice(line) => notice(model, &[Line::from(plain(&line))]),
        Event::Stream(delta) => {
            let lines = model.prose.take(&delta, model.look, model.width());
            print(model, &lines)
        }
        Event::Working(words) => {
            if let Some(running) = &mut model.running {
                running.words = words.map(|words| plain(&words));
            }
            Vec::new()
        }
        Event::Stands(standing) => {
            let lines = model.notices.note(now, &standing.servers, model.look);
            model.standing = standing;
            notice(model, &lines)
        }
        Event::ToolsChanged(server) => {
            let line = model.notices.tools_changed(now, &server, model.look);
            notice(model, line.as_slice())
        }
        Event::Asked(ticket, ask) => asked(model, ticket, ask),
        Event::Withdrawn(ticket) => {
            model.dialogs.retain(|asked| asked.ticket != ticket);
            Vec::new()
        }
        Event::Opened { ticket, url, is_open } => opened(model, ticket, &url, is_open),
        Event::Completed { ticket, completion } => typing::completed(model, ticket, completion),
        Event::Done(next) => done(model, next),
        Event::Footer(footer) => {
            model.footer = footer.map(|footer| plain(&footer));
            Vec::new()
        }
    }
}

/// Everybody who waits for an answer gets one; then it is over.
pub(super) fn leave(model: &mut Model) -> Vec<Effect> {
    let waiting = model.dialogs.drain(..);
    let mut effects: Vec<Effect> =
        waiting.map(|asked| Effect::Answer(asked.ticket, asked.dialog.unanswered())).collect();
    effects.push(Effect::Leave);
    effects
}

/// Runs what is typed.
pub(super) fn submit(model: &mut Model) -> Vec<Effect> {
    let text = model.editor.whole();
    if text.trim().is_empty() {
        return Vec::new();
    }
    let look = model.look;
    let prompt = [look.prompt(), "  "];
    let shown = model.editor.shown();
    let lines: Vec<Line<'_>> = shown
        .iter()
        .enumerate()
        .map(|(at, line)| Line::from(vec![Span::styled(prompt[at.min(1)], FAINT), Span::raw(line.as_str())]))
        .collect();
    let mut effects = print(model, &lines);
    model.editor.clear();
    model.aid = Aid::None;
    model.typed_at = None;
    model.history.add(&text);
    model.running = Some(Running { since: model.now, words: None, is_cancelled: false, is_queued: false });
    effects.push(Effect::Remember(text.clone()));
    effects.push(Effect::Run(text));
    effects
}

fn done(model: &mut Model, next: Next) -> Vec<Effect> {
    let mut effects = flush(model);
    let is_queued = model.running.take().is_some_and(|running| running.is_queued);
    match next {
        Next::Leave => effects.extend(leave(model)),
        Next::Go if is_queued => effects.extend(submit(model)),
        Next::Go => {}
    }
    effects
}

fn asked(model: &mut Model, ticket: u64, ask: Ask) -> Vec<Effect> {
    let server = ask.server().to_owned();
    let kind = match ask {
        Ask::Permit(_) | Ask::Visit(_) => AskedKind::OurOwn,
        Ask::Elicit(_) | Ask::Sample { .. } => AskedKind::Servers,
    };
    let is_there = |asked: &Asked| asked.kind == AskedKind::Servers && asked.server == server;
    let is_too_much = match kind {
        AskedKind::OurOwn => model.dialogs.len() >= MOST_CALLS,
        AskedKind::Servers => {
            model.dialogs.len() >= MOST_ASKED
                || model.dialogs.iter().any(is_there)
                || !model.patience.lets_through(model.now, &server)
        }
    };
    if is_too_much {
        let words = format!("{} asks too much at once; some of it is refused", plain(&server));
        let line = model.patience.is_news(model.now, &server).then(|| Line::from(Span::styled(words, FAINT)));
        let mut effects = notice(model, line.as_slice());
        effects.push(Effect::Answer(ticket, refused(&ask)));
        return effects;
    }
    let is_typing = model.typed_at.is_some_and(|at| model.now.saturating_sub(at) < TYPING);
    let is_held = is_typing && model.dialogs.is_empty();
    model.dialogs.push_back(Asked { ticket, server, kind, dialog: Dialog::new(ask), is_held });
    Vec::new()
}

fn opened(model: &mut Model, ticket: u64, url: &str, is_open: bool) -> Vec<Effect> {
    if let Some(asked) = model.dialogs.iter_mut().find(|asked| asked.ticket == ticket) {
        asked.dialog.opened(is_open);
        return Vec::new();
    }
    if is_open {
        return Vec::new();
    }
    let words = format!("No browser could be opened here. Open this address: {}", plain(url));
    print(model, &[Line::from(words)])
}

/// The line that was not finished is finished now.
fn flush(model: &mut Model) -> Vec<Effect> {
    let lines = model.prose.finish(model.look, model.width());
    print(model, &lines)
}

/// Lines between those of commands, broken where words end.
fn notice(model: &Model, lines: &[Line<'_>]) -> Vec<Effect> {
    let rows: Vec<Line<'_>> = lines.iter().flat_map(|line| wrap(line, model.width())).collect();
    print(model, &rows)
}

/// Nothing is printed if there are no lines.
fn print(model: &Model, lines: &[Line<'_>]) -> Vec<Effect> {
    if lines.is_empty() {
        return Vec::new();
    }
    let text = lines.iter().map(|line| model.look.paint(line) + "\n").collect();
    vec![Effect::Print(text)]
}
