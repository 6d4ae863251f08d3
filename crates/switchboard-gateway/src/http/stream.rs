//! A stream of messages to a client, as events of the kind browsers know. What was sent is kept for a while, so that a
//! client that lost its connection can go on where it was.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::Notify;

/// Bytes of past messages that are kept.
const KEPT: usize = 4 * 1024 * 1024;
/// Something is said at least so often, so that nobody in between takes the connection for dead.
const PULSE: Duration = Duration::from_secs(15);

/// Who lost a stream comes back after so long.
const RETRY_MS: u64 = 1000;

/// Messages in order, to be read from any point on.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    messages: VecDeque<Bytes>,
    /// The number of the first that is kept.
    first: usize,
    bytes: usize,
    is_done: bool,
}

/// What comes next on a tape.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Message(usize, Bytes),
    End,
}

impl Tape {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, message: Bytes) {
        let mut state = self.lock();
        state.bytes += message.len();
        state.messages.push_back(message);
        while state.bytes > KEPT && state.messages.len() > 1 {
            let gone = state.messages.pop_front().map_or(0, |gone| gone.len());
            state.bytes -= gone;
            state.first += 1;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    pub(crate) fn finish(&self) {
        self.lock().is_done = true;
        self.changed.notify_waiters();
    }

    /// The message of that number, or the first one after it that is kept.
    pub(crate) async fn next(&self, from: usize) -> Next {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let state = self.lock();
                let at = from.max(state.first);
                if let Some(message) = state.messages.get(at - state.first) {
                    return Next::Message(at, message.clone());
                }
                if state.is_done {
                    return Next::End;
                }
            }
            changed.await;
        }
    }

    /// How many messages there were so far.
    pub(crate) fn len(&self) -> usize {
        let state = self.lock();
        state.first + state.messages.len()
    }
}

/// The tape as the body of an answer, from a message on. `name` is what a client calls it by when it comes back.
pub(crate) fn body(tape: Arc<Tape>, name: u64, from: usize, is_primed: bool) -> Body {
    // A client that has a number before the first message can come back for all of them.
    let prime = is_primed.then(|| Bytes::from(format!("id: {name}-{from}\nretry: {RETRY_MS}\ndata: \n\n")));
    let events = stream::unfold((tape, from, prime), move |(tape, at, prime)| async move {
        if let Some(prime) = prime {
            return Some((Ok::<_, std::convert::Infallible>(prime), (tape, at, None)));
        }
        match tokio::time::timeout(PULSE, tape.next(at)).await {
            Err(_) => Some((Ok(Bytes::from_static(b": still here\n\n")), (tape, at, None))),
            Ok(Next::End) => None,
            Ok(Next::Message(at, message)) => {
                Some((Ok(event(&format!("{name}-{}", at + 1), &message)), (tape, at + 1, None)))
            }
        }
    });
    Body::from_stream(events)
}

/// A message is one line of JSON, so it is one line of data.
pub(crate) fn event(id: &str, message: &Bytes) -> Bytes {
    let mut text = Vec::with_capacity(message.len() + 64);
    text.extend_from_slice(b"event: message\n");
    if !id.is_empty() {
        text.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    text.extend_from_slice(b"data: ");
    text.extend_from_slice(message);
    text.extend_from_slice(b"\n\n");
    Bytes::from(text)
}

/// Where to go on, from the last event a client saw.
pub(crate) fn place(last: &str) -> Option<(u64, usize)> {
    let (name, at) = last.split_once('-')?;
    Some((name.parse().ok()?, at.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_tape_is_read_from_any_point_and_ends() {
        let tape = Tape::default();
        tape.push(Bytes::from_static(b"a"));
        tape.push(Bytes::from_static(b"b"));
        assert_eq!(tape.next(0).await, Next::Message(0, Bytes::from_static(b"a")));
        assert_eq!(tape.next(1).await, Next::Message(1, Bytes::from_static(b"b")));
        tape.finish();
        assert_eq!(tape.next(2).await, Next::End);
        assert_eq!((place("7-2"), place("x"), place("7-"), place("-")), (Some((7, 2)), None, None, None));
    }

    #[tokio::test]
    async fn what_is_too_much_to_keep_is_forgotten_from_its_start() {
        let tape = Tape::default();
        for _ in 0..5 {
            tape.push(Bytes::from(vec![b'x'; KEPT / 2]));
        }
        assert!(matches!(tape.next(0).await, Next::Message(3, _)));
        assert_eq!(tape.len(), 5);
    }
}
