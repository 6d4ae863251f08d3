//! Which protocol a server speaks is found out, whatever it does with the question, and at no cost to a quick one.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::wire::{Cause, Era, Terms};
use testkit::connect::terms;
use testkit::{FakeScript, eventually};

use crate::kit::{assert_works, heard, on, open, open_on, params, refused};

/// What a quick server that wants a handshake hears, and nothing else.
const GREETING: [&str; 3] = ["server/discover", "initialize", "notifications/initialized"];

fn remembering(era: Era) -> Terms {
    Terms { remembered: Some(era), ..terms() }
}

/// The server shook hands, in a version that has a handshake, and works.
async fn assert_shook_hands(script: Value) -> FakeScript {
    let (script, link) = open(script).await;
    assert_eq!((link.facts().era, link.facts().version.as_str()), (Era::Handshake, "2025-11-25"));
    assert_works(&link).await;
    for params in params(&script, "initialize") {
        assert_eq!(params["protocolVersion"], "2025-11-25");
    }
    script
}

#[tokio::test]
async fn a_modern_server_is_asked_once_and_never_shaken_hands_with() {
    let (script, link) = open(json!({"era": "modern"})).await;
    assert_eq!((link.facts().era, link.facts().version.as_str()), (Era::Modern, "2026-07-28"));
    assert_works(&link).await;
    assert_eq!(script.methods(), ["server/discover", "tools/call"]);
}

#[tokio::test]
async fn a_server_of_both_eras_is_modern() {
    let (script, link) = open(json!({"era": "both"})).await;
    assert_eq!(link.facts().era, Era::Modern);
    assert_works(&link).await;
    assert_eq!(script.methods(), ["server/discover", "tools/call"]);
}

#[tokio::test]
async fn any_error_to_the_question_means_a_handshake_at_once() {
    for code in [-32601, -32602, -32600, -32700, -32000, 0, 7] {
        let error = json!([{"error": {"code": code, "message": "what?"}}]);
        let script = assert_shook_hands(on("server/discover", error)).await;
        assert_eq!(script.methods()[..3], GREETING, "{code}");
    }
}

#[tokio::test]
async fn any_success_that_is_no_answer_means_a_handshake() {
    for result in [
        json!({}),
        json!(null),
        json!([]),
        json!("ok"),
        json!({"supportedVersions": ["2025-11-25"]}),
        json!({"resultType": "complete"}),
    ] {
        let script = assert_shook_hands(on("server/discover", json!([{"result": result}]))).await;
        assert_eq!(script.methods()[..3], GREETING, "{result}");
    }
}

#[tokio::test]
async fn silence_means_a_handshake_after_a_moment() {
    let start = Instant::now();
    let script = assert_shook_hands(on("server/discover", json!([{"silent": true}]))).await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(script.methods()[..3], GREETING);
}

#[tokio::test]
async fn an_answer_to_another_question_is_silence() {
    let foreign = json!([
        {"message": {"jsonrpc": "2.0", "id": "not-ours", "result": {"supportedVersions": ["2026-07-28"]}}},
        {"message": {"jsonrpc": "2.0", "id": 999, "error": {"code": -32601, "message": "no"}}},
    ]);
    assert_shook_hands(on("server/discover", foreign)).await;
}

#[tokio::test]
async fn an_answer_that_comes_after_the_handshake_was_offered_is_not_held_against_the_server() {
    let late = json!({"on": {
        "server/discover": [{"sleep_ms": 600}, {"error": {"code": -32601, "message": "late"}}],
        "initialize": [{"sleep_ms": 600}, {"default": true}],
    }});
    assert_shook_hands(late).await;
}

#[tokio::test]
async fn an_answer_that_comes_after_the_handshake_was_shaken_is_ignored() {
    let late = on(
        "server/discover",
        json!([{"sleep_ms": 700}, {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {}}}]),
    );
    let (_script, link) = open(late).await;
    assert_eq!(link.facts().era, Era::Handshake);
    eventually("the late answer is counted", || link.strays(), |n| *n == 1).await;
    assert_works(&link).await;
}

#[tokio::test]
async fn a_modern_server_that_answers_late_is_modern_although_it_refuses_the_handshake() {
    let script = json!({"era": "modern", "on": {"server/discover": [{"sleep_ms": 700}, {"default": true}]}});
    let (script, link) = open(script).await;
    assert_eq!(link.facts().era, Era::Modern);
    assert_works(&link).await;
    assert!(script.methods().contains(&"initialize".to_owned()));
    assert!(!script.methods().contains(&"notifications/initialized".to_owned()));
}

