//! Reads an object of the script key by key, and complains about what nobody asked for.

use serde_json::{Map, Value};

/// The keys of one object that were not taken yet.
pub(crate) struct Keys {
    what: String,
    left: Map<String, Value>,
}

impl Keys {
    pub(crate) fn of(what: impl Into<String>, value: &Value) -> Result<Self, String> {
        let what = what.into();
        match value {
            Value::Object(left) => Ok(Self { what, left: left.clone() }),
            other => Err(format!("{what} must be an object, not {other}")),
        }
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.left.remove(key)
    }

    pub(crate) fn need(&mut self, key: &str) -> Result<Value, String> {
        self.take(key).ok_or(format!("{} needs `{key}`", self.what))
    }

    fn typed<T>(
        &mut self,
        key: &str,
        kind: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.take(key) else { return Ok(None) };
        read(&value).map(Some).ok_or(format!("{}: `{key}` must be {kind}, not {value}", self.what))
    }

    pub(crate) fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        self.typed(key, "a text", |value| value.as_str().map(str::to_owned))
    }

    pub(crate) fn number(&mut self, key: &str) -> Result<Option<u64>, String> {
        self.typed(key, "a number", Value::as_u64)
    }

    pub(crate) fn status(&mut self, key: &str) -> Result<Option<u16>, String> {
        self.typed(key, "an HTTP status", |value| value.as_u64().and_then(|n| u16::try_from(n).ok()))
    }

    /// A port to listen on; 0, which is any, if it is not named.
    pub(crate) fn port(&mut self, key: &str) -> Result<u16, String> {
        let read = |value: &Value| value.as_u64().and_then(|n| u16::try_from(n).ok());
        Ok(self.typed(key, "a port", read)?.unwrap_or(0))
    }

    pub(crate) fn flag(&mut self, key: &str) -> Result<bool, String> {
        Ok(self.typed(key, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    pub(crate) fn list(&mut self, key: &str) -> Result<Option<Vec<Value>>, String> {
        self.typed(key, "a list", |value| value.as_array().cloned())
    }

    /// One of a few words; the first is the default.
    pub(crate) fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Result<T, String> {
        let known = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let Some(text) = self.text(key)? else { return Ok(words[0].1) };
        let found = words.iter().find(|(word, _)| *word == text);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("{}: `{key}` is `{text}`, which is none of: {}", self.what, known()))
    }

    /// Everything must have been taken.
    pub(crate) fn end(self) -> Result<(), String> {
        match self.left.keys().next() {
            Some(key) => Err(format!("{}: unknown key `{key}`", self.what)),
            None => Ok(()),
        }
    }
}
