//! The transport of 2024-11-05.

use serde_json::json;
use testkit::Fake;

use crate::client::{Connection, call, initialize, request};

/// Opens the stream; gives it and the path for messages.
fn open(fake: &Fake) -> (Connection, String) {
    let mut stream = Connection::to(fake);
    stream.send("GET", "/sse", "");
    assert_eq!(stream.head().get("content-type"), Some("text/event-stream"));
    let event = stream.event().unwrap();
    let path = event.strip_prefix("event: endpoint\ndata: ").unwrap().to_owned();
    (stream, path)
}

fn post(client: &mut Connection, path: &str, message: &serde_json::Value) -> u16 {
    client.send("POST", path, &message.to_string());
    let head = client.head();
    client.body(&head);
    head.status
}

#[test]
fn answers_come_on_the_stream() {
    let fake = Fake::http(json!({"transport": "sse"}));
    assert!(fake.url().ends_with("/sse"));
    let (mut stream, path) = open(&fake);
    let mut client = Connection::to(&fake);
    assert_eq!(post(&mut client, &path, &initialize()), 202);
    assert_eq!(stream.event_message()["result"]["serverInfo"]["name"], "fake-server");
    // A slow call holds up neither the connection nor the stream.
    assert_eq!(post(&mut client, &path, &call(1, "slow", json!({"ms": 600_000}))), 202);
    assert_eq!(post(&mut client, &path, &call(2, "ask", json!({}))), 202);
    let question = stream.event_message();
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
    assert_eq!(post(&mut client, &path, &answer), 202);
    assert_eq!(stream.event_message()["id"], 2);
    assert_eq!(post(&mut client, "/message?session=99", &initialize()), 404);
    assert_eq!(post(&mut client, "/sse", &initialize()), 405);
}

#[test]
fn a_post_to_the_stream_may_find_a_page() {
    let fake = Fake::http(json!({"transport": "sse", "post_status": 404}));
    let mut client = Connection::to(&fake);
    client.send("POST", "/sse", &initialize().to_string());
    let head = client.head();
    assert_eq!((head.status, head.get("content-type")), (404, Some("text/html; charset=utf-8")));
}

#[test]
fn both_the_stream_and_the_post_can_fail() {
    let fake = Fake::http(json!({"transport": "sse", "on": {
        "tools/list": [{"status": 500, "body": "no"}],
        "ping": [{"cut": true}],
    }}));
    let (mut stream, path) = open(&fake);
    let mut client = Connection::to(&fake);
    assert_eq!(post(&mut client, &path, &request(1, "tools/list", json!({}))), 500);
    assert_eq!(post(&mut client, &path, &request(2, "ping", json!({}))), 202);
    assert_eq!(stream.event(), None);
}
