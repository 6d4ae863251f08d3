//! What happens to servers, for whoever watches a session. Lines may be lost by who is slow; the views are the truth.

use tokio::sync::broadcast;

use super::handle::Status;
use crate::notice::Notice;
use crate::problem::Problem;

/// Events that wait for a slow listener.
const WAITING: usize = 256;
/// What a server says in one go is passed on up to this size.
const LARGEST: usize = 64 * 1024;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A server stands otherwise than before.
    Status {
        /// The server.
        server: String,
        /// How it stands now.
        status: Status,
    },
    /// A server said something unasked.
    Said {
        /// The server.
        server: String,
        /// What it said.
        notice: Notice,
    },
    /// A server said something that is too large to pass on.
    TooLarge {
        /// The server.
        server: String,
        /// Its size in bytes.
        bytes: usize,
    },
    /// Something of ours went wrong that nobody waits for.
    Problem {
        /// What.
        problem: Problem,
    },
    /// The listener was too slow: so many events are lost.
    Missed {
        /// How many.
        n_events: u64,
    },
}

impl Event {
    /// The server it is about; none if it is about all.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Status { server, .. } | Self::Said { server, .. } | Self::TooLarge { server, .. } => {
                Some(server)
            }
            Self::Problem { problem } => problem.server.as_deref(),
            Self::Missed { .. } => None,
        }
    }

    /// What a server said, if that is not too large.
    pub(super) fn said(server: String, notice: Notice) -> Self {
        let bytes = notice.weight();
        if bytes > LARGEST { Self::TooLarge { server, bytes } } else { Self::Said { server, notice } }
    }
}

/// Where events come from.
pub(crate) fn channel() -> broadcast::Sender<Event> {
    broadcast::Sender::new(WAITING)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_waits_for_a_listener_is_bounded_in_bytes_too() {
        let log = |data: String| Notice::Log { level: "info".into(), logger: None, data: json!(data).into() };
        assert!(matches!(Event::said("s".into(), log("x".repeat(100))), Event::Said { .. }));
        let large = Event::said("s".into(), log("x".repeat(70_000)));
        assert!(matches!(large, Event::TooLarge { bytes, .. } if bytes > 70_000), "{large:?}");
    }
}
