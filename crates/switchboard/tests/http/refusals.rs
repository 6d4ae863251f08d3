//! Statuses, pages and broken connections that say no, and what may be said again.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::declared::Remote;
use switchboard::problem::Explain;
use switchboard::wire::{Cause, Failure, Link, Obstacle, Sent};
use tempfile::TempDir;
use testkit::connect::{http, patient, terms};
use testkit::{Fake, PATIENCE};

use crate::{call, count, dial, echo, fail, open, said};

fn status(status: u16, retry_after: Option<&str>) -> Value {
    match retry_after {
        Some(after) => json!({"status": status, "headers": {"Retry-After": after}, "body": "later"}),
        None => json!({"status": status, "body": "later"}),
    }
}

/// A server on the counter of which one sees how often a call was made.
struct Counted {
    fake: Fake,
    link: Link,
    directory: TempDir,
}

impl Counted {
    async fn open(script: Value) -> Self {
        let directory = TempDir::new().unwrap();
        let counter = directory.path().join("counter");
        let fake = Fake::with_vars(script, &[("FAKE_COUNTER", counter.to_str().unwrap())]);
        let link = dial(fake.url(), Remote::Http, &terms()).await.unwrap();
        Self { fake, link, directory }
    }

    fn calls(&self) -> usize {
        fs::read_to_string(self.directory.path().join("counter")).unwrap_or_default().lines().count()
    }
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again_after_its_pause() {
    for after in [Some("0"), Some("1"), Some("0.2"), None] {
        for era in ["legacy", "modern"] {
            let script = json!({"era": era, "on": {"tools/call": {"times": [[status(429, after)], [{"default": true}]]}}});
            let counted = Counted::open(script).await;
            let start = Instant::now();
            assert_eq!(said(&call(&counted.link, "count", json!({})).await.unwrap()), "1");
            let waited = start.elapsed();
            assert!(after != Some("1") || waited >= Duration::from_secs(1), "{waited:?}");
            assert!(waited < Duration::from_secs(8), "{waited:?}");
            assert_eq!((counted.calls(), count(&counted.fake, "tools/call")), (1, 2), "{after:?} {era}");
        }
    }
}

#[tokio::test]
async fn a_server_that_is_always_busy_is_given_up() {
    let (fake, link) = open(json!({"on": {"tools/call": [status(429, Some("0"))]}})).await;
    let error = echo(&link, "x").await.unwrap_err();
    assert!(matches!(error.cause, Cause::Http { status: 429, .. }), "{error:?}");
    assert_eq!((error.sent, error.is_transient(), count(&fake, "tools/call")), (Sent::Never, true, 4));

    // A pause longer than anybody waits is not begun.
    let script = json!({"on": {"tools/call": [status(429, Some("86400"))]}});
    let (fake, link) = http(script, &patient()).await;
    let start = Instant::now();
    let error = echo(&link.unwrap(), "x").await.unwrap_err();
    let Cause::Http { retry_after, .. } = error.cause else { panic!("{error:?}") };
    assert_eq!(retry_after, Some(Duration::from_hours(24)));
    assert!(start.elapsed() < PATIENCE);
    assert_eq!(count(&fake, "tools/call"), 1);
}

#[tokio::test]
async fn what_is_no_pause_does_no_harm() {
    let mut runs = tokio::task::JoinSet::new();
    for after in ["soon", "-1", "NaN", "inf", "1e300", "Wed, 21 Oct 2015 07:28:00 GMT", ""] {
        runs.spawn(async move {
            let times = json!([[status(429, Some(after))], [{"default": true}]]);
            let (fake, link) = open(json!({"on": {"tools/list": {"times": times}}})).await;
            assert_eq!(link.tools().await.unwrap().items.len(), 7, "{after}");
            assert_eq!(count(&fake, "tools/list"), 2, "{after}");
        });
    }
    runs.join_all().await;
}

#[tokio::test]
async fn a_server_that_is_down_for_now_is_asked_again_for_what_can_be_asked_twice() {
    let script = json!({"on": {
        "tools/list": {"times": [[status(503, Some("0"))], [{"default": true}]]},
        "tools/call": {"times": [[status(503, Some("0"))], [{"default": true}]]},
    }});
    let counted = Counted::open(script).await;
    assert_eq!(counted.link.tools().await.unwrap().items.len(), 7);
    assert_eq!(count(&counted.fake, "tools/list"), 2);
    // A call could be made twice.
    let error = call(&counted.link, "count", json!({})).await.unwrap_err();
    assert!(
        matches!(error.cause, Cause::Http { status: 503, .. }) && error.is_outcome_unknown(),
        "{error:?}"
    );
    assert_eq!((counted.calls(), count(&counted.fake, "tools/call")), (0, 1));

    // Without a word about when, nobody waits.
    let (fake, link) = open(json!({"on": {"tools/list": [status(503, None)]}})).await;
    assert!(link.tools().await.is_err());
    assert_eq!(count(&fake, "tools/list"), 1);
}

#[tokio::test]
async fn a_call_is_never_made_twice_whatever_happens_to_its_answer() {
    for action in [
        json!([{"default": true}, {"cut": true}]),
        json!([{"cut_after": 0}]),
        json!([{"cut_after": 20}]),
        json!([{"cut_after": {"body": 10}}]),
        json!([{"status": 500, "body": "oops"}]),
        json!([{"status": 502, "body": "oops"}]),
        json!([{"status": 503, "headers": {"Retry-After": "0"}}]),
        json!([{"status": 504}]),
        json!([{"cut": true}]),
        json!([{"raw": "no HTTP at all\r\n\r\n"}, {"cut": true}]),
    ] {
        for era in ["legacy", "modern"] {
            let counted = Counted::open(json!({"era": era, "on": {"tools/call": action}})).await;
            // A connection that is used for the second time is where clients like to repeat.
            counted.link.tools().await.unwrap();
            let answer = call(&counted.link, "count", json!({})).await;
            assert!(counted.calls() <= 1, "{era} {action}");
            assert_eq!(count(&counted.fake, "tools/call"), 1, "{era} {action}: {answer:?}");
            if let Err(error) = answer {
                assert!(error.is_outcome_unknown(), "{era} {action}: {error:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_that_is_an_answer_in_the_protocol_is_that_answer() {
    for code in [400, 409, 500, 503] {
        let body =
            json!({"jsonrpc": "2.0", "id": "$id", "error": {"code": -32603, "message": "broken inside"}});
        let (_fake, link) = open(json!({"on": {"tools/call": [{"status": code, "body": body}]}})).await;
        let error = echo(&link, "x").await.unwrap_err();
        assert_eq!(crate::rpc(&error), Some(-32603), "{code}");
        assert!(!error.is_outcome_unknown());
    }
}

#[tokio::test]
async fn a_login_may_be_wanted_at_any_time() {
    for era in ["legacy", "modern"] {
        for code in [401, 403] {
            let refusal = json!({"status": code, "headers": {"WWW-Authenticate": "Bearer scope=\"more\""}, "body":
                {"jsonrpc": "2.0", "id": "$id", "error": {"code": 1, "message": "no"}}});
            let script = json!({"era": era, "session": true, "on": {"tools/call": {"times": [[refusal], [{"default": true}]]}}});
            let (fake, link) = open(script).await;
            let error = echo(&link, "x").await.unwrap_err();
            assert_eq!(
                error.cause,
                Cause::Unauthorized {
                    status: code,
                    challenge: Some("Bearer scope=\"more\"".to_owned()),
                    why: None
                }
            );
            assert_eq!((error.sent, error.code()), (Sent::Never, "login-needed"));
            assert_eq!(count(&fake, "tools/call"), 1);
            assert_eq!(echo(&link, "fine").await.unwrap(), "fine");
        }
    }
}

#[tokio::test]
async fn a_page_is_not_mistaken_for_a_server() {
    // As a hotel does: every request gets the page on which one pays.
    let page = json!([{"status": 200, "headers": {"Content-Type": "text/html; charset=utf-8"}, "body": "<html>Pay here</html>"}]);
    let (_fake, failure) = fail(json!({"on": {"*": page, "GET": page}})).await;
    assert_eq!(failure.error.cause, Cause::NotMcp { content_type: "text/html".to_owned() });
    assert_eq!(failure.error.code(), "not-mcp");
    assert!(failure.error.hint().is_some() && failure.error.to_string().contains("text/html"));
}

#[tokio::test]
async fn an_answer_of_another_kind_or_without_an_answer_says_so() {
    let json_type = json!({"Content-Type": "application/json"});
    for (what, action, code) in [
        ("a page", json!({"status": 200, "headers": {"Content-Type": "text/html"}, "body": "x"}), "not-mcp"),
        ("plain text", json!({"status": 200, "body": "x"}), "not-mcp"),
        ("nothing", json!({"status": 204}), "answer-cut-off"),
        ("an empty body", json!({"status": 200, "headers": json_type, "body": ""}), "malformed-answer"),
        ("no JSON", json!({"status": 200, "headers": json_type, "body": "{"}), "malformed-answer"),
        ("no message", json!({"status": 200, "body": {"hello": 1}}), "malformed-answer"),
        ("an empty list", json!({"status": 200, "body": []}), "malformed-answer"),
        (
            "a notification alone",
            json!({"status": 200, "body": {"jsonrpc": "2.0", "method": "notifications/x"}}),
            "malformed-answer",
        ),
    ] {
        for era in ["legacy", "modern"] {
            let (fake, link) = open(json!({"era": era, "on": {"tools/call": [action]}})).await;
            let error = echo(&link, "x").await.unwrap_err();
            assert_eq!((error.code(), error.is_outcome_unknown()), (code, true), "{what}: {error:?}");
            assert_eq!(count(&fake, "tools/call"), 1);
        }
    }
    // A type with parameters and in capitals is still the type.
    let headers = json!({"Content-Type": "Application/JSON; charset=UTF-8"});
    let body =
        json!({"jsonrpc": "2.0", "id": "$id", "result": {"content": [{"type": "text", "text": "fine"}]}});
    let (_fake, link) =
        open(json!({"on": {"tools/call": [{"status": 200, "headers": headers, "body": body}]}})).await;
    assert_eq!(echo(&link, "x").await.unwrap(), "fine");
}

#[tokio::test]
async fn nobody_at_home() {
    let (mut fake, link) = open(json!({})).await;
    fake.stop();
    let error = echo(&link, "x").await.unwrap_err();
    let Cause::Unreachable { step, url, .. } = &error.cause else { panic!("{error:?}") };
    assert!(matches!(step, Obstacle::Connect | Obstacle::Transfer), "{error:?}");
    assert_eq!(url, fake.url());
    // By now it is known that the old connection is gone, so nothing leaves.
    let error = echo(&link, "x").await.unwrap_err();
    assert!(matches!(error.cause, Cause::Unreachable { step: Obstacle::Connect, .. }), "{error:?}");
    assert_eq!((error.sent, error.is_outcome_unknown()), (Sent::Never, false));
}

async fn unreachable(url: &str) -> (Box<Failure>, Obstacle) {
    let failure = dial(url, Remote::Http, &terms()).await.unwrap_err();
    let Cause::Unreachable { step, .. } = failure.error.cause else { panic!("{failure:?}") };
    assert_eq!(failure.error.sent, Sent::Never, "{failure:?}");
    assert_eq!(failure.error.code(), "unreachable");
    assert!(failure.error.is_transient());
    (failure, step)
}

#[tokio::test]
async fn each_obstacle_on_the_way_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap().port();
    drop(listener);
    let (failure, step) = unreachable(&format!("http://127.0.0.1:{closed}/mcp")).await;
    assert_eq!(step, Obstacle::Connect, "{failure:?}");

    let (failure, step) = unreachable("http://nonexistent.invalid/mcp").await;
    assert_eq!(step, Obstacle::Dns, "{failure:?}");
    assert!(failure.error.to_string().contains("nonexistent.invalid"));

    // A server that speaks plain text where encryption is expected.
    let (failure, step) =
        unreachable(&format!("https://{}/mcp", answering(b"HTTP/1.1 400 Bad Request\r\n\r\n"))).await;
    assert_eq!(step, Obstacle::NoTls, "{failure:?}");
    assert!(failure.error.to_string().ends_with("/mcp: it does not speak TLS there"), "{failure:?}");
    assert_eq!(failure.error.hint().unwrap(), "is it `http://`?");

    // One that takes the connection and hangs up.
    let failure = dial(&format!("http://{}/mcp", answering(b"")), Remote::Http, &terms()).await.unwrap_err();
    assert!(
        matches!(failure.error.cause, Cause::Unreachable { step: Obstacle::Transfer, .. }),
        "{failure:?}"
    );
}

/// Where somebody says always the same, and hangs up.
fn answering(words: &'static [u8]) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the test.
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _talk = stream.read(&mut [0; 4096]).and_then(|_| stream.write_all(words));
        }
    });
    address
}
