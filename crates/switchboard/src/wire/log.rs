//! What went over a connection of late, line by line and without its content, and what its process wrote to standard error.
//!
//! It belongs to a server rather than to a connection, so that the reason for a reconnect is still there after it. It is
//! written with every message: an entry is a few words, nothing is formatted, and the oldest one goes. Secrets are taken
//! out when it is read, and when the connection they belong to is replaced.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::timeout;

use super::child::Tail;
use crate::secret::Secrets;

/// So many lines of traffic are kept.
const LINES: usize = 200;
/// So much of standard error is kept of earlier connections.
const EARLIER: usize = 64 * 1024;
/// Most characters of what a server calls its messages.
const NAME: usize = 100;

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the server.
    Sent,
    /// From the server.
    Received,
}

/// What kind of message it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It wants an answer.
    Request,
    /// It is the answer to one, or the news that there will be none.
    Answer(End),
    /// It wants none.
    Notice,
    /// It is no message at all.
    Noise,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With a result.
    Ok,
    /// With an error.
    Error,
    /// Without an answer: it was given up, or the connection was lost.
    Nothing,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// When.
    pub at: SystemTime,
    /// Which way it went.
    pub direction: Direction,
    /// What kind it is.
    pub kind: Kind,
    /// Its method; of an answer, what it answers. Empty for noise.
    pub method: String,
    /// The id of the request, as whoever asks numbers them.
    pub id: Option<String>,
    /// Its size.
    pub bytes: usize,
    /// Of an answer: since the request.
    pub took: Option<Duration>,
}

impl Passage {
    /// What it was, in words: the method, or `answer to` it.
    pub fn what(&self) -> String {
        match self.kind {
            Kind::Request | Kind::Notice => self.method.clone(),
            Kind::Answer(End::Ok | End::Error) => format!("answer to {}", self.method),
            Kind::Answer(End::Nothing) => format!("no answer to {}", self.method),
            Kind::Noise => "no message".to_owned(),
        }
    }
}

/// What is known of the recent past of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Logs {
    /// The end of what its processes wrote to standard error.
    pub stderr: String,
    /// The last messages, oldest first.
    pub traffic: Vec<Passage>,
    /// How many there were before those.
    pub n_earlier: u64,
}

/// The recent past of a server.
#[derive(Default)]
pub struct Log {
    // Held for a few instructions with every message, never across a wait.
    past: Mutex<Past>,
}

#[derive(Default)]
struct Past {
    lines: VecDeque<Line>,
    n_earlier: u64,
    secrets: Secrets,
    /// The end of the standard error of processes that are gone, without secrets.
    earlier: String,
    current: Option<Arc<Tail>>,
}

/// A passage as it is kept.
struct Line {
    at: SystemTime,
    direction: Direction,
    kind: Kind,
    method: Box<str>,
    id: Option<Id>,
    bytes: usize,
    took: Option<Duration>,
}

enum Id {
    Ours(u64),
    Theirs(Box<str>),
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("n_lines", &self.past().lines.len()).finish_non_exhaustive()
    }
}

impl Log {
    /// What is known right now, without secrets.
    pub fn read(&self) -> Logs {
        let past = self.past();
        let scrub = |text: &str| past.secrets.scrub(text).into_owned();
        let passage = |line: &Line| Passage {
            at: line.at,
            direction: line.direction,
            kind: line.kind,
            method: scrub(&line.method),
            id: line.id.as_ref().map(|id| match id {
                Id::Ours(number) => number.to_string(),
                Id::Theirs(text) => scrub(text),
            }),
            bytes: line.bytes,
            took: line.took,
        };
        Logs {
            stderr: past.stderr(),
            traffic: past.lines.iter().map(passage).collect(),
            n_earlier: past.n_earlier,
        }
    }

    /// A new connection begins, with secrets of its own.
    pub(crate) fn begin(&self, secrets: &Secrets) {
        let mut past = self.past();
        past.earlier = past.stderr();
        past.current = None;
        let before = std::mem::replace(&mut past.secrets, secrets.clone());
        for line in &mut past.lines {
            line.method = before.scrub(&line.method).into();
            if let Some(Id::Theirs(id)) = &mut line.id {
                *id = before.scrub(id).into();
            }
        }
    }

    /// A process was started.
    pub(crate) fn started(&self, stderr: Arc<Tail>) {
        let mut past = self.past();
        past.earlier = past.stderr();
        past.current = Some(stderr);
    }

    /// Waits until nothing is left of the process that was started last, for so long at most.
    pub(crate) async fn silence(&self, limit: Duration) {
        let current = self.past().current.clone();
        if let Some(current) = current {
            let _still_open = timeout(limit, current.gone()).await;
        }
    }

    /// We asked something.
    pub(crate) fn asked(&self, id: u64, method: &str, bytes: usize) {
        self.add((Direction::Sent, Kind::Request), method, Some(Id::Ours(id)), (bytes, None));
    }

    /// A request of ours came to its end.
    pub(crate) fn ended(&self, id: u64, method: &str, end: End, (bytes, took): (usize, Duration)) {
        self.add((Direction::Received, Kind::Answer(end)), method, Some(Id::Ours(id)), (bytes, Some(took)));
    }

