//! The terminal front without a terminal: events in, what a terminal would show out.

mod behaviour;
mod hostile;
mod property;
mod screens;

use std::num::NonZero;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};
use switchboard::host::{Elicitation, Page, Permission, Why, Wish};

use super::dialog::{Ask, Reply};
use super::history::History;
use super::live::{Frame, Live, Size};
use super::look::{Look, Marks};
use super::model::{Effect, Event, Model};
use super::status::{Reason, Stand, Standing};
use super::update::update;
use super::view::view;
use crate::shell::{Candidate, Completion};

const LOOK: Look = Look { is_coloured: true, marks: Marks::Unicode };

/// The front on a terminal of our own.
struct World {
    model: Model,
    live: Live<Vec<u8>>,
    parser: vt100::Parser<Watch>,
    now: Duration,
}

/// What a terminal must never be made to do.
#[derive(Debug, Default)]
struct Watch {
    harm: Vec<String>,
}

impl vt100::Callbacks for Watch {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.harm.push("bell".into());
    }

    fn resize(&mut self, _: &mut vt100::Screen, _: (u16, u16)) {
        self.harm.push("resize".into());
    }

    fn set_window_title(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.harm.push("title".into());
    }

    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], _: &[u8]) {
        self.harm.push("clipboard".into());
    }

    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.harm.push("clipboard".into());
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, _: &[&[u8]]) {
        self.harm.push("osc".into());
    }

    fn unhandled_control(&mut self, _: &mut vt100::Screen, byte: u8) {
        self.harm.push(format!("control {byte}"));
    }
}

fn some(n: u16) -> NonZero<u16> {
    NonZero::new(n).unwrap()
}

impl World {
    fn new(width: u16, height: u16) -> Self {
        Self::looking(width, height, LOOK)
    }

    fn looking(width: u16, height: u16, look: Look) -> Self {
        let size = Size { width, height };
        let mut world = Self {
            model: Model::new(look, size, History::default()),
            live: Live::new(Vec::new(), look, size),
            parser: vt100::Parser::new_with_callbacks(some(height), some(width), 1000, Watch::default()),
            now: Duration::ZERO,
        };
        world.draw();
        world
    }

    /// Plays an event; gives what is to be done besides printing.
    fn play(&mut self, event: Event) -> Vec<Effect> {
        if let Event::Resize(size) = event {
            self.live.resize(size);
            self.parser.screen_mut().set_size(some(size.height), some(size.width));
        }
        let effects = update(&mut self.model, self.now, event);
        let mut rest = Vec::new();
        for effect in effects {
            match effect {
                Effect::Print(text) => self.live.print(&text),
                Effect::Clear => self.live.clear(),
                effect => rest.push(effect),
            }
        }
        self.draw();
        rest
    }

    fn draw(&mut self) {
        self.live.draw(&view(&self.model)).unwrap();
        let bytes = self.live.written();
        self.parser.process(&bytes);
    }

    fn key(&mut self, code: KeyCode) -> Vec<Effect> {
        self.play(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    fn control(&mut self, c: char) -> Vec<Effect> {
        self.play(Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)))
    }

    fn typed(&mut self, text: &str) -> Vec<Effect> {
        text.chars().flat_map(|c| self.key(KeyCode::Char(c))).collect()
    }

    fn after(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self.play(Event::Beat);
        self
    }

