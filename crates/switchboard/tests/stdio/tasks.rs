//! Calls that go on as tasks, in both eras.

use serde_json::{Value, json};
use switchboard::host::Answer;
use switchboard::wire::{CallOptions, Cause};

use crate::asked::{Person, open_for};
use crate::kit::{args, assert_works, call, heard, open, params, text};

fn done(said: &str) -> Value {
    json!({"content": [{"type": "text", "text": said}]})
}

/// A server whose one tool must be called as a task.
fn handshake(get: Value, result: Value) -> Value {
    let task = |status: &str| json!({"taskId": "t1", "status": status, "ttl": 60000, "pollInterval": 20});
    json!({
        "tools": [{"name": "long", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}],
        "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}},
        "on": {
            "tools/call": [{"result": {"task": task("working")}}],
            "tasks/get": get, "tasks/result": result, "tasks/cancel": [{"result": {}}],
        },
    })
}

fn handshake_state(status: &str) -> Value {
    json!([{"result": {"taskId": "t1", "status": status, "pollInterval": 20}}])
}

fn modern(get: Value) -> Value {
    let created = json!({"resultType": "task", "taskId": "t1", "status": "working", "pollIntervalMs": 20});
    json!({"era": "modern", "on": {
        "tools/call": [{"result": created}], "tasks/get": get,
        "tasks/update": [{"result": {"resultType": "complete"}}],
        "tasks/cancel": [{"result": {"resultType": "complete"}}],
    }})
}

fn modern_state(status: &str, more: Value) -> Value {
    let mut state = json!({"resultType": "complete", "taskId": "t1", "status": status, "pollIntervalMs": 20});
    for (key, value) in more.as_object().unwrap() {
        state[key] = value.clone();
    }
    json!([{"result": state}])
}

#[tokio::test]
async fn under_the_handshake_a_tool_that_wants_to_be_a_task_is_one() {
    let get = json!({"times": [handshake_state("working"), handshake_state("working"), handshake_state("completed")]});
    let (script, link) = open(handshake(get, json!([{"result": done("at last")}]))).await;
    link.tools().await.unwrap();
    let result = call(&link, "long", json!({})).await.unwrap();
    assert_eq!(text(&result), "at last");
    assert!(params(&script, "tools/call")[0]["task"].is_object());
    assert_eq!(params(&script, "tasks/get").len(), 3);
    assert_eq!(params(&script, "tasks/result"), [json!({"taskId": "t1"})]);
}

#[tokio::test]
async fn under_the_handshake_a_tool_that_wants_none_is_called_plainly() {
    let (script, link) = open(json!({})).await;
    link.tools().await.unwrap();
    assert_works(&link).await;
    assert_eq!(params(&script, "tools/call")[0].get("task"), None);
}

#[tokio::test]
async fn under_the_handshake_a_failed_task_tells_its_error() {
    let failed = json!([{"error": {"code": -32000, "message": "the task broke"}}]);
    let (_script, link) = open(handshake(handshake_state("failed"), failed)).await;
    link.tools().await.unwrap();
    let error = call(&link, "long", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "the task broke (code -32000)");
}

