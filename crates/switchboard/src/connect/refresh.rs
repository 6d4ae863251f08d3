//! When and how a server is asked again for what it offers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::offer::Offer;
use crate::wire::{Cause, Error, Interest, Link, Listing};

/// Between two fetches of a list that changes again and again; doubles while it does.
const CALM: Duration = Duration::from_secs(1);
const LONGEST_CALM: Duration = Duration::from_secs(30);

/// When lists are asked for again: at most one fetch under way, and the last change always seen.
#[derive(Debug, Default)]
pub(super) struct Refresh {
    pub(super) is_wanted: bool,
    pub(super) is_running: bool,
    /// Not before this time.
    not_before: Option<Instant>,
    calm: Duration,
}

/// Keeps a subscription open as long as the link stands. What changed in between is asked for anew.
pub(super) async fn listen(link: &Link, interest: &Interest) {
    let mut pause = CALM;
    while link.is_up() {
        match link.subscribe(interest).await {
            Ok(mut subscription) => {
                pause = CALM;
                subscription.ended().await;
            }
            // It offers what it does not have.
            Err(Error { cause: Cause::Rpc(_), .. }) => return,
            Err(_) => pause = (pause * 2).min(LONGEST_CALM),
        }
        sleep(pause).await;
        link.ask_anew();
    }
}

/// Which lists to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    All,
    AllButTools,
}

/// What a fetch brought.
pub(super) struct Fetched {
    pub(super) offer: Offer,
    /// Something could not be had that may be had later.
    pub(super) missed_some: bool,
}

/// Lists anew; one that cannot be had stays as it was.
pub(super) async fn fetch(link: &Link, before: &Offer, lists: Lists) -> Fetched {
    let mut fetched = Fetched { offer: before.clone(), missed_some: false };
    if lists == Lists::All {
        let listing = link.tools().await;
        if let Some(tools) = fetched.take("tools", listing) {
            fetched.offer.tools = tools;
        }
    }
    let listing = link.resources().await;
    if let Some(resources) = fetched.take("resources", listing) {
        fetched.offer.resources = resources;
    }
    let listing = link.templates().await;
    if let Some(templates) = fetched.take("templates", listing) {
        fetched.offer.templates = templates;
    }
    let listing = link.prompts().await;
    if let Some(prompts) = fetched.take("prompts", listing) {
        fetched.offer.prompts = prompts;
    }
    fetched.offer.is_complete = true;
    fetched
}

impl Fetched {
    fn take<T>(&mut self, list: &'static str, listing: Result<Listing<T>, Error>) -> Option<Arc<Vec<T>>> {
        match listing {
            Ok(listing) => Some(Arc::new(self.offer.take(list, listing))),
            Err(error) => {
                self.missed_some |= error.is_transient();
                None
            }
        }
    }
}

impl Refresh {
    pub(super) fn started(&mut self) {
        self.is_wanted = false;
        self.is_running = true;
    }

    /// A list that changed while it was fetched, or could not be had, is fetched again, but not at once.
    pub(super) fn finished(&mut self, now: Instant, missed_some: bool) {
        self.is_running = false;
        self.is_wanted |= missed_some;
        self.calm = if self.is_wanted { (self.calm * 2).clamp(CALM, LONGEST_CALM) } else { CALM };
        self.not_before = Some(now + self.calm);
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let is_due = self.is_wanted && !self.is_running;
        is_due.then(|| self.not_before.unwrap_or_else(Instant::now))
    }
}
