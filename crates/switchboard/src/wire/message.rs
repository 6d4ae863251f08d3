//! JSON-RPC messages: what came in, taken apart no further than the envelope, and what goes out.
//!
//! Decoding never loses a message it can attribute: an answer that breaks the rules is an answer that says so, to the
//! one who waits for it.

use std::borrow::Cow;

use bytes::Bytes;
use memchr::memchr2;
use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) use crate::json::fields;
use crate::json::{Json, is_object};
use crate::visible::excerpt;

/// A message from the other side.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// An answer to one of our requests.
    Response {
        /// Which one.
        id: AnswerId,
        /// The result, or why there is none.
        outcome: Result<Json, Fault>,
    },
    /// A question to us.
    Request {
        /// The id, given back as it came.
        id: Json,
        /// What is asked.
        method: String,
        /// The parameters.
        params: Option<Json>,
    },
    /// Something said in passing.
    Notification {
        /// What.
        method: String,
        /// The parameters.
        params: Option<Json>,
    },
}

/// The id of an answer. Ours are whole numbers; some servers give them back as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerId {
    /// A number, in either spelling.
    Number(u64),
    /// Missing or null, as errors may be.
    Missing,
    /// Something we never sent.
    Foreign,
}

/// Why an answer holds no result.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The server says so.
    Rpc(RpcError),
    /// The answer breaks the rules.
    Malformed(String),
}

/// The code of a server that found headers which do not repeat what the message says.
pub(super) const HEADER_MISMATCH: i64 = -32020;

/// An error the server sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// Its number.
    pub code: i64,
    /// Its words, as sent.
    pub message: String,
    /// Whatever came with it.
    pub data: Option<Json>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// The messages in a text: one, or several in a batch. What is no message is told as such.
pub(crate) fn decode(text: &Bytes) -> Vec<Result<Incoming, String>> {
    if text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return match serde_json::from_slice::<Vec<&RawValue>>(text) {
            Ok(batch) => batch.into_iter().map(|part| one(text, part.get().as_bytes())).collect(),
            Err(error) => vec![Err(why(&error))],
        };
    }
    vec![one(text, text)]
}

fn one(whole: &Bytes, text: &[u8]) -> Result<Incoming, String> {
    // A list of the right values would read as an envelope too.
    if text.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
        return Err("not a message: it is no object".to_owned());
    }
    let envelope: Envelope<'_> = serde_json::from_slice(text).map_err(|error| why(&error))?;
    let keep = |part: &RawValue| Json::within(whole, part);
    let params = envelope.params.map(keep);
    let Some(method) = envelope.method else {
        return response(&envelope, whole);
    };
    let method: String =
        serde_json::from_str(method.get()).map_err(|_| "the method is not a string".to_owned())?;
    Ok(match envelope.id {
        Some(id) => Incoming::Request { id: keep(id), method, params },
        None => Incoming::Notification { method, params },
    })
}

fn response(envelope: &Envelope<'_>, whole: &Bytes) -> Result<Incoming, String> {
    let outcome = match (envelope.result, envelope.error) {
        (Some(_), Some(_)) => Err(Fault::Malformed("the answer has both a result and an error".to_owned())),
        (Some(result), None) => Ok(Json::within(whole, result)),
        (None, Some(error)) => Err(Fault::Rpc(rpc_error(error, whole))),
        // `null` reads as absent; some servers answer so where nothing is to be said.
        (None, None) if envelope.id.is_some() => Ok(Json::null()),
        (None, None) => return Err("neither a method nor an answer".to_owned()),
    };
    Ok(Incoming::Response { id: answer_id(envelope.id), outcome })
}

fn answer_id(id: Option<&RawValue>) -> AnswerId {
    let Some(id) = id else { return AnswerId::Missing };
    let text = id.get().trim_matches('"');
    text.strip_suffix(".0").unwrap_or(text).parse().map_or(AnswerId::Foreign, AnswerId::Number)
}

