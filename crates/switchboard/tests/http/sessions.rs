//! Sessions of the handshake protocol: carried along, ended, lost and renewed.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use switchboard::declared::Remote;
use switchboard::notice::Notice;
use switchboard::wire::{Cause, Era, Sent, Terms};
use tempfile::TempDir;
use testkit::Fake;
use testkit::connect::terms;

use crate::{call, count, dial, echo, header, lines, open, said, verbs};

/// A server that forgets its sessions when it is pinged, after it has answered.
fn forgetful(session: &Value) -> Value {
    json!({"session": session, "on": {"ping": [{"default": true}, {"forget": true}]}})
}

#[tokio::test]
async fn the_session_is_named_in_everything_after_the_handshake_and_ended_at_the_end() {
    let (fake, link) = open(json!({"session": true, "listen": true})).await;
    link.tools().await.unwrap();
    assert_eq!(echo(&link, "x").await.unwrap(), "x");
    link.ping().await.unwrap();
    link.stop().await;
    let mut ids = BTreeSet::new();
    for line in fake.log().iter().filter(|line| line.get("http").is_some()) {
        let method = line["message"]["method"].as_str().unwrap_or_default();
        let session = header(line, "mcp-session-id");
        let is_before = matches!(method, "server/discover" | "initialize");
        assert_eq!(session.is_none(), is_before, "{line}");
        assert_eq!(header(line, "mcp-protocol-version").is_none(), method == "initialize", "{line}");
        ids.extend(session);
    }
    assert_eq!(ids.len(), 1);
    assert_eq!((verbs(&fake, "GET").len(), verbs(&fake, "DELETE").len()), (1, 1));
    assert_eq!(echo(&link, "x").await.unwrap_err().cause, Cause::Stopped);
}

#[tokio::test]
async fn there_is_nothing_to_end_without_a_session() {
    for era in ["legacy", "modern"] {
        let (fake, link) = open(json!({"era": era})).await;
        link.stop().await;
        assert_eq!(verbs(&fake, "DELETE").len(), 0, "{era}");
    }
}

#[tokio::test]
async fn an_end_the_server_does_not_want_to_hear_of_is_no_error_and_takes_no_time() {
    for action in [json!({"status": 405}), json!({"status": 500}), json!({"hang": true})] {
        let start = std::time::Instant::now();
        let (fake, link) = open(json!({"session": true, "on": {"DELETE": [action]}})).await;
        link.stop().await;
        assert_eq!(verbs(&fake, "DELETE").len(), 1);
        assert!(start.elapsed().as_secs() < 8, "{:?}", start.elapsed());
    }
}

#[tokio::test]
async fn a_lost_session_is_renewed_whatever_the_loss_looks_like() {
    let refusal = |status: u16, body: Value| {
        json!({"session": true, "on": {"tools/call": {"times": [
            [{"forget": true}, {"status": status, "body": body}], [{"default": true}],
        ]}}})
    };
    let error = |code: i32, id: Value| json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "Session terminated"}});
    for (what, script) in [
        ("404", forgetful(&json!(true))),
        ("400 with an error without id", forgetful(&json!("400"))),
        ("404 with -32600", refusal(404, error(-32600, json!("server-error")))),
        ("404 with -32001", refusal(404, error(-32001, json!("$id")))),
        ("404 without anything", refusal(404, json!(""))),
        ("400 in plain words", refusal(400, json!("Bad Request: unknown Session"))),
    ] {
        let (fake, link) = open(script).await;
        let first = link.ping().await;
        assert!(first.is_ok(), "{what}: {first:?}");
        assert_eq!(echo(&link, "hello").await.unwrap(), "hello", "{what}");
        assert_eq!(count(&fake, "initialize"), 2, "{what}");
        assert_eq!(count(&fake, "notifications/initialized"), 2, "{what}");
        assert_eq!(count(&fake, "tools/call"), 2, "{what}");
        assert_eq!(link.notice().await, Notice::SessionRenewed, "{what}");
        let renewed = &lines(&fake, "initialize")[1];
        assert_eq!(header(renewed, "mcp-session-id"), None, "{what}");
        let calls: Vec<_> =
            lines(&fake, "tools/call").iter().map(|line| header(line, "mcp-session-id")).collect();
        assert_ne!(calls[0], calls[1], "{what}");
        assert!(calls.iter().all(Option::is_some), "{what}");
    }
}

