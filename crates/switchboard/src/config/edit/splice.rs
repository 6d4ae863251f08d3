//! Changes one node of a JSON text and leaves every other byte as it is.
//!
//! In: a text and edits by path of keys. Out: the new text, or why it cannot be made. An edit becomes a few splices
//! into the text, so that comments, order, indentation, line ends and unknown fields outside of them cannot change.
//! The result is read again and compared with the same edit made on the value; if they differ, nothing is written.

mod render;

use jsonc_parser::CollectOptions;
use jsonc_parser::ast::{Object, ObjectProp, Value as Ast};
use jsonc_parser::common::Ranged;
use serde_json::{Map, Value};

use crate::sources::container;
use crate::sources::syntax::{Format, parse};
use crate::sources::tree::{Node, Value as Tree};
use render::{Layout, property_inline};

/// One change of a value inside objects.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Puts a value at a path; objects on the way are made.
    Set(Vec<String>, Value),
    /// Takes away what is at a path; nothing there is fine.
    Remove(Vec<String>),
}

/// Why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The line to blame.
    pub line: Option<u32>,
    /// What is in the way.
    pub what: String,
}

impl Refusal {
    fn new(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into() }
    }
}

/// A text and what it means.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t str,
    value: Value,
    container: &'static [&'static str],
}

impl<'t> Document<'t> {
    /// Reads a text that is to be edited; an empty one is an empty object.
    pub fn read(text: &'t str) -> Result<Self, Refusal> {
        let root = tree(text)?;
        let container = root.as_ref().and_then(container::path).unwrap_or(&["mcpServers"]);
        Ok(Self { text, value: object(root.as_ref())?, container })
    }

    /// Makes the edits one after the other.
    pub fn edit(&self, edits: &[Edit]) -> Result<String, Refusal> {
        let mut text = self.text.to_owned();
        let mut expected = self.value.clone();
        for edit in edits {
            expected = edited(expected, edit)?;
            text = match edit {
                Edit::Set(path, new) => set(&text, path, new)?,
                Edit::Remove(path) => remove(text, path)?,
            };
        }
        if !edits.is_empty() && value(&text)? != expected {
            return Err(Refusal::new("the edit would change more than it should"));
        }
        Ok(text)
    }

    /// Whether something is at the path.
    pub(super) fn contains(&self, path: &[String]) -> bool {
        self.at(path).is_some()
    }

    /// What is at the path.
    pub(super) fn at(&self, path: &[String]) -> Option<&Value> {
        path.iter().try_fold(&self.value, |value, key| value.get(key))
    }

    /// The strings of a list at the top level.
    pub(super) fn strings(&self, key: &str) -> Vec<String> {
        let items = self.value.get(key).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }

    /// The path of the object that holds the servers: where they are read from, or where they should be.
    pub(super) fn container(&self) -> Result<Vec<String>, Refusal> {
        let path: Vec<String> = self.container.iter().map(|key| (*key).to_owned()).collect();
        match path.iter().try_fold(&self.value, |value, key| value.get(key)) {
            Some(Value::Object(_) | Value::Null) | None => Ok(path),
            Some(_) => Err(Refusal::new(format!("its servers are not an object (`{}`)", path.join(".")))),
        }
    }
}

/// Reads a text and makes the edits.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, Refusal> {
    Document::read(text)?.edit(edits)
}

fn tree(text: &str) -> Result<Option<Node<'_>>, Refusal> {
    parse(text, Format::Json)
        .map_err(|error| Refusal { line: error.line, what: format!("it is not valid JSON: {}", error.what) })
}

/// The text's value; of repeated keys the last, as everywhere.
fn value(text: &str) -> Result<Value, Refusal> {
    object(tree(text)?.as_ref())
}

fn object(root: Option<&Node<'_>>) -> Result<Value, Refusal> {
    let value = root.map_or_else(|| Value::Object(Map::new()), plain);
    if value.is_object() { Ok(value) } else { Err(Refusal::new("it does not hold an object")) }
}

pub(crate) fn plain(node: &Node<'_>) -> Value {
    match &node.value {
        // JSON has no other kinds of values.
        Tree::Null | Tree::Odd(_) => Value::Null,
        Tree::Bool(value) => Value::Bool(*value),
        // Numbers are compared as they are written: nothing is lost to floating point.
        Tree::Number(number) => {
            serde_json::from_str(number).unwrap_or_else(|_| Value::String(number.to_string()))
        }
        Tree::Text(text) => Value::String(text.to_string()),
        Tree::List(items) => Value::Array(items.iter().map(plain).collect()),
        Tree::Map(entries) => {
            Value::Object(entries.iter().map(|(key, node)| (key.text.to_string(), plain(node))).collect())
        }
    }
}

