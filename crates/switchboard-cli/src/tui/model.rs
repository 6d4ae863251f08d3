//! Everything the terminal front knows, what can happen to it, and what it wants done. No deciding, no doing.

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::KeyEvent;

use super::dialog::{Ask, Dialog, Reply, Room};
use super::editor::Editor;
use super::history::History;
use super::live::Size;
use super::look::Look;
use super::menu::Menu;
use super::notices::Notices;
use super::patience::Patience;
use super::prose::Prose;
use super::status::Standing;
use crate::shell::{Completion, Next};

/// What is known.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) look: Look,
    pub(super) size: Size,
    /// Since the start.
    pub(super) now: Duration,
    pub(super) editor: Editor,
    pub(super) history: History,
    pub(super) aid: Aid,
    /// The last question to the completer; an answer to an older one is stale.
    pub(super) asked_completions: u64,
    /// The first one is shown.
    pub(super) dialogs: VecDeque<Asked>,
    /// When a character was last typed into the line.
    pub(super) typed_at: Option<Duration>,
    pub(super) running: Option<Running>,
    pub(super) prose: Prose,
    pub(super) standing: Standing,
    pub(super) notices: Notices,
    pub(super) patience: Patience,
    /// The model and its use, if there is one.
    pub(super) footer: Option<String>,
    /// A word of help, until the next key.
    pub(super) hint: Option<&'static str>,
}

/// What helps with typing the line.
#[derive(Debug, Default)]
pub(super) enum Aid {
    #[default]
    None,
    /// The completer was asked.
    Completing,
    /// It is asked again whenever the text changes.
    Menu(Menu),
    Search(Search),
}

/// A search through older lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) words: String,
    /// Which line was found.
    pub(super) found: Option<(usize, String)>,
}

/// A question that waits.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) ticket: u64,
    pub(super) server: String,
    pub(super) kind: AskedKind,
    pub(super) dialog: Dialog,
    /// It came up while somebody was typing: until they pause, keys belong to the line.
    pub(super) is_held: bool,
}

/// Whether the server asks, or we do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskedKind {
    OurOwn,
    Servers,
}

/// A line that is being run.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) since: Duration,
    /// What is done right now.
    pub(super) words: Option<String>,
    pub(super) is_cancelled: bool,
    /// What is typed meanwhile is to be run next.
    pub(super) is_queued: bool,
}

/// What can happen.
#[derive(Debug)]
pub(super) enum Event {
    Key(KeyEvent),
    Paste(String),
    /// Somebody wants us to stop, from outside.
    Interrupt,
    Resize(Size),
    /// Time goes by.
    Beat,
    Print(String),
    /// Something to know, said by no command.
    Notice(String),
    Stream(String),
    Working(Option<String>),
    Stands(Standing),
    ToolsChanged(String),
    Asked(u64, Ask),
    /// Nobody waits for the answer any longer.
    Withdrawn(u64),
    /// The page of a question was opened, or could not be.
    Opened {
        ticket: u64,
        url: String,
        is_open: bool,
    },
    Completed {
        ticket: u64,
        completion: Completion,
    },
    /// The line has been run.
    Done(Next),
    Footer(Option<String>),
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Effect {
    /// Lines above the live rows.
    Print(String),
    Clear,
    Run(String),
    /// The running line is to stop.
    Cancel,
    /// It did not; it is left to itself.
    Abandon,
    Remember(String),
    Complete {
        ticket: u64,
        text: String,
        cursor: usize,
    },
    Answer(u64, Reply),
    Open {
        ticket: u64,
        url: String,
    },
    Leave,
}

impl Model {
    pub(super) fn new(look: Look, size: Size, history: History) -> Self {
        Self {
            look,
            size,
            now: Duration::ZERO,
            editor: Editor::default(),
            history,
            aid: Aid::None,
            asked_completions: 0,
            dialogs: VecDeque::new(),
            typed_at: None,
            running: None,
            prose: Prose::default(),
            standing: Standing::default(),
            notices: Notices::default(),
            patience: Patience::default(),
            footer: None,
            hint: None,
        }
    }

    /// Whether time going by changes what is seen.
    pub(super) fn is_moving(&self) -> bool {
        self.running.is_some() || self.standing.is_moving()
    }

    pub(super) fn width(&self) -> usize {
        usize::from(self.size.width)
    }

    /// The room for the question that is shown.
    pub(super) fn room(&self, height: usize) -> Room {
        Room { look: self.look, width: self.width(), height, place: (1, self.dialogs.len()) }
    }
}
