//! The requests that are open, and what those who made them want to hear.

use std::collections::{HashMap, VecDeque};

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::error::Cause;
use crate::host::Behalf;
use crate::json::Json;
use crate::notice::{Notice, Progress};

/// Calls that were given up of which it is known.
const FORSAKEN: usize = 64;

/// What the one who asks wants to hear before the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// Nothing.
    Answer,
    /// Progress.
    Progress,
    /// Everything about a subscription, which only its end answers.
    Subscription,
}

/// A sign of life of one request.
#[derive(Debug)]
pub(crate) enum Beat {
    Progress(Progress),
    /// A subscription was granted: the parameters say what of it.
    Granted(Json),
    /// A line for the log, on the request's own stream.
    Said(Notice),
    /// A line for the log, on a stream that says of none which request it is about.
    Meanwhile(Notice),
}

/// What is open now.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) pending: HashMap<u64, Pending>,
    /// Calls that were given up of late, the oldest first: what becomes of them may have to be ended.
    forsaken: VecDeque<u64>,
}

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: u64,
    pub(super) method: Box<str>,
    pub(super) started: Instant,
    pub(super) reply: oneshot::Sender<Result<Json, Cause>>,
    pub(super) beats: Option<mpsc::Sender<Beat>>,
    pub(super) wants: Wants,
    pub(super) behalf: Option<Behalf>,
}

impl Ledger {
    pub(super) fn forsake(&mut self, id: u64) {
        if self.forsaken.len() == FORSAKEN {
            self.forsaken.pop_front();
        }
        self.forsaken.push_back(id);
    }

    /// Whether it was given up, asked once.
    pub(super) fn is_forsaken(&mut self, id: u64) -> bool {
        let at = self.forsaken.iter().position(|forsaken| *forsaken == id);
        at.is_some_and(|at| self.forsaken.remove(at).is_some())
    }

    pub(super) fn is_on_behalf(&self, id: u64) -> bool {
        self.pending.get(&id).is_some_and(|pending| pending.behalf.is_some())
    }

    /// An error without an id on a common stream can only mean the one request that is open.
    pub(super) fn only(&mut self) -> Option<Pending> {
        let mut ids = self.pending.keys();
        let (Some(&id), None) = (ids.next(), ids.next()) else { return None };
        self.pending.remove(&id)
    }
}

impl Pending {
    pub(super) fn answer(self, outcome: Result<Json, Cause>) {
        // Whoever asked may have gone; then nobody needs the answer.
        let _gone = self.reply.send(outcome);
    }
}
