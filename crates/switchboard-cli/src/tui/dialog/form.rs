//! A form of a server: a field a row, checked while it is filled in, sent only when it is right.

use ratatui::text::{Line, Span};
use serde_json::{Map, Value};
use switchboard::host::Answer;
use switchboard::json::Json;
use unicode_width::UnicodeWidthStr;

use super::super::editor::Edit;
use super::super::keys::Key;
use super::super::look::{BAD, CHOSEN, FAINT, PLAIN, STRONG, WAITING};
use super::super::text::{cut, plain, wrap};
use super::field::{Choice, Entry, Field};
use super::{Reply, Room, Shown, Turn, fit, shortened};

/// No person fills in more.
const MOST_FIELDS: usize = 50;
/// Labels take no more columns.
const WIDEST_LABEL: usize = 24;

/// A form that is being filled in.
#[derive(Debug)]
pub(in super::super) struct Form {
    server: String,
    message: String,
    fields: Vec<Field>,
    /// Which row has the keys.
    focus: Focus,
    /// Somebody tried to send it: mistakes are shown everywhere.
    is_tried: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Focus {
    Field(usize),
    Send,
    Decline,
}

impl Form {
    pub(super) fn new(server: &str, message: &str, schema: &Json) -> Self {
        let schema = schema.value();
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |key: &str| required.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(key)));
        let fields: Vec<Field> = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .take(MOST_FIELDS + 1)
            .map(|(key, schema)| Field::new(key, schema, is_required(key)))
            .collect();
        let focus = if fields.is_empty() { Focus::Send } else { Focus::Field(0) };
        Self { server: plain(server), message: plain(message), fields, focus, is_tried: false }
    }

    pub(super) fn key(&mut self, key: Key) -> Turn {
        let done = |answer| Turn::Done(Reply::Elicit(answer), None);
        match (key, self.focus) {
            (Key::Escape, _) => return done(Answer::Cancel),
            (Key::Enter, Focus::Decline) => return done(Answer::Decline),
            (Key::Enter, Focus::Send) => match self.values() {
                Some(values) => return done(Answer::Accept(Json::from(Value::Object(values)))),
                None => self.show_mistake(),
            },
            (Key::Enter | Key::Tab | Key::Down, _) => self.focus = self.after(),
            (Key::BackTab | Key::Up, _) => self.focus = self.before(),
            (Key::Edit(Edit::Left | Edit::Right), Focus::Send) => self.focus = Focus::Decline,
            (Key::Edit(Edit::Left | Edit::Right), Focus::Decline) => self.focus = Focus::Send,
            (Key::Edit(edit), Focus::Field(at)) => {
                if let Some(field) = self.fields.get_mut(at) {
                    field.edit(edit);
                }
            }
            _ => {}
        }
        Turn::Stay
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Focus::Field(at) = self.focus
            && let Some(field) = self.fields.get_mut(at)
        {
            field.paste(text);
        }
    }

    const fn after(&self) -> Focus {
        match self.focus {
            Focus::Field(at) if at + 1 < self.fields.len() => Focus::Field(at + 1),
            Focus::Field(_) => Focus::Send,
            Focus::Send => Focus::Decline,
            Focus::Decline if self.fields.is_empty() => Focus::Send,
            Focus::Decline => Focus::Field(0),
        }
    }

    const fn before(&self) -> Focus {
        match self.focus {
            Focus::Field(0) => Focus::Decline,
            Focus::Field(at) => Focus::Field(at - 1),
            Focus::Send if self.fields.is_empty() => Focus::Decline,
            Focus::Send => Focus::Field(self.fields.len() - 1),
            Focus::Decline => Focus::Send,
        }
    }

    /// All values, if all are right.
    fn values(&self) -> Option<Map<String, Value>> {
        if self.fields.len() > MOST_FIELDS {
            return None;
        }
        let mut values = Map::new();
        for field in &self.fields {
            if let Some(value) = field.value().ok()? {
                values.insert(field.key.clone(), value);
            }
        }
        Some(values)
    }

    fn show_mistake(&mut self) {
        self.is_tried = true;
        if let Some(at) = self.fields.iter().position(|field| field.value().is_err()) {
            self.focus = Focus::Field(at);
        }
    }

    pub(super) fn rows(&self, room: &Room) -> Shown {
        let title = Line::from(vec![
            Span::styled(self.server.clone(), STRONG),
            Span::raw(format!(" asks: {}", self.message)),
            Span::styled(room.of_many(), FAINT),
        ]);
        let mut head = shortened(wrap(&title, room.width), (room.height / 2).max(1), room);
        if self.fields.len() > MOST_FIELDS {
            let words = format!("the form has more than {MOST_FIELDS} fields and cannot be filled in here");
            head.push(Line::from(Span::styled(cut(&words, room.width, room.look), BAD)));
        }
        let foot = vec![self.buttons(room)];
        let left = room.height.saturating_sub(foot.len() + head.len().min(1)).max(1);
        let (body, place) = self.body(room, left);
        let n_body = body.len();
        let n_foot = foot.len().min(room.height);
        let rows = fit(head, body, foot, room.height);
        let top = rows.len().saturating_sub(n_foot + n_body.min(left));
        (rows, place.map(|(row, column)| (top + row, column)))
    }

    fn buttons(&self, room: &Room) -> Line<'static> {
        let button = |words: &str, focus: Focus| {
            let (mark, style) = if self.focus == focus { ("> ", CHOSEN) } else { ("  ", PLAIN) };
            [Span::raw(mark), Span::styled(words.to_owned(), style)]
        };
        let mut spans: Vec<Span<'static>> = button("Send", Focus::Send).into();
        spans.extend(button("Decline", Focus::Decline));
        let help = "Tab next, Enter takes, Esc closes";
        if room.width > 20 + help.len() {
            spans.push(Span::styled(format!("{}{help}", room.look.dot()), FAINT));
        }
        Line::from(spans)
    }

    /// The rows around the focus that fit, and the cursor in them.
    fn body(&self, room: &Room, height: usize) -> Shown {
        let label = self.fields.iter().map(|field| field.title.width() + 2).max().unwrap_or(0);
        let label = label.min(WIDEST_LABEL).min(room.width / 2);
        let (mut rows, mut cursor, mut focus) = (Vec::new(), None, 0..0);
        for (at, field) in self.fields.iter().enumerate() {
            let is_focused = self.focus == Focus::Field(at);
            let start = rows.len();
            let (row, column) = field_row(field, is_focused, room, label);
            rows.push(row);
            rows.extend(self.remarks(field, is_focused, room));
            if is_focused {
                cursor = column.map(|column| (start, column));
                focus = start..rows.len();
            }
        }
        let focus = if let Focus::Field(_) = self.focus { focus } else { rows.len()..rows.len() };
        // The focused row itself counts more than what is said of it.
        let first = focus.end.saturating_sub(height).min(focus.start);
        let rows: Vec<_> = rows.into_iter().skip(first).take(height).collect();
        (rows, cursor.map(|(row, column)| (row - first, column)))
    }

    fn remarks(&self, field: &Field, is_focused: bool, room: &Room) -> Vec<Line<'static>> {
        let mut remarks = Vec::new();
        let mut say = |words: &str, style| {
            remarks
                .push(Line::from(Span::styled(cut(&format!("    {words}"), room.width, room.look), style)));
        };
        if is_focused {
            if field.is_secret() {
                say("looks like a secret; servers must not ask for secrets in a form", WAITING);
            }
            let hint = hint(field);
            if !hint.is_empty() {
                say(&hint.join(room.look.dot()), FAINT);
            }
        }
        if let Err(wrong) = field.value() {
            let is_begun = matches!(&field.entry, Entry::Text { typed, .. } | Entry::Number { typed, .. } if !typed.is_empty());
            if self.is_tried || is_begun {
                say(&wrong, BAD);
            }
        }
        remarks
    }
}

