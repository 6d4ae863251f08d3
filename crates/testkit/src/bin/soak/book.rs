//! What must hold, and the first time it did not.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::say;

/// What must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    Ends,
    Belongs,
    Once,
    Truth,
    Stays,
    Recovers,
    Edits,
    Health,
    Fds,
    Threads,
    Zombies,
    Processes,
    Memory,
    Quiet,
    End,
}

/// All of them, in the order of the table.
pub(crate) const RULES: [(Rule, &str); 15] = [
    (Rule::Ends, "every call ends once, by its deadline"),
    (Rule::Belongs, "every result belongs to its request"),
    (Rule::Once, "nothing ran twice that may not"),
    (Rule::Truth, "what is said of a failed call is true"),
    (Rule::Stays, "every tool stays"),
    (Rule::Recovers, "every server comes back after its fault"),
    (Rule::Edits, "no edit is lost, comments stay, the file parses"),
    (Rule::Health, "/health answers all the time"),
    (Rule::Fds, "open files are those of before when it is quiet"),
    (Rule::Threads, "threads stay few"),
    (Rule::Zombies, "no zombies"),
    (Rule::Processes, "processes are those of the live servers"),
    (Rule::Memory, "memory does not grow in the second half"),
    (Rule::Quiet, "no panic in what it says and logs"),
    (Rule::End, "SIGTERM ends it, and nothing is left"),
];

/// How often each rule was broken, and how the first time.
#[derive(Debug, Default)]
pub(crate) struct Book {
    broken: Mutex<BTreeMap<Rule, (usize, String)>>,
    figures: Mutex<BTreeMap<Rule, String>>,
}

/// A lock that a panic elsewhere does not spoil.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Book {
    /// It did not hold.
    pub(crate) fn broken(&self, rule: Rule, evidence: impl Into<String>) {
        let mut broken = lock(&self.broken);
        let entry = broken.entry(rule).or_insert_with(|| {
            let evidence = evidence.into();
            // Nobody should have to wait an hour for it.
            say(&format!("BROKEN {rule:?}: {evidence}\n"));
            (0, evidence)
        });
        entry.0 += 1;
    }

    /// What was counted for it.
    pub(crate) fn figure(&self, rule: Rule, figure: impl Into<String>) {
        lock(&self.figures).insert(rule, figure.into());
    }

    /// The figure of a rule, how often it was broken and the first evidence.
    pub(crate) fn of(&self, rule: Rule) -> (String, Option<(usize, String)>) {
        (lock(&self.figures).get(&rule).cloned().unwrap_or_default(), lock(&self.broken).get(&rule).cloned())
    }

    /// How often anything was broken.
    pub(crate) fn n_broken(&self) -> usize {
        lock(&self.broken).values().map(|(times, _)| times).sum()
    }
}
