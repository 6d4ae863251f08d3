//! From a method to its answer: what we know ourselves is answered here, the rest goes to the server it is for.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use switchboard::json::Json;
use switchboard::wire::{Era, HANDSHAKES, MODERN};

use crate::call::{self, Target};
use crate::client::{Caller, Greeting, Listening};
use crate::extensions;
use crate::hub::{Hub, tagged};
use crate::rpc::{self, NOT_FOUND, Request, RpcError};
use crate::view::{List, View};

/// Items of one page.
const PAGE: usize = 500;
/// How long a modern client may take a list for true without asking again, if it does not listen for changes.
const FRESH_MS: u64 = 30_000;

/// Answers a request.
pub(crate) async fn answer(hub: &Arc<Hub>, caller: &Caller, request: &Request) -> Result<Json, RpcError> {
    let Request { method, params, .. } = request;
    match (method.as_str(), caller.era) {
        ("initialize", Era::Handshake) => Ok(initialize(hub, caller, params)),
        ("ping", Era::Handshake) => Ok(Json::object([])),
        ("logging/setLevel", Era::Handshake) => {
            caller.client.set_level(&text(params, "level")?)?;
            hub.match_levels().await;
            Ok(Json::object([]))
        }
        ("resources/subscribe" | "resources/unsubscribe", Era::Handshake) => {
            subscribe(hub, caller, method == "resources/subscribe", params).await
        }
        ("server/discover", Era::Modern) => Ok(discover(hub)),
        ("subscriptions/listen", Era::Modern) => listen(hub, caller, request).await,
        ("tools/list", _) => list(hub, caller, List::Tools, params).await,
        ("resources/list", _) => list(hub, caller, List::Resources, params).await,
        ("resources/templates/list", _) => list(hub, caller, List::Templates, params).await,
        ("prompts/list", _) => list(hub, caller, List::Prompts, params).await,
        ("tools/call", _) => {
            let name = text(params, "name")?;
            let view = hub.view_with(List::Tools, |view| view.tool(&name).is_some()).await;
            let entry = view.tool(&name).ok_or_else(|| unknown("tool", &name))?;
            let params = params.with("name", json!(entry.tool.name).into());
            call::relay(hub, caller, Target::Tool(Box::new(entry.clone())), params).await
        }
        ("prompts/get", _) => {
            let name = text(params, "name")?;
            let view = hub.view_with(List::Prompts, |view| view.prompt(&name).is_some()).await;
            let (server, prompt) = view.prompt(&name).ok_or_else(|| unknown("prompt", &name))?;
            let params = params.with("name", json!(prompt).into());
            let target = Target::Of { server: server.to_owned(), method: "prompts/get" };
            call::relay(hub, caller, target, params).await
        }
        ("resources/read", _) => {
            let uri = text(params, "uri")?;
            let view = hub.view();
            let (server, theirs) = view.inward(&uri).ok_or_else(|| no_resource(&uri, caller.era))?;
            let params = params.with("uri", json!(theirs).into());
            let target = Target::Of { server: server.to_owned(), method: "resources/read" };
            let read = call::relay(hub, caller, target, params).await;
            read.map_err(|error| under_our_name(error, "uri", &uri))
        }
        ("completion/complete", _) => complete(hub, caller, params).await,
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

fn no_resource(uri: &str, era: Era) -> RpcError {
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

fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true},
        "prompts": {"listChanged": true},
        "completions": {},
        "logging": {},
    })
}

fn initialize(hub: &Hub, caller: &Caller, params: &Json) -> Json {
    let wanted = params.get("protocolVersion").and_then(|version| version.text()).unwrap_or_default();
    let version = HANDSHAKES.iter().find(|known| **known == wanted).unwrap_or(&HANDSHAKES[0]);
    let capabilities_of_client = params.get("capabilities").unwrap_or_else(|| Json::object([]));
    let greeting = Greeting { version: (*version).to_owned(), capabilities: capabilities_of_client };
    // A second handshake on the same connection changes nothing.
    let _first = caller.client.greeting.set(greeting);
    let mut fields = vec![
        ("protocolVersion", json!(version).into()),
        ("capabilities", capabilities().into()),
        ("serverInfo", server_info()),
    ];
    fields.extend(hub.view().instructions.as_ref().map(|text| ("instructions", json!(text).into())));
    Json::object(fields)
}

