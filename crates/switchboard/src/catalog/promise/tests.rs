//! Promises kept, broken and impossible to check; and schemas made to do harm.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Promise, Verdict};
use crate::json::Json;

fn check(schema: &Value, value: &Value) -> Verdict {
    Promise::new(schema.clone().into()).check(&value.clone().into())
}

fn is_unclear(verdict: &Verdict, why: &str) -> bool {
    matches!(verdict, Verdict::Unclear { reason } if reason.contains(why))
}

#[test]
fn a_value_is_what_was_promised_or_it_is_said_where_it_is_not() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 2},
            "days": {"type": "array", "items": {"$ref": "#/$defs/day"}},
            "unit": {"enum": ["c", "f"]},
            "mail": {"type": "string", "pattern": "^(?!\\.)[a-z.]+@[a-z]+$"},
        },
        "required": ["city"],
        "additionalProperties": false,
        "$defs": {"day": {"type": "object", "properties": {"t": {"type": "number"}}, "required": ["t"]}},
    });
    let promise = Promise::new(schema.into());
    let kept = [
        json!({"city": "Oslo"}),
        json!({"city": "Oslo", "days": [{"t": 1}, {"t": 2.5}], "unit": "c", "mail": "a@b"}),
        json!({"city": "Oslo", "days": []}),
    ];
    for value in kept {
        assert_eq!(promise.check(&value.clone().into()), Verdict::Kept, "{value}");
    }
    let broken = [
        (json!({}), "", "required property"),
        (json!({"city": "O"}), "/city", "shorter than 2"),
        (json!({"city": 5}), "/city", "type \"string\""),
        (json!({"city": "Oslo", "days": [{"t": 1}, {"t": "x"}]}), "/days/1/t", "type \"number\""),
        (json!({"city": "Oslo", "unit": "k"}), "/unit", "is not one of"),
        (json!({"city": "Oslo", "mail": ".@b"}), "/mail", "does not match"),
        (json!({"city": "Oslo", "more": 1}), "", "'more' was unexpected"),
        (json!([]), "", "type \"object\""),
        (json!(null), "", "type \"object\""),
    ];
    for (value, place, why) in broken {
        let Verdict::Broken { at, what } = promise.check(&value.clone().into()) else { panic!("{value}") };
        assert!(at == place && what.contains(why), "{value}: {at}: {what}");
    }
}

#[test]
fn no_message_repeats_a_long_value_or_what_cannot_be_seen() {
    let long = json!("x".repeat(100_000));
    let Verdict::Broken { what, .. } = check(&json!({"type": "number"}), &long) else { panic!() };
    assert_eq!(what, "the value is not of type \"number\"");
    let odd = json!({"\u{1b}[31m": 1, "y".repeat(10_000): 2});
    let Verdict::Broken { what, .. } =
        check(&json!({"properties": {"z": {}}, "additionalProperties": false}), &odd)
    else {
        panic!()
    };
    assert!(what.contains("\\u{1b}") && what.chars().count() <= 201, "{what}");
}

#[test]
fn formats_and_unknown_words_are_no_promise() {
    for schema in [
        json!({"format": "email"}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "format": "date"}),
        json!({"x-note": {"type": "number"}, "contentEncoding": "base64"}),
        json!({"$id": "https://example.com/weather.json", "$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}),
        json!({"$ref": "#/$defs/a%20b~1c", "$defs": {"a b/c": {"type": "string"}}}),
    ] {
        assert_eq!(check(&schema, &json!("no")), Verdict::Kept, "{schema}");
    }
}

/// Definitions that each refer to the next.
fn row(n: usize, each: impl Fn(Value) -> Value) -> Value {
    let next = |index: usize| json!({"$ref": format!("#/$defs/d{index}")});
    let mut defs: Map<String, Value> =
        (0..n).map(|index| (format!("d{index}"), each(next(index + 1)))).collect();
    defs.insert(format!("d{n}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/d0", "$defs": defs})
}

#[test]
fn a_schema_made_to_do_harm_costs_only_a_note() {
    let twice = |next: Value| json!({"allOf": [next, next]});
    let rest = |next: Value| json!({"anyOf": [next, next], "unevaluatedProperties": next});
    let patterns: Vec<_> = (0..101).map(|n| json!({"pattern": format!("^[a-z]{{{n}}}[0-9]x$")})).collect();
    for (schema, why) in [
        (row(32, twice), "too much work"),
        (row(3000, twice), "parts"),
        (row(3000, |next| next), "inside each other"),
        (row(30, rest), "unevaluated"),
        (json!({"$ref": "#"}), "inside each other"),
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}), "inside each other"),
        (json!({"$ref": "https://example.com/schema.json"}), "not fetched"),
        (json!({"$ref": "file:///etc/passwd"}), "not fetched"),
        (json!({"$schema": "https://example.com/meta"}), "cannot be used"),
        (json!({"$ref": "#/$defs/none"}), "cannot be used"),
        (json!({"$dynamicRef": "#a", "$defs": {"a": {"$dynamicAnchor": "a"}}}), "`$dynamicRef`"),
        (json!({"anyOf": [{"$id": "https://example.com/b", "type": "string"}]}), "`$id` inside"),
        (json!({"type": "nothing"}), "cannot be used"),
        (json!({"pattern": "((a{0,1000}){0,1000}){0,1000}"}), "cannot be used"),
        (json!({"pattern": "("}), "cannot be used"),
        (json!({"allOf": patterns}), "more than 100 patterns"),
        (json!({"pattern": "a".repeat(40_000)}), "more than 100 patterns or 32768 bytes"),
        (json!({"enum": vec![1; 10_001]}), "parts"),
    ] {
        let verdict = check(&schema, &json!("x"));
        assert!(is_unclear(&verdict, why), "{why}: {verdict:?}");
    }
}