/// The same edit made on the value.
fn edited(mut root: Value, edit: &Edit) -> Result<Value, Refusal> {
    match edit {
        Edit::Set(path, new) => {
            let mut at = &mut root;
            for key in path {
                if at.is_null() {
                    *at = Value::Object(Map::new());
                }
                let object = at.as_object_mut().ok_or_else(|| not_an_object(path))?;
                at = object.entry(key.clone()).or_insert(Value::Null);
            }
            *at = new.clone();
        }
        Edit::Remove(path) => {
            if let Some((last, parents)) = path.split_last()
                && let Some(parent) = parents.iter().try_fold(&mut root, |value, key| value.get_mut(key))
                && let Some(object) = parent.as_object_mut()
            {
                object.shift_remove(last);
            }
        }
    }
    Ok(root)
}

fn not_an_object(path: &[String]) -> Refusal {
    Refusal::new(format!("something on the way to `{}` is not an object", path.join(".")))
}

fn set(text: &str, path: &[String], new: &Value) -> Result<String, Refusal> {
    let layout = Layout::of(text);
    let parsed =
        jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &crate::sources::syntax::JSON_OPTIONS);
    let root = parsed.map_err(|_| Refusal::new("it is not valid JSON"))?.value;
    let Some(Ast::Object(root)) = &root else {
        // Nothing but blanks and comments: they stay where they are.
        let start = text.trim_end();
        let glue = if start.is_empty() { "" } else { layout.newline };
        let object = layout.render(&nested(path, new), "");
        return Ok(format!("{start}{glue}{object}{}", layout.newline));
    };
    let mut object = root;
    for (depth, key) in path.iter().enumerate() {
        let Some(property) = last_property(object, key) else {
            return Ok(insert(text, object, key, &nested(&path[depth + 1..], new), &layout));
        };
        match &property.value {
            Ast::Object(inner) if depth + 1 < path.len() => object = inner,
            old if depth + 1 == path.len() || matches!(old, Ast::NullKeyword(_)) => {
                let indent = line_indent(text, property.start());
                let rendered = layout.render(&nested(&path[depth + 1..], new), indent);
                return Ok(spliced(text, &[(old.start(), old.end(), &rendered)]));
            }
            _ => return Err(not_an_object(path)),
        }
    }
    Err(Refusal::new("the path is empty"))
}

/// The value with the rest of its path around it.
fn nested(path: &[String], new: &Value) -> Value {
    path.iter().rev().fold(new.clone(), |value, key| Value::Object(Map::from_iter([(key.clone(), value)])))
}

fn last_property<'o, 't>(object: &'o Object<'t>, key: &str) -> Option<&'o ObjectProp<'t>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == key)
}

/// Adds a property at the end of an object, in the manner of those that are there.
fn insert(text: &str, object: &Object<'_>, key: &str, new: &Value, layout: &Layout) -> String {
    let inner_end = object.end() - 1;
    let Some(last) = object.properties.last() else { return insert_first(text, object, key, new, layout) };
    let after_last = last.end();
    let comma = find_comma(text, after_last, inner_end);
    let opens_line = text[..last.start()].trim_end_matches([' ', '\t']).ends_with('\n');
    if !opens_line {
        let property = property_inline(key, new);
        return match comma {
            Some(comma) => spliced(text, &[(comma + 1, comma + 1, &format!(" {property},"))]),
            None => spliced(text, &[(after_last, after_last, &format!(", {property}"))]),
        };
    }
    let indent = line_indent(text, last.start());
    let property = layout.property(key, new, indent);
    let newline = layout.newline;
    if let Some(comma) = comma {
        let at = after_comment(text, comma + 1, inner_end);
        spliced(text, &[(at, at, &format!("{newline}{indent}{property},"))])
    } else {
        let at = after_comment(text, after_last, inner_end);
        let property = format!("{newline}{indent}{property}");
        spliced(text, &[(after_last, after_last, ","), (at, at, &property)])
    }
}

