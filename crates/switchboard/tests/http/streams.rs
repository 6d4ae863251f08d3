//! Streams of events: whole, cut, resumed, odd; and what comes on them beside the answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::host::{Abilities, Answer, Elicitation, Host, Reply};
use switchboard::json::Json;
use switchboard::notice::Notice;
use switchboard::wire::{CallOptions, Cause, Link, Sent, Terms};
use testkit::connect::{http, patient, terms};
use testkit::{Fake, PATIENCE};

use crate::{call, count, echo, header, open, rpc, said, verbs};

const RESULT: &str = "fine";

fn result() -> Value {
    json!({"content": [{"type": "text", "text": RESULT}]})
}

/// A server whose calls are answered with this stream.
async fn streaming(era: &str, steps: Value) -> (Fake, Link) {
    open(json!({"era": era, "on": {"tools/call": [{"sse": steps}]}})).await
}

/// A person who always says the same name.
pub(crate) struct Somebody;

impl Host for Somebody {
    fn abilities(&self) -> Abilities {
        Abilities { forms: true, ..Abilities::default() }
    }

    fn elicit(&self, question: Elicitation) -> Reply<'_, Answer> {
        assert_eq!(question.server, "test");
        Box::pin(std::future::ready(Answer::Accept(Json::from(json!({"name": "Ada"})))))
    }
}

#[tokio::test]
async fn answers_come_as_events_too() {
    for era in ["legacy", "modern"] {
        for ids in [false, true] {
            let (_fake, link) =
                open(json!({"era": era, "answer": "sse", "event_ids": ids, "session": true})).await;
            assert_eq!(link.tools().await.unwrap().items.len(), 7, "{era}");
            assert_eq!(echo(&link, "hello").await.unwrap(), "hello", "{era}");
        }
    }
}

