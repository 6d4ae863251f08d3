//! Every kind of content, and what a model is shown of it.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Shaped, indented, shape};
use crate::json::Json;
use crate::offer::CallResult;

/// A picture of one pixel.
const GIF: &str = "R0lGODlhAQABAAAAACw=";

fn shaped(result: &Value) -> Shaped {
    shape(&CallResult::read(&result.clone().into()))
}

fn text(result: &Value) -> String {
    shaped(result).text
}

#[test]
fn every_kind_is_shown_in_order_and_kept() {
    let blocks = [
        (json!({"type": "text", "text": "one", "annotations": {"audience": ["user"]}}), "one"),
        (json!({"type": "image", "mimeType": "image/gif", "data": GIF}), "[Image: image/gif]"),
        (json!({"type": "image", "mimeType": "image/png", "data": GIF}), "[Image: image/gif]"),
        (
            json!({"type": "image", "mimeType": "image/png", "data": "?"}),
            "[Image: image/png] (its data cannot be read)",
        ),
        (json!({"type": "image"}), "[Image: unknown type] (its data cannot be read)"),
        (json!({"type": "audio", "mimeType": "audio/wav", "data": "BBBB"}), "[Audio: audio/wav]"),
        (json!({"type": "resource_link", "uri": "file:///a"}), "[Resource: file:///a]"),
        (json!({"type": "resource_link", "uri": "a:b", "name": "n", "title": "T"}), "[Resource: a:b] (T)"),
        (
            json!({"type": "resource", "resource": {"uri": "b:c", "text": "inside"}}),
            "[Resource: b:c]\ninside",
        ),
        (
            json!({"type": "resource", "resource": {"uri": "d:e", "blob": "AAAAAA==", "mimeType": "x/y"}}),
            "[Resource: d:e] (x/y, 4 bytes)",
        ),
        (
            json!({"type": "resource", "resource": {"uri": "p:q", "blob": GIF, "mimeType": "image/gif"}}),
            "[Resource: p:q] (image/gif, 14 bytes)",
        ),
        (
            json!({"type": "resource", "resource": {"uri": "p:q", "blob": "!"}}),
            "[Resource: p:q] (unknown type, its data cannot be read)",
        ),
        (json!({"type": "resource", "resource": {"uri": "p:q"}}), "[Resource: p:q]"),
        (json!({"type": "resource"}), r#"[resource: {"type":"resource"}]"#),
        (json!({"type": "hologram", "beam": 1}), r#"[hologram: {"type":"hologram","beam":1}]"#),
        (json!({"type": "text", "text": 5}), r#"[text: {"type":"text","text":5}]"#),
        (json!({"text": "no kind"}), "no kind"),
        (json!("bare"), "bare"),
        (json!(7), "7"),
        (json!({"beam": 1}), r#"{"beam":1}"#),
        (json!({"type": "text", "text": "two"}), "two"),
    ];
    let content: Vec<_> = blocks.iter().map(|(block, _)| block.clone()).collect();
    let all = shaped(&json!({"content": content}));
    let expected: Vec<_> = blocks.iter().map(|(_, line)| *line).collect();
    assert_eq!(all.text, expected.join("\n\n"));
    assert_eq!((all.images.len(), all.sounds.len()), (3, 1));
    assert!(all.images.iter().all(|image| image.mime_type == "image/gif" && image.data == GIF));
}

#[test]
fn structured_content_is_shown_unless_the_text_says_it() {
    let said = |texts: &[&str], structured: Value| {
        let content: Vec<_> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        !text(&json!({"content": content, "structuredContent": structured})).contains("```json")
    };
    assert!(said(&[r#"{"a": 1}"#], json!({"a": 1})));
    assert!(said(&["words", r#"{"b":[1,2],"a":1}"#], json!({"a": 1, "b": [1, 2]})));
    assert!(said(&["five"], json!({"result": "five"})));
    assert!(said(&["5"], json!({"result": 5})));
    assert!(said(&["[1,2]"], json!({"result": [1, 2]})));
    assert!(said(&["a", "b"], json!({"result": ["a", "b"]})));
    assert!(said(&[r#"{"n":1}"#, r#"{"n":2}"#], json!({"result": [{"n": 1}, {"n": 2}]})));
    assert!(said(&["done"], Value::Null));
    assert!(!said(&["five"], json!({"a": 1})));
    assert!(!said(&["a"], json!({"result": ["a", "b"]})));
    assert!(!said(&["5"], json!({"result": 5, "more": 1})));
    assert!(!said(&["five"], json!({})));
    assert!(!said(&[], json!({"a": 1})));
    let alone = text(&json!({"structuredContent": {"a": [1, {}], "b": []}}));
    assert_eq!(alone, "```json\n{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}\n```");
    let picture = json!({"type": "image", "mimeType": "image/gif", "data": GIF});
    let both = shaped(&json!({"content": [picture], "structuredContent": {"a": 1}}));
    assert!(both.images.len() == 1 && both.text.starts_with("[Image: image/gif]\n\n```json"));
}

#[test]
fn numbers_no_reader_can_hold_and_depths_none_can_reach_stay_as_they_came() {
    let result = r#"{"content":[],"structuredContent":{"id":123456789012345678901234567890,"x":1.10}}"#;
    let shown = shape(&CallResult::read(&Json::from_text(result).unwrap())).text;
    assert!(shown.contains("\"id\": 123456789012345678901234567890") && shown.contains("1.10"), "{shown}");
    let deep = format!(r#"{{"structuredContent":{}7{}}}"#, "[".repeat(200), "]".repeat(200));
    let shown = shape(&CallResult::read(&Json::from_text(deep).unwrap())).text;
    assert!(shown.contains('7') && shown.matches('[').count() == 200, "{shown}");
}

#[test]
fn failures_say_so_and_nothing_is_nothing() {
    let failed = |words: &str| text(&json!({"content": [{"type": "text", "text": words}], "isError": true}));
    assert_eq!(failed("no"), "Error: no");
    assert_eq!(failed("Error: no"), "Error: no");
    assert_eq!(failed(""), "Error: the tool failed and did not say why");
    assert_eq!(text(&json!({"isError": true})), "Error: the tool failed and did not say why");
    assert_eq!(text(&json!({"content": []})), "");
    assert_eq!(text(&json!({})), "");
    assert_eq!(text(&json!({"content": [], "_meta": {"a": 1}})), "");
    assert!(CallResult::read(&json!({"_meta": {"a": 1}}).into()).meta.is_some());
}

#[test]
fn a_large_picture_is_a_line_and_stays_whole() {
    let data = "QUFB".repeat(1024 * 1024);
    let large = shaped(&json!({"content": [{"type": "image", "mimeType": "image/x", "data": data}]}));
    assert_eq!(large.text, "[Image: image/x]");
    assert_eq!(large.images[0].data, data);
}

fn json_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["text", "image", "resource", "\\\"", "a:b"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 30, 4, |inner| {
        let key = prop::sample::select(vec![
            "type",
            "text",
            "data",
            "mimeType",
            "resource",
            "uri",
            "blob",
            "content",
            "structuredContent",
            "isError",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..5).prop_map(|fields| json!(fields)),
        ]
    })
}

proptest! {
    #[test]
    fn indenting_changes_nothing_but_spaces(value in json_values()) {
        prop_assert_eq!(indented(&value.to_string()), serde_json::to_string_pretty(&value).unwrap());
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(indented(&pretty), pretty);
    }

    #[test]
    fn any_result_can_be_shown(value in json_values()) {
        let shaped = shaped(&value);
        prop_assert!(value["isError"] != true || shaped.text.starts_with("Error: "));
    }
}