/// Adds the only property of an object; comments inside stay above it.
fn insert_first(text: &str, object: &Object<'_>, key: &str, new: &Value, layout: &Layout) -> String {
    let (inner_start, inner_end) = (object.start() + 1, object.end() - 1);
    let inner = &text[inner_start..inner_end];
    // A file on one line stays on one line.
    if !text.trim().contains('\n') && inner.trim().is_empty() {
        let property = property_inline(key, new);
        return spliced(text, &[(inner_start, inner_end, &format!(" {property} "))]);
    }
    let outer = line_indent(text, object.start());
    let indent = format!("{outer}{}", layout.indent);
    let property = layout.property(key, new, &indent);
    let newline = layout.newline;
    let from = inner_start + inner.trim_end().len();
    spliced(text, &[(from, inner_end, &format!("{newline}{indent}{property}{newline}{outer}"))])
}

/// Removes every property of that name, so that none comes to light from behind another.
fn remove(mut text: String, path: &[String]) -> Result<String, Refusal> {
    let Some((last, parents)) = path.split_last() else { return Ok(text) };
    loop {
        let parsed = jsonc_parser::parse_to_ast(
            &text,
            &CollectOptions::default(),
            &crate::sources::syntax::JSON_OPTIONS,
        );
        let root = parsed.map_err(|_| Refusal::new("it is not valid JSON"))?.value;
        let Some(Ast::Object(root)) = &root else { return Ok(text) };
        let parent = parents.iter().try_fold(root, |object, key| match last_property(object, key)?.value {
            Ast::Object(ref inner) => Some(inner),
            _ => None,
        });
        let Some(parent) = parent else { return Ok(text) };
        let Some(index) = parent.properties.iter().rposition(|property| property.name.as_str() == last)
        else {
            return Ok(text);
        };
        text = without(&text, parent, index);
    }
}

/// The text without one property, its comma and, if nothing else is on them, its lines.
fn without(text: &str, object: &Object<'_>, index: usize) -> String {
    let property = &object.properties[index];
    let next = object.properties.get(index + 1).map_or(object.end() - 1, Ranged::start);
    let own_comma = find_comma(text, property.end(), next);
    if let Some(comma) = own_comma
        && !text[property.end()..comma].trim().is_empty()
    {
        // A comment stands before the comma, and stays.
        return spliced(text, &[(property.start(), property.end(), ""), (comma, comma + 1, "")]);
    }
    let end = own_comma.map_or(property.end(), |comma| comma + 1);
    // The last property has no comma of its own; the one before it must lose its.
    let previous_comma = match (own_comma, index.checked_sub(1)) {
        (None, Some(previous)) => find_comma(text, object.properties[previous].end(), property.start()),
        _ => None,
    };
    let line_start = text[..property.start()].rfind('\n').map_or(0, |newline| newline + 1);
    let alone_before = text[line_start..property.start()].trim().is_empty() && line_start > 0;
    let rest = &text[end..];
    let line_end = rest.find('\n').map_or(text.len(), |newline| end + newline + 1);
    let alone_after = text[end..line_end].trim().is_empty() && line_end > end;
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let (start, end) = match (alone_before, alone_after) {
        (true, true) => (line_start, line_end),
        // What follows on the line takes the property's place.
        (_, false) if own_comma.is_some() => (property.start(), end + blanks),
        _ => (property.start(), end),
    };
    // On one line, the blank after the previous comma goes with it.
    let start = match previous_comma {
        Some(comma) if !alone_before && text[comma + 1..start].trim().is_empty() => comma + 1,
        _ => start,
    };
    match previous_comma {
        Some(comma) => spliced(text, &[(comma, comma + 1, ""), (start, end, "")]),
        None => spliced(text, &[(start, end, "")]),
    }
}

/// The comma between two positions, comments aside.
fn find_comma(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if rest.starts_with(',') {
            return Some(at);
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

/// The end of a comment that follows on the same line, else the position itself.
fn after_comment(text: &str, from: usize, to: usize) -> usize {
    let line = text[from..to].split('\n').next().unwrap_or_default();
    let line = line.trim_end_matches('\r');
    let comment = line.trim_start();
    let is_whole =
        comment.starts_with("//") || (comment.starts_with("/*") && comment.trim_end().ends_with("*/"));
    if is_whole { from + line.trim_end().len() } else { from }
}

/// The blanks at the start of the line.
fn line_indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Replaces ranges, given in rising order.
fn spliced(text: &str, splices: &[(usize, usize, &str)]) -> String {
    let mut new = String::with_capacity(text.len() + 128);
    let mut done = 0;
    for (start, end, replacement) in splices {
        new.push_str(&text[done..*start]);
        new.push_str(replacement);
        done = *end;
    }
    new.push_str(&text[done..]);
    new
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
