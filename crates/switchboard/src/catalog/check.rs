//! Whether a tool can be given to a model at all. One that cannot is put aside alone, with the reason.

use serde_json::{Map, Value, json};

use super::fine::is_fine;
use crate::json::Json;
use crate::offer::Tool;
use crate::visible::excerpt;

/// Bytes of a schema that are looked at.
const LARGEST_SCHEMA: usize = 256 * 1024;
pub(super) const DEEPEST: usize = 64;
pub(super) const MOST_SCHEMAS: usize = 10_000;
const LONGEST_NAME: usize = 128;
const LONGEST_DESCRIPTION: usize = 16 * 1024;

/// The schema as models take it, or why none would. What is fine stays as it is, byte for byte.
pub(super) fn schema(tool: &Tool) -> Result<Json, String> {
    if tool.name.chars().count() > LONGEST_NAME {
        return Err(format!("its name is longer than {LONGEST_NAME} characters"));
    }
    if tool.description.as_ref().is_some_and(|text| text.len() > LONGEST_DESCRIPTION) {
        return Err(format!("its description is longer than {LONGEST_DESCRIPTION} bytes"));
    }
    if tool.input_schema.len() <= LARGEST_SCHEMA && is_fine(tool.input_schema.as_str()) {
        return Ok(tool.input_schema.clone());
    }
    closer(tool)
}

/// The same, for what cannot be told in passing.
fn closer(tool: &Tool) -> Result<Json, String> {
    let schema = bounded(&tool.input_schema)?;
    let Value::Object(object) = schema else { return Err("its schema is not an object".to_owned()) };
    let repaired = repaired(&object)?;
    if repaired == object { Ok(tool.input_schema.clone()) } else { Ok(Value::Object(repaired).into()) }
}

/// The schema taken apart, if it is small enough to be looked at.
pub(super) fn bounded(schema: &Json) -> Result<Value, String> {
    if schema.len() > LARGEST_SCHEMA {
        return Err(format!("its schema is larger than {LARGEST_SCHEMA} bytes"));
    }
    let schema: Value =
        schema.parse().map_err(|_| "its schema nests deeper than any reader allows".to_owned())?;
    let mut left = MOST_SCHEMAS;
    measure(&schema, 0, &mut left)?;
    Ok(schema)
}

/// Models want the type to be exactly `object`, and fields and required ones to be there or not at all. Servers write
/// "nothing" in several ways; what means the same is written so that it is taken.
fn repaired(object: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut object = object.clone();
    match object.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None | Some(Value::Null) => drop(object.insert("type".to_owned(), json!("object"))),
        // Arguments are an object also where they could be something else.
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => {
            object.insert("type".to_owned(), json!("object"));
        }
        Some(_) => return Err("its schema is not for an object, and arguments always are one".to_owned()),
    }
    match object.get("properties") {
        Some(Value::Object(fields)) => fields_are_schemas(fields)?,
        None | Some(Value::Null) => drop(object.insert("properties".to_owned(), json!({}))),
        // So PHP writes an object without fields.
        Some(Value::Array(none)) if none.is_empty() => {
            object.insert("properties".to_owned(), json!({}));
        }
        Some(_) => return Err("the `properties` of its schema are not an object".to_owned()),
    }
    match object.get("required") {
        None => {}
        Some(Value::Null) => drop(object.shift_remove("required")),
        Some(Value::Array(names)) if names.iter().all(Value::is_string) => {}
        Some(_) => return Err("`required` in its schema is not a list of names".to_owned()),
    }
    Ok(object)
}

fn fields_are_schemas(fields: &Map<String, Value>) -> Result<(), String> {
    match fields.iter().find(|(_, field)| !field.is_object() && !field.is_boolean()) {
        Some((name, _)) => Err(format!("`{}` in its schema is no schema", excerpt(name, 80))),
        None => Ok(()),
    }
}

