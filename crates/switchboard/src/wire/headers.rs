//! What of a request is repeated in HTTP headers, so that whoever stands between can route without reading the body.
//!
//! In: names, a tool's input schema, the arguments of a call. Out: header names and values. A schema that asks for a
//! header in a way that cannot be honoured is refused with the reason; over HTTP such a tool is not offered.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use serde_json::{Number, Value};

use crate::json::Json;
use crate::visible::excerpt;

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";
/// The annotation on a property of an input schema.
const ANNOTATION: &str = "x-mcp-header";
/// Nobody nests parameters deeper, except to keep us busy.
const DEEPEST: usize = 32;

/// Keywords whose value is a schema.
const ONE: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas.
const SEVERAL: &[&str] = &["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords whose value is an object of schemas under names of their own.
const NAMED: &[&str] = &["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"];

/// An argument that is repeated in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirror {
    /// The header's name after `Mcp-Param-`.
    pub(crate) name: String,
    /// Where the argument is, property by property.
    pub(crate) path: Vec<String>,
}

/// The text as a header value: as it is where that is safe, else as base64 in a mark.
pub(crate) fn encode(value: &str) -> String {
    let is_visible = value.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let is_padded = value.starts_with(' ') || value.ends_with(' ');
    // A text that looks like the mark would be taken for one.
    let is_marked = value.starts_with(OPEN) && value.ends_with(CLOSE);
    if is_visible && !is_padded && !is_marked {
        return value.to_owned();
    }
    format!("{OPEN}{}{CLOSE}", STANDARD.encode(value))
}

