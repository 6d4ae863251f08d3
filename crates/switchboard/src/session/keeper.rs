//! What a session does in the background: keeps the catalog true, keeps what it learnt on disk, notices that the machine
//! slept, and clears away what is too old.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::Inner;
use crate::catalog::Part;
use crate::connect::{Fault, Freshness, Offer, Persistence, Recipe, View};
use crate::env::Env;
use crate::wire::Memory;

/// News is not written while servers start, for so long at most: disks are slow, and those who start are waited for.
const PAUSE: Duration = Duration::from_millis(250);
/// How often it is looked whether the machine slept.
const LOOK: Duration = Duration::from_secs(5);
/// The clocks differ by more than this when it did.
const SLEPT: Duration = Duration::from_secs(10);

/// Where texts too long for a model are kept.
pub(super) fn results_dir(env: &Env) -> PathBuf {
    env.switchboard_home().join("cache").join("results")
}

/// When something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Meanwhile,
    End,
}

/// What was written to the cache last, by server.
#[derive(Debug, Default)]
pub(super) struct Written {
    offers: BTreeMap<String, Arc<Offer>>,
    faults: BTreeMap<String, Arc<Fault>>,
}

/// Starts what runs as long as the session does.
pub(super) fn start(inner: &Arc<Inner>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(keep_catalog(Arc::downgrade(inner)));
    tasks.spawn(keep_on_disk(Arc::downgrade(inner)));
    if inner.options.persistence == Persistence::KeepTrying {
        tasks.spawn(notice_sleep(Arc::downgrade(inner)));
    }
    tasks
}

/// Builds the catalog whenever a server changes.
async fn keep_catalog(inner: Weak<Inner>) {
    loop {
        let Some(changed) = inner.upgrade().map(|inner| Arc::clone(&inner.changed)) else { return };
        changed.notified().await;
        let Some(inner) = inner.upgrade() else { return };
        inner.rebuild();
    }
}

/// Writes what is new. Nobody waits for it.
async fn keep_on_disk(inner: Weak<Inner>) {
    if let Some(inner) = inner.upgrade() {
        let (env, cache) = (inner.options.env.clone(), inner.cache.clone());
        let clear = move || {
            let now = SystemTime::now();
            cache.clear_old(now);
            Memory::of(&env).clear_old(now);
        };
        let _panicked = tokio::task::spawn_blocking(clear).await;
    }
    loop {
        let Some(learnt) = inner.upgrade().map(|inner| Arc::clone(&inner.learnt)) else { return };
        learnt.notified().await;
        let Some(inner) = inner.upgrade() else { return };
        inner.calm(PAUSE).await;
        inner.write_down(Moment::Meanwhile).await;
    }
}

/// A clock that stands still while the machine sleeps tells by the one that does not.
async fn notice_sleep(inner: Weak<Inner>) {
    loop {
        let before = (Instant::now(), SystemTime::now());
        sleep(LOOK).await;
        let awake = before.0.elapsed();
        let passed = before.1.elapsed().unwrap_or_default();
        let Some(inner) = inner.upgrade() else { return };
        if has_slept(awake, passed) {
            inner.resumed().await;
        }
    }
}

/// Whether so much more time passed than we were awake for.
fn has_slept(awake: Duration, passed: Duration) -> bool {
    passed.saturating_sub(awake) > SLEPT
}

impl Inner {
    /// Builds the catalog from what is known right now, and publishes it if it is another one.
    pub(super) fn rebuild(&self) {
        // Held from looking to publishing, so that an older state never replaces a newer one.
        let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut builder = self.builder.lock().unwrap_or_else(PoisonError::into_inner);
        let mut catalog = builder.build(&parts, style);
        drop(builder);
        let keys: BTreeMap<&str, &str> =
            views.iter().map(|(name, recipe, _)| (name.as_str(), &*recipe.key)).collect();
        catalog.problems.extend(pins.compare(&catalog, &keys, SystemTime::now()));
        self.catalog.send_if_modified(|current| {
            let is_another = **current != catalog;
            if is_another {
                *current = Arc::new(catalog);
            }
            is_another
        });
        drop(pins);
        self.learnt.notify_one();
    }

    /// Writes live offers, with the protocol their servers speak, faults and pins that are new since the last time.
    pub(super) async fn write_down(&self, moment: Moment) {
        let mut written = self.written.lock().await;
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (mut new, mut failed) = (Vec::new(), Vec::new());
        for (name, handle) in handles {
            let view = handle.view();
            if let Some(fault) = view.status.fault()
                && written.faults.get(&name).is_none_or(|before| !Arc::ptr_eq(before, fault))
            {
                written.faults.insert(name.clone(), Arc::clone(fault));
                failed.push((Arc::clone(&handle.recipe().key), Arc::clone(fault)));
            }
            // Lists come one by one; they are written together.
            let is_worth_it = |offer: &Arc<Offer>| offer.is_complete || moment == Moment::End;
            let live = view.offer.filter(|offer| offer.freshness == Freshness::Live);
            let Some(offer) = live.filter(is_worth_it) else { continue };
            if written.offers.get(&name).is_none_or(|before| !Arc::ptr_eq(before, &offer)) {
                written.offers.insert(name, Arc::clone(&offer));
                new.push((Arc::clone(&handle.recipe().key), offer));
            }
        }
        let pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner).take_unsaved();
        if new.is_empty() && failed.is_empty() && pins.is_none() {
            return;
        }
        let (cache, memory) = (self.cache.clone(), Memory::of(&self.options.env));
        let write = move || {
            let now = SystemTime::now();
            for (key, offer) in new {
                memory.remember(&key, offer.facts.era);
                memory.forget_fault(&key);
                cache.write(&key, &offer, now);
            }
            for (key, fault) in failed {
                memory.keep_fault(&key, fault.needs_login(), &fault.message);
            }
            if let Some(pins) = pins {
                pins.save();
            }
        };
        let _panicked = tokio::task::spawn_blocking(write).await;
    }

    /// Servers that were waited for are tried at once, and those over a network are asked for a sign of life.
    pub(super) async fn resumed(&self) {
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner).clone();
        for handle in handles.values() {
            handle.resumed().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_machine_did_not_sleep() {
        let seconds = Duration::from_secs;
        assert!(!has_slept(seconds(5), seconds(5)));
        assert!(!has_slept(seconds(60), seconds(65)), "busy");
        assert!(!has_slept(seconds(5), seconds(0)), "the clock was set back");
        assert!(has_slept(seconds(5), seconds(3600)));
    }
}
