//! How far a request has got on its way out, shared by whoever waits for it and whoever writes it.

use std::sync::atomic::{AtomicU8, Ordering};

/// How far a request has got on its way out. Whoever moves it on decides: a request that its caller took back while
/// it was queued is never written, and one that is being written can no longer be called unsent.
#[derive(Debug, Default)]
pub(crate) struct Stage(AtomicU8);

const QUEUED: u8 = 0;
const LEAVING: u8 = 1;
const TAKEN_BACK: u8 = 2;

impl Stage {
    /// The writer takes it; false if the caller took it back before.
    pub(crate) fn leave(&self) -> bool {
        let moved = self.0.compare_exchange(QUEUED, LEAVING, Ordering::AcqRel, Ordering::Acquire);
        moved.is_ok() || moved == Err(LEAVING)
    }

    /// The caller takes it back; false if it may have left already.
    pub(crate) fn take_back(&self) -> bool {
        let moved = self.0.compare_exchange(QUEUED, TAKEN_BACK, Ordering::AcqRel, Ordering::Acquire);
        moved.is_ok() || moved == Err(TAKEN_BACK)
    }

    /// The transport found out that nothing of it left.
    pub(crate) fn stayed(&self) {
        self.0.store(QUEUED, Ordering::Release);
    }

    pub(crate) fn has_left(&self) -> bool {
        self.0.load(Ordering::Acquire) == LEAVING
    }
}
