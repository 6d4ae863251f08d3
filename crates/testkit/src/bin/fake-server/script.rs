//! The script: a JSON file in, what differs from a well-behaved server out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::action::{self, Action};
use crate::http::login::Login;
use crate::keys::Keys;
use crate::tools;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    /// Streamable HTTP at `/mcp`.
    Http,
    /// The transport of 2024-11-05: a stream at `/sse`, messages to another address.
    Sse,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
    Both,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sessions {
    No,
    /// An unknown session gets 404, as it should.
    Yes,
    /// An unknown session gets 400 and an error without an id, as some servers do.
    Refused400,
}

#[expect(clippy::struct_excessive_bools, reason = "each is one key of the script")]
pub(crate) struct Script {
    pub(crate) transport: Transport,
    pub(crate) era: Era,
    pub(crate) version: Option<String>,
    pub(crate) capabilities: Option<Value>,
    pub(crate) server_info: Value,
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Vec<Value>,
    pub(crate) resources: Option<Vec<Value>>,
    pub(crate) templates: Option<Vec<Value>>,
    pub(crate) prompts: Option<Vec<Value>>,
    pub(crate) page_size: Option<usize>,
    pub(crate) sessions: Sessions,
    /// Answers to POST are framed as events, also where plain JSON would do.
    pub(crate) events: bool,
    pub(crate) event_ids: bool,
    pub(crate) resumable: bool,
    pub(crate) listen: bool,
    pub(crate) post_status: u16,
    pub(crate) stay: bool,
    pub(crate) ignore_term: bool,
    pub(crate) start: Vec<Action>,
    pub(crate) eof: Vec<Action>,
    /// For a method, what to play the first time, the second time and so on; the last one repeats.
    pub(crate) on: BTreeMap<String, Vec<Vec<Action>>>,
    pub(crate) log: Option<PathBuf>,
    /// Gets a line for each call of a tool that ran.
    pub(crate) runs: Option<PathBuf>,
    /// Where to listen; 0 for any.
    pub(crate) port: u16,
    pub(crate) login: Option<Login>,
}

impl Script {
    pub(crate) fn load(path: &str) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        Self::read(&serde_json::from_str(&text).map_err(|error| error.to_string())?)
    }

    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let mut keys = Keys::of("the script", value)?;
        let transport = keys.word(
            "transport",
            &[("stdio", Transport::Stdio), ("http", Transport::Http), ("sse", Transport::Sse)],
        )?;
        let stdio = transport == Transport::Stdio;
        let mut list = |key: &str| match keys.list(key)? {
            Some(values) => action::list(&values, stdio),
            None => Ok(Vec::new()),
        };
        let (start, eof) = (list("start")?, list("eof")?);
        let on = match keys.take("on") {
            Some(value) => on(&value, stdio)?,
            None => BTreeMap::new(),
        };
        let script = Self {
            transport,
            era: keys
                .word("era", &[("legacy", Era::Legacy), ("modern", Era::Modern), ("both", Era::Both)])?,
            version: keys.text("version")?,
            capabilities: keys.take("capabilities"),
            server_info: keys
                .take("serverInfo")
                .unwrap_or_else(|| json!({"name": "fake-server", "version": "1.0.0"})),
            instructions: keys.text("instructions")?,
            tools: keys.list("tools")?.unwrap_or_else(tools::standard),
            resources: keys.list("resources")?,
            templates: keys.list("templates")?,
            prompts: keys.list("prompts")?,
            page_size: keys.number("page_size")?.and_then(|size| usize::try_from(size).ok()),
            sessions: sessions(keys.take("session").as_ref())?,
            events: keys.word("answer", &[("json", false), ("sse", true)])?,
            event_ids: keys.flag("event_ids")?,
            resumable: keys.flag("resumable")?,
            listen: keys.flag("listen")?,
            post_status: keys.status("post_status")?.unwrap_or(405),
            stay: keys.flag("stay")?,
            ignore_term: keys.word("sigterm", &[("default", false), ("ignore", true)])?,
            start,
            eof,
            on,
            log: keys.text("log")?.map(PathBuf::from),
            runs: keys.text("runs")?.map(PathBuf::from),
            port: keys.port("port")?,
            login: keys.take("login").as_ref().map(Login::read).transpose()?,
        };
        keys.end()?;
        if !stdio && !script.eof.is_empty() {
            return Err("the script: `eof` needs the transport stdio".to_owned());
        }
        if script.page_size == Some(0) {
            return Err("the script: `page_size` must be at least 1".to_owned());
        }
        Ok(script)
    }
}

fn sessions(value: Option<&Value>) -> Result<Sessions, String> {
    match value {
        None | Some(Value::Bool(false)) => Ok(Sessions::No),
        Some(Value::Bool(true)) => Ok(Sessions::Yes),
        Some(Value::String(text)) if text == "400" => Ok(Sessions::Refused400),
        Some(other) => Err(format!("the script: `session` must be true, false or \"400\", not {other}")),
    }
}

fn on(value: &Value, stdio: bool) -> Result<BTreeMap<String, Vec<Vec<Action>>>, String> {
    let methods = value.as_object().ok_or("`on` must be an object")?;
    let mut on = BTreeMap::new();
    for (method, reaction) in methods {
        let rounds = match reaction {
            Value::Array(actions) => vec![action::list(actions, stdio)?],
            other => {
                let mut keys = Keys::of(format!("`on` for `{method}`"), other)?;
                let times = keys.need("times")?;
                keys.end()?;
                let times = times.as_array().filter(|times| !times.is_empty());
                let times = times.ok_or(format!("`times` for `{method}` must be a list of lists"))?;
                let round = |round: &Value| {
                    let actions = round.as_array().ok_or(format!("`times` for `{method}`: not a list"))?;
                    action::list(actions, stdio)
                };
                times.iter().map(round).collect::<Result<_, String>>()?
            }
        };
        on.insert(method.clone(), rounds);
    }
    Ok(on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_never_passes() {
        let refused = [
            json!([]),
            json!({"transprot": "http"}),
            json!({"transport": "htpp"}),
            json!({"era": "medieval"}),
            json!({"session": "404"}),
            json!({"page_size": 0}),
            json!({"transport": "http", "port": 70000}),
            json!({"transport": "http", "login": {"acess": "x"}}),
            json!({"transport": "http", "eof": [{"exit": 1}]}),
            json!({"on": {"ping": [{"reslut": {}}]}}),
            json!({"on": {"ping": [{"result": {}, "exit": 1}]}}),
            json!({"on": {"ping": {"time": []}}}),
            json!({"on": {"ping": {"times": []}}}),
            json!({"on": {"ping": [{"repeat": {"text": "x"}}]}}),
            json!({"on": {"ping": [{"signal": "NONE"}]}}),
            json!({"on": {"ping": [{"fork": "knife"}]}}),
            json!({"on": {"ping": [{"silent": false}]}}),
            json!({"on": {"ping": [{"status": 500}]}}),
            json!({"transport": "http", "on": {"ping": [{"status": 500, "header": {}}]}}),
            json!({"transport": "http", "on": {"ping": [{"sse": [{"date": 1}]}]}}),
        ];
        for script in refused {
            assert!(Script::read(&script).is_err(), "{script} passes");
        }
        assert!(Script::read(&json!({})).is_ok());
    }
}
