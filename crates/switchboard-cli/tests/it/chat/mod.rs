//! `chat` against a model on this machine that follows a script, in the wire format of each provider, with real servers.

mod cancel;
mod failures;
mod headless;
mod images;
mod real;
mod refresh;
mod setup;

use serde_json::{Value, json};
use testkit::{Fake, FakeModel, FakeScript, Sandbox, fake_server};

use crate::switchboard;

/// A provider, where its address goes, and where its key goes.
#[derive(Clone, Copy)]
pub(crate) struct Provider {
    pub(crate) word: &'static str,
    address: (&'static str, &'static str),
    key: Option<&'static str>,
}

pub(crate) const PROVIDERS: [Provider; 5] = [
    Provider { word: "anthropic", address: ("ANTHROPIC_BASE_URL", ""), key: Some("ANTHROPIC_API_KEY") },
    Provider { word: "openai", address: ("OPENAI_BASE_URL", "/v1"), key: None },
    Provider { word: "openai-responses", address: ("OPENAI_BASE_URL", "/v1"), key: Some("OPENAI_API_KEY") },
    Provider { word: "gemini", address: ("GEMINI_BASE_URL", ""), key: Some("GEMINI_API_KEY") },
    Provider { word: "ollama", address: ("OLLAMA_HOST", ""), key: None },
];

pub(crate) const OPENAI: Provider = PROVIDERS[1];

/// A home with one scripted server `fake` that needs approval, and a model.
pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) script: FakeScript,
    pub(crate) model: FakeModel,
    pub(crate) provider: Provider,
}

/// What a run gave.
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl World {
    pub(crate) fn new(provider: Provider, server: Value, turns: &Value) -> Self {
        Self::with_model(provider, server, FakeModel::start(turns))
    }

    pub(crate) fn with_model(provider: Provider, server: Value, model: FakeModel) -> Self {
        let script = Fake::script(server);
        let (variable, path) = provider.address;
        let mut sandbox = Sandbox::new().with_var(variable, &format!("{}{path}", model.url()));
        if let Some(key) = provider.key {
            sandbox = sandbox.with_var(key, "canary-key");
        }
        sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        let entry = json!({"command": fake_server(), "args": [script.path()], "timeout": 0});
        sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"fake": entry}}).to_string());
        Self { sandbox, script, model, provider }
    }

    /// The name of the model.
    pub(crate) fn name(&self) -> String {
        format!("{}/small", self.provider.word)
    }

    pub(crate) fn command(&self, line: &[&str]) -> std::process::Command {
        let mut command = switchboard(&self.sandbox);
        command.args(["chat", "-p", "Do it.", "--model", &self.name()]).args(line);
        command
    }

    pub(crate) fn chat(&self, line: &[&str]) -> Ran {
        let output = self.command(line).output().unwrap();
        Ran {
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code(),
        }
    }
}

/// A turn that calls tools.
pub(crate) fn calls(list: &[(&str, Value)]) -> Value {
    let list: Vec<Value> = list.iter().map(|(name, args)| json!({"name": name, "arguments": args})).collect();
    json!({ "calls": list })
}

/// What a tool gave back, as each provider is told: all texts of the last request that belong to results.
pub(crate) fn told(provider: Provider, request: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match provider.word {
        "anthropic" => list(&request["messages"])
            .iter()
            .flat_map(|message| list(&message["content"]))
            .filter(|block| block["type"] == "tool_result")
            .map(|block| text(&block["content"]))
            .collect(),
        "openai" | "ollama" => list(&request["messages"])
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| text(&message["content"]))
            .collect(),
        "openai-responses" => list(&request["input"])
            .iter()
            .filter(|item| item["type"] == "function_call_output")
            .map(|item| text(&item["output"]))
            .collect(),
        _ => list(&request["contents"])
            .iter()
            .flat_map(|content| list(&content["parts"]))
            .filter(|part| part.get("functionResponse").is_some())
            .map(|part| part["functionResponse"]["response"].to_string())
            .collect(),
    }
}

/// The names of the tools in a request.
pub(crate) fn offered(provider: Provider, request: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let tools = list(&request["tools"]);
    let names: Vec<Value> = match provider.word {
        "anthropic" | "openai-responses" => tools.iter().map(|tool| tool["name"].clone()).collect(),
        "openai" | "ollama" => tools.iter().map(|tool| tool["function"]["name"].clone()).collect(),
        _ => {
            let all = tools.iter().flat_map(|tool| list(&tool["functionDeclarations"]));
            all.map(|tool| tool["name"].clone()).collect()
        }
    };
    names.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
}
