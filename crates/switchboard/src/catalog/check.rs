//! Whether a tool can be given to a model at all. One that cannot is put aside alone, with the reason.

use serde_json::{Map, Value, json};

use crate::json::Json;
use crate::offer::Tool;

/// Bytes of a schema that are looked at.
const LARGEST_SCHEMA: usize = 256 * 1024;
const DEEPEST: usize = 64;
const MOST_SCHEMAS: usize = 10_000;
const LONGEST_NAME: usize = 128;
const LONGEST_DESCRIPTION: usize = 16 * 1024;

/// The schema as models take it, or why none would.
pub(super) fn schema(tool: &Tool) -> Result<Json, String> {
    if tool.name.chars().count() > LONGEST_NAME {
        return Err(format!("its name is longer than {LONGEST_NAME} characters"));
    }
    if tool.description.as_ref().is_some_and(|text| text.len() > LONGEST_DESCRIPTION) {
        return Err(format!("its description is longer than {LONGEST_DESCRIPTION} bytes"));
    }
    if tool.input_schema.len() > LARGEST_SCHEMA {
        return Err(format!("its schema is larger than {LARGEST_SCHEMA} bytes"));
    }
    let mut schema: Value =
        tool.input_schema.parse().map_err(|_| "its schema nests deeper than any reader allows".to_owned())?;
    let mut left = MOST_SCHEMAS;
    measure(&schema, 0, &mut left)?;
    let Value::Object(object) = &mut schema else { return Err("its schema is not an object".to_owned()) };
    match object.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => {}
        Some(_) => return Err("its schema is not for an object, and arguments always are one".to_owned()),
    }
    if object.contains_key("properties") {
        return Ok(tool.input_schema.clone());
    }
    Ok(with_properties(object).into())
}

/// An object schema without properties is refused by some models.
fn with_properties(object: &Map<String, Value>) -> Value {
    let mut object = object.clone();
    object.entry("type").or_insert_with(|| json!("object"));
    object.insert("properties".to_owned(), json!({}));
    Value::Object(object)
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
    use super::*;
    use crate::offer::page;

    fn tool(schema: &str) -> Tool {
        let list = format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#);
        page::<Tool>(&Json::from_text(list).unwrap()).unwrap().items.remove(0)
    }

    #[test]
    fn what_a_model_can_take_passes_unchanged_and_the_rest_says_why() {
        let fine = r#"{"type":"object","properties":{"a":{"const":1}},"$defs":{"x":{}}}"#;
        assert_eq!(schema(&tool(fine)).unwrap().as_str(), fine);
        let bare = schema(&tool(r#"{"type":"object"}"#)).unwrap();
        assert_eq!(bare.value(), json!({"type": "object", "properties": {}}));
        assert!(schema(&tool(r#"{"type":"string"}"#)).is_err());
        let deep = format!("{{\"properties\":{}1{}}}", "{\"a\":".repeat(70), "}".repeat(70));
        assert!(schema(&tool(&deep)).unwrap_err().contains("deeper"));
        let wide = format!("{{\"enum\":[{}1]}}", "1,".repeat(10_001));
        assert!(schema(&tool(&wide)).unwrap_err().contains("parts"));
    }
}
