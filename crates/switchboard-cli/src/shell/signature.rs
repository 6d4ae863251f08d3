//! A tool in a form people can read: what it takes, like a function, and what it costs a model to know it. Pure.

use serde_json::Value;
use switchboard::catalog::Entry;
use switchboard::visible::excerpt;

use crate::complete::schema::followed;

/// Deeper values are only named by their kind.
const DEEPEST: usize = 3;
/// More choices than this are not listed.
const MOST_CHOICES: usize = 12;
/// A longer kind is cut.
const LONGEST: usize = 160;
/// So many characters make about one token.
const CHARACTERS: usize = 4;

/// An argument as people read it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    /// `name: kind`, with a question mark if it can be left out.
    pub(super) form: String,
    /// What it is for, in one line.
    pub(super) help: String,
}

/// What a tool takes, what is needed first.
pub(super) fn parameters(schema: &Value) -> Vec<Parameter> {
    let is_required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|other| other == name))
    };
    let mut fields: Vec<(&String, &Value)> = schema["properties"].as_object().into_iter().flatten().collect();
    // Stable: inside each half the order is the server's.
    fields.sort_by_key(|(name, _)| !is_required(name));
    let parameter = |(name, field): (&String, &Value)| {
        let mark = if is_required(name) { "" } else { "?" };
        let field = followed(schema, field);
        let default = match &field["default"] {
            Value::Null => String::new(),
            value => format!(" = {value}"),
        };
        let form = format!("{name}{mark}: {}{default}", kind(schema, field, DEEPEST));
        let words = field["description"].as_str().or(field["title"].as_str()).unwrap_or_default();
        let line = words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Parameter { form: excerpt(&form, LONGEST), help: excerpt(line.trim(), 200) }
    };
    fields.into_iter().map(parameter).collect()
}

/// The whole as one line.
pub(super) fn signature(tool: &str, schema: &Value) -> String {
    let forms: Vec<String> = parameters(schema).into_iter().map(|parameter| parameter.form).collect();
    format!("{}({})", excerpt(tool, 100), forms.join(", "))
}

/// What values look like.
fn kind(root: &Value, field: &Value, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return "…".to_owned() };
    let field = followed(root, field);
    if let Some(choices) = field["enum"].as_array() {
        let mut words: Vec<String> = choices.iter().take(MOST_CHOICES).map(Value::to_string).collect();
        words.extend((choices.len() > MOST_CHOICES).then(|| "…".to_owned()));
        return words.join(" | ");
    }
    if let Some(value) = field.get("const") {
        return value.to_string();
    }
    for word in ["anyOf", "oneOf"] {
        if let Some(choices) = field[word].as_array() {
            let mut kinds: Vec<String> =
                choices.iter().take(MOST_CHOICES).map(|choice| kind(root, choice, depth)).collect();
            kinds.dedup();
            return kinds.join(" | ");
        }
    }
    match &field["type"] {
        Value::String(name) => named(root, field, name, depth),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str);
            names.map(|name| named(root, field, name, depth)).collect::<Vec<_>>().join(" | ")
        }
        _ if field["properties"].is_object() => named(root, field, "object", depth),
        _ => "any".to_owned(),
    }
}

fn named(root: &Value, field: &Value, name: &str, depth: usize) -> String {
    match name {
        "array" => {
            let item = field.get("items").map_or("any".to_owned(), |items| kind(root, items, depth));
            if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
        }
        "object" if depth > 0 => {
            let empty = field["properties"].as_object().is_none_or(serde_json::Map::is_empty);
            if empty {
                return "object".to_owned();
            }
            let fields = field["properties"].as_object().into_iter().flatten().take(MOST_CHOICES);
            let required = field["required"].as_array();
            let forms = fields.map(|(name, value)| {
                let is_required = required.is_some_and(|names| names.iter().any(|other| other == name));
                let mark = if is_required { "" } else { "?" };
                format!("{name}{mark}: {}", kind(root, value, depth))
            });
            format!("{{ {} }}", forms.collect::<Vec<_>>().join(", "))
        }
        other => other.to_owned(),
    }
}

/// About how many tokens it takes to tell a model of the tool.
pub(super) fn tokens(entry: &Entry) -> usize {
    let words = entry.tool.description.as_ref().map_or(0, |words| words.chars().count());
    let schema = entry.input_schema.as_str().chars().count();
    (entry.name.len() + words + schema).div_ceil(CHARACTERS)
}

/// A number of tokens as people read it: it is rough, and looks so.
pub(super) fn about(tokens: usize) -> String {
    match tokens {
        0..1000 => format!("~{tokens}"),
        1000..10_000 => format!("~{}.{}k", tokens / 1000, tokens % 1000 / 100),
        _ => format!("~{}k", tokens / 1000),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_reads_like_a_function() {
        let check = |schema: Value, expected: &str| assert_eq!(signature("f", &schema), expected);
        check(json!({}), "f()");
        check(json!(true), "f()");
        check(
            json!({"properties": {"a": {"type": "string"}, "b": {}}, "required": ["b"]}),
            "f(b: any, a?: string)",
        );
        check(
            json!({"properties": {"a": {"enum": ["x", 1]}, "b": {"const": true}}}),
            "f(a?: \"x\" | 1, b?: true)",
        );
        check(
            json!({"properties": {"a": {"type": "array", "items": {"type": ["string", "null"]}}}}),
            "f(a?: (string | null)[])",
        );
        check(
            json!({"properties": {"a": {"$ref": "#/$defs/p"}}, "$defs": {"p": {"type": "object",
                "required": ["x"], "properties": {"x": {"type": "integer"}, "y": {"type": "number"}}}}}),
            "f(a?: { x: integer, y?: number })",
        );
        check(json!({"properties": {"n": {"type": "integer", "default": 3}}}), "f(n?: integer = 3)");
        check(
            json!({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}),
            "f(a?: string | null)",
        );
        check(json!({"properties": {"a\u{1b}[2J": {"type": "string"}}}), "f(a\\u{1b}[2J?: string)");
    }

    #[test]
    fn a_schema_without_end_has_one() {
        let schema = json!({"properties": {"a": {"$ref": "#/properties/a"}, "b": {"type": "object",
            "properties": {"b": {"$ref": "#/properties/b"}}}}});
        assert!(signature("f", &schema).len() < 200);
    }

    #[test]
    fn rough_numbers_look_rough() {
        assert_eq!([about(7), about(1234), about(45_678)], ["~7", "~1.2k", "~45k"]);
    }
}
