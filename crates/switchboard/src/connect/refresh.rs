//! When and how a server is asked again for what it offers.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::offer::Offer;
use crate::notice::Notice;
use crate::offer::{Prompt, Resource, Template, Tool};
use crate::wire::{Cause, Error, Interest, Link, Listing};

/// Between two fetches of a list that changes again and again; doubles while it does.
const CALM: Duration = Duration::from_secs(1);
const LONGEST_CALM: Duration = Duration::from_secs(30);
/// However short a server says its lists stay true, they are not asked for more often.
const SHORTEST_TRUTH: Duration = Duration::from_mins(1);

/// One of the lists of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl List {
    pub(super) const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    /// Which lists a notice makes old.
    pub(super) const fn told_by(notice: &Notice) -> &'static [Self] {
        match notice {
            Notice::ToolsChanged => &[Self::Tools],
            Notice::PromptsChanged => &[Self::Prompts],
            Notice::ResourcesChanged => &[Self::Resources, Self::Templates],
            Notice::SessionRenewed => &Self::ALL,
            Notice::ResourceUpdated { .. }
            | Notice::Log { .. }
            | Notice::Task { .. }
            | Notice::Asked
            | Notice::Other { .. } => &[],
        }
    }
}

/// When the lists are asked for again, each by itself: one that never comes holds up no other.
#[derive(Debug, Default)]
pub(super) struct Refreshes([Refresh; List::ALL.len()]);

/// When a list is asked for again: at most one fetch under way, and the last change always seen.
#[derive(Debug, Default)]
struct Refresh {
    is_wanted: bool,
    is_running: bool,
    /// Not before this time.
    not_before: Option<Instant>,
    calm: Duration,
    /// When the list is no longer true by the server's own word.
    stale_at: Option<Instant>,
}

/// Keeps a subscription open as long as the link stands. What changed before it stood was told to nobody, so that is asked
/// for once it does.
pub(super) async fn listen(link: &Link, interest: &Interest) {
    let mut pause = CALM;
    while link.is_up() {
        match link.subscribe(interest).await {
            Ok(mut subscription) => {
                pause = CALM;
                link.ask_anew();
                subscription.ended().await;
            }
            // It offers what it does not have.
            Err(Error { cause: Cause::Rpc(_), .. }) => return,
            Err(_) => {
                pause = (pause * 2).min(LONGEST_CALM);
                link.ask_anew();
            }
        }
        sleep(pause).await;
    }
}

/// What a fetch brought.
pub(super) enum Fetched {
    Tools(Result<Listing<Tool>, Error>),
    Resources(Result<Listing<Resource>, Error>),
    Templates(Result<Listing<Template>, Error>),
    Prompts(Result<Listing<Prompt>, Error>),
}

/// What became of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending {
    /// It could not be had, and may be had later.
    missed: bool,
    /// How long the list we have stays true by the server's own word.
    truth: Option<Duration>,
}

/// Asks for a list.
pub(super) async fn fetch(link: &Link, list: List) -> Fetched {
    match list {
        List::Tools => Fetched::Tools(link.tools().await),
        List::Resources => Fetched::Resources(link.resources().await),
        List::Templates => Fetched::Templates(link.templates().await),
        List::Prompts => Fetched::Prompts(link.prompts().await),
    }
}

impl Fetched {
    /// Puts the list into the offer; one that could not be had stays as it was.
    pub(super) fn put_into(self, offer: &mut Offer) -> (List, Ending) {
        match self {
            Self::Tools(listing) => {
                let missed = is_missed(&listing);
                offer.put("tools", listing.ok(), |offer, items| offer.tools = items);
                (List::Tools, Ending { missed, truth: offer.hints.tools.truth() })
            }
            Self::Resources(listing) => {
                let missed = is_missed(&listing);
                offer.put("resources", listing.ok(), |offer, items| offer.resources = items);
                (List::Resources, Ending { missed, truth: offer.hints.resources.truth() })
            }
            Self::Templates(listing) => {
                let missed = is_missed(&listing);
                offer.put("templates", listing.ok(), |offer, items| offer.templates = items);
                (List::Templates, Ending { missed, truth: offer.hints.templates.truth() })
            }
            Self::Prompts(listing) => {
                let missed = is_missed(&listing);
                offer.put("prompts", listing.ok(), |offer, items| offer.prompts = items);
                (List::Prompts, Ending { missed, truth: offer.hints.prompts.truth() })
            }
        }
    }
}

/// Whether a list could not be had, and may be had later.
fn is_missed<T>(listing: &Result<Listing<T>, Error>) -> bool {
    listing.as_ref().is_err_and(Error::is_transient)
}

