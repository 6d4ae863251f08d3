//! What is known becomes rows: what runs, a question or a menu, the line, how the servers stand. Pure.
//!
//! However small the terminal is, the rows fit on it, and the cursor is in them.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::live::Frame;
use super::look::{FAINT, PLAIN, STRONG, WAITING};
use super::model::{Aid, Model};
use super::text::{cut, plain};

/// The line takes no more rows.
const MOST_INPUT: usize = 8;

/// The rows below the output.
pub(super) fn view(model: &Model) -> Frame {
    // One row is left for what was printed last.
    let height = usize::from(model.size.height);
    let most = height.saturating_sub(1).max(1);
    // A question needs the rows more than anything.
    let has_status = most >= if model.dialogs.is_empty() { 3 } else { 8 };
    let left = most - usize::from(has_status);
    let (mut rows, cursor) =
        if model.dialogs.is_empty() { with_line(model, left) } else { with_question(model, left) };
    if has_status {
        rows.push(status(model));
    }
    rows.truncate(most);
    let cursor =
        cursor.and_then(|(row, column)| Some((u16::try_from(row).ok()?, u16::try_from(column).ok()?)));
    Frame { rows, cursor }
}

type Rows = (Vec<Line<'static>>, Option<(usize, usize)>);

fn with_question(model: &Model, most: usize) -> Rows {
    let mut rows = Vec::new();
    let is_roomy = most >= 8;
    rows.extend(running(model).filter(|_| is_roomy));
    let line = (is_roomy && !model.editor.is_empty()).then(|| held_line(model));
    let height = most - rows.len() - usize::from(line.is_some());
    let Some(asked) = model.dialogs.front() else { return (rows, None) };
    let (shown, cursor) = asked.dialog.rows(&model.room(height));
    let above = rows.len();
    rows.extend(shown);
    rows.extend(line);
    (rows, cursor.map(|(row, column)| (above + row, column)))
}

/// What was typed before a question came up.
fn held_line(model: &Model) -> Line<'static> {
    let text = format!("{}{}", model.look.prompt(), model.editor.shown().join(" "));
    Line::from(Span::styled(cut(&text, model.width(), model.look), FAINT))
}

fn with_line(model: &Model, most: usize) -> Rows {
    let (input, (row, column)) = input(model, most.min(MOST_INPUT));
    let mut left = most - input.len();
    let menu = match &model.aid {
        Aid::Menu(menu) => menu.rows(model.look, model.width(), left),
        Aid::None | Aid::Completing | Aid::Search(_) => Vec::new(),
    };
    left -= menu.len();
    let running = running(model).filter(|_| left > 0);
    left -= usize::from(running.is_some());
    // Of a line that is not finished, its end.
    let mut rows = model.prose.rows(model.look, model.width());
    rows.drain(..rows.len().saturating_sub(left));
    rows.extend(running);
    rows.extend(menu);
    let above = rows.len();
    rows.extend(input);
    (rows, Some((above + row, column)))
}

/// The line that is typed, or the search for an older one: as many rows as may be, with the cursor in them.
fn input(model: &Model, most: usize) -> (Vec<Line<'static>>, (usize, usize)) {
    if let Aid::Search(search) = &model.aid {
        let found = search.found.as_ref().map_or("", |(_, line)| line);
        let words = format!("search `{}`: ", plain(&search.words));
        let column = words.width().saturating_sub(3).min(model.width().saturating_sub(1));
        let room = model.width().saturating_sub(words.width());
        let found = cut(&plain(found), room, model.look);
        return (vec![Line::from(vec![Span::styled(words, FAINT), Span::raw(found)])], (0, column));
    }
    let prompt = model.look.prompt();
    let indent = if model.width() > 8 { prompt.width() } else { 0 };
    let (rows, (row, column)) = model.editor.layout(model.width().saturating_sub(indent), None);
    let first = (row + 1).saturating_sub(most.max(1));
    let window = rows.into_iter().enumerate().skip(first).take(most.max(1));
    let rows = window
        .map(|(at, line)| {
            let mark = if indent == 0 {
                ""
            } else if at == 0 {
                prompt
            } else {
                "  "
            };
            let mut spans = vec![Span::styled(mark, STRONG)];
            spans.extend(line.spans);
            Line::from(spans)
        })
        .collect();
    (rows, (row - first, indent + column))
}

/// What is being done, and for how long.
fn running(model: &Model) -> Option<Line<'static>> {
    let running = model.running.as_ref()?;
    let seconds = model.now.saturating_sub(running.since).as_secs();
    let words = match (&running.words, running.is_cancelled) {
        (_, true) => "stopping",
        (Some(words), false) => words,
        (None, false) => "working",
    };
    let spinner = format!("{} ", model.look.spinner(model.now));
    let time = format!("  {seconds} s");
    let help = if running.is_cancelled { "" } else { "  Ctrl-C stops it" };
    let room = model.width().saturating_sub(spinner.width() + time.len());
    let shown = cut(words, room, model.look);
    let has_help = room >= shown.width() + help.len();
    let mut spans =
        vec![Span::styled(spinner, WAITING), Span::styled(shown, PLAIN), Span::styled(time, FAINT)];
    spans.extend(has_help.then(|| Span::styled(help, FAINT)));
    Some(Line::from(spans))
}

fn status(model: &Model) -> Line<'static> {
    match model.hint {
        Some(hint) => Line::from(Span::styled(cut(hint, model.width(), model.look), WAITING)),
        None => model.standing.line(model.look, model.now, model.width(), model.footer.as_deref()),
    }
}
