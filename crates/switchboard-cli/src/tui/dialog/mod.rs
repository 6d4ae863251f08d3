//! Questions to the person, answered with the keyboard. Each is a state of its own; keys change it until it has an
//! answer. Pure: nothing is opened or sent here.

mod approve;
mod field;
mod form;
mod sample;
mod scroll;
mod visit;

use ratatui::text::Line;
use switchboard::host::{Answer, Elicitation, Page, Permission, Permit, Visited, Wish};
use switchboard::json::Json;

use super::keys::Key;
use super::look::Look;
use approve::Approve;
use form::Form;
use sample::Sample;
use visit::Visit;

/// What is asked.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    Permit(Permission),
    Elicit(Elicitation),
    Visit(Page),
    Sample { server: String, params: Json },
}

/// What was answered.
#[derive(Debug)]
pub(super) enum Reply {
    Permit(Permit),
    Elicit(Answer),
    Visit(Visited),
    Sample(bool),
}

/// A question that is shown.
#[derive(Debug)]
pub(super) enum Dialog {
    Approve(Approve),
    Form(Form),
    Visit(Visit),
    Sample(Sample),
}

/// What a key led to.
#[derive(Debug)]
pub(super) enum Turn {
    /// It is asked on.
    Stay,
    /// It is no key of this question.
    Foreign,
    /// The page is to be opened; it is asked on.
    Open(String),
    /// It is answered; a page may have to be opened.
    Done(Reply, Option<String>),
}

/// How a dialog is to be shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) look: Look,
    pub(super) width: usize,
    /// At most so many rows.
    pub(super) height: usize,
    /// Which of how many questions it is.
    pub(super) place: (usize, usize),
}

impl Room {
    /// Behind the title, where more than one waits.
    fn of_many(&self) -> String {
        match self.place {
            (_, ..=1) => String::new(),
            (at, n) => format!("  {at} of {n}"),
        }
    }
}

/// Rows, and the cursor in them.
pub(super) type Shown = (Vec<Line<'static>>, Option<(usize, usize)>);

impl Dialog {
    pub(super) fn new(ask: Ask) -> Self {
        match ask {
            Ask::Permit(question) => Self::Approve(Approve::new(question)),
            Ask::Elicit(Elicitation { server, message, wish: Wish::Form { schema } }) => {
                Self::Form(Form::new(&server, &message, &schema))
            }
            Ask::Elicit(Elicitation { server, message, wish: Wish::Visit { url } }) => {
                Self::Visit(Visit::wished(&server, &message, &url))
            }
            Ask::Visit(page) => Self::Visit(Visit::login(&page)),
            Ask::Sample { server, params } => Self::Sample(Sample::new(&server, &params)),
        }
    }

    pub(super) fn key(&mut self, key: Key, room: &Room) -> Turn {
        match self {
            Self::Approve(approve) => approve.key(key, room),
            Self::Form(form) => form.key(key),
            Self::Visit(visit) => visit.key(key, room),
            Self::Sample(sample) => sample.key(key, room),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        match self {
            Self::Approve(approve) => approve.paste(text),
            Self::Form(form) => form.paste(text),
            Self::Visit(visit) => visit.paste(text),
            Self::Sample(_) => {}
        }
    }

    /// A page was opened, or could not be.
    pub(super) fn opened(&mut self, is_open: bool) {
        if let Self::Visit(visit) = self {
            visit.opened(is_open);
        }
    }

    pub(super) fn rows(&self, room: &Room) -> Shown {
        match self {
            Self::Approve(approve) => approve.rows(room),
            Self::Form(form) => form.rows(room),
            Self::Visit(visit) => visit.rows(room),
            Self::Sample(sample) => sample.rows(room),
        }
    }

    /// The answer when nobody answers.
    pub(super) fn unanswered(&self) -> Reply {
        match self {
            Self::Approve(_) => Reply::Permit(denied("the user left the question")),
            Self::Form(_) => Reply::Elicit(Answer::Cancel),
            Self::Visit(visit) => visit.unanswered(),
            Self::Sample(_) => Reply::Sample(false),
        }
    }
}

/// The answer to a question that is not even shown, as more wait than anybody would read.
pub(super) fn refused(ask: &Ask) -> Reply {
    match ask {
        Ask::Permit(_) => Reply::Permit(denied("too many questions wait for the user")),
        Ask::Elicit(_) => Reply::Elicit(Answer::Decline),
        Ask::Visit(_) => Reply::Visit(Visited::Declined),
        Ask::Sample { .. } => Reply::Sample(false),
    }
}

impl Ask {
    /// Who asks.
    pub(super) fn server(&self) -> &str {
        match self {
            Self::Permit(question) => &question.server,
            Self::Elicit(question) => &question.server,
            Self::Visit(page) => &page.server,
            Self::Sample { server, .. } => server,
        }
    }
}

fn denied(reason: &str) -> Permit {
    Permit::Deny { reason: reason.to_owned() }
}

/// The rows that fit: the last ones, who asks, then as much of the rest as there is room for.
fn fit(
    mut head: Vec<Line<'static>>,
    mut body: Vec<Line<'static>>,
    mut foot: Vec<Line<'static>>,
    height: usize,
) -> Vec<Line<'static>> {
    foot.truncate(height);
    let left = height - foot.len();
    body.truncate(left.saturating_sub(head.len().min(1)));
    head.truncate(left - body.len());
    head.append(&mut body);
    head.append(&mut foot);
    head
}

/// So many rows at most, with a mark where something is missing.
fn shortened(mut rows: Vec<Line<'static>>, most: usize, room: &Room) -> Vec<Line<'static>> {
    if rows.len() > most {
        rows.truncate(most.saturating_sub(1));
        rows.extend((most > 0).then(|| Line::from(room.look.more())));
    }
    rows
}
