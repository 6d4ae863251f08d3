//! Streamable HTTP in both eras.

use serde_json::json;
use testkit::Fake;

use crate::client::{Connection, MODERN, call, initialize, modern, request};

#[test]
fn one_connection_serves_many_requests() {
    let fake = Fake::http(json!({}));
    let mut client = Connection::to(&fake);
    let (head, answer) = client.post(&initialize());
    assert_eq!((head.status, head.get("content-type")), (200, Some("application/json")));
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    let (head, _) = client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(head.status, 202);
    let (_, answer) = client.post(&call(1, "echo", json!({"text": "x"})));
    assert_eq!(answer["result"]["content"][0]["text"], "x");
    client.send("GET", "/mcp", "");
    let head = client.head();
    assert_eq!(head.status, 405);
    client.body(&head);
    client.send("GET", "/else", "");
    assert_eq!(client.head().status, 404);
    let log = fake.log();
    assert_eq!(log.iter().filter(|line| line.get("connection").is_some()).count(), 1);
    assert_eq!(log[1]["http"]["headers"]["content-type"], "application/json");
    assert_eq!((&log[4]["http"]["method"], log[4].get("message")), (&json!("GET"), None));
    assert_eq!(fake.methods(), ["initialize", "notifications/initialized", "tools/call"]);
}

#[test]
fn what_a_client_must_accept_is_checked() {
    let fake = Fake::http(json!({}));
    assert_eq!(Connection::to(&fake).with("Accept", "application/json").post(&initialize()).0.status, 406);
    assert_eq!(Connection::to(&fake).with("Content-Type", "text/plain").post(&initialize()).0.status, 415);
    let mut client = Connection::to(&fake);
    client.send("POST", "/mcp", "{");
    assert_eq!(client.head().status, 400);
}

#[test]
fn sessions_begin_and_end() {
    for (kind, code) in [(json!(true), 404), (json!("400"), 400)] {
        let fake = Fake::http(json!({"session": kind}));
        let mut client = Connection::to(&fake);
        assert_eq!(client.post(&request(1, "tools/list", json!({}))).0.status, 400);
        let (head, _) = client.post(&initialize());
        let session = head.get("mcp-session-id").unwrap().to_owned();
        let mut client = client.with("Mcp-Session-Id", &session);
        assert!(client.post(&request(2, "tools/list", json!({}))).1["result"].is_object());
        client.send("DELETE", "/mcp", "");
        let head = client.head();
        assert_eq!(head.status, 200);
        client.body(&head);
        let (head, answer) = client.post(&request(3, "tools/list", json!({})));
        assert_eq!((head.status, &answer["id"]), (code, &json!(null)));
    }
}

