//! What a schema says about the arguments of a tool: which there are, and which values they take.

use serde_json::Value;

/// Deeper schemas are not followed.
const DEEPEST: usize = 8;

/// An argument.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Argument<'s> {
    pub(crate) name: &'s str,
    pub(crate) is_required: bool,
    /// It may be given more than once.
    pub(crate) is_list: bool,
    pub(crate) help: String,
}

/// The arguments, those that are needed first.
pub(crate) fn arguments(schema: &Value) -> Vec<Argument<'_>> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let mut arguments: Vec<Argument<'_>> = properties
        .map(|(name, field)| {
            let is_required = required.contains(&name.as_str());
            let field = followed(schema, field);
            let words = field["description"].as_str().or(field["title"].as_str()).unwrap_or_default();
            let kind = field["type"].as_str().unwrap_or_default();
            let needed = if is_required { "needed" } else { "" };
            let parts = [kind, needed, words].into_iter().filter(|part| !part.is_empty());
            Argument {
                name,
                is_required,
                is_list: kind == "array",
                help: parts.collect::<Vec<_>>().join(", "),
            }
        })
        .collect();
    // Stable: inside each half the order is the server's.
    arguments.sort_by_key(|argument| !argument.is_required);
    arguments
}

/// The values an argument takes, if they can be counted.
pub(crate) fn values(schema: &Value, name: &str) -> Vec<String> {
    let Some(field) = schema["properties"].get(name) else { return Vec::new() };
    let mut values = Vec::new();
    collect(schema, field, DEEPEST, &mut values);
    let mut seen = std::collections::BTreeSet::new();
    values.retain(|value| seen.insert(value.clone()));
    values
}

fn collect(schema: &Value, field: &Value, depth: usize, values: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let field = followed(schema, field);
    let listed = field["enum"].as_array().into_iter().flatten().chain(field.get("const"));
    values.extend(listed.filter_map(word));
    let kinds = match &field["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect::<Vec<_>>(),
    };
    if kinds.contains(&"boolean") && values.is_empty() {
        values.extend(["true", "false"].map(str::to_owned));
    }
    if kinds.contains(&"array") {
        collect(schema, &field["items"], depth, values);
    }
    for word in ["anyOf", "oneOf"] {
        for choice in field[word].as_array().into_iter().flatten() {
            collect(schema, choice, depth, values);
        }
    }
}

/// A value as one types it.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The schema a reference inside the same document leads to.
pub(crate) fn followed<'s>(schema: &'s Value, field: &'s Value) -> &'s Value {
    let pointer = field["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| schema.pointer(pointer)).unwrap_or(field)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample() -> Value {
        json!({
            "type": "object",
            "required": ["level"],
            "properties": {
                "quiet": {"type": "boolean", "description": "Say less"},
                "level": {"$ref": "#/$defs/level"},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
                "size": {"anyOf": [{"const": 1}, {"enum": ["all", "all"]}, {"type": "null"}]},
                "free": {"type": "string"},
                "odd": {"$ref": "#/properties/odd", "enum": [{}]},
                "loop": {"oneOf": [{"$ref": "#/properties/loop"}]},
            },
            "$defs": {"level": {"type": "string", "enum": ["low", "high"], "title": "How much"}},
        })
    }

    #[test]
    fn what_is_needed_comes_first() {
        let schema = sample();
        let found = arguments(&schema);
        assert_eq!((found[0].name, found[0].help.as_str()), ("level", "string, needed, How much"));
        assert!(found.iter().find(|argument| argument.name == "tags").unwrap().is_list);
        assert_eq!(found.len(), 7);
        assert!(arguments(&json!({})).is_empty() && arguments(&json!(true)).is_empty());
    }

    #[test]
    fn values_that_can_be_counted_are_known() {
        let check = |name: &str, expected: &[&str]| assert_eq!(values(&sample(), name), expected, "{name}");
        check("quiet", &["true", "false"]);
        check("level", &["low", "high"]);
        check("tags", &["a", "b"]);
        check("size", &["1", "all"]);
        check("free", &[]);
        check("odd", &[]);
        check("loop", &[]);
        check("nothing", &[]);
    }
}
