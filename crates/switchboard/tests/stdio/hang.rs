//! Servers that stand still at each step: the deadline holds, and the next server is not affected.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::wire::{Cause, Sent, Terms};
use testkit::connect::terms;

use testkit::{Mark, eventually};

use crate::kit::{
    Wrapper, assert_works, call, launch, on, on_call, open, open_marked, open_on, patient_for, refused,
};

fn quick() -> Terms {
    Terms { startup: Some(Duration::from_millis(800)), ..patient_for(300) }
}

async fn assert_never_starts(script: Value, waiting_for: &str) {
    let start = Instant::now();
    let (_script, failure) = refused(script, &quick()).await;
    let expected = Cause::Timeout { waiting_for: waiting_for.to_owned(), after: Duration::from_millis(800) };
    assert_eq!(failure.error.cause, expected);
    // The deadline, and the time to end a server that hears nothing.
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[tokio::test]
async fn at_the_start() {
    assert_never_starts(json!({"start": [{"hang": true}]}), "initialize").await;
}

#[tokio::test]
async fn at_the_question() {
    assert_never_starts(on("server/discover", json!([{"hang": true}])), "initialize").await;
}

#[tokio::test]
async fn at_the_handshake() {
    assert_never_starts(on("initialize", json!([{"hang": true}])), "initialize").await;
}

#[tokio::test]
async fn what_it_said_before_is_shown() {
    let script = json!({"start": [{"raw": "Starting...\n"}, {"stderr": "waiting for the database\n"}, {"hang": true}]});
    let (_script, failure) = refused(script, &quick()).await;
    assert_eq!(failure.stderr, "waiting for the database\n");
    assert_eq!(failure.noise.0, 1);
    assert!(failure.noise.1.unwrap().contains("Starting..."));
}

#[tokio::test]
async fn at_a_list() {
    let (_script, link) = open_on(on("tools/list", json!([{"hang": true}])), &quick()).await;
    let error = link.tools().await.unwrap_err();
    assert!(
        matches!(&error.cause, Cause::Timeout { waiting_for, .. } if waiting_for == "tools/list"),
        "{error}"
    );
}

#[tokio::test]
async fn at_a_call() {
    let (_script, link) = open_on(on_call(json!([{"hang": true}])), &quick()).await;
    let (_other_script, other) = open(json!({})).await;
    let error = call(&link, "echo", json!({"text": "x"})).await.unwrap_err();
    assert!(
        matches!(&error.cause, Cause::Timeout { waiting_for, .. } if waiting_for == "tools/call"),
        "{error}"
    );
    assert_eq!(error.sent, Sent::Maybe);
    assert_works(&other).await;
}

#[tokio::test]
async fn one_that_is_stopped_by_the_system_is_ended_all_the_same() {
    let mark = Mark::new();
    let (_script, link) = open_marked(&mark, on_call(json!([{"signal": "STOP"}])), Wrapper::None).await;
    let options =
        switchboard::wire::CallOptions { timeout: Some(Duration::from_millis(200)), on_progress: None };
    link.call("echo", &crate::kit::args(json!({})), options).await.unwrap_err();
    link.stop().await;
    assert_eq!(mark.alive(), Vec::<u32>::new());
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing_behind() {
    let mark = Mark::new();
    let script =
        testkit::Fake::script(json!({"start": [{"fork": "tree"}, {"hang": true}], "sigterm": "ignore"}));
    let launch = launch(&mark, &script).await;
    let terms = Terms { startup: Some(Duration::from_mins(1)), ..terms() };
    let open = tokio::spawn(async move { drop(switchboard::wire::open(&launch, &terms).await) });
    eventually("it started", || mark.alive(), |alive| alive.len() >= 5).await;
    open.abort();
    let start = Instant::now();
    eventually("nothing is left", || mark.alive(), Vec::is_empty).await;
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
}
