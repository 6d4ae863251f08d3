//! Who thinks about a question of the server: as long as somebody does, the server waits for us, and not we for it.
//!
//! Kept apart by whose requests the questions are about, so that nobody's patience depends on somebody else's answer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;

/// No request is more patient than this, so older thoughts matter to none.
const KEPT: Duration = Duration::from_hours(1);

/// Whether the host thinks about a question of the server, and when it last stopped to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Thought {
    pub(crate) open: usize,
    pub(crate) ended: Option<Instant>,
}

/// What is thought about, by whose requests it is about: an owner's, or those nobody else answers for.
#[derive(Debug, Default)]
pub(crate) struct Thoughts {
    all: Mutex<HashMap<Option<u64>, Thought>>,
    /// Rings when somebody is asked, has answered, or has nothing under way any more.
    changed: Notify,
}

impl Thoughts {
    fn lock(&self) -> MutexGuard<'_, HashMap<Option<u64>, Thought>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn of(&self, owner: Option<u64>) -> Thought {
        self.lock().get(&owner).copied().unwrap_or_default()
    }

    pub(crate) fn begin(&self, owner: Option<u64>) {
        let mut all = self.lock();
        let is_of_use = |thought: &Thought| thought.ended.is_some_and(|ended| ended.elapsed() < KEPT);
        all.retain(|_, thought| thought.open > 0 || is_of_use(thought));
        all.entry(owner).or_default().open += 1;
        drop(all);
        self.tell();
    }

    /// Something is otherwise than before.
    pub(crate) fn tell(&self) {
        self.changed.notify_waiters();
    }

    /// Rings at the next change from now on.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    pub(crate) fn end(&self, owner: Option<u64>) {
        let mut all = self.lock();
        let thought = all.entry(owner).or_default();
        thought.open = thought.open.saturating_sub(1);
        thought.ended = Some(Instant::now());
        drop(all);
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_one_thinks_about_holds_up_nobody_else() {
        let thoughts = Thoughts::default();
        thoughts.begin(Some(1));
        thoughts.begin(Some(1));
        assert_eq!((thoughts.of(Some(1)).open, thoughts.of(Some(2)).open, thoughts.of(None).open), (2, 0, 0));
        thoughts.end(Some(1));
        assert!(thoughts.of(Some(1)).open == 1 && thoughts.of(Some(1)).ended.is_some());
        thoughts.end(Some(1));
        tokio::time::advance(KEPT).await;
        thoughts.begin(None);
        assert_eq!(thoughts.lock().len(), 1);
    }
}
