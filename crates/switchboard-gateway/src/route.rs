//! From a method to its answer: what we know ourselves is answered here, the rest goes to the server it is for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use switchboard::json::Json;
use switchboard::wire::{Era, HANDSHAKES, MODERN};

use crate::call::{self, Target};
use crate::client::{Caller, Greeting, Listening};
use crate::extensions;
use crate::facet::Facet;
use crate::hint::Hint;
use crate::hub::Hub;
use crate::instructions;
use crate::reads;
use crate::rpc::{self, NOT_FOUND, Request, RpcError};
use crate::search::{self, Own};
use crate::tell::tagged;
use crate::view::{List, Names, View};

/// Answers a request.
pub(crate) async fn answer(hub: &Arc<Hub>, caller: &Caller, request: &Request) -> Result<Json, RpcError> {
    let Request { method, params, .. } = request;
    match (method.as_str(), caller.era) {
        ("initialize", Era::Handshake) => Ok(initialize(hub, caller, params).await),
        ("ping", Era::Handshake) => Ok(Json::object([])),
        ("logging/setLevel", Era::Handshake) => {
            let level = text(params, "level")?;
            caller.client.set_level(&level)?;
            hub.match_levels().await;
            hub.own.level_changed(caller.client.id, &level).await;
            Ok(Json::object([]))
        }
        ("resources/subscribe" | "resources/unsubscribe", Era::Handshake) => {
            subscribe(hub, caller, method == "resources/subscribe", params).await
        }
        ("server/discover", Era::Modern) => Ok(discover(hub, caller).await),
        ("subscriptions/listen", Era::Modern) => listen(hub, caller, request).await,
        ("tools/list", _) => list(hub, caller, List::Tools, params).await,
        ("resources/list", _) => list(hub, caller, List::Resources, params).await,
        ("resources/templates/list", _) => list(hub, caller, List::Templates, params).await,
        ("prompts/list", _) => list(hub, caller, List::Prompts, params).await,
        ("tools/call", _) => {
            let name = text(params, "name")?;
            if let Some(own) = Own::named(&name).filter(|_| hub.view_of(&caller.facet).search) {
                return search::answer(hub, caller, own, params).await;
            }
            let is_there = |view: &View| view.tool(&name).is_some();
            let view = hub.view_with(&caller.facet, List::Tools, is_there).await;
            let gone = || RpcError::params(search::missing(&view, &name, false));
            let entry = view.held(&name).ok_or_else(gone)?;
            let params = params.with("name", json!(entry.tool.name).into());
            call::relay(hub, caller, Target::Tool(entry), params).await
        }
        ("prompts/get", _) => {
            let name = text(params, "name")?;
            let is_there = |view: &View| view.prompt(&name).is_some();
            let view = hub.view_with(&caller.facet, List::Prompts, is_there).await;
            let (server, prompt) = view.prompt(&name).ok_or_else(|| unknown("prompt", &name))?;
            let params = params.with("name", json!(prompt).into());
            let target = Target::Of { server: server.to_owned(), method: "prompts/get" };
            call::relay(hub, caller, target, params).await
        }
        ("resources/read", _) => reads::read(hub, caller, params).await,
        ("completion/complete", _) => complete(hub, caller, params).await,
        ("tasks/get", Era::Handshake) => extensions::old_task(hub, caller, "tasks/get", params).await,
        ("tasks/result", Era::Handshake) => extensions::old_task(hub, caller, "tasks/result", params).await,
        ("tasks/cancel", Era::Handshake) => extensions::old_task(hub, caller, "tasks/cancel", params).await,
        (method, Era::Modern) => extensions::answer(hub, caller, (method, params)).await,
        _ => Err(RpcError::no_method(method)),
    }
}

pub(crate) fn text(params: &Json, name: &str) -> Result<String, RpcError> {
    let given = params.get(name).and_then(|value| value.text());
    given.ok_or_else(|| RpcError::params(format!("`{name}` has to be a text")))
}

/// An error of a server, which names what it is about in its own words, in ours.
pub(crate) fn under_our_name(error: RpcError, field: &str, name: &str) -> RpcError {
    let data = error.data.as_ref().filter(|data| data.get(field).is_some());
    match data.map(|data| data.with(field, json!(name).into())) {
        Some(data) => error.with(data),
        None => error,
    }
}

