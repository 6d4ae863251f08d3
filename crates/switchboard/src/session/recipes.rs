//! From what was found to what is to be connected.

use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use super::Inner;
use crate::config::{Server, State};
use crate::connect::{Changes, Recipe};
use crate::discover::Discovery;
use crate::provider::Provider;
use crate::resolve::Identity;

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
        let now = SystemTime::now();
        let mut changes = fleet.apply(self.recipes(&discovery), |recipe| self.cache.read(&recipe.key, now));
        changes.waiting = self.waiting(&discovery);
        let handles = fleet.handles().map(|(name, handle)| (name.to_owned(), handle.clone())).collect();
        *self.handles.write().unwrap_or_else(PoisonError::into_inner) = handles;
        self.rebuild();
        changes
    }

    /// What [`Inner::apply`] would do with it.
    pub(super) async fn preview(&self, discovery: &Discovery) -> Changes {
        let fleet = self.fleet.lock().await;
        let Some(fleet) = fleet.as_ref() else { return Changes::default() };
        let recipes = self.recipes(discovery).into_iter();
        let mut changes = fleet.compare(recipes.map(|(key, recipe)| (recipe.name, key)));
        changes.waiting = self.waiting(discovery);
        changes
    }

    fn recipes(&self, discovery: &Discovery) -> Vec<(String, Recipe)> {
        let enabled = self.wanted(discovery).filter(|server| server.state() == State::Enabled);
        enabled
            .filter_map(|server| self.recipe(server))
            .map(|recipe| (recipe.key.to_string(), recipe))
            .collect()
    }

    /// Who is there and needs consent. Nobody asked for those that are built in.
    pub(super) fn waiting(&self, discovery: &Discovery) -> Vec<String> {
        let waits = |server: &&Server| {
            server.state() == State::Untrusted && server.origin.provider != Provider::BuiltIn
        };
        self.wanted(discovery).filter(waits).map(|server| server.name.clone()).collect()
    }

    fn wanted<'d>(&self, discovery: &'d Discovery) -> impl Iterator<Item = &'d Server> {
        let (only, except) = (self.options.only.clone(), self.options.except.clone());
        let is_named = move |server: &Server| only.as_ref().is_none_or(|only| only.contains(&server.name));
        let is_left_out = move |server: &Server| except.as_ref().is_some_and(|except| except(server));
        discovery.servers.iter().filter(move |server| is_named(server) && !is_left_out(server))
    }

    fn recipe(&self, server: &Server) -> Option<Recipe> {
        let spec = server.definition.as_ref().ok()?;
        let spec = spec.run_by(self.options.own_program.as_deref(), &server.origin);
        Some(Recipe {
            name: server.name.clone(),
            key: Identity::key_of(&spec, &server.origin, &self.shared.project).into(),
            spec: Arc::new(spec),
            origin: server.origin.clone(),
            host: Arc::clone(&self.options.host),
            shared: Arc::clone(&self.shared),
        })
    }
}
