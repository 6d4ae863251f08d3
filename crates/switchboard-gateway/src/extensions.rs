//! Methods of extensions of the protocol: tasks, which are asked for by their id, and skills, which are resources.
//!
//! Only what a server behind us has is offered. Tasks live at their server; nothing of them is kept here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard::json::Json;
use switchboard::wire::{Era, Subscription};

use crate::call::{self, Target};
use crate::client::Caller;
use crate::hint::Hint;
use crate::hub::Hub;
use crate::route;
use crate::rpc::{MISSING_CAPABILITY, RpcError};
use crate::view::View;

pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";
const SKILLS: &str = "io.modelcontextprotocol/skills";
/// Tasks one request listens to.
const TASKS_HEARD: usize = 1000;
/// Pages of one server that are asked for.
const PAGES: usize = 64;

/// The settings of an extension, of each server that has it and is seen.
fn settings(hub: &Hub, view: &View, extension: &str) -> Vec<(String, Json)> {
    let of = |server: String| {
        let facts = hub.session.facts(&server).filter(|facts| facts.era == Era::Modern)?;
        let settings = facts.capabilities.get("extensions")?.get(extension)?;
        Some((server, settings))
    };
    let seen = hub.session.servers().into_iter().filter(|server| view.sees(&server.name));
    seen.filter_map(|server| of(server.name)).collect()
}

/// Whether a server with a handshake makes tasks of calls when it is asked to.
fn makes_tasks(hub: &Hub, server: &str) -> bool {
    let facts = hub.session.facts(server).filter(|facts| facts.era == Era::Handshake);
    let of = |facts: &switchboard::wire::Facts| {
        facts.capabilities.get("tasks")?.get("requests")?.get("tools")?.get("call")
    };
    facts.is_some_and(|facts| of(&facts).is_some())
}

/// What clients with a handshake are told of tasks, because a server behind us makes them.
pub(crate) fn old_tasks(hub: &Hub, view: &View) -> Option<Value> {
    let servers = hub.session.servers();
    let is_there = servers.iter().any(|server| view.sees(&server.name) && makes_tasks(hub, &server.name));
    is_there.then(|| json!({"cancel": {}, "requests": {"tools": {"call": {}}}}))
}

/// A request of a client with a handshake about a task it asked for.
pub(crate) async fn old_task(
    hub: &Arc<Hub>,
    caller: &Caller,
    method: &'static str,
    params: &Json,
) -> Result<Json, RpcError> {
    let id = route::text(params, "taskId")?;
    let view = hub.view_of(&caller.facet);
    let unknown = || RpcError::params("there is no such task").with(json!({ "taskId": id }));
    let owner = view.inward(&id).filter(|(server, _)| makes_tasks(hub, server));
    let (server, theirs) = owner.ok_or_else(unknown)?;
    let params = params.with("taskId", json!(theirs).into());
    let target = Target::Of { server: server.to_owned(), method };
    call::relay(hub, caller, target, params)
        .await
        .map_err(|error| route::under_our_name(error, "taskId", &id))
}

/// The tasks a client may listen to, of those it wants to: by our name for them, and by server and its own.
pub(crate) fn listened(
    hub: &Hub,
    caller: &Caller,
    wanted: Option<Json>,
) -> (Vec<String>, BTreeSet<(String, String)>) {
    let wanted = wanted.and_then(|ids| ids.parse::<Vec<String>>().ok()).filter(|_| caller.knows(TASKS));
    let view = hub.view_of(&caller.facet);
    let having = settings(hub, &view, TASKS);
    let owner = |id: &String| {
        let (server, theirs) = view.inward(id)?;
        having.iter().any(|(name, _)| name == server).then(|| (server.to_owned(), theirs.to_owned()))
    };
    let known: Vec<String> =
        wanted.unwrap_or_default().into_iter().filter(|id| owner(id).is_some()).take(TASKS_HEARD).collect();
    let theirs = known.iter().filter_map(owner).collect();
    (known, theirs)
}

/// Listens to tasks at their servers, for as long as what it gives is held.
pub(crate) async fn hear_tasks(hub: &Hub, tasks: &BTreeSet<(String, String)>) -> Vec<Subscription> {
    let mut by_server: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (server, id) in tasks {
        by_server.entry(server).or_default().push(id.clone());
    }
    let asked = by_server.iter().map(|(server, ids)| hub.session.subscribe_tasks(server, ids));
    // A server that does not tell is asked by its clients, as ever.
    futures_util::future::join_all(asked).await.into_iter().filter_map(Result::ok).collect()
}