#[derive(Deserialize)]
struct LooseError<'a> {
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// An error as far as it can be read; one that is a mere string still says something.
fn rpc_error(raw: &RawValue, whole: &Bytes) -> RpcError {
    let error = is_object(raw).then(|| serde_json::from_str::<LooseError<'_>>(raw.get()).ok()).flatten();
    let Some(error) = error else {
        return RpcError { code: 0, message: plain(raw), data: None };
    };
    let number = |raw: &RawValue| {
        let text = raw.get().trim_matches('"');
        text.split('.').next().unwrap_or(text).parse().unwrap_or(0)
    };
    RpcError {
        code: error.code.map_or(0, number),
        message: error.message.map(plain).unwrap_or_default(),
        data: error.data.map(|data| Json::within(whole, data)),
    }
}

fn plain(raw: &RawValue) -> String {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

/// Why a text is no message, without repeating it: it may hold secrets.
fn why(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    match error.classify() {
        Category::Eof => "the JSON ends too early".to_owned(),
        Category::Syntax => format!("not JSON, at column {}", error.column()),
        Category::Data => format!("not a message: {}", excerpt(&error.to_string(), 80)),
        Category::Io => "cannot be read".to_owned(),
    }
}

/// The parameters of a request: fields in order, and what goes into `_meta`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params {
    fields: Vec<Field>,
    meta: Vec<Field>,
}

type Field = (Cow<'static, str>, Json);

impl Params {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes given parameters apart, so that `_meta` can be added to.
    pub(crate) fn of(params: &Json) -> Self {
        let fields = fields(params);
        let (meta, fields): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(name, _)| name == "_meta");
        let named = |(name, value): (String, Json)| (Cow::Owned(name), value);
        let meta = meta.iter().flat_map(|(_, meta)| self::fields(meta)).map(named).collect();
        Self { fields: fields.into_iter().map(named).collect(), meta }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        set(&mut self.fields, name, value.into());
        self
    }

    #[must_use]
    pub(crate) fn with_meta(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        set(&mut self.meta, name, value.into());
        self
    }
}

fn set(list: &mut Vec<Field>, name: &'static str, value: Json) {
    list.retain(|(field, _)| field != name);
    list.push((Cow::Borrowed(name), value));
}

/// A message of ours under construction: an object whose values go in as they are.
struct Outgoing(Vec<u8>);

impl Outgoing {
    fn new() -> Self {
        let mut text = Vec::with_capacity(512);
        text.extend_from_slice(br#"{"jsonrpc":"2.0""#);
        Self(text)
    }

    /// The name of the next member; the value has to follow.
    fn name(&mut self, name: &str) -> &mut Self {
        if self.0.last() != Some(&b'{') {
            self.0.push(b',');
        }
        self.string(name);
        self.0.push(b':');
        self
    }

    fn string(&mut self, text: &str) {
        // Writing a string into memory cannot fail.
        let _infallible = serde_json::to_writer(&mut self.0, text);
    }

    /// A message is a line, so the breaks between the parts of a given value become spaces. Strings hold none.
    fn value(&mut self, value: &Json) {
        let start = self.0.len();
        self.0.extend_from_slice(value.as_str().as_bytes());
        if memchr2(b'\n', b'\r', &self.0[start..]).is_some() {
            for byte in self.0[start..].iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
                *byte = b' ';
            }
        }
    }

    fn params(&mut self, params: &Params) {
        self.name("params").0.push(b'{');
        for (name, value) in &params.fields {
            self.name(name).value(value);
        }
        if !params.meta.is_empty() {
            self.name("_meta").0.push(b'{');
            for (name, value) in &params.meta {
                self.name(name).value(value);
            }
            self.0.push(b'}');
        }
        self.0.push(b'}');
    }

    fn done(mut self) -> Bytes {
        self.0.push(b'}');
        Bytes::from(self.0)
    }
}

pub(crate) fn request(id: u64, method: &str, params: &Params) -> Bytes {
    let mut message = Outgoing::new();
    message.name("id").0.extend_from_slice(id.to_string().as_bytes());
    message.name("method").string(method);
    message.params(params);
    message.done()
}

pub(crate) fn notification(method: &str, params: Option<&Params>) -> Bytes {
    let mut message = Outgoing::new();
    message.name("method").string(method);
    if let Some(params) = params {
        message.params(params);
    }
    message.done()
}

pub(crate) fn result(id: &Json, result: &Json) -> Bytes {
    let mut message = Outgoing::new();
    message.name("id").value(id);
    message.name("result").value(result);
    message.done()
}

pub(crate) fn error(id: &Json, code: i64, text: &str) -> Bytes {
    let mut message = Outgoing::new();
    message.name("id").value(id);
    message.name("error").value(&serde_json::json!({"code": code, "message": text}).into());
    message.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Incoming {
        let mut messages = decode(&Bytes::copy_from_slice(text.as_bytes()));
        assert_eq!(messages.len(), 1);
        messages.remove(0).unwrap()
    }

    #[test]
    fn an_answer_finds_its_question_in_either_spelling_of_the_id() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, AnswerId::Number(7)),
            (r#"{"id":"7","result":{}}"#, AnswerId::Number(7)),
            (r#"{"id":7.0,"result":{}}"#, AnswerId::Number(7)),
            (r#"{"id":null,"error":{"code":-32000,"message":"x"}}"#, AnswerId::Missing),
            (r#"{"error":{"code":-32000,"message":"x"}}"#, AnswerId::Missing),
            (r#"{"id":"abc","result":1}"#, AnswerId::Foreign),
            (r#"{"id":-1,"result":1}"#, AnswerId::Foreign),
        ] {
            let Incoming::Response { id, .. } = only(text) else { panic!("{text}") };
            assert_eq!(id, expected, "{text}");
        }
    }

    #[test]
    fn an_answer_that_breaks_the_rules_is_still_an_answer() {
        let Incoming::Response { outcome: Err(Fault::Malformed(_)), .. } =
            only(r#"{"id":1,"result":{},"error":{"code":1,"message":"m"}}"#)
        else {
            panic!()
        };
        let Incoming::Response { outcome: Err(Fault::Rpc(error)), .. } = only(r#"{"id":1,"error":"broken"}"#)
        else {
            panic!()
        };
        assert_eq!(error.message, "\"broken\"".trim_matches('"'));
        let Incoming::Response { outcome: Err(Fault::Rpc(error)), .. } =
            only(r#"{"id":1,"error":{"code":"-32601","message":5,"data":[1]}}"#)
        else {
            panic!()
        };
        assert_eq!((error.code, error.message.as_str()), (-32601, "5"));
        assert!(matches!(only(r#"{"id":1,"result":null}"#), Incoming::Response { outcome: Ok(_), .. }));
    }

    #[test]
    fn a_batch_is_taken_apart_and_one_bad_part_costs_only_itself() {
        let text = Bytes::from_static(br#" [{"id":1,"result":{}},5,{"method":"x"}]"#);
        let messages = decode(&text);
        assert_eq!(messages.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    }

    #[test]
    fn a_list_of_the_right_values_is_no_message() {
        for text in [r#"[[1,"ping",{}]]"#, r"[[null,null,null,{}]]", r#"[ "ping" ]"#] {
            let reason = decode(&Bytes::copy_from_slice(text.as_bytes())).remove(0).unwrap_err();
            assert_eq!(reason, "not a message: it is no object", "{text}");
        }
        let Incoming::Response { outcome: Err(Fault::Rpc(error)), .. } = only(r#"{"id":1,"error":[7,"m"]}"#)
        else {
            panic!()
        };
        assert_eq!((error.code, error.message.as_str()), (0, r#"[7,"m"]"#));
    }

    #[test]
    fn keys_that_stand_twice_are_refused_without_repeating_the_text() {
        let text = Bytes::from_static(br#"{"id":1,"id":2,"result":"s3cret"}"#);
        let reason = decode(&text).remove(0).unwrap_err();
        assert!(reason.contains("duplicate field"), "{reason}");
        assert!(!reason.contains("s3cret"));
    }

    #[test]
    fn given_parameters_keep_their_order_and_their_meta() {
        let given = Json::from_text("{\"b\":[1,\r\n2],\"_meta\":{\"x\":1},\"a\":1.50}").unwrap();
        let params = Params::of(&given).with_meta("y", Json::null());
        let text = request(3, "m", &params);
        assert_eq!(
            std::str::from_utf8(&text).unwrap(),
            r#"{"jsonrpc":"2.0","id":3,"method":"m","params":{"b":[1,  2],"a":1.50,"_meta":{"x":1,"y":null}}}"#
        );
    }
}
