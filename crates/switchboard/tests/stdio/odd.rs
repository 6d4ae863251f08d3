//! Servers that take the protocol lightly. Each of these cost some client the whole result, the whole list or the
//! whole connection; here it costs what is odd, at most.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard::notice::Notice;
use switchboard::offer::{Kind, TaskSupport};
use switchboard::wire::{CallOptions, Era};

use crate::kit::{args, assert_works, call, on, on_call, open, text};

/// The result of a call to a server that answers so.
async fn result(result: Value) -> switchboard::offer::CallResult {
    let (_script, link) = open(on_call(json!([{"result": result}]))).await;
    call(&link, "echo", json!({"text": "x"})).await.unwrap()
}

#[tokio::test]
async fn content_of_an_unknown_type_is_kept_beside_the_rest() {
    let odd = json!({"type": "hologram", "voxels": [1, 2]});
    let result =
        result(json!({"content": [{"type": "text", "text": "a"}, odd, {"type": "text", "text": "b"}]})).await;
    assert_eq!(result.content.len(), 3);
    assert_eq!(result.content[1].kind, Kind::Unknown("hologram".into()));
    assert_eq!(result.content[1].raw.value(), odd);
    assert_eq!(result.content[2].text.as_deref(), Some("b"));
}

#[tokio::test]
async fn odd_annotations_of_content_cost_nothing() {
    let annotations = json!({"audience": ["system"], "priority": "high"});
    let block = json!({"type": "text", "text": "kept", "annotations": annotations});
    let result = result(json!({"content": [block]})).await;
    assert_eq!(text(&result), "kept");
    assert_eq!(result.content[0].raw.value()["annotations"], annotations);
}

#[tokio::test]
async fn a_resource_link_without_a_name_is_one() {
    let result = result(json!({"content": [{"type": "resource_link", "uri": "file:///a"}]})).await;
    assert_eq!(result.content[0].kind, Kind::ResourceLink);
    assert_eq!(result.content[0].raw.value()["uri"], "file:///a");
}

#[tokio::test]
async fn one_bad_tool_costs_itself_at_most() {
    let good = json!({"name": "good", "inputSchema": {"type": "object"}});
    let tools =
        json!([good, {"name": "none"}, {"name": "null", "inputSchema": null}, {"title": "nameless"}, 5]);
    let (_script, link) = open(json!({"tools": tools})).await;
    let listing = link.tools().await.unwrap();
    let names: Vec<_> = listing.items.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["good", "none", "null"]);
    assert_eq!(listing.odd.iter().map(|odd| odd.index).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(listing.notes.len(), 2, "{:?}", listing.notes);
    assert_eq!(listing.items[1].input_schema.value()["type"], "object");
}

#[tokio::test]
async fn odd_hints_output_schemas_and_icons_are_left_out() {
    let tools = json!([
        {"name": "hint", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "yes"}},
        {"name": "output", "inputSchema": {"type": "object"}, "outputSchema": true},
        {"name": "icons", "inputSchema": {"type": "object"}, "icons": [{"src": "x", "sizes": "any"}]},
        {"name": "text", "inputSchema": {"type": "object"}, "description": 5, "annotations": "none"},
    ]);
    let (_script, link) = open(json!({"tools": tools})).await;
    let listing = link.tools().await.unwrap();
    assert_eq!((listing.items.len(), listing.odd.len()), (4, 0));
    assert!(!listing.items[0].is_read_only());
    assert_eq!(listing.items[1].output_schema, None);
    assert_eq!(listing.items[2].raw.value()["icons"][0]["sizes"], "any");
    assert_eq!(listing.items[3].description, None);
}

#[tokio::test]
async fn odd_cache_hints_are_read_as_far_as_they_go() {
    let listed = json!({
        "tools": [{"name": "a", "inputSchema": {"type": "object"}}], "ttlMs": 5.0, "cacheScope": "galaxy",
    });
    let (_script, link) = open(on("tools/list", json!([{"result": listed}]))).await;
    let listing = link.tools().await.unwrap();
    assert_eq!(listing.items.len(), 1);
    assert_eq!(listing.hint.fresh_for, Some(Duration::from_millis(5)));
    assert!(listing.hint.is_private);
}

