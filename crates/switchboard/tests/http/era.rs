//! Which protocol a server speaks, found out over HTTP, whatever it says to the question.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::declared::Remote;
use switchboard::wire::{Cause, Era, Terms};
use testkit::connect::{http, patient, terms};
use testkit::{Fake, PATIENCE};

use crate::{count, dial, echo, fail, header, lines, open};

/// Opens such a server, talks to it, and says what it turned out to be.
async fn spoken(script: Value) -> (Fake, Era) {
    let (fake, link) = http(script, &patient()).await;
    let link = link.unwrap();
    assert_eq!(echo(&link, "hello").await.unwrap(), "hello");
    let era = link.facts().era;
    (fake, era)
}

#[tokio::test]
async fn each_server_is_met_in_its_own_protocol() {
    for (era, expected) in [("legacy", Era::Handshake), ("modern", Era::Modern), ("both", Era::Modern)] {
        let (fake, found) = spoken(json!({"era": era})).await;
        assert_eq!(found, expected, "{era}");
        assert_eq!(count(&fake, "server/discover"), 1, "{era}");
        assert_eq!(count(&fake, "initialize"), usize::from(expected == Era::Handshake), "{era}");
        assert_eq!(
            count(&fake, "notifications/initialized"),
            usize::from(expected == Era::Handshake),
            "{era}"
        );
    }
}

#[tokio::test]
async fn whatever_an_old_server_says_to_the_question_it_gets_its_handshake() {
    let anonymous = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Bad Request: Server not initialized"}});
    let page = json!({"Content-Type": "text/html"});
    for (what, action) in [
        ("400 with an error without id", json!({"status": 400, "body": anonymous})),
        ("404 with a page", json!({"status": 404, "headers": page, "body": "<html>Cannot POST</html>"})),
        ("405", json!({"status": 405})),
        ("500", json!({"status": 500, "body": "oops"})),
        ("502 with a page", json!({"status": 502, "headers": page, "body": "<html>Bad Gateway</html>"})),
        ("an empty success", json!({"result": {}})),
        ("a success of something else", json!({"result": {"supportedVersions": ["2024-11-05"]}})),
        ("an answer without anything", json!({"status": 200})),
        ("an accepted nothing", json!({"status": 202})),
        ("a page with 200", json!({"status": 200, "headers": page, "body": "<html>Welcome</html>"})),
        ("an unknown method", json!({"error": {"code": -32601, "message": "Method not found"}})),
        ("bad parameters", json!({"error": {"code": -32602, "message": "Invalid request parameters"}})),
        ("a stream that ends", json!({"sse": []})),
        ("a broken answer", json!({"cut": true})),
        ("no JSON", json!({"status": 200, "headers": {"Content-Type": "application/json"}, "body": "{{{"})),
    ] {
        let start = Instant::now();
        let (fake, era) = spoken(json!({"on": {"server/discover": [action]}})).await;
        assert_eq!(era, Era::Handshake, "{what}");
        assert_eq!(count(&fake, "initialize"), 1, "{what}");
        assert!(start.elapsed() < PATIENCE, "{what} took {:?}", start.elapsed());
    }
}

#[tokio::test]
async fn silence_at_the_question_is_not_waited_out() {
    for action in [
        json!({"silent": true}),
        json!({"hang": true}),
        json!({"sse": [{"comment": "soon"}, {"hang": true}]}),
    ] {
        let start = Instant::now();
        let (fake, link) = http(json!({"on": {"server/discover": [action]}}), &patient()).await;
        let link = link.unwrap();
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
        assert_eq!(link.facts().era, Era::Handshake);
        assert_eq!(echo(&link, "hello").await.unwrap(), "hello");
        assert_eq!(count(&fake, "initialize"), 1);
    }
}

