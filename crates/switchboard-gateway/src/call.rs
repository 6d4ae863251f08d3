//! Requests that go through to a server: calls, reads, prompts, completions. What a server asks meanwhile goes to the
//! client that made the request, in the way of the client's protocol.
//!
//! | client | server | a question |
//! |---|---|---|
//! | modern | modern | is part of the result, and passes as it is |
//! | handshake | modern | is asked of the client; the request goes out again with the answers |
//! | modern | handshake | ends the client's request, and the call is parked until the answers come |
//! | handshake | handshake | passes |

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard::calls::CallError;
use switchboard::host::Behalf;
use switchboard::json::Json;
use switchboard::notice::{Notice, Progress};
use switchboard::problem::Explain;
use switchboard::wire::{Cause, Era, Errand, Heard, Tasks};

use crate::approval;
use crate::client::{Caller, required};
use crate::extensions;
use crate::hub::{Hearing, Hub};
use crate::own::{self, Lease};
use crate::park::{Ask, Line, Parked, Work};
use crate::rewrite;
use crate::rpc::{self, INTERNAL, INVALID_PARAMS, MISSING_CAPABILITY, RpcError};
use crate::view::Held;

/// Rounds of questions before a server is given up.
const ROUNDS: usize = 10;

/// Characters of what a process said before it failed, and of what to do then.
const LAST_WORDS: usize = 300;

/// So long a server may take between two questions that belong together.
const BREATH: Duration = Duration::from_millis(20);

/// What a request is for.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Tool(Held),
    /// Anything else of a server, by method.
    Of {
        server: String,
        method: &'static str,
    },
}

impl Target {
    pub(crate) fn server(&self) -> &str {
        match self {
            Self::Tool(entry) => &entry.server,
            Self::Of { server, .. } => server,
        }
    }
}

/// Passes a request on and brings back what comes of it. `params` are in the server's own words already.
pub(crate) async fn relay(
    hub: &Arc<Hub>,
    caller: &Caller,
    target: Target,
    params: Json,
) -> Result<Json, RpcError> {
    check_answers(&params)?;
    let state = params.get("requestState").and_then(|state| state.text());
    if let Some(parked) = state.as_deref().and_then(|state| hub.park.take(state, caller.client.owner)) {
        let parked = parked?;
        return wait(hub, caller, answer(parked, &params)?).await;
    }
    let mut params = on_this_hop(&params);
    if hub.session.facts(target.server()).is_some_and(|facts| facts.era == Era::Handshake) {
        // Such a server takes no notes to itself from a client, and answers to nothing it asked.
        if state.is_some() {
            return Err(RpcError::params("`requestState` is none that waits: make the call again"));
        }
        params = params.without("inputResponses");
    } else {
        // It knows no tasks that are asked for.
        params = params.without("task");
    }
    match caller.era {
        Era::Modern => park(hub, caller, target, params).await,
        Era::Handshake => {
            let result = ask_in_rounds(hub, caller, &target, params).await?;
            Ok(rewrite::result(&hub.view(), target.server(), &result, caller.era))
        }
    }
}

/// Answers are objects, by the key of what was asked.
fn check_answers(params: &Json) -> Result<(), RpcError> {
    let Some(answers) = params.get("inputResponses") else { return Ok(()) };
    let is_object = |json: &Json| json.as_str().starts_with('{');
    if is_object(&answers) && answers.fields().iter().all(|(_, answer)| is_object(answer)) {
        return Ok(());
    }
    Err(RpcError::params("`inputResponses` has to be an object of objects"))
}

/// Parameters without what the client says to us alone.
fn on_this_hop(params: &Json) -> Json {
    let Some(meta) = params.get("_meta") else { return params.clone() };
    let is_ours = |name: &str| name.starts_with("io.modelcontextprotocol/") || name == "progressToken";
    let kept: Vec<(String, Json)> = meta.fields().into_iter().filter(|(name, _)| !is_ours(name)).collect();
    if kept.is_empty() {
        return params.without("_meta");
    }
    params.with("_meta", Json::object(kept.iter().map(|(name, value)| (name.as_str(), value.clone()))))
}

