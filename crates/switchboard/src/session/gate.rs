//! When a session is ready to be used: a wait, not a mode.

use std::sync::PoisonError;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{Inner, Session};
use crate::connect::{Handle, Offer, Status, View};

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
        let has_something = |view: &View| is_settled(view) || view.offer.is_some();
        self.until(Some(self.window()), has_something).await;
        if gate == Gate::Correct {
            self.until(None, has_something).await;
        }
        self.inner.rebuild();
    }

    /// Waits until every server is live or failed, for so long at most. True if all are.
    pub async fn settled(&self, limit: Option<Duration>) -> bool {
        let settled = self.until(limit, is_settled).await;
        self.inner.rebuild();
        settled
    }

    /// Waits until the lists besides the tools are known as well: those of live servers within the start-up window, then
    /// those of servers nothing is remembered of, each up to its limit for starting.
    pub async fn listed(&self) {
        self.until(Some(self.window()), |view| is_settled(view) && is_listed(view)).await;
        let started = Instant::now();
        for (_, handle) in self.handles() {
            let deadline = handle.recipe().startup().map(|limit| started + limit);
            wait(&handle, deadline, |view| match view.status {
                Status::Connecting | Status::Connected => is_listed(view),
                _ => true,
            })
            .await;
        }
        self.inner.rebuild();
    }

    /// Waits until a server stands as wanted and tells how it does. None if there is no such server, or it is gone
    /// before.
    pub async fn wait_for(&self, server: &str, is_enough: impl Fn(&Status) -> bool) -> Option<Status> {
        let mut view = self.handle(server)?.watch();
        let status = view.wait_for(|view| is_enough(&view.status)).await.ok()?.status.clone();
        self.inner.rebuild();
        Some(status)
    }

    fn window(&self) -> Duration {
        self.discovery().settings.startup_window
    }

    async fn until(&self, limit: Option<Duration>, is_enough: fn(&View) -> bool) -> bool {
        until(self.handles().into_iter().map(|(_, handle)| handle), limit, is_enough).await
    }
}

impl Inner {
    /// Waits until no server is being connected to for the first time, for so long at most.
    pub(super) async fn calm(&self, limit: Duration) {
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner).clone();
        until(handles.into_values(), Some(limit), is_settled).await;
    }
}

async fn until(
    handles: impl Iterator<Item = Handle>,
    limit: Option<Duration>,
    is_enough: fn(&View) -> bool,
) -> bool {
    let deadline = limit.map(|limit| Instant::now() + limit);
    for handle in handles {
        if !wait(&handle, deadline, is_enough).await {
            return false;
        }
    }
    true
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

/// Nothing more is to be expected soon.
const fn is_settled(view: &View) -> bool {
    view.status.is_settled()
}

/// All lists are known, live or from before.
fn is_listed(view: &View) -> bool {
    let is_complete = |offer: &Offer| offer.is_complete;
    view.offer.as_deref().is_some_and(is_complete)
}