fn unknown(what: &str, name: &str) -> RpcError {
    RpcError::params(format!("there is no {what} `{}`", switchboard::visible::excerpt(name, 100)))
}

pub(crate) fn no_resource(uri: &str, era: Era) -> RpcError {
    let code = match era {
        Era::Modern => rpc::INVALID_PARAMS,
        Era::Handshake => -32002,
    };
    RpcError::new(code, "resource not found").with(json!({ "uri": uri }))
}

/// Who we are.
pub(crate) fn server_info() -> Json {
    json!({"name": "switchboard", "title": "Switchboard", "version": env!("CARGO_PKG_VERSION")}).into()
}

fn capabilities(view: &View) -> Value {
    // The tools of a search never change.
    let tools = if view.search { json!({}) } else { json!({"listChanged": true}) };
    json!({
        "tools": tools,
        "resources": {"listChanged": true, "subscribe": true},
        "prompts": {"listChanged": true},
        "completions": {},
        "logging": {},
    })
}

/// How to use what this client sees, and what of it is not there.
fn instructions(hub: &Hub, facet: &Facet) -> Option<String> {
    let view = hub.view_of(facet);
    if hub.options.names == Names::Raw {
        // Nobody can tell it from the server itself.
        return instructions::together(["", &view.instructions, ""]);
    }
    let introduction = if view.search { search::INTRODUCTION } else { "" };
    let absence = instructions::absence(&hub.absent(facet));
    instructions::together([introduction, &view.instructions, &absence])
}

async fn initialize(hub: &Hub, caller: &Caller, params: &Json) -> Json {
    let name = params.get("clientInfo").and_then(|info| info.get("name")?.text());
    caller.client.enter(hub.facet_for(name.as_deref()));
    let facet = caller.client.facet();
    hub.acquainted().await;
    let wanted = params.get("protocolVersion").and_then(|version| version.text()).unwrap_or_default();
    let version = HANDSHAKES.iter().find(|known| **known == wanted).unwrap_or(&HANDSHAKES[0]);
    let capabilities_of_client = params.get("capabilities").unwrap_or_else(|| Json::object([]));
    let passed_on = call::passed_on(&capabilities_of_client);
    let greeting =
        Greeting { version: (*version).to_owned(), capabilities: capabilities_of_client, passed_on };
    // A second handshake on the same connection changes nothing.
    let _first = caller.client.greeting.set(greeting);
    let view = hub.view_of(&facet);
    let mut capabilities = capabilities(&view);
    if let Some(tasks) = extensions::old_tasks(hub, &view) {
        capabilities["tasks"] = tasks;
    }
    let mut fields = vec![
        ("protocolVersion", json!(version).into()),
        ("capabilities", capabilities.into()),
        ("serverInfo", server_info()),
    ];
    fields.extend(instructions(hub, &facet).map(|text| ("instructions", json!(text).into())));
    Json::object(fields)
}

async fn discover(hub: &Hub, caller: &Caller) -> Json {
    hub.acquainted().await;
    let view = hub.view_of(&caller.facet);
    let mut capabilities = capabilities(&view);
    capabilities["extensions"] = extensions::offered(hub, &view);
    let mut fields = vec![
        ("resultType", json!("complete").into()),
        ("supportedVersions", json!([MODERN]).into()),
        ("capabilities", capabilities.into()),
    ];
    fields.extend(instructions(hub, &caller.facet).map(|text| ("instructions", json!(text).into())));
    fields.extend(Hint::OWN.fields());
    fields.push(("_meta", Json::object([("io.modelcontextprotocol/serverInfo", server_info())])));
    Json::object(fields)
}

/// One page of a list.
async fn list(hub: &Hub, caller: &Caller, which: List, params: &Json) -> Result<Json, RpcError> {
    let cursor = params.get("cursor").filter(|cursor| cursor.as_str() != "null");
    let foreign = || RpcError::params("`cursor` is none of ours");
    let cursor = cursor.map(|cursor| cursor.text().ok_or_else(foreign)).transpose()?;
    hub.ready(which).await;
    let view = hub.view_of(&caller.facet);
    let page = view.page(which, cursor.as_deref()).ok_or_else(foreign)?;
    if caller.era == Era::Handshake {
        return Ok(page.whole);
    }
    let mut fields = vec![("resultType", json!("complete").into()), (which.field(), page.items)];
    fields.extend(page.next.map(|next| ("nextCursor", next)));
    fields.extend(view.hint(which, Instant::now()).fields());
    Ok(Json::object(fields))
}

