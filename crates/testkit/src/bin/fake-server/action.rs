//! The actions of a script: JSON in, one value of `Action` for each out.

use serde_json::Value;

use crate::keys::Keys;
use crate::process;

/// A text that is written many times without being held in memory.
pub(crate) struct Repeat {
    pub(crate) text: String,
    pub(crate) times: u64,
}

#[derive(Clone, Copy)]
pub(crate) enum Fork {
    Grandchild,
    Daemon,
    Tree,
}

/// What one part of an event stream is made of.
#[derive(Default)]
pub(crate) struct Event {
    pub(crate) name: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<u64>,
    pub(crate) comment: Option<String>,
    pub(crate) data: Option<Payload>,
}

pub(crate) enum Payload {
    /// A text as it is, anything else as JSON.
    Data(Value),
    Result(Value),
    Error(Value),
}

/// A step of `sse`.
pub(crate) enum Step {
    Event(Event),
    Sleep(u64),
    Raw(String),
    Repeat(Repeat),
    Cut,
    Hang,
}

pub(crate) enum Action {
    Default,
    Result(Value),
    Error(Value),
    Message(Value),
    Notify(Value),
    Broadcast(Value),
    Request(Value),
    Sleep(u64),
    Exit(i32),
    Signal(String),
    /// Everything, or only this connection.
    Hang {
        all: bool,
    },
    Silent,
    Forget,
    Raw(String),
    Repeat(Repeat),
    Stderr(String),
    StderrRepeat(Repeat),
    DripText {
        text: String,
        ms: u64,
    },
    DripResult {
        result: Value,
        ms: u64,
    },
    CloseStdout,
    Fork(Fork),
    Status {
        status: u16,
        headers: Vec<(String, Value)>,
        body: Option<Value>,
    },
    Sse(Vec<Step>),
    Cut,
    CutAfter {
        bytes: usize,
        of_body: bool,
    },
    GzipBomb(u64),
    EndlessHeaders,
    Accept,
}

impl Action {
    /// Whether it speaks of the HTTP exchange rather than of messages.
    pub(crate) fn is_http(&self) -> bool {
        matches!(
            self,
            Self::Status { .. }
                | Self::Sse(_)
                | Self::Cut
                | Self::CutAfter { .. }
                | Self::GzipBomb(_)
                | Self::EndlessHeaders
                | Self::Accept
        )
    }

    /// Whether the call is taken as a good server takes it, whatever becomes of the answer.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self, Self::Default | Self::CutAfter { .. })
    }

    /// Whether it makes a message on the answer's stream. Two of these do not fit into one JSON body.
    pub(crate) fn is_message(&self) -> bool {
        matches!(
            self,
            Self::Default
                | Self::Result(_)
                | Self::Error(_)
                | Self::Message(_)
                | Self::Notify(_)
                | Self::Request(_)
        )
    }
}

/// Reads a list of actions. On stdio there is no HTTP to misuse.
pub(crate) fn list(values: &[Value], stdio: bool) -> Result<Vec<Action>, String> {
    let read = |value: &Value| {
        let action = action(value)?;
        if stdio && action.is_http() {
            return Err(format!("{value} needs the transport http or sse"));
        }
        Ok(action)
    };
    values.iter().map(read).collect()
}

fn action(value: &Value) -> Result<Action, String> {
    if value.get("status").is_some() {
        return status(value);
    }
    let (name, inner) = single(value)?;
    if let Some(action) = messages(name, inner)? {
        return Ok(action);
    }
    if let Some(action) = vices(name, inner)? {
        return Ok(action);
    }
    web(name, inner)?.ok_or(format!("unknown action `{name}`"))
}

/// The one key of an object and its value.
fn single(value: &Value) -> Result<(&str, &Value), String> {
    let object = value.as_object().filter(|object| object.len() == 1);
    let entry = object.and_then(|object| object.iter().next());
    entry.map(|(key, inner)| (key.as_str(), inner)).ok_or(format!("{value} is no action: it needs one key"))
}

fn messages(name: &str, inner: &Value) -> Result<Option<Action>, String> {
    let method = |what: &str, allowed: &[&str]| {
        let mut keys = Keys::of(what, inner)?;
        keys.need("method")?;
        for key in allowed {
            drop(keys.take(key));
        }
        keys.end()?;
        Ok::<_, String>(inner.clone())
    };
    Ok(Some(match name {
        "default" => yes(name, inner, Action::Default)?,
        "result" => Action::Result(inner.clone()),
        "error" => Action::Error(inner.clone()),
        "message" => Action::Message(inner.clone()),
        "notify" => Action::Notify(method("`notify`", &["params"])?),
        "broadcast" => Action::Broadcast(method("`broadcast`", &["params"])?),
        "request" => Action::Request(method("`request`", &["id", "params"])?),
        _ => return Ok(None),
    }))
}

