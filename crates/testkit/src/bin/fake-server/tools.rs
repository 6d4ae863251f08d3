//! The tools every script has unless it names its own.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::answers::{Answer, Refusal};
use crate::call::Call;

/// How often a slow call tells that it is alive.
const PULSE: u64 = 50;
/// Must come back byte for byte.
const STATE: &str = "fake state/1 + \"é\" =";

/// The definitions of the standard tools.
pub(crate) fn standard() -> Vec<Value> {
    let tool = |name: &str, description: &str, properties: Value| {
        let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        json!({"name": name, "description": description, "inputSchema": schema})
    };
    let mut add = tool("add", "Adds two numbers", json!({"a": {"type": "number"}, "b": {"type": "number"}}));
    add["outputSchema"] =
        json!({"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]});
    vec![
        tool("echo", "Gives back a text", json!({"text": {"type": "string"}})),
        add,
        tool("slow", "Answers after some milliseconds", json!({"ms": {"type": "integer"}})),
        tool("count", "Counts its calls", json!({})),
        tool("ask", "Asks the user", json!({})),
        tool("env", "Shows the environment", json!({})),
        tool("pid", "Shows the process id", json!({})),
    ]
}

fn text(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}]})
}

fn structured(value: &Value) -> Value {
    let mut result = text(value.to_string());
    result["structuredContent"] = value.clone();
    result
}

fn failure(what: &str) -> Value {
    let mut result = text(what);
    result["isError"] = json!(true);
    result
}

/// Calls a tool that is in the list.
pub(crate) async fn call(call: &mut Call) -> Answer {
    let name = call.params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let arguments = call.params.get("arguments").cloned().unwrap_or_else(|| json!({}));
    if !call.server.script.tools.iter().any(|tool| tool["name"] == name.as_str()) {
        return Err(Refusal::new(-32602, format!("Unknown tool: {name}")));
    }
    call.server.ran(&call.params);
    Ok(Some(match name.as_str() {
        "echo" => match arguments.get("text").and_then(Value::as_str) {
            Some(said) => text(said),
            None => failure("`text` must be a text"),
        },
        "add" => match (arguments["a"].as_f64(), arguments["b"].as_f64()) {
            (Some(a), Some(b)) => {
                let mut result = structured(&json!({"sum": a + b}));
                result["content"][0]["text"] = json!((a + b).to_string());
                result
            }
            _ => failure("`a` and `b` must be numbers"),
        },
        "slow" => return slow(call, arguments["ms"].as_u64().unwrap_or(0)).await,
        "count" => match call.server.count() {
            Ok(count) => text(count.to_string()),
            Err(error) => failure(&error.to_string()),
        },
        "ask" if call.modern => return ask_modern(call, &arguments),
        "ask" => return ask_legacy(call, &arguments).await,
        "env" => {
            let vars = std::env::vars_os();
            let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
                (name.to_string_lossy().into_owned(), json!(value.to_string_lossy()))
            };
            structured(&Value::Object(vars.map(entry).collect()))
        }
        "pid" => text(std::process::id().to_string()),
        // A tool the script invented.
        _ => text(format!("{name} {arguments}")),
    }))
}

/// Waits, telling how far it is, until it is done or cancelled.
async fn slow(call: &mut Call, ms: u64) -> Answer {
    let token = call.params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
    let cancel = Arc::clone(&call.cancel);
    let mut waited = 0;
    while waited < ms {
        let pause = PULSE.min(ms - waited);
        tokio::select! {
            () = cancel.notified() => return Ok(None),
            () = tokio::time::sleep(Duration::from_millis(pause)) => waited += pause,
        }
        if let Some(token) = &token
            && waited < ms
        {
            let params = json!({"progressToken": token, "progress": waited, "total": ms});
            let told = call.notify("notifications/progress", params).await;
            told.map_err(|error| Refusal::new(-32603, error.to_string()))?;
        }
    }
    Ok(Some(text(format!("waited {ms} ms"))))
}

fn question(arguments: &Value) -> Value {
    json!({
        "message": arguments["message"].as_str().unwrap_or("What is your name?"),
        "requestedSchema": {
            "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
        },
    })
}

/// Asks with a request of its own, on the stream of the call.
async fn ask_legacy(call: &mut Call, arguments: &Value) -> Answer {
    let id = json!(format!("fake-{}", call.server.number()));
    let cancel = Arc::clone(&call.cancel);
    let answer = tokio::select! {
        () = cancel.notified() => return Ok(None),
        answer = call.ask(id, "elicitation/create", Some(question(arguments))) => answer,
    };
    let answer = answer.map_err(|error| Refusal::new(-32603, error.to_string()))?;
    let answer = answer.get("result").or(answer.get("error")).unwrap_or(&Value::Null);
    Ok(Some(text(answer.to_string())))
}

/// Asks with a result that wants the call again, this time with the answers.
fn ask_modern(call: &Call, arguments: &Value) -> Answer {
    let Some(responses) = call.params.get("inputResponses") else {
        let request = json!({"method": "elicitation/create", "params": question(arguments)});
        return Ok(Some(json!({
            "resultType": "input_required", "inputRequests": {"q": request}, "requestState": STATE,
        })));
    };
    if call.params.get("requestState").and_then(Value::as_str) != Some(STATE) {
        return Err(Refusal::new(-32602, "Invalid params: `requestState` is not what it was"));
    }
    Ok(Some(text(responses.get("q").unwrap_or(&Value::Null).to_string())))
}
