//! Where each incoming message goes.
//!
//! In: whatever a transport read. Out: the answer to the one who waits for it, progress before the result it belongs
//! to, questions to the host, everything else to the queue of notices. It never waits, so no reader of a stream can be
//! held up by a slow consumer. `said` is about what asks for no answer.

mod said;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::error::Cause;
use super::glance::{id_in, is_of_the_server};
use super::ledger::{Beat, Ledger, Pending, Wants};
use super::log::{Direction, End, Log};
use super::message::{self, AnswerId, Fault, Incoming};
use super::notices::Notices;
use super::pace::Pace;
use super::peer::Rules;
use super::stage::Stage;
use super::tasks;
use super::thoughts::Thoughts;
use super::trace::Trace;
use super::whose::{Choice, Open, choose};
use crate::host::Behalf;
use crate::json::Json;
use crate::notice::Notice;
use crate::secret::Secrets;
use crate::visible::excerpt;

/// Beats of one request that wait to be seen.
const BEATS: usize = 64;
/// Bytes that are kept of a line that is no message.
const NOISE: usize = 4096;
/// Questions of the server that wait to be looked at.
const QUESTIONS: usize = 64;
/// KiB of questions that wait or are thought about. One that is larger needs all of it.
const QUESTION_ROOM: u32 = 4 * 1024;

/// Something the server wants from us.
#[derive(Debug)]
pub(crate) enum Question {
    Ask {
        id: Json,
        method: String,
        params: Option<Json>,
        /// Who answers it.
        whose: Whose,
        /// Held until it is answered.
        room: OwnedSemaphorePermit,
    },
    /// One there is no room for.
    NoRoom { id: Json },
    /// It does not want to know any more.
    Withdrawn { id: Json },
    /// It made a task of a call that nobody waits for any more.
    Unwanted { task: String, rules: Rules },
}

/// Who answers a question.
#[derive(Debug, Clone)]
pub(crate) enum Whose {
    /// It is about no request that somebody else answers for.
    Nobody,
    /// It is about a request of theirs.
    Theirs(Behalf),
    /// It is about one of several.
    Unclear,
}

/// The answer to a POST comes back on it; a message on a common stream could be anybody's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Via {
    /// The one stream of a connection.
    Common,
    /// The whole body of an answer to that request.
    Body(u64),
    /// The event stream that answers that request.
    Stream(u64),
}

#[derive(Debug)]
pub(crate) struct Router {
    // Held for a few instructions, never across a wait.
    state: Mutex<Ledger>,
    questions: mpsc::Sender<Question>,
    question_room: Arc<Semaphore>,
    lost: watch::Sender<Option<Cause>>,
    pub(crate) notices: Notices,
    /// How fast it may talk unasked.
    pub(crate) pace: Pace,
    pub(crate) trace: Option<Arc<Trace>>,
    pub(crate) log: Arc<Log>,
    next_id: AtomicU64,
    noise: AtomicU64,
    stray: AtomicU64,
    /// The start of the first line that was no message, and why it is none.
    first_noise: OnceLock<(String, String)>,
    /// Questions somebody is thinking about; meanwhile the patience of those they are about does not run out.
    pub(crate) thinking: Arc<Thoughts>,
}

/// One request on its way. Dropping it forgets the request; an answer that comes later is a stray.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) id: u64,
    pub(crate) reply: oneshot::Receiver<Result<Json, Cause>>,
    pub(crate) beats: Option<mpsc::Receiver<Beat>>,
    pub(crate) stage: Arc<Stage>,
    router: Arc<Router>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.router.forget(self.id);
    }
}

impl Ticket {
    pub(crate) fn log(&self) -> &Log {
        &self.router.log
    }
}

impl Router {
    pub(crate) fn new(
        trace: Option<Arc<Trace>>,
        log: &Arc<Log>,
        unasked: Option<u32>,
    ) -> (Arc<Self>, mpsc::Receiver<Question>) {
        let (questions, receiver) = mpsc::channel(QUESTIONS);
        let router = Self {
            state: Mutex::default(),
            questions,
            question_room: Arc::new(Semaphore::new(QUESTION_ROOM as usize)),
            lost: watch::Sender::new(None),
            notices: Notices::default(),
            pace: Pace::new(unasked),
            trace,
            log: Arc::clone(log),
            next_id: AtomicU64::new(1),
            noise: AtomicU64::new(0),
            stray: AtomicU64::new(0),
            first_noise: OnceLock::new(),
            thinking: Arc::default(),
        };
        (Arc::new(router), receiver)
    }

