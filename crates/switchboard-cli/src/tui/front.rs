//! What a command says, on its way to the loop that shows it.
//!
//! The command and the loop take turns in one task, so what waits here is what one turn said: there is no queue that
//! could grow.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};

use crate::shell::Front;

/// Something a command said or wants.
pub(super) enum Said {
    Print(String),
    Stream(String),
    Working(Option<String>),
    /// A dialog that needs the whole terminal.
    Aside(Box<dyn FnOnce() + Send>),
}

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Print(text) => f.debug_tuple("Print").field(text).finish(),
            Self::Stream(text) => f.debug_tuple("Stream").field(text).finish(),
            Self::Working(words) => f.debug_tuple("Working").field(words).finish(),
            Self::Aside(_) => f.write_str("Aside"),
        }
    }
}

/// Where it waits. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox {
    // Also written when the program panics, on whatever thread; never held across a wait.
    said: Arc<Mutex<VecDeque<Said>>>,
    filled: Arc<Notify>,
}

impl Outbox {
    pub(super) fn put(&self, said: Said) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push_back(said);
        self.filled.notify_one();
    }

    pub(super) fn take(&self) -> Option<Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Resolves when something may be there.
    pub(super) async fn filled(&self) {
        self.filled.notified().await;
    }
}

/// The terminal, as a command sees it.
#[derive(Debug)]
pub(super) struct Speaker {
    outbox: Outbox,
}

impl Speaker {
    pub(super) const fn new(outbox: Outbox) -> Self {
        Self { outbox }
    }
}

impl Front for Speaker {
    fn print(&mut self, text: &str) {
        self.outbox.put(Said::Print(text.to_owned()));
    }

    fn stream(&mut self, delta: &str) {
        self.outbox.put(Said::Stream(delta.to_owned()));
    }

    fn working(&mut self, words: Option<&str>) {
        self.outbox.put(Said::Working(words.map(str::to_owned)));
    }

    fn aside<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        let (sender, answer) = oneshot::channel();
        self.outbox.put(Said::Aside(Box::new(move || {
            let _gone = sender.send(work());
        })));
        async move {
            match answer.await {
                Ok(answer) => answer,
                // The work broke; the loop says so and ends.
                Err(_) => std::future::pending().await,
            }
        }
    }
}
