//! From what was found to what is to be connected.

use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use super::Inner;
use crate::config::{Server, State};
use crate::connect::{Changes, Recipe};
use crate::discover::Discovery;

impl Inner {
    /// Makes what runs match what was found, or is found now. After the end of the session nothing is started.
    pub(super) async fn apply(&self, find: impl FnOnce() -> Option<Discovery>) -> Changes {
        let mut fleet = self.fleet.lock().await;
        let Some(fleet) = fleet.as_mut() else { return Changes::default() };
        // Looked for under the lock, so that of two reloads the later one counts.
        if let Some(discovery) = find() {
            self.discovery.send_replace(Arc::new(discovery));
        }
        let discovery = self.discovery.borrow().clone();
        let recipes: Vec<(String, Recipe)> = discovery
            .servers
            .iter()
            .filter(|server| server.state() == State::Enabled)
            .filter(|server| self.options.only.as_ref().is_none_or(|only| only.contains(&server.name)))
            .filter_map(|server| self.recipe(server))
            .map(|recipe| (recipe.key(), recipe))
            .collect();
        let now = SystemTime::now();
        let changes = fleet.apply(recipes, |recipe| self.cache.read(&recipe.key(), now));
        let handles = fleet.handles().map(|(name, handle)| (name.to_owned(), handle.clone())).collect();
        *self.handles.write().unwrap_or_else(PoisonError::into_inner) = handles;
        self.rebuild();
        changes
    }

    fn recipe(&self, server: &Server) -> Option<Recipe> {
        let spec = server.definition.as_ref().ok()?;
        Some(Recipe {
            name: server.name.clone(),
            spec: Arc::new(spec.run_by(self.options.own_program.as_deref(), &server.origin)),
            origin: server.origin.clone(),
            shared: Arc::clone(&self.shared),
        })
    }
}
