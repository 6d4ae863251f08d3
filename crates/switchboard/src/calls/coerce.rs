//! From `key=value` words to the arguments of a tool, by its schema. Pure.
//!
//! The schema only helps to read what was typed: text, a number, a list. Whether the arguments are right is for the
//! server to say, except for what would certainly fail: a name it does not know, or one that is missing.

use serde_json::{Map, Number, Value};

use crate::json::Json;
use crate::sources::{nearest, short_for};
use crate::visible::excerpt;

/// References and choices inside each other.
const DEEPEST: usize = 16;
/// Arguments and values that are named.
const MOST_NAMED: usize = 12;
/// Words by which other parts of a schema may list more keys.
const ELSEWHERE: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "unevaluatedProperties",
];

/// Why words are no arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Coercion {
    /// A word without `=`.
    #[error("`{word}` is not key=value")]
    NoValue {
        /// The word.
        word: String,
    },
    /// A value that is not what the schema wants.
    #[error("`{key}` must be of type {wanted}")]
    Wrong {
        /// The key.
        key: String,
        /// What the schema wants.
        wanted: String,
    },
    /// A value that is none of those there are.
    #[error("`{key}` must be one of {options}")]
    NoOption {
        /// The key.
        key: String,
        /// Those there are.
        options: String,
    },
    /// A number that would become another one.
    #[error("`{key}` has more digits than a number can keep here")]
    Inexact {
        /// The key.
        key: String,
    },
    /// A key that stands twice, and is no list.
    #[error("`{key}` is given twice and takes one value")]
    Twice {
        /// The key.
        key: String,
    },
    /// Keys the tool does not take, and what it needs besides.
    #[error("{}", not_taken(keys, near, missing))]
    Unknown {
        /// The keys.
        keys: Vec<String>,
        /// Keys it takes that are probably meant.
        near: Vec<String>,
        /// What it needs and does not get.
        missing: Vec<String>,
    },
    /// What the tool needs besides.
    #[error("it also needs {}", names.join(", "))]
    Missing {
        /// The keys.
        names: Vec<String>,
    },
}

/// The arguments. A key that is given several times, or whose schema is a list, becomes one; `a.b=c` is a field of the
/// object `a`, unless there is a key of that name.
pub fn arguments(words: &[String], schema: &Json) -> Result<Map<String, Value>, Coercion> {
    let root = schema.value();
    let mut given: Vec<(Field<'_>, &str, Vec<&str>)> = Vec::new();
    for word in words {
        let (key, text) = word.split_once('=').ok_or_else(|| Coercion::NoValue { word: word.clone() })?;
        match given.iter_mut().find(|(_, other, _)| *other == key) {
            Some((_, _, texts)) => texts.push(text),
            None => given.push((field(&root, &leaves(&root, &root, 0), key), key, vec![text])),
        }
    }
    let mut arguments = Map::new();
    for (field, key, texts) in given {
        let value = read(&root, key, &texts, &field.leaves)?;
        put(&mut arguments, &field.path, value).ok_or_else(|| Coercion::Twice { key: key.to_owned() })?;
    }
    Ok(arguments)
}

/// Refuses what would certainly fail: names the tool does not know, and what it needs and does not get.
pub fn complete(arguments: &Map<String, Value>, schema: &Json) -> Result<(), Coercion> {
    let schema = schema.value();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<_> = required.filter(|name| !arguments.contains_key(*name)).map(str::to_owned).collect();
    // Where the call fails anyway, a key that is not listed is probably the reason.
    let is_refused = match others(&schema) {
        Others::Refused => true,
        Others::Unsaid => !missing.is_empty(),
        Others::Taken => false,
    };
    let unknown = if is_refused { unknown(arguments, &schema) } else { Vec::new() };
    if unknown.is_empty() {
        return if missing.is_empty() { Ok(()) } else { Err(Coercion::Missing { names: missing }) };
    }
    let mut near = Vec::new();
    for meant in unknown.iter().filter_map(|key| meant(key, arguments, &missing, &schema)) {
        if !near.contains(&meant) {
            near.push(meant);
        }
    }
    let keys = unknown.iter().take(MOST_NAMED).map(|key| excerpt(key, 60)).collect();
    Err(Coercion::Unknown { keys, near, missing })
}

/// Keys the tool neither lists nor refuses, each with the one that is probably meant. They are sent all the same, and may
/// have no effect.
pub fn unlisted(arguments: &Map<String, Value>, schema: &Json) -> Vec<(String, Option<String>)> {
    let schema = schema.value();
    if others(&schema) != Others::Unsaid {
        return Vec::new();
    }
    let unknown = unknown(arguments, &schema).into_iter().take(MOST_NAMED);
    unknown.map(|key| (excerpt(key, 60), meant(key, arguments, &[], &schema))).collect()
}

/// What a schema says of keys it does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    Taken,
    Refused,
    Unsaid,
}