/// Sends it, with the caller's stream open to what is heard meanwhile.
async fn send(hub: &Arc<Hub>, caller: &Caller, target: &Target, params: &Json) -> Result<Json, RpcError> {
    let (line, mut asks) = Line::new();
    let work = run(hub, caller.clone(), target, (params, line));
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            Some(ask) = asks.recv() => pass(caller.clone(), ask),
        }
    }
}

async fn run(
    hub: &Arc<Hub>,
    caller: Caller,
    target: &Target,
    (params, line): (&Json, Line),
) -> Result<Json, RpcError> {
    let line = Arc::new(line);
    let yes = match target {
        Target::Tool(entry) => approval::needed(&hub.session, entry).map(|by| (entry, by)),
        Target::Of { .. } => None,
    };
    if let Some((entry, by)) = yes {
        approval::ask((&hub.approved, &line), &caller, entry, (params, by)).await?;
    }
    let server = target.server();
    // Held to the end, also while the call is parked: nobody else is asked on the same connection.
    let lease = hub.own.lease(&hub.session, &caller, server, &line).await?;
    if let Some(lease) = &lease {
        lease.settled(caller.era).await;
    }
    let _hearing = match &lease {
        None => hear_from(hub, &caller, server).await,
        Some(_) => None,
    };
    let era = hub.session.facts(server).map(|facts| facts.era);
    let errand = Errand {
        capabilities: capabilities(&caller),
        log_level: caller.log_level.clone(),
        behalf: Behalf { owner: caller.client.id, host: line },
        tasks: tasks(&caller, era, params),
        timeout: None,
    };
    let mut hear = |heard: Heard| overheard(&caller, heard);
    let apart = lease.as_ref().and_then(Lease::apart);
    let done = match (target, apart) {
        (Target::Tool(entry), None) => hub.session.relay_call(entry, params, &errand, &mut hear).await,
        (Target::Tool(entry), Some(apart)) => apart.relay_call(entry, params, &errand, &mut hear).await,
        (Target::Of { server, method }, None) => {
            hub.session.relay(server, (method, params), &errand, &mut hear).await
        }
        (Target::Of { method, .. }, Some(apart)) => apart.relay((method, params), &errand, &mut hear).await,
    };
    let result = done.map_err(|error| failed(&error, caller.era))?;
    if let Some((entry, _)) = yes {
        hub.approved.carry_on(&caller, entry, (params, &result));
    }
    Ok(result)
}

/// Keeps a shared server with a handshake logging what this request wants to see, for as long as it lasts. What clients with
/// a handshake want is kept anyway; each request sees to it that the server was told.
async fn hear_from(hub: &Arc<Hub>, caller: &Caller, server: &str) -> Option<Hearing> {
    let level = caller.log_level.as_deref().filter(|_| caller.era == Era::Modern)?;
    let facts = hub.session.facts(server)?;
    match facts.era {
        Era::Handshake if facts.can("logging") => Some(hub.hear_from(server, level).await),
        Era::Handshake | Era::Modern => None,
    }
}

/// What becomes of a call that goes on as a task: who asked for one, or may get one unasked, has it.
fn tasks(caller: &Caller, server: Option<Era>, params: &Json) -> Tasks {
    match (caller.era, server) {
        (Era::Modern, Some(Era::Modern) | None) => Tasks::Handed,
        (Era::Handshake, Some(Era::Handshake)) if params.get("task").is_some() => Tasks::Handed,
        (Era::Modern | Era::Handshake, _) => Tasks::Followed,
    }
}

/// What the server may ask, in the words of the modern protocol.
fn capabilities(caller: &Caller) -> Json {
    match (caller.era, caller.client.greeting.get()) {
        (Era::Handshake, Some(greeting)) => greeting.passed_on.clone(),
        (Era::Handshake, None) => passed_on(&caller.capabilities),
        (Era::Modern, _) => caller.capabilities.clone(),
    }
}

/// What a client with a handshake said that it can be asked, for such servers. For who does not know tasks, they are
/// followed here.
pub(crate) fn passed_on(capabilities: &Json) -> Json {
    own::asked(capabilities).with("extensions", json!({extensions::TASKS: {}}).into())
}

