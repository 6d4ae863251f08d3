//! TOML, as Codex has it.

use std::borrow::Cow;

use toml_edit::{Document, Item, Table, TableLike};

use super::super::tree::{Key, Node, Value};
use super::{Lines, SyntaxError};

pub(super) fn parse(text: &str) -> Result<Option<Node<'_>>, SyntaxError> {
    let mut lines = Lines::new(text);
    let document = Document::parse(text).map_err(|error| {
        let position = error.span().map(|span| lines.position(span.start));
        // The first line is the message; what follows may show source.
        let what = error.message().lines().next().unwrap_or_default().to_owned();
        SyntaxError { line: position.map(|p| p.0), column: position.map(|p| p.1), what }
    })?;
    let table = document.as_table();
    if table.is_empty() {
        return Ok(None);
    }
    let root = Node { line: 1, value: map(table, 1, &mut lines) };
    Ok(Some(root))
}

fn map<'a>(table: &dyn TableLike, line: u32, lines: &mut Lines<'_>) -> Value<'a> {
    let entries = table.iter().map(|(name, item)| {
        let key_span = table.key(name).and_then(toml_edit::Key::span);
        let line = key_span.map_or(line, |span| lines.at(span.start));
        (Key { text: Cow::Owned(name.to_owned()), line }, node(item, line, lines))
    });
    Value::Map(entries.collect())
}

/// The parser bounds the nesting, so this recursion is bounded too.
fn node<'a>(item: &Item, key_line: u32, lines: &mut Lines<'_>) -> Node<'a> {
    let line = item.span().map_or(key_line, |span| lines.at(span.start));
    let value = match item {
        Item::None => Value::Null,
        Item::Value(value) => return plain(value, key_line, lines),
        Item::Table(table) => map(table, line, lines),
        Item::ArrayOfTables(tables) => Value::List(
            tables.iter().map(|table: &Table| Node { line, value: map(table, line, lines) }).collect(),
        ),
    };
    Node { line, value }
}

fn plain<'a>(value: &toml_edit::Value, key_line: u32, lines: &mut Lines<'_>) -> Node<'a> {
    let line = value.span().map_or(key_line, |span| lines.at(span.start));
    let value = match value {
        toml_edit::Value::String(text) => Value::Text(Cow::Owned(text.value().clone())),
        toml_edit::Value::Integer(number) => Value::Number(Cow::Owned(number.value().to_string())),
        toml_edit::Value::Float(number) => Value::Number(Cow::Owned(number.value().to_string())),
        toml_edit::Value::Boolean(value) => Value::Bool(*value.value()),
        toml_edit::Value::Datetime(_) => Value::Odd("a date"),
        toml_edit::Value::Array(array) => {
            Value::List(array.iter().map(|item| plain(item, line, lines)).collect())
        }
        toml_edit::Value::InlineTable(table) => map(table, line, lines),
    };
    Node { line, value }
}
