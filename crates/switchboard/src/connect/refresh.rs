//! When and how a server is asked again for what it offers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::offer::Offer;
use crate::wire::{Cause, Error, Interest, Link, Listing};

/// Between two fetches of a list that changes again and again; doubles while it does.
const CALM: Duration = Duration::from_secs(1);
const LONGEST_CALM: Duration = Duration::from_secs(30);
/// However short a server says its lists stay true, they are not asked for more often.
const SHORTEST_TRUTH: Duration = Duration::from_mins(1);

/// When lists are asked for again: at most one fetch under way, and the last change always seen.
#[derive(Debug, Default)]
pub(super) struct Refresh {
    pub(super) is_wanted: bool,
    pub(super) is_running: bool,
    /// Not before this time.
    not_before: Option<Instant>,
    calm: Duration,
    /// When the lists are no longer true by the server's own word.
    stale_at: Option<Instant>,
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
        fetched.offer.fresh_for = None;
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
    pub(super) fn finished(&mut self, now: Instant, fetched: &Fetched) {
        self.is_running = false;
        self.is_wanted |= fetched.missed_some;
        self.stale_at = fetched.offer.fresh_for.map(|truth| now + truth.max(SHORTEST_TRUTH));
        self.calm = if self.is_wanted { (self.calm * 2).clamp(CALM, LONGEST_CALM) } else { CALM };
        self.not_before = Some(now + self.calm);
    }

    pub(super) fn due(&self) -> Option<Instant> {
        if self.is_running {
            return None;
        }
        let wanted = self.is_wanted.then(|| self.not_before.unwrap_or_else(Instant::now));
        [wanted, self.stale_at].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::offer::CacheHint;
    use crate::wire::{Era, Facts};

    fn fetched(capabilities: &str, truth: u64) -> Fetched {
        let capabilities = Json::from_text(capabilities.to_owned()).unwrap();
        let facts = Facts::remembered(Era::Modern, "2026-07-28", (Json::null(), capabilities), None);
        let hint = CacheHint { fresh_for: Some(Duration::from_secs(truth)), is_private: true };
        let offer = Offer::new(facts, Listing { hint, ..Listing::default() });
        Fetched { offer, missed_some: false }
    }

    #[test]
    fn lists_are_asked_for_again_when_their_time_is_over_unless_changes_are_told() {
        let now = Instant::now();
        let due = |fetched: &Fetched| {
            let mut refresh = Refresh::default();
            refresh.started();
            assert_eq!(refresh.due(), None, "one is under way");
            refresh.finished(now, fetched);
            refresh.due().map(|at| at.duration_since(now).as_secs())
        };
        assert_eq!(due(&fetched(r#"{"tools":{}}"#, 300)), Some(300));
        assert_eq!(due(&fetched(r#"{"tools":{}}"#, 0)), Some(60), "not more often than that");
        assert_eq!(due(&fetched(r#"{"tools":{"listChanged":true}}"#, 300)), None);
        let missed = Fetched { missed_some: true, ..fetched(r#"{"tools":{}}"#, 300) };
        assert_eq!(due(&missed), Some(1));
    }
}
