//! New values in the manner of the text around them.

use serde_json::Value;

/// A list of plain values is written on one line up to this length.
const SHORT: usize = 80;

/// How the text is laid out.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) indent: String,
    pub(super) newline: &'static str,
}

impl Layout {
    pub(super) fn of(text: &str) -> Self {
        let first_indented = text.lines().find_map(|line| {
            let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
            (blanks > 0 && line[blanks..].starts_with('"')).then(|| line[..blanks].to_owned())
        });
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { indent: first_indented.unwrap_or_else(|| "  ".to_owned()), newline }
    }

    pub(super) fn property(&self, key: &str, value: &Value, indent: &str) -> String {
        format!("{}: {}", quoted(key), self.render(value, indent))
    }

    /// Objects over several lines, short lists on one.
    pub(super) fn render(&self, value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.indent);
        let items: Vec<String> = match value {
            Value::Object(map) if !map.is_empty() => {
                map.iter().map(|(key, value)| self.property(key, value, &inner)).collect()
            }
            Value::Array(items) if !is_short(items) => {
                items.iter().map(|item| self.render(item, &inner)).collect()
            }
            _ => return inline(value),
        };
        let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
        let newline = self.newline;
        let body = items.join(&format!(",{newline}{inner}"));
        format!("{open}{newline}{inner}{body}{newline}{indent}{close}")
    }
}

/// A property on one line.
pub(super) fn property_inline(key: &str, value: &Value) -> String {
    format!("{}: {}", quoted(key), inline(value))
}

fn is_short(items: &[Value]) -> bool {
    items.iter().all(|item| !item.is_object() && !item.is_array())
        && items.iter().map(|item| item.to_string().len() + 2).sum::<usize>() <= SHORT
}

fn inline(value: &Value) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let items: Vec<_> =
                map.iter().map(|(key, value)| format!("{}: {}", quoted(key), inline(value))).collect();
            format!("{{ {} }}", items.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        _ => value.to_string(),
    }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
