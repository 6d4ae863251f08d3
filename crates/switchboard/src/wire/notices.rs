//! The queue of what a server says unasked: in order, bounded, and never without the last change.
//!
//! A change that is already waiting to be seen is not queued again, so a storm of them costs one place. Log lines
//! beyond the bounds, in number or in bytes, are dropped and counted.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::notice::Notice;

/// So many wait at most.
const MOST: usize = 1024;
/// So many bytes of them at most.
const MOST_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Notices {
    // A short critical section without waiting; producers are the readers of the streams.
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Notice>,
    bytes: usize,
    dropped: u64,
}

impl State {
    fn has_room_for(&self, bytes: usize) -> bool {
        self.waiting.len() < MOST && self.bytes + bytes <= MOST_BYTES
    }

    fn remove(&mut self, at: usize) -> Option<Notice> {
        let notice = self.waiting.remove(at)?;
        self.bytes -= notice.weight();
        Some(notice)
    }
}

impl Notices {
    pub(crate) fn push(&self, notice: Notice) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if is_change(&notice) && state.waiting.contains(&notice) {
                return;
            }
            let bytes = notice.weight();
            while !state.has_room_for(bytes) {
                state.dropped += 1;
                // A change must not be lost; the oldest line that is none makes room for it.
                let victim = state.waiting.iter().position(|waiting| !is_change(waiting)).unwrap_or(0);
                if !is_change(&notice) || bytes > MOST_BYTES {
                    return;
                }
                state.remove(victim);
            }
            state.bytes += bytes;
            state.waiting.push_back(apart(notice));
        }
        self.arrived.notify_one();
    }

    /// The next one. One consumer at a time.
    pub(crate) async fn next(&self) -> Notice {
        loop {
            if let Some(notice) = self.take() {
                return notice;
            }
            self.arrived.notified().await;
        }
    }

    /// The next one, if it is there already.
    pub(crate) fn take(&self) -> Option<Notice> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).remove(0)
    }

    /// How many were dropped for want of room.
    pub(crate) fn dropped(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).dropped
    }
}

/// A notice that does not hold the memory it was read into.
fn apart(notice: Notice) -> Notice {
    match notice {
        Notice::Log { level, logger, data } => Notice::Log { level, logger, data: data.apart() },
        Notice::Task { params } => Notice::Task { params: params.apart() },
        Notice::Other { method, params } => {
            Notice::Other { method, params: params.map(|params| params.apart()) }
        }
        light @ (Notice::ToolsChanged
        | Notice::PromptsChanged
        | Notice::ResourcesChanged
        | Notice::ResourceUpdated { .. }
        | Notice::SessionRenewed
        | Notice::Asked) => light,
    }
}

const fn is_change(notice: &Notice) -> bool {
    match notice {
        Notice::ToolsChanged
        | Notice::PromptsChanged
        | Notice::ResourcesChanged
        | Notice::ResourceUpdated { .. }
        | Notice::SessionRenewed
        | Notice::Asked => true,
        Notice::Log { .. } | Notice::Task { .. } | Notice::Other { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    #[test]
    fn a_storm_of_changes_is_one_change_and_logs_never_push_it_out() {
        let notices = Notices::default();
        for _ in 0..10_000 {
            notices.push(Notice::ToolsChanged);
        }
        let line = Notice::Log { level: "info".into(), logger: None, data: Json::null() };
        for _ in 0..10_000 {
            notices.push(line.clone());
        }
        notices.push(Notice::PromptsChanged);
        assert_eq!(notices.take(), Some(Notice::ToolsChanged));
        let mut last = None;
        let mut count = 0;
        while let Some(notice) = notices.take() {
            last = Some(notice);
            count += 1;
        }
        assert_eq!(last, Some(Notice::PromptsChanged));
        assert!(count < MOST);
        assert!(notices.dropped() >= 10_000 - MOST as u64);
    }

    #[test]
    fn large_lines_are_bounded_by_their_bytes_and_changes_push_them_out() {
        let notices = Notices::default();
        let large = |letter: &str| Notice::Log {
            level: "info".into(),
            logger: None,
            data: Json::of(&letter.repeat(MOST_BYTES / 4)).unwrap(),
        };
        for _ in 0..10 {
            notices.push(large("x"));
        }
        assert_eq!(notices.dropped(), 7);
        let uri = "u".repeat(MOST_BYTES / 2 - 100);
        notices.push(Notice::ResourceUpdated { uri: uri.clone() });
        assert_eq!(notices.dropped(), 8);
        assert!(matches!(notices.take(), Some(Notice::Log { .. })));
        assert!(matches!(notices.take(), Some(Notice::Log { .. })));
        assert_eq!(notices.take(), Some(Notice::ResourceUpdated { uri }));
        assert_eq!(notices.take(), None);
        notices.push(Notice::ResourceUpdated { uri: "u".repeat(MOST_BYTES + 1) });
        assert_eq!((notices.take(), notices.dropped()), (None, 9));
        notices.push(large("y"));
        assert!(notices.take().is_some());
    }
}
