//! Who uses a server right now, and since when nobody does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// How a server is used. Written by every call, read by the owner.
// All sequentially consistent: a user counts itself before it looks for a link, the owner hides the link before it looks
// for users, so one of them sees the other.
#[derive(Debug)]
pub(super) struct Usage {
    since: Instant,
    users: AtomicUsize,
    /// When the last one left, in microseconds.
    left: AtomicU64,
}

/// Somebody who uses the server, until it is dropped.
#[derive(Debug)]
pub(super) struct User(Arc<Usage>);

impl Usage {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), users: AtomicUsize::new(0), left: AtomicU64::new(0) }
    }

    /// One more user.
    pub(super) fn begin(usage: &Arc<Self>) -> User {
        usage.users.fetch_add(1, Ordering::SeqCst);
        User(Arc::clone(usage))
    }

    /// From now on it counts as unused.
    pub(super) fn touch(&self) {
        let now = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.left.store(now, Ordering::SeqCst);
    }

    /// Since when nobody uses it; none while somebody does.
    pub(super) fn unused_since(&self) -> Option<Instant> {
        let is_unused = self.users.load(Ordering::SeqCst) == 0;
        is_unused.then(|| self.since + Duration::from_micros(self.left.load(Ordering::SeqCst)))
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.0.touch();
        self.0.users.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn unused_means_since_the_last_user_left() {
        let usage = Arc::new(Usage::new());
        let start = Instant::now();
        assert_eq!(usage.unused_since(), Some(start));
        let (one, other) = (Usage::begin(&usage), Usage::begin(&usage));
        advance(Duration::from_secs(5)).await;
        drop(one);
        assert_eq!(usage.unused_since(), None);
        advance(Duration::from_secs(5)).await;
        drop(other);
        advance(Duration::from_secs(5)).await;
        assert_eq!(usage.unused_since(), Some(start + Duration::from_secs(10)));
    }
}