    /// Opens an entry. Fails with what was lost if the connection is gone.
    pub(crate) fn register(
        self: &Arc<Self>,
        wants: Wants,
        method: &str,
        behalf: Option<Behalf>,
    ) -> Result<Ticket, Cause> {
        let id = self.fresh_id();
        let (reply, receiver) = oneshot::channel();
        let (beats, beat_receiver) = match wants {
            Wants::Answer => (None, None),
            Wants::Progress | Wants::Subscription => {
                let (sender, receiver) = mpsc::channel(BEATS);
                (Some(sender), Some(receiver))
            }
        };
        let mut state = self.lock();
        // Looked at under the lock: `lose` sets it first and then empties the ledger.
        if let Some(cause) = self.lost.borrow().clone() {
            return Err(cause);
        }
        let started = Instant::now();
        state.pending.insert(id, Pending { id, method: method.into(), started, reply, beats, wants, behalf });
        let router = Arc::clone(self);
        Ok(Ticket { id, reply: receiver, beats: beat_receiver, stage: Arc::default(), router })
    }

    /// An id for a request whose answer nobody waits for.
    pub(crate) fn fresh_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn is_pending(&self, id: u64) -> bool {
        self.lock().pending.contains_key(&id)
    }

    fn forget(&self, id: u64) {
        let forgotten = {
            let mut state = self.lock();
            let forgotten = state.pending.remove(&id);
            if forgotten.as_ref().is_some_and(|entry| &*entry.method == "tools/call") {
                state.forsake(id);
            }
            forgotten
        };
        if let Some(entry) = forgotten {
            self.note_end(&entry, End::Nothing, 0);
        }
        // A question that could be about several may be clear now.
        self.thinking.tell();
    }

    fn note_end(&self, entry: &Pending, end: End, bytes: usize) {
        self.log.ended(entry.id, &entry.method, end, (bytes, entry.started.elapsed()));
    }

    /// The connection is gone: everybody who waits is told, once.
    pub(crate) fn lose(&self, cause: &Cause) {
        let pending = {
            let mut state = self.lock();
            let first = self.lost.send_if_modified(|lost| {
                let is_first = lost.is_none();
                lost.get_or_insert_with(|| cause.clone());
                is_first
            });
            if !first {
                return;
            }
            std::mem::take(&mut state.pending)
        };
        let mut pending: Vec<Pending> = pending.into_values().collect();
        pending.sort_unstable_by_key(|entry| entry.id);
        for entry in pending {
            self.note_end(&entry, End::Nothing, 0);
            entry.answer(Err(cause.clone()));
        }
    }

    /// Resolves when the connection is gone, with the reason.
    pub(crate) async fn lost(&self) -> Cause {
        let mut lost = self.lost.subscribe();
        match lost.wait_for(Option::is_some).await.map(|cause| cause.clone()) {
            Ok(Some(cause)) => cause,
            Ok(None) | Err(_) => Cause::Closed,
        }
    }

    /// The reason why the connection is gone, if it is.
    pub(crate) fn why_lost(&self) -> Option<Cause> {
        self.lost.borrow().clone()
    }

    /// Takes one text of a stream. False if there was nothing in it that anybody waits for.
    pub(crate) fn deliver(&self, text: &Bytes, via: Via) -> bool {
        if let Some(trace) = &self.trace {
            trace.received(text);
        }
        let mut is_awaited = false;
        for message in message::decode(text) {
            match message {
                Ok(Incoming::Response { id, outcome }) => {
                    is_awaited |= self.answer(id, outcome, via, text.len());
                }
                Ok(Incoming::Request { id, method, params }) => {
                    self.log.was_asked(id.as_str(), &method, text.len());
                    self.ask(id, method, params, via);
                }
                Ok(Incoming::Notification { method, params }) => {
                    self.log.said(Direction::Received, &method, text.len());
                    self.notify(method, params, via);
                }
                Err(why) => {
                    self.log.noise(text.len());
                    self.count_noise(text, &why);
                }
            }
        }
        if is_awaited {
            self.pace.answered();
        } else {
            self.pace.unasked(text.len());
        }
        is_awaited
    }

    /// False if nobody waited for it.
    fn answer(&self, id: AnswerId, outcome: Result<Json, Fault>, via: Via, bytes: usize) -> bool {
        let entry = {
            let mut state = self.lock();
            let named = match id {
                AnswerId::Number(number) => state.pending.remove(&number),
                AnswerId::Missing | AnswerId::Foreign => None,
            };
            named.or_else(|| match via {
                Via::Body(request) => state.pending.remove(&request),
                // On a stream only an error may lack the id of the request it answers.
                Via::Stream(request) if outcome.is_err() || id == AnswerId::Missing => {
                    state.pending.remove(&request)
                }
                Via::Common if id == AnswerId::Missing => state.only(),
                Via::Stream(_) | Via::Common => None,
            })
        };
        let Some(entry) = entry else {
            self.log.noise(bytes);
            self.stray.fetch_add(1, Ordering::Relaxed);
            self.end_task_of(id, outcome.as_ref().ok());
            return false;
        };
        self.note_end(&entry, if outcome.is_ok() { End::Ok } else { End::Error }, bytes);
        entry.answer(outcome.map_err(|fault| match fault {
            Fault::Rpc(error) => Cause::Rpc(error),
            Fault::Malformed(why) => Cause::Malformed { why },
        }));
        true
    }