#[tokio::test]
async fn a_renewed_session_is_listened_to_once() {
    let said = json!({"method": "notifications/message", "params": {"level": "info", "data": "once"}});
    let script = json!({"session": true, "listen": true, "on": {
        "ping": {"times": [[{"default": true}, {"forget": true}], [{"broadcast": said}, {"default": true}]]},
    }});
    let (fake, link) = open(script).await;
    crate::eventually(&fake, |line| line["http"]["method"] == "GET").await;
    link.ping().await.unwrap();
    echo(&link, "x").await.unwrap();
    assert_eq!(link.notice().await, Notice::SessionRenewed);
    // The stream of the old session is given up, the one of the new session is there.
    crate::eventually(&fake, |line| line.get("closed").is_some()).await;
    let gets = crate::at_last(&fake, 2, |line| line["http"]["method"] == "GET").await;
    assert_ne!(header(&gets[0], "mcp-session-id"), header(&gets[1], "mcp-session-id"));
    link.ping().await.unwrap();
    assert!(matches!(link.notice().await, Notice::Log { .. }));
    link.tools().await.unwrap();
    assert_eq!(link.take_notice(), None);
}

#[tokio::test]
async fn a_hundred_calls_that_lose_the_session_renew_it_once() {
    for session in [json!(true), json!("400")] {
        let directory = TempDir::new().unwrap();
        let counter = directory.path().join("counter");
        let fake = Fake::with_vars(forgetful(&session), &[("FAKE_COUNTER", counter.to_str().unwrap())]);
        let link = dial(fake.url(), Remote::Http, &terms()).await.unwrap();
        link.ping().await.unwrap();
        let calls: Vec<_> = (0..100)
            .map(|_| {
                let link = link.clone();
                tokio::spawn(async move { call(&link, "count", json!({})).await })
            })
            .collect();
        let mut counts = BTreeSet::new();
        for one in calls {
            let result = one.await.unwrap();
            counts.insert(said(&result.unwrap_or_else(|error| panic!("{session}: {error:?}"))));
        }
        // Each ran once, and none a second time.
        assert_eq!(counts.len(), 100);
        assert_eq!(fs::read_to_string(&counter).unwrap().lines().count(), 100);
        assert_eq!(count(&fake, "initialize"), 2, "{session}");
        assert_eq!(link.notice().await, Notice::SessionRenewed);
        assert_eq!(link.take_notice(), None);
    }
}

#[tokio::test]
async fn calls_made_while_the_session_is_renewed_wait_for_the_new_one() {
    let script = json!({"session": true, "on": {
        "ping": [{"default": true}, {"forget": true}],
        "initialize": {"times": [[{"default": true}], [{"sleep_ms": 500}, {"default": true}]]},
    }});
    let (fake, link) = open(script).await;
    link.ping().await.unwrap();
    let first = {
        let link = link.clone();
        tokio::spawn(async move { echo(&link, "first").await })
    };
    crate::at_last(&fake, 2, |line| line["message"]["method"] == "initialize").await;
    assert_eq!(echo(&link, "second").await.unwrap(), "second");
    assert_eq!(first.await.unwrap().unwrap(), "first");
    assert_eq!(count(&fake, "initialize"), 2);
}

#[tokio::test]
async fn a_session_that_cannot_be_renewed_is_an_error_and_no_loop() {
    // Every new session is lost at once.
    let lost = json!([{"status": 404, "body": "Session not found"}]);
    let (fake, link) = open(json!({"session": true, "on": {"tools/call": lost}})).await;
    let error = echo(&link, "x").await.unwrap_err();
    assert_eq!((error.cause.clone(), error.sent), (Cause::SessionLost, Sent::Never));
    assert_eq!((count(&fake, "tools/call"), count(&fake, "initialize")), (2, 2));

    // The server does not want a new one.
    let script = json!({"session": true, "on": {
        "tools/call": lost,
        "initialize": {"times": [[{"default": true}], [{"status": 503, "body": "down"}]]},
    }});
    let (fake, link) = open(script).await;
    let error = echo(&link, "x").await.unwrap_err();
    assert!(matches!(error.cause, Cause::Http { status: 503, .. }), "{error:?}");
    assert_eq!((error.sent, error.is_outcome_unknown()), (Sent::Never, false));
    assert_eq!((count(&fake, "tools/call"), count(&fake, "initialize")), (1, 2));
}

