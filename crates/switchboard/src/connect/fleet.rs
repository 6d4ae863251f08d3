//! All servers of a session: makes what runs match what was planned, and touches only what changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{Notify, broadcast};
use tokio::task::JoinSet;

use super::event::{self, Event};
use super::handle::Handle;
use super::offer::Offer;
use super::owner::{Outlets, Owner};
use super::recipe::Recipe;

/// The servers by name.
#[derive(Debug)]
pub(crate) struct Fleet {
    handles: BTreeMap<String, (String, Handle)>,
    tasks: JoinSet<()>,
    outlets: Outlets,
}

/// What a new plan changed, by server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// They are new.
    pub added: Vec<String>,
    /// They are no longer there.
    pub removed: Vec<String>,
    /// They are another connection now, and were started anew.
    pub changed: Vec<String>,
    /// Their connection was left alone, though names and rules may be others.
    pub kept: Vec<String>,
}

impl Fleet {
    /// No servers yet; `changed` hears of every change of any of them.
    pub(crate) fn new(changed: Arc<Notify>) -> Self {
        let outlets = Outlets { events: event::channel(), changed };
        Self { handles: BTreeMap::new(), tasks: JoinSet::new(), outlets }
    }

    /// Makes reality match the recipes. Each comes with a key: the same key means the same connection, which is kept.
    /// `cached` gives what a server offered last time.
    pub(crate) async fn apply(
        &mut self,
        recipes: Vec<(String, Recipe)>,
        cached: impl Fn(&Recipe) -> Option<Offer>,
    ) -> Changes {
        let mut changes = Changes::default();
        let mut wanted: BTreeMap<String, (String, Recipe)> = BTreeMap::new();
        for (key, recipe) in recipes {
            wanted.insert(recipe.name.clone(), (key, recipe));
        }
        let gone: Vec<String> = self
            .handles
            .iter()
            .filter(|(name, (key, _))| wanted.get(*name).is_none_or(|(new, _)| new != key))
            .map(|(name, _)| name.clone())
            .collect();
        let mut stopping = JoinSet::new();
        for name in gone {
            if let Some((_, handle)) = self.handles.remove(&name) {
                let fate =
                    if wanted.contains_key(&name) { &mut changes.changed } else { &mut changes.removed };
                fate.push(name);
                stopping.spawn(async move { handle.stop().await });
            }
        }
        while stopping.join_next().await.is_some() {}
        for (name, (key, recipe)) in wanted {
            if let Some((_, handle)) = self.handles.get(&name) {
                handle.adopt(recipe);
                changes.kept.push(name);
                continue;
            }
            let cached = cached(&recipe);
            let handle = Owner::spawn(recipe, cached, &self.outlets, &mut self.tasks);
            if !changes.changed.contains(&name) {
                changes.added.push(name.clone());
            }
            self.handles.insert(name, (key, handle));
        }
        changes
    }

    /// All servers, by name.
    pub(crate) fn handles(&self) -> impl Iterator<Item = (&str, &Handle)> {
        self.handles.iter().map(|(name, (_, handle))| (name.as_str(), handle))
    }

    /// Where what happens to servers comes out.
    pub(crate) fn events(&self) -> broadcast::Sender<Event> {
        self.outlets.events.clone()
    }

    /// Stops all, side by side.
    pub(crate) async fn stop(&mut self) {
        let mut stopping = JoinSet::new();
        for (_, (_, handle)) in std::mem::take(&mut self.handles) {
            stopping.spawn(async move { handle.stop().await });
        }
        while stopping.join_next().await.is_some() {}
        while self.tasks.join_next().await.is_some() {}
    }
}
