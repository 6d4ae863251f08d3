//! What is said of servers between the lines: once when something changes, and not over and over. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use switchboard::visible::{excerpt, visible};

use super::look::{BAD, FAINT, GOOD, Look, WAITING};
use super::status::{Reason, Stand};
use crate::shell::words::in_session;

/// So many lines about one server within this time; then it is called unsteady, and no more is said for as long.
const MOST: usize = 3;
const WINDOW: Duration = Duration::from_mins(1);
/// Longer messages of servers are cut.
const LONGEST: usize = 300;

/// What was said of each server, and how it stood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Notices {
    servers: BTreeMap<String, Known>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Known {
    trouble: Trouble,
    /// When lines were said, within the window.
    said: Vec<Duration>,
}

/// How a server stood when something was last said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Trouble {
    #[default]
    None,
    Down,
    Failed,
    Suspended,
    Login,
}

impl Notices {
    /// What to say of servers that stand like this now. Servers that are gone are forgotten.
    pub(super) fn note(
        &mut self,
        now: Duration,
        servers: &[(String, Stand)],
        look: Look,
    ) -> Vec<Line<'static>> {
        self.servers.retain(|name, _| servers.iter().any(|(server, _)| server == name));
        let mut lines = Vec::new();
        for (name, stand) in servers {
            let known = self.servers.entry(name.clone()).or_default();
            let trouble = trouble(stand).unwrap_or(known.trouble);
            if trouble == known.trouble {
                continue;
            }
            let was = std::mem::replace(&mut known.trouble, trouble);
            // It fails in the same way while it is tried again and again.
            if was != Trouble::None && trouble == Trouble::Down {
                continue;
            }
            lines.extend(known.say(now, name, look, || told(name, stand, look)));
        }
        lines
    }

    /// A server has other tools than before.
    pub(super) fn tools_changed(&mut self, now: Duration, server: &str, look: Look) -> Option<Line<'static>> {
        let known = self.servers.get_mut(server)?;
        known.say(now, server, look, || {
            Line::from(Span::styled(format!("{} changed its tools", name(server)), FAINT))
        })
    }
}

impl Known {
    fn say(
        &mut self,
        now: Duration,
        server: &str,
        look: Look,
        words: impl FnOnce() -> Line<'static>,
    ) -> Option<Line<'static>> {
        self.said.retain(|at| now.saturating_sub(*at) < WINDOW);
        self.said.push(now);
        match self.said.len() {
            ..=MOST => Some(words()),
            n if n == MOST + 1 => Some(line(
                look.bad(),
                WAITING,
                format!("{} is unsteady; no more is said of it for a minute", name(server)),
                Some(format!("/mcp logs {}", name(server))),
            )),
            _ => {
                // The last ones count: as long as it goes on, nothing is said.
                self.said.remove(0);
                None
            }
        }
    }
}

/// Nothing for what is only on its way.
const fn trouble(stand: &Stand) -> Option<Trouble> {
    match stand {
        Stand::Connected => Some(Trouble::None),
        Stand::Retrying(_) => Some(Trouble::Down),
        Stand::Failed(_) => Some(Trouble::Failed),
        Stand::Suspended(_) => Some(Trouble::Suspended),
        Stand::NeedsLogin => Some(Trouble::Login),
        Stand::Idle | Stand::Connecting => None,
    }
}

fn told(server: &str, stand: &Stand, look: Look) -> Line<'static> {
    let shown = name(server);
    let message = |reason: &Reason| excerpt(&reason.message, LONGEST);
    let hint = |reason: &Reason| reason.hint.as_deref().map(|hint| visible(&in_session(hint)).into_owned());
    match stand {
        Stand::Retrying(reason) => {
            let words = format!("{shown} failed: {}; trying again", message(reason));
            line(look.bad(), BAD, words, hint(reason))
        }
        Stand::Failed(reason) => {
            line(look.bad(), BAD, format!("{shown} failed: {}", message(reason)), hint(reason))
        }
        Stand::Suspended(reason) => {
            let words = format!("{shown} was lost too often: {}", message(reason));
            line(look.bad(), BAD, words, Some(format!("/mcp reconnect {shown}")))
        }
        Stand::NeedsLogin => {
            line("!", WAITING, format!("{shown} needs login"), Some(format!("/mcp reauth {shown}")))
        }
        Stand::Connected | Stand::Connecting | Stand::Idle => {
            line(look.good(), GOOD, format!("{shown} is back"), None)
        }
    }
}

fn line(mark: &str, style: Style, words: String, hint: Option<String>) -> Line<'static> {
    let mut spans = vec![Span::styled(format!("{mark} "), style), Span::raw(words)];
    spans.extend(hint.map(|hint| Span::styled(format!(" ({hint})"), FAINT)));
    Line::from(spans)
}

fn name(server: &str) -> String {
    excerpt(server, 60)
}

#[cfg(test)]
mod tests {
    use super::super::look::Marks;
    use super::*;

    const LOOK: Look = Look { is_coloured: false, marks: Marks::Ascii };

    fn failed() -> Stand {
        Stand::Failed(Reason { message: "exit code 1".into(), hint: Some("see the log".into()) })
    }

    fn down() -> Stand {
        Stand::Retrying(Reason { message: "gone".into(), hint: None })
    }

    fn said(notices: &mut Notices, second: u64, stand: Stand) -> Vec<String> {
        let lines = notices.note(Duration::from_secs(second), &[("db".to_owned(), stand)], LOOK);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_change_is_said_once() {
        let mut notices = Notices::default();
        assert!(said(&mut notices, 0, Stand::Connecting).is_empty());
        assert!(said(&mut notices, 0, Stand::Connected).is_empty());
        assert_eq!(said(&mut notices, 1, down()), ["x db failed: gone; trying again"]);
        assert!(said(&mut notices, 2, Stand::Connecting).is_empty());
        assert!(said(&mut notices, 3, down()).is_empty());
        assert_eq!(said(&mut notices, 4, failed()), ["x db failed: exit code 1 (see the log)"]);
        assert_eq!(said(&mut notices, 5, Stand::Connected), ["+ db is back"]);
        assert_eq!(said(&mut notices, 99, Stand::NeedsLogin), ["! db needs login (/mcp reauth db)"]);
        assert!(notices.tools_changed(Duration::from_secs(100), "db", LOOK).is_some());
        assert!(notices.tools_changed(Duration::from_secs(100), "unknown", LOOK).is_none());
    }

    #[test]
    fn a_flapping_server_cannot_flood() {
        let mut notices = Notices::default();
        let mut lines = Vec::new();
        for second in 0..1000 {
            lines.extend(said(
                &mut notices,
                second,
                if second % 2 == 0 { failed() } else { Stand::Connected },
            ));
        }
        assert_eq!(lines.len(), MOST + 1);
        assert!(lines[MOST].contains("unsteady"), "{lines:?}");
        assert_eq!(said(&mut notices, 2000, failed()).len(), 1, "after a while it is told of again");
    }
}