#[tokio::test]
async fn odd_streams_are_read_by_the_rules_of_the_web() {
    let answer = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"fine"}]}}"#;
    let split = answer.split_once("\"result\"").unwrap();
    for (what, steps) in [
        ("an empty event first", json!([{"id": "1", "data": ""}, {"result": result()}])),
        (
            "comments",
            json!([{"comment": "ping"}, {"raw": ":\n\n: ping\n\n"}, {"comment": "x", "result": result()}]),
        ),
        ("carriage returns", json!([{"raw": format!("event: message\r\ndata: {answer}\r\n\r\n")}])),
        ("returns alone", json!([{"raw": format!("event: message\rdata: {answer}\r\r")}])),
        ("a byte order mark", json!([{"raw": format!("\u{feff}data:{answer}\n\n")}])),
        (
            "two lines of data",
            json!([{"raw": format!("data: {}\ndata: \"result\"{}\n\n", split.0, split.1)}]),
        ),
        ("unknown fields", json!([{"raw": format!("foo: bar\nretry: soon\nid\ndata: {answer}\n\n")}])),
        ("another name", json!([{"event": "result", "result": result()}])),
        ("something that is no JSON before", json!([{"data": "hello"}, {"result": result()}])),
        (
            "an answer to nobody before",
            json!([{"data": {"jsonrpc": "2.0", "id": 999_999, "result": {}}}, {"result": result()}]),
        ),
        ("the answer twice", json!([{"result": result()}, {"result": {"content": []}}])),
        ("a stream that stays open", json!([{"result": result()}, {"hang": true}])),
        (
            "a flood after it",
            json!([{"result": result()}, {"repeat": {"text": ": x\n\n", "times": 100_000}}]),
        ),
    ] {
        for era in ["legacy", "modern"] {
            // The id of the call is not known when the script is written; it is found in the log of a first run.
            let (fake, link) = open(json!({"era": era})).await;
            echo(&link, "x").await.unwrap();
            let id = crate::lines(&fake, "tools/call")[0]["message"]["id"].to_string();
            let steps: Value = serde_json::from_str(&steps.to_string().replace("ID", &id)).unwrap();
            let (_fake, link) = streaming(era, steps).await;
            assert_eq!(echo(&link, "x").await.unwrap(), RESULT, "{what}, {era}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_without_an_answer_is_an_answer_cut_off() {
    for steps in [
        json!([]),
        json!([{"comment": "bye"}]),
        json!([{"data": {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}}]),
        json!([{"raw": "data: {\"jsonrpc\""}]),
        json!([{"cut": true}]),
    ] {
        for era in ["legacy", "modern"] {
            let (fake, link) = streaming(era, steps.clone()).await;
            let error = echo(&link, "x").await.unwrap_err();
            assert_eq!((error.cause.clone(), error.sent), (Cause::CutOff, Sent::Maybe), "{era} {steps}");
            assert!(error.is_outcome_unknown());
            assert_eq!(count(&fake, "tools/call"), 1);
        }
    }
}

/// More bytes than the answers of these tests have.
const MOST_BYTES: usize = 420;

/// A server that cuts its first answer after no byte of the body, the next one after one byte, and so on.
async fn cutting(era: &str, answer: &str, resumable: bool) -> (Fake, Link) {
    let cuts: Vec<Value> = (0..MOST_BYTES).map(|bytes| json!([{"cut_after": {"body": bytes}}])).collect();
    let script = json!({
        "era": era, "answer": answer, "resumable": resumable, "session": resumable,
        "on": {"tools/call": {"times": cuts}},
    });
    open(script).await
}

#[tokio::test]
async fn an_answer_cut_at_any_byte_is_whole_or_an_error_and_never_a_hang() {
    for (era, answer) in [("modern", "sse"), ("modern", "json"), ("legacy", "json"), ("legacy", "sse")] {
        let (fake, link) = cutting(era, answer, false).await;
        let mut bytes = 0;
        let text = loop {
            match echo(&link, "ok").await {
                Ok(text) => break text,
                Err(error) => {
                    assert_eq!(
                        (error.cause.clone(), error.sent),
                        (Cause::CutOff, Sent::Maybe),
                        "{era}, {bytes} bytes"
                    );
                    assert!(error.is_outcome_unknown(), "{era}, {bytes} bytes");
                }
            }
            bytes += 1;
        };
        assert_eq!(text, "ok");
        assert!(bytes > 60 && bytes < MOST_BYTES, "{era} {answer}: {bytes}");
        assert_eq!(count(&fake, "tools/call"), bytes + 1, "{era}: none is made twice");
    }
}

#[tokio::test]
async fn a_connection_cut_before_the_body_is_an_error_that_leaves_the_outcome_open() {
    for era in ["legacy", "modern"] {
        let cuts: Vec<Value> = (0..120).map(|bytes| json!([{"cut_after": bytes}])).collect();
        let (fake, link) = open(json!({"era": era, "on": {"tools/call": {"times": cuts}}})).await;
        for bytes in 0..120 {
            let error = echo(&link, "ok").await.unwrap_err();
            assert!(error.is_outcome_unknown(), "{era}, {bytes} bytes: {error:?}");
            assert_eq!(error.sent, Sent::Maybe);
        }
        assert_eq!(count(&fake, "tools/call"), 120);
    }
}

#[tokio::test]
async fn an_answer_cut_at_any_byte_of_a_stream_that_can_be_resumed_comes_whole() {
    // Before the first event with an id there is nothing to resume from.
    const FIRST_EVENT: usize = 30;
    let (fake, link) = cutting("legacy", "sse", true).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..MOST_BYTES {
        let link = link.clone();
        calls.spawn(async move { echo(&link, "ok").await });
    }
    let mut failed = 0;
    while let Some(answer) = calls.join_next().await {
        match answer.unwrap() {
            Ok(text) => assert_eq!(text, "ok"),
            Err(error) => {
                assert_eq!((error.cause, error.sent), (Cause::CutOff, Sent::Maybe));
                failed += 1;
            }
        }
    }
    assert!(failed <= FIRST_EVENT, "{failed}");
    assert_eq!(count(&fake, "tools/call"), MOST_BYTES);
    let resumed = verbs(&fake, "GET").iter().filter(|line| header(line, "last-event-id").is_some()).count();
    assert!(resumed > 60 && resumed < MOST_BYTES, "{resumed}");
}

#[tokio::test]
async fn a_stream_is_resumed_after_the_pause_the_server_wants() {
    for retry in [0, 10, 300] {
        let script = json!({"session": true, "on": {
            "tools/call": [{"sse": [{"id": "e-1", "retry": retry, "data": ""}, {"cut": true}]}],
            "GET": {"times": [
                [{"status": 405}],
                [{"sse": [{"id": "e-2", "comment": "still working", "data": ""}]}],
                [{"sse": [{"id": "e-3", "data": {"jsonrpc": "2.0", "id": 4, "result": result()}}]}],
            ]},
        }});
        let start = Instant::now();
        let (fake, link) = http(script, &patient()).await;
        let link = link.unwrap();
        // The ids of requests count up: the question, the handshake, the list, this one.
        link.tools().await.unwrap();
        assert_eq!(echo(&link, "x").await.unwrap(), RESULT);
        let ids: Vec<_> =
            verbs(&fake, "GET").iter().filter_map(|line| header(line, "last-event-id")).collect();
        assert_eq!(ids, ["e-1", "e-2"], "{retry}");
        assert!(verbs(&fake, "GET").iter().all(|line| header(line, "mcp-session-id").is_some()));
        assert!(start.elapsed() < PATIENCE);
    }
}

#[tokio::test]
async fn a_modern_stream_is_never_resumed() {
    let (fake, link) =
        streaming("modern", json!([{"id": "e-1", "retry": 0, "data": ""}, {"cut": true}])).await;
    let error = echo(&link, "x").await.unwrap_err();
    assert_eq!(error.cause, Cause::CutOff);
    assert_eq!(verbs(&fake, "GET").len(), 0);
}

#[tokio::test]
async fn a_stream_that_breaks_for_ever_ends_soon_enough() {
    // A pause of nothing is no reason for a tight loop.
    let script = json!({"on": {
        "tools/call": [{"sse": [{"id": "e-1", "retry": 0, "data": ""}, {"cut": true}]}],
        "GET": {"times": [[{"status": 405}], [{"sse": [{"comment": "nothing"}]}]]},
    }});
    let (fake, link) = open(script).await;
    let error = echo(&link, "x").await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::CutOff, Sent::Maybe));
    assert!(verbs(&fake, "GET").len() <= 7, "{}", verbs(&fake, "GET").len());

    // The same when the stream always says something, but never the answer: the time of the call is the limit.
    let script = json!({"on": {
        "tools/call": [{"sse": [{"id": "e-1", "retry": 0, "data": ""}, {"cut": true}]}],
        "GET": {"times": [[{"status": 405}], [{"sse": [{"id": "e-2", "data": ""}]}]]},
    }});
    let terms = Terms { timeout: Some(Duration::from_millis(1500)), ..patient() };
    let (fake, link) = http(script, &terms).await;
    let start = Instant::now();
    let error = echo(&link.unwrap(), "x").await.unwrap_err();
    assert_eq!(error.cause.code(), "timeout");
    assert!(start.elapsed() < PATIENCE);
    assert!(verbs(&fake, "GET").len() <= 17, "{}", verbs(&fake, "GET").len());
}

