//! Structured results held against what their tools promise.

use serde_json::{Value, json};
use switchboard::calls::Outcome;
use switchboard::catalog::Verdict;
use switchboard::session::{Gate, Session};

use crate::world::World;

fn weather() -> Value {
    json!({
        "name": "weather", "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"t": {"type": "number"}}, "required": ["t"]},
    })
}

/// A server whose tool answers so, one call after the other.
fn world(tool: &Value, results: &[Value]) -> World {
    let times: Vec<_> = results.iter().map(|result| json!([{"result": result}])).collect();
    let script = json!({"tools": [tool], "on": {"tools/call": {"times": times}}});
    World::new().stdio("s", script, json!({"approval": "never"}))
}

async fn start(world: &World) -> Session {
    let session = world.start().await;
    session.ready(Gate::Correct).await;
    session
}

async fn call(session: &Session) -> Outcome {
    session.call("s/weather", &json!({}).into()).await.unwrap()
}

fn said(words: &str) -> Value {
    json!([{"type": "text", "text": words}])
}

#[tokio::test]
async fn what_was_not_promised_is_kept_and_marked() {
    let world = world(
        &weather(),
        &[
            json!({"content": said("{\"t\":1}"), "structuredContent": {"t": 1}}),
            json!({"content": said("warm"), "structuredContent": {"t": "warm"}}),
            json!({"content": said("warm")}),
            json!({"content": said("no such place"), "isError": true}),
            json!({"content": []}),
        ],
    );
    let session = start(&world).await;
    let kept = call(&session).await;
    assert_eq!((kept.verdict, kept.shaped.text.as_str()), (Some(Verdict::Kept), "{\"t\":1}"));

    let wrong = call(&session).await;
    let Some(Verdict::Broken { at, what }) = &wrong.verdict else { panic!("{wrong:?}") };
    assert_eq!((at.as_str(), what.as_str()), ("/t", "the value is not of type \"number\""));
    assert_eq!(wrong.result.structured.as_ref().unwrap().value(), json!({"t": "warm"}), "nothing is lost");
    let note =
        "[the result does not match the tool's output schema: /t: the value is not of type \"number\"]";
    assert!(
        wrong.shaped.text.starts_with("warm\n\n```json") && wrong.shaped.text.ends_with(note),
        "{wrong:?}"
    );
    assert!(!wrong.is_error && wrong.said().ends_with("```"));

    let missing = call(&session).await;
    let note = "[the result does not match the tool's output schema: there is no structured result]";
    assert_eq!(missing.shaped.text, format!("warm\n\n{note}"));
    assert_eq!(missing.said(), "warm");

    let failed = call(&session).await;
    assert_eq!((failed.verdict, failed.shaped.text.as_str()), (None, "Error: no such place"));
    let empty = call(&session).await;
    assert_eq!((empty.shaped.text.as_str(), empty.said()), (note, ""));
    session.shutdown().await;
}

#[tokio::test]
async fn a_promise_nobody_can_check_costs_nothing() {
    let mut tool = weather();
    let refers = json!({"type": "object", "properties": {"t": {"$ref": "https://example.com/t.json"}}});
    tool["outputSchema"] = refers;
    let world = world(&tool, &[json!({"content": said("x"), "structuredContent": {"t": 1}})]);
    let session = start(&world).await;
    let outcome = call(&session).await;
    assert!(matches!(&outcome.verdict, Some(Verdict::Unclear { reason }) if reason.contains("example.com")));
    assert!(outcome.warning().is_none() && outcome.shaped.text.starts_with("x\n\n```json"));
    session.shutdown().await;
}

#[tokio::test]
async fn a_note_stands_at_the_end_of_a_text_that_is_too_long() {
    let long = "word ".repeat(2000);
    let world = world(&weather(), &[json!({"content": said(&long)})]);
    world
        .sandbox
        .write("~/.switchboard/settings.json", r#"{"defaults": false, "output": {"maxBytes": 1000}}"#);
    let session = start(&world).await;
    let outcome = call(&session).await;
    assert!(outcome.shaped.text.ends_with("there is no structured result]") && outcome.is_cut);
    assert_eq!(std::fs::read_to_string(outcome.spilled.as_ref().unwrap()).unwrap(), long, "the text alone");
    assert_eq!(outcome.whole_text(), long);
    session.shutdown().await;
}

#[tokio::test]
async fn what_the_server_promises_now_counts_not_what_it_promised_before() {
    let world = world(&weather(), &[json!({"content": [], "structuredContent": {"t": 1}})]);
    let first = start(&world).await;
    first.shutdown().await;
    let mut tool = weather();
    tool["outputSchema"]["properties"]["t"]["type"] = json!("string");
    let script = json!({
        "tools": [tool], "start": [{"sleep_ms": 400}],
        "on": {"tools/call": [{"result": {"content": [], "structuredContent": {"t": "warm"}}}]}});
    std::fs::write(world.script("s").path(), script.to_string()).unwrap();
    let session = world.start().await;
    session.ready(Gate::Quick).await;
    let entry = session.catalog().find("s/weather", None).unwrap().clone();
    session.settled(None).await;
    let outcome = session.call_entry(&entry, &json!({}).into(), switchboard::calls::Request::default()).await;
    assert_eq!(outcome.unwrap().verdict, Some(Verdict::Kept));
    session.shutdown().await;
}
