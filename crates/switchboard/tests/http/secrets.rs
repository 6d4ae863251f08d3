//! Secrets of ours that a server repeats: never in an error, a step or a trace, however the connection fails.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::declared::Remote;
use switchboard::problem::Explain;
use switchboard::wire::{self, Error, Steps, Terms, Trace};
use testkit::Fake;
use testkit::connect::{address, terms};
use tokio::task::JoinSet;

use crate::{echo, impatient};

const KEY: &str = "canary-header-8f3b1c77e2";
const TOKEN: &str = "canary-query-55ab90d1c4";

/// A file in memory.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Buffer {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// Everything a failure can be shown as.
fn shown(error: &Error) -> String {
    format!("{error} {error:?} {error:#?} {:?} {:?}", error.message(), error.hint())
}

fn assert_clean(what: &str, text: &str) {
    for secret in [KEY, TOKEN] {
        assert!(!text.contains(secret), "{what} shows {secret}: {text}");
        // Half of one is too much as well.
        assert!(!text.contains(&secret[..secret.len() - 3]), "{what} shows most of {secret}: {text}");
    }
}

/// Opens such a server with secrets in a header and in the address, makes a call, and gives all that can be seen.
async fn seen(script: Value, kind: Remote) -> (String, Option<Error>) {
    let fake = Fake::http(script);
    let buffer = Buffer::default();
    let terms = Terms {
        trace: Some(Arc::new(Trace::new(Box::new(buffer.clone())))),
        steps: Arc::new(Steps::new(None)),
        startup: Some(Duration::from_secs(4)),
        ..impatient(1500)
    };
    let url = format!("{}?token={TOKEN}", fake.url());
    let launch = address(&url, kind, &[("Authorization", &format!("Bearer {KEY}"))]).await;
    let mut all = format!("{launch:?} {terms:?}");
    let error = match wire::open(&launch, &terms).await {
        Ok(link) => {
            all.push_str(&format!("{link:?}"));
            echo(&link, "x").await.err()
        }
        Err(failure) => {
            all.push_str(&format!("{failure:?} {failure:#?} {} {:?}", failure.stderr, failure.noise));
            Some(failure.error)
        }
    };
    all.push_str(&error.as_ref().map(shown).unwrap_or_default());
    all.push_str(&format!("{:?}", terms.steps.taken()));
    all.push_str(&buffer.text());
    (all, error)
}

/// What a server says that repeats what it was sent.
fn echoed() -> String {
    format!("not allowed: Bearer {KEY} at ?token={TOKEN}, I said {KEY}")
}

fn failures() -> Vec<(&'static str, Value)> {
    let error = json!({"jsonrpc": "2.0", "id": "$id", "error": {"code": -5, "message": echoed(), "data": {"header": echoed(), "n": [KEY]}}});
    vec![
        ("an error in the protocol", json!([{"status": 200, "body": error}])),
        ("an error with a status", json!([{"status": 400, "body": error}])),
        ("a page", json!([{"status": 500, "body": echoed()}])),
        (
            "a page cut in the middle of it",
            json!([{"status": 500, "body": format!("{}{}", "x".repeat(285), KEY)}]),
        ),
        (
            "a login",
            json!([{"status": 401, "headers": {"WWW-Authenticate": format!("Bearer error=\"{KEY}\"")}, "body": echoed()}]),
        ),
        (
            "a redirect",
            json!([{"redirect": {"status": 307, "location": format!("http://127.0.0.1:9/{KEY}?token={TOKEN}")}}]),
        ),
        (
            "another type",
            json!([{"status": 200, "headers": {"Content-Type": format!("text/{KEY}")}, "body": echoed()}]),
        ),
        (
            "no JSON",
            json!([{"status": 200, "headers": {"Content-Type": "application/json"}, "body": echoed()}]),
        ),
        ("no message", json!([{"status": 200, "body": {"hello": echoed()}}])),
        (
            "a method of that name",
            json!([{"status": 200, "body": {"jsonrpc": "2.0", "method": KEY, "params": {"a": TOKEN}}}]),
        ),
        (
            "a stream that is cut",
            json!([{"sse": [{"data": echoed()}, {"id": KEY, "data": ""}, {"cut": true}]}]),
        ),
        ("no HTTP", json!([{"raw": format!("{}\r\n\r\n", echoed())}, {"cut": true}])),
        ("a broken header", json!([{"raw": format!("HTTP/1.1 200 {KEY}\r\n{KEY}\r\n\r\n")}, {"cut": true}])),
        ("busy", json!([{"status": 429, "headers": {"Retry-After": "0"}, "body": echoed()}])),
        ("a strange result", json!([{"result": {"resultType": KEY, "protocolVersion": KEY}}])),
    ]
}

#[tokio::test]
async fn a_failed_opening_shows_no_secret() {
    let mut runs = JoinSet::new();
    for (what, action) in failures() {
        runs.spawn(async move {
            let (all, error) = seen(json!({"on": {"*": action, "GET": action}}), Remote::Http).await;
            assert!(error.is_some(), "{what}");
            assert_clean(what, &all);
        });
    }
    runs.join_all().await;
}

#[tokio::test]
async fn a_failed_call_shows_no_secret() {
    for era in ["legacy", "modern"] {
        for (what, action) in failures() {
            let (all, error) = seen(json!({"era": era, "on": {"tools/call": action}}), Remote::Http).await;
            // An old server may answer with whatever it likes.
            assert!(error.is_some() || what == "a strange result", "{era}: {what}");
            assert!(all.contains("tools/call"), "the trace has it: {all}");
            assert_clean(what, &all);
        }
    }
}

#[tokio::test]
async fn the_older_kind_shows_no_secret_either() {
    let mut runs = JoinSet::new();
    for (what, action) in failures() {
        runs.spawn(async move {
            let script = json!({"transport": "sse", "on": {"GET": action, "POST": action}});
            let (all, error) = seen(script, Remote::Sse).await;
            assert!(error.is_some(), "{what}");
            assert_clean(what, &all);
            let (all, _) = seen(json!({"transport": "sse", "on": {"tools/call": action}}), Remote::Sse).await;
            assert_clean(what, &all);
        });
    }
    runs.join_all().await;
}

#[tokio::test]
async fn a_server_that_is_not_there_shows_no_secret() {
    for url in
        ["http://127.0.0.1:1/mcp", "http://nonexistent.invalid.localhost:1/mcp", "https://127.0.0.1:1/mcp"]
    {
        let steps = Arc::new(Steps::new(None));
        let terms = Terms { steps: Arc::clone(&steps), ..terms() };
        let launch = address(&format!("{url}?token={TOKEN}"), Remote::Http, &[("X-Api-Key", KEY)]).await;
        let failure = wire::open(&launch, &terms).await.unwrap_err();
        assert_clean(url, &format!("{failure:?}{}{:?}", shown(&failure.error), steps.taken()));
    }
}
