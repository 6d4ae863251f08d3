//! Hearing of changes, in both eras.

use serde_json::{Value, json};
use switchboard::notice::Notice;
use switchboard::wire::{Cause, Interest};

use crate::kit::{assert_works, heard, open, open_on, params, patient_for};

fn interest() -> Interest {
    Interest {
        tools: true,
        prompts: true,
        resources: false,
        uris: vec!["note://1".into()],
        tasks: Vec::new(),
    }
}

fn updated(uri: &str) -> Value {
    json!({"broadcast": {"method": "notifications/resources/updated", "params": {"uri": uri}}})
}

#[tokio::test]
async fn under_the_handshake_resources_are_subscribed_one_by_one() {
    let (script, link) = open(json!({
        "resources": [{"uri": "note://1", "name": "one"}],
        "on": {
            "resources/subscribe": [{"result": {}}],
            "resources/unsubscribe": [{"result": {}}],
            "tools/call": [updated("note://1"), {"broadcast": {"method": "notifications/tools/list_changed"}}, {"default": true}],
        },
    }))
    .await;
    let subscription = link.subscribe(&interest()).await.unwrap();
    assert_eq!(
        subscription.granted.value(),
        json!({"toolsListChanged": true, "resourceSubscriptions": ["note://1"]})
    );
    assert_eq!(params(&script, "resources/subscribe"), [json!({"uri": "note://1"})]);
    assert_works(&link).await;
    assert_eq!(link.notice().await, Notice::ResourceUpdated { uri: "note://1".into() });
    assert_eq!(link.notice().await, Notice::ToolsChanged);
    drop(subscription);
    assert_eq!(heard(&script, "resources/unsubscribe").await["params"]["uri"], "note://1");
}

#[tokio::test]
async fn under_the_handshake_a_refused_resource_is_an_error() {
    let (_script, link) = open(json!({
        "resources": [], "on": {"resources/subscribe": [{"error": {"code": -32002, "message": "unknown"}}]},
    }))
    .await;
    let error = link.subscribe(&interest()).await.unwrap_err();
    assert!(matches!(&error.cause, Cause::Rpc(error) if error.code == -32002), "{error}");
}

#[tokio::test]
async fn a_modern_server_is_listened_to_with_one_request() {
    let (script, link) = open(json!({"era": "modern", "on": {
        "tools/call": [updated("note://1"), {"broadcast": {"method": "notifications/tools/list_changed"}}, {"default": true}],
    }}))
    .await;
    let subscription = link.subscribe(&interest()).await.unwrap();
    let wanted =
        json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["note://1"]});
    assert_eq!(subscription.granted.value(), wanted);
    let listen = heard(&script, "subscriptions/listen").await;
    assert_eq!(listen["params"]["notifications"], wanted);
    assert_works(&link).await;
    assert_eq!(link.notice().await, Notice::ResourceUpdated { uri: "note://1".into() });
    assert_eq!(link.notice().await, Notice::ToolsChanged);
    drop(subscription);
    let cancelled = heard(&script, "notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], listen["id"]);
    assert_works(&link).await;
}

fn granting(then: &[Value]) -> Value {
    let key = "io.modelcontextprotocol/subscriptionId";
    let params = json!({"_meta": {key: "$id"}, "notifications": {"toolsListChanged": true}});
    let mut actions =
        vec![json!({"notify": {"method": "notifications/subscriptions/acknowledged", "params": params}})];
    actions.extend(then.iter().cloned());
    json!({"era": "modern", "on": {"subscriptions/listen": actions}})
}

#[tokio::test]
async fn what_was_granted_may_be_less_than_what_was_asked_for() {
    let (_script, link) = open(granting(&[])).await;
    let subscription = link.subscribe(&interest()).await.unwrap();
    assert_eq!(subscription.granted.value(), json!({"toolsListChanged": true}));
}

#[tokio::test]
async fn a_server_may_end_it_by_a_result() {
    let (_script, link) =
        open(granting(&[json!({"sleep_ms": 50}), json!({"result": {"resultType": "complete"}})])).await;
    let mut subscription = link.subscribe(&interest()).await.unwrap();
    subscription.ended().await;
    assert_works(&link).await;
}

#[tokio::test]
async fn a_server_may_end_it_by_a_cancellation() {
    for params in [
        json!({"requestId": "$id"}),
        json!({"requestId": "$id", "_meta": {"io.modelcontextprotocol/subscriptionId": "$id"}}),
    ] {
        let cancelled = json!({"notify": {"method": "notifications/cancelled", "params": params}});
        let (_script, link) = open(granting(&[json!({"sleep_ms": 50}), cancelled])).await;
        let mut subscription = link.subscribe(&interest()).await.unwrap();
        subscription.ended().await;
        assert_works(&link).await;
    }
}

#[tokio::test]
async fn it_ends_with_the_connection() {
    for script in [json!({}), json!({"era": "modern"})] {
        let (_script, link) = open(script).await;
        let mut subscription = link.subscribe(&interest()).await.unwrap();
        link.stop().await;
        subscription.ended().await;
        assert!(!link.is_up());
    }
}

#[tokio::test]
async fn a_server_that_cannot_tell_says_so_or_is_not_waited_for_for_ever() {
    let refuses = json!({"era": "modern", "on": {"subscriptions/listen": [{"error": {"code": -32601, "message": "no"}}]}});
    let (_script, link) = open(refuses).await;
    let error = link.subscribe(&interest()).await.unwrap_err();
    assert!(matches!(&error.cause, Cause::Rpc(error) if error.code == -32601), "{error}");

    let silent = json!({"era": "modern", "on": {"subscriptions/listen": [{"silent": true}]}});
    let (script, link) = open_on(silent, &patient_for(300)).await;
    let error = link.subscribe(&interest()).await.unwrap_err();
    assert!(
        matches!(&error.cause, Cause::Timeout { waiting_for, .. } if waiting_for == "subscriptions/listen"),
        "{error}"
    );
    heard(&script, "notifications/cancelled").await;
    assert_works(&link).await;
}