#[tokio::test]
async fn a_server_that_ends_at_the_question_is_started_again_without_it() {
    for end in [json!({"exit": 0}), json!({"exit": 1}), json!({"signal": "ABRT"})] {
        let script = assert_shook_hands(on("server/discover", json!([end]))).await;
        assert_eq!(script.methods()[..3], GREETING, "{end}");
    }
}

#[tokio::test]
async fn a_server_that_ends_at_everything_says_why() {
    let (script, failure) =
        refused(json!({"start": [{"stderr": "no licence found\n"}], "on": {"*": [{"exit": 3}]}}), &terms())
            .await;
    assert_eq!(failure.error.to_string(), "the server ended with code 3");
    assert!(failure.stderr.contains("no licence found"), "{}", failure.stderr);
    assert_eq!(script.methods(), ["server/discover", "initialize"]);
}

#[tokio::test]
async fn a_server_may_take_twelve_seconds_to_start() {
    let terms = Terms { startup: Some(Duration::from_secs(30)), ..terms() };
    let script = json!({"start": [{"sleep_ms": 12_000}]});
    let (script, link) = open_on(script, &terms).await;
    assert_eq!(link.facts().era, Era::Handshake);
    assert_works(&link).await;
    // The answer to the first question came before that to the handshake, and did no harm.
    assert_eq!(script.methods()[..3], GREETING);
}

#[tokio::test]
async fn a_memory_that_is_right_saves_the_question() {
    let (script, link) = open_on(json!({}), &remembering(Era::Handshake)).await;
    assert_works(&link).await;
    assert_eq!(script.methods()[..2], ["initialize", "notifications/initialized"]);
}

#[tokio::test]
async fn a_memory_that_is_wrong_heals_itself() {
    let (script, link) = open_on(json!({"era": "modern"}), &remembering(Era::Handshake)).await;
    assert_eq!(link.facts().era, Era::Modern);
    assert_works(&link).await;
    assert_eq!(script.methods(), ["initialize", "server/discover", "tools/call"]);

    let (script, link) = open_on(json!({}), &remembering(Era::Modern)).await;
    assert_eq!(link.facts().era, Era::Handshake);
    assert_works(&link).await;
    assert_eq!(script.methods()[..3], GREETING);

    let exits = on("server/discover", json!([{"exit": 1}]));
    let (_script, link) = open_on(exits, &remembering(Era::Modern)).await;
    assert_eq!(link.facts().era, Era::Handshake);
    assert_works(&link).await;
}

#[tokio::test]
async fn a_refused_version_that_is_offered_is_asked_for_again() {
    let data = json!({"supported": ["2026-07-28"], "requested": "2026-07-28"});
    let again = json!([{"error": {"code": -32022, "message": "Unsupported", "data": data}}]);
    let script = json!({"era": "modern", "on": {"server/discover": {"times": [again, [{"default": true}]]}}});
    let (script, link) = open(script).await;
    assert_eq!(link.facts().era, Era::Modern);
    assert_works(&link).await;
    assert_eq!(script.methods(), ["server/discover", "server/discover", "tools/call"]);
}

#[tokio::test]
async fn older_handshakes_are_accepted_and_unknown_ones_refused_by_name() {
    for version in ["2025-06-18", "2025-03-26", "2024-11-05"] {
        let (_script, link) = open(json!({"version": version})).await;
        assert_eq!(link.facts().version, version);
        assert_works(&link).await;
    }
    let (script, failure) = refused(json!({"version": "1999-01-01"}), &terms()).await;
    assert_eq!(failure.error.cause, Cause::Version { theirs: "1999-01-01".into() });
    assert!(failure.error.to_string().contains("1999-01-01"), "{}", failure.error);
    assert!(!script.methods().contains(&"notifications/initialized".to_owned()));
}

#[tokio::test]
async fn every_modern_request_stands_for_itself_and_no_handshake_is_modern() {
    let (script, link) = open(json!({"era": "modern"})).await;
    link.tools().await.unwrap();
    assert_works(&link).await;
    for line in script.log() {
        let meta = &line["message"]["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28", "{line}");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "switchboard", "{line}");
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object(), "{line}");
    }
    let (script, link) = open(json!({})).await;
    link.tools().await.unwrap();
    heard(&script, "tools/list").await;
    for line in script.log().iter().skip(1) {
        assert!(!line.to_string().contains("2026-07-28"), "{line}");
    }
}