#[tokio::test]
async fn a_modern_server_that_is_slow_to_start_is_still_modern() {
    let script = json!({"era": "modern", "on": {"server/discover": [{"sleep_ms": 2500}, {"default": true}]}});
    let (_fake, era) = spoken(script).await;
    assert_eq!(era, Era::Modern);
}

#[tokio::test]
async fn a_server_that_never_says_anything_fails_in_its_time() {
    let terms = Terms { startup: Some(Duration::from_millis(2500)), ..patient() };
    let start = Instant::now();
    let (_fake, link) = http(json!({"on": {"*": [{"silent": true}]}}), &terms).await;
    let failure = link.unwrap_err();
    let Cause::Timeout { after, .. } = &failure.error.cause else { panic!("{failure:?}") };
    assert_eq!(*after, Duration::from_millis(2500));
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_server_that_hangs_at_the_end_of_the_handshake_fails_in_its_time() {
    // What is only said is given up after half a minute, whatever the limits are. That would be too late.
    let limit = Duration::from_secs(25);
    let terms = Terms { startup: Some(Duration::from_millis(1500)), ..patient() };
    for transport in ["http", "sse"] {
        let start = Instant::now();
        let script =
            json!({"transport": transport, "on": {"notifications/initialized": [{"sse": [{"hang": true}]}]}});
        let fake = Fake::http(script);
        let kind = if transport == "sse" { Remote::Sse } else { Remote::Http };
        let opened = tokio::time::timeout(limit, dial(fake.url(), kind, &terms)).await;
        drop(opened.unwrap_or_else(|_| panic!("{transport} hangs")));
        assert!(start.elapsed() < limit, "{transport}: {:?}", start.elapsed());
    }
    // One that does not even begin to answer.
    let script = json!({"on": {"notifications/initialized": [{"hang": true}]}});
    let fake = Fake::http(script);
    let opened = tokio::time::timeout(limit, dial(fake.url(), Remote::Http, &terms)).await;
    let failure = opened.unwrap_or_else(|_| panic!("it hangs")).unwrap_err();
    assert!(matches!(failure.error.cause, Cause::Timeout { .. }), "{failure:?}");
}

#[tokio::test]
async fn a_login_that_is_wanted_at_the_question_is_told_with_the_whole_challenge() {
    let challenge = r#"Bearer realm="mcp", resource_metadata="https://example.com/.well-known/x", scope="a b", error="invalid_token""#;
    for status in [401, 403] {
        let action = json!({"status": status, "headers": {"WWW-Authenticate": challenge}, "body": "no"});
        let (fake, failure) = fail(json!({"on": {"*": [action]}})).await;
        assert!(failure.error.needs_login());
        assert_eq!(
            failure.error.cause,
            Cause::Unauthorized { status, challenge: Some(challenge.to_owned()), why: None },
        );
        // Asking in another way would not help.
        assert_eq!(fake.methods(), ["server/discover"]);
        assert_eq!(crate::verbs(&fake, "GET").len(), 0);
    }
}

#[tokio::test]
async fn several_challenges_are_all_kept() {
    let challenges = json!(["Basic realm=\"a\"", "Bearer resource_metadata=\"https://example.com/m\""]);
    let action = json!({"status": 401, "headers": {"WWW-Authenticate": challenges}});
    let (_fake, failure) = fail(json!({"on": {"*": [action]}})).await;
    let Cause::Unauthorized { challenge: Some(challenge), .. } = &failure.error.cause else {
        panic!("{failure:?}")
    };
    assert!(challenge.contains("Basic realm") && challenge.contains("resource_metadata"), "{challenge}");
}

#[tokio::test]
async fn a_server_that_refuses_its_own_version_at_first_is_asked_again() {
    let refusal = json!({"status": 400, "body": {"jsonrpc": "2.0", "id": "$id", "error":
        {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": ["2026-07-28"], "requested": "2026-07-28"}}}});
    let times = json!({"times": [[refusal], [{"default": true}]]});
    let (fake, era) = spoken(json!({"era": "modern", "on": {"server/discover": times}})).await;
    assert_eq!((era, count(&fake, "server/discover")), (Era::Modern, 2));

    // The same on a request later on.
    let times = json!({"times": [[refusal], [{"default": true}]]});
    let (fake, era) = spoken(json!({"era": "modern", "on": {"tools/call": times}})).await;
    assert_eq!((era, count(&fake, "tools/call")), (Era::Modern, 2));
    let ids: Vec<_> = lines(&fake, "tools/call").iter().map(|line| line["message"]["id"].clone()).collect();
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn a_server_of_versions_we_do_not_speak_is_named_with_them() {
    let terms = terms();
    let (_fake, link) = http(json!({"version": "1999-01-01"}), &terms).await;
    let failure = link.unwrap_err();
    assert_eq!(failure.error.cause, Cause::Version { theirs: "1999-01-01".to_owned() });

    let refusal = json!({"status": 400, "body": {"jsonrpc": "2.0", "id": "$id", "error":
        {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": ["2030-01-01"]}}}});
    let (_fake, link) = http(json!({"era": "modern", "on": {"*": [refusal]}}), &terms).await;
    let failure = link.unwrap_err();
    assert!(failure.error.to_string().contains("Unsupported protocol version"), "{failure:?}");
}

#[tokio::test]
async fn what_is_remembered_wrongly_heals() {
    for (remembered, era, expected) in
        [(Era::Handshake, "modern", Era::Modern), (Era::Modern, "legacy", Era::Handshake)]
    {
        let terms = Terms { remembered: Some(remembered), ..terms() };
        let (_fake, link) = http(json!({"era": era}), &terms).await;
        let link = link.unwrap();
        assert_eq!(link.facts().era, expected, "{remembered:?} was remembered");
        assert_eq!(echo(&link, "hello").await.unwrap(), "hello");
    }
}

#[tokio::test]
async fn a_remembered_handshake_saves_the_question() {
    let terms = Terms { remembered: Some(Era::Handshake), ..terms() };
    for era in ["legacy", "both"] {
        let (fake, link) = http(json!({"era": era}), &terms).await;
        assert_eq!(link.unwrap().facts().era, Era::Handshake);
        assert_eq!(count(&fake, "server/discover"), 0);
    }
}

#[tokio::test]
async fn a_method_a_modern_server_does_not_know_is_an_answer_and_no_lost_session() {
    let body =
        json!({"jsonrpc": "2.0", "id": "$id", "error": {"code": -32601, "message": "Method not found"}});
    let script = json!({"era": "modern", "on": {"prompts/get": [{"status": 404, "body": body}]}});
    let (fake, link) = open(script).await;
    let error = link.prompt("x", &[]).await.unwrap_err();
    assert_eq!(crate::rpc(&error), Some(-32601));
    assert_eq!(count(&fake, "prompts/get"), 1);
    assert_eq!(count(&fake, "initialize"), 0);
    assert_eq!(echo(&link, "still here").await.unwrap(), "still here");

    // The same as the answer to the question says that there is nothing modern here, or nothing to discover.
    let (fake, era) = spoken(json!({"on": {"server/discover": [{"status": 404, "body": body}]}})).await;
    assert_eq!((era, count(&fake, "initialize")), (Era::Handshake, 1));
}

#[tokio::test]
async fn the_handshake_offers_the_newest_version_that_has_one() {
    let (fake, link) = open(json!({"era": "legacy", "version": "2025-03-26"})).await;
    assert_eq!(link.facts().version, "2025-03-26");
    let first = &lines(&fake, "initialize")[0];
    assert_eq!(first["message"]["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(header(first, "mcp-session-id"), None);
    echo(&link, "x").await.unwrap();
    assert_eq!(header(&lines(&fake, "tools/call")[0], "mcp-protocol-version").as_deref(), Some("2025-03-26"));
}
