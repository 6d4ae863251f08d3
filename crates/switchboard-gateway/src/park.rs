//! Calls that wait for a client's answer.
//!
//! A server of the older protocol asks in the middle of a call and waits. A modern client is asked by ending its request
//! with the question; the answer comes with its next request. Between the two the call is parked here: still under way,
//! held by a handle that only the one who made the call can use, once, for a while.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use switchboard::host::{Abilities, Host, Passed, Refusal, Reply};
use switchboard::json::Json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::client::Owner;
use crate::rpc::{INTERNAL, RpcError};

/// So long a call waits for its client.
const PATIENCE: Duration = Duration::from_mins(10);
/// So many wait at most.
const MOST: usize = 256;
/// What our handles begin with; the notes of servers to themselves are passed on as they are.
const MARK: &str = "switchboard-parked:";

/// A question of a server about a call.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) params: Option<Json>,
    pub(crate) reply: oneshot::Sender<Result<Json, Refusal>>,
}

/// Takes the questions about one call to whoever handles it.
#[derive(Debug)]
pub(crate) struct Line {
    asks: mpsc::Sender<Ask>,
}

impl Line {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Ask>) {
        let (asks, receiver) = mpsc::channel(16);
        (Self { asks }, receiver)
    }

    /// Puts a question and waits for its answer.
    pub(crate) async fn put(&self, method: String, params: Option<Json>) -> Result<Json, Refusal> {
        let gone = || Refusal { code: INTERNAL, message: "nobody is there to answer".to_owned() };
        let (reply, answer) = oneshot::channel();
        self.asks.send(Ask { method, params, reply }).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Host for Line {
    fn abilities(&self) -> Abilities {
        Abilities { roots: true, forms: true, urls: true, sampling: true }
    }

    fn pass(&self, question: Passed) -> Option<Reply<'_, Result<Json, Refusal>>> {
        Some(Box::pin(self.put(question.method, question.params)))
    }
}

/// A call under way that outlives the request it began with. Dropping it ends it, and the server is told.
#[derive(Debug)]
pub(crate) struct Work(pub(crate) JoinHandle<Result<Json, RpcError>>);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A call that waits for answers.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) owner: Owner,
    pub(crate) server: String,
    pub(crate) work: Work,
    pub(crate) asks: mpsc::Receiver<Ask>,
    /// What was asked and is not answered yet, by key.
    pub(crate) open: Vec<(String, Ask)>,
    /// The next key: keys are unique for the life of a call.
    pub(crate) next_key: usize,
}

/// A text nobody can guess.
pub(crate) fn unguessable() -> Option<String> {
    let mut bytes = [0_u8; 16];
    aws_lc_rs::rand::fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

#[derive(Debug, Default)]
pub(crate) struct Park {
    parked: Mutex<HashMap<String, (Instant, Parked)>>,
}

impl Park {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Instant, Parked)>> {
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        parked.retain(|_, (until, _)| *until > now);
        parked
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Parks a call; gives the handle.
    pub(crate) fn put(&self, call: Parked) -> Result<String, RpcError> {
        let unlucky = || RpcError::new(INTERNAL, "no random numbers can be had");
        let handle = format!("{MARK}{}", unguessable().ok_or_else(unlucky)?);
        let mut parked = self.lock();
        // Whoever waits longest is the least likely to hear from its client again.
        if parked.len() >= MOST
            && let Some(oldest) =
                parked.iter().min_by_key(|(_, (until, _))| *until).map(|(handle, _)| handle.clone())
        {
            parked.remove(&oldest);
        }
        parked.insert(handle.clone(), (Instant::now() + PATIENCE, call));
        Ok(handle)
    }

    /// The call behind a handle: nothing if the handle is a server's own note.
    pub(crate) fn take(&self, handle: &str, owner: Owner) -> Option<Result<Parked, RpcError>> {
        handle.starts_with(MARK).then(|| {
            let mut parked = self.lock();
            let is_theirs = parked.get(handle).is_some_and(|(_, call)| call.owner == owner);
            let call = if is_theirs { parked.remove(handle) } else { None };
            call.map(|(_, call)| call)
                .ok_or_else(|| RpcError::params("`requestState` is none that waits: make the call again"))
        })
    }

    /// A client is gone, and so are its calls.
    pub(crate) fn leave(&self, owner: Owner) {
        self.lock().retain(|_, (_, call)| call.owner != owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(owner: Owner) -> Parked {
        let (_, asks) = Line::new();
        let work = Work(tokio::spawn(std::future::pending()));
        Parked { owner, server: "notes".to_owned(), work, asks, open: Vec::new(), next_key: 1 }
    }

    #[tokio::test]
    async fn a_handle_is_good_once_and_only_for_whose_it_is() {
        let park = Park::default();
        let handle = park.put(call(Owner::Client(1))).unwrap();
        assert!(park.take(&handle, Owner::Client(2)).unwrap().is_err());
        assert!(park.take(&handle, Owner::Anybody).unwrap().is_err());
        assert!(park.take(&handle, Owner::Client(1)).unwrap().is_ok());
        assert!(park.take(&handle, Owner::Client(1)).unwrap().is_err());
        assert!(park.take("a note of a server", Owner::Client(1)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn calls_nobody_comes_back_for_make_room_and_end() {
        let park = Park::default();
        let first = park.put(call(Owner::Anybody)).unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        for _ in 0..MOST {
            park.put(call(Owner::Anybody)).unwrap();
        }
        assert_eq!(park.lock().len(), MOST);
        assert!(park.take(&first, Owner::Anybody).unwrap().is_err());
        tokio::time::advance(PATIENCE).await;
        assert_eq!(park.lock().len(), 0);
        park.put(call(Owner::Client(7))).unwrap();
        park.leave(Owner::Client(7));
        assert_eq!(park.lock().len(), 0);
    }
}
