//! A stream of events that is kept, so that a client which lost it can have the rest.

use std::sync::Mutex;

use tokio::sync::Notify;

use crate::server::lock;

#[derive(Default)]
pub(crate) struct Kept {
    events: Mutex<Vec<String>>,
    ended: Mutex<bool>,
    changed: Notify,
}

impl Kept {
    pub(crate) fn push(&self, event: String) {
        lock(&self.events).push(event);
        self.changed.notify_waiters();
    }

    pub(crate) fn end(&self) {
        *lock(&self.ended) = true;
        self.changed.notify_waiters();
    }

    /// The event at an index, as soon as there is one; nothing when the stream has ended before.
    pub(crate) async fn get(&self, index: usize) -> Option<String> {
        loop {
            // Asked for first, so that no change in between is missed.
            let changed = self.changed.notified();
            if let Some(event) = lock(&self.events).get(index) {
                return Some(event.clone());
            }
            if *lock(&self.ended) {
                return None;
            }
            changed.await;
        }
    }
}
