//! Changes one entry in another tool's file and leaves every other byte as it is, in JSON, TOML and YAML.
//!
//! In: a text and where its servers stand. Out: the new text, and for an entry that was taken out the piece of text it
//! was; or why it cannot be done. Each edit is a splice. The result is read again: if more changed than the one entry,
//! nothing comes of it.

mod json;
mod toml;
mod yaml;

use serde_json::{Map, Value};

use crate::config::edit::{Refusal, plain};
use crate::sources::syntax::{Format, parse};

/// Where in a text the servers stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The format of the text.
    pub format: Format,
    /// The keys that lead to the servers; none for a bare map.
    pub keys: Vec<String>,
    /// How they stand there.
    pub shape: Shape,
}

/// How servers stand in their container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// By name.
    Map,
    /// One after the other, each with its `name`.
    List,
}

/// What a text says, taken apart.
#[derive(Debug, PartialEq)]
struct Said {
    /// All but the servers.
    rest: Value,
    /// The servers, sorted by name.
    servers: Vec<(String, Value)>,
}

impl Slot {
    /// The servers of a text, in their order.
    pub fn entries(&self, text: &str) -> Result<Vec<(String, Value)>, Refusal> {
        let root = value(text, self.format)?;
        match self.keys.iter().try_fold(&root, |value, key| value.get(key)) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(container) => self.servers(container),
        }
    }

    /// The entry of that name, if there is one.
    pub fn entry(&self, text: &str, name: &str) -> Result<Option<Value>, Refusal> {
        Ok(self.entries(text)?.into_iter().rev().find(|(other, _)| other == name).map(|(_, entry)| entry))
    }

    /// The text with one more entry.
    pub fn insert(&self, text: &str, name: &str, entry: &Value) -> Result<String, Refusal> {
        let new = match self.format {
            Format::Json => json::insert(text, &self.path(name), entry)?,
            Format::Toml => toml::insert(text, &self.keys, name, entry)?,
            Format::Yaml => yaml::insert(text, self, name, entry)?,
        };
        self.proven(text, new, |servers| servers.push((name.to_owned(), entry.clone())))
    }

    /// The text with another entry in the place of the one of that name.
    pub fn replace(&self, text: &str, name: &str, entry: &Value) -> Result<String, Refusal> {
        if self.format == Format::Json {
            let new = json::insert(text, &self.path(name), entry)?;
            return self.proven(text, new, |servers| {
                servers.retain(|(other, _)| other != name);
                servers.push((name.to_owned(), entry.clone()));
            });
        }
        let (without, _) = self.cut(text, name)?;
        self.insert(&without, name, entry)
    }

    /// The text without an entry, and the piece that was taken out.
    pub fn cut(&self, text: &str, name: &str) -> Result<(String, String), Refusal> {
        let (new, piece) = match self.format {
            Format::Json => json::cut(text, &self.path(name))?,
            Format::Toml => {
                let entry = self.entry(text, name)?.unwrap_or_default();
                toml::cut(text, &self.keys, name, &entry)?
            }
            Format::Yaml => yaml::cut(text, self, name)?,
        };
        let new = self.proven(text, new, |servers| servers.retain(|(other, _)| other != name))?;
        Ok((new, piece))
    }

    /// The text with a piece put back that was taken out of it before.
    pub fn paste(&self, text: &str, name: &str, piece: &str) -> Result<String, Refusal> {
        let new = match self.format {
            Format::Json => json::paste(text, &self.path(name), piece)?,
            Format::Toml => toml::paste(text, piece),
            Format::Yaml => yaml::paste(text, self, piece)?,
        };
        let entry = self.entry(&new, name)?;
        let entry = entry.ok_or_else(|| refusal("the entry cannot be put back as it was"))?;
        self.proven(text, new, |servers| servers.push((name.to_owned(), entry.clone())))
    }

    fn path(&self, name: &str) -> Vec<String> {
        [self.keys.as_slice(), &[name.to_owned()]].concat()
    }

    /// The new text, if it says what the old one said after the same change.
    fn proven(
        &self,
        old: &str,
        new: String,
        change: impl FnOnce(&mut Vec<(String, Value)>),
    ) -> Result<String, Refusal> {
        let mut expected = self.said(old)?;
        change(&mut expected.servers);
        expected.servers.sort_by(|left, right| left.0.cmp(&right.0));
        if self.said(&new).is_ok_and(|said| said == expected) {
            return Ok(new);
        }
        Err(refusal("its layout is too unusual to change one entry and nothing else"))
    }

    fn said(&self, text: &str) -> Result<Said, Refusal> {
        let mut rest = value(text, self.format)?;
        let mut servers = self.entries(text)?;
        if self.keys.is_empty() {
            rest = Value::Null;
        } else {
            take_out(&mut rest, &self.keys);
        }
        servers.sort_by(|left, right| left.0.cmp(&right.0));
        Ok(Said { rest, servers })
    }

    fn servers(&self, container: &Value) -> Result<Vec<(String, Value)>, Refusal> {
        match (container, self.shape) {
            (Value::Object(map), Shape::Map) => {
                Ok(map.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect())
            }
            (Value::Array(items), Shape::List) => {
                let name =
                    |item: &Value| item.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                Ok(items.iter().map(|item| (name(item), item.clone())).collect())
            }
            _ => {
                let wanted = if self.shape == Shape::Map { "an object" } else { "a list" };
                Err(refusal(&format!("its servers are not {wanted} (`{}`)", self.keys.join("."))))
            }
        }
    }
}

fn refusal(what: &str) -> Refusal {
    Refusal { line: None, what: what.to_owned() }
}

/// The value of a text; one that says nothing is an empty object.
fn value(text: &str, format: Format) -> Result<Value, Refusal> {
    let root = parse(text, format).map_err(|error| Refusal {
        line: error.line,
        what: format!("it is not valid {}: {}", format.as_str(), error.what),
    })?;
    let value = root.as_ref().map_or_else(|| Value::Object(Map::new()), plain);
    if value.is_object() { Ok(value) } else { Err(refusal("it does not hold an object")) }
}

/// Takes the servers away, and what holds nothing without them.
fn take_out(root: &mut Value, keys: &[String]) {
    let (Some((first, rest)), Some(object)) = (keys.split_first(), root.as_object_mut()) else { return };
    let is_empty = match object.get_mut(first) {
        None => return,
        Some(_) if rest.is_empty() => true,
        Some(inner) => {
            take_out(inner, rest);
            inner.is_null() || inner.as_object().is_some_and(Map::is_empty)
        }
    };
    if is_empty {
        object.shift_remove(first);
    }
}

#[cfg(test)]
mod tests;