fn vices(name: &str, inner: &Value) -> Result<Option<Action>, String> {
    Ok(Some(match name {
        "sleep_ms" => Action::Sleep(number(name, inner)?),
        "exit" => {
            let code = inner.as_i64().and_then(|code| i32::try_from(code).ok());
            Action::Exit(code.ok_or(format!("`exit` must be a number, not {inner}"))?)
        }
        "signal" => {
            let name = text(name, inner)?;
            if !process::knows_signal(&name) {
                return Err(format!("unknown signal `{name}`"));
            }
            Action::Signal(name)
        }
        "hang" if inner == "all" => Action::Hang { all: true },
        "hang" => yes(name, inner, Action::Hang { all: false })?,
        "silent" => yes(name, inner, Action::Silent)?,
        "forget" => yes(name, inner, Action::Forget)?,
        "raw" => Action::Raw(text(name, inner)?),
        "repeat" => Action::Repeat(repeat(inner)?),
        "stderr" => Action::Stderr(text(name, inner)?),
        "stderr_repeat" => Action::StderrRepeat(repeat(inner)?),
        "drip" => drip(inner)?,
        "close_stdout" => yes(name, inner, Action::CloseStdout)?,
        "fork" => Action::Fork(match inner.as_str() {
            Some("grandchild") => Fork::Grandchild,
            Some("daemon") => Fork::Daemon,
            Some("tree") => Fork::Tree,
            _ => return Err(format!("`fork` must be grandchild, daemon or tree, not {inner}")),
        }),
        _ => return Ok(None),
    }))
}

fn web(name: &str, inner: &Value) -> Result<Option<Action>, String> {
    Ok(Some(match name {
        "sse" => {
            let steps = inner.as_array().ok_or(format!("`sse` must be a list, not {inner}"))?;
            Action::Sse(steps.iter().map(step).collect::<Result<_, _>>()?)
        }
        "cut" => yes(name, inner, Action::Cut)?,
        "cut_after" => {
            let (inner, of_body) = inner.get("body").map_or((inner, false), |inner| (inner, true));
            let bytes = usize::try_from(number(name, inner)?).map_err(|error| error.to_string())?;
            Action::CutAfter { bytes, of_body }
        }
        "redirect" => {
            let mut keys = Keys::of("`redirect`", inner)?;
            let status = keys.status("status")?.unwrap_or(307);
            let location = keys.need("location")?;
            keys.end()?;
            Action::Status { status, headers: vec![("Location".to_owned(), location)], body: None }
        }
        "gzip_bomb" => Action::GzipBomb(number(name, inner)?),
        "endless_headers" => yes(name, inner, Action::EndlessHeaders)?,
        "accept" => yes(name, inner, Action::Accept)?,
        _ => return Ok(None),
    }))
}

fn status(value: &Value) -> Result<Action, String> {
    let mut keys = Keys::of("`status`", value)?;
    let status = keys.status("status")?.unwrap_or(200);
    let headers = match keys.take("headers") {
        Some(Value::Object(headers)) => headers.into_iter().collect(),
        Some(other) => return Err(format!("`headers` must be an object, not {other}")),
        None => Vec::new(),
    };
    let body = keys.take("body");
    keys.end()?;
    Ok(Action::Status { status, headers, body })
}

fn step(value: &Value) -> Result<Step, String> {
    let mut keys = Keys::of("a part of `sse`", value)?;
    let step = if let Some(ms) = keys.number("sleep_ms")? {
        Step::Sleep(ms)
    } else if let Some(text) = keys.text("raw")? {
        Step::Raw(text)
    } else if let Some(inner) = keys.take("repeat") {
        Step::Repeat(repeat(&inner)?)
    } else if keys.flag("cut")? {
        Step::Cut
    } else if keys.flag("hang")? {
        Step::Hang
    } else {
        let mut event = Event {
            name: keys.text("event")?,
            id: keys.text("id")?,
            retry: keys.number("retry")?,
            comment: keys.text("comment")?,
            data: None,
        };
        for (key, payload) in [
            ("data", Payload::Data as fn(Value) -> Payload),
            ("message", Payload::Data),
            ("result", Payload::Result),
            ("error", Payload::Error),
        ] {
            if let Some(inner) = keys.take(key) {
                event.data = Some(payload(inner));
            }
        }
        Step::Event(event)
    };
    keys.end()?;
    Ok(step)
}

fn repeat(value: &Value) -> Result<Repeat, String> {
    let mut keys = Keys::of("`repeat`", value)?;
    let text = text("text", &keys.need("text")?)?;
    let times = number("times", &keys.need("times")?)?;
    keys.end()?;
    Ok(Repeat { text, times })
}

fn drip(value: &Value) -> Result<Action, String> {
    let mut keys = Keys::of("`drip`", value)?;
    let ms = keys.number("ms")?.unwrap_or(1);
    let action = match keys.take("result") {
        Some(result) => Action::DripResult { result, ms },
        None => Action::DripText { text: text("text", &keys.need("text")?)?, ms },
    };
    keys.end()?;
    Ok(action)
}

fn yes(name: &str, value: &Value, action: Action) -> Result<Action, String> {
    if *value == Value::Bool(true) { Ok(action) } else { Err(format!("`{name}` must be true, not {value}")) }
}

fn number(name: &str, value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or(format!("`{name}` must be a number, not {value}"))
}

fn text(name: &str, value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or(format!("`{name}` must be a text, not {value}"))
}