/// How to fill it in.
fn hint(field: &Field) -> Vec<String> {
    let how = match &field.entry {
        Entry::Text { limits, .. } => limits.format.clone(),
        Entry::Number { is_integer, .. } => {
            Some(if *is_integer { "a whole number" } else { "a number" }.to_owned())
        }
        Entry::Switch(_) => Some("space switches".to_owned()),
        Entry::One { .. } => Some("left and right choose".to_owned()),
        Entry::Many { .. } => Some("left and right move, space chooses".to_owned()),
        Entry::Odd => Some("this kind of value cannot be given here".to_owned()),
    };
    field.description.iter().cloned().chain(how).collect()
}

/// The row of a field, and the column of the cursor in it.
fn field_row(field: &Field, is_focused: bool, room: &Room, label: usize) -> (Line<'static>, Option<usize>) {
    let star = if field.is_required { "*" } else { "" };
    let title = cut(&format!("{}{star}", field.title), label, room.look);
    let pad = " ".repeat(label.saturating_sub(title.width()));
    let mark = if is_focused { "> " } else { "  " };
    let mut spans = vec![
        Span::raw(mark),
        Span::styled(title, if is_focused { STRONG } else { PLAIN }),
        Span::raw(pad + " "),
    ];
    let used = 3 + label;
    let inner = room.width.saturating_sub(used).max(1);
    let mut column = None;
    match &field.entry {
        Entry::Text { typed, is_secret, .. } => {
            let hidden = is_secret.then(|| room.look.mask());
            let (mut lines, (row, at)) = typed.layout(inner, hidden);
            spans.extend(lines.swap_remove(row.min(lines.len() - 1)).spans);
            column = Some(used + at);
        }
        Entry::Number { typed, .. } => {
            let (mut lines, (row, at)) = typed.layout(inner, None);
            spans.extend(lines.swap_remove(row.min(lines.len() - 1)).spans);
            column = Some(used + at);
        }
        Entry::Switch(on) => spans.push(Span::raw(match on {
            Some(true) => "[x] yes",
            Some(false) => "[ ] no",
            None => "[ ]",
        })),
        Entry::One { options, chosen } => {
            let title = chosen.and_then(|at| options.get(at)).map_or("(choose)", |one| &one.title);
            spans.push(Span::raw(cut(&format!("< {title} >"), inner, room.look)));
        }
        Entry::Many { options, chosen, at, .. } => {
            let shown = many(options, |index| chosen.contains(&index), *at, is_focused);
            spans.push(Span::raw(cut(&shown, inner, room.look)));
        }
        Entry::Odd => spans.push(Span::styled("-", FAINT)),
    }
    (Line::from(spans), column.filter(|_| is_focused))
}

/// The choices from the one that has the keys on, so that it is always seen.
fn many(options: &[Choice], is_chosen: impl Fn(usize) -> bool, at: usize, is_focused: bool) -> String {
    let one = |(index, one): (usize, &Choice)| {
        let mark = if is_chosen(index) { "x" } else { " " };
        let here = if is_focused && index == at { ">" } else { "" };
        format!("{here}[{mark}] {}", one.title)
    };
    let from = if is_focused { at } else { 0 };
    options.iter().enumerate().skip(from).map(one).collect::<Vec<_>>().join("  ")
}
