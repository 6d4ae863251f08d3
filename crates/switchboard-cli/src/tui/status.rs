//! How the servers stand, on one line: what matters most first, and as much as fits. Pure.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use switchboard::connect::{Fault, Status};
use switchboard::session::Session;
use switchboard::visible::excerpt;
use switchboard::{Provider, State};
use unicode_width::UnicodeWidthStr;

use super::look::{BAD, FAINT, GOOD, Look, WAITING};
use super::text::cut;

/// A name is not worth more columns.
const LONGEST_NAME: usize = 30;
/// So many are named; more are counted.
const MOST_NAMED: usize = 3;

/// How everything stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Standing {
    pub(super) servers: Vec<(String, Stand)>,
    /// So many wait for the user's consent.
    pub(super) n_untrusted: usize,
}

/// How one server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stand {
    /// Nobody needs it.
    Idle,
    Connecting,
    Connected,
    NeedsLogin,
    /// It does not work, and is tried again.
    Retrying(Reason),
    Failed(Reason),
    Suspended(Reason),
}

/// Why it does not work, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Reason {
    fn of(fault: &Fault) -> Self {
        Self { message: fault.message.clone(), hint: fault.hint.clone() }
    }
}

impl From<Status> for Stand {
    fn from(status: Status) -> Self {
        match status {
            Status::Dormant | Status::Stopped => Self::Idle,
            Status::Connecting => Self::Connecting,
            Status::Connected => Self::Connected,
            Status::NeedsLogin(_) => Self::NeedsLogin,
            Status::Waiting(fault) => Self::Retrying(Reason::of(&fault)),
            Status::Failed(fault) => Self::Failed(Reason::of(&fault)),
            Status::Suspended(fault) => Self::Suspended(Reason::of(&fault)),
        }
    }
}

/// The kinds of standing that are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Connected,
    Connecting,
    NeedsLogin,
    Failed,
    Suspended,
    Retrying,
}

/// In this order.

const KINDS: [Kind; 6] =
    [Kind::Connected, Kind::Connecting, Kind::NeedsLogin, Kind::Failed, Kind::Suspended, Kind::Retrying];

impl Kind {
    const fn of(stand: &Stand) -> Option<Self> {
        match stand {
            Stand::Connected => Some(Self::Connected),
            Stand::Connecting => Some(Self::Connecting),
            Stand::Retrying(_) => Some(Self::Retrying),
            Stand::NeedsLogin => Some(Self::NeedsLogin),
            Stand::Failed(_) => Some(Self::Failed),
            Stand::Suspended(_) => Some(Self::Suspended),
            Stand::Idle => None,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Connecting => "connecting",
            Self::Retrying => "failed, trying again",
            Self::NeedsLogin => "needs login",
            Self::Failed => "failed",
            Self::Suspended => "suspended",
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::Connected => GOOD,
            Self::Connecting | Self::NeedsLogin => WAITING,
            Self::Failed | Self::Suspended | Self::Retrying => BAD,
        }
    }
}

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Hints,
    Names,
    Counts,
}

impl Standing {
    /// As it is right now.
    pub(super) fn of(session: &Session) -> Self {
        let servers =
            session.servers().into_iter().map(|report| (report.name, report.status.into())).collect();
        let discovery = session.discovery();
        let waits = |server: &&switchboard::Server| {
            server.state() == State::Untrusted && server.origin.provider != Provider::BuiltIn
        };
        Self { servers, n_untrusted: discovery.servers.iter().filter(waits).count() }
    }

    /// Whether something is on its way, so that a spinner turns.
    pub(super) fn is_moving(&self) -> bool {
        self.servers.iter().any(|(_, stand)| *stand == Stand::Connecting)
    }

