//! Medians, and what was wanted beside what came out.

use std::fmt;
use std::time::Duration;

pub(crate) fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

/// What was wanted, and what came out.
#[derive(Debug)]
pub(crate) struct Goal {
    what: String,
    limit: f64,
    measured: f64,
    is_met: bool,
    word: &'static str,
}

impl Goal {
    pub(crate) fn at_most(what: &str, limit: f64, measured: f64) -> Self {
        Self { what: what.to_owned(), limit, measured, is_met: measured <= limit, word: "at most" }
    }

    pub(crate) fn at_least(what: &str, limit: f64, measured: f64) -> Self {
        Self { what: what.to_owned(), limit, measured, is_met: measured >= limit, word: "at least" }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, limit, measured, is_met, word } = self;
        let verdict = if *is_met { "met" } else { "MISSED" };
        write!(f, "{verdict:<6} {what}: goal {word} {limit}, measured {measured:.2}")
    }
}
