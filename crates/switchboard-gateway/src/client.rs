//! One client: what it said of itself, what it waits for, and what it was asked.
//!
//! A client with a handshake is one for as long as its connection or session lives. In the modern protocol every request
//! stands for itself; then a client is whoever is at the other end of the pipe, or a single request.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};
use switchboard::digest;
use switchboard::host::Refusal;
use switchboard::json::Json;
use switchboard::notice::{LEVELS, rank};
use switchboard::wire::Era;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::facet::Facet;
use crate::rpc::{self, NOT_FOUND, RpcError};
use crate::seats::Holder;

/// How long a client is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stay {
    Connected,
    OneRequest,
}

/// Who may go on with a call that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Client(u64),
    /// Requests that stand for themselves come from nobody in particular: whoever is let in and knows the handle.
    Anybody,
}

/// What a client said in its handshake.
#[derive(Debug, Clone)]
pub(crate) struct Greeting {
    pub(crate) version: String,
    pub(crate) capabilities: Json,
    /// The same for servers of the modern protocol.
    pub(crate) passed_on: Json,
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: u64,
    /// Who can take up again what this client left waiting.
    pub(crate) owner: Owner,
    pub(crate) greeting: OnceLock<Greeting>,
    /// What it sees, once that is known: by the door it came in, or by its name.
    facet: OnceLock<Facet>,
    /// What it came in with, as a hash: the same for all who may be taken for one another.
    pub(crate) badge: OnceLock<String>,
    /// What is not about a request of its own goes here; what finds no room is dropped.
    pub(crate) post: mpsc::Sender<Bytes>,
    /// Nothing more comes from it: no answer, and nobody who wants to hear of changes.
    pub(crate) hung_up: CancellationToken,
    state: Mutex<State>,
    next_question: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Log lines from this level on.
    level: Option<usize>,
    /// Its requests, by id, with what ends them.
    under_way: HashMap<String, CancellationToken>,
    /// Our questions to it.
    questions: HashMap<u64, oneshot::Sender<Result<Json, Refusal>>>,
    /// The resources it wants to hear of: server and address.
    uris: BTreeSet<(String, String)>,
    /// The streams it listens on, by the id of the request.
    listening: BTreeMap<String, Listening>,
    /// The tools there were when it searched last.
    searched: Option<Arc<Vec<String>>>,
}

/// What a modern client wants to hear of.
#[derive(Debug, Clone)]
pub(crate) struct Listening {
    pub(crate) id: Json,
    pub(crate) facet: Facet,
    pub(crate) lists: BTreeSet<crate::view::List>,
    pub(crate) uris: BTreeSet<(String, String)>,
    pub(crate) tasks: BTreeSet<(String, String)>,
    pub(crate) lane: mpsc::Sender<Bytes>,
}

