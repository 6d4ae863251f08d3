//! One value of a form: what it may be, what was typed, and whether that will do. Pure.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchboard::redact::is_telling;

use super::super::editor::{Edit, Editor};
use super::super::text::plain;

/// A value that is asked for.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) is_required: bool,
    pub(super) entry: Entry,
}

/// What was given so far.
#[derive(Debug)]
pub(super) enum Entry {
    Text {
        typed: Editor,
        limits: Limits,
        is_secret: bool,
    },
    Number {
        typed: Editor,
        bounds: Bounds,
        is_integer: bool,
    },
    Switch(Option<bool>),
    One {
        options: Vec<Choice>,
        chosen: Option<usize>,
    },
    Many {
        options: Vec<Choice>,
        chosen: BTreeSet<usize>,
        at: usize,
        n_least: usize,
        n_most: usize,
    },
    /// Nothing a person can type.
    Odd,
}

/// A value to choose, and what it is called.
#[derive(Debug)]
pub(super) struct Choice {
    value: String,
    pub(super) title: String,
}

#[derive(Debug)]
pub(super) struct Limits {
    least: u64,
    most: u64,
    pub(super) format: Option<String>,
}

#[derive(Debug)]
pub(super) struct Bounds {
    least: Option<f64>,
    most: Option<f64>,
}

impl Field {
    pub(super) fn new(key: &str, schema: &Value, is_required: bool) -> Self {
        let words = |name: &str| schema.get(name).and_then(Value::as_str).map(plain);
        let title = words("title").filter(|title| !title.is_empty()).unwrap_or_else(|| plain(key));
        Self {
            key: key.to_owned(),
            description: words("description"),
            is_required,
            entry: Entry::new(schema, is_telling(key) || is_telling(&title)),
            title,
        }
    }

    pub(super) fn edit(&mut self, edit: Edit) {
        match (&mut self.entry, edit) {
            (Entry::Text { typed, .. } | Entry::Number { typed, .. }, edit) if edit != Edit::Newline => {
                typed.apply(edit);
            }
            (Entry::Switch(on), Edit::Char(' ') | Edit::Left | Edit::Right) => *on = Some(*on != Some(true)),
            (Entry::Switch(on), Edit::Char('y' | 'Y')) => *on = Some(true),
            (Entry::Switch(on), Edit::Char('n' | 'N')) => *on = Some(false),
            (Entry::One { options, chosen }, Edit::Right | Edit::Char(' ')) => {
                *chosen = Some(chosen.map_or(0, |at| (at + 1) % options.len()));
            }
            (Entry::One { options, chosen }, Edit::Left) => {
                *chosen = Some(chosen.map_or(0, |at| (at + options.len() - 1) % options.len()));
            }
            (Entry::Many { options, at, .. }, Edit::Right) => *at = (*at + 1) % options.len(),
            (Entry::Many { options, at, .. }, Edit::Left) => *at = (*at + options.len() - 1) % options.len(),
            (Entry::Many { chosen, at, .. }, Edit::Char(' ')) => {
                let is_new = !chosen.remove(at);
                chosen.extend(is_new.then_some(*at));
            }
            _ => {}
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Entry::Text { typed, .. } | Entry::Number { typed, .. } = &mut self.entry {
            typed.insert(&text.replace(['\n', '\r'], " "));
        }
    }

    /// Whether a secret seems to be asked for.
    pub(super) const fn is_secret(&self) -> bool {
        matches!(self.entry, Entry::Text { is_secret: true, .. })
    }

    /// The value, nothing if it may be left out, or what is wrong with it.
    pub(super) fn value(&self) -> Result<Option<Value>, String> {
        let value = match &self.entry {
            Entry::Text { typed, .. } | Entry::Number { typed, .. } if typed.is_empty() => None,
            Entry::Text { typed, limits, .. } => Some(limits.checked(&typed.whole())?),
            Entry::Number { typed, bounds, is_integer } => {
                Some(bounds.checked(typed.whole().trim(), *is_integer)?)
            }
            Entry::Switch(on) => on.map(Value::Bool),
            Entry::One { options, chosen } => {
                chosen.and_then(|at| options.get(at)).map(|one| json!(one.value))
            }
            Entry::Many { options, chosen, n_least, n_most, .. } => {
                many(options, chosen, (*n_least, *n_most), self.is_required)?
            }
            Entry::Odd if self.is_required => return Err("this kind of value cannot be given here".into()),
            Entry::Odd => None,
        };
        match value {
            None if self.is_required => Err("needed".to_owned()),
            value => Ok(value),
        }
    }
}

fn many(
    options: &[Choice],
    chosen: &BTreeSet<usize>,
    (n_least, n_most): (usize, usize),
    is_required: bool,
) -> Result<Option<Value>, String> {
    if chosen.is_empty() && !is_required {
        return Ok(None);
    }
    if chosen.len() < n_least {
        return Err(format!("choose at least {n_least}"));
    }
    if chosen.len() > n_most {
        return Err(format!("choose at most {n_most}"));
    }
    let values: Vec<&str> =
        chosen.iter().filter_map(|at| options.get(*at)).map(|one| one.value.as_str()).collect();
    Ok(Some(json!(values)))
}

impl Entry {
    fn new(schema: &Value, is_secret: bool) -> Self {
        let default = schema.get("default");
        if let Some(options) = choices(schema) {
            let chosen = default
                .and_then(Value::as_str)
                .and_then(|value| options.iter().position(|one| one.value == value));
            return Self::One { options, chosen };
        }
        let text = default.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let typed = Editor::with(&text.unwrap_or_default());
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => Self::Text { typed, limits: Limits::new(schema), is_secret },
            Some(kind @ ("number" | "integer")) => {
                Self::Number { typed, bounds: Bounds::new(schema), is_integer: kind == "integer" }
            }
            Some("boolean") => Self::Switch(default.and_then(Value::as_bool)),
            Some("array") => Self::many(schema),
            _ => Self::Odd,
        }
    }