    fn text(&self) -> String {
        let contents = self.parser.screen().contents();
        let lines: Vec<_> = contents.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Holds the terminal against what was meant to be on it.
    fn check(&self) {
        let frame = view(&self.model);
        let height = usize::from(self.model.size.height);
        assert!(
            !frame.rows.is_empty() && frame.rows.len() <= height,
            "{} rows of {height}",
            frame.rows.len()
        );
        let screen = self.parser.screen();
        assert!(self.parser.callbacks().harm.is_empty(), "{:?}", self.parser.callbacks().harm);
        assert!(!screen.alternate_screen() && !screen.application_cursor());
        let (row, column) = screen.cursor_position();
        assert!(row < self.model.size.height && column <= self.model.size.width);
        let last = frame.rows.len() - 1;
        let within = frame.cursor.map_or(last, |(row, _)| usize::from(row).min(last));
        assert!(frame.cursor.is_none_or(|(row, _)| usize::from(row) <= last), "the cursor is outside");
        let top = usize::from(row).checked_sub(within).expect("the rows begin above the screen");
        let shown: Vec<String> = screen.rows(0, self.model.size.width).collect();
        for (at, expected) in meant(&frame, self.model.size.width).iter().enumerate() {
            let is = shown.get(top + at).map_or("", |row| row.trim_end());
            assert_eq!(is, expected.trim_end(), "row {at} of\n{}", self.text());
        }
        let below: Vec<_> = shown.iter().skip(top + frame.rows.len()).collect();
        assert!(below.iter().all(|row| row.trim().is_empty()), "something is left below:\n{}", self.text());
    }
}

/// The rows as cells of a terminal.
fn meant(frame: &Frame, width: u16) -> Vec<String> {
    let row = |line: &ratatui::text::Line<'static>| {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        buffer.set_line(0, 0, line, width);
        let mut skip = 0;
        let mut text = String::new();
        for cell in buffer.content() {
            if skip == 0 {
                text.push_str(cell.symbol());
                skip = unicode_width::UnicodeWidthStr::width(cell.symbol()).max(1);
            }
            skip -= 1;
        }
        text
    };
    frame.rows.iter().map(row).collect()
}

fn standing() -> Standing {
    let reason = |message: &str, hint: &str| Reason { message: message.into(), hint: Some(hint.into()) };
    let servers = [
        ("db", Stand::Failed(reason("`db-mcp` was not found", "install it, or mend `command`"))),
        ("files", Stand::Connected),
        ("github", Stand::Connecting),
        ("linear", Stand::NeedsLogin),
        ("time", Stand::Connected),
    ];
    let servers = servers.map(|(name, stand)| (name.to_owned(), stand)).to_vec();
    Standing { servers, n_untrusted: 3 }
}

fn call(arguments: Value, why: Why) -> Ask {
    Ask::Permit(Permission {
        name: "mcp_github_create_issue".into(),
        server: "github".into(),
        tool: "create_issue".into(),
        description: Some("Creates an issue in a repository.".into()),
        arguments: arguments.into(),
        annotations: Some(json!({"readOnlyHint": false, "openWorldHint": true}).into()),
        why,
    })
}

fn small_call() -> Ask {
    call(json!({"repo": "a/b", "title": "It \u{1b}[2Jbroke\u{200b}"}), Why::Rule)
}

fn form() -> Ask {
    let schema = json!({"type": "object", "required": ["name", "size"], "properties": {
        "name": {"type": "string", "title": "Your name", "description": "as on the badge", "minLength": 2},
        "email": {"type": "string", "format": "email"},
        "size": {"type": "string", "enum": ["s", "m", "l"], "enumNames": ["Small", "Medium", "Large"]},
        "days": {"type": "array", "items": {"enum": ["mon", "tue", "wed"]}, "default": ["tue"]},
        "guests": {"type": "integer", "minimum": 0, "maximum": 3, "default": 1},
        "lunch": {"type": "boolean", "default": true},
        "password": {"type": "string"},
    }});
    elicit(Wish::Form { schema: schema.into() })
}

fn elicit(wish: Wish) -> Ask {
    Ask::Elicit(Elicitation { server: "events".into(), message: "Who comes?".into(), wish })
}

fn login() -> Ask {
    Ask::Visit(Page {
        server: "linear".into(),
        issuer: "https://login.example.com".into(),
        url: format!("https://login.example.com/authorize?client_id=abc&state={}", "x".repeat(90)),
        redirect: "http://127.0.0.1:4444/callback".into(),
        scopes: vec!["read".into(), "write".into()],
        new_scopes: vec!["read".into(), "write".into()],
    })
}

fn sample() -> Ask {
    let params = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Sum this up"}}],
        "maxTokens": 100});
    Ask::Sample { server: "notes".into(), params: params.into() }
}

fn completion(start: usize, end: usize, names: &[&str]) -> Completion {
    let candidate = |name: &&str| Candidate {
        insert: (*name).to_owned(),
        shown: (*name).to_owned(),
        note: Some("does something useful".to_owned()),
    };
    Completion { start, end, candidates: names.iter().map(candidate).collect() }
}

/// The answers among what is to be done.
fn answers(effects: Vec<Effect>) -> Vec<(u64, Reply)> {
    let answer = |effect| match effect {
        Effect::Answer(ticket, reply) => Some((ticket, reply)),
        _ => None,
    };
    effects.into_iter().filter_map(answer).collect()
}
