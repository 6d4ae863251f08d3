//! All servers of a session: makes what runs match what was planned, and touches only what changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{Notify, broadcast};
use tokio::task::JoinSet;

use super::event::{self, Event};
use super::handle::Handle;
use super::offer::Offer;
use super::owner::{Beginning, Outlets, Owner};
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
    /// `cached` gives what a server offered last time. Waits for nobody: who leaves does so in the background, and who
    /// takes the place of another starts when that one is gone.
    pub(crate) fn apply(
        &mut self,
        recipes: Vec<(String, Recipe)>,
        cached: impl Fn(&Recipe) -> Option<Offer>,
    ) -> Changes {
        let mut changes = Changes::default();
        let mut wanted: BTreeMap<String, (String, Recipe)> = BTreeMap::new();
        for (key, recipe) in recipes {
            wanted.insert(recipe.name.clone(), (key, recipe));
        }
        let mut before = std::mem::take(&mut self.handles);
        for (name, (key, recipe)) in wanted {
            let predecessor = match before.remove(&name) {
                Some((old, handle)) if old == key => {
                    handle.adopt(recipe);
                    changes.kept.push(name.clone());
                    self.handles.insert(name, (key, handle));
                    continue;
                }
                Some((_, handle)) => {
                    changes.changed.push(name.clone());
                    Some(handle)
                }
                None => {
                    changes.added.push(name.clone());
                    None
                }
            };
            let cached = cached(&recipe);
            let start = Beginning { recipe, cached, predecessor };
            let handle = Owner::spawn(start, &self.outlets, &mut self.tasks);
            self.handles.insert(name, (key, handle));
        }
        while self.tasks.try_join_next().is_some() {}
        for (name, (_, handle)) in before {
            changes.removed.push(name);
            self.tasks.spawn(async move { handle.stop().await });
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
