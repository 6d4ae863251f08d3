//! Waiting once for something that takes a while, however many want it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

/// Something that is waited for once, by whoever comes first; the others wait for the same.
#[derive(Debug, Default)]
pub(crate) struct Waited(Mutex<Arc<OnceCell<()>>>);

impl Waited {
    fn cell(&self) -> MutexGuard<'_, Arc<OnceCell<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work, or waits for whoever does.
    pub(crate) async fn wait(&self, work: impl Future<Output = ()>) {
        let cell = Arc::clone(&self.cell());
        cell.get_or_init(|| work).await;
    }

    /// It is worth waiting for once more.
    pub(crate) fn again(&self) {
        *self.cell() = Arc::default();
    }
}
