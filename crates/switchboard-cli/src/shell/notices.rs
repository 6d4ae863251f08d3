//! What happens while somebody sits there, in words: who came up, who failed, who needs something, and that files changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard::connect::{Event, Status};
use switchboard::notice::Notice;
use switchboard::session::{Events, Session};
use switchboard::sources::watch::FilesChanged;
use switchboard::visible::{excerpt, shell_word};

use super::servers::{Standing, standing};
use super::{changes, words};
use crate::commands::s;
use crate::printer::{FAINT, WAITING};

/// What happens from now on, as lines to show. Nobody is told the same thing twice.
#[derive(Debug)]
pub(crate) struct Notices {
    session: Session,
    events: Events,
    on_disk: OnDisk,
    told: Told,
    /// What happened and was not told yet.
    event: Option<Event>,
}

/// What changes on disk under a session, as lines to show.
#[derive(Debug)]
pub(crate) struct OnDisk {
    session: Session,
    files: FilesChanged,
    /// Files changed, and it was not looked yet what that means.
    is_due: bool,
}

impl OnDisk {
    pub(super) fn new(session: &Session) -> Self {
        Self { session: session.clone(), files: session.watch_files(), is_due: false }
    }

    /// What a reload would do now that files changed. May be given up and called again: nothing is lost.
    pub(crate) async fn next(&mut self) -> String {
        loop {
            if !self.is_due {
                self.files.next().await;
                self.is_due = true;
            }
            let line = changes::pending(&self.session).await;
            self.is_due = false;
            // What was written from here was heeded already.
            if let Some(line) = line {
                return line;
            }
        }
    }
}

/// What was said last of each server, by whoever said it. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Told(Arc<Mutex<BTreeMap<String, &'static str>>>);

impl Told {
    /// Notes that this was said. False if it was known already.
    pub(super) fn note(&self, server: &str, status: &Status) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(server.to_owned(), kind(status)) != Some(kind(status))
    }

    fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Notices {
    pub(super) fn new(session: &Session, on_disk: OnDisk, told: &Told) -> Self {
        Self { session: session.clone(), events: session.events(), on_disk, told: told.clone(), event: None }
    }

    /// The next lines; none when the session is over. May be given up and called again: nothing is lost.
    pub(crate) async fn next(&mut self) -> Option<Vec<String>> {
        loop {
            if self.event.is_none() {
                tokio::select! {
                    event = self.events.next() => self.event = Some(event?),
                    line = self.on_disk.next() => return Some(vec![line]),
                }
            }
            if matches!(self.event, Some(Event::Status { .. })) {
                // So that what it offers is counted.
                self.session.settled(Some(Duration::ZERO)).await;
            }
            let lines = self.event.take().map(|event| self.lines(event)).unwrap_or_default();
            if !lines.is_empty() {
                return Some(lines);
            }
        }
    }

    /// What to say of an event, if anything.
    fn lines(&self, event: Event) -> Vec<String> {
        match event {
            Event::Status { server, status } => self.status(&server, &status),
            Event::Said { server, notice: Notice::Log { level, data, .. } } if is_grave(&level) => {
                let words = data.value().as_str().map_or_else(|| data.as_str().to_owned(), str::to_owned);
                vec![format!("{FAINT}{} says: {}{FAINT:#}", excerpt(&server, 60), excerpt(&words, 300))]
            }
            Event::Problem { problem } => {
                let word = problem.severity().as_str();
                vec![format!("{WAITING}{word}{WAITING:#}: {}", said(&problem.message))]
            }
            Event::Missed { .. } => {
                self.told.forget();
                Vec::new()
            }
            Event::Said { .. } | Event::TooLarge { .. } => Vec::new(),
        }
    }

    fn status(&self, server: &str, status: &Status) -> Vec<String> {
        // On the way somewhere; where it arrives is told.
        if matches!(status, Status::Connecting | Status::Stopped | Status::Dormant) {
            return Vec::new();
        }
        if !self.told.note(server, status) {
            return Vec::new();
        }
        let reports = self.session.servers();
        // One that is gone stands nowhere.
        let Some(report) = reports.iter().find(|report| report.name == server) else { return Vec::new() };
        lines(server, status, report.n_tools)
    }
}

/// What tells one state from another, for somebody who is told of changes.
const fn kind(status: &Status) -> &'static str {
    match status {
        Status::Waiting(_) => "waiting",
        other => other.as_str(),
    }
}

fn is_grave(level: &str) -> bool {
    matches!(level, "error" | "critical" | "alert" | "emergency")
}

/// How a server stands, for somebody who wants to use it.
pub(super) fn lines(server: &str, status: &Status, n_tools: usize) -> Vec<String> {
    let Standing { mark, word, style } = standing(status);
    let (name, typed) = (excerpt(server, 60), shell_word(server));
    let mark = format!("{style}{mark}{style:#}");
    match status {
        Status::Connected => vec![format!("{mark} {name} connected, {n_tools} tool{}", s(n_tools))],
        Status::NeedsLogin(_) => vec![format!("{mark} {name} needs login: /mcp reauth {typed}")],
        Status::Waiting(fault) | Status::Failed(fault) | Status::Suspended(fault) => {
            let mut lines = vec![format!("{mark} Failed to connect to \"{name}\": {}", said(&fault.message))];
            lines.extend(fault.hint.iter().map(|hint| format!("  hint: {}", said(hint))));
            if matches!(status, Status::Waiting(_)) {
                lines.push("  it is tried again by itself".to_owned());
            }
            lines
        }
        Status::Dormant | Status::Connecting | Status::Stopped => vec![format!("{mark} {name} {word}")],
    }
}

fn said(text: &str) -> String {
    excerpt(&words::in_session(text), 300)
}
