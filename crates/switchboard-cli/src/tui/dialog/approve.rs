//! May this call be made? Everything that would be sent is shown, and what the server says of the tool is marked as its
//! own words.

use ratatui::text::{Line, Span};
use switchboard::host::{Permission, Permit, Why};
use switchboard::json::Json;

use super::super::editor::{Edit, Editor};
use super::super::keys::Key;
use super::super::look::{BAD, FAINT, PLAIN, STRONG};
use super::super::text::{plain, rows, width, wrap};
use super::scroll::Scroll;
use super::{Reply, Room, Shown, Turn, denied, fit, shortened};

/// A call that waits for a yes.
#[derive(Debug)]
pub(in super::super) struct Approve {
    question: Permission,
    arguments: Scroll,
    state: State,
}

#[derive(Debug)]
enum State {
    Choosing,
    /// Why not, for the model.
    Reason(Editor),
}

const CHOICES: &[(&str, &str)] = &[
    ("y", "this call"),
    ("s", "this tool for the session"),
    ("a", "always this tool"),
    ("n", "no"),
    ("r", "no, with a reason"),
];
/// What a server says of its own tool is not worth more rows.
const MOST_WORDS: usize = 4;

impl Approve {
    pub(super) fn new(question: Permission) -> Self {
        let arguments = Scroll::new(&pretty(&question.arguments));
        Self { question, arguments, state: State::Choosing }
    }

    pub(super) fn key(&mut self, key: Key, room: &Room) -> Turn {
        let done = |permit| Turn::Done(Reply::Permit(permit), None);
        if let State::Reason(reason) = &mut self.state {
            match key {
                Key::Enter => {
                    let words = reason.whole();
                    let words = words.trim();
                    return done(denied(if words.is_empty() { "the user said no" } else { words }));
                }
                Key::Escape => self.state = State::Choosing,
                Key::Edit(edit) if edit != Edit::Newline => drop(reason.apply(edit)),
                _ => {}
            }
            return Turn::Stay;
        }
        match key {
            Key::Edit(Edit::Char('y' | 'Y')) => done(Permit::Once),
            Key::Edit(Edit::Char('s' | 'S')) => done(Permit::Session),
            Key::Edit(Edit::Char('a' | 'A')) => done(Permit::Always),
            Key::Edit(Edit::Char('n' | 'N')) | Key::Escape => done(denied("the user said no")),
            Key::Edit(Edit::Char('r' | 'R')) => {
                self.state = State::Reason(Editor::default());
                Turn::Stay
            }
            key => self.arguments.turn(key, room.width),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let State::Reason(reason) = &mut self.state {
            reason.insert(&text.replace(['\n', '\r'], " "));
        }
    }

    pub(super) fn rows(&self, room: &Room) -> Shown {
        let (foot, cursor) = self.foot(room);
        let mut head = self.title(room);
        let left = room.height.saturating_sub(foot.len() + head.len());
        // What is sent counts more than what the server says.
        head.extend(shortened(self.words(room), left.saturating_sub(3).min(MOST_WORDS), room));
        let left = room.height.saturating_sub(foot.len() + head.len()).max(1);
        let body = self.arguments.rows(room.look, room.width, left);
        let n_foot = foot.len();
        let rows = fit(head, body, foot, room.height);
        let cursor = cursor.map(|column| (rows.len().saturating_sub(n_foot), column));
        (rows, cursor)
    }

    fn title(&self, room: &Room) -> Vec<Line<'static>> {
        let question = &self.question;
        let title = Line::from(vec![
            Span::raw("May "),
            Span::styled(plain(&question.server), STRONG),
            Span::raw(" run "),
            Span::styled(plain(&question.tool), STRONG),
            Span::raw("?"),
            Span::styled(room.of_many(), FAINT),
        ]);
        let mut head = wrap(&title, room.width);
        if question.why == Why::Changed {
            let words = "CHANGED: it is not what you approved for good. Look at it again.";
            head.extend(rows(words, BAD.patch(STRONG), room.width));
        }
        head
    }

    /// What the server says of the tool.
    fn words(&self, room: &Room) -> Vec<Line<'static>> {
        let mut said: Vec<String> = claims(self.question.annotations.as_ref());
        said.extend(self.question.description.as_deref().map(|words| plain(words.trim())));
        if said.is_empty() {
            return Vec::new();
        }
        let mut words = vec![Span::styled("the server says, unchecked: ", FAINT)];
        words.push(Span::styled(said.join(room.look.dot()), PLAIN));
        wrap(&Line::from(words), room.width)
    }

    /// The choices, or the reason that is being typed with the column of its cursor.
    fn foot(&self, room: &Room) -> (Vec<Line<'static>>, Option<usize>) {
        match &self.state {
            State::Choosing => (choices(CHOICES, room), None),
            State::Reason(reason) => field("why not: ", reason, room),
        }
    }
}

/// A line that is typed, after its label, with the column of the cursor.
pub(super) fn field(label: &str, editor: &Editor, room: &Room) -> (Vec<Line<'static>>, Option<usize>) {
    let label = if room.width > label.len() + 10 { label } else { "" };
    let inner = room.width.saturating_sub(label.len()).max(1);
    let (mut lines, (row, column)) = editor.layout(inner, None);
    let line = if row < lines.len() { lines.swap_remove(row) } else { Line::default() };
    let mut spans = vec![Span::styled(label.to_owned(), FAINT)];
    spans.extend(line.spans);
    (vec![Line::from(spans)], Some(label.len() + column))
}

/// Letters and what they mean, in full if that takes few rows.
pub(super) fn choices(choices: &[(&str, &str)], room: &Room) -> Vec<Line<'static>> {
    let mut spans = Vec::new();
    for (index, (key, words)) in choices.iter().enumerate() {
        if index > 0 {
            spans.push(Span::styled(room.look.dot(), FAINT));
        }
        spans.push(Span::styled((*key).to_owned(), STRONG));
        spans.push(Span::raw(format!(" {words}")));
    }
    let line = Line::from(spans);
    if width(&line) <= 2 * room.width {
        return wrap(&line, room.width);
    }
    let keys: Vec<&str> = choices.iter().map(|(key, _)| *key).collect();
    vec![Line::from(Span::styled(keys.join("/"), STRONG))]
}

/// Arguments as one reads them.
pub(super) fn pretty(json: &Json) -> String {
    // What nests too deep for a tree is shown as it is.
    match json.parse::<serde_json::Value>() {
        Ok(value) => serde_json::to_string_pretty(&value).unwrap_or_else(|_| json.as_str().to_owned()),
        Err(_) => json.as_str().to_owned(),
    }
}

/// What the annotations claim, in words.
fn claims(annotations: Option<&Json>) -> Vec<String> {
    let Some(annotations) = annotations.map(Json::value) else { return Vec::new() };
    let hints = [
        ("readOnlyHint", "only reads", "writes"),
        ("destructiveHint", "destructive", "not destructive"),
        ("idempotentHint", "safe to repeat", "not safe to repeat"),
        ("openWorldHint", "reaches the outside world", "stays inside"),
    ];
    let claim = |(name, yes, no): &(&str, &str, &str)| {
        let is_so = annotations.get(name)?.as_bool()?;
        Some((if is_so { *yes } else { *no }).to_owned())
    };
    hints.iter().filter_map(claim).collect()
}
