//! What happened on the way to a connection, step by step, for whoever looks over our shoulder.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// One step that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// When, counted from the start.
    pub at: Duration,
    /// What, in words.
    pub what: String,
}

/// Hears of each step as it is taken.
pub type Onlooker = Box<dyn Fn(&Step) + Send + Sync>;

/// The steps so far.
pub struct Steps {
    started: Instant,
    // Written a dozen times in the life of a connection.
    taken: Mutex<Vec<Step>>,
    onlooker: Option<Onlooker>,
}

impl Steps {
    /// Starts the clock.
    pub fn new(onlooker: Option<Onlooker>) -> Self {
        Self { started: Instant::now(), taken: Mutex::default(), onlooker }
    }

    pub(crate) fn note(&self, what: impl Into<String>) {
        let step = Step { at: self.started.elapsed(), what: what.into() };
        if let Some(onlooker) = &self.onlooker {
            onlooker(&step);
        }
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    }

    /// All steps, in order.
    pub fn taken(&self) -> Vec<Step> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steps").field("taken", &self.taken()).finish_non_exhaustive()
    }
}