    /// Something went one way that wants no answer.
    pub(crate) fn said(&self, direction: Direction, method: &str, bytes: usize) {
        self.add((direction, Kind::Notice), method, None, (bytes, None));
    }

    /// The server asked something.
    pub(crate) fn was_asked(&self, id: &str, method: &str, bytes: usize) {
        self.add((Direction::Received, Kind::Request), method, Some(self.theirs(id)), (bytes, None));
    }

    /// A question of the server was answered.
    pub(crate) fn replied(&self, id: &str, method: &str, end: End, (bytes, took): (usize, Option<Duration>)) {
        let id = Some(self.theirs(id));
        self.add((Direction::Sent, Kind::Answer(end)), method, id, (bytes, took));
    }

    /// Something came that is no message, or the answer to nothing.
    pub(crate) fn noise(&self, bytes: usize) {
        self.add((Direction::Received, Kind::Noise), "", None, (bytes, None));
    }

    fn add(
        &self,
        (direction, kind): (Direction, Kind),
        method: &str,
        id: Option<Id>,
        (bytes, took): (usize, Option<Duration>),
    ) {
        let at = SystemTime::now();
        let mut past = self.past();
        let method = past.short(method);
        let line = Line { at, direction, kind, method, id, bytes, took };
        if past.lines.len() == LINES {
            past.lines.pop_front();
            past.n_earlier += 1;
        }
        past.lines.push_back(line);
    }

    fn theirs(&self, id: &str) -> Id {
        Id::Theirs(self.past().short(id))
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Past {
    /// Not more of a text than is worth keeping. Secrets go before it is cut: half of one is still one.
    fn short(&self, text: &str) -> Box<str> {
        if text.len() <= NAME {
            return text.into();
        }
        let text = self.secrets.scrub(text);
        let end = text.char_indices().nth(NAME).map_or(text.len(), |(end, _)| end);
        text[..end].into()
    }

    /// The end of all standard error so far, without secrets.
    fn stderr(&self) -> String {
        let current = self.current.as_ref().map(|tail| tail.text()).unwrap_or_default();
        let current = self.secrets.scrub(&current);
        if self.earlier.is_empty() {
            return current.into_owned();
        }
        let mut text = self.earlier.clone();
        if !text.ends_with('\n') && !current.is_empty() {
            text.push('\n');
        }
        text.push_str(&current);
        let start = text.ceil_char_boundary(text.len().saturating_sub(EARLIER));
        text.split_off(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(value: &str) -> Secrets {
        let secrets = Secrets::default();
        secrets.add(value);
        secrets
    }

    #[test]
    fn it_keeps_the_last_lines_and_counts_the_rest() {
        let log = Log::default();
        for id in 0..LINES as u64 + 5 {
            log.asked(id, "tools/call", 10);
        }
        let logs = log.read();
        assert_eq!((logs.traffic.len(), logs.n_earlier), (LINES, 5));
        assert_eq!(logs.traffic[0].id.as_deref(), Some("5"));
        log.was_asked(&"x".repeat(1000), &"é".repeat(1000), 1);
        let last = log.read().traffic.pop().unwrap();
        assert_eq!((last.method.chars().count(), last.id.unwrap().len()), (NAME, NAME));
    }

    #[test]
    fn each_kind_has_its_words() {
        let log = Log::default();
        let took = Duration::from_millis(3);
        log.asked(1, "tools/list", 40);
        log.ended(1, "tools/list", End::Ok, (900, took));
        log.ended(2, "tools/call", End::Nothing, (0, took));
        log.said(Direction::Received, "notifications/message", 70);
        log.replied("7", "roots/list", End::Ok, (20, Some(took)));
        log.noise(5);
        let what: Vec<String> = log.read().traffic.iter().map(Passage::what).collect();
        let expected = [
            "tools/list",
            "answer to tools/list",
            "no answer to tools/call",
            "notifications/message",
            "answer to roots/list",
            "no message",
        ];
        assert_eq!(what, expected);
    }

    #[test]
    fn secrets_of_now_and_before_are_out_of_it_and_the_past_stays() {
        let log = Log::default();
        let start = |secret: &str, words: &str| {
            log.begin(&secrets(secret));
            let tail = Arc::new(Tail::default());
            tail.push(words.as_bytes());
            log.started(tail);
            log.said(Direction::Received, &format!("notifications/{secret}"), 1);
            log.was_asked(&format!("\"{secret}\""), "ping", 1);
        };
        start("first-secret", "first-secret is wrong");
        start("second-secret", "second-secret is wrong, not first-secret\n");
        let logs = log.read();
        assert_eq!(logs.stderr, "*** is wrong\n*** is wrong, not first-secret\n");
        let shown = format!("{:?}", logs.traffic);
        assert!(!shown.contains("first-secret") && !shown.contains("second-secret"), "{shown}");
        assert_eq!(logs.traffic.len(), 4);
        for _ in 0..5 {
            start("x", &"é".repeat(20_000));
        }
        let stderr = log.read().stderr;
        assert!(stderr.len() <= EARLIER && stderr.len() > EARLIER - 4);
    }
}
