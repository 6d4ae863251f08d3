//! Answers under odd ids, and who gets them.

use serde_json::json;
use switchboard::wire::Cause;

use crate::kit::{assert_works, call, on_call, open, open_on, patient_for, text};

fn answer(id: &serde_json::Value, said: &str) -> serde_json::Value {
    json!({"message": {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": said}]}}})
}

#[tokio::test]
async fn an_id_in_the_other_json_type_is_ours() {
    // The question had id 1, the handshake 2; so the call has 3.
    for id in [json!("3"), json!(3.0), json!(3)] {
        let (_script, link) = open(on_call(json!([answer(&id, "ours")]))).await;
        let result = call(&link, "echo", json!({})).await.unwrap();
        assert_eq!((text(&result), link.strays()), ("ours", 0), "{id}");
    }
}

#[tokio::test]
async fn foreign_ids_are_counted_and_change_nothing() {
    let foreign =
        [json!(999), json!("abc"), json!(-3), json!(3.5), json!({"id": 3}), json!([3]), json!(true)];
    let mut actions: Vec<_> = foreign.iter().map(|id| answer(id, "not ours")).collect();
    actions.push(json!({"default": true}));
    let (_script, link) = open(on_call(json!(actions))).await;
    let result = call(&link, "echo", json!({"text": "ours"})).await.unwrap();
    assert_eq!(text(&result), "ours");
    assert_eq!(link.strays(), foreign.len() as u64);
}

#[tokio::test]
async fn an_answer_that_comes_twice_counts_once() {
    let (_script, link) =
        open(on_call(json!([{"default": true}, {"default": true}, {"default": true}]))).await;
    for said in ["a", "b", "c"] {
        let result = call(&link, "echo", json!({"text": said})).await.unwrap();
        assert_eq!(text(&result), said);
    }
}

#[tokio::test]
async fn an_answer_with_the_wrong_id_leaves_the_call_to_its_deadline() {
    let script = json!({"on": {"tools/call": {"times": [[answer(&json!(1), "old")], [{"default": true}]]}}});
    let (_script, link) = open_on(script, &patient_for(200)).await;
    let error = call(&link, "echo", json!({"text": "x"})).await.unwrap_err();
    assert!(matches!(error.cause, Cause::Timeout { .. }), "{error}");
    assert_works(&link).await;
}

#[tokio::test]
async fn an_error_without_an_id_belongs_to_the_only_open_call() {
    for id in [json!({"id": null}), json!({})] {
        let mut message =
            json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "cannot parse that"}});
        if id.get("id").is_some() {
            message["id"] = json!(null);
        }
        let (_script, link) = open(on_call(json!([{"message": message}]))).await;
        let error = call(&link, "echo", json!({})).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot parse that (code -32700)");
    }
}

#[tokio::test]
async fn an_error_without_an_id_is_nobodys_when_two_calls_are_open() {
    let error =
        json!({"message": {"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "whose?"}}});
    let script = json!({"on": {"tools/call": {"times": [[{"sleep_ms": 300}, {"default": true}], [error, {"default": true}]]}}});
    let (_script, link) = open(script).await;
    let (one, two) = tokio::join!(
        call(&link, "echo", json!({"text": "one"})),
        call(&link, "echo", json!({"text": "two"}))
    );
    assert_eq!((text(&one.unwrap()), text(&two.unwrap())), ("one", "two"));
    assert_eq!(link.strays(), 1);
}

#[tokio::test]
async fn answers_in_any_order_find_their_calls() {
    let (_script, link) = open(json!({})).await;
    let calls = (0..50_u64).map(|n| {
        let link = link.clone();
        tokio::spawn(async move {
            let ms = (50 - n) * 3;
            let result = call(&link, "slow", json!({"ms": ms})).await.unwrap();
            assert_eq!(text(&result), format!("waited {ms} ms"));
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn an_answer_that_breaks_the_rules_is_told_to_who_asked() {
    let both = json!({"message": {"jsonrpc": "2.0", "id": "$id", "result": {}, "error": {"code": 1, "message": "m"}}});
    let (_script, link) = open(on_call(json!([both]))).await;
    let error = call(&link, "echo", json!({})).await.unwrap_err();
    assert!(matches!(&error.cause, Cause::Malformed { why } if why.contains("both")), "{error}");

    let text_error = json!({"message": {"jsonrpc": "2.0", "id": "$id", "error": "just no"}});
    let (_script, link) = open(on_call(json!([text_error]))).await;
    let error = call(&link, "echo", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("just no"), "{error}");
    assert!(!error.is_outcome_unknown());
}