fn discover(hub: &Hub) -> Json {
    let mut capabilities = capabilities();
    capabilities["extensions"] = extensions::offered(hub);
    let mut fields = vec![
        ("resultType", json!("complete").into()),
        ("supportedVersions", json!([MODERN]).into()),
        ("capabilities", capabilities.into()),
    ];
    fields.extend(hub.view().instructions.as_ref().map(|text| ("instructions", json!(text).into())));
    fields.extend(hints());
    fields.push(("_meta", Json::object([("io.modelcontextprotocol/serverInfo", server_info())])));
    Json::object(fields)
}

pub(crate) fn hints() -> [(&'static str, Json); 2] {
    [("ttlMs", json!(FRESH_MS).into()), ("cacheScope", json!("private").into())]
}

/// One page of a list. The cursor is the last key before it, so that a list which changes meanwhile loses nothing.
async fn list(hub: &Hub, caller: &Caller, which: List, params: &Json) -> Result<Json, RpcError> {
    hub.ready(which).await;
    let view = hub.view();
    let items = view.list(which);
    let start = match params.get("cursor").filter(|cursor| cursor.as_str() != "null") {
        None => 0,
        Some(cursor) => {
            let last = cursor.text().and_then(|cursor| decode_cursor(which, &cursor));
            let last = last.ok_or_else(|| RpcError::params("`cursor` is none of ours"))?;
            items.partition_point(|item| item.key <= last)
        }
    };
    let end = items.len().min(start + PAGE);
    let mut fields = Vec::new();
    if caller.era == Era::Modern {
        fields.push(("resultType", json!("complete").into()));
    }
    fields.push((which.field(), Json::list(items[start..end].iter().map(|item| &item.json))));
    if end < items.len() {
        fields.push(("nextCursor", json!(encode_cursor(which, &items[end - 1].key)).into()));
    }
    if caller.era == Era::Modern {
        fields.extend(hints());
    }
    Ok(Json::object(fields))
}

fn encode_cursor(list: List, key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}\0{key}", list.field()))
}

fn decode_cursor(list: List, cursor: &str) -> Option<String> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (field, key) = text.split_once('\0')?;
    (field == list.field()).then(|| key.to_owned())
}

/// Completes an argument of a prompt or template, whose names are ours.
async fn complete(hub: &Arc<Hub>, caller: &Caller, params: &Json) -> Result<Json, RpcError> {
    let reference = params.get("ref").ok_or_else(|| RpcError::params("`ref` has to be an object"))?;
    let view = hub.view_with(List::Prompts, |view| owner(view, &reference).is_ok()).await;
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
    let view = hub.view();
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
    let mut granted = Vec::new();
    let mut lists = BTreeSet::new();
    for (name, list) in [
        ("toolsListChanged", List::Tools),
        ("promptsListChanged", List::Prompts),
        ("resourcesListChanged", List::Resources),
    ] {
        if is_on(name) {
            granted.push((name, json!(true).into()));
            lists.insert(list);
        }
    }
    let view = hub.view();
    let asked = filter.get("resourceSubscriptions").and_then(|uris| uris.parse::<Vec<String>>().ok());
    let known: Vec<String> =
        asked.unwrap_or_default().into_iter().filter(|uri| view.inward(uri).is_some()).collect();
    let owned =
        |uri: &String| view.inward(uri).map(|(server, theirs)| (server.to_owned(), theirs.to_owned()));
    let uris: BTreeSet<(String, String)> = known.iter().filter_map(owned).collect();
    if !known.is_empty() {
        granted.push(("resourceSubscriptions", json!(known).into()));
    }
    let id = request.id.clone();
    let has_uris = !uris.is_empty();
    let listening = Listening { id: id.clone(), lists, uris, lane: caller.lane.clone() };
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
    let meta = request.params.get("_meta");
    let of = |name: &str| meta.as_ref().and_then(|meta| meta.get(name));
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

/// The caller behind a request.
pub(crate) fn caller(
    client: &Arc<crate::client::Client>,
    request: &Request,
    era: Era,
    lane: tokio::sync::mpsc::Sender<bytes::Bytes>,
) -> Caller {
    let meta = request.params.get("_meta");
    let of = |name: &str| meta.as_ref().and_then(|meta| meta.get(name));
    let capabilities = match era {
        Era::Modern => of("io.modelcontextprotocol/clientCapabilities"),
        Era::Handshake => client.greeting.get().map(|greeting| greeting.capabilities.clone()),
    };
    Caller {
        client: Arc::clone(client),
        era,
        capabilities: capabilities.unwrap_or_else(|| Json::object([])),
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
