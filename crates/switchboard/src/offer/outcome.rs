//! What comes back from a call, a read, a prompt or a completion.

use serde_json::value::RawValue;

use super::{CacheHint, elements};
use crate::json::{self, Json};

/// The result of a tool call. Every result is one, however odd: the call was made and cannot be unmade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// What it says, block by block.
    pub content: Vec<Content>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// What it says as one value, which may be `null`.
    pub structured: Option<Json>,
    /// What the server adds for the client.
    pub meta: Option<Json>,
    /// As it came.
    pub raw: Json,
}

/// A block of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// What it is.
    pub kind: Kind,
    /// The text of it, where it has one; for an embedded resource the text of that.
    pub text: Option<String>,
    /// As it came.
    pub raw: Json,
}

/// The kinds of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// An image in base64.
    Image,
    /// Sound in base64.
    Audio,
    /// The URI of a resource.
    ResourceLink,
    /// A resource itself.
    Resource,
    /// A kind of which nothing is known but its name, which is empty where the block has none.
    Unknown(String),
}

impl CallResult {
    /// Reads a result.
    pub fn read(result: &Json) -> Self {
        let keys = ["isError", "structuredContent", "_meta"];
        // As nearly all are. A long one is walked through once less.
        if let Some((found, blocks)) = json::object_with_list(result.as_str(), keys, "content") {
            let content = blocks.into_iter().map(|block| Content::read(result.part(block))).collect();
            return Self::with(result, content, found);
        }
        let keys = ["content", "isError", "structuredContent", "_meta"];
        if let Some([content, is_error, structured, meta]) = json::object(result.as_str(), keys) {
            let content = content.map(|content| blocks(result, content)).unwrap_or_default();
            return Self::with(result, content, [is_error, structured, meta]);
        }
        // Not a result as the protocol has it; but it is what the tool gave.
        let content = Some(result).filter(|result| result.as_str().trim() != "null");
        let content = content.map(|raw| Content::read(raw.clone())).into_iter().collect();
        Self::with(result, content, [None; 3])
    }

    fn with(
        result: &Json,
        content: Vec<Content>,
        [is_error, structured, meta]: [Option<&RawValue>; 3],
    ) -> Self {
        Self {
            content,
            is_error: is_error.is_some_and(json::is_true),
            structured: structured.map(|value| result.part(value)),
            meta: meta.filter(|meta| json::is_object(meta)).map(|meta| result.part(meta)),
            raw: result.clone(),
        }
    }
}

/// The blocks of a list; what is no list is one block.
fn blocks(result: &Json, content: &RawValue) -> Vec<Content> {
    if content.get() == "null" {
        return Vec::new();
    }
    let blocks = json::list(content.get()).unwrap_or_else(|| vec![content]);
    blocks.into_iter().map(|block| Content::read(result.part(block))).collect()
}

impl Content {
    /// Reads a block.
    pub fn read(raw: Json) -> Self {
        let Some([kind, text, resource]) = json::object(raw.as_str(), ["type", "text", "resource"]) else {
            return Self { kind: Kind::Unknown(String::new()), text: raw.read().ok(), raw };
        };
        let kind = match kind.and_then(json::string).unwrap_or_default().as_str() {
            "text" => Kind::Text,
            "image" => Kind::Image,
            "audio" => Kind::Audio,
            "resource_link" => Kind::ResourceLink,
            "resource" => Kind::Resource,
            other => Kind::Unknown(other.to_owned()),
        };
        let text = match kind {
            Kind::Resource => resource.and_then(|resource| json::object(resource.get(), ["text"])?[0]),
            Kind::Text | Kind::Image | Kind::Audio | Kind::ResourceLink | Kind::Unknown(_) => text,
        };
        Self { kind, text: text.and_then(json::string), raw }
    }
}

/// The result of reading a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadResult {
    /// What was read; one resource can hold several.
    pub contents: Vec<Contents>,
    /// How long and for whom it may be kept.
    pub hint: CacheHint,
    /// As it came.
    pub raw: Json,
}

/// The contents of one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Which resource.
    pub uri: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// What is in it.
    pub body: Body,
    /// As it came.
    pub raw: Json,
}

/// What is in a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text.
    Text(String),
    /// Bytes, still in base64.
    Blob(String),
    /// Neither can be read from it.
    Unknown,
}

impl ReadResult {
    /// Reads a result, or says why it is none.
    pub fn read(result: &Json) -> Result<Self, String> {
        let [contents, ttl, scope] = top(result, ["contents", "ttlMs", "cacheScope"])?;
        let contents = several(contents, "contents")?;
        Ok(Self {
            contents: contents.into_iter().map(|block| Contents::read(result.part(block))).collect(),
            hint: CacheHint::read(ttl, scope),
            raw: result.clone(),
        })
    }
}

impl Contents {
    /// Reads the contents of one resource, also of one embedded in content.
    pub fn read(raw: Json) -> Self {
        let found = json::object(raw.as_str(), ["uri", "mimeType", "text", "blob"]);
        let [uri, mime_type, text, blob] =
            found.unwrap_or_default().map(|value| value.and_then(json::string));
        let body = match (text, blob) {
            (Some(text), _) => Body::Text(text),
            (None, Some(blob)) => Body::Blob(blob),
            (None, None) => Body::Unknown,
        };
        Self { uri, mime_type, body, raw }
    }
}

/// The result of getting a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptResult {
    /// What the prompt is for.
    pub description: Option<String>,
    /// The messages for the model, as they came.
    pub messages: Vec<Json>,
    /// As it came.
    pub raw: Json,
}

impl PromptResult {
    /// Reads a result, or says why it is none.
    pub fn read(result: &Json) -> Result<Self, String> {
        let [description, messages] = top(result, ["description", "messages"])?;
        let messages = several(messages, "messages")?;
        Ok(Self {
            description: description.and_then(json::string),
            messages: messages.into_iter().map(|message| result.part(message)).collect(),
            raw: result.clone(),
        })
    }
}

/// Values an argument could have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The values, those that are texts.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: Option<u64>,
    /// Whether there are more than these.
    pub has_more: bool,
    /// As it came.
    pub raw: Json,
}

impl Completion {
    /// Reads a result, or says why it is none.
    pub fn read(result: &Json) -> Result<Self, String> {
        let [completion] = top(result, ["completion"])?;
        let completion = completion.ok_or_else(|| "the result has no `completion`".to_owned())?;
        let [values, total, has_more] = json::object(completion.get(), ["values", "total", "hasMore"])
            .ok_or_else(|| "`completion` is not an object".to_owned())?;
        Ok(Self {
            values: elements(values, "values")?.into_iter().filter_map(json::string).collect(),
            total: total.and_then(json::count),
            has_more: has_more.is_some_and(json::is_true),
            raw: result.clone(),
        })
    }
}

fn top<'a, const N: usize>(result: &'a Json, keys: [&str; N]) -> Result<[Option<&'a RawValue>; N], String> {
    json::object(result.as_str(), keys).ok_or_else(|| "the result is not an object".to_owned())
}

/// As [`elements`]; a single object counts as a list of one.
fn several<'a>(list: Option<&'a RawValue>, key: &str) -> Result<Vec<&'a RawValue>, String> {
    match list {
        Some(one) if json::is_object(one) => Ok(vec![one]),
        other => elements(other, key),
    }
}
