//! The shape all formats are read into: a plain tree that remembers its lines.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::visible::excerpt;

/// A value and the line it starts on.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'a> {
    /// Counted from 1.
    pub line: u32,
    /// The value.
    pub value: Value<'a>,
}

/// What JSON, TOML and YAML have in common.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the variants are the kinds of values")]
pub enum Value<'a> {
    Null,
    Bool(bool),
    /// As written; nothing is lost to floating point.
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    /// In the order of the file, repeated keys included.
    Map(Vec<(Key<'a>, Node<'a>)>),
    /// Something no field of ours can be, such as a date; named with its article.
    Odd(&'static str),
}

/// A key and its line.
#[derive(Debug, Clone, PartialEq)]
pub struct Key<'a> {
    /// The key's text.
    pub text: Cow<'a, str>,
    /// Counted from 1.
    pub line: u32,
}

impl<'a> Node<'a> {
    /// The value as people name its kind, with an article.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "an object",
            Value::Odd(kind) => kind,
        }
    }

    /// The value of a key; of repeated keys the last, as most readers have it.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.entries()?.iter().rev().find(|(candidate, _)| candidate.text == key).map(|(_, node)| node)
    }

    /// The value below a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Node<'a>> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Keys and values, if it is a map.
    pub fn entries(&self) -> Option<&[(Key<'a>, Node<'a>)]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn items(&self) -> Option<&[Node<'a>]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// A string, or a number or boolean as its text.
    pub fn scalar(&self) -> Option<Cow<'_, str>> {
        match &self.value {
            Value::Text(text) => Some(Cow::Borrowed(text)),
            Value::Number(number) => Some(Cow::Borrowed(number)),
            Value::Bool(true) => Some(Cow::Borrowed("true")),
            Value::Bool(false) => Some(Cow::Borrowed("false")),
            Value::Null | Value::List(_) | Value::Map(_) | Value::Odd(_) => None,
        }
    }

    /// What it is, in a message that says what it should be.
    pub fn description(&self) -> String {
        match &self.value {
            Value::List(items) => match items.iter().find(|item| item.text().is_none()) {
                Some(item) => format!("a list with {} in it", item.kind()),
                None => "a list".to_owned(),
            },
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => excerpt(number, 30),
            _ => self.kind().to_owned(),
        }
    }

    /// All items as strings, if it is a list of strings only.
    pub fn texts(&self) -> Option<Vec<String>> {
        self.items()?.iter().map(|item| item.text().map(str::to_owned)).collect()
    }

    /// The same tree, free of the text it was read from.
    pub fn into_owned(self) -> Node<'static> {
        let value = match self.value {
            Value::Null => Value::Null,
            Value::Odd(kind) => Value::Odd(kind),
            Value::Bool(value) => Value::Bool(value),
            Value::Number(number) => Value::Number(Cow::Owned(number.into_owned())),
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::List(items) => Value::List(items.into_iter().map(Node::into_owned).collect()),
            Value::Map(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|(key, node)| {
                        (Key { text: Cow::Owned(key.text.into_owned()), line: key.line }, node.into_owned())
                    })
                    .collect(),
            ),
        };
        Node { line: self.line, value }
    }
}

/// Tells which of repeated keys is the last, without comparing each with each in a large object.
#[derive(Debug)]
pub struct LastKeys<'n, 'a> {
    entries: &'n [(Key<'a>, Node<'a>)],
    /// Only for large objects: most have a handful of keys.
    places: Option<HashMap<&'n str, usize>>,
}

impl<'n, 'a> LastKeys<'n, 'a> {
    /// For the entries of an object.
    pub fn of(entries: &'n [(Key<'a>, Node<'a>)]) -> Self {
        let all = || entries.iter().enumerate().map(|(index, (key, _))| (key.text.as_ref(), index)).collect();
        Self { entries, places: (entries.len() > 32).then(all) }
    }

    /// Whether no later entry has the same key.
    pub fn is_last(&self, index: usize) -> bool {
        let text = &self.entries[index].0.text;
        match &self.places {
            Some(places) => places.get(text.as_ref()) == Some(&index),
            None => self.entries[index + 1..].iter().all(|(later, _)| later.text != *text),
        }
    }
}