#[tokio::test]
async fn a_pause_without_end_does_not_outlast_the_call() {
    for retry in [json!(1_000_000_000_000_u64), json!(u64::MAX)] {
        let script = json!({"on": {"tools/call": [{"sse": [{"id": "e-1", "retry": retry, "data": ""}]}]}});
        let terms = Terms { timeout: Some(Duration::from_secs(1)), ..patient() };
        let (_fake, link) = http(script, &terms).await;
        let start = Instant::now();
        let error = echo(&link.unwrap(), "x").await.unwrap_err();
        assert_eq!((error.cause.code(), error.sent), ("timeout", Sent::Maybe));
        // A pause that is cut is a minute long.
        assert!(start.elapsed() < PATIENCE / 2);
    }
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_any_more_is_cut_off() {
    let script = json!({"session": true, "on": {
        "tools/call": [{"sse": [{"id": "e-1", "retry": 0, "data": ""}]}],
        "GET": {"times": [[{"status": 405}], [{"status": 400, "body": "unknown event"}]]},
    }});
    let (_fake, link) = open(script).await;
    let error = echo(&link, "x").await.unwrap_err();
    assert_eq!(error.sent, Sent::Maybe);
    assert!(error.is_outcome_unknown(), "{error:?}");
}

#[tokio::test]
async fn an_answer_may_come_on_the_stream_of_the_server() {
    let answer = json!({"jsonrpc": "2.0", "id": 4, "result": result()});
    let script = json!({"listen": true, "session": true, "on": {
        "tools/call": [{"accept": true}],
        "GET": [{"sse": [{"sleep_ms": 700}, {"data": answer}, {"hang": true}]}],
    }});
    let (fake, link) = open(script).await;
    link.tools().await.unwrap();
    assert_eq!(echo(&link, "x").await.unwrap(), RESULT);
    assert_eq!(verbs(&fake, "GET").len(), 1);
}

#[tokio::test]
async fn the_server_asks_on_the_stream_of_the_call() {
    let terms = Terms { host: Arc::new(Somebody), ..terms() };
    let (fake, link) = http(json!({"session": true}), &terms).await;
    let asked = call(&link.unwrap(), "ask", json!({})).await.unwrap();
    assert_eq!(said(&asked), r#"{"action":"accept","content":{"name":"Ada"}}"#);
    let greeting = &crate::lines(&fake, "initialize")[0]["message"]["params"]["capabilities"];
    assert_eq!(greeting["elicitation"], json!({"form": {}}));
    let answer = fake.wait_for(|line| line["message"]["result"]["action"] == "accept");
    assert!(header(&answer, "mcp-session-id").is_some() && header(&answer, "mcp-protocol-version").is_some());
}

#[tokio::test]
async fn the_server_asks_on_its_own_stream() {
    let terms = Terms { host: Arc::new(Somebody), ..terms() };
    let question = json!({"jsonrpc": "2.0", "id": "q-1", "method": "elicitation/create", "params":
        {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}});
    let script = json!({"session": true, "on": {"GET": [{"sse": [{"data": question}, {"hang": true}]}]}});
    let (fake, link) = http(script, &terms).await;
    let _link = link.unwrap();
    let answer = crate::eventually(&fake, |line| line["message"]["id"] == "q-1").await;
    assert_eq!(answer["message"]["result"], json!({"action": "accept", "content": {"name": "Ada"}}));
}

#[tokio::test]
async fn what_was_said_between_two_streams_is_asked_for() {
    // Without an id of an event nothing can be taken up again.
    let script = json!({"session": true, "on": {"GET": {"times": [
        [{"sse": [{"retry": 10}]}],
        [{"sse": [{"hang": true}]}],
    ]}}});
    let (_fake, link) = open(script).await;
    assert_eq!(link.notice().await, Notice::SessionRenewed);
}

#[tokio::test]
async fn notices_come_on_the_stream_of_the_server_across_its_ends() {
    let changed = |what: &str| json!({"data": {"jsonrpc": "2.0", "method": format!("notifications/{what}/list_changed")}});
    let script = json!({"session": true, "on": {"GET": {"times": [
        [{"sse": [{"retry": 10}, {"id": "n-1", "data": ""}, changed("tools")]}],
        [{"status": 503}],
        [{"sse": [changed("prompts"), {"hang": true}]}],
    ]}}});
    let (fake, link) = open(script).await;
    assert_eq!(link.notice().await, Notice::ToolsChanged);
    assert_eq!(link.notice().await, Notice::PromptsChanged);
    let gets = verbs(&fake, "GET");
    assert_eq!(
        gets.iter().filter_map(|line| header(line, "last-event-id")).collect::<Vec<_>>(),
        ["n-1", "n-1"]
    );
}

#[tokio::test]
async fn progress_comes_before_the_result() {
    for era in ["legacy", "modern"] {
        let (_fake, link) = open(json!({"era": era})).await;
        let mut heard = Vec::new();
        let mut hear = |progress: switchboard::notice::Progress| heard.push(progress.progress);
        let options = CallOptions { on_progress: Some(&mut hear), ..CallOptions::default() };
        let result = link.call("slow", &Json::from(json!({"ms": 220})), options).await.unwrap();
        assert_eq!(said(&result), "waited 220 ms");
        assert_eq!(heard, [50.0, 100.0, 150.0, 200.0], "{era}");
    }
}

#[tokio::test]
async fn progress_keeps_a_call_alive_and_silence_ends_it() {
    for era in ["legacy", "modern"] {
        let (_fake, link) = open(json!({"era": era})).await;
        let timeout = Some(Duration::from_millis(600));
        let patient = CallOptions { timeout, on_progress: None };
        let result = link.call("slow", &Json::from(json!({"ms": 1500})), patient).await;
        assert_eq!(said(&result.unwrap()), "waited 1500 ms", "{era}");
    }
}

#[tokio::test]
async fn an_error_answers_the_post_it_came_back_on() {
    for id in [Value::Null, json!("somebody else's"), json!(424_242)] {
        for status in [200, 400, 422] {
            let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32042, "message": "no"}});
            for era in ["legacy", "modern"] {
                let script = json!({"era": era, "on": {"tools/call": [{"status": status, "body": error}]}});
                let (_fake, link) = open(script).await;
                let answer = echo(&link, "x").await.unwrap_err();
                assert_eq!(rpc(&answer), Some(-32042), "{id} {status} {era}");
                assert_eq!(echo(&link, "y").await.map_err(|error| rpc(&error)), Err(Some(-32042)));
            }
        }
    }
    // The same on a stream; an error without an id is the last word of its stream.
    let (_fake, link) = streaming(
        "modern",
        json!([{"data": {"jsonrpc": "2.0", "id": null, "error": {"code": -1, "message": "no"}}}]),
    )
    .await;
    assert_eq!(rpc(&echo(&link, "x").await.unwrap_err()), Some(-1));
}

#[tokio::test]
async fn several_messages_in_one_body_are_all_taken() {
    let batch = json!([
        {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
        {"jsonrpc": "2.0", "id": "$id", "result": result()},
    ]);
    let (_fake, link) = open(json!({"on": {"tools/call": [{"status": 200, "body": batch}]}})).await;
    assert_eq!(echo(&link, "x").await.unwrap(), RESULT);
    assert_eq!(link.notice().await, Notice::ToolsChanged);
}