    /// An answer came after the call was given up. If it is a task, that goes on for nobody.
    fn end_task_of(&self, id: AnswerId, result: Option<&Json>) {
        let AnswerId::Number(id) = id else { return };
        let Some((task, rules)) = result.and_then(tasks::created) else { return };
        if self.lock().is_forsaken(id) {
            self.pass_on(Question::Unwanted { task, rules });
        }
    }

    /// A message over the limit: the request it answers is told at once, if its start names one; else everyone is.
    pub(crate) fn overflow(&self, head: &[u8], limit: usize) {
        // Something the server says of its own is nobody's answer.
        if is_of_the_server(head) {
            self.stray.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let named = id_in(head);
        let entries: Vec<Pending> = {
            let mut state = self.lock();
            match named {
                Some(id) => state.pending.remove(&id).into_iter().collect(),
                None => std::mem::take(&mut state.pending).into_values().collect(),
            }
        };
        for entry in entries {
            self.note_end(&entry, End::Nothing, limit);
            entry.answer(Err(Cause::TooLarge { limit }));
        }
    }

    /// A server that asks faster than anybody can answer loses its questions, not our memory.
    fn ask(&self, id: Json, method: String, params: Option<Json>, via: Via) {
        if is_for_clients(&method) {
            self.notices.push(Notice::Asked);
        }
        // A sign of life can be given by anybody.
        let whose = if method == "ping" { Whose::Nobody } else { self.whose(via) };
        let kib = params.as_ref().map_or(0, Json::len) / 1024 + 1;
        let kib = u32::try_from(kib).unwrap_or(QUESTION_ROOM).min(QUESTION_ROOM);
        match Arc::clone(&self.question_room).try_acquire_many_owned(kib) {
            Ok(room) => self.pass_on(Question::Ask { id, method, params, whose, room }),
            // Its number is small enough to keep, so that it is told.
            Err(_) => self.pass_on(Question::NoRoom { id }),
        }
    }

    fn pass_on(&self, question: Question) {
        if self.questions.try_send(question).is_err() {
            self.stray.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Who answers a question that came this way, as things are now.
    pub(crate) fn whose(&self, via: Via) -> Whose {
        let state = self.lock();
        let theirs = |behalf: Option<&Behalf>| behalf.cloned().map_or(Whose::Nobody, Whose::Theirs);
        if let Via::Body(id) | Via::Stream(id) = via {
            return theirs(state.pending.get(&id).and_then(|pending| pending.behalf.as_ref()));
        }
        let mut open: Vec<(u64, &Behalf)> = state
            .pending
            .values()
            .filter_map(|pending| Some((pending.id, pending.behalf.as_ref()?)))
            .collect();
        open.sort_unstable_by_key(|(id, _)| *id);
        let is_asked = |owner: u64| self.thinking.of(Some(owner)).open > 0;
        let requests: Vec<Open> = open
            .iter()
            .map(|(_, behalf)| Open { owner: behalf.owner, is_asked: is_asked(behalf.owner) })
            .collect();
        match choose(&requests) {
            Choice::Nobody => Whose::Nobody,
            Choice::At(at) => theirs(open.get(at).map(|(_, behalf)| *behalf)),
            Choice::Unclear => Whose::Unclear,
        }
    }

    fn count_noise(&self, text: &Bytes, why: &str) {
        self.noise.fetch_add(1, Ordering::Relaxed);
        self.first_noise.get_or_init(|| {
            let line = String::from_utf8_lossy(&text[..text.len().min(NOISE)]).into_owned();
            (line, why.to_owned())
        });
    }

    /// How many lines were no messages, and the first of them. Secrets go before it is cut: half of one is still one.
    pub(crate) fn noise(&self, secrets: &Secrets) -> (u64, Option<String>) {
        let first = self
            .first_noise
            .get()
            .map(|(line, why)| format!("{} ({why})", excerpt(&secrets.scrub(line), 200)));
        (self.noise.load(Ordering::Relaxed), first)
    }

    /// Answers nobody waited for.
    pub(crate) fn strays(&self) -> u64 {
        self.stray.load(Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether only a client can answer it.
fn is_for_clients(method: &str) -> bool {
    matches!(method, "roots/list" | "elicitation/create" | "sampling/createMessage")
}
