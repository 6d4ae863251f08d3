//! A result as a model is shown it: text joined, everything else named by kind and kept.

use serde_json::Value;

use crate::offer::{CallResult, Content, Kind};

/// A result for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shaped {
    /// The text, with a line for each block that is none.
    pub text: String,
    /// Pictures, in order, with their types.
    pub images: Vec<Media>,
    /// Sounds, in order, with their types.
    pub sounds: Vec<Media>,
}

/// A picture or a sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Its type.
    pub mime_type: String,
    /// Its bytes in Base64.
    pub data: String,
}

/// Shapes a result. A failure starts with `Error: `.
pub fn shape(result: &CallResult) -> Shaped {
    let mut shaped = Shaped { text: String::new(), images: Vec::new(), sounds: Vec::new() };
    let mut parts = Vec::new();
    for block in &result.content {
        parts.push(shaped.block(block));
    }
    if let Some(structured) = &result.structured
        && !says_the_same(&parts, &structured.value())
    {
        let pretty = serde_json::to_string_pretty(&structured.value()).unwrap_or_default();
        parts.push(format!("```json\n{pretty}\n```"));
    }
    parts.retain(|part| !part.is_empty());
    shaped.text = parts.join("\n\n");
    if result.is_error && !shaped.text.starts_with("Error: ") {
        shaped.text.insert_str(0, "Error: ");
    }
    shaped
}

impl Shaped {
    fn block(&mut self, block: &Content) -> String {
        let raw = block.raw.value();
        let word = |name: &str| raw.get(name).and_then(Value::as_str).map(str::to_owned);
        let media = || Media {
            mime_type: word("mimeType").unwrap_or_else(|| "application/octet-stream".to_owned()),
            data: word("data").unwrap_or_default(),
        };
        match &block.kind {
            Kind::Text => block.text.clone().unwrap_or_default(),
            Kind::Image => {
                let image = media();
                let line = format!("[Image: {}]", image.mime_type);
                self.images.push(image);
                line
            }
            Kind::Audio => {
                let sound = media();
                let line = format!("[Audio: {}]", sound.mime_type);
                self.sounds.push(sound);
                line
            }
            Kind::ResourceLink => {
                let uri = word("uri").unwrap_or_default();
                let title = word("title").or_else(|| word("name")).map(|name| format!(" ({name})"));
                format!("[Resource: {uri}]{}", title.unwrap_or_default())
            }
            Kind::Resource => embedded(&raw),
            Kind::Unknown(kind) => format!("[{kind}: {raw}]"),
        }
    }
}

fn embedded(raw: &Value) -> String {
    let resource = raw.get("resource").unwrap_or(&Value::Null);
    let word = |name: &str| resource.get(name).and_then(Value::as_str);
    let uri = word("uri").unwrap_or_default();
    match (word("text"), word("blob")) {
        (Some(text), _) => format!("[Resource: {uri}]\n{text}"),
        (None, Some(blob)) => {
            let kind = word("mimeType").unwrap_or("unknown type");
            format!("[Resource: {uri}] ({kind}, {} bytes of Base64)", blob.len())
        }
        (None, None) => format!("[Resource: {uri}]"),
    }
}

/// Whether some text already is the structured value.
fn says_the_same(parts: &[String], structured: &Value) -> bool {
    parts.iter().any(|part| serde_json::from_str::<Value>(part).is_ok_and(|value| value == *structured))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn shaped(text: &str) -> Shaped {
        shape(&CallResult::read(&Json::from_text(text).unwrap()))
    }

    #[test]
    fn every_kind_is_shown_and_kept() {
        let all = shaped(
            r#"{"content":[
                {"type":"text","text":"one"},{"type":"image","mimeType":"image/png","data":"AA=="},
                {"type":"audio","mimeType":"audio/wav","data":"BB=="},
                {"type":"resource_link","uri":"file:///a"},
                {"type":"resource","resource":{"uri":"b:c","text":"inside"}},
                {"type":"resource","resource":{"uri":"d:e","blob":"AAAA","mimeType":"x/y"}},
                {"type":"hologram","beam":1},{"type":"text","text":"two"}]}"#,
        );
        for expected in [
            "one",
            "[Image: image/png]",
            "[Audio: audio/wav]",
            "[Resource: file:///a]",
            "inside",
            "x/y",
            "hologram",
            "two",
        ] {
            assert!(all.text.contains(expected), "{expected}: {}", all.text);
        }
        assert_eq!((all.images.len(), all.sounds.len()), (1, 1));
    }

    #[test]
    fn structured_content_is_shown_once_and_failures_say_so() {
        let twice =
            shaped(r#"{"content":[{"type":"text","text":"{\"a\": 1}"}],"structuredContent":{"a":1}}"#);
        assert_eq!(twice.text, r#"{"a": 1}"#);
        let alone = shaped(r#"{"content":[],"structuredContent":{"a":1}}"#);
        assert!(alone.text.contains("\"a\": 1"));
        assert_eq!(shaped(r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#).text, "Error: no");
        assert_eq!(
            shaped(r#"{"content":[{"type":"text","text":"Error: no"}],"isError":true}"#).text,
            "Error: no"
        );
    }
}
