//! A result as a model is shown it: text joined, everything else named by kind and kept. Pure.
//!
//! Nothing is left out: what cannot be shown better is shown as the JSON it came as. Who a block is meant for is in the
//! result as it came; a hint of the server hides nothing from the model here.

use serde_json::Value;

use super::media::Media;
use crate::json::{self, Json};
use crate::offer::{CallResult, Content, Kind};
use crate::visible::excerpt;

/// A result for a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shaped {
    /// The text, with a line for each block that is none.
    pub text: String,
    /// Pictures, in order, with their types.
    pub images: Vec<Media>,
    /// Sounds, in order, with their types.
    pub sounds: Vec<Media>,
}

/// Shapes a result. A failure starts with `Error: `.
pub fn shape(result: &CallResult) -> Shaped {
    let mut shaped = Shaped::default();
    let mut parts: Vec<String> = result.content.iter().map(|block| shaped.block(block)).collect();
    if let Some(structured) = &result.structured
        && !is_said(result, structured)
    {
        parts.push(format!("```json\n{}\n```", indented(structured.as_str())));
    }
    parts.retain(|part| !part.is_empty());
    shaped.text = parts.join("\n\n");
    if result.is_error {
        if shaped.text.is_empty() {
            shaped.text.push_str("the tool failed and did not say why");
        }
        if !shaped.text.starts_with("Error: ") {
            shaped.text.insert_str(0, "Error: ");
        }
    }
    shaped
}

impl Shaped {
    fn block(&mut self, block: &Content) -> String {
        let words = |keys: [&str; 4]| {
            let found = json::object(block.raw.as_str(), keys).unwrap_or_default();
            found.map(|value| value.and_then(json::string))
        };
        match (&block.kind, &block.text) {
            (Kind::Text, Some(text)) => text.clone(),
            // Text without a word of its kind is still text.
            (Kind::Unknown(kind), Some(text)) if kind.is_empty() => text.clone(),
            (Kind::Image | Kind::Audio, _) => {
                let [mime_type, data, ..] = words(["mimeType", "data", "", ""]);
                self.media(&block.kind, mime_type.as_deref(), &data.unwrap_or_default())
            }
            (Kind::ResourceLink, _) => {
                let [uri, title, name, _] = words(["uri", "title", "name", ""]);
                let title = title.or(name).map(|name| format!(" ({name})"));
                format!("[Resource: {}]{}", uri.unwrap_or_default(), title.unwrap_or_default())
            }
            (Kind::Resource, _) => {
                let inside = json::object(block.raw.as_str(), ["resource"]).and_then(|[inside]| inside);
                inside.map_or_else(|| labelled("resource", &block.raw), |inside| self.embedded(inside.get()))
            }
            (Kind::Unknown(kind), _) => labelled(kind, &block.raw),
            (Kind::Text, None) => labelled("text", &block.raw),
        }
    }

    fn media(&mut self, kind: &Kind, mime_type: Option<&str>, data: &str) -> String {
        let (label, place) = match kind {
            Kind::Audio => ("Audio", &mut self.sounds),
            _ => ("Image", &mut self.images),
        };
        if let Some((media, _)) = Media::read(mime_type, data) {
            let line = format!("[{label}: {}]", media.mime_type);
            place.push(media);
            line
        } else {
            format!("[{label}: {}] (its data cannot be read)", mime_type.unwrap_or("unknown type"))
        }
    }

    /// A resource inside the result. A picture is one here as well.
    fn embedded(&mut self, resource: &str) -> String {
        let found = json::object(resource, ["uri", "text", "blob", "mimeType"]).unwrap_or_default();
        let [uri, text, blob, mime_type] = found.map(|value| value.and_then(json::string));
        let uri = uri.unwrap_or_default();
        let (blob, text) = (blob.unwrap_or_default(), text);
        if let Some(text) = text {
            return format!("[Resource: {uri}]\n{text}");
        }
        let declared = mime_type.as_deref().unwrap_or("unknown type");
        match Media::read(mime_type.as_deref(), &blob) {
            Some((media, n_bytes)) => {
                let line = format!("[Resource: {uri}] ({declared}, {n_bytes} bytes)");
                match media.mime_type.split('/').next() {
                    Some("image") => self.images.push(media),
                    Some("audio") => self.sounds.push(media),
                    _ => {}
                }
                line
            }
            None if blob.is_empty() => format!("[Resource: {uri}]"),
            None => format!("[Resource: {uri}] ({declared}, its data cannot be read)"),
        }
    }
}

/// A block nothing better is known for.
fn labelled(kind: &str, raw: &Json) -> String {
    match kind {
        "" => raw.as_str().to_owned(),
        kind => format!("[{}: {}]", excerpt(kind, 60), raw.as_str()),
    }
}

/// Whether some text already is the structured value. A server that must give an object often wraps what it says as
/// `{"result": ...}`, so what is inside counts as well.
fn is_said(result: &CallResult, structured: &Json) -> bool {
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter(|block| block.kind == Kind::Text)
        .filter_map(|block| block.text.as_deref())
        .collect();
    let Ok(value) = structured.parse::<Value>() else { return texts.contains(&structured.as_str()) };
    // Nothing, where something else is said.
    if value.is_null() && !result.content.is_empty() {
        return true;
    }
    let wrapped =
        value.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.get("result"));
    says(&texts, &value) || wrapped.is_some_and(|inside| says(&texts, inside) || says_each(&texts, inside))
}

fn says(texts: &[&str], value: &Value) -> bool {
    texts.iter().any(|text| is_written(text, value))
}

/// Whether each text is one item of the list.
fn says_each(texts: &[&str], value: &Value) -> bool {
    value.as_array().is_some_and(|items| {
        items.len() == texts.len() && items.iter().zip(texts).all(|(item, text)| is_written(text, item))
    })
}

fn is_written(text: &str, value: &Value) -> bool {
    value.as_str() == Some(text) || serde_json::from_str::<Value>(text).is_ok_and(|read| read == *value)
}

/// JSON with a line for each value. Only the spaces between the parts change: numbers stay as they were written.
fn indented(json: &str) -> String {
    let mut lines = String::with_capacity(json.len() + json.len() / 4);
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    let mut rest = json.chars().peekable();
    let new_line = |lines: &mut String, depth: usize| {
        lines.push('\n');
        lines.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = rest.next() {
        if in_string {
            in_string = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            lines.push(c);
            continue;
        }
        match c {
            ' ' | '\t' | '\r' | '\n' => continue,
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut lines, depth);
            }
            _ => {}
        }
        lines.push(c);
        match c {
            '"' => in_string = true,
            ':' => lines.push(' '),
            ',' => new_line(&mut lines, depth),
            '{' | '[' => {
                while rest.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = rest.next_if(|next| matches!(next, '}' | ']')) {
                    lines.push(end);
                } else {
                    depth += 1;
                    new_line(&mut lines, depth);
                }
            }
            _ => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests;
