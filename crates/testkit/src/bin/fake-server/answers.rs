//! What a well-behaved server does with a message, in both eras.

use std::io;

use serde_json::{Value, json};

use crate::call::{Call, MODERN, VERSION_KEY};
use crate::http::streamable;
use crate::lists;
use crate::script::{Era, Transport};
use crate::tools;

/// Versions with a handshake, newest first.
pub(crate) const HANDSHAKE: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// An error as the answer to a request.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: i32,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
    /// The HTTP status that goes with it.
    pub(crate) status: u16,
    /// Whether it does not say which request it answers.
    pub(crate) anonymous: bool,
}

impl Refusal {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None, status: 200, anonymous: false }
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    fn to_message(&self, id: &Value) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        let id = if self.anonymous { &Value::Null } else { id };
        json!({"jsonrpc": "2.0", "error": error, "id": id})
    }
}

/// Either a result, an error, or nothing because the call was cancelled.
pub(crate) type Answer = Result<Option<Value>, Refusal>;

/// Behaves well.
pub(crate) async fn default(call: &mut Call) -> io::Result<()> {
    if call.bare {
        return streamable::bare(call).await;
    }
    let checked = match call.server.script.transport {
        Transport::Http => streamable::check(call),
        Transport::Stdio | Transport::Sse => Ok(()),
    };
    if call.is_notification() {
        if let Err(refusal) = checked {
            return call.port.answer(&refusal.to_message(&Value::Null), refusal.status).await;
        }
        if call.method == "notifications/cancelled" {
            let id = call.params.get("requestId").unwrap_or(&Value::Null);
            call.server.cancel(&call.scope, id);
        }
        return Ok(());
    }
    let answer = match checked {
        Ok(()) => answer(call).await,
        Err(refusal) => Err(refusal),
    };
    match answer {
        Ok(Some(result)) => {
            let message = json!({"jsonrpc": "2.0", "id": call.id, "result": decorate(call, result)});
            call.port.answer(&message, 200).await
        }
        Ok(None) => {
            if let Some(reply) = call.port.reply() {
                reply.say_nothing();
            }
            Ok(())
        }
        Err(refusal) => {
            let message = refusal.to_message(&call.id);
            call.port.answer(&message, refusal.status).await
        }
    }
}

/// Adds what every result of the modern era has.
fn decorate(call: &Call, mut result: Value) -> Value {
    if !call.modern {
        return result;
    }
    if result.get("resultType").is_none() {
        result["resultType"] = json!("complete");
    }
    if result["resultType"] == "complete" {
        let cacheable = call.method.ends_with("/list") || call.method == "resources/read";
        if cacheable || call.method == "server/discover" {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
    }
    result["_meta"]["io.modelcontextprotocol/serverInfo"] = call.server.script.server_info.clone();
    result
}

async fn answer(call: &mut Call) -> Answer {
    let unknown = |call: &Call| {
        let status = if call.modern { 404 } else { 200 };
        Err(Refusal::new(-32601, format!("Method not found: {}", call.method)).with_status(status))
    };
    if call.modern {
        if call.method == "initialize" {
            return unknown(call);
        }
        check_meta(call)?;
    }
    let method = call.method.clone();
    match (method.as_str(), call.modern) {
        ("initialize", false) => return Ok(Some(initialize(call))),
        ("ping", false) => return Ok(Some(json!({}))),
        ("server/discover", false) => return unknown(call),
        ("server/discover", true) => return Ok(Some(discover(call))),
        ("subscriptions/listen", true) => return listen(call).await,
        (_, false) if !call.server.is_ready(&call.scope) => {
            return Err(Refusal::new(-32600, "Invalid request: the server is not initialized"));
        }
        _ => {}
    }
    match method.as_str() {
        "tools/call" => tools::call(call).await,
        "resources/read" => lists::read(call),
        "prompts/get" => lists::prompt(call),
        other => match lists::page(call, other)? {
            Some(page) => Ok(Some(page)),
            None => unknown(call),
        },
    }
}

/// Every request says for itself which version it speaks.
fn check_meta(call: &Call) -> Result<(), Refusal> {
    let meta = call.params.get("_meta");
    let Some(version) = meta.and_then(|meta| meta.get(VERSION_KEY)).and_then(Value::as_str) else {
        let message = format!("Invalid params: `_meta` has no `{VERSION_KEY}`");
        return Err(Refusal::new(-32602, message).with_status(400));
    };
    if version != MODERN {
        let data = json!({"supported": supported(call), "requested": version});
        let refusal = Refusal::new(-32022, "Unsupported protocol version").with_status(400);
        return Err(Refusal { data: Some(data), ..refusal });
    }
    let key = "io.modelcontextprotocol/clientCapabilities";
    if meta.and_then(|meta| meta.get(key)).is_none_or(|capabilities| !capabilities.is_object()) {
        let message = format!("Invalid params: `_meta` has no `{key}`");
        return Err(Refusal::new(-32602, message).with_status(400));
    }
    Ok(())
}

fn supported(call: &Call) -> Vec<&'static str> {
    let old = if call.server.script.era == Era::Both { HANDSHAKE } else { &[] };
    [MODERN].iter().chain(old).copied().collect()
}

fn initialize(call: &Call) -> Value {
    let script = &call.server.script;
    let asked = call.params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let known = HANDSHAKE.iter().find(|version| **version == asked).unwrap_or(&HANDSHAKE[0]);
    let mut result = json!({
        "protocolVersion": script.version.as_deref().unwrap_or(known),
        "capabilities": capabilities(call),
        "serverInfo": script.server_info,
    });
    if let Some(instructions) = &script.instructions {
        result["instructions"] = json!(instructions);
    }
    result
}

fn discover(call: &Call) -> Value {
    let mut result = json!({"supportedVersions": supported(call), "capabilities": capabilities(call)});
    if let Some(instructions) = &call.server.script.instructions {
        result["instructions"] = json!(instructions);
    }
    result
}

fn capabilities(call: &Call) -> Value {
    let script = &call.server.script;
    if let Some(capabilities) = &script.capabilities {
        return capabilities.clone();
    }
    let mut capabilities = json!({"tools": {"listChanged": true}});
    if script.resources.is_some() || script.templates.is_some() {
        capabilities["resources"] = json!({"listChanged": true, "subscribe": true});
    }
    if script.prompts.is_some() {
        capabilities["prompts"] = json!({"listChanged": true});
    }
    capabilities
}

/// Confirms the subscription and passes on what is broadcast, until somebody ends it.
async fn listen(call: &mut Call) -> Answer {
    let key = "io.modelcontextprotocol/subscriptionId";
    let broken = |error: io::Error| Refusal::new(-32603, error.to_string());
    let mut messages = call.server.listen();
    let granted = call.params.get("notifications").cloned().unwrap_or_else(|| json!({}));
    let params = json!({"_meta": {key: call.id}, "notifications": granted});
    call.notify("notifications/subscriptions/acknowledged", params).await.map_err(broken)?;
    let cancel = std::sync::Arc::clone(&call.cancel);
    loop {
        tokio::select! {
            () = cancel.notified() => return Ok(None),
            message = messages.recv() => {
                let Some(mut message) = message else { return Ok(None) };
                message["params"]["_meta"][key] = call.id.clone();
                call.port.message(&message).await.map_err(broken)?;
            }
        }
    }
}
