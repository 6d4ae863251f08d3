//! JSON, with comments and trailing commas, as every editor writes it.

use std::borrow::Cow;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};

use super::super::tree::{Key, Node, Value};
use super::{Lines, SyntaxError};

/// Comments and trailing commas, nothing looser.
pub(crate) const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(text: &str) -> Result<Option<Node<'_>>, SyntaxError> {
    let mut lines = Lines::new(text);
    let result = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
        let (line, column) = lines.position(error.range().start);
        let what = error.kind().to_string();
        SyntaxError { line: Some(line), column: Some(column), what: lower_first(&what) }
    })?;
    Ok(result.value.map(|value| node(value, &mut lines)))
}

/// The parser bounds the nesting, so this recursion is bounded too.
fn node<'a>(value: ast::Value<'a>, lines: &mut Lines<'_>) -> Node<'a> {
    let line = lines.at(value.start());
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::NumberLit(literal) => Value::Number(Cow::Borrowed(literal.value)),
        ast::Value::StringLit(literal) => Value::Text(literal.value),
        ast::Value::Array(array) => {
            Value::List(array.elements.into_iter().map(|element| node(element, lines)).collect())
        }
        ast::Value::Object(object) => Value::Map(
            object
                .properties
                .into_iter()
                .map(|property| {
                    let line = lines.at(property.name.start());
                    let text = match property.name {
                        ast::ObjectPropName::String(literal) => literal.value,
                        ast::ObjectPropName::Word(word) => Cow::Borrowed(word.value),
                    };
                    (Key { text, line }, node(property.value, lines))
                })
                .collect(),
        ),
    };
    Node { line, value }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}
