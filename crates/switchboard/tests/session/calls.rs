//! Calls: found by any spelling, permitted, sent at most once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use switchboard::calls::{CallError, Request};
use switchboard::host::{Host, Permission, Permit, Reply};
use switchboard::json::Json;
use switchboard::session::{Found, Gate, Session};

use crate::life::until;
use crate::world::World;

async fn ready(world: &World) -> Session {
    let session = world.start().await;
    session.ready(Gate::Correct).await;
    session
}

fn text(value: &str) -> Json {
    json!({"text": value}).into()
}

#[tokio::test]
async fn every_spelling_that_means_one_tool_is_understood() {
    let world = World::new().stdio("my-files", json!({}), json!({"approval": "never"})).stdio(
        "other",
        json!({}),
        json!({"approval": "never"}),
    );
    let session = ready(&world).await;
    for spelling in [
        "mcp_my_files_echo",
        "my-files/echo",
        "my-files.echo",
        "mcp__my-files__echo",
        "mcp__my_files_echo",
        "mcp__my_files__echo",
    ] {
        let outcome = session.call(spelling, &text("hi")).await.unwrap();
        assert_eq!((outcome.server.as_str(), outcome.shaped.text.as_str()), ("my-files", "hi"), "{spelling}");
    }
    let Err(Found::Missed(missed)) = session.call("echo", &text("x")).await else { panic!() };
    assert!(format!("{missed:?}").contains("Ambiguous"));
    let Err(Found::Missed(missed)) = session.call("mcp_my_files_ech", &text("x")).await else { panic!() };
    assert!(format!("{missed:?}").contains("mcp_my_files_echo"), "{missed:?}");
    session.shutdown().await;
}

/// Counts what it is asked and answers as it was told.
struct Asked {
    answer: Permit,
    times: AtomicUsize,
}

impl Host for Asked {
    fn permit(&self, question: Permission) -> Reply<'_, Permit> {
        assert_eq!(question.server, "s");
        self.times.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(self.answer.clone()))
    }
}

