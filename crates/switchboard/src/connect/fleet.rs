//! All servers of a session: makes what runs match what was planned, and touches only what changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{Notify, broadcast};
use tokio::task::JoinSet;

use super::handle::Handle;
use super::offer::Offer;
use super::owner::Owner;
use super::recipe::Recipe;
use crate::notice::Notice;

/// Notices that wait for a slow listener.
const NOTICES: usize = 1024;

/// The servers by name.
#[derive(Debug)]
pub(crate) struct Fleet {
    handles: BTreeMap<String, (String, Handle)>,
    tasks: JoinSet<()>,
    notices: broadcast::Sender<(String, Notice)>,
    changed: Arc<Notify>,
}

/// What a new plan changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) started: Vec<String>,
    pub(crate) stopped: Vec<String>,
    pub(crate) kept: Vec<String>,
}

impl Fleet {
    /// No servers yet; `changed` hears of every change of any of them.
    pub(crate) fn new(changed: Arc<Notify>) -> Self {
        let notices = broadcast::Sender::new(NOTICES);
        Self { handles: BTreeMap::new(), tasks: JoinSet::new(), notices, changed }
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
                changes.stopped.push(name);
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
            let handle = Owner::spawn(recipe, cached, (&self.notices, &self.changed), &mut self.tasks);
            changes.started.push(name.clone());
            self.handles.insert(name, (key, handle));
        }
        changes
    }

    /// All servers, by name.
    pub(crate) fn handles(&self) -> impl Iterator<Item = (&str, &Handle)> {
        self.handles.iter().map(|(name, (_, handle))| (name.as_str(), handle))
    }

    /// Where what servers say unasked comes out.
    pub(crate) fn notices(&self) -> broadcast::Sender<(String, Notice)> {
        self.notices.clone()
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