fn measure(value: &Value, depth: usize, left: &mut usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("its schema nests deeper than {DEEPEST}"));
    }
    let parts: Vec<&Value> = match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => return Ok(()),
    };
    for part in parts {
        *left =
            left.checked_sub(1).ok_or_else(|| format!("its schema has more than {MOST_SCHEMAS} parts"))?;
        measure(part, depth + 1, left)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::offer::page;

    fn tool(schema: &str) -> Tool {
        let list = format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#);
        page::<Tool>(&Json::from_text(list).unwrap()).unwrap().items.remove(0)
    }

    #[test]
    fn what_a_model_can_take_passes_unchanged() {
        for fine in [
            r#"{"type":"object","properties":{"a":{"const":1}},"$defs":{"x":{}}}"#,
            r#"{"properties":{},"type":"object"}"#,
            r#"{ "type":"object", "properties":{"a":true}, "required":["a"], "additionalProperties":false }"#,
            r#"{"type":"object","properties":{"n":{"default":1.0}},"x":1e2,"oneOf":[{}]}"#,
        ] {
            assert_eq!(schema(&tool(fine)).unwrap().as_str(), fine);
            assert!(is_fine(fine), "{fine}");
        }
    }

    #[test]
    fn nothing_is_written_in_the_one_way_models_take() {
        for (came, goes) in [
            (r#"{"type":"object"}"#, r#"{"type":"object","properties":{}}"#),
            ("{}", r#"{"type":"object","properties":{}}"#),
            (r#"{"type":null,"properties":null}"#, r#"{"type":"object","properties":{}}"#),
            (r#"{"type":"object","properties":[]}"#, r#"{"type":"object","properties":{}}"#),
            (r#"{"type":["object"],"properties":{}}"#, r#"{"type":"object","properties":{}}"#),
            (r#"{"type":["null","object"],"properties":{}}"#, r#"{"type":"object","properties":{}}"#),
            (r#"{"properties":{"a":{}}}"#, r#"{"properties":{"a":{}},"type":"object"}"#),
            (r#"{"type":"object","required":null}"#, r#"{"type":"object","properties":{}}"#),
            (
                r#"{"type":"object","additionalProperties":{}}"#,
                r#"{"type":"object","additionalProperties":{},"properties":{}}"#,
            ),
            // No schema at all is noted where lists are read.
            ("null", r#"{"type":"object","properties":{}}"#),
        ] {
            assert!(!is_fine(came) && is_fine(goes), "{came}");
            assert_eq!(schema(&tool(came)).unwrap().as_str(), goes, "{came}");
        }
    }

    #[test]
    fn what_no_model_takes_says_why() {
        let deep = format!("{{\"properties\":{}1{}}}", "{\"a\":".repeat(70), "}".repeat(70));
        let wide = format!("{{\"enum\":[{}1]}}", "1,".repeat(10_001));
        let large = format!("{{\"description\":\"{}\"}}", "x".repeat(LARGEST_SCHEMA));
        for (came, why) in [
            (r#"{"type":"string"}"#, "not for an object"),
            (r#"{"type":["string","null"]}"#, "not for an object"),
            (r#"{"type":5}"#, "not for an object"),
            (r#"{"type":"object","properties":["a"]}"#, "`properties` of its schema are not an object"),
            (r#"{"type":"object","properties":true}"#, "`properties` of its schema are not an object"),
            (r#"{"type":"object","properties":{"a":"string"}}"#, "`a` in its schema is no schema"),
            (r#"{"type":"object","properties":{"a":null}}"#, "`a` in its schema is no schema"),
            (r#"{"type":"object","required":true}"#, "not a list of names"),
            (r#"{"type":"object","required":[1]}"#, "not a list of names"),
            (deep.as_str(), "deeper"),
            (wide.as_str(), "parts"),
            (large.as_str(), "larger"),
        ] {
            assert!(!is_fine(came), "{came:.80}");
            let reason = schema(&tool(came)).unwrap_err();
            assert!(reason.contains(why), "{reason}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let word =
            prop::sample::select(vec!["object", "string", "type", "properties", "required", "a", "é\""]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            word.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((word.clone(), inner), 0..5).prop_map(|fields| {
                    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
                }),
            ]
        })
    }

    proptest! {
        /// What is told in passing is what a closer look finds.
        #[test]
        fn a_schema_in_passing_is_no_other(came in json(), is_object in any::<bool>()) {
            let came = if is_object { json!({"type": "object", "properties": came}) } else { came };
            let tool = tool(&came.to_string());
            prop_assert_eq!(schema(&tool), closer(&tool));
        }

        #[test]
        fn what_passes_is_the_schema_of_an_object_and_stays_so(came in json()) {
            if let Ok(goes) = schema(&tool(&came.to_string())) {
                let value = goes.value();
                prop_assert_eq!(&value["type"], "object");
                prop_assert!(value["properties"].is_object());
                let again = schema(&tool(goes.as_str())).unwrap();
                prop_assert_eq!(again.as_str(), goes.as_str());
                if came.is_object() {
                    // Nothing else of it changed.
                    for (name, part) in came.as_object().unwrap() {
                        let is_ours = ["type", "properties", "required"].contains(&name.as_str());
                        prop_assert!(is_ours || value[name] == *part);
                    }
                }
            }
        }
    }
}