    fn many(schema: &Value) -> Self {
        let Some(options) = schema.get("items").and_then(choices) else { return Self::Odd };
        let is_default = |one: &Choice| {
            let values = schema.get("default").and_then(Value::as_array);
            values.is_some_and(|values| values.iter().any(|value| value == one.value.as_str()))
        };
        let chosen =
            options.iter().enumerate().filter(|(_, one)| is_default(one)).map(|(at, _)| at).collect();
        let count =
            |name: &str| schema.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let (n_least, n_most) = (count("minItems").unwrap_or(0), count("maxItems").unwrap_or(usize::MAX));
        Self::Many { options, chosen, at: 0, n_least, n_most }
    }
}

/// The values to choose from, in any of the ways to list them; nothing if there are none.
fn choices(schema: &Value) -> Option<Vec<Choice>> {
    let list = |name: &str| schema.get(name).and_then(Value::as_array);
    let choices: Vec<Choice> = if let Some(values) = list("enum") {
        let names = list("enumNames");
        let title =
            |at: usize, value: &str| plain(names.and_then(|names| names.get(at)?.as_str()).unwrap_or(value));
        let values = values.iter().filter_map(Value::as_str).enumerate();
        values.map(|(at, value)| Choice { value: value.to_owned(), title: title(at, value) }).collect()
    } else {
        let one = |one: &Value| {
            let value = one.get("const")?.as_str()?;
            let title = plain(one.get("title").and_then(Value::as_str).unwrap_or(value));
            Some(Choice { value: value.to_owned(), title })
        };
        list("oneOf").or_else(|| list("anyOf"))?.iter().filter_map(one).collect()
    };
    (!choices.is_empty()).then_some(choices)
}

impl Limits {
    fn new(schema: &Value) -> Self {
        let count = |name: &str| schema.get(name).and_then(Value::as_u64);
        Self {
            least: count("minLength").unwrap_or(0),
            most: count("maxLength").unwrap_or(u64::MAX),
            format: schema.get("format").and_then(Value::as_str).map(plain),
        }
    }

