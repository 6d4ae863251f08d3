//! When a session is ready to be used: a wait, not a mode.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::Session;
use crate::connect::{Handle, Status, View};

/// What a start waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Nobody minds waiting: servers without cached tools are waited for, up to their own limits.
    Correct,
    /// Somebody sits there: no longer than the start-up window.
    Quick,
}

impl Session {
    /// Waits until the session can be used: every server is live, failed, or shown from the cache.
    pub async fn ready(&self, gate: Gate) {
        let window = self.discovery().settings.startup_window;
        self.until(Some(window), has_something).await;
        if gate == Gate::Correct {
            self.until(None, has_something).await;
        }
        self.inner.rebuild();
    }

    /// Waits until every server is live or failed, for so long at most. True if all are.
    pub async fn settled(&self, limit: Option<Duration>) -> bool {
        let settled = self.until(limit, |view| view.status.is_settled()).await;
        self.inner.rebuild();
        settled
    }

    /// Waits until the lists besides the tools were asked for as well.
    pub async fn listed(&self) {
        self.until(None, |view| {
            let is_complete = view.offer.as_ref().is_some_and(|offer| offer.is_complete);
            match view.status {
                Status::Connecting => false,
                Status::Connected => is_complete,
                _ => true,
            }
        })
        .await;
        self.inner.rebuild();
    }

    async fn until(&self, limit: Option<Duration>, is_enough: fn(&View) -> bool) -> bool {
        let deadline = limit.map(|limit| Instant::now() + limit);
        for (_, handle) in self.handles() {
            if !wait(&handle, deadline, is_enough).await {
                return false;
            }
        }
        true
    }
}

/// Waits for one server. They all run meanwhile, so waiting for one after the other loses no time.
async fn wait(handle: &Handle, deadline: Option<Instant>, is_enough: fn(&View) -> bool) -> bool {
    let mut view = handle.watch();
    let enough = view.wait_for(is_enough);
    match deadline {
        None => drop(enough.await),
        Some(deadline) => return timeout_at(deadline, enough).await.is_ok(),
    }
    true
}

/// Nothing more is to be expected soon, or there is something to go on with.
fn has_something(view: &View) -> bool {
    let is_pending = matches!(view.status, Status::Connecting);
    !is_pending || view.offer.is_some()
}
