//! Streamable HTTP taken for the older kind, the older kind taken for Streamable HTTP, and the older kind as such.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::declared::Remote;
use switchboard::notice::Notice;
use switchboard::wire::{Cause, Era, Link, Sent};
use testkit::Fake;
use testkit::connect::terms;

use crate::{call, count, dial, echo, eventually, said, verbs};

async fn old(mut script: Value) -> (Fake, Link) {
    script["transport"] = json!("sse");
    let fake = Fake::http(script);
    let link = dial(fake.url(), Remote::Sse, &terms()).await.unwrap();
    (fake, link)
}

#[tokio::test]
async fn an_address_of_the_older_kind_is_found_out_whatever_it_says_to_a_post() {
    for status in [400, 404, 405] {
        let fake = Fake::http(json!({"transport": "sse", "post_status": status}));
        let link = dial(fake.url(), Remote::Http, &terms()).await.unwrap();
        assert_eq!((link.transport(), link.facts().era), ("sse", Era::Handshake), "{status}");
        assert_eq!(echo(&link, "hello").await.unwrap(), "hello");
        assert_eq!(link.tools().await.unwrap().items.len(), 7);
    }
}

#[tokio::test]
async fn an_address_of_the_newer_kind_is_found_out_as_well() {
    for era in ["legacy", "modern", "both"] {
        let fake = Fake::http(json!({"era": era, "session": true}));
        let link = dial(fake.url(), Remote::Sse, &terms()).await.unwrap();
        assert_eq!(link.transport(), "http", "{era}");
        assert_eq!(echo(&link, "hello").await.unwrap(), "hello", "{era}");
    }
}

#[tokio::test]
async fn an_address_of_neither_kind_gives_the_error_of_the_kind_that_was_asked_for() {
    let page =
        json!([{"status": 404, "headers": {"Content-Type": "text/html"}, "body": "<html>nothing</html>"}]);
    for kind in [Remote::Http, Remote::Sse] {
        let fake = Fake::http(json!({"on": {"*": page, "GET": page}}));
        let failure = dial(fake.url(), kind, &terms()).await.unwrap_err();
        assert!(matches!(failure.error.cause, Cause::Http { status: 404, .. }), "{failure:?}");
        assert_eq!(verbs(&fake, "GET").len(), 1);
    }
}

#[tokio::test]
async fn a_login_wanted_by_the_other_kind_is_what_is_told() {
    let script = json!({"on": {"*": [{"status": 405}], "GET": [{"status": 401, "headers": {"WWW-Authenticate": "Bearer x=y"}}]}});
    let fake = Fake::http(script);
    let failure = dial(fake.url(), Remote::Http, &terms()).await.unwrap_err();
    assert!(failure.error.needs_login(), "{failure:?}");
}