/// The extensions we have, because a server behind us has them.
pub(crate) fn offered(hub: &Hub, view: &View) -> Value {
    let mut offered = json!({});
    if !settings(hub, view, TASKS).is_empty() {
        offered[TASKS] = json!({});
    }
    let skills = settings(hub, view, SKILLS);
    if !skills.is_empty() {
        let is_on = |(_, settings): &(String, Json)| {
            settings.get("directoryRead").is_some_and(|value| value.as_str() == "true")
        };
        offered[SKILLS] = if skills.iter().any(is_on) { json!({"directoryRead": true}) } else { json!({}) };
    }
    offered
}

/// Answers a request of an extension.
pub(crate) async fn answer(
    hub: &Arc<Hub>,
    caller: &Caller,
    (method, params): (&str, &Json),
) -> Result<Json, RpcError> {
    match method {
        "tasks/get" => task(hub, caller, "tasks/get", params).await,
        "tasks/update" => task(hub, caller, "tasks/update", params).await,
        "tasks/cancel" => task(hub, caller, "tasks/cancel", params).await,
        "skills/list" => list_skills(hub, caller).await,
        "skills/get" => by_address(hub, caller, "skills/get", params).await,
        "resources/directory/read" => by_address(hub, caller, "resources/directory/read", params).await,
        _ => Err(RpcError::no_method(method)),
    }
}

/// A request about a task, whose id says which server has it.
async fn task(
    hub: &Arc<Hub>,
    caller: &Caller,
    method: &'static str,
    params: &Json,
) -> Result<Json, RpcError> {
    let view = hub.view_of(&caller.facet);
    if settings(hub, &view, TASKS).is_empty() {
        return Err(RpcError::no_method(method));
    }
    if !caller.knows(TASKS) {
        let required = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
        let error = RpcError::new(MISSING_CAPABILITY, "tasks are for clients that say they know them");
        return Err(error.with(required));
    }
    let id = route::text(params, "taskId")?;
    let unknown = || RpcError::params("there is no such task").with(json!({ "taskId": id }));
    let (server, theirs) = view.inward(&id).ok_or_else(unknown)?;
    let params = params.with("taskId", json!(theirs).into());
    let target = Target::Of { server: server.to_owned(), method };
    call::relay(hub, caller, target, params)
        .await
        .map_err(|error| route::under_our_name(error, "taskId", &id))
}

/// A request about an address.
async fn by_address(
    hub: &Arc<Hub>,
    caller: &Caller,
    method: &'static str,
    params: &Json,
) -> Result<Json, RpcError> {
    let view = hub.view_of(&caller.facet);
    let having = settings(hub, &view, SKILLS);
    if having.is_empty() {
        return Err(RpcError::no_method(method));
    }
    let uri = route::text(params, "uri")?;
    let owner = view.inward(&uri).filter(|(server, _)| having.iter().any(|(name, _)| name == server));
    let unknown = || RpcError::params("there is nothing at this address").with(json!({ "uri": uri }));
    let (server, theirs) = owner.ok_or_else(unknown)?;
    let params = params.with("uri", json!(theirs).into());
    let target = Target::Of { server: server.to_owned(), method };
    call::relay(hub, caller, target, params).await.map_err(|error| route::under_our_name(error, "uri", &uri))
}

/// The skills of all servers, in one page. A server that does not answer costs only its own.
async fn list_skills(hub: &Arc<Hub>, caller: &Caller) -> Result<Json, RpcError> {
    let having = settings(hub, &hub.view_of(&caller.facet), SKILLS);
    if having.is_empty() {
        return Err(RpcError::no_method("skills/list"));
    }
    let asked = having.iter().map(|(server, _)| skills_of(hub, caller, server));
    let answers = futures_util::future::join_all(asked).await;
    let mut skills = Vec::new();
    let mut lost = None;
    for answer in answers {
        match answer {
            Ok(found) => skills.extend(found),
            Err(error) => lost = Some(error),
        }
    }
    match lost {
        Some(error) if skills.is_empty() => Err(error),
        _ => {
            let fields = [("resultType", json!("complete").into()), ("skills", Json::list(&skills))];
            Ok(Json::object(fields.into_iter().chain(Hint::OWN.fields())))
        }
    }
}

async fn skills_of(hub: &Arc<Hub>, caller: &Caller, server: &str) -> Result<Vec<Json>, RpcError> {
    let mut skills = Vec::new();
    let mut params = Json::object([]);
    for _ in 0..PAGES {
        let target = Target::Of { server: server.to_owned(), method: "skills/list" };
        let page = call::relay(hub, caller, target, params.clone()).await?;
        skills.extend(page.get("skills").and_then(|skills| skills.items()).unwrap_or_default());
        match page.get("nextCursor").filter(|cursor| params.get("cursor").as_ref() != Some(cursor)) {
            Some(cursor) => params = params.with("cursor", cursor),
            None => break,
        }
    }
    Ok(skills)
}