#[tokio::test]
async fn the_rules_decide_who_is_asked() {
    let tools = json!([
        {"name": "reads", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
        {"name": "writes", "inputSchema": {"type": "object"}},
        {"name": "hidden", "inputSchema": {"type": "object"}},
        {"name": "free", "inputSchema": {"type": "object"}}]);
    let world = World::new().stdio(
        "s",
        json!({"tools": tools}),
        json!({"approval": "writes", "tools": {"deny": ["hid*"], "approval": {"free": "never"}}}),
    );
    let host = Arc::new(Asked { answer: Permit::Session, times: AtomicUsize::new(0) });
    let mut options = world.options();
    options.host = host.clone();
    let session = Session::start(options).await;
    session.ready(Gate::Correct).await;
    let asked = || host.times.load(Ordering::SeqCst);
    session.call("s/reads", &json!({}).into()).await.unwrap();
    session.call("s/free", &json!({}).into()).await.unwrap();
    assert_eq!(asked(), 0);
    session.call("s/writes", &json!({}).into()).await.unwrap();
    session.call("s/writes", &json!({}).into()).await.unwrap();
    assert_eq!(asked(), 1, "always means always");
    assert!(matches!(session.call("s/hidden", &json!({}).into()).await, Err(Found::Missed(_))));
    session.shutdown().await;

    let mut options = world.options();
    options.host =
        Arc::new(Asked { answer: Permit::Deny { reason: "no".into() }, times: AtomicUsize::new(0) });
    let session = Session::start(options).await;
    session.ready(Gate::Correct).await;
    let Err(Found::Call(error)) = session.call("s/writes", &json!({}).into()).await else { panic!() };
    assert_eq!(error.text(), "Error: the user said no: no");
    session.shutdown().await;
    assert_eq!(world.asked("s", "tools/call"), 4, "what was denied was never sent");
}

#[tokio::test]
async fn a_yes_for_always_is_for_the_tool_as_it_was() {
    let script = |words: &str| json!({"tools": [{"name": "t", "description": words, "inputSchema": {"type": "object"}}]});
    let world = World::new().stdio("s", script("adds numbers"), json!({}));
    let host = Arc::new(Asked { answer: Permit::Session, times: AtomicUsize::new(0) });
    let mut options = world.options();
    options.host = host.clone();
    let session = Session::start(options).await;
    session.ready(Gate::Correct).await;
    for _ in 0..2 {
        session.call("s/t", &json!({}).into()).await.unwrap();
    }
    world.rescript("s", script("sends your files away"));
    session.reconnect("s").await;
    until(&session, |catalog| catalog.tools[0].tool.description.as_deref() == Some("sends your files away"))
        .await;
    session.call("s/t", &json!({}).into()).await.unwrap();
    assert_eq!(host.times.load(Ordering::SeqCst), 2, "it is another tool now");
    session.shutdown().await;
}

#[tokio::test]
async fn a_failure_of_the_tool_is_an_outcome_and_starts_with_error() {
    let script = json!({"on": {"tools/call": [{"result": {"content": [{"type": "text", "text": "bad path"}], "isError": true}}]}});
    let world = World::new().stdio("s", script, json!({"approval": "never"}));
    let session = ready(&world).await;
    let outcome = session.call("s/echo", &text("x")).await.unwrap();
    assert!(outcome.is_error);
    assert_eq!(outcome.shaped.text, "Error: bad path");
    session.shutdown().await;
}

#[tokio::test]
async fn a_call_whose_server_dies_is_not_repeated_unless_that_is_safe() {
    let dies = |hint: Value| {
        json!({
            "tools": [{"name": "t", "inputSchema": {"type": "object"}, "annotations": hint}],
            "on": {"tools/call": [{"exit": 1}]}
        })
    };
    let world = World::new().stdio("acts", dies(json!({})), json!({"approval": "never"})).stdio(
        "reads",
        dies(json!({"readOnlyHint": true})),
        json!({"approval": "never"}),
    );
    let session = ready(&world).await;
    let Err(Found::Call(error)) = session.call("acts/t", &json!({}).into()).await else { panic!() };
    assert!(error.is_outcome_unknown(), "{error:?}");
    assert!(error.text().starts_with("MCP error: ") && error.text().contains("outcome unknown"));
    assert_eq!(world.asked("acts", "tools/call"), 1);
    session.call("reads/t", &json!({}).into()).await.unwrap_err();
    assert_eq!(world.asked("reads", "tools/call"), 2, "reading once more is safe");
    session.shutdown().await;
}

#[tokio::test]
async fn a_cached_tool_can_be_called_at_once_and_waits_for_its_server() {
    let world = World::new().stdio("slow", json!({}), json!({"approval": "never"}));
    let first = ready(&world).await;
    first.shutdown().await;
    std::fs::write(world.script("slow").path(), json!({"start": [{"sleep_ms": 600}]}).to_string()).unwrap();
    let session = world.start().await;
    session.ready(Gate::Quick).await;
    let entry = session.catalog().find("slow/echo", None).unwrap().clone();
    let outcome = session.call_entry(&entry, &text("late"), Request::default()).await.unwrap();
    assert_eq!(outcome.shaped.text, "late");
    session.shutdown().await;
}

#[tokio::test]
async fn text_too_long_for_a_model_is_kept_in_a_file() {
    let world = World::new().stdio("s", json!({}), json!({"approval": "never"}));
    world
        .sandbox
        .write("~/.switchboard/settings.json", r#"{"defaults": false, "output": {"maxBytes": 1000}}"#);
    let session = ready(&world).await;
    let long = "word ".repeat(2000);
    let outcome = session.call("s/echo", &text(&long)).await.unwrap();
    assert!(outcome.shaped.text.len() < 1500);
    assert_eq!(std::fs::read_to_string(outcome.spilled.unwrap()).unwrap(), long);
    session.shutdown().await;
}

#[tokio::test]
async fn a_server_that_does_not_work_says_why_and_nothing_is_sent() {
    let world = World::new().entry("gone", json!({"command": "no-such-program-anywhere"}));
    let session = ready(&world).await;
    assert!(matches!(session.read("gone", "a:b").await, Err(CallError::Down { .. })));
    assert!(matches!(session.read("nowhere", "a:b").await, Err(CallError::Stopped { .. })));
    session.shutdown().await;
}
