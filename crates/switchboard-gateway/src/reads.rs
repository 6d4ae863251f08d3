//! Resources that were read, for as long as their server says they stay true. Memory only, and bounded.
//!
//! What is for whoever asked is kept for that client alone; what is for everybody, for everybody. A result that came after
//! questions is not kept: it may depend on the answers. What may have changed is forgotten, and a result that was under
//! way meanwhile is not kept either.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::json::Json;
use switchboard::offer::{CacheHint, ReadResult};
use switchboard::wire::Era;

use crate::call::{self, Target};
use crate::client::{Caller, Owner};
use crate::hub::Hub;
use crate::route;
use crate::rpc::RpcError;

/// Larger results are not kept.
const LARGEST: usize = 256 * 1024;
/// Bytes of all results.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Results.
const MOST: usize = 1024;

/// Answers `resources/read`.
pub(crate) async fn read(hub: &Arc<Hub>, caller: &Caller, params: &Json) -> Result<Json, RpcError> {
    let uri = route::text(params, "uri")?;
    let view = hub.view_of(&caller.facet);
    let (server, theirs) = view.inward(&uri).ok_or_else(|| route::no_resource(&uri, caller.era))?;
    let wanted = Wanted { server, uri: theirs, reader: reader(caller), era: caller.era };
    let is_plain = is_plain(hub, server, params);
    if is_plain && let Some((result, left)) = hub.reads.get(&wanted, Instant::now()) {
        let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        return Ok(result.with("ttlMs", json!(left).into()));
    }
    let moment = hub.reads.moment(server);
    let params = params.with("uri", json!(theirs).into());
    let target = Target::Of { server: server.to_owned(), method: "resources/read" };
    let read = call::relay(hub, caller, target, params).await;
    let result = read.map_err(|error| route::under_our_name(error, "uri", &uri))?;
    if is_plain
        && !may_have_been_asked(caller)
        && let Some(hint) = keepable(&result)
    {
        hub.reads.put(&wanted, (result.clone(), hint), moment, Instant::now());
    }
    Ok(result)
}

/// Whose memory it is.
fn reader(caller: &Caller) -> Option<u64> {
    match caller.client.owner {
        Owner::Client(id) => Some(id),
        Owner::Anybody => None,
    }
}

/// Whether the answer depends on nothing but the address: no answers to questions, and a server that knows of hints.
fn is_plain(hub: &Hub, server: &str, params: &Json) -> bool {
    let fields = params.fields();
    fields.iter().all(|(name, _)| matches!(name.as_str(), "uri" | "_meta"))
        && hub.session.facts(server).is_some_and(|facts| facts.era == Era::Modern)
}

/// Whether questions may have been put to the client on the way. A modern one is asked by a result of its own kind.
fn may_have_been_asked(caller: &Caller) -> bool {
    caller.era == Era::Handshake
        && ["elicitation", "sampling", "roots"].iter().any(|name| caller.capabilities.get(name).is_some())
}

/// How long a result may be kept, if it may.
fn keepable(result: &Json) -> Option<CacheHint> {
    if result.len() > LARGEST || !result.mentions("ttlMs") {
        return None;
    }
    let kind = result.get("resultType").and_then(|kind| kind.text());
    let hint = ReadResult::read(result).ok()?.hint;
    (kind.is_none_or(|kind| kind == "complete") && hint.fresh_for.is_some_and(|fresh| !fresh.is_zero()))
        .then_some(hint)
}

/// What is read, and by whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) server: &'a str,
    pub(crate) uri: &'a str,
    /// The client; none if it is nobody in particular.
    pub(crate) reader: Option<u64>,
    pub(crate) era: Era,
}

/// What is remembered of one resource, for one client or for everybody.
#[derive(Debug)]
struct Memory {
    server: String,
    uri: String,
    /// None is everybody.
    reader: Option<u64>,
    era: Era,
    result: Json,
    until: Instant,
}

impl Memory {
    fn is_of(&self, wanted: &Wanted<'_>) -> bool {
        self.server == wanted.server
            && self.uri == wanted.uri
            && self.era == wanted.era
            && (self.reader.is_none() || self.reader == wanted.reader)
    }
}

/// How often something was forgotten, when a request began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(u64);

#[derive(Debug, Default)]
pub(crate) struct Reads {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    memories: HashMap<(String, String), Vec<Memory>>,
    n: usize,
    bytes: usize,
    forgotten: HashMap<String, u64>,
}

impl Reads {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The moment a request begins.
    pub(crate) fn moment(&self, server: &str) -> Moment {
        Moment(self.lock().forgotten.get(server).copied().unwrap_or_default())
    }