fn others(schema: &Value) -> Others {
    let says = |word: &str| schema.get(word).is_some();
    let lists_something = || schema["properties"].as_object().is_some_and(|fields| !fields.is_empty());
    match schema.get("additionalProperties") {
        _ if says("patternProperties") => Others::Taken,
        Some(Value::Bool(false)) => Others::Refused,
        // A tool that lists nothing may take anything.
        None if lists_something() && !ELSEWHERE.iter().any(|word| says(word)) => Others::Unsaid,
        _ => Others::Taken,
    }
}

/// The keys that are not listed.
fn unknown<'a>(arguments: &'a Map<String, Value>, schema: &Value) -> Vec<&'a str> {
    let is_listed = |key: &str| schema["properties"].get(key).is_some();
    arguments.keys().map(String::as_str).filter(|key| !is_listed(key)).collect()
}

/// The key that is probably meant: rather one that is missing, and never one that is given as well.
fn meant(key: &str, arguments: &Map<String, Value>, missing: &[String], schema: &Value) -> Option<String> {
    let listed = schema["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str);
    let open: Vec<&str> = listed.filter(|name| !arguments.contains_key(*name)).collect();
    let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
    nearest(key, missing.iter().copied())
        .or_else(|| nearest(key, open.iter().copied()))
        .or_else(|| short_for(key, missing.iter().copied()))
        .or_else(|| short_for(key, open.iter().copied()))
        .map(|name| excerpt(name, 60))
}

/// All that is wrong with the keys in one go: who mends one thing should not be told of the next.
fn not_taken(keys: &[String], near: &[String], missing: &[String]) -> String {
    let quoted = |names: &[String], between: &str| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(between)
    };
    let what = if keys.len() == 1 { "there is no argument" } else { "there are no arguments" };
    let mut text = format!("{what} {}", quoted(keys, ", "));
    if !near.is_empty() {
        text.push_str(&format!("; did you mean {}?", quoted(near, " and ")));
    }
    if !missing.is_empty() {
        let needs = if near.is_empty() { "; it also needs" } else { " It needs" };
        text.push_str(&format!("{needs} {}", missing.join(", ")));
    }
    text
}

/// What a tool takes, as one would type it: `a=number [unit=celsius|fahrenheit]`. Nothing if it takes nothing.
pub fn usage(schema: &Json) -> Option<String> {
    let root = schema.value();
    let fields = root["properties"].as_object().filter(|fields| !fields.is_empty())?;
    let required: Vec<&str> =
        root["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (first, rest): (Vec<_>, Vec<_>) =
        fields.iter().partition(|(name, _)| required.contains(&name.as_str()));
    let n_first = first.len();
    let mut words: Vec<String> = first
        .into_iter()
        .chain(rest)
        .take(MOST_NAMED)
        .enumerate()
        .map(|(index, (name, field))| {
            let word = format!("{}={}", excerpt(name, 60), takes(&leaves(&root, field, 0)));
            if index < n_first { word } else { format!("[{word}]") }
        })
        .collect();
    if fields.len() > MOST_NAMED {
        words.push("...".to_owned());
    }
    Some(words.join(" "))
}

fn takes(leaves: &[&Value]) -> String {
    let options: Vec<_> = leaves.iter().flat_map(|leaf| options(leaf)).map(plain).collect();
    let mut words = if options.len() <= MOST_NAMED { options } else { Vec::new() };
    words.extend(types(leaves).into_iter().map(str::to_owned));
    if words.is_empty() { "value".to_owned() } else { excerpt(&words.join("|"), 80) }
}

/// Where a value goes, and what it may be.
struct Field<'a> {
    path: Vec<String>,
    leaves: Vec<&'a Value>,
}

