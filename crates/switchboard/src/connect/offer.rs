//! What one server offers, as far as it is known.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::offer::{CacheHint, Odd, Prompt, Resource, Template, Tool};
use crate::wire::{Facts, Listing};

/// What a server offers. Parts are shared: a change of one list leaves the others alone.
#[derive(Debug, Clone)]
pub struct Offer {
    /// What it says of itself.
    pub facts: Arc<Facts>,
    /// Its tools.
    pub tools: Arc<Vec<Tool>>,
    /// Its resources.
    pub resources: Arc<Vec<Resource>>,
    /// Its templates.
    pub templates: Arc<Vec<Template>>,
    /// Its prompts.
    pub prompts: Arc<Vec<Prompt>>,
    /// Items that cannot be used, with their list.
    pub odd: Arc<Vec<(&'static str, Odd)>>,
    /// What was repaired or cut, in words, with its list.
    pub notes: Arc<Vec<(&'static str, String)>>,
    /// Whether it was just asked.
    pub freshness: Freshness,
    /// Whether all lists were asked for, or only the tools so far.
    pub is_complete: bool,
    /// How long its lists stay true by its own word.
    pub hints: Hints,
}

/// How long each list of a server may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// Its tools.
    pub tools: Kept,
    /// Its resources.
    pub resources: Kept,
    /// Its templates.
    pub templates: Kept,
    /// Its prompts.
    pub prompts: Kept,
}

/// How long a list may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kept {
    /// What the server said.
    pub hint: CacheHint,
    /// When it was asked, if what it said has an end. None if it tells of changes: then what we have is as of now.
    pub since: Option<Instant>,
}

impl Kept {
    /// How long the list is still true; none if the server did not say.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        let age = self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.hint.fresh_for.map(|fresh| fresh.saturating_sub(age))
    }

    /// When it has to be asked for again because its time is over; never if changes are told.
    pub(super) fn truth(&self) -> Option<Duration> {
        self.hint.fresh_for.filter(|_| self.since.is_some())
    }
}

impl Hints {
    fn of(&mut self, list: &str) -> &mut Kept {
        match list {
            "tools" => &mut self.tools,
            "resources" => &mut self.resources,
            "templates" => &mut self.templates,
            _ => &mut self.prompts,
        }
    }
}

/// Where an offer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// From the server itself.
    Live,
    /// From an earlier time.
    Cached {
        /// When it was true.
        at: SystemTime,
    },
}

impl Offer {
    /// The first thing that is known: the tools.
    pub(super) fn new(facts: Facts, tools: Listing<Tool>) -> Self {
        let mut offer = Self {
            facts: Arc::new(facts),
            tools: Arc::default(),
            resources: Arc::default(),
            templates: Arc::default(),
            prompts: Arc::default(),
            odd: Arc::default(),
            notes: Arc::default(),
            freshness: Freshness::Live,
            is_complete: false,
            hints: Hints::default(),
        };
        offer.tools = Arc::new(offer.take("tools", tools));
        offer
    }

    /// With the lists of before, until they are asked for anew.
    pub(super) fn after(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before {
            self.resources = Arc::clone(&before.resources);
            self.templates = Arc::clone(&before.templates);
            self.prompts = Arc::clone(&before.prompts);
            self.hints = Hints { tools: self.hints.tools, ..before.hints };
        }
        self
    }

    /// Puts a list in the place of the one before, if there is one.
    pub(super) fn put<T>(
        &mut self,
        list: &'static str,
        listing: Option<Listing<T>>,
        set: impl FnOnce(&mut Self, Arc<Vec<T>>),
    ) {
        if let Some(listing) = listing {
            let items = Arc::new(self.take(list, listing));
            set(self, items);
        }
    }

    /// Keeps what is odd about a list and gives its items.
    fn take<T>(&mut self, list: &'static str, listing: Listing<T>) -> Vec<T> {
        let Listing { items, odd, notes, cut, hint } = listing;
        let capability = if list == "templates" { "resources" } else { list };
        let tells = self.facts.can_also(capability, "listChanged");
        let grows_old = hint.fresh_for.is_some() && !tells;
        *self.hints.of(list) =
            Kept { hint, since: grows_old.then(|| tokio::time::Instant::now().into_std()) };
        let cut = cut.map(|why| format!("{list}: cut off, {why}"));
        let had_odd = self.odd.iter().any(|(of, _)| *of == list);
        if had_odd || !odd.is_empty() {
            let all = Arc::make_mut(&mut self.odd);
            all.retain(|(of, _)| *of != list);
            all.extend(odd.into_iter().map(|odd| (list, odd)));
        }
        let had_notes = self.notes.iter().any(|(of, _)| *of == list);
        if had_notes || !notes.is_empty() || cut.is_some() {
            let all = Arc::make_mut(&mut self.notes);
            all.retain(|(of, _)| *of != list);
            all.extend(notes.into_iter().chain(cut).map(|note| (list, note)));
        }
        items
    }
}
