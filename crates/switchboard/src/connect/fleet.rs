//! All servers of a session: makes what runs match what was planned, and touches only what changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{Notify, broadcast};
use tokio::task::JoinSet;

use super::event::{self, Event};
use super::handle::Handle;
use super::offer::Offer;
use super::owner::{Beginning, Outlets, Owner, Reach};
use super::recipe::Recipe;
use crate::host::Host;

/// The servers by name.
#[derive(Debug)]
pub(crate) struct Fleet {
    handles: BTreeMap<String, (String, Handle)>,
    /// More connections to servers of above, for those who do not share; each with its server and the key it was made of.
    apart: Vec<(String, String, Handle)>,
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
    /// They are there and wait for the user's consent; one that ran is also among the removed.
    pub waiting: Vec<String>,
}

impl Changes {
    /// Whether nothing starts or stops. Names and rules may be others all the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// What it takes to come from these connections to those, each a name and a key. The same key means the same
    /// connection.
    pub(crate) fn between(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Self {
        let mut changes = Self::default();
        for (name, key) in after {
            let list = match before.get(name) {
                None => &mut changes.added,
                Some(old) if old == key => &mut changes.kept,
                Some(_) => &mut changes.changed,
            };
            list.push(name.clone());
        }
        changes.removed = before.keys().filter(|name| !after.contains_key(*name)).cloned().collect();
        changes
    }
}

impl Fleet {
    /// No servers yet; `changed` hears of every change of any of them.
    pub(crate) fn new(changed: Arc<Notify>) -> Self {
        let outlets = Outlets { events: event::channel(), changed };
        Self { handles: BTreeMap::new(), apart: Vec::new(), tasks: JoinSet::new(), outlets }
    }

    /// Makes reality match the recipes. Each comes with a key: the same key means the same connection, which is kept.
    /// `cached` gives what a server offered last time. Waits for nobody: who leaves does so in the background, and who
    /// takes the place of another starts when that one is gone.
    pub(crate) fn apply(
        &mut self,
        recipes: Vec<(String, Recipe)>,
        cached: impl Fn(&Recipe) -> Option<Offer>,
    ) -> Changes {
        let changes = self.compare(recipes.iter().map(|(key, recipe)| (recipe.name.clone(), key.clone())));
        let mut wanted: BTreeMap<String, (String, Recipe)> = BTreeMap::new();
        for (key, recipe) in recipes {
            wanted.insert(recipe.name.clone(), (key, recipe));
        }
        let mut before = std::mem::take(&mut self.handles);
        for (name, (key, recipe)) in wanted {
            let predecessor = match before.remove(&name) {
                Some((old, handle)) if old == key => {
                    handle.adopt(recipe);
                    self.handles.insert(name, (key, handle));
                    continue;
                }
                Some((_, handle)) => Some(handle),
                None => None,
            };
            let cached = cached(&recipe);
            let start = Beginning { recipe, cached, predecessor, reach: Reach::Everything };
            let handle = Owner::spawn(start, &self.outlets, &mut self.tasks);
            self.handles.insert(name, (key, handle));
        }
        while self.tasks.try_join_next().is_some() {}
        for (_, (_, handle)) in before {
            self.tasks.spawn(async move { handle.stop().await });
        }
        self.match_apart();
        changes
    }

    /// Connections apart follow the server they are to: its rules and limits, and its end.
    fn match_apart(&mut self) {
        for (name, key, handle) in std::mem::take(&mut self.apart) {
            match self.handles.get(&name).filter(|(now, _)| *now == key) {
                Some(_) if handle.is_over() => {}
                Some((_, shared)) => {
                    let host = Arc::clone(&handle.recipe().host);
                    handle.adopt(Recipe { host, ..Recipe::clone(&shared.recipe()) });
                    self.apart.push((name, key, handle));
                }
                None => drop(self.tasks.spawn(async move { handle.stop().await })),
            }
        }
    }

    /// One more connection to a server, whose questions somebody else answers. It is opened at once, and ends when it is
    /// stopped, when its last handle is gone, or when the server is no longer what it was. What happens to it is told to
    /// its own listeners only.
    pub(crate) fn apart(
        &mut self,
        name: &str,
        host: Arc<dyn Host>,
    ) -> Option<(Handle, broadcast::Sender<Event>)> {
        let (key, shared) = self.handles.get(name)?;
        let recipe = Recipe { host, ..Recipe::clone(&shared.recipe()) };
        let outlets = Outlets { events: event::channel(), changed: Arc::default() };
        let start = Beginning { recipe, cached: None, predecessor: None, reach: Reach::Tools };
        while self.tasks.try_join_next().is_some() {}
        let handle = Owner::spawn(start, &outlets, &mut self.tasks);
        self.apart.retain(|(_, _, handle)| !handle.is_over());
        self.apart.push((name.to_owned(), key.clone(), handle.clone()));
        Some((handle, outlets.events))
    }

    /// What would change with other connections, each a name and a key.
    pub(crate) fn compare(&self, wanted: impl Iterator<Item = (String, String)>) -> Changes {
        let before = self.handles.iter().map(|(name, (key, _))| (name.clone(), key.clone())).collect();
        Changes::between(&before, &wanted.collect())
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
        let shared = std::mem::take(&mut self.handles).into_values().map(|(_, handle)| handle);
        let apart = std::mem::take(&mut self.apart).into_iter().map(|(_, _, handle)| handle);
        for handle in shared.chain(apart) {
            stopping.spawn(async move { handle.stop().await });
        }
        while stopping.join_next().await.is_some() {}
        while self.tasks.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Every name is in exactly one list, and the lists are sorted.
        #[test]
        fn every_server_has_one_fate(before in prop::collection::btree_map("[a-f]", "[xy]", 0..6), after in prop::collection::btree_map("[a-f]", "[xy]", 0..6)) {
            let changes = Changes::between(&before, &after);
            for name in before.keys().chain(after.keys()) {
                let expected = match (before.get(name), after.get(name)) {
                    (None, _) => [1, 0, 0, 0],
                    (_, None) => [0, 1, 0, 0],
                    (Some(old), Some(new)) if old == new => [0, 0, 0, 1],
                    _ => [0, 0, 1, 0],
                };
                let lists = [&changes.added, &changes.removed, &changes.changed, &changes.kept];
                prop_assert_eq!(lists.map(|list| list.iter().filter(|other| *other == name).count()), expected);
                prop_assert!(lists.iter().all(|list| list.is_sorted()));
            }
            prop_assert_eq!(changes.is_empty(), before == after);
        }
    }
}
