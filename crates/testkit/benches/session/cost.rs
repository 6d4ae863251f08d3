//! What something took: time, and what this process computed.

use std::time::{Duration, Instant};

use crate::clock::cpu_time;
use crate::goal::median;

/// What something took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    /// What this process computed, without its children.
    pub(crate) cpu: Duration,
}

impl Cost {
    /// Counts from now on.
    pub(crate) fn count() -> impl FnOnce() -> Self {
        let (cpu, started) = (cpu_time(), Instant::now());
        move || Self { wall: started.elapsed(), cpu: cpu_time().saturating_sub(cpu) }
    }

    pub(crate) fn median(all: &[Self]) -> Self {
        let of = |part: fn(&Self) -> Duration| median(all.iter().map(part).collect());
        Self { wall: of(|cost| cost.wall), cpu: of(|cost| cost.cpu) }
    }
}