    /// What is known, and how long it is still true.
    pub(crate) fn get(&self, wanted: &Wanted<'_>, now: Instant) -> Option<(Json, Duration)> {
        let state = self.lock();
        let of = state.memories.get(&(wanted.server.to_owned(), wanted.uri.to_owned()))?;
        let known = of.iter().find(|memory| memory.is_of(wanted) && memory.until > now)?;
        Some((known.result.clone(), known.until.saturating_duration_since(now)))
    }

    /// Keeps a result that was asked for at that moment, unless something was forgotten since.
    pub(crate) fn put(
        &self,
        wanted: &Wanted<'_>,
        (result, hint): (Json, CacheHint),
        moment: Moment,
        now: Instant,
    ) {
        let Some(fresh_for) = hint.fresh_for else { return };
        let reader = if hint.is_private { wanted.reader } else { None };
        // What is for whoever asked cannot be kept for somebody who cannot be known again.
        if (hint.is_private && reader.is_none()) || self.moment(wanted.server) != moment {
            return;
        }
        let mut state = self.lock();
        state.retain(|memory| {
            memory.until > now && !(memory.is_of(&Wanted { reader, ..*wanted }) && memory.reader == reader)
        });
        while state.n >= MOST || state.bytes + result.len() > MOST_BYTES {
            if !state.drop_next() {
                return;
            }
        }
        state.n += 1;
        state.bytes += result.len();
        let (server, uri) = (wanted.server.to_owned(), wanted.uri.to_owned());
        let key = (server.clone(), uri.clone());
        let memory = Memory { server, uri, reader, era: wanted.era, result, until: now + fresh_for };
        state.memories.entry(key).or_default().push(memory);
    }

    /// One resource changed.
    pub(crate) fn forget(&self, server: &str, uri: &str) {
        self.forget_where(server, |memory| memory.uri == uri);
    }

    /// A server changed, or is another one.
    pub(crate) fn forget_server(&self, server: &str) {
        self.forget_where(server, |_| true);
    }

    fn forget_where(&self, server: &str, is_gone: impl Fn(&Memory) -> bool) {
        let mut state = self.lock();
        *state.forgotten.entry(server.to_owned()).or_default() += 1;
        state.retain(|memory| memory.server != server || !is_gone(memory));
    }

    /// Anything may have changed.
    pub(crate) fn forget_all(&self) {
        let mut state = self.lock();
        let servers: Vec<String> = state.memories.keys().map(|(server, _)| server.clone()).collect();
        for server in servers {
            *state.forgotten.entry(server).or_default() += 1;
        }
        state.forgotten.values_mut().for_each(|times| *times += 1);
        state.retain(|_| false);
    }

    /// A client is gone, and what was kept for it.
    pub(crate) fn leave(&self, reader: u64) {
        self.lock().retain(|memory| memory.reader != Some(reader));
    }
}

impl State {
    fn retain(&mut self, is_kept: impl Fn(&Memory) -> bool) {
        self.memories.retain(|_, of| {
            of.retain(&is_kept);
            !of.is_empty()
        });
        self.n = self.memories.values().map(Vec::len).sum();
        self.bytes = self.memories.values().flatten().map(|memory| memory.result.len()).sum();
    }

    /// Makes room: what is over first goes first. False if there is nothing to drop.
    fn drop_next(&mut self) -> bool {
        let all = self.memories.values().flatten();
        let Some(until) = all.map(|memory| memory.until).min() else { return false };
        self.retain(|memory| memory.until > until);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wanted(uri: &str, reader: Option<u64>) -> Wanted<'_> {
        Wanted { server: "docs", uri, reader, era: Era::Modern }
    }

    fn hint(ms: u64, is_private: bool) -> CacheHint {
        CacheHint { fresh_for: Some(Duration::from_millis(ms)), is_private }
    }

