//! Giving up: in the modern protocol the stream is closed, in the other one the server is told by a message.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::json::Json;
use switchboard::wire::{CallOptions, Sent, Terms};
use testkit::PATIENCE;
use testkit::connect::{http, patient};

use crate::{at_last, call, count, echo, eventually, impatient, lines, open, verbs};

const SLOW: u64 = 60_000;

#[tokio::test]
async fn a_modern_call_is_cancelled_by_closing_its_stream() {
    // Before the server has begun to answer, and after.
    for answer in [json!([{"silent": true}]), json!([{"sse": [{"comment": "working"}, {"hang": true}]}])] {
        let (fake, link) = open(json!({"era": "modern", "on": {"tools/call": answer}})).await;
        let running = {
            let link = link.clone();
            tokio::spawn(async move { echo(&link, "x").await })
        };
        eventually(&fake, |line| line["message"]["method"] == "tools/call").await;
        running.abort();
        eventually(&fake, |line| line.get("closed").is_some()).await;
        link.ping().await.unwrap();
        assert_eq!(count(&fake, "notifications/cancelled"), 0);
    }
}

#[tokio::test]
async fn a_call_of_the_handshake_protocol_is_cancelled_by_word() {
    for session in [false, true] {
        let (fake, link) = open(json!({"session": session})).await;
        let running = {
            let link = link.clone();
            tokio::spawn(async move { call(&link, "slow", json!({"ms": SLOW})).await })
        };
        let asked = eventually(&fake, |line| line["message"]["method"] == "tools/call").await;
        running.abort();
        let told = eventually(&fake, |line| line["message"]["method"] == "notifications/cancelled").await;
        assert_eq!(told["message"]["params"]["requestId"], asked["message"]["id"]);
        assert_eq!(told["http"]["method"], "POST");
        assert_eq!(told["http"]["headers"]["mcp-session-id"], asked["http"]["headers"]["mcp-session-id"]);
        assert_eq!(told["http"]["headers"]["mcp-protocol-version"], "2025-11-25");
        assert_eq!(echo(&link, "still here").await.unwrap(), "still here");
        assert_eq!(count(&fake, "notifications/cancelled"), 1);
    }
}

#[tokio::test]
async fn giving_up_in_time_cancels_too() {
    for era in ["legacy", "modern"] {
        let script =
            json!({"era": era, "on": {"tools/call": {"times": [[{"silent": true}], [{"default": true}]]}}});
        let terms = Terms { timeout: Some(Duration::from_millis(400)), ..patient() };
        let (fake, link) = http(script, &terms).await;
        let link = link.unwrap();
        let start = Instant::now();
        let error = echo(&link, "x").await.unwrap_err();
        assert_eq!((error.cause.code(), error.sent), ("timeout", Sent::Maybe), "{era}");
        assert!(error.is_outcome_unknown() && start.elapsed() < PATIENCE);
        if era == "modern" {
            eventually(&fake, |line| line.get("closed").is_some()).await;
            assert_eq!(count(&fake, "notifications/cancelled"), 0);
        } else {
            eventually(&fake, |line| line["message"]["method"] == "notifications/cancelled").await;
        }
        assert_eq!(echo(&link, "still here").await.unwrap(), "still here", "{era}");
    }
}

#[tokio::test]
async fn the_time_of_one_call_can_differ() {
    let script = json!({"era": "modern", "on": {"tools/call": [{"silent": true}]}});
    let (_fake, link) = http(script, &patient()).await;
    let link = link.unwrap();
    let options = CallOptions { timeout: Some(Duration::from_millis(200)), on_progress: None };
    let start = Instant::now();
    let error = link.call("echo", &Json::from(json!({"text": "x"})), options).await.unwrap_err();
    assert_eq!(error.cause.code(), "timeout");
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

#[tokio::test]
async fn lists_that_do_not_come_are_cancelled_as_well() {
    let (fake, link) = http(json!({"on": {"tools/list": [{"silent": true}]}}), &impatient(300)).await;
    let link = link.unwrap();
    let error = link.tools().await.unwrap_err();
    assert_eq!(error.cause.code(), "timeout");
    let told = eventually(&fake, |line| line["message"]["method"] == "notifications/cancelled").await;
    assert_eq!(told["message"]["params"]["requestId"], lines(&fake, "tools/list")[0]["message"]["id"]);
}

#[tokio::test]
async fn the_questions_of_the_opening_are_never_cancelled() {
    let script = json!({"on": {"server/discover": [{"silent": true}], "initialize": [{"silent": true}]}});
    let terms = Terms { startup: Some(Duration::from_secs(2)), ..impatient(500) };
    let (fake, link) = http(script, &terms).await;
    assert_eq!(link.unwrap_err().error.cause.code(), "timeout");
    assert_eq!(count(&fake, "notifications/cancelled"), 0);
}

#[tokio::test]
async fn many_calls_given_up_at_once_leave_nothing_behind() {
    const MANY: usize = 100;
    for era in ["legacy", "modern"] {
        let (fake, link) = open(json!({"era": era, "on": {"tools/call": [{"silent": true}]}})).await;
        let calls = link.clone();
        // All of them in one task, so that they really go at once.
        let running = tokio::spawn(async move {
            let mut calls: Vec<_> =
                (0..MANY).map(|_| Box::pin(call(&calls, "slow", json!({"ms": SLOW})))).collect();
            std::future::poll_fn(|context| {
                for call in &mut calls {
                    assert!(call.as_mut().poll(context).is_pending());
                }
                std::task::Poll::<()>::Pending
            })
            .await;
        });
        at_last(&fake, MANY, |line| line["message"]["method"] == "tools/call").await;
        running.abort();
        if era == "modern" {
            at_last(&fake, MANY, |line| line.get("closed").is_some()).await;
        } else {
            at_last(&fake, MANY, |line| line["message"]["method"] == "notifications/cancelled").await;
        }
        link.ping().await.unwrap();
        assert!(link.is_up());
    }
}

#[tokio::test]
async fn an_answer_that_comes_after_all_is_ignored() {
    let script = json!({"on": {"tools/call": {"times": [[{"sleep_ms": 600}, {"result": {"content": []}}], [{"default": true}]]}}});
    let (_fake, link) = http(script, &impatient(300)).await;
    let link = link.unwrap();
    assert!(echo(&link, "late").await.is_err());
    assert_eq!(echo(&link, "next").await.unwrap(), "next");
}

#[tokio::test]
async fn stopping_ends_what_is_open() {
    for era in ["legacy", "modern"] {
        let (fake, link) = open(json!({"era": era, "session": true})).await;
        let running = {
            let link = link.clone();
            tokio::spawn(async move { call(&link, "slow", json!({"ms": SLOW})).await })
        };
        eventually(&fake, |line| line["message"]["method"] == "tools/call").await;
        link.stop().await;
        let error = running.await.unwrap().unwrap_err();
        assert_eq!((error.cause.code(), error.sent), ("stopped", Sent::Maybe), "{era}");
        assert_eq!(verbs(&fake, "DELETE").len(), usize::from(era == "legacy"));
        assert!(!link.is_up());
    }
}
