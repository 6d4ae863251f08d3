//! Deadlines, progress, and giving up: the server is told, and a late answer does no harm.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::host::{Behalf, Headless};
use switchboard::json::Json;
use switchboard::wire::{CallOptions, Cause, Errand, Error, Limits, Sent, Tasks, Terms};
use testkit::connect::terms;
use testkit::eventually;

use crate::kit::{
    args, assert_works, call, heard, heard_that, on_call, open, open_on, params, patient_for, text,
};

fn is_timeout(error: &Error) -> bool {
    matches!(&error.cause, Cause::Timeout { waiting_for, .. } if waiting_for == "tools/call")
}

/// So many steps of progress with these values, each after a pause, and then the answer.
fn progress(values: impl Iterator<Item = u64>, pause: u64) -> Value {
    let mut actions = Vec::new();
    for value in values {
        let params = json!({"progressToken": "$params._meta.progressToken", "progress": value});
        actions.push(json!({"sleep_ms": pause}));
        actions.push(json!({"notify": {"method": "notifications/progress", "params": params}}));
    }
    actions.push(json!({"default": true}));
    on_call(json!(actions))
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled() {
    for era in ["legacy", "modern"] {
        let (script, link) = open(json!({"era": era})).await;
        let arguments = args(json!({"ms": 60_000}));
        let mut slow = Box::pin(link.call("slow", &arguments, CallOptions::default()));
        let request = tokio::select! {
            _ = &mut slow => panic!("it cannot be done yet"),
            request = heard(&script, "tools/call") => request,
        };
        drop(slow);
        let cancelled = heard(&script, "notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], request["id"]);
        assert_works(&link).await;
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled() {
    let silent = json!({"on": {"tools/call": {"times": [[{"silent": true}], [{"default": true}]]}}});
    let (script, link) = open_on(silent, &patient_for(300)).await;
    let error = call(&link, "echo", json!({"text": "x"})).await.unwrap_err();
    assert!(is_timeout(&error), "{error}");
    assert_eq!(error.sent, Sent::Maybe);
    assert!(error.is_outcome_unknown());
    let request = heard(&script, "tools/call").await;
    let cancelled = heard(&script, "notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    assert_works(&link).await;
}

#[tokio::test]
async fn neither_the_question_nor_the_handshake_is_ever_cancelled() {
    let terms = Terms { startup: Some(Duration::from_secs(1)), ..terms() };
    let silent = json!({"on": {"server/discover": [{"silent": true}], "initialize": [{"silent": true}]}});
    let (script, failure) = crate::kit::refused(silent, &terms).await;
    assert!(matches!(failure.error.cause, Cause::Timeout { .. }), "{}", failure.error);
    assert_eq!(script.methods(), ["server/discover", "initialize"]);
}

#[tokio::test]
async fn an_answer_after_the_deadline_is_ignored() {
    let late = json!({"on": {"tools/call": {"times": [
        [{"sleep_ms": 400}, {"result": {"content": [{"type": "text", "text": "late"}]}}], [{"default": true}],
    ]}}});
    let (_script, link) = open_on(late, &patient_for(150)).await;
    assert!(is_timeout(&call(&link, "echo", json!({"text": "x"})).await.unwrap_err()));
    assert_eq!(text(&call(&link, "echo", json!({"text": "second"})).await.unwrap()), "second");
    eventually("the late answer is counted", || link.strays(), |n| *n == 1).await;
    assert_eq!(text(&call(&link, "echo", json!({"text": "third"})).await.unwrap()), "third");
}

#[tokio::test]
async fn progress_keeps_a_call_alive() {
    // Six times the deadline in all, never more than a third of it without a word.
    let (script, link) = open_on(progress(1..=18, 200), &patient_for(600)).await;
    let result = call(&link, "echo", json!({"text": "done"})).await.unwrap();
    assert_eq!(text(&result), "done");
    let token = heard(&script, "tools/call").await["params"]["_meta"]["progressToken"].clone();
    assert!(token.is_number(), "{token}");
}

#[tokio::test]
async fn progress_that_does_not_advance_keeps_nothing_alive() {
    for values in [vec![5; 200], (0..200).rev().collect()] {
        let (_script, link) = open_on(progress(values.into_iter(), 100), &patient_for(500)).await;
        let start = Instant::now();
        assert!(is_timeout(&call(&link, "echo", json!({"text": "x"})).await.unwrap_err()));
        assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    }
}

#[tokio::test]
async fn progress_of_another_request_keeps_nothing_alive() {
    let mut script = progress(0..0, 0);
    let foreign = json!({"progressToken": 4711, "progress": 1});
    let beat = json!({"notify": {"method": "notifications/progress", "params": foreign}});
    script["on"]["tools/call"] = json!([beat, {"silent": true}]);
    let (_script, link) = open_on(script, &patient_for(300)).await;
    assert!(is_timeout(&call(&link, "echo", json!({"text": "x"})).await.unwrap_err()));
}

#[tokio::test]
async fn nothing_keeps_a_call_alive_for_ever() {
    let limits = Limits { longest_call: Duration::from_millis(900), ..Limits::default() };
    let terms = Terms { limits, ..patient_for(5000) };
    let (script, link) = open_on(progress(1..=600, 100), &terms).await;
    let start = Instant::now();
    assert!(is_timeout(&call(&link, "echo", json!({"text": "x"})).await.unwrap_err()));
    assert!(start.elapsed() < Duration::from_millis(4500), "{:?}", start.elapsed());
    heard(&script, "notifications/cancelled").await;
}

#[tokio::test]
async fn a_call_has_its_own_deadline() {
    let (_script, link) = open_on(on_call(json!([{"silent": true}])), &terms()).await;
    let start = Instant::now();
    let options = CallOptions { timeout: Some(Duration::from_millis(200)), on_progress: None };
    let error = link.call("echo", &args(json!({})), options).await.unwrap_err();
    assert!(is_timeout(&error) && start.elapsed() < Duration::from_secs(5), "{error}");
}

#[tokio::test]
async fn the_log_level_is_set_once_or_said_every_time() {
    let (script, link) = open(json!({"capabilities": {"tools": {}, "logging": {}}, "on": {
        "logging/setLevel": [{"result": {}}],
    }}))
    .await;
    link.set_log_level("warning").await.unwrap();
    assert_eq!(heard(&script, "logging/setLevel").await["params"], json!({"level": "warning"}));

    let (script, link) = open(json!({})).await;
    link.set_log_level("warning").await.unwrap();
    assert_works(&link).await;
    assert!(!script.methods().contains(&"logging/setLevel".to_owned()), "it cannot log");

    let (script, link) = open(json!({"era": "modern"})).await;
    link.set_log_level("debug").await.unwrap();
    assert_works(&link).await;
    let asked = heard_that(&script, |message| message["method"] == "tools/call").await;
    assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "debug");
    assert!(!script.methods().contains(&"logging/setLevel".to_owned()));
}

#[tokio::test]
async fn a_server_that_does_not_take_the_log_level_is_told_once_and_holds_up_no_call() {
    let errand = Errand {
        capabilities: Json::from(json!({})),
        log_level: Some("debug".to_owned()),
        behalf: Behalf { owner: 1, host: Arc::new(Headless::default()) },
        tasks: Tasks::Handed,
        timeout: None,
    };
    for answer in [json!({"silent": true}), json!({"error": {"code": -32601, "message": "no"}})] {
        let script =
            json!({"capabilities": {"tools": {}, "logging": {}}, "on": {"logging/setLevel": [answer]}});
        let (script, link) = open_on(script, &Terms { timeout: None, ..terms() }).await;
        let echo = args(json!({"name": "echo", "arguments": {"text": "x"}}));
        for _ in 0..3 {
            let result = link.run_errand(("tools/call", &echo), &errand, &mut |_| {}).await.unwrap();
            assert!(result.mentions("\"x\""), "{result:?}");
        }
        assert_eq!(params(&script, "logging/setLevel"), [json!({"level": "debug"})]);
    }
}