#[tokio::test]
async fn a_sloppy_handshake_is_understood() {
    let script = json!({"serverInfo": {"name": "sloppy"}, "capabilities": {"tools": true}});
    let (_script, link) = open(script).await;
    assert_eq!(link.facts().server_info.value(), json!({"name": "sloppy"}));
    assert_eq!(link.tools().await.unwrap().items.len(), 7);
    assert_works(&link).await;
}

#[tokio::test]
async fn a_sloppy_answer_to_the_question_is_understood() {
    for answer in [
        json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}),
        json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": "soon"}),
    ] {
        let script = json!({"era": "modern", "on": {"server/discover": [{"result": answer}]}});
        let (script, link) = open(script).await;
        assert_eq!(link.facts().era, Era::Modern);
        assert_eq!(link.tools().await.unwrap().items.len(), 7);
        assert_eq!(script.methods(), ["server/discover", "tools/list"]);
    }
}

#[tokio::test]
async fn a_result_with_the_keys_of_another_is_what_was_asked_for() {
    let given =
        json!({"content": [{"type": "text", "text": "mine"}], "messages": [], "tools": [], "contents": 1});
    let result = result(given.clone()).await;
    assert_eq!(text(&result), "mine");
    assert_eq!(result.raw.value(), given);
}

#[tokio::test]
async fn a_result_that_is_none_is_still_what_the_tool_gave() {
    for odd in [json!(null), json!([1, 2]), json!("done"), json!({"content": "plain"}), json!({"ok": true})] {
        let result = result(odd.clone()).await;
        assert!(!result.is_error);
        assert_eq!(result.raw.value(), odd);
    }
}

#[tokio::test]
async fn unknown_fields_are_kept_as_they_came() {
    let tool = json!({
        "name": "a", "inputSchema": {"type": "object", "x-own": 1.50}, "x-vendor": {"deep": [null]},
        "execution": {"taskSupport": "optional", "more": 1},
    });
    let (_script, link) = open(json!({"tools": [tool]})).await;
    let listing = link.tools().await.unwrap();
    assert_eq!(listing.items[0].raw.value(), tool);
    assert_eq!(listing.items[0].task_support, TaskSupport::Optional);
}

#[tokio::test]
async fn numbers_pass_through_byte_for_byte() {
    let text =
        r#"{"content":[],"structuredContent":{"big":123456789012345678901234567890,"one":1.10,"e":1E2}}"#;
    let raw = format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{text}}}\n");
    let (_script, link) = open(on_call(json!([{"raw": raw}]))).await;
    let result = call(&link, "echo", json!({})).await.unwrap();
    assert_eq!(result.raw.as_str(), text);
}

#[tokio::test]
async fn what_a_server_says_arrives_in_its_order_and_before_the_answer() {
    let mut actions = Vec::new();
    for n in 0..40 {
        let line = json!({"level": "info", "data": n});
        let progress = json!({"progressToken": "$params._meta.progressToken", "progress": n, "total": 40});
        actions.push(json!({"notify": {"method": "notifications/message", "params": line}}));
        actions.push(json!({"notify": {"method": "notifications/progress", "params": progress}}));
    }
    actions.push(json!({"default": true}));
    let (_script, link) = open(on_call(json!(actions))).await;
    let mut heard = Vec::new();
    let mut hear = |progress: switchboard::notice::Progress| heard.push(progress.progress);
    let options = CallOptions { on_progress: Some(&mut hear), ..CallOptions::default() };
    let result = link.call("echo", &args(json!({"text": "done"})), options).await.unwrap();
    assert_eq!(text(&result), "done");
    assert_eq!(heard, (0..40).map(f64::from).collect::<Vec<_>>());
    for n in 0..40 {
        let Some(Notice::Log { level, data, .. }) = link.take_notice() else { panic!("line {n} is missing") };
        assert_eq!((level.as_str(), data.value()), ("info", json!(n)));
    }
    assert_eq!(link.take_notice(), None);
}
