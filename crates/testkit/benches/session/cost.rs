//! What something took: time, what this process computed, and what it grew by.

use std::time::{Duration, Instant};

use crate::clock::cpu_time;
use crate::goal::median;

/// What something took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    /// What this process computed, without its children.
    pub(crate) cpu: Duration,
    /// Kilobytes this process grew by. Memory that was used once is not given back, so only the first time in a process
    /// says something.
    pub(crate) grown: f64,
}

impl Cost {
    /// Counts from now on.
    pub(crate) fn count() -> impl FnOnce() -> Self {
        let resident_before = resident();
        let (cpu, started) = (cpu_time(), Instant::now());
        move || {
            let (wall, cpu) = (started.elapsed(), cpu_time().saturating_sub(cpu));
            Self { wall, cpu, grown: resident() - resident_before }
        }
    }

    /// The middle of each part but the memory, which is that of the first.
    pub(crate) fn median(all: &[Self]) -> Self {
        let of = |part: fn(&Self) -> Duration| median(all.iter().map(part).collect());
        Self { wall: of(|cost| cost.wall), cpu: of(|cost| cost.cpu), grown: all[0].grown }
    }
}

/// Kilobytes, as Linux tells them; nothing elsewhere.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0.0)
}