impl Client {
    pub(crate) fn new(id: u64, stay: Stay, post: mpsc::Sender<Bytes>) -> Self {
        let owner = match stay {
            Stay::Connected => Owner::Client(id),
            Stay::OneRequest => Owner::Anybody,
        };
        let (greeting, facet, state) = (OnceLock::new(), OnceLock::new(), Mutex::default());
        let hung_up = CancellationToken::new();
        let badge = OnceLock::new();
        Self { id, owner, greeting, facet, badge, post, hung_up, state, next_question: AtomicU64::new(1) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it sees from now on, unless that was decided before.
    pub(crate) fn enter(&self, facet: Facet) {
        let _decided = self.facet.set(facet);
    }

    /// What it sees, if that was decided.
    pub(crate) fn decided(&self) -> Option<Facet> {
        self.facet.get().cloned()
    }

    /// What it sees.
    pub(crate) fn facet(&self) -> Facet {
        self.decided().unwrap_or_default()
    }

    /// It searches these tools now; gives those of the time before, if there was one.
    pub(crate) fn searched(&self, names: Arc<Vec<String>>) -> Option<Arc<Vec<String>>> {
        self.lock().searched.replace(names)
    }

    /// Whether a tool was there when it searched last.
    pub(crate) fn has_seen(&self, name: &str) -> bool {
        self.lock().searched.as_ref().is_some_and(|names| names.iter().any(|known| known == name))
    }

    /// Notes a request; false if one of that id is under way already.
    pub(crate) fn begin(&self, id: &Json, stop: &CancellationToken) -> bool {
        let mut state = self.lock();
        let is_new = !state.under_way.contains_key(id.as_str());
        if is_new {
            state.under_way.insert(id.as_str().to_owned(), stop.clone());
        }
        is_new
    }

    pub(crate) fn end(&self, id: &Json) {
        self.lock().under_way.remove(id.as_str());
    }

    /// The client does not want to know any more.
    pub(crate) fn cancel(&self, id: &Json) {
        if let Some(stop) = self.lock().under_way.remove(id.as_str()) {
            stop.cancel();
        }
    }

    /// Everything ends: the client is gone.
    pub(crate) fn leave(&self) {
        self.hung_up.cancel();
        let mut state = self.lock();
        for (_, stop) in state.under_way.drain() {
            stop.cancel();
        }
        state.questions.clear();
        state.listening.clear();
        state.uris.clear();
    }

    /// Asks the client, on the stream of the request it is about.
    pub(crate) async fn ask(
        &self,
        lane: &mpsc::Sender<Bytes>,
        method: &str,
        params: Option<Json>,
    ) -> Result<Json, Refusal> {
        let gone = || Refusal { code: rpc::INTERNAL, message: "the client is gone".to_owned() };
        let id = self.next_question.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        self.lock().questions.insert(id, reply);
        let open = Open { client: self, id };
        lane.send(rpc::question(id, method, params)).await.map_err(|_| gone())?;
        let answer = tokio::select! {
            answer = answer => answer.map_err(|_| gone())?,
            () = self.hung_up.cancelled() => Err(gone()),
        };
        drop(open);
        answer
    }

    /// The client answers one of our questions. What was not asked is dropped.
    pub(crate) fn answered(&self, id: &Json, outcome: Result<Json, Refusal>) {
        let id = id.as_str().trim_matches('"').parse::<u64>().ok();
        let reply = id.and_then(|id| self.lock().questions.remove(&id));
        if let Some(reply) = reply {
            // Whoever asked may have gone.
            let _gone = reply.send(outcome);
        }
    }

    pub(crate) fn set_level(&self, level: &str) -> Result<(), RpcError> {
        let place = LEVELS.iter().position(|known| *known == level);
        let place = place.ok_or_else(|| RpcError::params("there is no such level"))?;
        self.lock().level = Some(place);
        Ok(())
    }

    /// The least level of log lines it wants, if it wants any.
    pub(crate) fn level(&self) -> Option<&'static str> {
        self.lock().level.and_then(|level| LEVELS.get(level).copied())
    }

    /// Whether it wants log lines of this level.
    pub(crate) fn wants(&self, level: &str) -> bool {
        self.level().is_some_and(|least| rank(level) >= rank(least))
    }

    pub(crate) fn subscribe(&self, uri: (String, String)) -> bool {
        self.lock().uris.insert(uri)
    }

    pub(crate) fn unsubscribe(&self, uri: &(String, String)) -> bool {
        self.lock().uris.remove(uri)
    }

    pub(crate) fn is_subscribed(&self, uri: &(String, String)) -> bool {
        self.lock().uris.contains(uri)
    }

    pub(crate) fn listen(&self, listening: Listening) {
        self.lock().listening.insert(listening.id.as_str().to_owned(), listening);
    }

    pub(crate) fn stop_listening(&self, id: &Json) {
        self.lock().listening.remove(id.as_str());
    }

    pub(crate) fn listening(&self) -> Vec<Listening> {
        self.lock().listening.values().cloned().collect()
    }

    /// Every resource anybody at this client wants to hear of.
    pub(crate) fn uris(&self) -> BTreeSet<(String, String)> {
        let state = self.lock();
        let listened = state.listening.values().flat_map(|listening| listening.uris.iter());
        state.uris.iter().chain(listened).cloned().collect()
    }
}

/// A question that waits. Dropping it forgets it.
struct Open<'a> {
    client: &'a Client,
    id: u64,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.client.lock().questions.remove(&self.id);
    }
}