#[tokio::test]
async fn a_server_that_does_not_take_the_end_of_the_renewal_holds_nobody_for_ever() {
    let script = json!({"session": true, "on": {
        "ping": [{"default": true}, {"forget": true}],
        "notifications/initialized": {"times": [[{"default": true}], [{"hang": true}]]},
    }});
    let fake = Fake::http(script);
    let link = dial(fake.url(), Remote::Http, &crate::impatient(800)).await.unwrap();
    link.ping().await.unwrap();
    let called = tokio::time::timeout(std::time::Duration::from_secs(10), echo(&link, "x")).await;
    let error = called.unwrap().unwrap_err();
    assert_eq!((error.sent, error.cause.code()), (Sent::Never, "timeout"));
}

#[tokio::test]
async fn a_404_without_a_session_is_just_a_404() {
    let (fake, link) = open(json!({"on": {"tools/call": [{"status": 404, "body": "Not Found"}]}})).await;
    let error = echo(&link, "x").await.unwrap_err();
    assert!(matches!(error.cause, Cause::Http { status: 404, .. }), "{error:?}");
    assert_eq!((count(&fake, "tools/call"), count(&fake, "initialize")), (1, 1));
}

#[tokio::test]
async fn a_modern_server_has_no_session_even_if_it_names_one() {
    let answer = |result: Value| {
        json!([{"status": 200, "headers": {"Content-Type": "application/json", "Mcp-Session-Id": "s-1"},
        "body": {"jsonrpc": "2.0", "id": "$id", "result": result}}])
    };
    let script = json!({"era": "modern", "on": {
        "server/discover": answer(json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})),
        "tools/list": answer(json!({"resultType": "complete", "tools": []})),
    }});
    let (fake, link) = open(script).await;
    assert_eq!(link.facts().era, Era::Modern);
    link.tools().await.unwrap();
    echo(&link, "x").await.unwrap();
    link.stop().await;
    assert!(fake.log().iter().all(|line| header(line, "mcp-session-id").is_none()));
    assert_eq!((verbs(&fake, "DELETE").len(), verbs(&fake, "GET").len()), (0, 0));
}

#[tokio::test]
async fn a_new_session_is_told_the_level_of_the_one_before() {
    let mut script = forgetful(&json!(true));
    script["capabilities"] = json!({"tools": {}, "logging": {}});
    script["on"]["logging/setLevel"] = json!([{"result": {}}]);
    let (fake, link) = open(script).await;
    link.set_log_level("error").await.unwrap();
    link.ping().await.unwrap();
    echo(&link, "x").await.unwrap();
    let methods = fake.methods();
    let said: Vec<_> = methods
        .iter()
        .filter(|method| matches!(method.as_str(), "initialize" | "logging/setLevel"))
        .collect();
    assert_eq!(said, ["initialize", "logging/setLevel", "initialize", "logging/setLevel"], "{methods:?}");
    // Also if it is lost while it is told.
    link.ping().await.unwrap();
    link.set_log_level("debug").await.unwrap();
    let told = fake.log();
    let told = told.iter().rfind(|line| line["message"]["method"] == "logging/setLevel").unwrap();
    assert_eq!(told["message"]["params"]["level"], "debug");
}

#[tokio::test]
async fn a_new_session_that_does_not_take_the_level_holds_up_nobody() {
    let mut script = forgetful(&json!(true));
    script["capabilities"] = json!({"tools": {}, "logging": {}});
    script["on"]["logging/setLevel"] = json!({"times": [[{"result": {}}], [{"silent": true}]]});
    let fake = Fake::http(script);
    let link = dial(fake.url(), Remote::Http, &Terms { timeout: None, ..terms() }).await.unwrap();
    link.set_log_level("error").await.unwrap();
    link.ping().await.unwrap();
    assert_eq!(echo(&link, "x").await.unwrap(), "x");
    assert_eq!((count(&fake, "initialize"), count(&fake, "logging/setLevel")), (2, 2));
}
