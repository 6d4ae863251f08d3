//! What is typed, and what becomes of it.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Coercion, arguments, complete, unlisted, usage};
use crate::json::Json;

fn schema() -> Json {
    json!({
        "properties": {
            "s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
            "o": {"type": "object", "properties": {"x": {"type": "integer"}, "deep": {"properties": {"y": {"type": "string"}}}},
                  "additionalProperties": {"type": "string"}},
            "l": {"type": "array", "items": {"type": "integer"}},
            "u": {"type": ["integer", "string"]}, "z": {"type": ["string", "null"]},
            "p": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
            "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            "r": {"$ref": "#/$defs/Count"}, "all": {"allOf": [{"$ref": "#/$defs/Count"}], "description": "d"},
            "e": {"enum": ["low", "high"]}, "en": {"type": "integer", "enum": [1, 2, 30]}, "c": {"const": true},
            "mixed": {"enum": ["1", 2, null]},
            "oe": {"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]},
            "dotted.name": {"type": "integer"},
            "loop": {"$ref": "#/properties/loop"}, "gone": {"$ref": "https://example.com/"},
        },
        "$defs": {"Count": {"type": "integer"}},
    })
    .into()
}

fn read(words: &[&str]) -> Result<Value, Coercion> {
    let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
    arguments(&words, &schema()).map(Value::Object)
}

#[test]
fn values_become_what_the_schema_wants() {
    for (words, expected) in [
        (&["s=5"][..], json!({"s": "5"})),
        (&["s="], json!({"s": ""})),
        (&["i=5"], json!({"i": 5})),
        (&["i=-5"], json!({"i": -5})),
        (&["i=5.0"], json!({"i": 5})),
        (&["i=1e3"], json!({"i": 1000})),
        (&["i=9223372036854775808"], json!({"i": 9_223_372_036_854_775_808_u64})),
        (&["i=18446744073709551615"], json!({"i": u64::MAX})),
        (&["i=-9223372036854775808"], json!({"i": i64::MIN})),
        (&["n=1.5"], json!({"n": 1.5})),
        (&["n=7"], json!({"n": 7})),
        (&["n=9007199254740993"], json!({"n": 9_007_199_254_740_993_i64})),
        (&["b=true"], json!({"b": true})),
        (&["o={\"a\":1}"], json!({"o": {"a": 1}})),
        (&["l=1", "l=2"], json!({"l": [1, 2]})),
        (&["l=1"], json!({"l": [1]})),
        (&["l=[3,4]"], json!({"l": [3, 4]})),
        (&["l=[]"], json!({"l": []})),
        (&["u=x"], json!({"u": "x"})),
        (&["u=5"], json!({"u": 5})),
        (&["z=null"], json!({"z": null})),
        (&["p=123"], json!({"p": "123"})),
        (&["tags=5", "tags=true"], json!({"tags": ["5", "true"]})),
        (&["tags=5"], json!({"tags": ["5"]})),
        (&["tags=[draft]"], json!({"tags": ["[draft]"]})),
        (&["tags=null"], json!({"tags": null})),
        (&["either=a"], json!({"either": "a"})),
        (&["either=a", "either=b"], json!({"either": ["a", "b"]})),
        (&["either=[\"a\"]"], json!({"either": ["a"]})),
        (&["r=5", "all=6"], json!({"r": 5, "all": 6})),
        (&["e=low"], json!({"e": "low"})),
        (&["en=30"], json!({"en": 30})),
        (&["c=true"], json!({"c": true})),
        (&["mixed=1"], json!({"mixed": "1"})),
        (&["mixed=2"], json!({"mixed": 2})),
        (&["mixed=null"], json!({"mixed": null})),
        (&["oe=auto"], json!({"oe": "auto"})),
        (&["oe=5"], json!({"oe": 5})),
        (&["o.x=5", "o.deep.y=6", "o.free=7"], json!({"o": {"x": 5, "deep": {"y": "6"}, "free": "7"}})),
        (&["o={\"a\":1}", "o.x=2"], json!({"o": {"a": 1, "x": 2}})),
        (&["dotted.name=5"], json!({"dotted.name": 5})),
        (&["s.x=5"], json!({"s.x": 5})),
        (
            &["free=[1]", "t=a=b", "word=hi", "yes=true", "none=null"],
            json!({"free": [1], "t": "a=b", "word": "hi", "yes": true, "none": null}),
        ),
        (
            &["free=5", "version=1.10", "big=123456789012345678901", "x=1e3", "q=\"q\""],
            json!({"free": 5, "version": "1.10", "big": "123456789012345678901", "x": "1e3", "q": "\"q\""}),
        ),
        (&["free=1", "free=b"], json!({"free": [1, "b"]})),
        (&["loop=1", "gone=x"], json!({"loop": 1, "gone": "x"})),
        (&[], json!({})),
    ] {
        assert_eq!(read(words), Ok(expected), "{words:?}");
    }
}

#[test]
fn what_does_not_fit_says_why() {
    for (words, expected) in [
        (&["i=five"][..], "`i` must be of type integer"),
        (&["i=5.5"], "`i` must be of type integer"),
        (&["i="], "`i` must be of type integer"),
        (&["n=nan"], "`n` must be of type number"),
        (&["n=inf"], "`n` must be of type number"),
        (&["b=yes"], "`b` must be of type boolean"),
        (&["o=x"], "`o` must be of type object"),
        (&["o.x=x"], "`o.x` must be of type integer"),
        (&["l=x"], "`l` must be of type integer"),
        (&["r=x"], "`r` must be of type integer"),
        (&["e=middle"], "`e` must be one of low, high"),
        (&["en=3"], "`en` must be one of 1, 2, 30"),
        (&["oe=manual"], "`oe` must be of type integer"),
        (&["i=18446744073709551616"], "`i` has more digits than a number can keep here"),
        (&["n=-9223372036854775809"], "`n` has more digits than a number can keep here"),
        (&["bare"], "`bare` is not key=value"),
        (&["i=1", "i=2"], "`i` is given twice and takes one value"),
        (&["o.x=1", "o={}"], "`o` is given twice and takes one value"),
        (&["o={\"x\":1}", "o.x=2"], "`o.x` is given twice and takes one value"),
    ] {
        assert_eq!(read(words).unwrap_err().to_string(), expected, "{words:?}");
    }
}

#[test]
fn what_would_certainly_fail_is_refused_before_it_is_sent() {
    let strict = |more: Value| -> Json {
        let mut schema = json!({
            "type": "object", "properties": {"city": {}, "unit": {}}, "required": ["city"], "additionalProperties": false});
        schema.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        schema.into()
    };
    let given = |names: &[&str]| -> Map<String, Value> {
        names.iter().map(|name| ((*name).to_owned(), json!(1))).collect()
    };
    let said = |names: &[&str], more: Value| {
        complete(&given(names), &strict(more)).map_err(|error| error.to_string())
    };
    assert_eq!(said(&["city", "unit"], json!({})), Ok(()));
    assert_eq!(said(&[], json!({})), Err("it also needs city".to_owned()));
    assert_eq!(
        said(&["unit"], json!({"required": ["city", "day"]})),
        Err("it also needs city, day".to_owned())
    );
    let near = "there is no argument `citty`; did you mean `city`? It needs city";
    assert_eq!(said(&["citty"], json!({})), Err(near.to_owned()));
    // What is given already is not what was meant.
    let given_both = "there is no argument `citty`";
    assert_eq!(said(&["city", "citty"], json!({})), Err(given_both.to_owned()));
    assert_eq!(said(&["city", "elsewhere"], json!({})), Err("there is no argument `elsewhere`".to_owned()));
    for open in [
        json!({"additionalProperties": true}),
        json!({"additionalProperties": {}}),
        json!({"patternProperties": {"^x": {}}}),
    ] {
        assert_eq!(said(&["city", "elsewhere"], open), Ok(()));
    }
    for odd in
        [json!({}), json!({"required": "city"}), json!({"required": [5], "properties": []}), json!(null)]
    {
        assert_eq!(complete(&given(&[]), &odd.into()), Ok(()));
    }
}

#[test]
fn a_key_that_is_not_listed_is_named_with_what_is_missing() {
    let silent = |more: Value| -> Json {
        let mut schema = json!({"properties": {"timezone": {}, "format": {}}, "required": ["timezone"]});
        schema.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        schema.into()
    };
    let given = |names: &[&str]| -> Map<String, Value> {
        names.iter().map(|name| ((*name).to_owned(), json!(1))).collect()
    };
    let said =
        |names: &[&str]| complete(&given(names), &silent(json!({}))).map_err(|error| error.to_string());
    for (names, expected) in [
        (&["tz"][..], "there is no argument `tz`; did you mean `timezone`? It needs timezone"),
        (&["where"], "there is no argument `where`; it also needs timezone"),
        (
            &["tz", "where"],
            "there are no arguments `tz`, `where`; did you mean `timezone`? It needs timezone",
        ),
        (
            &["fromat", "tz"],
            "there are no arguments `fromat`, `tz`; did you mean `format` and `timezone`? It needs timezone",
        ),
        (&["format"], "it also needs timezone"),
    ] {
        assert_eq!(said(names), Err(expected.to_owned()), "{names:?}");
    }
    // With nothing missing it may be right: it is sent, and named.
    assert_eq!(said(&["timezone", "fromat", "where"]), Ok(()));
    let named = unlisted(&given(&["timezone", "fromat", "where"]), &silent(json!({})));
    assert_eq!(named, [("fromat".to_owned(), Some("format".to_owned())), ("where".to_owned(), None)]);
    for open in [
        json!({"additionalProperties": true}),
        json!({"additionalProperties": {"type": "string"}}),
        json!({"patternProperties": {"^x": {}}}),
        json!({"anyOf": [{"properties": {"where": {}}}]}),
        json!({"properties": {}}),
    ] {
        let schema = silent(open);
        let missing = Coercion::Missing { names: vec!["timezone".to_owned()] };
        assert_eq!(complete(&given(&["where"]), &schema), Err(missing));
        assert!(unlisted(&given(&["timezone", "where"]), &schema).is_empty());
    }
}

#[test]
fn what_a_tool_takes_is_shown_as_one_types_it() {
    let said = |schema: Value| usage(&schema.into());
    let schema = json!({"properties": {
        "note": {"type": "string"}, "unit": {"enum": ["c", "f"]}, "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "any": {}, "city": {"type": "string"}}, "required": ["city", "n"]});
    assert_eq!(said(schema).unwrap(), "n=integer|null city=string [note=string] [unit=c|f] [any=value]");
    assert_eq!(said(json!({"type": "object", "properties": {}})), None);
    let many: Map<String, Value> = (0..40).map(|n| (format!("a{n:02}"), json!({"type": "number"}))).collect();
    let many = said(json!({"properties": many})).unwrap();
    assert!(many.starts_with("[a00=number]") && many.ends_with("[a11=number] ..."), "{many}");
}

proptest! {
    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec("[a-z.]{0,6}(=|==)?[\\[{\"0-9a-z.+-]{0,12}", 0..6)) {
        if let Ok(read) = arguments(&words, &schema()) {
            drop(complete(&read, &schema()));
        }
    }

    #[test]
    fn a_number_never_becomes_another(text in "[+-]?[0-9]{1,30}") {
        if let Ok(read) = arguments(&[format!("n={text}")], &schema()) {
            let sign = if text.starts_with('-') { "-" } else { "" };
            let digits = text.trim_start_matches(['+', '-']).trim_start_matches('0');
            let expected = if digits.is_empty() { "0".to_owned() } else { format!("{sign}{digits}") };
            prop_assert_eq!(read["n"].to_string(), expected);
        }
    }
}
