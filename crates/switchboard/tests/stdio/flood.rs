//! Servers that say too much, or hear nothing.

use std::time::Instant;

use serde_json::{Value, json};
use switchboard::notice::Notice;
use switchboard::wire::{CallOptions, Cause, Error, Link, Sent};
use testkit::connect::patient;
use testkit::{PATIENCE, eventually};
use tokio::task::JoinHandle;

use crate::kit::{args, assert_works, call, on_call, open, open_on, patient_for, text};

const LIMIT: usize = 16 * 1024 * 1024;

/// A text answer to the first call, with so many letters.
fn answer_of(letters: usize) -> Vec<Value> {
    vec![
        json!({"raw": r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":""#}),
        json!({"repeat": {"text": "x", "times": letters}}),
        json!({"raw": "\"}]}}\n"}),
        // Only then the line is over, and others can speak.
        json!({"notify": {"method": "notifications/tools/list_changed"}}),
    ]
}

#[tokio::test]
async fn noise_is_passed_over_and_counted() {
    let noise =
        ["Server ready.", "DEBUG {\"a\":1}", "{\"half\":", "[]x", "\u{1b}[32mok\u{1b}[0m", "5", "{}", "null"];
    let mut actions: Vec<_> = noise.iter().map(|line| json!({"raw": format!("{line}\n\r\n")})).collect();
    actions.push(json!({"default": true}));
    let (_script, link) = open(on_call(json!(actions))).await;
    assert_works(&link).await;
    let (count, first) = link.noise();
    assert_eq!(count, noise.len() as u64);
    assert!(first.unwrap().starts_with("Server ready."));
    assert_works(&link).await;
    assert_eq!(link.noise().0, 2 * noise.len() as u64);
}

#[tokio::test]
async fn noise_before_the_handshake_is_passed_over() {
    let script = json!({"start": [
        {"raw": "\u{feff}npm WARN deprecated\r\n"}, {"repeat": {"text": "loading...\n", "times": 500}},
    ]});
    let (_script, link) = open(script).await;
    assert_works(&link).await;
    assert_eq!(link.noise().0, 501);
    assert!(link.noise().1.unwrap().starts_with("npm WARN"));
}

#[tokio::test]
async fn bytes_that_are_no_text_are_noise() {
    // A lone surrogate is JSON, but no text.
    let (_script, link) =
        open(on_call(json!([{"raw": "{\"id\":3,\"result\":\"\\ud800\"\n"}, {"default": true}]))).await;
    assert_works(&link).await;
    assert_eq!(link.noise().0, 1);
}

#[tokio::test]
async fn a_message_over_the_limit_costs_its_call_only() {
    let script = json!({"on": {"tools/call": {"times": [answer_of(40_000_000), [{"default": true}]]}}});
    let (_script, link) = open_on(script, &patient()).await;
    let start = Instant::now();
    let error = call(&link, "echo", json!({})).await.unwrap_err();
    assert_eq!((error.cause.clone(), error.sent), (Cause::TooLarge { limit: LIMIT }, Sent::Maybe));
    assert!(error.to_string().contains("16777216"), "{error}");
    // It does not wait for its limit.
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    assert_eq!(link.notice().await, Notice::ToolsChanged);
    assert_works(&link).await;
}

#[tokio::test]
async fn a_message_over_the_limit_does_not_touch_other_calls() {
    let mut second = answer_of(17_000_000);
    second.push(json!({"default": true}));
    let script = json!({"on": {"tools/call": {"times": [[{"silent": true}], second]}}});
    let (_script, link) = open(script).await;
    let (one, two) =
        tokio::join!(call(&link, "echo", json!({})), call(&link, "echo", json!({"text": "fine"})));
    assert_eq!(one.unwrap_err().cause, Cause::TooLarge { limit: LIMIT });
    assert_eq!(text(&two.unwrap()), "fine");
}

#[tokio::test]
async fn a_message_over_the_limit_that_names_nobody_is_told_to_all_who_wait() {
    let script = json!({"on": {"tools/call": {"times": [
        [{"repeat": {"text": "x", "times": 20_000_000}}, {"raw": "\n"}, {"notify": {"method": "notifications/tools/list_changed"}}],
        [{"default": true}],
    ]}}});
    let (_script, link) = open(script).await;
    assert_eq!(call(&link, "echo", json!({})).await.unwrap_err().cause, Cause::TooLarge { limit: LIMIT });
    assert_eq!(link.notice().await, Notice::ToolsChanged);
    assert_works(&link).await;
}

#[tokio::test]
async fn a_message_just_below_the_limit_arrives() {
    let envelope = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":""}]}}"#.len();
    let (_script, link) = open(on_call(json!(answer_of(LIMIT - envelope)))).await;
    let result = call(&link, "echo", json!({})).await.unwrap();
    assert_eq!(text(&result).len(), LIMIT - envelope);
    let (_script, link) = open(on_call(json!(answer_of(LIMIT - envelope + 1)))).await;
    assert!(matches!(call(&link, "echo", json!({})).await.unwrap_err().cause, Cause::TooLarge { .. }));
}

#[tokio::test]
async fn a_flood_of_words_on_the_standard_error_stops_nothing() {
    for (line, times) in [("x", 300_000), ("a line of words\n", 4_194_304)] {
        let script = on_call(json!([
            {"stderr_repeat": {"text": line, "times": times}}, {"stderr": "the end\n"}, {"default": true},
        ]));
        let (_script, link) = open(script).await;
        assert_works(&link).await;
        let is_whole = || link.stderr_tail().ends_with("the end\n");
        eventually("its last words are kept", is_whole, |is_whole| *is_whole).await;
        assert!(link.stderr_tail().len() <= 64 * 1024);
    }
}

#[tokio::test]
async fn a_flood_before_the_first_answer_stops_nothing() {
    let script = json!({"start": [{"stderr_repeat": {"text": "0123456789abcdef", "times": 262_144}}]});
    let (_script, link) = open(script).await;
    assert_works(&link).await;
}

/// Begins a thousand calls that say much. None of them works.
fn thousand_calls(link: &Link) -> Vec<JoinHandle<Error>> {
    let arguments = args(json!({"text": "x".repeat(64 * 1024)}));
    let begin = |_| {
        let (link, arguments) = (link.clone(), arguments.clone());
        tokio::spawn(async move { link.call("echo", &arguments, CallOptions::default()).await.unwrap_err() })
    };
    (0..1000).map(begin).collect()
}

#[tokio::test]
async fn a_server_that_does_not_read_holds_up_nobody_else() {
    let (_script, link) = open_on(on_call(json!([{"hang": true}])), &patient()).await;
    let (_other_script, other) = open_on(json!({}), &patient()).await;
    let calls = thousand_calls(&link);
    for _ in 0..20 {
        let begun = Instant::now();
        assert_works(&other).await;
        assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    }
    for call in calls {
        assert!(!call.is_finished(), "it has ten minutes");
        call.abort();
        drop(call.await);
    }
}

#[tokio::test]
async fn calls_to_a_server_that_does_not_read_end_in_their_time() {
    let (_script, link) = open_on(on_call(json!([{"hang": true}])), &patient_for(2000)).await;
    let start = Instant::now();
    let calls = thousand_calls(&link);
    let (mut never, mut maybe) = (0, 0);
    for call in calls {
        let error = call.await.unwrap();
        assert!(matches!(error.cause, Cause::Timeout { .. }), "{error}");
        match error.sent {
            Sent::Never => never += 1,
            Sent::Maybe => maybe += 1,
        }
    }
    // One after the other they would need half an hour.
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    // A pipe and what is written in one go hold a few; the others never left.
    assert!(never > 900 && maybe >= 1, "{never} never, {maybe} maybe");
    let begun = Instant::now();
    link.stop().await;
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_storm_of_changes_is_one_change() {
    let storm: Vec<_> = (0..200)
        .map(|_| json!({"notify": {"method": "notifications/tools/list_changed"}}))
        .chain([json!({"default": true})])
        .collect();
    let (_script, link) = open(on_call(json!(storm))).await;
    assert_works(&link).await;
    assert_eq!(link.take_notice(), Some(Notice::ToolsChanged));
    assert_eq!(link.take_notice(), None);
}

#[tokio::test]
async fn noise_with_a_secret_at_the_cut_shows_no_part_of_it() {
    let secret = "hunter2-and-a-long-tail-of-letters";
    let junk = format!("{}{secret}\n", "x".repeat(190));
    let script = testkit::Fake::script(serde_json::json!({"start": [{"raw": junk}]}));
    let path = script.path();
    let launch = testkit::connect::command(
        &testkit::fake_server(),
        &[&path.to_string_lossy()],
        &[("API_TOKEN", secret)],
    )
    .await;
    let link = switchboard::wire::open(&launch, &testkit::connect::terms()).await.unwrap();
    let (count, first) = link.noise();
    assert_eq!(count, 1);
    assert!(!first.unwrap().contains("hunter"));
    link.stop().await;
}
