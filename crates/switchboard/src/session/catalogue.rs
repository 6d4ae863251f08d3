//! Keeps the catalog true: built anew and published whenever a server changes, cached for the next start.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};
use std::time::SystemTime;

use super::Inner;
use crate::catalog::{Part, build};
use crate::connect::{Freshness, Offer, Recipe, View};

/// What was written to the cache last, by server.
pub(super) type Written = BTreeMap<String, Arc<Offer>>;

/// Builds the catalog until the session is gone.
pub(super) async fn keep(inner: Weak<Inner>) {
    loop {
        let Some(changed) = inner.upgrade().map(|inner| Arc::clone(&inner.changed)) else { return };
        changed.notified().await;
        let Some(inner) = inner.upgrade() else { return };
        inner.rebuild();
        inner.write_cache().await;
    }
}

impl Inner {
    /// Builds the catalog from what is known right now.
    pub(super) fn rebuild(&self) {
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner).clone();
        let views: Vec<(&String, Arc<Recipe>, View)> =
            handles.iter().map(|(name, handle)| (name, handle.recipe(), handle.view())).collect();
        let parts: Vec<Part<'_>> = views
            .iter()
            .filter_map(|(name, recipe, view)| {
                let offer = view.offer.as_ref()?;
                Some(Part { server: name, origin: &recipe.origin, conduct: &recipe.spec.conduct, offer })
            })
            .collect();
        let style = self.discovery.borrow().settings.tool_names;
        let mut catalog = build(&parts, style);
        let key = |server: &str| handles.get(server).map(|handle| handle.recipe().key());
        let changes = self.pins.lock().unwrap_or_else(PoisonError::into_inner).compare(&catalog, key);
        catalog.problems.extend(changes);
        self.catalog.send_replace(Arc::new(catalog));
    }

    /// Writes live offers that are new since the last time.
    pub(super) async fn write_cache(&self) {
        let mut written = self.written.lock().await;
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner).clone();
        for (name, handle) in handles {
            let Some(offer) = handle.view().offer.filter(|offer| offer.freshness == Freshness::Live) else {
                continue;
            };
            if written.get(&name).is_some_and(|before| Arc::ptr_eq(before, &offer)) {
                continue;
            }
            written.insert(name, Arc::clone(&offer));
            let (cache, key) = (self.cache.clone(), handle.recipe().key());
            let write = move || cache.write(&key, &offer, SystemTime::now());
            // Writing flushes to disk, which takes its time.
            let _panicked = tokio::task::spawn_blocking(write).await;
        }
    }
}