fn overheard(caller: &Caller, heard: Heard) {
    let heard = match heard {
        // Clients with a handshake hear it as what it is: said to nobody in particular.
        Heard::Meanwhile(_) if caller.era == Era::Handshake => return,
        Heard::Meanwhile(notice) => Heard::Said(notice),
        other => other,
    };
    match heard {
        Heard::Progress(progress) => {
            if let Some(token) = &caller.progress {
                caller.say(rpc::notification("notifications/progress", progress_params(token, &progress)));
            }
        }
        Heard::Said(Notice::Log { level, logger, data }) => {
            let is_wanted = caller.wants(&level);
            let mut params = vec![("level", json!(level).into())];
            params.extend(logger.map(|logger| ("logger", json!(logger).into())));
            params.push(("data", data));
            if is_wanted {
                caller.say(rpc::notification("notifications/message", Json::object(params)));
            }
        }
        Heard::Said(_) | Heard::Meanwhile(_) => {}
    }
}

fn progress_params(token: &Json, progress: &Progress) -> Json {
    let mut params = vec![("progressToken", token.clone()), ("progress", number(progress.progress))];
    params.extend(progress.total.map(|total| ("total", number(total))));
    params.extend(progress.message.as_ref().map(|message| ("message", json!(message).into())));
    Json::object(params)
}

/// Whole numbers are written as such.
fn number(number: f64) -> Json {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
    let whole = (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64);
    whole.map_or_else(|| json!(number).into(), |whole| json!(whole).into())
}

/// Asks a client with a handshake, on the stream of its request.
fn pass(caller: Caller, ask: Ask) {
    tokio::spawn(async move {
        let Ask { method, params, reply } = ask;
        let mut reply = reply;
        let asked = async {
            caller.can_answer(&method, params.as_ref())?;
            caller.client.ask(&caller.lane, &method, params).await
        };
        let answer = tokio::select! {
            answer = asked => answer,
            () = reply.closed() => return,
        };
        let _gone = reply.send(answer);
    });
}

/// Sends until there is a result without a question, asking the client in between.
async fn ask_in_rounds(
    hub: &Arc<Hub>,
    caller: &Caller,
    target: &Target,
    params: Json,
) -> Result<Json, RpcError> {
    let mut next = params.clone();
    for _ in 0..ROUNDS {
        let result = send(hub, caller, target, &next).await?;
        if result.get("resultType").and_then(|kind| kind.text()).as_deref() != Some("input_required") {
            return Ok(result);
        }
        next = params.clone();
        let mut answers = Vec::new();
        for (key, question) in result.get("inputRequests").map(|asked| asked.fields()).unwrap_or_default() {
            let method = question.get("method").and_then(|method| method.text()).unwrap_or_default();
            let params = question.get("params");
            let refused = |refusal: switchboard::host::Refusal| RpcError::new(INTERNAL, refusal.message);
            caller.can_answer(&method, params.as_ref()).map_err(refused)?;
            let answer = caller.client.ask(&caller.lane, &method, params).await.map_err(refused)?;
            answers.push((key, answer));
        }
        if !answers.is_empty() {
            let answers = answers.iter().map(|(key, answer)| (key.as_str(), answer.clone()));
            next = next.with("inputResponses", Json::object(answers));
        }
        if let Some(state) = result.get("requestState") {
            next = next.with("requestState", state);
        }
    }
    Err(RpcError::new(INTERNAL, format!("`{}` asked more than {ROUNDS} times", target.server())))
}

/// Makes a call that can be parked.
async fn park(hub: &Arc<Hub>, caller: &Caller, target: Target, params: Json) -> Result<Json, RpcError> {
    let (line, asks) = Line::new();
    let server = target.server().to_owned();
    let (shared, theirs) = (Arc::clone(hub), caller.clone());
    let work = tokio::spawn(async move { run(&shared, theirs, &target, (&params, line)).await });
    let owner = caller.client.owner;
    let call = Parked { owner, server, work: Work(work), asks, open: Vec::new(), next_key: 1 };
    wait(hub, caller, call).await
}