/// What a client has to have said before it is asked this; nothing if nobody can be.
pub(crate) fn required(method: &str, params: Option<&Json>) -> Option<Value> {
    let is_url = params.and_then(|params| params.get("mode")?.text()).as_deref() == Some("url");
    match method {
        "roots/list" => Some(json!({"roots": {}})),
        "sampling/createMessage" => Some(json!({"sampling": {}})),
        "elicitation/create" if is_url => Some(json!({"elicitation": {"url": {}}})),
        "elicitation/create" => Some(json!({"elicitation": {"form": {}}})),
        _ => None,
    }
}

/// Whether whoever said so can be asked this.
pub(crate) fn can_answer(capabilities: &Json, method: &str, params: Option<&Json>) -> Result<(), Refusal> {
    let refuse = || Refusal { code: NOT_FOUND, message: format!("the client cannot be asked for {method}") };
    let required = required(method, params).ok_or_else(refuse)?;
    for (name, settings) in required.as_object().into_iter().flatten() {
        let said = capabilities.get(name).ok_or_else(refuse)?;
        let modes = settings.as_object().into_iter().flat_map(serde_json::Map::keys);
        // Who names no kind of question means forms.
        let has = |mode: &str| said.get(mode).is_some() || (mode == "form" && said.get("url").is_none());
        if !modes.into_iter().all(|mode| has(mode)) {
            return Err(refuse());
        }
    }
    Ok(())
}

/// Who asks, by one request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) client: Arc<Client>,
    pub(crate) era: Era,
    /// What it sees.
    pub(crate) facet: Facet,
    pub(crate) capabilities: Json,
    /// What it calls itself.
    pub(crate) info: Option<Json>,
    /// The log lines it wants about this request.
    pub(crate) log_level: Option<String>,
    /// What it wants progress to be marked with.
    pub(crate) progress: Option<Json>,
    /// The stream of this request.
    pub(crate) lane: mpsc::Sender<Bytes>,
}

impl Caller {
    /// Whether it said that it can be asked this.
    pub(crate) fn can_answer(&self, method: &str, params: Option<&Json>) -> Result<(), Refusal> {
        can_answer(&self.capabilities, method, params)
    }

    /// Whose requests this one is like, for connections that are not shared.
    pub(crate) fn holder(&self) -> Holder {
        if self.era == Era::Handshake {
            return Holder::Client(self.client.id);
        }
        let pipe = match self.client.owner {
            Owner::Client(id) => Some(id),
            Owner::Anybody => None,
        };
        let info = self.info.as_ref().map(Json::as_str);
        let said = json!([self.client.badge.get(), info, self.capabilities.as_str()]).to_string();
        Holder::Alike { pipe, said: digest::hex(said.as_bytes()) }
    }

    /// Whether it wants log lines of this level about this request.
    pub(crate) fn wants(&self, level: &str) -> bool {
        self.log_level.as_deref().is_some_and(|least| rank(level) >= rank(least))
    }

    /// Whether it knows an extension of the protocol.
    pub(crate) fn knows(&self, extension: &str) -> bool {
        self.capabilities.get("extensions").is_some_and(|known| known.get(extension).is_some())
    }

    /// Says something on the stream of this request. What finds no room is dropped: the next one tells more.
    pub(crate) fn say(&self, text: Bytes) {
        let _full_or_gone = self.lane.try_send(text);
    }
}
