//! JSON text as it came, kept without copying: what nobody asks for is never taken apart, and what is passed on is
//! passed on as it was.

use std::fmt;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// One JSON value, unparsed. Cloning shares the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Bytes);

impl Json {
    /// The text `null`.
    pub const fn null() -> Self {
        Self(Bytes::from_static(b"null"))
    }

    /// A part of a message that was already read as JSON; the bytes are shared with the message.
    pub(crate) fn within(message: &Bytes, part: &RawValue) -> Self {
        Self(message.slice_ref(part.get().as_bytes()))
    }

    /// Checks that the text is one JSON value.
    pub fn from_text(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let text = text.into();
        serde_json::from_str::<&RawValue>(&text)?;
        Ok(Self(Bytes::from(text)))
    }

    /// The value as text.
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(|text| Self(Bytes::from(text)))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // Only text that was read as JSON comes in, and JSON is UTF-8.
        std::str::from_utf8(&self.0).unwrap_or("null")
    }

    /// Number of bytes of the text.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the text has no bytes, which no JSON value has.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes it apart as a type that borrows from it.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// Takes it apart as a type of its own.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// The value as a tree; `null` for what nests deeper than any reader allows.
    pub fn value(&self) -> Value {
        self.parse().unwrap_or(Value::Null)
    }

    /// A part of it, sharing the bytes.
    pub fn part(&self, part: &RawValue) -> Self {
        Self::within(&self.0, part)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self(Bytes::from(value.to_string()))
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = self.read().map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_as_it_was() {
        let text = r#"{"b":1.0,"a":123456789012345678901234567890,"a":"\u00e9"}"#;
        let json = Json::from_text(text).unwrap();
        assert_eq!(json.as_str(), text);
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
        assert!(Json::from_text("{} {}").is_err());
    }
}
