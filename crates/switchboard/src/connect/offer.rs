//! What one server offers, as far as it is known.

use std::sync::Arc;
use std::time::SystemTime;

use crate::offer::{Odd, Prompt, Resource, Template, Tool};
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
        let Listing { items, odd, notes, cut, .. } = listing;
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
