//! How much work it is to hold a value against a schema, counted before the work is done. Pure.
//!
//! A few lines of schema can double the work with every reference. So the way a checker would go is gone once without
//! checking anything, and given up when it is too long. What is counted is never less than what a checker does, within
//! a small factor.

use serde_json::{Map, Value};

/// Steps a check may take.
const MOST_STEPS: u64 = 1_000_000;
/// Steps where a pattern may have to be tried in several ways: an unclear one makes the checker start over.
const MOST_UNCLEAR_STEPS: u64 = 50_000;
/// One pattern that may have to be tried in several ways.
const UNCLEAR: u64 = 20;
/// Schemas inside each other, references included, on the way to one value.
const DEEPEST: usize = 100;
/// Bytes of text that are one step.
const BYTES: usize = 64;

/// Whether the value can be held against the schema within bounds, or why not.
pub(super) fn bounded(schema: &Value, value: &Value) -> Result<(), String> {
    let left = if has_unclear(schema) { MOST_UNCLEAR_STEPS } else { MOST_STEPS };
    Way { root: schema, left }.go(schema, value, 0)
}

/// Whether a pattern cannot be matched in one pass: it looks ahead or back, or repeats what it found.
fn is_unclear(pattern: &str) -> bool {
    let looks = ["(?=", "(?!", "(?<", "(?>"].iter().any(|sign| pattern.contains(sign));
    let repeats =
        || pattern.as_bytes().windows(2).any(|two| two[0] == b'\\' && b"123456789k".contains(&two[1]));
    looks || repeats()
}

fn has_unclear(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(name, part)| match (name.as_str(), part) {
            ("pattern", Value::String(pattern)) => is_unclear(pattern),
            ("patternProperties", Value::Object(parts)) => {
                parts.keys().any(|pattern| is_unclear(pattern)) || parts.values().any(has_unclear)
            }
            _ => has_unclear(part),
        }),
        Value::Array(parts) => parts.iter().any(has_unclear),
        _ => false,
    }
}

struct Way<'a> {
    root: &'a Value,
    left: u64,
}

impl<'a> Way<'a> {
    fn spend(&mut self, steps: usize) -> Result<(), String> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(steps).ok_or_else(|| "that would take too much work".to_owned())?;
        Ok(())
    }

    fn go(&mut self, schema: &'a Value, value: &Value, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("it leads through more than {DEEPEST} schemas inside each other"));
        }
        let Value::Object(fields) = schema else { return self.spend(1) };
        let length = value.as_str().map_or(0, str::len);
        self.spend(1 + fields.len() + length / BYTES)?;
        // What was not looked at elsewhere is known only after all else was looked at, once for each.
        let is_rest = |name: &str| fields.contains_key(name);
        let times = match value {
            Value::Object(fields) if is_rest("unevaluatedProperties") => 1 + fields.len(),
            Value::Array(items) if is_rest("unevaluatedItems") => 1 + items.len(),
            _ => 1,
        };
        for _ in 0..times {
            for (name, part) in fields {
                self.beside(name, part, value, depth + 1)?;
                match value {
                    Value::Object(fields) => self.object(name, part, fields, depth + 1)?,
                    Value::Array(items) => self.array(name, part, items, depth + 1)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Keywords for the value itself.
    fn beside(&mut self, name: &str, part: &'a Value, value: &Value, depth: usize) -> Result<(), String> {
        match (name, part) {
            ("$ref", Value::String(reference)) => {
                let target = self.target(reference)?;
                self.go(target, value, depth)
            }
            ("$dynamicRef" | "$recursiveRef", _) => Err(format!("its schema uses `{name}`")),
            ("$id" | "$schema", Value::String(_)) if depth > 1 => {
                Err(format!("its schema has an `{name}` inside"))
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                parts.iter().try_for_each(|part| self.go(part, value, depth))
            }
            ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                parts.values().try_for_each(|part| self.go(part, value, depth))
            }
            ("not" | "if" | "then" | "else", part) => self.go(part, value, depth),
            ("enum" | "const" | "required", part) => self.spend(weight(part)),
            ("pattern", Value::String(pattern)) => match value {
                Value::String(text) => self.matching(pattern, text),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Keywords for the fields of an object.
    fn object(
        &mut self,
        name: &str,
        part: &'a Value,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), String> {
        match (name, part) {
            ("properties", Value::Object(parts)) => {
                self.spend(parts.len().min(fields.len()))?;
                for (name, part) in parts {
                    if let Some(value) = fields.get(name) {
                        self.go(part, value, depth)?;
                    }
                }
            }
            ("patternProperties", Value::Object(parts)) => {
                for (pattern, part) in parts {
                    for (name, value) in fields {
                        self.matching(pattern, name)?;
                        self.go(part, value, depth)?;
                    }
                }
            }
            ("additionalProperties" | "unevaluatedProperties", part) => {
                for value in fields.values() {
                    self.go(part, value, depth)?;
                }
            }
            ("propertyNames", part) => {
                for name in fields.keys() {
                    self.go(part, &Value::from(name.as_str()), depth)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Keywords for the items of a list.
    fn array(&mut self, name: &str, part: &'a Value, items: &[Value], depth: usize) -> Result<(), String> {
        match (name, part) {
            ("prefixItems" | "items", Value::Array(parts)) => {
                parts.iter().zip(items).try_for_each(|(part, item)| self.go(part, item, depth))
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", part) => {
                items.iter().try_for_each(|item| self.go(part, item, depth))
            }
            ("uniqueItems", Value::Bool(true)) => self.spend(items.iter().map(weight).sum()),
            _ => Ok(()),
        }
    }

    fn matching(&mut self, pattern: &str, text: &str) -> Result<(), String> {
        let factor = if is_unclear(pattern) { UNCLEAR } else { 1 };
        let steps = 1 + u64::try_from(text.len() / BYTES).unwrap_or(u64::MAX);
        self.spend(usize::try_from(steps.saturating_mul(factor)).unwrap_or(usize::MAX))
    }

    /// What a reference inside the schema means. Nothing is ever fetched.
    fn target(&self, reference: &str) -> Result<&'a Value, String> {
        let unknown = || format!("its schema refers to `{}`", crate::visible::excerpt(reference, 80));
        let pointer = reference.strip_prefix('#').ok_or_else(unknown)?;
        let pointer = unescaped(pointer).ok_or_else(unknown)?;
        self.root.pointer(&pointer).ok_or_else(unknown)
    }
}

/// A pointer without the escapes of an address.
fn unescaped(pointer: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

/// About how long it takes to compare a value.
fn weight(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(weight).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::String(text) => 1 + text.len() / BYTES,
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}