#[test]
fn an_answer_with_something_before_it_is_a_stream() {
    let fake = Fake::http(json!({}));
    let mut client = Connection::to(&fake);
    client.post(&initialize());
    let mut slow = call(1, "slow", json!({"ms": 120}));
    slow["params"]["_meta"] = json!({"progressToken": 7});
    client.send("POST", "/mcp", &slow.to_string());
    assert_eq!(client.head().get("content-type"), Some("text/event-stream"));
    assert_eq!(client.event_message()["params"]["progress"], 50);
    assert_eq!(client.event_message()["params"]["progress"], 100);
    assert_eq!(client.event_message()["id"], 1);
    assert_eq!(client.event(), None);
    // The question comes on the stream of the call, the answer with a request of its own.
    client.send("POST", "/mcp", &call(2, "ask", json!({})).to_string());
    client.head();
    let question = client.event_message();
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
    assert_eq!(Connection::to(&fake).post(&answer).0.status, 202);
    assert_eq!(client.event_message()["result"]["content"][0]["text"], r#"{"action":"accept"}"#);
}

#[test]
fn a_cancelled_call_has_no_answer() {
    let fake = Fake::http(json!({}));
    let mut client = Connection::to(&fake);
    client.post(&initialize());
    client.send("POST", "/mcp", &call(9, "slow", json!({"ms": 600_000})).to_string());
    fake.wait_for(|line| line["message"]["id"] == 9);
    let cancelled = json!({"method": "notifications/cancelled", "params": {"requestId": 9}});
    assert_eq!(Connection::to(&fake).post(&cancelled).0.status, 202);
    assert_eq!(client.head().status, 200);
    assert_eq!(client.event(), None);
}

#[test]
fn a_stream_that_was_lost_is_resumed() {
    let cut = json!([
        {"notify": {"method": "notifications/message", "params": {"data": 1}}},
        {"cut": true},
        {"result": {"late": true}},
    ]);
    let fake = Fake::http(json!({"answer": "sse", "resumable": true, "on": {"tools/call": cut}}));
    let mut client = Connection::to(&fake);
    client.post(&initialize());
    client.send("POST", "/mcp", &call(1, "echo", json!({})).to_string());
    client.head();
    let first = client.event().unwrap();
    assert!(first.starts_with("id: ") && first.ends_with("data:"), "{first}");
    let second = client.event().unwrap();
    assert_eq!(client.event(), None);
    let id = second.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let mut client = Connection::to(&fake).with("Last-Event-ID", id);
    client.send("GET", "/mcp", "");
    assert_eq!(client.head().status, 200);
    let answer = client.event_message();
    assert_eq!((&answer["id"], &answer["result"]), (&json!(1), &json!({"late": true})));
    assert_eq!(client.event(), None);
}

#[test]
fn a_listener_hears_notifications() {
    let changed = json!([{"broadcast": {"method": "notifications/tools/list_changed"}}, {"default": true}]);
    let fake = Fake::http(json!({"listen": true, "on": {"tools/list": changed}}));
    let mut listener = Connection::to(&fake);
    listener.send("GET", "/mcp", "");
    assert_eq!(listener.head().status, 200);
    let mut client = Connection::to(&fake);
    client.post(&initialize());
    let (head, answer) = client.post(&request(1, "tools/list", json!({})));
    assert_eq!((head.get("content-type"), &answer["id"]), (Some("application/json"), &json!(1)));
    assert_eq!(listener.event_message()["method"], "notifications/tools/list_changed");
}

#[test]
fn headers_must_say_what_the_body_says() {
    let fake = Fake::http(json!({"era": "modern", "tools": [{"name": "é"}]}));
    let client = || Connection::to(&fake).with("MCP-Protocol-Version", MODERN);
    let list = modern(1, "tools/list", json!({}));
    let status = |mut client: Connection, message: &serde_json::Value| {
        let (head, answer) = client.post(message);
        (head.status, answer["error"]["code"].as_i64().unwrap_or(0))
    };
    assert_eq!(status(client().with("Mcp-Method", "tools/list"), &list), (200, 0));
    assert_eq!(status(client(), &list), (400, -32020));
    assert_eq!(status(client().with("Mcp-Method", "tools/call"), &list), (400, -32020));
    assert_eq!(status(Connection::to(&fake).with("Mcp-Method", "tools/list"), &list), (400, -32020));
    assert_eq!(status(client(), &request(1, "tools/list", json!({}))), (400, -32602));
    assert_eq!(status(client().with("Mcp-Method", "x/y"), &modern(1, "x/y", json!({}))), (404, -32601));
    assert_eq!(status(Connection::to(&fake), &initialize()), (404, -32601));
    let tool = modern(1, "tools/call", json!({"name": "é"}));
    assert_eq!(status(client().with("Mcp-Method", "tools/call"), &tool), (400, -32020));
    let named = client().with("Mcp-Method", "tools/call").with("Mcp-Name", "=?base64?w6k=?=");
    assert_eq!(status(named, &tool), (200, 0));
    for verb in ["GET", "DELETE"] {
        let mut client = client();
        client.send(verb, "/mcp", "");
        assert_eq!(client.head().status, 405);
    }
}

#[test]
fn in_the_new_era_to_go_away_is_to_cancel() {
    let fake = Fake::http(json!({"era": "modern"}));
    let client =
        || Connection::to(&fake).with("MCP-Protocol-Version", MODERN).with("Mcp-Method", "tools/call");
    let mut slow = client().with("Mcp-Name", "slow");
    let message = modern(1, "tools/call", json!({"name": "slow", "arguments": {"ms": 600_000}}));
    slow.send("POST", "/mcp", &message.to_string());
    fake.wait_for(|line| line["message"]["id"] == 1);
    drop(slow);
    fake.wait_for(|line| line["closed"] == 1);
}

#[test]
fn a_body_may_come_in_chunks() {
    use std::io::Write;
    let fake = Fake::http(json!({}));
    let mut client = Connection::to(&fake);
    let body = initialize().to_string();
    let head = "POST /mcp HTTP/1.1\r\nAccept: application/json, text/event-stream\r\n\
        Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (a, b) = body.split_at(20);
    let text = format!("{head}{:x}\r\n{a}\r\n{:x}\r\n{b}\r\n0\r\n\r\n", a.len(), b.len());
    client.reader.get_mut().write_all(text.as_bytes()).unwrap();
    assert_eq!(client.head().status, 200);
}