/// The text a header value stands for; nothing when what the mark holds is not base64 of a text.
pub(crate) fn decode(value: &str) -> Option<String> {
    match value.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)) {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// As [`mirrors`], without taking a schema apart that asks for no header, as nearly all do.
pub(crate) fn mirrors_in(schema: &Json) -> Result<Vec<Mirror>, String> {
    let text = schema.as_str().as_bytes();
    // The annotation could also be spelled with escapes.
    let is_mentioned = |word: &str| memmem::find(text, word.as_bytes()).is_some();
    if !is_mentioned(ANNOTATION) && !is_mentioned("\\u") {
        return Ok(Vec::new());
    }
    match schema.parse() {
        Ok(value) => mirrors(&value),
        Err(_) if !is_mentioned(ANNOTATION) => Ok(Vec::new()),
        Err(error) => Err(format!("its input schema cannot be read for `{ANNOTATION}`: {error}")),
    }
}

/// The arguments a tool wants repeated in headers, or why its input schema is not valid in that.
pub(crate) fn mirrors(schema: &Value) -> Result<Vec<Mirror>, String> {
    let mut found: Vec<Mirror> = Vec::new();
    let mut names = BTreeSet::new();
    let mut open = vec![Place { schema, path: Some(Vec::new()) }];
    while let Some(place) = open.pop() {
        if let Some(annotation) = place.schema.get(ANNOTATION) {
            let mirror = place.mirror(annotation)?;
            if !names.insert(mirror.name.to_ascii_lowercase()) {
                return Err(format!("`{ANNOTATION}` has `{}` twice", mirror.name));
            }
            found.push(mirror);
        }
        let start = open.len();
        place.inside(&mut open);
        // The last one is looked at first.
        open[start..].reverse();
    }
    Ok(found)
}

/// The headers of a call. An argument that is absent or `null` has none; an empty one has.
pub(crate) fn param_headers(mirrors: &[Mirror], arguments: &Value) -> Vec<(String, String)> {
    let header = |mirror: &Mirror| {
        let value = mirror.path.iter().try_fold(arguments, |value, key| value.get(key))?;
        let text = match value {
            Value::String(text) => encode(text),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => decimal(number),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((format!("Mcp-Param-{}", mirror.name), text))
    };
    mirrors.iter().filter_map(header).collect()
}

/// The first header of a call that does not repeat its argument as the tool's input schema wants it. `header` gives the
/// value of a header by its name. For whoever is called.
pub fn misquoted(
    schema: &Json,
    arguments: Option<&Json>,
    header: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let mirrors = mirrors_in(schema).unwrap_or_default();
    if mirrors.is_empty() {
        return None;
    }
    let arguments = arguments.map_or(Value::Null, Json::value);
    let wanted = param_headers(&mirrors, &arguments);
    let is_wrong = |name: &String| {
        let value = wanted.iter().find(|(wanted, _)| wanted == name).map(|(_, value)| value);
        match (value, header(name)) {
            (None, None) => false,
            (Some(value), Some(given)) => decode(&given) != decode(value),
            (None, Some(_)) | (Some(_), None) => true,
        }
    };
    mirrors.iter().map(|mirror| format!("Mcp-Param-{}", mirror.name)).find(is_wrong)
}

/// A schema within a schema.
struct Place<'a> {
    schema: &'a Value,
    /// The properties that lead to it; `None` when it takes more than properties to get there.
    path: Option<Vec<&'a str>>,
}

impl<'a> Place<'a> {
    fn mirror(&self, annotation: &Value) -> Result<Mirror, String> {
        let Some(path) = &self.path else {
            return Err(format!("`{ANNOTATION}` stands where properties alone do not lead"));
        };
        let at = excerpt(&path.join("."), 80);
        let Value::String(name) = annotation else {
            return Err(format!("`{ANNOTATION}` of `{at}` is not a string"));
        };
        if name.is_empty() {
            return Err(format!("`{ANNOTATION}` of `{at}` is empty"));
        }
        if !name.bytes().all(is_token) {
            return Err(format!("`{ANNOTATION}` of `{at}` is not a header name: `{}`", excerpt(name, 80)));
        }
        match self.schema.get("type") {
            Some(Value::String(kind)) if matches!(kind.as_str(), "string" | "integer" | "boolean") => {}
            Some(kind) => {
                let kind = excerpt(&kind.to_string(), 80);
                return Err(format!(
                    "`{ANNOTATION}` of `{at}` is on type {kind}; string, integer or boolean can be"
                ));
            }
            None => return Err(format!("`{ANNOTATION}` of `{at}` is on a parameter without a type")),
        }
        Ok(Mirror { name: name.clone(), path: path.iter().map(|key| (*key).to_owned()).collect() })
    }

    /// The schemas in this one, in their order. What is no schema, such as a default, is left alone.
    fn inside(&self, open: &mut Vec<Self>) {
        let Value::Object(keywords) = self.schema else { return };
        for (keyword, value) in keywords {
            let keyword = keyword.as_str();
            match value {
                Value::Object(properties) if keyword == "properties" => {
                    open.extend(
                        properties.iter().map(|(key, schema)| Self { schema, path: self.below(key) }),
                    );
                }
                Value::Object(schemas) if NAMED.contains(&keyword) => {
                    open.extend(schemas.values().map(|schema| Self { schema, path: None }));
                }
                Value::Object(_) if ONE.contains(&keyword) => open.push(Self { schema: value, path: None }),
                Value::Array(schemas) if SEVERAL.contains(&keyword) => {
                    open.extend(schemas.iter().map(|schema| Self { schema, path: None }));
                }
                _ => {}
            }
        }
    }

    fn below(&self, key: &'a str) -> Option<Vec<&'a str>> {
        let path = self.path.as_ref().filter(|path| path.len() < DEEPEST)?;
        Some(path.iter().copied().chain([key]).collect())
    }
}

/// The characters of a header name, RFC 9110 section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// `42.0` is an integer to JSON Schema, and is sent as one.
fn decimal(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => format!("{float:.0}"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_not_plain_is_encoded() {
        let check = |value: &str, sent: &str| {
            assert_eq!(encode(value), sent);
            assert_eq!(decode(sent).as_deref(), Some(value));
        };
        check("us-west1", "us-west1");
        check("us west 1", "us west 1");
        check("", "");
        check("file:///a/b.txt", "file:///a/b.txt");
        check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
        check(" a", "=?base64?IGE=?=");
        check("a ", "=?base64?YSA=?=");
        check("a\nb", "=?base64?YQpi?=");
        check("a\tb", "=?base64?YQli?=");
        check("a\u{7f}", "=?base64?YX8=?=");
        check("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
        // Half a mark is none, and the mark is lower-case.
        check("=?base64?YQ==", "=?base64?YQ==");
        check("=?BASE64?YQ==?=", "=?BASE64?YQ==?=");
        for torn in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?/w==?="] {
            assert_eq!(decode(torn), None, "{torn}");
        }
    }

    #[test]
    fn a_header_has_to_say_what_the_argument_says() {
        let schema = Json::from(json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "shard": {"type": "integer", "x-mcp-header": "Shard"},
        }}));
        let check = |arguments: Value, headers: &[(&str, &str)], wrong: Option<&str>| {
            let header = |name: &str| {
                headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            let arguments = Json::from(arguments);
            assert_eq!(misquoted(&schema, Some(&arguments), header).as_deref(), wrong, "{headers:?}");
        };
        let (region, shard) = (Some("Mcp-Param-Region"), Some("Mcp-Param-Shard"));
        check(json!({}), &[], None);
        check(json!({"region": null}), &[], None);
        check(json!({"region": "eu"}), &[("Mcp-Param-Region", "eu")], None);
        check(json!({"region": "eu"}), &[("Mcp-Param-Region", "=?base64?ZXU=?=")], None);
        check(json!({"region": "eu"}), &[("Mcp-Param-Region", "=?base64?ZXU?=")], region);
        check(json!({"region": "eu"}), &[("Mcp-Param-Region", "us")], region);
        check(json!({"region": "eu"}), &[], region);
        check(json!({}), &[("Mcp-Param-Region", "eu")], region);
        check(json!({"shard": 7}), &[("Mcp-Param-Shard", "7")], None);
        check(json!({"shard": 7}), &[("Mcp-Param-Shard", "8")], shard);
        assert_eq!(misquoted(&schema, None, |_| None), None);
        assert_eq!(misquoted(&Json::from(json!({})), None, |_| Some("x".to_owned())), None);
    }

    fn property(schema: impl Into<Value>) -> Value {
        json!({ "type": "object", "properties": { "a": schema.into() } })
    }

    #[test]
    fn annotations_are_found_at_any_depth_of_properties() {
        let schema = json!({
            "type": "object",
            "properties": {
                "b": { "type": "integer", "x-mcp-header": "Second!" },
                "a": { "type": "object", "properties": {
                    "x-mcp-header": { "type": "boolean", "x-mcp-header": "First" },
                } },
                "plain": { "type": "number", "default": { "x-mcp-header": "data, not a schema" } },
            },
        });
        let mirror = |name: &str, path: &[&str]| Mirror {
            name: name.into(),
            path: path.iter().map(|key| (*key).into()).collect(),
        };
        let expected = Ok(vec![mirror("Second!", &["b"]), mirror("First", &["a", "x-mcp-header"])]);
        assert_eq!(mirrors(&schema), expected);
        assert_eq!(mirrors_in(&Json::from(schema)), expected);
        assert_eq!(mirrors(&json!(true)), Ok(vec![]));
        assert_eq!(mirrors(&json!({ "properties": { "a": true, "b": 1 } })), Ok(vec![]));
    }

    #[test]
    fn a_bad_annotation_is_refused() {
        let check = |schema: Value, reason: &str| {
            let refusal = mirrors(&schema).unwrap_err();
            assert!(refusal.contains(reason), "{refusal}");
            assert_eq!(mirrors_in(&Json::from(schema)), Err(refusal));
        };
        let header = |name: &str| json!({ "type": "string", "x-mcp-header": name });
        check(property(header("")), "is empty");
        for name in ["My Region", "Region:Primary", "Région", "Region\t1", "a\r\nb", "a/b"] {
            check(property(header(name)), "not a header name");
        }
        check(property(json!({ "type": "string", "x-mcp-header": 1 })), "not a string");
        check(property(json!({ "type": "string", "x-mcp-header": null })), "not a string");
        for kind in ["number", "object", "array", "null"] {
            check(property(json!({ "type": kind, "x-mcp-header": "A" })), "is on type");
        }
        check(property(json!({ "type": ["string", "null"], "x-mcp-header": "A" })), "is on type");
        check(property(json!({ "x-mcp-header": "A" })), "without a type");
        check(json!({ "type": "object", "x-mcp-header": "A" }), "is on type");
        for other in ["Field", "FIELD"] {
            check(json!({ "properties": { "a": header("Field"), "b": header(other) } }), "twice");
        }
        for keyword in ONE {
            check(property(json!({ *keyword: header("A") })), "do not lead");
        }
        for keyword in SEVERAL {
            check(json!({ *keyword: [property(header("A"))] }), "do not lead");
        }
        for keyword in NAMED {
            check(json!({ *keyword: { "a": property(header("A")) } }), "do not lead");
        }
    }

    #[test]
    fn depth_costs_nothing() {
        let nested =
            |levels: usize, innermost: Value| (0..levels).fold(innermost, |schema, _| property(schema));
        let header = json!({ "type": "string", "x-mcp-header": "A" });
        assert_eq!(mirrors(&nested(DEEPEST, header.clone())).unwrap()[0].path.len(), DEEPEST);
        assert!(mirrors(&nested(DEEPEST + 1, header)).is_err());
        assert_eq!(mirrors(&nested(100, json!({}))), Ok(vec![]));
        let deep =
            |inner: &str| Json::from_text(format!("{}{inner}{}", "[".repeat(500), "]".repeat(500))).unwrap();
        assert_eq!(mirrors_in(&deep("\"\\u00e9\"")), Ok(vec![]));
        assert!(mirrors_in(&deep("\"x-mcp-header\"")).is_err());
    }

    #[test]
    fn arguments_become_headers() {
        let names = ["text", "empty", "number", "whole", "yes", "null", "list", "absent"];
        let mut mirrors: Vec<_> =
            names.map(|name| Mirror { name: name.into(), path: vec![name.into()] }).into();
        mirrors.push(Mirror { name: "Inner".into(), path: vec!["deep".into(), "er".into()] });
        mirrors.push(Mirror { name: "Lost".into(), path: vec!["text".into(), "er".into()] });
        let arguments = json!({
            "text": " padded ", "empty": "", "number": -42, "whole": 42.0, "yes": true, "null": null, "list": [1],
            "deep": { "er": "here" }, "other": "not asked for",
        });
        let headers = param_headers(&mirrors, &arguments);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            headers,
            [
                ("Mcp-Param-text", "=?base64?IHBhZGRlZCA=?="),
                ("Mcp-Param-empty", ""),
                ("Mcp-Param-number", "-42"),
                ("Mcp-Param-whole", "42"),
                ("Mcp-Param-yes", "true"),
                ("Mcp-Param-Inner", "here"),
            ]
        );
        assert_eq!(param_headers(&mirrors, &Value::Null), []);
    }

    proptest! {
        #[test]
        fn every_text_survives(value in prop_oneof![".*", "=\\?base64\\?.*\\?=", "[ -~\t]*"]) {
            let sent = encode(&value);
            prop_assert!(sent.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            prop_assert_eq!(sent.trim(), &sent);
            prop_assert_eq!(decode(&sent), Some(value));
        }

        #[test]
        fn any_header_value_can_be_decoded_or_refused(value in "(=\\?base64\\?)?[A-Za-z0-9+/=?]*(\\?=)?") {
            if let Some(text) = decode(&value) {
                prop_assert_eq!(decode(&encode(&text)), Some(text));
            }
        }
    }
}
