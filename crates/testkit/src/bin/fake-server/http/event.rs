//! Events of a stream as text.

use serde_json::Value;

use crate::action::Event;

/// One event, with whatever it is made of.
pub(crate) fn render(event: &Event, data: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(comment) = &event.comment {
        text.push_str(&format!(": {comment}\n"));
    }
    if let Some(name) = &event.name {
        text.push_str(&format!("event: {name}\n"));
    }
    if let Some(id) = &event.id {
        text.push_str(&format!("id: {id}\n"));
    }
    if let Some(retry) = event.retry {
        text.push_str(&format!("retry: {retry}\n"));
    }
    for line in data.into_iter().flat_map(|data| data.split('\n')) {
        text.push_str(&format!("data: {line}\n"));
    }
    text.push('\n');
    text
}

/// A message as an event without an id.
pub(crate) fn message(message: &Value) -> String {
    numbered(message, None)
}

/// A message as an event.
pub(crate) fn numbered(message: &Value, id: Option<String>) -> String {
    let event = Event { name: Some("message".to_owned()), id, ..Event::default() };
    render(&event, Some(&message.to_string()))
}