#[tokio::test]
async fn a_whole_conversation_on_the_older_kind() {
    let script = json!({
        "resources": [{"uri": "mem://a", "name": "a", "text": "A"}],
        "prompts": [{"name": "p", "messages": [{"role": "user", "content": {"type": "text", "text": "P"}}]}],
        "page_size": 2,
        "on": {"ping": [{"broadcast": {"method": "notifications/tools/list_changed"}}, {"default": true}]},
    });
    let (fake, link) = old(script).await;
    assert_eq!(link.tools().await.unwrap().items.len(), 7);
    assert_eq!(link.resources().await.unwrap().items.len(), 1);
    assert_eq!(link.read("mem://a").await.unwrap().contents.len(), 1);
    assert_eq!(link.prompt("p", &[]).await.unwrap().messages.len(), 1);
    let (slow, quick) = tokio::join!(call(&link, "slow", json!({"ms": 200})), echo(&link, "quick"));
    assert_eq!((said(&slow.unwrap()), quick.unwrap()), ("waited 200 ms".to_owned(), "quick".to_owned()));
    // A question of the server, answered by a POST of ours: nobody is there, so it is declined.
    let asked = call(&link, "ask", json!({})).await.unwrap();
    assert_eq!(said(&asked), r#"{"action":"decline"}"#);
    assert_eq!(link.notice().await, Notice::Asked);
    link.ping().await.unwrap();
    assert_eq!(link.notice().await, Notice::ToolsChanged);
    assert_eq!(verbs(&fake, "GET").len(), 1);
    assert_eq!((count(&fake, "initialize"), count(&fake, "server/discover")), (1, 0));
    for line in verbs(&fake, "POST") {
        assert!(line["http"]["path"].as_str().unwrap().starts_with("/message?session="), "{line}");
    }
}

#[tokio::test]
async fn a_call_on_the_older_kind_is_cancelled_by_word() {
    let (fake, link) = old(json!({})).await;
    let slow = call(&link, "slow", json!({"ms": 60_000}));
    let given_up = tokio::time::timeout(Duration::from_millis(300), slow).await;
    assert!(given_up.is_err());
    let told = eventually(&fake, |line| line["message"]["method"] == "notifications/cancelled").await;
    let id = &crate::lines(&fake, "tools/call")[0]["message"]["id"];
    assert_eq!(&told["message"]["params"]["requestId"], id);
    assert_eq!(echo(&link, "still here").await.unwrap(), "still here");
}

#[tokio::test]
async fn calls_end_when_the_one_stream_does() {
    for end in [json!({"cut": true}), json!({"exit": 1})] {
        let (_fake, link) = old(json!({"on": {"ping": [end]}})).await;
        let slow = call(&link, "slow", json!({"ms": 60_000}));
        let (slow, _ping) = tokio::join!(slow, link.ping());
        let error = slow.unwrap_err();
        assert_eq!((error.cause.clone(), error.sent), (Cause::Closed, Sent::Maybe), "{end}");
        assert!(!link.is_up());
        assert!(link.lost().await.is_lost());
        let error = echo(&link, "x").await.unwrap_err();
        assert_eq!(error.sent, Sent::Never);
    }
}

#[tokio::test]
async fn an_error_at_the_message_address_is_an_error_of_that_message() {
    let (_fake, link) = old(json!({"on": {"tools/call": {"times": [
        [{"status": 500, "body": "oops"}], [{"status": 404, "body": "gone"}], [{"status": 401}], [{"default": true}],
    ]}}}))
    .await;
    let error = echo(&link, "x").await.unwrap_err();
    assert!(
        matches!(error.cause, Cause::Http { status: 500, .. }) && error.is_outcome_unknown(),
        "{error:?}"
    );
    let error = echo(&link, "x").await.unwrap_err();
    assert!(matches!(error.cause, Cause::Http { status: 404, .. }) && error.sent == Sent::Never, "{error:?}");
    assert!(echo(&link, "x").await.unwrap_err().needs_login());
    assert_eq!(echo(&link, "fine").await.unwrap(), "fine");
}

/// A stream of the older kind that begins with these events and stays open.
fn stream(events: &[Value]) -> Value {
    let steps: Vec<Value> = events.iter().cloned().chain([json!({"hang": true})]).collect();
    json!({"transport": "sse", "on": {"GET": [{"sse": steps}]}})
}

fn endpoint(address: &str) -> Value {
    json!({"event": "endpoint", "data": address})
}

#[tokio::test]
async fn messages_never_go_to_a_foreign_address() {
    let trap = Fake::http(json!({"session": true}));
    let host = trap.url().strip_prefix("http://").unwrap().to_owned();
    for foreign in [
        trap.url().to_owned(),
        format!("//{host}"),
        format!("http://user:password@{host}"),
        "https://127.0.0.1/message".to_owned(),
        "ftp://127.0.0.1/message".to_owned(),
        "data:text/plain,x".to_owned(),
    ] {
        let fake = Fake::http(stream(&[endpoint(&foreign)]));
        let failure = dial(fake.url(), Remote::Sse, &terms()).await.unwrap_err();
        let Cause::Redirected { from, to } = &failure.error.cause else { panic!("{foreign}: {failure:?}") };
        assert!(from.contains("/sse") && !to.contains("password"), "{from} {to}");
        assert_eq!(verbs(&fake, "POST").len(), 0, "{foreign}");
    }
    assert_eq!(trap.log(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_server_does_not_choose_a_login_for_us() {
    // The same origin, so the port must be known before the stream is written: no scripted server can do that.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap();
    let (tell, requests) = std::sync::mpsc::channel();
    // It ends with the test.
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap_or(0);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
            let event = format!("event: endpoint\ndata: http://user:password@{host}/message\n\n");
            let _gone = stream.write_all(format!("{head}{event}").as_bytes());
            let _over = tell.send(String::from_utf8_lossy(&request[..length]).into_owned());
        }
    });
    let failure = dial(&format!("http://{host}/sse"), Remote::Sse, &terms()).await.unwrap_err();
    let Cause::Redirected { to, .. } = &failure.error.cause else { panic!("{failure:?}") };
    assert!(!format!("{failure:?}").contains("password") && to.contains("/message"), "{to}");
    let first: String = requests.recv_timeout(testkit::PATIENCE).unwrap();
    assert!(first.starts_with("GET /sse "), "{first}");
    assert_eq!(requests.try_iter().count(), 0);
}

#[tokio::test]
async fn a_second_address_does_not_move_the_conversation() {
    let trap = Fake::http(json!({}));
    let script = json!({"transport": "sse", "on": {"tools/list": [
        {"raw": format!("event: endpoint\ndata: {}\n\nevent: endpoint\ndata: /elsewhere\n\n", trap.url())}, {"default": true},
    ]}});
    let fake = Fake::http(script);
    let link = dial(fake.url(), Remote::Sse, &terms()).await.unwrap();
    assert_eq!(link.tools().await.unwrap().items.len(), 7);
    assert_eq!(echo(&link, "hello").await.unwrap(), "hello");
    assert_eq!(trap.log(), Vec::<Value>::new());
    assert!(
        verbs(&fake, "POST")
            .iter()
            .all(|line| line["http"]["path"].as_str().unwrap().starts_with("/message"))
    );
}

#[tokio::test]
async fn a_stream_that_does_not_begin_with_an_address_is_none_of_ours() {
    for events in [
        vec![json!({"data": {"hello": 1}})],
        vec![endpoint("")],
        vec![json!({"raw": "event: endpoint\ndata: http://[\n\n"})],
    ] {
        let fake = Fake::http(stream(&events));
        let opened = dial(fake.url(), Remote::Sse, &crate::impatient(1000)).await;
        if let Ok(link) = &opened {
            panic!("{events:?}: {:?}", link.facts());
        }
    }
}
