//! The built-in server `thinking`: a notebook for thoughts that build on each other.
//!
//! In: one JSON-RPC message. Out: the answer, if it wants one. Pure, so that the tests need no process. It speaks both
//! eras of the protocol: with a handshake, and without one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The era without a handshake.
const MODERN: &str = "2026-07-28";
/// Versions with a handshake, newest first.
const HANDSHAKE: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const TOOL: &str = "sequentialthinking";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The thoughts so far.
#[derive(Debug, Default)]
pub(crate) struct Thinking {
    n_thoughts: usize,
    branches: BTreeSet<String>,
}

/// A JSON-RPC error.
struct Refusal {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl Refusal {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

impl Thinking {
    /// Answers one line; a notification gets no answer.
    pub(crate) fn line(&mut self, line: &str) -> Option<Value> {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return Some(failure(&Value::Null, &Refusal::new(-32700, "this is not JSON")));
        };
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            // An answer to a question we never asked.
            return match message.get("id") {
                Some(_) if message.get("result").is_some() || message.get("error").is_some() => None,
                id => Some(failure(id.unwrap_or(&Value::Null), &Refusal::new(-32600, "there is no method"))),
            };
        };
        let id = message.get("id")?;
        let empty = json!({});
        let params = message.get("params").unwrap_or(&empty);
        Some(match self.request(method, params) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(refusal) => failure(id, &refusal),
        })
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, Refusal> {
        let version = params.get("_meta").and_then(|meta| meta.get(VERSION_KEY)).and_then(Value::as_str);
        if let Some(version) = version
            && version != MODERN
        {
            let data = json!({"supported": [MODERN], "requested": version});
            let message = "this protocol version is not supported";
            return Err(Refusal { data: Some(data), ..Refusal::new(-32022, message) });
        }
        let mut result = match method {
            "initialize" => return Ok(initialize(params)),
            "ping" => return Ok(json!({})),
            "server/discover" => json!({
                "supportedVersions": [MODERN], "capabilities": {"tools": {}}, "ttlMs": 3_600_000, "cacheScope": "public",
            }),
            "tools/list" => json!({"tools": [tool()]}),
            "tools/call" => self.call(params)?,
            other => return Err(Refusal::new(-32601, format!("there is no method `{other}`"))),
        };
        if version.is_some() {
            result["resultType"] = json!("complete");
            result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": server_info()});
        }
        Ok(result)
    }

    fn call(&mut self, params: &Value) -> Result<Value, Refusal> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        if name != TOOL {
            return Err(Refusal::new(-32602, format!("there is no tool `{name}`")));
        }
        let empty = json!({});
        Ok(match self.think(params.get("arguments").unwrap_or(&empty)) {
            Ok(state) => {
                json!({"content": [{"type": "text", "text": format!("{state:#}")}], "structuredContent": state, "isError": false})
            }
            Err(what) => json!({"content": [{"type": "text", "text": what}], "isError": true}),
        })
    }

    /// Takes in a thought and tells where the thinking stands.
    fn think(&mut self, arguments: &Value) -> Result<Value, String> {
        let number = |name: &str| {
            arguments
                .get(name)
                .and_then(Value::as_u64)
                .filter(|number| *number > 0)
                .ok_or(format!("`{name}` must be a number from 1"))
        };
        if arguments.get("thought").and_then(Value::as_str).is_none_or(|thought| thought.trim().is_empty()) {
            return Err("`thought` must be a text".to_owned());
        }
        let next = arguments.get("nextThoughtNeeded").and_then(Value::as_bool);
        let next = next.ok_or("`nextThoughtNeeded` must be true or false")?;
        let (thought, total) = (number("thoughtNumber")?, number("totalThoughts")?);
        self.n_thoughts += 1;
        if let (Some(_), Some(branch)) =
            (arguments.get("branchFromThought"), arguments.get("branchId").and_then(Value::as_str))
        {
            self.branches.insert(branch.to_owned());
        }
        Ok(json!({
            "thoughtNumber": thought,
            // More thoughts than planned are simply a longer plan.
            "totalThoughts": total.max(thought),
            "nextThoughtNeeded": next,
            "branches": self.branches,
            "thoughtHistoryLength": self.n_thoughts,
        }))
    }
}

fn initialize(params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let version = HANDSHAKE.iter().find(|version| **version == asked).unwrap_or(&HANDSHAKE[0]);
    json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server_info()})
}