fn field<'a>(root: &'a Value, holders: &[&'a Value], key: &str) -> Field<'a> {
    let declared = |key: &str| -> Option<Vec<&'a Value>> {
        let field = holders.iter().find_map(|holder| holder.get("properties")?.get(key))?;
        Some(leaves(root, field, 0))
    };
    if let Some(leaves) = declared(key) {
        return Field { path: vec![key.to_owned()], leaves };
    }
    if let Some((head, rest)) = key.split_once('.')
        && !rest.is_empty()
        && let Some(objects) = declared(head)
        && objects.iter().any(|leaf| kinds(leaf).contains(&"object"))
    {
        let mut inner = field(root, &objects, rest);
        inner.path.insert(0, head.to_owned());
        return inner;
    }
    let others = holders.iter().filter_map(|holder| holder.get("additionalProperties"));
    Field { path: vec![key.to_owned()], leaves: others.flat_map(|other| leaves(root, other, 0)).collect() }
}

/// Puts a value into objects inside each other; nothing if something else is in its place.
fn put(fields: &mut Map<String, Value>, path: &[String], value: Value) -> Option<()> {
    match path {
        [] => None,
        [last] if fields.contains_key(last) => None,
        [last] => {
            fields.insert(last.clone(), value);
            Some(())
        }
        [first, rest @ ..] => {
            let inner = fields.entry(first).or_insert_with(|| Value::Object(Map::new()));
            put(inner.as_object_mut()?, rest, value)
        }
    }
}

/// The schemas a schema stands for: what it refers to, and each of those it could be.
fn leaves<'a>(root: &'a Value, schema: &'a Value, depth: usize) -> Vec<&'a Value> {
    if depth > DEEPEST {
        return Vec::new();
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map(|target| leaves(root, target, depth + 1)).unwrap_or_default();
    }
    let says = |name: &str| schema.get(name).is_some();
    if ["type", "enum", "const", "properties", "items"].into_iter().any(says) {
        return vec![schema];
    }
    ["anyOf", "oneOf", "allOf"]
        .iter()
        .filter_map(|word| schema.get(*word)?.as_array())
        .flatten()
        .flat_map(|part| leaves(root, part, depth + 1))
        .collect()
}

fn kinds(leaf: &Value) -> Vec<&str> {
    match leaf.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ if leaf.get("properties").is_some() => vec!["object"],
        _ if leaf.get("items").is_some() => vec!["array"],
        _ => Vec::new(),
    }
}

/// The values a schema lists, if it does.
fn options(leaf: &Value) -> Vec<&Value> {
    leaf.get("const")
        .into_iter()
        .chain(leaf.get("enum").and_then(Value::as_array).into_iter().flatten())
        .collect()
}

/// The types of those that list no values, each once.
fn types<'a>(leaves: &[&'a Value]) -> Vec<&'a str> {
    let mut types = Vec::new();
    for kind in leaves.iter().filter(|leaf| options(leaf).is_empty()).flat_map(|leaf| kinds(leaf)) {
        if !types.contains(&kind) {
            types.push(kind);
        }
    }
    types
}

