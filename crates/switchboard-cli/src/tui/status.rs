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

    const fn words(self, detail: Detail) -> &'static str {
        match (self, detail) {
            (Self::Connected, Detail::Short) => "up",
            (Self::Connecting, Detail::Short) => "coming",
            (Self::NeedsLogin, Detail::Short) => "login",
            (Self::Retrying, Detail::Counts | Detail::Short) => "retrying",
            (Self::Connected, _) => "connected",
            (Self::Connecting, _) => "connecting",
            (Self::Retrying, _) => "failed, trying again",
            (Self::NeedsLogin, Detail::Counts) => "need login",
            (Self::NeedsLogin, _) => "needs login",
            (Self::Failed, _) => "failed",
            (Self::Suspended, _) => "suspended",
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
    Short,
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
        let variants = [Detail::Hints, Detail::Names, Detail::Counts, Detail::Short];
        let mut lines = variants.iter().map(|detail| self.spans(look, now, *detail));
        let fits = |spans: &Vec<Span<'static>>| columns(spans) <= width;
        let mut spans = lines.find(fits).unwrap_or_else(|| self.most_important(look, now, width));
        let used = columns(&spans);
        if let Some(end) = end.filter(|end| used + 2 + end.width() <= width) {
            spans.push(Span::raw(" ".repeat(width - used - end.width())));
            spans.push(Span::styled(end.to_owned(), FAINT));
        }
        Line::from(spans)
    }

    /// Where not even counts fit: what somebody has to do something about comes first.
    fn most_important(&self, look: Look, now: Duration, width: usize) -> Vec<Span<'static>> {
        let mut parts = self.parts(look, now, Detail::Short);
        parts.sort_by_key(|part| match part.style {
            BAD => 0,
            WAITING => 1,
            _ => 2,
        });
        let line: Vec<&str> = parts.iter().map(|part| &*part.content).collect();
        let style = parts.first().map_or(FAINT, |part| part.style);
        vec![Span::styled(cut(&line.join(look.dot()), width, look), style)]
    }

    fn spans(&self, look: Look, now: Duration, detail: Detail) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        for part in self.parts(look, now, detail) {
            if !spans.is_empty() {
                spans.push(Span::styled(look.dot(), FAINT));
            }
            spans.push(part);
        }
        spans
    }

    fn parts(&self, look: Look, now: Duration, detail: Detail) -> Vec<Span<'static>> {
        let mut parts: Vec<Span<'static>> =
            KINDS.iter().flat_map(|kind| self.of_kind(*kind, look, now, detail)).collect();
        if self.n_untrusted > 0 {
            let verb = if self.n_untrusted == 1 { "waits" } else { "wait" };
            let words = match detail {
                Detail::Hints => format!("{} {verb} for consent (/mcp trust)", self.n_untrusted),
                Detail::Names | Detail::Counts => format!("{} {verb} for consent", self.n_untrusted),
                Detail::Short => format!("{} {verb}", self.n_untrusted),
            };
            parts.push(Span::styled(words, WAITING));
        }
        if parts.is_empty() {
            parts.push(Span::styled("no servers (/mcp add)", FAINT));
        }
        parts
    }

    fn of_kind(&self, kind: Kind, look: Look, now: Duration, detail: Detail) -> Vec<Span<'static>> {
        let is_it = |stand: &Stand| Kind::of(stand) == Some(kind);
        let names: Vec<&str> =
            self.servers.iter().filter(|(_, stand)| is_it(stand)).map(|(name, _)| name.as_str()).collect();
        if names.is_empty() {
            return Vec::new();
        }
        let spinner =
            if kind == Kind::Connecting { format!("{} ", look.spinner(now)) } else { String::new() };
        let is_named = matches!(detail, Detail::Hints | Detail::Names) && names.len() <= MOST_NAMED;
        if kind == Kind::Connected || !is_named {
            let detail = if detail == Detail::Short { detail } else { Detail::Counts };
            let words = match (kind, names.len()) {
                (Kind::NeedsLogin, 1) if detail == Detail::Counts => kind.words(Detail::Names),
                _ => kind.words(detail),
            };
            return vec![Span::styled(format!("{spinner}{} {words}", names.len()), kind.style())];
        }
        names.iter().map(|name| named(name, kind, &spinner, detail)).collect()
    }
}

fn named(name: &str, kind: Kind, spinner: &str, detail: Detail) -> Span<'static> {
    let name = excerpt(name, LONGEST_NAME);
    let hint = match kind {
        Kind::NeedsLogin if detail == Detail::Hints => format!(" (/mcp reauth {name})"),
        Kind::Suspended if detail == Detail::Hints => format!(" (/mcp reconnect {name})"),
        _ => String::new(),
    };
    Span::styled(format!("{spinner}{name} {}{hint}", kind.words(detail)), kind.style())
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
            @"
        2 connected · ⠋ github connecting · linear needs login (/mcp reauth linear) · db failed · flaky failed, trying again · 3 wait for consent (/mcp trust)
        2 connected · ⠋ github connecting · linear needs login · db failed · flaky failed, trying again · 3 wait for consent
        2 up · ⠋ 1 coming · 1 login · 1 failed · 1 retrying · 3 wait          opus · 12%
        2 up · ⠋ 1 coming · 1 login · 1 failed · 1 retrying · 3 wait
        1 failed · 1 retryi…
        ");
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