fn server_info() -> Value {
    json!({"name": "switchboard-thinking", "version": env!("CARGO_PKG_VERSION")})
}

fn failure(id: &Value, refusal: &Refusal) -> Value {
    let mut error = json!({"code": refusal.code, "message": refusal.message});
    if let Some(data) = &refusal.data {
        error["data"] = data.clone();
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

fn tool() -> Value {
    let text = |what: &str| json!({"type": "string", "description": what});
    let flag = |what: &str| json!({"type": "boolean", "description": what});
    let number = |what: &str| json!({"type": "integer", "minimum": 1, "description": what});
    json!({
        "name": TOOL,
        "title": "Sequential thinking",
        "description": "Write down one thought of a longer line of thinking. Use it for problems that need several steps, where the plan may change on the way: number the thoughts, revise an earlier one, or branch off from it. Say whether another thought is needed; stop when the answer is found.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "thought": text("The thought"),
                "nextThoughtNeeded": flag("Whether another thought is needed"),
                "thoughtNumber": number("Number of this thought"),
                "totalThoughts": number("How many thoughts it will take, as far as can be told"),
                "isRevision": flag("Whether it revises an earlier thought"),
                "revisesThought": number("The thought it revises"),
                "branchFromThought": number("The thought it branches off from"),
                "branchId": text("Name of the branch"),
                "needsMoreThoughts": flag("Whether the plan turned out too short"),
            },
            "required": ["thought", "nextThoughtNeeded", "thoughtNumber", "totalThoughts"],
        },
        "annotations": {"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(server: &mut Thinking, method: &str, params: &Value) -> Value {
        server
            .line(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string())
            .unwrap()
    }

    fn thought(n: u64, total: u64) -> Value {
        json!({"name": TOOL, "arguments": {"thought": "so", "nextThoughtNeeded": true, "thoughtNumber": n, "totalThoughts": total}})
    }

    #[test]
    fn speaks_with_a_handshake() {
        let mut server = Thinking::default();
        let hello = ask(&mut server, "initialize", &json!({"protocolVersion": "2025-06-18"}));
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
        let unknown = ask(&mut server, "initialize", &json!({"protocolVersion": "1999-01-01"}));
        assert_eq!(unknown["result"]["protocolVersion"], HANDSHAKE[0]);
        assert!(server.line(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#).is_none());
        let tools = ask(&mut server, "tools/list", &json!({}));
        assert_eq!(tools["result"]["tools"][0]["name"], TOOL);
        assert!(tools["result"].get("resultType").is_none());
        assert_eq!(ask(&mut server, "ping", &json!({}))["result"], json!({}));
    }

    #[test]
    fn speaks_without_one() {
        let mut server = Thinking::default();
        let meta = |version: &str| json!({"_meta": {VERSION_KEY: version}});
        let found = ask(&mut server, "server/discover", &meta(MODERN));
        assert_eq!(found["result"]["supportedVersions"], json!([MODERN]));
        assert_eq!(ask(&mut server, "tools/list", &meta(MODERN))["result"]["resultType"], "complete");
        assert_eq!(ask(&mut server, "tools/list", &meta("2099-01-01"))["error"]["code"], -32022);
    }

    #[test]
    fn keeps_count_of_thoughts() {
        let mut server = Thinking::default();
        ask(&mut server, "tools/call", &thought(1, 2));
        let mut branch = thought(3, 2);
        branch["arguments"]["branchFromThought"] = json!(1);
        branch["arguments"]["branchId"] = json!("b");
        let answer = ask(&mut server, "tools/call", &branch);
        let expected = json!({"thoughtNumber": 3, "totalThoughts": 3, "nextThoughtNeeded": true, "branches": ["b"], "thoughtHistoryLength": 2});
        assert_eq!(answer["result"]["structuredContent"], expected);
    }

    #[test]
    fn says_what_is_wrong() {
        let mut server = Thinking::default();
        assert_eq!(ask(&mut server, "tools/call", &thought(0, 2))["result"]["isError"], true);
        assert_eq!(ask(&mut server, "tools/call", &json!({"name": "other"}))["error"]["code"], -32602);
        assert_eq!(ask(&mut server, "nonsense", &json!({}))["error"]["code"], -32601);
        assert_eq!(server.line("{").unwrap()["error"]["code"], -32700);
        assert_eq!(server.line("{}").unwrap()["error"]["code"], -32600);
        assert!(server.line(r#"{"jsonrpc": "2.0", "id": 9, "result": {}}"#).is_none());
    }
}