    #[test]
    fn a_result_may_be_kept_if_it_is_whole_and_its_server_says_how_long() {
        let may = |text: &str| keepable(&Json::from_text(text).unwrap()).is_some();
        assert!(may(r#"{"resultType":"complete","contents":[],"ttlMs":5,"cacheScope":"public"}"#));
        assert!(may(r#"{"contents":[],"ttlMs":5}"#));
        for text in [
            r#"{"contents":[]}"#,
            r#"{"contents":[],"ttlMs":0}"#,
            r#"{"contents":[],"ttlMs":-1}"#,
            r#"{"resultType":"input_required","contents":[],"ttlMs":5}"#,
        ] {
            assert!(!may(text), "{text}");
        }
    }

    #[test]
    fn what_is_private_is_for_the_one_who_read_it() {
        let (reads, now) = (Reads::default(), Instant::now());
        let moment = reads.moment("docs");
        reads.put(&wanted("a", Some(1)), (Json::null(), hint(10, true)), moment, now);
        reads.put(&wanted("b", Some(1)), (Json::null(), hint(10, false)), moment, now);
        reads.put(&wanted("c", None), (Json::null(), hint(10, true)), moment, now);
        let knows = |uri: &str, reader| reads.get(&wanted(uri, reader), now).is_some();
        assert_eq!([knows("a", Some(1)), knows("a", Some(2)), knows("a", None)], [true, false, false]);
        assert_eq!([knows("b", Some(1)), knows("b", Some(2)), knows("b", None)], [true, true, true]);
        assert!(!knows("c", None));
        let other = Wanted { era: Era::Handshake, ..wanted("b", Some(1)) };
        assert!(reads.get(&other, now).is_none(), "another protocol, another text");
        reads.leave(1);
        assert!(reads.get(&wanted("a", Some(1)), now).is_none());
    }

    #[test]
    fn what_was_under_way_while_something_changed_is_not_kept() {
        let (reads, now) = (Reads::default(), Instant::now());
        let moment = reads.moment("docs");
        reads.forget("docs", "a");
        reads.put(&wanted("a", Some(1)), (Json::null(), hint(10, true)), moment, now);
        assert!(reads.get(&wanted("a", Some(1)), now).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let (reads, now) = (Reads::default(), Instant::now());
        let text = Json::from(json!("x".repeat(LARGEST)));
        let moment = reads.moment("docs");
        for n in 0..200_u64 {
            let uri = n.to_string();
            reads.put(&wanted(&uri, None), (text.clone(), hint(1000 + n, false)), moment, now);
        }
        assert!(reads.lock().bytes <= MOST_BYTES && reads.lock().n > 50);
        assert!(
            reads.get(&wanted("199", None), now).is_some() && reads.get(&wanted("0", None), now).is_none()
        );
    }

    #[derive(Debug, Clone)]
    enum Step {
        Put { uri: u8, reader: Option<u64>, ms: u64, is_private: bool },
        Changed { uri: u8 },
        Server,
        All,
        Wait { ms: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0_u8..3, prop::option::of(0_u64..3), 1_u64..50, any::<bool>())
                .prop_map(|(uri, reader, ms, is_private)| Step::Put { uri, reader, ms, is_private }),
            1 => (0_u8..3).prop_map(|uri| Step::Changed { uri }),
            1 => Just(Step::Server),
            1 => Just(Step::All),
            2 => (1_u64..40).prop_map(|ms| Step::Wait { ms }),
        ]
    }

    proptest! {
        #[test]
        fn nobody_gets_what_is_old_changed_or_not_theirs(steps in prop::collection::vec(step(), 1..60)) {
            let reads = Reads::default();
            let mut now = Instant::now();
            // What may be given: its number, until when, and to whom; as simple as it can be said.
            let mut valid: Vec<(u8, usize, Instant, Option<u64>)> = Vec::new();
            for (n, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Put { uri, reader, ms, is_private } => {
                        let name = uri.to_string();
                        let moment = reads.moment("docs");
                        reads.put(&wanted(&name, reader), (json!(n).into(), hint(ms, is_private)), moment, now);
                        let whose = if is_private { reader } else { None };
                        if !is_private || whose.is_some() {
                            valid.retain(|(of, _, _, reader)| !(*of == uri && *reader == whose));
                            valid.push((uri, n, now + Duration::from_millis(ms), whose));
                        }
                    }
                    Step::Changed { uri } => {
                        reads.forget("docs", &uri.to_string());
                        valid.retain(|(of, ..)| *of != uri);
                    }
                    Step::Server => {
                        reads.forget_server("docs");
                        valid.clear();
                    }
                    Step::All => {
                        reads.forget_all();
                        valid.clear();
                    }
                    Step::Wait { ms } => now += Duration::from_millis(ms),
                }
                for uri in 0_u8..3 {
                    for reader in [None, Some(0), Some(1), Some(2)] {
                        let name = uri.to_string();
                        let got = reads.get(&wanted(&name, reader), now);
                        let may: Vec<usize> = valid
                            .iter()
                            .filter(|(of, _, until, whose)| {
                                *of == uri && *until > now && (whose.is_none() || *whose == reader)
                            })
                            .map(|(_, n, ..)| *n)
                            .collect();
                        match got {
                            Some((result, _)) => prop_assert!(may.contains(&result.parse().unwrap())),
                            None => prop_assert!(may.is_empty()),
                        }
                    }
                }
            }
        }
    }
}