/// What was typed under one key.
fn read(root: &Value, key: &str, texts: &[&str], leaves: &[&Value]) -> Result<Value, Coercion> {
    match texts {
        [text] => one(root, key, text, leaves),
        several if leaves.is_empty() => Ok(several.iter().map(|text| free(text)).collect()),
        several => {
            let Some(items) = items(root, leaves) else {
                return Err(Coercion::Twice { key: key.to_owned() });
            };
            several.iter().map(|text| one(root, key, text, &items)).collect()
        }
    }
}

/// What the items of a list may be, if it may be one.
fn items<'a>(root: &'a Value, schemas: &[&'a Value]) -> Option<Vec<&'a Value>> {
    let mut lists = schemas.iter().filter(|leaf| kinds(leaf).contains(&"array")).peekable();
    lists.peek()?;
    Some(lists.filter_map(|list| list.get("items")).flat_map(|items| leaves(root, items, 0)).collect())
}

fn one(root: &Value, key: &str, text: &str, leaves: &[&Value]) -> Result<Value, Coercion> {
    let listed: Vec<&Value> = leaves.iter().flat_map(|leaf| options(leaf)).collect();
    if let Some(option) = listed.iter().find(|option| plain(option) == text) {
        return Ok((*option).clone());
    }
    let types = types(leaves);
    if types.is_empty() && listed.is_empty() {
        return Ok(free(text));
    }
    // A text fits everywhere, so the other types get their chance first.
    for kind in types.iter().filter(|kind| **kind != "string") {
        if let Some(value) = typed(key, text, kind)? {
            return Ok(value);
        }
    }
    if types.contains(&"string") {
        return Ok(Value::from(text));
    }
    if let Some(items) = items(root, leaves) {
        return Ok(Value::Array(vec![one(root, key, text, &items)?]));
    }
    let key = key.to_owned();
    Err(if types.is_empty() {
        let named: Vec<_> = listed.iter().take(MOST_NAMED).map(|option| plain(option)).collect();
        let more = if listed.len() > MOST_NAMED { ", ..." } else { "" };
        Coercion::NoOption { key, options: format!("{}{more}", excerpt(&named.join(", "), 200)) }
    } else {
        Coercion::Wrong { key, wanted: types.join(" or ") }
    })
}

/// The text as a value of a type, if it is one.
fn typed(key: &str, text: &str, kind: &str) -> Result<Option<Value>, Coercion> {
    let parsed = || serde_json::from_str::<Value>(text).ok();
    Ok(match kind {
        "integer" => number(key, text)?.and_then(whole).map(Value::Number),
        "number" => number(key, text)?.map(Value::Number),
        "boolean" => text.parse::<bool>().ok().map(Value::from),
        "null" => (text == "null").then_some(Value::Null),
        "object" => parsed().filter(Value::is_object),
        "array" => parsed().filter(Value::is_array),
        _ => None,
    })
}

/// A number that is written, unless it would become another one.
fn number(key: &str, text: &str) -> Result<Option<Number>, Coercion> {
    let signed = text.parse::<i64>().ok().map(Number::from);
    if let Some(number) = signed.or_else(|| text.parse::<u64>().ok().map(Number::from)) {
        return Ok(Some(number));
    }
    let digits = text.trim_start_matches(['+', '-']);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Coercion::Inexact { key: key.to_owned() });
    }
    Ok(text.parse::<f64>().ok().and_then(Number::from_f64))
}

/// The number as a whole one, also when it is written as `5.0`.
fn whole(number: Number) -> Option<Number> {
    /// Up to here every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !number.is_f64() {
        return Some(number);
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT)?;
    format!("{float:.0}").parse::<i64>().ok().map(Number::from)
}

/// Where the schema says nothing, JSON is read as JSON and everything else is text; so is a number that would be
/// written in another way.
fn free(text: &str) -> Value {
    let read = serde_json::from_str::<Value>(text).ok().filter(|value| match value {
        Value::String(_) => false,
        Value::Number(number) => number.to_string() == text,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => true,
    });
    read.unwrap_or_else(|| Value::from(text))
}

/// A value as one types it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