#[test]
fn a_value_made_to_do_harm_costs_only_a_note() {
    // Two ways at each level, and as many levels as the value has.
    let both =
        json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}, "not": {"type": "number"}});
    let deep = (0..25).fold(json!(1), |inner, _| json!({"a": inner}));
    assert!(is_unclear(&check(&both, &deep), "too much work"));
    let slow = json!({"pattern": "^((?=a)a|a)*$"});
    let verdict = check(&slow, &json!("a".repeat(60) + "!"));
    assert!(is_unclear(&verdict, "pattern"), "{verdict:?}");
    let many: Vec<_> = (0..5000).map(|n| "a".repeat(30 + n % 30) + "!").collect();
    assert!(is_unclear(&check(&json!({"items": slow}), &json!(many)), "too much work"));
    let too_deep = Json::from_text("[".repeat(200) + &"]".repeat(200)).unwrap();
    assert!(is_unclear(&Promise::new(json!({}).into()).check(&too_deep), "nests deeper"));
    // A long list is no harm.
    let long: Vec<_> = (0..20_000).map(|n| json!({"name": n.to_string()})).collect();
    let named = json!({"items": {"properties": {"name": {"type": "string"}}, "required": ["name"]}});
    assert_eq!(check(&named, &json!(long)), Verdict::Kept);
}

#[test]
fn as_many_costly_patterns_as_there_may_be_cost_little() {
    let costly = |n: usize| json!({"pattern": format!("^[\\p{{L}}_]{{0,{}}}$", n % 7 + 5)});
    let patterns: Vec<_> = (0..100).map(costly).collect();
    assert_eq!(check(&json!({"allOf": patterns}), &json!("x")), Verdict::Kept);
}

#[test]
fn the_deepest_way_that_is_gone_fits_on_the_stack() {
    for word in ["allOf", "anyOf", "oneOf"] {
        let deep = row(33, |next| json!({word: [next]}));
        assert_eq!(check(&deep, &json!("x")), Verdict::Kept, "{word}");
    }
    let deep = (0..60).fold(json!("x"), |inner, _| json!([inner]));
    let recursive = json!({"items": {"$ref": "#"}});
    assert_eq!(check(&recursive, &deep["no"].clone()), Verdict::Kept);
    assert!(matches!(check(&recursive, &deep), Verdict::Kept | Verdict::Unclear { .. }));
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "", "type", "$ref", "é"])
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 30, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}

/// Schemas of all words that lead somewhere, sensibly used or not.
fn schemas() -> impl Strategy<Value = Value> {
    let reference = prop::sample::select(vec![
        "#",
        "#/$defs/a",
        "#/$defs/b",
        "#/$defs/c",
        "#/properties/a",
        "#a",
        "",
        "https://example.com/",
        "#/%zz",
    ]);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec!["object", "array", "string", "number", "null"])
            .prop_map(|kind| json!({"type": kind})),
        reference.prop_map(|reference| json!({"$ref": reference})),
        values().prop_map(|value| json!({"const": value})),
        prop::sample::select(vec!["^a", "(?!a)b", "(a|b)*\\1", "\\p{L}+", "["])
            .prop_map(|text| json!({"pattern": text})),
        values(),
    ];
    let keyword = prop::sample::select(vec![
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "properties",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "dependentSchemas",
        "dependencies",
        "items",
        "prefixItems",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "uniqueItems",
        "enum",
        "$defs",
        "required",
        "minItems",
        "multipleOf",
        "$id",
        "$anchor",
        "$schema",
        "$dynamicRef",
    ]);
    leaf.prop_recursive(5, 60, 4, move |inner| {
        let part = prop_oneof![
            3 => inner.clone(),
            2 => prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            3 => prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), inner, 0..3)
                .prop_map(|parts| json!(parts)),
        ];
        prop::collection::btree_map(keyword.clone(), part, 0..4).prop_map(|schema| json!(schema))
    })
}

proptest! {
    #[test]
    fn any_schema_and_any_value_come_to_an_end(schema in schemas(), value in values()) {
        let promise = Promise::new(schema.into());
        let value = Json::from(value);
        let verdict = promise.check(&value);
        prop_assert_eq!(promise.check(&value), verdict);
    }
}
