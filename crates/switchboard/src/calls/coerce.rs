//! From `key=value` words to the arguments of a tool, by its schema.

use serde_json::{Map, Number, Value};

use crate::json::Json;

/// Why words are no arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Coercion {
    /// A word without `=`.
    #[error("`{word}` is not key=value")]
    NoValue {
        /// The word.
        word: String,
    },
    /// A value that is not what the schema wants.
    #[error("`{key}` must be of type {wanted}")]
    Wrong {
        /// The key.
        key: String,
        /// What the schema wants.
        wanted: String,
    },
}

/// The arguments. A key that is given several times, or whose schema is a list, becomes one.
pub fn arguments(words: &[String], schema: &Json) -> Result<Map<String, Value>, Coercion> {
    let schema = schema.value();
    let mut arguments: Map<String, Value> = Map::new();
    for word in words {
        let (key, text) = word.split_once('=').ok_or_else(|| Coercion::NoValue { word: word.clone() })?;
        let field = schema.get("properties").and_then(|fields| fields.get(key)).unwrap_or(&Value::Null);
        let is_list = types(field).contains(&"array");
        if is_list && !text.trim_start().starts_with('[') {
            let item = value(key, text, field.get("items").unwrap_or(&Value::Null))?;
            match arguments.get_mut(key) {
                Some(Value::Array(items)) => items.push(item),
                _ => drop(arguments.insert(key.to_owned(), Value::Array(vec![item]))),
            }
            continue;
        }
        arguments.insert(key.to_owned(), value(key, text, field)?);
    }
    Ok(arguments)
}

fn types(field: &Value) -> Vec<&str> {
    match field.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        // One of several: what any of them takes.
        _ => ["anyOf", "oneOf"]
            .iter()
            .filter_map(|word| field.get(*word)?.as_array())
            .flatten()
            .flat_map(types)
            .collect(),
    }
}

/// One value. Where the schema says nothing, JSON is read as JSON and everything else is text.
fn value(key: &str, text: &str, field: &Value) -> Result<Value, Coercion> {
    let types = types(field);
    let parsed = || serde_json::from_str::<Value>(text).ok();
    if types.is_empty() {
        return Ok(parsed().filter(|value| !value.is_string()).unwrap_or_else(|| Value::from(text)));
    }
    for kind in &types {
        let read = match *kind {
            "string" => Some(Value::from(text)),
            "integer" => text.parse::<i64>().ok().map(Value::from),
            "number" => text
                .parse::<i64>()
                .ok()
                .map(Value::from)
                .or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number)),
            "boolean" => text.parse::<bool>().ok().map(Value::from),
            "null" => (text == "null").then_some(Value::Null),
            "object" => parsed().filter(Value::is_object),
            "array" => parsed().filter(Value::is_array),
            _ => None,
        };
        // A text fits everywhere, so the other types get their chance first.
        if let Some(read) = read
            && (*kind != "string" || types.len() == 1)
        {
            return Ok(read);
        }
    }
    if types.contains(&"string") {
        return Ok(Value::from(text));
    }
    Err(Coercion::Wrong { key: key.to_owned(), wanted: types.join(" or ") })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_become_what_the_schema_wants() {
        let schema = Json::from(json!({"properties": {
            "s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
            "o": {"type": "object"}, "l": {"type": "array", "items": {"type": "integer"}},
            "u": {"type": ["integer", "string"]}, "z": {"type": ["string", "null"]},
            "p": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        }}));
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let read = arguments(
            &words(&[
                "s=5",
                "i=5",
                "n=1.5",
                "b=true",
                "o={\"a\":1}",
                "l=1",
                "l=2",
                "u=x",
                "z=null",
                "p=123",
                "free=[1]",
                "t=a=b",
            ]),
            &schema,
        );
        let expected = json!({"s": "5", "i": 5, "n": 1.5, "b": true, "o": {"a": 1}, "l": [1, 2], "u": "x", "z": null,
            "p": "123",
            "free": [1], "t": "a=b"});
        assert_eq!(Value::Object(read.unwrap()), expected);
        let wrong = arguments(&words(&["i=five"]), &schema).unwrap_err();
        assert_eq!(wrong.to_string(), "`i` must be of type integer");
        assert!(matches!(arguments(&words(&["bare"]), &schema), Err(Coercion::NoValue { .. })));
        assert_eq!(arguments(&words(&["l=[3,4]"]), &schema).unwrap()["l"], json!([3, 4]));
    }
}