/// Completes an argument of a prompt or template, whose names are ours.
async fn complete(hub: &Arc<Hub>, caller: &Caller, params: &Json) -> Result<Json, RpcError> {
    let reference = params.get("ref").ok_or_else(|| RpcError::params("`ref` has to be an object"))?;
    let is_there = |view: &View| owner(view, &reference).is_ok();
    let view = hub.view_with(&caller.facet, List::Prompts, is_there).await;
    let (server, theirs) = owner(&view, &reference)?;
    let target = Target::Of { server, method: "completion/complete" };
    call::relay(hub, caller, target, params.with("ref", theirs)).await
}

fn owner(view: &View, reference: &Json) -> Result<(String, Json), RpcError> {
    match reference.get("type").and_then(|kind| kind.text()).as_deref() {
        Some("ref/prompt") => {
            let name = text(reference, "name")?;
            let (server, prompt) = view.prompt(&name).ok_or_else(|| unknown("prompt", &name))?;
            Ok((server.to_owned(), reference.with("name", json!(prompt).into())))
        }
        Some("ref/resource") => {
            let uri = text(reference, "uri")?;
            let (server, theirs) = view.inward(&uri).ok_or_else(|| unknown("resource", &uri))?;
            Ok((server.to_owned(), reference.with("uri", json!(theirs).into())))
        }
        _ => Err(RpcError::params("`ref` has to be that of a prompt or of a resource")),
    }
}

async fn subscribe(hub: &Hub, caller: &Caller, is_wanted: bool, params: &Json) -> Result<Json, RpcError> {
    let uri = text(params, "uri")?;
    let view = hub.view_of(&caller.facet);
    let (server, theirs) = view.inward(&uri).ok_or_else(|| no_resource(&uri, caller.era))?;
    let key = (server.to_owned(), theirs.to_owned());
    let is_new = if is_wanted { caller.client.subscribe(key) } else { caller.client.unsubscribe(&key) };
    if is_new {
        hub.match_subscriptions().await;
    }
    Ok(Json::object([]))
}

/// Tells of changes until the client has heard enough.
async fn listen(hub: &Hub, caller: &Caller, request: &Request) -> Result<Json, RpcError> {
    let filter = request.params.get("notifications");
    let filter = filter.ok_or_else(|| RpcError::params("`notifications` has to say what to listen for"))?;
    let is_on = |name: &str| filter.get(name).is_some_and(|value| value.as_str() == "true");
    let view = hub.view_of(&caller.facet);
    let mut granted = Vec::new();
    let mut lists = BTreeSet::new();
    for (name, list) in [
        ("toolsListChanged", List::Tools),
        ("promptsListChanged", List::Prompts),
        ("resourcesListChanged", List::Resources),
    ] {
        // The tools of a search never change, so there is nothing to tell of them.
        if is_on(name) && !(list == List::Tools && view.search) {
            granted.push((name, json!(true).into()));
            lists.insert(list);
        }
    }
    let asked = filter.get("resourceSubscriptions").and_then(|uris| uris.parse::<Vec<String>>().ok());
    let known: Vec<String> =
        asked.unwrap_or_default().into_iter().filter(|uri| view.inward(uri).is_some()).collect();
    let owned =
        |uri: &String| view.inward(uri).map(|(server, theirs)| (server.to_owned(), theirs.to_owned()));
    let uris: BTreeSet<(String, String)> = known.iter().filter_map(owned).collect();
    if !known.is_empty() {
        granted.push(("resourceSubscriptions", json!(known).into()));
    }
    let (known, tasks) = extensions::listened(hub, caller, filter.get("taskIds"));
    if !known.is_empty() {
        granted.push(("taskIds", json!(known).into()));
    }
    let id = request.id.clone();
    let has_uris = !uris.is_empty();
    let facet = caller.facet.clone();
    let lane = caller.lane.clone();
    let listening = Listening { id: id.clone(), facet, lists, uris, tasks: tasks.clone(), lane };
    let acknowledged = tagged(&id, [("notifications", Json::object(granted))]);
    // Said first, and only then is anything told.
    let said =
        caller.lane.send(rpc::notification("notifications/subscriptions/acknowledged", acknowledged)).await;
    said.map_err(|_| RpcError::new(rpc::INTERNAL, "the client is gone"))?;
    caller.client.listen(listening);
    let _end = Ears { caller, id: &id };
    if has_uris {
        hub.match_subscriptions().await;
    }
    let _heard = extensions::hear_tasks(hub, &tasks).await;
    tokio::select! {
        () = hub.closing() => {}
        () = caller.client.hung_up.cancelled() => {}
    }
    Ok(Json::object([
        ("resultType", json!("complete").into()),
        ("_meta", Json::object([("io.modelcontextprotocol/subscriptionId", id.clone())])),
    ]))
}

