//! Messages between a client and us: taken apart no further than the envelope, put together without touching what is
//! inside. Pure.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use switchboard::host::Refusal;
use switchboard::json::Json;

/// A message of a client.
#[derive(Debug)]
pub(crate) enum Message {
    Request(Request),
    Notification {
        method: String,
        params: Json,
    },
    /// An answer to a question of ours.
    Response {
        id: Json,
        outcome: Result<Json, Refusal>,
    },
}

/// Something a client asks.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Given back as it came.
    pub(crate) id: Json,
    pub(crate) method: String,
    /// Always an object.
    pub(crate) params: Json,
    /// What stands in the parameters besides what is asked.
    pub(crate) meta: Option<Json>,
}

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Json>,
}

pub(crate) const PARSE: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL: i64 = -32603;
pub(crate) const HEADER_MISMATCH: i64 = -32020;
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    pub(crate) fn no_method(method: &str) -> Self {
        Self::new(NOT_FOUND, format!("method not found: {}", switchboard::visible::excerpt(method, 80)))
    }

    pub(crate) fn with(mut self, data: impl Into<Json>) -> Self {
        self.data = Some(data.into());
        self
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// The messages in a text: one, or several in a batch. What is no message comes back as the error to answer with.
pub(crate) fn decode(text: &Bytes) -> Vec<Result<Message, RpcError>> {
    // Mostly it is a message, and then one walk through it is enough.
    if is_object(text)
        && let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(text)
    {
        return vec![one(text, &envelope)];
    }
    let Ok(json) = Json::from_bytes(text) else {
        return vec![Err(RpcError::new(PARSE, "this is no JSON"))];
    };
    let read = |json: &Json| match json.read::<Envelope<'_>>() {
        Ok(envelope) if is_object(json.bytes()) => one(json.bytes(), &envelope),
        _ => Err(invalid("its fields are not what they should be")),
    };
    match json.items() {
        Some(batch) if batch.is_empty() => vec![Err(RpcError::new(INVALID_REQUEST, "the batch is empty"))],
        Some(batch) => batch.iter().map(read).collect(),
        None => vec![read(&json)],
    }
}

/// A list of the right values reads as an envelope too, but is none.
fn is_object(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"{")
}

fn invalid(why: &str) -> RpcError {
    RpcError::new(INVALID_REQUEST, format!("this is no message: {why}"))
}

fn one(text: &Bytes, envelope: &Envelope<'_>) -> Result<Message, RpcError> {
    let part = |raw: &RawValue| Json::within(text, raw);
    let Some(method) = envelope.method.clone() else {
        let id = envelope.id.map(part).ok_or_else(|| invalid("it has neither a method nor an id"))?;
        let outcome = match (envelope.result, envelope.error) {
            (Some(result), None) => Ok(part(result)),
            (None, Some(error)) => Err(refusal(&part(error))),
            _ => return Err(invalid("it has to have either a result or an error")),
        };
        return Ok(Message::Response { id, outcome });
    };
    let params = envelope.params.map_or_else(|| Json::object([]), part);
    if !params.as_str().starts_with('{') {
        return Err(RpcError::params("the parameters have to be an object"));
    }
    match envelope.id.map(part) {
        Some(id) if is_id(&id) => {
            let meta = params.get("_meta");
            Ok(Message::Request(Request { id, method, params, meta }))
        }
        Some(_) => Err(invalid("the id has to be a text or a whole number")),
        // An id that is `null` reads as none at all.
        None if Json::from_bytes(text).is_ok_and(|text| text.get("id").is_some()) => {
            Err(invalid("the id has to be a text or a whole number"))
        }
        None => Ok(Message::Notification { method, params }),
    }
}

fn is_id(id: &Json) -> bool {
    let text = id.as_str();
    text.starts_with('"') || (text.parse::<f64>().is_ok() && !text.contains('.'))
}

fn refusal(error: &Json) -> Refusal {
    let code = error.get("code").and_then(|code| code.parse().ok()).unwrap_or(INTERNAL);
    let message = error.get("message").and_then(|message| message.text()).unwrap_or_default();
    Refusal { code, message }
}

/// A message as it goes out.
fn text(json: &Json) -> Bytes {
    let bytes = json.bytes();
    if memchr::memchr2(b'\n', b'\r', bytes).is_none() { bytes.clone() } else { line(bytes.to_vec()) }
}

/// A message is a line. Breaks only stand between the parts of a value; strings hold none.
fn line(mut text: Vec<u8>) -> Bytes {
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', &text[from..]) {
        text[from + at] = b' ';
        from += at + 1;
    }
    Bytes::from(text)
}

fn version() -> (&'static str, Json) {
    ("jsonrpc", json!("2.0").into())
}