    fn checked(&self, text: &str) -> Result<Value, String> {
        let n_chars = text.chars().count() as u64;
        if n_chars < self.least {
            return Err(format!("at least {} characters", self.least));
        }
        if n_chars > self.most {
            return Err(format!("at most {} characters", self.most));
        }
        let digits = |shape: &str| {
            text.len() >= shape.len()
                && text
                    .bytes()
                    .zip(shape.bytes())
                    .all(|(c, s)| if s == b'0' { c.is_ascii_digit() } else { c == s })
        };
        let wrong = match self.format.as_deref() {
            Some("email") => {
                let is_address =
                    text.split_once('@').is_some_and(|(who, at)| !who.is_empty() && at.contains('.'));
                (!is_address).then_some("an address like name@example.com")
            }
            Some("uri") => url::Url::parse(text).is_err().then_some("an address like https://example.com"),
            Some("date") => (!digits("0000-00-00") || text.len() != 10).then_some("a date like 2026-07-28"),
            Some("date-time") => {
                (!digits("0000-00-00T00:00:00")).then_some("a time like 2026-07-28T12:00:00Z")
            }
            _ => None,
        };
        wrong.map_or_else(|| Ok(json!(text)), |wrong| Err(wrong.to_owned()))
    }
}

impl Bounds {
    fn new(schema: &Value) -> Self {
        let number = |name: &str| schema.get(name).and_then(Value::as_f64);
        Self { least: number("minimum"), most: number("maximum") }
    }

    fn checked(&self, text: &str, is_integer: bool) -> Result<Value, String> {
        let value: Value = match (is_integer, text.parse::<i64>(), text.parse::<f64>()) {
            (_, Ok(whole), _) => json!(whole),
            (false, _, Ok(number)) if number.is_finite() => json!(number),
            (true, ..) => return Err("a whole number".to_owned()),
            (false, ..) => return Err("a number".to_owned()),
        };
        let number = value.as_f64().unwrap_or_default();
        if let Some(least) = self.least.filter(|least| number < *least) {
            return Err(format!("at least {least}"));
        }
        if let Some(most) = self.most.filter(|most| number > *most) {
            return Err(format!("at most {most}"));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(schema: &Value, typed: &str) -> Result<Option<Value>, String> {
        let mut field = Field::new("x", schema, false);
        for c in typed.chars() {
            field.edit(Edit::Char(c));
        }
        field.value()
    }

    #[test]
    fn what_is_typed_is_held_against_the_schema() {
        let good = |schema: Value, typed: &str, expected: Value| {
            assert_eq!(value(&schema, typed), Ok(Some(expected)), "{schema} {typed}");
        };
        let bad = |schema: Value, typed: &str| {
            assert!(value(&schema, typed).is_err(), "{schema} {typed}");
        };
        good(json!({"type": "string"}), "hi", json!("hi"));
        good(json!({"type": "string", "default": "a"}), "b", json!("ab"));
        bad(json!({"type": "string", "minLength": 3}), "hi");
        bad(json!({"type": "string", "maxLength": 1}), "hi");
        good(json!({"type": "string", "format": "email"}), "a@b.c", json!("a@b.c"));
        bad(json!({"type": "string", "format": "email"}), "a@b");
        bad(json!({"type": "string", "format": "uri"}), "example.com");
        good(json!({"type": "string", "format": "date"}), "2026-07-28", json!("2026-07-28"));
        bad(json!({"type": "string", "format": "date"}), "28.7.2026");
        bad(json!({"type": "string", "format": "date-time"}), "2026-07-28");
        good(json!({"type": "integer"}), "7", json!(7));
        bad(json!({"type": "integer"}), "7.5");
        good(json!({"type": "number"}), "7.5", json!(7.5));
        bad(json!({"type": "number"}), "seven");
        bad(json!({"type": "number"}), "inf");
        bad(json!({"type": "integer", "minimum": 3}), "2");
        bad(json!({"type": "integer", "maximum": 3}), "4");
        good(json!({"type": "boolean"}), "y", json!(true));
        good(json!({"type": "boolean"}), "  ", json!(false));
        good(json!({"enum": ["a", "b"]}), "  ", json!("b"));
        good(json!({"oneOf": [{"const": "a", "title": "A"}]}), " ", json!("a"));
        good(json!({"type": "array", "items": {"enum": ["a", "b"]}}), " ", json!(["a"]));
        bad(json!({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2}), " ");
        assert_eq!(value(&json!({"type": "object"}), "x"), Ok(None));
        assert_eq!(value(&json!({"type": "string"}), ""), Ok(None));
        assert!(Field::new("x", &json!({"type": "object"}), true).value().is_err());
        assert!(Field::new("x", &json!({"type": "string"}), true).value().is_err());
        assert!(Field::new("apiKey", &json!({"type": "string"}), true).is_secret());
        assert!(!Field::new("name", &json!({"type": "string"}), true).is_secret());
    }
}
