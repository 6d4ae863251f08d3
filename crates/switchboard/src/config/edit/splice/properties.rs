//! Whatever people's files look like: the edit means what it should, and touches nothing else.

use jsonc_parser::CollectOptions;
use jsonc_parser::ast::{Object, Value as Ast};
use jsonc_parser::common::Ranged;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Edit, apply, edited, value};

/// Any JSON value, a few levels deep, with keys that repeat often enough to be met again.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zA-Z0-9 ${}/:.,\"\\\\\u{e9}\u{1f600}#*-]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            any_object(inner).prop_map(Value::Object),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-d]", "[a-z.\"/ \u{e9}]{0,6}"]
}

fn any_object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((any_key(), inner), 0..5).prop_map(Map::from_iter)
}

/// A text that means the value, in some manner of writing.
fn any_text() -> impl Strategy<Value = (Value, String)> {
    (any_object(any_value()), any::<u64>()).prop_map(|(map, seed)| {
        let value = Value::Object(map);
        let mut writer = Writer::new(seed);
        writer.value(&value, 0);
        writer.blank();
        (value, writer.text)
    })
}

/// Writes JSON in the many ways people do; every choice comes from the seed.
struct Writer {
    text: String,
    state: u64,
    indent: &'static str,
    newline: &'static str,
}

impl Writer {
    fn new(seed: u64) -> Self {
        let mut writer = Self { text: String::new(), state: seed | 1, indent: "  ", newline: "\n" };
        writer.indent = ["  ", "    ", "\t", ""][writer.pick(4)];
        writer.newline = ["\n", "\r\n"][writer.pick(2)];
        writer.blank();
        writer
    }

    fn pick(&mut self, of: u64) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % of).unwrap_or_default()
    }

    /// Blanks and comments, where both may stand.
    fn blank(&mut self) {
        match self.pick(12) {
            0 => self.text.push(' '),
            1 => self.text.push_str("/* , } \" */"),
            2 => self.text.push_str(&format!("// it's, {{ a }} \"comment\"{}", self.newline)),
            3 => self.text.push_str(self.newline),
            _ => {}
        }
    }

    fn value(&mut self, value: &Value, depth: usize) {
        let items: Vec<(Option<&str>, &Value)> = match value {
            Value::Array(items) => items.iter().map(|item| (None, item)).collect(),
            Value::Object(map) => map.iter().map(|(key, item)| (Some(key.as_str()), item)).collect(),
            leaf => return self.text.push_str(&leaf.to_string()),
        };
        let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
        let over_lines = self.pick(3) > 0;
        self.text.push(open);
        let last = items.len();
        for (index, (key, item)) in items.into_iter().enumerate() {
            self.blank();
            if over_lines {
                self.text.push_str(self.newline);
                self.text.push_str(&self.indent.repeat(depth + 1));
            }
            if let Some(key) = key {
                self.text.push_str(&json!(key).to_string());
                self.blank();
                self.text.push(':');
                self.blank();
            }
            self.value(item, depth + 1);
            self.blank();
            if index + 1 < last || self.pick(4) == 0 {
                self.text.push(',');
            }
        }
        self.blank();
        if over_lines {
            self.text.push_str(self.newline);
            self.text.push_str(&self.indent.repeat(depth));
        }
        self.text.push(close);
    }
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let path = || prop::collection::vec(any_key(), 1..4);
    prop_oneof![
        (path(), any_value()).prop_map(|(path, value)| Edit::Set(path, value)),
        path().prop_map(Edit::Remove),
    ]
}

/// What an edit may touch of the old text.
struct Reach {
    /// The range outside of which no byte may change: the value, or the room between its neighbours.
    room: (usize, usize),
    /// The range whose comments may go: what is replaced or removed.
    gone: (usize, usize),
}

fn reach(text: &str, edit: &Edit) -> Option<Reach> {
    let (Edit::Set(path, _) | Edit::Remove(path)) = edit;
    let parsed =
        jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &crate::sources::syntax::JSON_OPTIONS);
    let Some(Ast::Object(root)) = parsed.ok()?.value else { return None };
    let mut object: &Object<'_> = &root;
    for (depth, key) in path.iter().enumerate() {
        let Some(index) = object.properties.iter().rposition(|property| property.name.as_str() == key) else {
            // Something is added after the last property.
            let from = object.properties.last().map_or(object.start() + 1, Ranged::end);
            return Some(Reach { room: (from, object.end() - 1), gone: (from, from) });
        };
        let property = &object.properties[index];
        match &property.value {
            Ast::Object(inner) if depth + 1 < path.len() => object = inner,
            old if matches!(edit, Edit::Set(..)) => {
                let value = (old.start(), old.end());
                return Some(Reach { room: value, gone: value });
            }
            _ => {
                let from =
                    index.checked_sub(1).map_or(object.start() + 1, |before| object.properties[before].end());
                let to = object.properties.get(index + 1).map_or(object.end() - 1, Ranged::start);
                return Some(Reach { room: (from, to), gone: (property.start(), property.end()) });
            }
        }
    }
    None
}

/// The comments of a range, in order.
fn comments(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(['"', '/']) {
        rest = &rest[start..];
        let length = if rest.starts_with('"') {
            let mut escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |(index, _)| index + 1)
        } else if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            found.push(rest[..length].trim_end());
            length
        } else {
            let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
            found.push(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    found
}

fn common_prefix(left: &str, right: &str) -> usize {
    left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count()
}

fn common_suffix(left: &str, right: &str) -> usize {
    left.bytes().rev().zip(right.bytes().rev()).take_while(|(a, b)| a == b).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn the_writer_of_this_test_writes_what_it_means((expected, text) in any_text()) {
        prop_assert_eq!(value(&text).unwrap(), expected);
    }

    #[test]
    fn an_edited_text_means_the_edited_value((before, text) in any_text(), edit in any_edit()) {
        match edited(before, &edit) {
            Ok(expected) => prop_assert_eq!(value(&apply(&text, std::slice::from_ref(&edit)).unwrap()).unwrap(), expected),
            Err(_) => prop_assert!(apply(&text, std::slice::from_ref(&edit)).is_err()),
        }
    }

    #[test]
    fn bytes_outside_of_the_edited_node_never_change((_, text) in any_text(), edit in any_edit()) {
        let Ok(new) = apply(&text, std::slice::from_ref(&edit)) else { return Ok(()) };
        if new == text {
            return Ok(());
        }
        let (from, to) = reach(&text, &edit).unwrap().room;
        prop_assert!(common_prefix(&text, &new) >= from, "{text:?} became {new:?}");
        prop_assert!(common_suffix(&text, &new) >= text.len() - to, "{text:?} became {new:?}");
    }

    #[test]
    fn no_comment_is_ever_lost((_, text) in any_text(), edit in any_edit()) {
        let Ok(new) = apply(&text, std::slice::from_ref(&edit)) else { return Ok(()) };
        let Some(Reach { gone: (from, to), .. }) = reach(&text, &edit) else { return Ok(()) };
        let kept = [comments(&text[..from]), comments(&text[to..])].concat();
        let there = comments(&new);
        let mut rest = there.iter();
        for comment in kept {
            prop_assert!(rest.any(|other| *other == comment), "{comment:?} is lost: {text:?} became {new:?}");
        }
    }
}