/// Waits for the result, or for a question.
async fn wait(hub: &Hub, caller: &Caller, mut call: Parked) -> Result<Json, RpcError> {
    while call.open.is_empty() {
        tokio::select! {
            done = &mut call.work.0 => {
                let done = done.map_err(|_| RpcError::new(INTERNAL, "the call ended without a word"))?;
                let result = done?;
                return Ok(rewrite::result(&hub.view(), &call.server, &result, caller.era));
            }
            Some(ask) = call.asks.recv() => take(caller, &mut call, ask)?,
        }
    }
    // What was asked in the same breath is asked in the same breath.
    while let Ok(Some(ask)) = tokio::time::timeout(BREATH, call.asks.recv()).await {
        take(caller, &mut call, ask)?;
    }
    let questions: Vec<(String, Json)> =
        call.open.iter().map(|(key, ask)| (key.clone(), question(ask))).collect();
    let questions = Json::object(questions.iter().map(|(key, question)| (key.as_str(), question.clone())));
    let handle = hub.park.put(call)?;
    Ok(Json::object([
        ("resultType", json!("input_required").into()),
        ("inputRequests", questions),
        ("requestState", json!(handle).into()),
    ]))
}

/// Takes a question of the server, if the client said that it can be asked. If not, the call ends as it would with a modern
/// server. Folders are another matter: servers ask for them of their own accord, and go on without.
fn take(caller: &Caller, call: &mut Parked, ask: Ask) -> Result<(), RpcError> {
    let Err(refusal) = caller.can_answer(&ask.method, ask.params.as_ref()) else {
        call.open.push((format!("q{}", call.next_key), ask));
        call.next_key += 1;
        return Ok(());
    };
    let missing = required(&ask.method, ask.params.as_ref()).filter(|_| ask.method != "roots/list");
    let message = format!("`{}` needs a client that can be asked for {}", call.server, ask.method);
    // It may have gone.
    let _gone = ask.reply.send(Err(refusal));
    match missing {
        None => Ok(()),
        Some(required) => {
            Err(RpcError::new(MISSING_CAPABILITY, message).with(json!({ "requiredCapabilities": required })))
        }
    }
}

fn question(ask: &Ask) -> Json {
    let params = ask.params.clone().unwrap_or_else(|| Json::object([]));
    Json::object([("method", json!(ask.method).into()), ("params", params)])
}

/// Gives the server the answers that came. What was not answered is asked again.
fn answer(mut call: Parked, params: &Json) -> Result<Parked, RpcError> {
    let answers = params.get("inputResponses").map(|answers| answers.fields()).unwrap_or_default();
    if answers.is_empty() {
        return Err(RpcError::params("`inputResponses` has no answers"));
    }
    let mut left = Vec::new();
    for (key, ask) in std::mem::take(&mut call.open) {
        match answers.iter().find(|(answered, _)| *answered == key) {
            Some((_, answer)) => drop(ask.reply.send(Ok(answer.clone()))),
            None => left.push((key, ask)),
        }
    }
    call.open = left;
    Ok(call)
}

/// An error as the client's protocol has it. What the server itself said passes as it is.
pub(crate) fn failed(error: &CallError, era: Era) -> RpcError {
    if let CallError::Failed { error: wire, .. } = error
        && let Cause::Rpc(said) = &wire.cause
    {
        // The same thing under two numbers: a resource that is not there.
        let is_about_address = said.data.as_ref().is_some_and(|data| data.get("uri").is_some());
        let code = match (said.code, era) {
            (-32002, Era::Modern) => INVALID_PARAMS,
            (INVALID_PARAMS, Era::Handshake) if is_about_address => -32002,
            (code, _) => code,
        };
        return RpcError { code, message: said.message.clone(), data: said.data.clone() };
    }
    let mut data =
        vec![("code", json!(error.code()).into()), ("class", json!(error.class().as_str()).into())];
    data.extend(error.server().map(|server| ("server", json!(server).into())));
    data.extend(error.hint().map(|hint| ("hint", json!(hint).into())));
    data.push(("outcomeUnknown", json!(error.is_outcome_unknown()).into()));
    // Models see the message and nothing else, so it says what is known.
    let mut message = format!("MCP error: {error}");
    if let Some(words) = error.last_words() {
        let words = switchboard::visible::excerpt(words, LAST_WORDS);
        message += &format!("; its last words: {words}");
        data.push(("stderr", json!(words).into()));
    }
    if let Some(hint) = error.hint() {
        message += &format!("; {}", switchboard::visible::excerpt(&hint, LAST_WORDS));
    }
    RpcError::new(INTERNAL, message).with(Json::object(data))
}