/// The start of an answer that has a result, with room for so much more.
fn head(id: &Json, room: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(id.len() + 40 + room);
    text.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    text.extend_from_slice(id.bytes());
    text.extend_from_slice(br#","result":"#);
    text
}

/// What stands before and after a result that goes out by itself. Where a message need not be one line.
pub(crate) fn frame(id: &Json) -> [Bytes; 2] {
    [Bytes::from(head(id, 0)), Bytes::from_static(b"}")]
}

pub(crate) fn answer(id: &Json, outcome: &Result<Json, RpcError>) -> Bytes {
    match outcome {
        // Results may be long: they are copied once, from where they came to where they go.
        Ok(result) => {
            let mut text = head(id, result.len() + 1);
            text.extend_from_slice(result.bytes());
            text.push(b'}');
            line(text)
        }
        Err(error) => failure(Some(id), error),
    }
}

pub(crate) fn failure(id: Option<&Json>, error: &RpcError) -> Bytes {
    let mut fields = vec![("code", json!(error.code).into()), ("message", json!(error.message).into())];
    fields.extend(error.data.clone().map(|data| ("data", data)));
    let id = id.cloned().unwrap_or_else(Json::null);
    text(&Json::object([version(), ("id", id), ("error", Json::object(fields))]))
}

pub(crate) fn notification(method: &str, params: Json) -> Bytes {
    text(&Json::object([version(), ("method", json!(method).into()), ("params", params)]))
}

pub(crate) fn question(id: u64, method: &str, params: Option<Json>) -> Bytes {
    let mut fields = vec![version(), ("id", json!(id).into()), ("method", json!(method).into())];
    fields.extend(params.map(|params| ("params", params)));
    text(&Json::object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &'static str) -> Result<Message, RpcError> {
        let mut all = decode(&Bytes::from_static(text.as_bytes()));
        assert_eq!(all.len(), 1, "{text}");
        all.remove(0)
    }

    #[test]
    fn a_message_is_a_question_something_said_or_an_answer() {
        let Ok(Message::Request(request)) = only(r#"{"id":"a","method":"x","params":{"n":1.0}}"#) else {
            panic!()
        };
        assert_eq!((request.id.as_str(), request.params.as_str()), ("\"a\"", r#"{"n":1.0}"#));
        assert!(matches!(only(r#"{"method":"x"}"#), Ok(Message::Notification { .. })));
        assert!(matches!(only(r#"{"id":1,"result":{}}"#), Ok(Message::Response { outcome: Ok(_), .. })));
        let Ok(Message::Response { outcome: Err(refusal), .. }) =
            only(r#"{"id":1,"error":{"code":-1,"message":"no"}}"#)
        else {
            panic!()
        };
        assert_eq!(refusal, Refusal { code: -1, message: "no".into() });
    }

    #[test]
    fn what_is_no_message_says_why() {
        for (text, code) in [
            ("{", PARSE),
            ("", PARSE),
            ("{} {}", PARSE),
            ("1", INVALID_REQUEST),
            ("[]", INVALID_REQUEST),
            (r#"[[1,"x",{}]]"#, INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"id":null,"method":"x"}"#, INVALID_REQUEST),
            (r#"{"id":1.5,"method":"x"}"#, INVALID_REQUEST),
            (r#"{"id":{},"method":"x"}"#, INVALID_REQUEST),
            (r#"{"id":1,"method":5}"#, INVALID_REQUEST),
            (r#"{"id":1,"result":1,"error":{}}"#, INVALID_REQUEST),
            (r#"{"id":1,"id":2,"method":"x"}"#, INVALID_REQUEST),
            (r#"{"id":1,"method":"x","params":[]}"#, INVALID_PARAMS),
        ] {
            assert_eq!(only(text).unwrap_err().code, code, "{text}");
        }
        assert_eq!(decode(&Bytes::from_static(b"[1, {\"method\":\"x\"}]")).len(), 2);
    }

    #[test]
    fn an_answer_is_one_line_and_keeps_what_is_in_it() {
        let id = Json::from_text("\"a\"").unwrap();
        let result = Json::from_text("{\n\"n\": 123456789012345678901234567890}").unwrap();
        let line = answer(&id, &Ok(result));
        let expected = r#"{"jsonrpc":"2.0","id":"a","result":{ "n": 123456789012345678901234567890}}"#;
        assert_eq!(std::str::from_utf8(&line).unwrap(), expected);
        let result = Json::from_text("[1]").unwrap();
        let [head, tail] = frame(&id);
        assert_eq!([&*head, result.bytes(), &*tail].concat(), answer(&id, &Ok(result)));
        let error = RpcError::no_method("x").with(json!({"a": 1}));
        let line = failure(None, &error);
        let expected = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"method not found: x","data":{"a":1}}}"#;
        assert_eq!(std::str::from_utf8(&line).unwrap(), expected);
    }
}