/// Listens for as long as it lives.
struct Ears<'a> {
    caller: &'a Caller,
    id: &'a Json,
}

impl Drop for Ears<'_> {
    fn drop(&mut self) {
        self.caller.client.stop_listening(self.id);
    }
}

/// Who asks, and by which protocol: a modern request says so itself.
pub(crate) fn era(request: &Request) -> Result<Era, RpcError> {
    let of = |name: &str| request.meta.as_ref().and_then(|meta| meta.get(name));
    let Some(version) = of("io.modelcontextprotocol/protocolVersion") else {
        let is_modern = matches!(request.method.as_str(), "server/discover" | "subscriptions/listen");
        return if is_modern {
            Err(RpcError::params("`_meta` has to name the protocol version"))
        } else {
            Ok(Era::Handshake)
        };
    };
    let version = version.text().unwrap_or_default();
    if version != MODERN {
        let data = json!({"supported": [MODERN], "requested": version});
        return Err(
            RpcError::new(rpc::UNSUPPORTED_VERSION, "this protocol version is not supported").with(data)
        );
    }
    match of("io.modelcontextprotocol/clientCapabilities") {
        Some(capabilities) if capabilities.as_str().starts_with('{') => Ok(Era::Modern),
        _ => Err(RpcError::params("`_meta` has to say what the client can be asked")),
    }
}

/// What is seen by whoever sent a request that stands for itself: it says who that is.
pub(crate) fn facet_of(hub: &Hub, request: &Request) -> Facet {
    let info = request.meta.as_ref().and_then(|meta| meta.get("io.modelcontextprotocol/clientInfo"));
    let name = info.and_then(|info| info.get("name")?.text());
    hub.facet_for(name.as_deref())
}

/// A client says something that needs no answer.
pub(crate) async fn told(hub: &Hub, client: &crate::client::Client, method: &str, params: &Json) {
    match method {
        "notifications/cancelled" => {
            if let Some(id) = params.get("requestId") {
                client.cancel(&id);
            }
        }
        "notifications/roots/list_changed" => hub.own.roots_changed(client.id).await,
        _ => {}
    }
}

/// The caller behind a request.
pub(crate) fn caller(
    hub: &Hub,
    client: &Arc<crate::client::Client>,
    request: &Request,
    era: Era,
    lane: tokio::sync::mpsc::Sender<bytes::Bytes>,
) -> Caller {
    let of = |name: &str| request.meta.as_ref().and_then(|meta| meta.get(name));
    let capabilities = match era {
        Era::Modern => of("io.modelcontextprotocol/clientCapabilities"),
        Era::Handshake => client.greeting.get().map(|greeting| greeting.capabilities.clone()),
    };
    Caller {
        client: Arc::clone(client),
        era,
        facet: client.decided().unwrap_or_else(|| facet_of(hub, request)),
        capabilities: capabilities.unwrap_or_else(|| Json::object([])),
        info: of("io.modelcontextprotocol/clientInfo"),
        log_level: match era {
            Era::Modern => of("io.modelcontextprotocol/logLevel").and_then(|level| level.text()),
            Era::Handshake => client.level().map(str::to_owned),
        },
        progress: of("progressToken"),
        lane,
    }
}

/// The status of HTTP that goes with an error of the modern protocol.
pub(crate) const fn status(error: &RpcError) -> u16 {
    match error.code {
        NOT_FOUND => 404,
        rpc::PARSE
        | rpc::INVALID_REQUEST
        | rpc::HEADER_MISMATCH
        | rpc::UNSUPPORTED_VERSION
        | rpc::MISSING_CAPABILITY => 400,
        _ => 200,
    }
}
