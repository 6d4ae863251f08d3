//! A request under way, and how its answer goes out: at once and alone, or on a stream that can be taken up again.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use switchboard::json::Json;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};

use super::stream::Tape;
use crate::rpc::{self, RpcError};

/// An answer within this time needs no stream.
const PROMPT: Duration = Duration::from_millis(50);
/// Timers of a session that are kept.
const TIMERS: usize = 64;

/// Most requests are answered by one message, and that is the answer to the POST. What takes longer, or has something to say
/// before, gets a stream, so that the client can come back for it.
pub(super) async fn promptly<W>(
    mut work: Lasting<W>,
    mut said: mpsc::Receiver<Bytes>,
    (tape, timers): (&Arc<Tape>, &Timers),
) -> Settled
where
    W: Future<Output = Settled> + Send + 'static,
{
    let mut late = timers.take(PROMPT);
    let settled = tokio::select! {
        biased;
        Some(first) = said.recv() => {
            tape.push(first);
            None
        }
        settled = work.end() => Some(settled),
        () = &mut late => None,
    };
    timers.give_back(late);
    match settled {
        Some(Some(settled)) if said.is_empty() => return Some(settled),
        Some(settled) => finish(settled, said, tape),
        None => {
            let tape = Arc::clone(tape);
            tokio::spawn(async move {
                let settled = loop {
                    tokio::select! {
                        biased;
                        Some(text) = said.recv() => tape.push(text),
                        settled = work.end() => break settled,
                    }
                };
                finish(settled, said, &tape);
            });
        }
    }
    None
}

/// Timers to be used again. A new one that is due before all others wakes the thread that waits for timers, which is a call
/// of the system; one that is only put off does not.
#[derive(Debug, Default)]
pub(super) struct Timers(Mutex<Vec<Pin<Box<Sleep>>>>);

impl Timers {
    fn take(&self, after: Duration) -> Pin<Box<Sleep>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(mut timer) = kept else { return Box::pin(sleep(after)) };
        timer.as_mut().reset(Instant::now() + after);
        timer
    }

    fn give_back(&self, timer: Pin<Box<Sleep>>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < TIMERS {
            kept.push(timer);
        }
    }
}

/// What is left to say, and the answer.
fn finish(settled: Settled, mut said: mpsc::Receiver<Bytes>, tape: &Tape) {
    while let Ok(text) = said.try_recv() {
        tape.push(text);
    }
    if let Some((id, outcome)) = settled {
        tape.push(rpc::answer(&id, &outcome));
    }
    tape.finish();
}

/// The id of a request, and what came of it. Nothing for one that was taken back, which gets no answer.
pub(super) type Settled = Option<(Json, Result<Json, RpcError>)>;

/// A request under way. When nobody waits for it any more, it goes on by itself: it was made, and may come to something.
pub(super) struct Lasting<W: Future<Output = Settled> + Send + 'static>(Option<Pin<Box<W>>>);

impl<W: Future<Output = Settled> + Send + 'static> Lasting<W> {
    pub(super) fn new(work: W) -> Self {
        Self(Some(Box::pin(work)))
    }

    async fn end(&mut self) -> Settled {
        let settled = self.0.as_mut()?.await;
        self.0 = None;
        settled
    }
}

impl<W: Future<Output = Settled> + Send + 'static> Drop for Lasting<W> {
    fn drop(&mut self) {
        // Without a runtime everything is over anyway.
        if let (Some(work), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            drop(runtime.spawn(work));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;
    use crate::http::stream::Next;

    #[tokio::test]
    async fn what_nobody_waits_for_goes_on() {
        let (go, gone) = oneshot::channel();
        let (tell, told) = oneshot::channel();
        let mut work = Lasting::new(async move {
            let _went: Result<(), _> = gone.await;
            tell.send(()).unwrap();
            None
        });
        // Begun, and then left alone.
        assert!(futures_util::poll!(std::pin::pin!(work.end())).is_pending());
        drop(work);
        go.send(()).unwrap();
        told.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_comes_soon_and_alone_needs_no_stream() {
        let timers = Timers::default();
        for (wait, says, is_prompt) in
            [(0, false, true), (40, false, true), (60, false, false), (0, true, false)]
        {
            let tape: Arc<Tape> = Arc::default();
            let (lane, said) = mpsc::channel(8);
            let work = Lasting::new(async move {
                sleep(Duration::from_millis(wait)).await;
                if says {
                    lane.send(Bytes::from_static(b"meanwhile")).await.unwrap();
                }
                Some((Json::null(), Ok(Json::null())))
            });
            let prompt = promptly(work, said, (&tape, &timers)).await;
            assert_eq!(prompt.is_some(), is_prompt, "{wait} {says}");
            if !is_prompt {
                let last = usize::from(says);
                let Next::Message(at, text) = tape.next(last).await else { panic!("an answer") };
                assert_eq!((at, text), (last, rpc::answer(&Json::null(), &Ok(Json::null()))));
                assert_eq!(tape.next(last + 1).await, Next::End);
            }
        }
    }
}