impl Refreshes {
    fn of(&mut self, list: List) -> &mut Refresh {
        &mut self.0[list as usize]
    }

    pub(super) fn want(&mut self, list: List) {
        self.of(list).is_wanted = true;
    }

    pub(super) fn started(&mut self, list: List) {
        let refresh = self.of(list);
        refresh.is_wanted = false;
        refresh.is_running = true;
    }

    /// The tools came with the connection.
    pub(super) fn opened(&mut self, now: Instant, offer: &Offer) {
        self.of(List::Tools).stale_at = stale_at(now, offer.hints.tools.truth());
    }

    /// A list that changed while it was fetched, or could not be had, is fetched again, but not at once.
    pub(super) fn finished(&mut self, list: List, now: Instant, ending: Ending) {
        let refresh = self.of(list);
        refresh.is_running = false;
        refresh.is_wanted |= ending.missed;
        refresh.stale_at = stale_at(now, ending.truth);
        refresh.calm = if refresh.is_wanted { (refresh.calm * 2).clamp(CALM, LONGEST_CALM) } else { CALM };
        refresh.not_before = Some(now + refresh.calm);
    }

    /// Nothing is under way any more.
    pub(super) fn gave_up(&mut self) {
        self.0.iter_mut().for_each(|refresh| refresh.is_running = false);
    }

    /// The next list to ask for, and when.
    pub(super) fn due(&self) -> Option<(Instant, List)> {
        let due = |(refresh, list): (&Refresh, List)| Some((refresh.due()?, list));
        self.0.iter().zip(List::ALL).filter_map(due).min_by_key(|(at, _)| *at)
    }
}

/// When a list is no longer true.
fn stale_at(now: Instant, truth: Option<Duration>) -> Option<Instant> {
    truth.map(|truth| now + truth.max(SHORTEST_TRUTH))
}

impl Refresh {
    fn due(&self) -> Option<Instant> {
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

    fn offer(capabilities: &str) -> Offer {
        let capabilities = Json::from_text(capabilities.to_owned()).unwrap();
        let facts = Facts::remembered(Era::Modern, "2026-07-28", (Json::null(), capabilities), None);
        Offer::new(facts, Listing::default())
    }

    #[test]
    fn lists_are_asked_for_again_when_their_time_is_over_unless_changes_are_told() {
        let now = Instant::now();
        let due = |capabilities: &str, listing: Result<Listing<Prompt>, Error>| {
            let mut refreshes = Refreshes::default();
            refreshes.started(List::Prompts);
            assert_eq!(refreshes.due(), None, "one is under way");
            let (list, ending) = Fetched::Prompts(listing).put_into(&mut offer(capabilities));
            refreshes.finished(list, now, ending);
            refreshes.due().map(|(at, list)| (at.duration_since(now).as_secs(), list))
        };
        let listing = |truth: u64| {
            let hint = CacheHint { fresh_for: Some(Duration::from_secs(truth)), is_private: true };
            Ok(Listing { hint, ..Listing::default() })
        };
        assert_eq!(due(r#"{"prompts":{}}"#, listing(300)), Some((300, List::Prompts)));
        assert_eq!(
            due(r#"{"prompts":{}}"#, listing(0)),
            Some((60, List::Prompts)),
            "not more often than that"
        );
        assert_eq!(due(r#"{"prompts":{"listChanged":true}}"#, listing(300)), None);
        let lost = Err(Error::maybe(Cause::CutOff));
        assert_eq!(due(r#"{"prompts":{}}"#, lost), Some((1, List::Prompts)));
    }

    #[test]
    fn the_tools_that_came_with_the_connection_grow_old_too() {
        let now = Instant::now();
        let due = |capabilities: &str| {
            let hint = CacheHint { fresh_for: Some(Duration::from_mins(5)), is_private: true };
            let facts = offer(capabilities).facts;
            let offer = Offer::new((*facts).clone(), Listing { hint, ..Listing::default() });
            let mut refreshes = Refreshes::default();
            refreshes.opened(now, &offer);
            refreshes.due().map(|(at, list)| (at.duration_since(now).as_secs(), list))
        };
        assert_eq!(due(r#"{"tools":{}}"#), Some((300, List::Tools)));
        assert_eq!(due(r#"{"tools":{"listChanged":true}}"#), None);
    }

    #[test]
    fn a_list_under_way_holds_up_no_other() {
        let mut refreshes = Refreshes::default();
        refreshes.started(List::Resources);
        refreshes.want(List::Resources);
        refreshes.want(List::Tools);
        assert_eq!(refreshes.due().map(|(_, list)| list), Some(List::Tools));
    }
}
