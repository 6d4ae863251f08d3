//! The script: one turn for each request, in order.

use std::path::PathBuf;

use serde_json::{Map, Value};

/// What the model says, one request after the other.
pub(crate) struct Script {
    turns: Vec<Turn>,
    /// The last turn is said again and again.
    repeat: bool,
    pub(crate) log: PathBuf,
}

/// What the model says to one request.
#[derive(Default)]
pub(crate) struct Turn {
    /// Words, piece by piece.
    pub(crate) text: Vec<String>,
    /// `{"name", "arguments"}`; arguments that are a text are sent as they are.
    pub(crate) calls: Vec<(String, Value)>,
    /// Bytes in between.
    pub(crate) raw: Option<String>,
    /// Breaks off: `hard`, or `clean` with the end of the body but not of the answer.
    pub(crate) cut: Option<String>,
    /// Stays open until the other side goes away.
    pub(crate) hang: bool,
    /// Why it ends: `length` or `refusal`.
    pub(crate) stop: Option<String>,
    /// An error in the middle.
    pub(crate) error: Option<String>,
    /// Another status than 200, with its headers and body.
    pub(crate) status: Option<u16>,
    pub(crate) headers: Map<String, Value>,
    pub(crate) body: Value,
}

impl Script {
    pub(crate) fn load(path: &str) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let turns = value["turns"].as_array().ok_or("`turns` must be a list")?;
        let turns: Result<Vec<Turn>, String> = turns.iter().map(turn).collect();
        let log = value["log"].as_str().ok_or("`log` must be a path")?;
        Ok(Self { turns: turns?, repeat: value["repeat"].as_bool().unwrap_or(false), log: log.into() })
    }

    pub(crate) fn turn(&self, index: usize) -> Option<&Turn> {
        let last = self.turns.last().filter(|_| self.repeat);
        self.turns.get(index).or(last)
    }
}

fn turn(value: &Value) -> Result<Turn, String> {
    let fields = value.as_object().ok_or(format!("{value} is no turn"))?;
    let mut turn = Turn::default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    for (key, value) in fields {
        match key.as_str() {
            "text" => match value {
                Value::Array(pieces) => turn.text = pieces.iter().filter_map(text).collect(),
                one => turn.text = text(one).into_iter().collect(),
            },
            "calls" => {
                let calls = value.as_array().into_iter().flatten();
                turn.calls = calls
                    .map(|call| (text(&call["name"]).unwrap_or_default(), call["arguments"].clone()))
                    .collect();
            }
            "raw" => turn.raw = text(value),
            "cut" => turn.cut = text(value),
            "hang" => turn.hang = value == true,
            "stop" => turn.stop = text(value),
            "error" => turn.error = text(value),
            "status" => turn.status = value.as_u64().and_then(|n| u16::try_from(n).ok()),
            "headers" => turn.headers = value.as_object().cloned().unwrap_or_default(),
            "body" => turn.body = value.clone(),
            other => return Err(format!("unknown key `{other}`")),
        }
    }
    Ok(turn)
}
