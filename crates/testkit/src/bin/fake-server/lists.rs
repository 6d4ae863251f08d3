//! Lists in pages, resources and prompts, out of the script's data.

use serde_json::{Value, json};

use crate::answers::{Answer, Refusal};
use crate::call::Call;

/// Turns an offset into something a client can make no sense of, and back.
const CURSOR: usize = 0x5eed_c0de;

fn without(item: &Value, hidden: &[&str]) -> Value {
    let mut item = item.clone();
    if let Some(parts) = item.as_object_mut() {
        parts.retain(|key, _| !hidden.contains(&key.as_str()));
    }
    item
}

/// One page of a list; nothing if this is no method the server has.
pub(crate) fn page(call: &Call, method: &str) -> Result<Option<Value>, Refusal> {
    let script = &call.server.script;
    let has = |name: &str| script.capabilities.as_ref().is_some_and(|all| all.get(name).is_some());
    let (key, items) = match method {
        "tools/list" => ("tools", Some(&script.tools)),
        "resources/list" => ("resources", script.resources.as_ref()),
        "resources/templates/list" => ("resourceTemplates", script.templates.as_ref()),
        "prompts/list" => ("prompts", script.prompts.as_ref()),
        "resources/subscribe" | "resources/unsubscribe" if !call.modern && script.resources.is_some() => {
            return Ok(Some(json!({})));
        }
        "logging/setLevel" if !call.modern && has("logging") => return Ok(Some(json!({}))),
        _ => return Ok(None),
    };
    let nothing = Vec::new();
    let items = match items {
        Some(items) => items,
        // Who has resources has templates too, if only none.
        None if key == "resourceTemplates" && script.resources.is_some() => &nothing,
        None if key == "resources" && script.templates.is_some() => &nothing,
        None if has(key) => &nothing,
        None => return Ok(None),
    };
    let from = match call.params.get("cursor") {
        None => 0,
        Some(cursor) => {
            let text = cursor.as_str().and_then(|text| usize::from_str_radix(text, 16).ok());
            let offset = text.map(|number| number ^ CURSOR).filter(|offset| *offset <= items.len());
            offset.ok_or_else(|| Refusal::new(-32602, format!("Invalid cursor: {cursor}")))?
        }
    };
    let size = script.page_size.unwrap_or(usize::MAX);
    let shown: Vec<Value> =
        items.iter().skip(from).take(size).map(|item| without(item, &["text", "blob", "messages"])).collect();
    let next = from + shown.len();
    let mut result = json!({key: shown});
    if next < items.len() {
        result["nextCursor"] = json!(format!("{:x}", next ^ CURSOR));
    }
    Ok(Some(result))
}

/// The content of a resource: what its entry carries as `text` or `blob`.
pub(crate) fn read(call: &Call) -> Answer {
    let script = &call.server.script;
    let uri = call.params.get("uri").and_then(Value::as_str).unwrap_or_default();
    let listed = script.resources.iter().flatten().find(|resource| resource["uri"] == uri);
    let from_template = || {
        let mut templates = script.templates.iter().flatten();
        templates.find(|template| {
            let pattern = template["uriTemplate"].as_str().and_then(|pattern| pattern.split('{').next());
            pattern.is_some_and(|start| uri.starts_with(start))
        })
    };
    let Some(source) = listed.or_else(from_template) else {
        let code = if call.modern { -32602 } else { -32002 };
        let refusal = Refusal::new(code, format!("Resource not found: {uri}"));
        return Err(Refusal { data: Some(json!({"uri": uri})), ..refusal });
    };
    let mut content = json!({"uri": uri});
    for key in ["mimeType", "text", "blob"] {
        if let Some(value) = source.get(key) {
            content[key] = value.clone();
        }
    }
    if content.get("text").is_none() && content.get("blob").is_none() {
        content["text"] = json!(format!("the content of {uri}"));
    }
    Ok(Some(json!({"contents": [content]})))
}

/// The messages of a prompt: what its entry carries as `messages`.
pub(crate) fn prompt(call: &Call) -> Answer {
    let name = call.params.get("name").and_then(Value::as_str).unwrap_or_default();
    let prompts = call.server.script.prompts.iter().flatten();
    let Some(prompt) = prompts.into_iter().find(|prompt| prompt["name"] == name) else {
        return Err(Refusal::new(-32602, format!("Unknown prompt: {name}")));
    };
    let messages = prompt.get("messages").cloned().unwrap_or_else(|| {
        let arguments = call.params.get("arguments").unwrap_or(&Value::Null);
        json!([{"role": "user", "content": {"type": "text", "text": format!("{name} {arguments}")}}])
    });
    let mut result = json!({"messages": messages});
    if let Some(description) = prompt.get("description") {
        result["description"] = description.clone();
    }
    Ok(Some(result))
}