    /// The line, with what belongs to its end if there is room.
    pub(super) fn line(&self, look: Look, now: Duration, width: usize, end: Option<&str>) -> Line<'static> {
        let variants = [Detail::Hints, Detail::Names, Detail::Counts];
        let mut lines = variants.iter().map(|detail| self.spans(look, now, *detail));
        let fits = |spans: &Vec<Span<'static>>| columns(spans) <= width;
        let mut spans = lines.find(fits).unwrap_or_else(|| {
            let line: String =
                self.spans(look, now, Detail::Counts).iter().map(|span| &*span.content).collect();
            vec![Span::raw(cut(&line, width, look))]
        });
        let used = columns(&spans);
        if let Some(end) = end.filter(|end| used + 2 + end.width() <= width) {
            spans.push(Span::raw(" ".repeat(width - used - end.width())));
            spans.push(Span::styled(end.to_owned(), FAINT));
        }
        Line::from(spans)
    }

    fn spans(&self, look: Look, now: Duration, detail: Detail) -> Vec<Span<'static>> {
        let mut parts: Vec<Span<'static>> =
            KINDS.iter().flat_map(|kind| self.parts(*kind, look, now, detail)).collect();
        if self.n_untrusted > 0 {
            let hint = if detail == Detail::Hints { " (/mcp trust)" } else { "" };
            let verb = if self.n_untrusted == 1 { "waits" } else { "wait" };
            parts.push(Span::styled(format!("{} {verb} for consent{hint}", self.n_untrusted), WAITING));
        }
        if parts.is_empty() {
            parts.push(Span::styled("no servers (/mcp add)", FAINT));
        }
        let mut spans = Vec::new();
        for part in parts {
            if !spans.is_empty() {
                spans.push(Span::styled(look.dot(), FAINT));
            }
            spans.push(part);
        }
        spans
    }

    fn parts(&self, kind: Kind, look: Look, now: Duration, detail: Detail) -> Vec<Span<'static>> {
        let names: Vec<&str> = self
            .servers
            .iter()
            .filter(|(_, stand)| Kind::of(stand) == Some(kind))
            .map(|(name, _)| name.as_str())
            .collect();
        let spinner =
            if kind == Kind::Connecting { format!("{} ", look.spinner(now)) } else { String::new() };
        let counted = |words: &str| Span::styled(format!("{spinner}{} {words}", names.len()), kind.style());
        match names.len() {
            0 => Vec::new(),
            _ if kind == Kind::Connected => vec![counted(kind.words())],
            1.. if detail == Detail::Counts || names.len() > MOST_NAMED => {
                vec![counted(if kind == Kind::NeedsLogin && names.len() > 1 {
                    "need login"
                } else {
                    kind.words()
                })]
            }
            _ => names.iter().map(|name| named(name, kind, &spinner, detail)).collect(),
        }
    }
}

fn named(name: &str, kind: Kind, spinner: &str, detail: Detail) -> Span<'static> {
    let name = excerpt(name, LONGEST_NAME);
    let hint = match kind {
        Kind::NeedsLogin if detail == Detail::Hints => format!(" (/mcp reauth {name})"),
        Kind::Suspended if detail == Detail::Hints => format!(" (/mcp reconnect {name})"),
        _ => String::new(),
    };
    Span::styled(format!("{spinner}{name} {}{hint}", kind.words()), kind.style())
}

fn columns(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| span.content.width()).sum()
}

#[cfg(test)]
mod tests {
    use super::super::look::Marks;
    use super::*;

    const LOOK: Look = Look { is_coloured: false, marks: Marks::Unicode };

    fn standing() -> Standing {
        let reason = || Reason { message: "gone".into(), hint: None };
        let servers = [
            ("files", Stand::Connected),
            ("time", Stand::Connected),
            ("github", Stand::Connecting),
            ("linear", Stand::NeedsLogin),
            ("db", Stand::Failed(reason())),
            ("flaky", Stand::Retrying(reason())),
            ("lazy", Stand::Idle),
        ];
        let servers = servers.map(|(name, stand)| (name.to_owned(), stand)).to_vec();
        Standing { servers, n_untrusted: 3 }
    }

    #[test]
    fn as_much_is_said_as_fits() {
        let line = |width, end| standing().line(LOOK, Duration::ZERO, width, end).to_string();
        insta::assert_snapshot!(
            [160, 120, 80, 60, 20].map(|width| line(width, Some("opus · 12%"))).join("\n"),
            @"");
        for width in 0..200 {
            assert!(line(width, Some("end")).width() <= width.max(1));
        }
        assert_eq!(
            Standing::default().line(LOOK, Duration::ZERO, 80, None).to_string(),
            "no servers (/mcp add)"
        );
        assert!(standing().is_moving() && !Standing::default().is_moving());
    }
}
