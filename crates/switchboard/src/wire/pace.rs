//! How fast a server may talk unasked.
//!
//! Everything a server says has to be read and looked at, in the thread that serves all the others. What nobody waits for
//! is therefore paid for: a server that says more than its share is read more slowly, until its own pipe or connection
//! holds it up. Nothing is dropped here. An answer that somebody waits for costs nothing and gives credit, so that a busy
//! server may say as much about its work as it likes.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// So long a server may talk at any speed before it is slowed down.
const BURST: Duration = Duration::from_secs(10);
/// What may be said for each answer.
const PER_ANSWER: u32 = 32;
/// A message costs more for each such part of it.
const PART: usize = 1024;

/// What one server may say.
#[derive(Debug)]
pub(crate) struct Pace {
    /// What a word costs; nothing if there is no limit.
    cost: Option<Duration>,
    // A few instructions, never held across a wait.
    debt: Mutex<Debt>,
}

/// What was said and is not paid for yet, as the time at which it will be.
#[derive(Debug, Clone, Copy)]
struct Debt {
    until: Instant,
}

impl Debt {
    fn grow(&mut self, by: Duration, now: Instant) {
        self.until = self.until.max(now) + by;
    }

    fn shrink(&mut self, by: Duration) {
        self.until = self.until.checked_sub(by).unwrap_or(self.until);
    }

    /// So long nothing more is to be heard.
    fn pause(&self, now: Instant) -> Option<Duration> {
        Some(self.until.saturating_duration_since(now).saturating_sub(BURST)).filter(|pause| !pause.is_zero())
    }
}

impl Pace {
    /// So many messages a second in the long run.
    pub(crate) fn new(per_second: Option<u32>) -> Self {
        let cost = per_second.map(|rate| Duration::from_secs(1) / rate.max(1));
        Self { cost, debt: Mutex::new(Debt { until: Instant::now() }) }
    }

    /// Something came that nobody waits for.
    pub(crate) fn unasked(&self, bytes: usize) {
        let Some(cost) = self.cost else { return };
        let parts = u32::try_from(bytes / PART).unwrap_or(u32::MAX).saturating_add(1);
        self.change(|debt| debt.grow(cost.saturating_mul(parts), Instant::now()));
    }

    /// Something came that somebody waits for.
    pub(crate) fn answered(&self) {
        let Some(cost) = self.cost else { return };
        self.change(|debt| debt.shrink(cost * PER_ANSWER));
    }

    fn change(&self, change: impl FnOnce(&mut Debt)) {
        change(&mut self.debt.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Comes back when there is something to be heard again. Called before each read.
    pub(crate) async fn rest(&self) {
        if self.cost.is_none() {
            return;
        }
        let debt = *self.debt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pause) = debt.pause(Instant::now()) {
            sleep(pause).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long it takes to be heard, in seconds.
    async fn time_to_hear(pace: &Pace, messages: usize, bytes: usize) -> u64 {
        let start = Instant::now();
        for _ in 0..messages {
            pace.rest().await;
            pace.unasked(bytes);
        }
        pace.rest().await;
        start.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn who_talks_without_end_is_slowed_down_and_nobody_else() {
        let pace = Pace::new(Some(1000));
        assert_eq!(time_to_hear(&pace, 10_000, 100).await, 0, "a burst is read at once");
        assert_eq!(time_to_hear(&pace, 30_000, 100).await, 30);
        assert_eq!(time_to_hear(&pace, 10, 1_024_000).await, 10, "a long message is many");
        tokio::time::advance(BURST).await;
        assert_eq!(time_to_hear(&pace, 10_000, 100).await, 0, "silence pays");
        assert_eq!(time_to_hear(&Pace::new(None), 1_000_000, 100).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_answers_may_talk_about_it() {
        let pace = Pace::new(Some(1000));
        let start = Instant::now();
        for _ in 0..100_000 {
            for _ in 0..PER_ANSWER {
                pace.rest().await;
                pace.unasked(100);
            }
            pace.answered();
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_are_not_saved_up() {
        let pace = Pace::new(Some(1000));
        for _ in 0..1000 {
            pace.answered();
        }
        assert_eq!(time_to_hear(&pace, 20_000, 100).await, 10);
    }
}
