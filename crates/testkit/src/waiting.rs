//! Waiting for what must come, without a guess how long it takes.

use std::fmt::{Debug, Display};
use std::panic::Location;
use std::time::{Duration, Instant};

/// How long a test waits for what must come: far longer than it takes, also on a machine that is slow and busy.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks again and again until it is so; gives what was seen then. What runs in the background goes on meanwhile.
///
/// # Panics
///
/// When it is not so in time.
#[track_caller]
pub fn eventually<T: Debug>(
    what: impl Display,
    mut look: impl FnMut() -> T,
    is_so: impl Fn(&T) -> bool,
) -> impl Future<Output = T> {
    // The future is driven from elsewhere.
    let caller = Location::caller();
    async move {
        let start = Instant::now();
        loop {
            let seen = look();
            if is_so(&seen) {
                return seen;
            }
            assert!(start.elapsed() < PATIENCE, "never: {what} ({caller}); last seen: {seen:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// The same, on a thread that has nothing else to do.
///
/// # Panics
///
/// When it is not so in time.
#[track_caller]
pub fn eventually_blocking<T: Debug>(
    what: impl Display,
    mut look: impl FnMut() -> T,
    is_so: impl Fn(&T) -> bool,
) -> T {
    let start = Instant::now();
    loop {
        let seen = look();
        if is_so(&seen) {
            return seen;
        }
        assert!(start.elapsed() < PATIENCE, "never: {what}; last seen: {seen:?}");
        std::thread::sleep(PAUSE);
    }
}