#[tokio::test]
async fn any_modern_call_may_become_a_task() {
    let finished = modern_state("completed", json!({"result": done("at last")}));
    let get =
        json!({"times": [modern_state("working", json!({})), modern_state("working", json!({})), finished]});
    let (script, link) = open(modern(get)).await;
    let result = call(&link, "echo", json!({})).await.unwrap();
    assert_eq!(text(&result), "at last");
    assert_eq!(params(&script, "tasks/get").len(), 3);
    let meta = &params(&script, "tools/call")[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(meta["extensions"]["io.modelcontextprotocol/tasks"].is_object(), "{meta}");
}

#[tokio::test]
async fn a_modern_task_fails_with_its_error_or_is_cancelled_by_the_server() {
    let failed = modern_state("failed", json!({"error": {"code": -32603, "message": "broke"}}));
    let (_script, link) = open(modern(failed)).await;
    assert_eq!(call(&link, "echo", json!({})).await.unwrap_err().to_string(), "broke (code -32603)");
    let (_script, link) = open(modern(modern_state("cancelled", json!({})))).await;
    let error = call(&link, "echo", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("cancelled"), "{error}");
}

#[tokio::test]
async fn a_modern_task_asks_each_question_once() {
    let question = json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object"}}});
    let one = modern_state("input_required", json!({"inputRequests": {"a": question}}));
    let two = modern_state("input_required", json!({"inputRequests": {"a": question, "b": question}}));
    let finished = modern_state("completed", json!({"result": done("thanks")}));
    let host = Person::who_says(Answer::Decline);
    let script = modern(json!({"times": [one.clone(), one, two, finished]}));
    let (script, link) = open_for(std::sync::Arc::<Person>::clone(&host), script).await;
    assert_eq!(text(&call(&link, "echo", json!({})).await.unwrap()), "thanks");
    assert_eq!(host.asked.load(std::sync::atomic::Ordering::SeqCst), 2);
    let updates = params(&script, "tasks/update");
    assert_eq!(updates.len(), 2);
    assert_eq!(updates[0]["inputResponses"], json!({"a": {"action": "decline"}}));
    assert_eq!(updates[1]["inputResponses"], json!({"b": {"action": "decline"}}));
}

#[tokio::test]
async fn a_task_is_cancelled_when_nobody_waits_for_it_any_more() {
    let scripts = [
        handshake(handshake_state("working"), json!([{"silent": true}])),
        modern(modern_state("working", json!({}))),
    ];
    for script in scripts {
        let (script, link) = open(script).await;
        link.tools().await.unwrap();
        let arguments = args(json!({}));
        let mut open = Box::pin(link.call("long", &arguments, CallOptions::default()));
        tokio::select! {
            _ = &mut open => panic!("it cannot be done yet"),
            _ = heard(&script, "tasks/get") => {}
        }
        drop(open);
        assert_eq!(heard(&script, "tasks/cancel").await["params"]["taskId"], "t1");
    }
}

#[tokio::test]
async fn a_task_where_none_may_be_is_told() {
    let created = json!({"resultType": "task", "taskId": "t1", "status": "working"});
    let (_script, link) =
        open(json!({"era": "modern", "on": {"resources/read": [{"result": created}]}})).await;
    let error = link.read("a://b").await.unwrap_err();
    assert!(matches!(error.cause, Cause::Malformed { .. }), "{error}");
}

#[tokio::test]
async fn a_task_that_is_made_after_the_call_was_given_up_is_cancelled() {
    // It makes the task only when it is told that the call is no longer needed: the answer is too late.
    let late = |script: Value, created: Value| {
        let mut script = script;
        let answer = json!({"jsonrpc": "2.0", "id": "$params.requestId", "result": created});
        script["on"]["tools/call"] = json!([{"silent": true}]);
        script["on"]["notifications/cancelled"] = json!([{"message": answer}]);
        script
    };
    let state = json!({"taskId": "t1", "status": "working", "ttl": 60000});
    let old = late(handshake(handshake_state("working"), json!([])), json!({"task": state}));
    let new = late(
        modern(modern_state("working", json!({}))),
        json!({"resultType": "task", "taskId": "t1", "status": "working"}),
    );
    for script in [old, new] {
        let (script, link) = open(script).await;
        link.tools().await.unwrap();
        let tool = if script.methods().iter().any(|method| method == "initialize") { "long" } else { "echo" };
        tokio::select! {
            result = call(&link, tool, json!({})) => panic!("{result:?}"),
            _ = heard(&script, "tools/call") => {}
        }
        assert_eq!(heard(&script, "tasks/cancel").await["params"]["taskId"], "t1");
    }
}
