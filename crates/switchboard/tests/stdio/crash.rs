//! Servers that end when they should not: every call ends once, says how, and never claims that nothing was sent.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::wire::{Cause, Exit, Sent};
use testkit::connect::terms;
use testkit::eventually;

use crate::kit::{assert_works, call, on, on_call, open, refused};

fn deaths() -> Vec<(Value, Exit)> {
    vec![
        (json!({"exit": 0}), Exit::Code(0)),
        (json!({"exit": 1}), Exit::Code(1)),
        (json!({"exit": 127}), Exit::Code(127)),
        (json!({"signal": "KILL"}), Exit::Signal(9)),
        (json!({"signal": "SEGV"}), Exit::Signal(11)),
        (json!({"signal": "TERM"}), Exit::Signal(15)),
    ]
}

#[tokio::test]
async fn at_the_start() {
    for (death, how) in deaths() {
        let (_script, failure) =
            refused(json!({"start": [{"stderr": "cannot go on\n"}, death]}), &terms()).await;
        assert_eq!(failure.error.cause, Cause::Exited { how }, "{death}");
        assert_eq!(failure.stderr, "cannot go on\n");
    }
}

#[tokio::test]
async fn at_the_handshake() {
    let (script, failure) =
        refused(on("initialize", json!([{"stderr": "no\n"}, {"exit": 9}])), &terms()).await;
    assert_eq!(failure.error.cause, Cause::Exited { how: Exit::Code(9) });
    assert_eq!(failure.error.sent, Sent::Maybe);
    assert_eq!(failure.stderr, "no\n");
    assert!(script.methods().contains(&"initialize".to_owned()));
}

#[tokio::test]
async fn at_a_list() {
    let (_script, link) = open(on("tools/list", json!([{"stderr": "no tools\n"}, {"exit": 2}]))).await;
    let error = link.tools().await.unwrap_err();
    assert_eq!(error.cause, Cause::Exited { how: Exit::Code(2) });
    assert_eq!(link.stderr_tail(), "no tools\n");
}

#[tokio::test]
async fn at_a_call() {
    for (death, how) in deaths() {
        let (_script, link) = open(on_call(json!([{"stderr": "last words\n"}, death]))).await;
        let start = Instant::now();
        let error = call(&link, "echo", json!({"text": "x"})).await.unwrap_err();
        assert_eq!(error.cause, Cause::Exited { how }, "{death}");
        assert_eq!(error.sent, Sent::Maybe);
        assert!(error.is_lost() && error.is_outcome_unknown());
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert_eq!(link.stderr_tail(), "last words\n");
        assert!(!link.is_up());
        assert_eq!(link.lost().await.cause, Cause::Exited { how });
        // Whoever comes later is told the same, and that nothing was sent.
        let error = call(&link, "echo", json!({"text": "x"})).await.unwrap_err();
        assert_eq!((error.cause, error.sent), (Cause::Exited { how }, Sent::Never));
    }
}

#[tokio::test]
async fn with_many_calls_open() {
    let script = json!({"on": {"tools/call": [{"silent": true}], "ping": [{"signal": "KILL"}]}});
    let (script, link) = open(script).await;
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let link = link.clone();
            tokio::spawn(async move { call(&link, "echo", json!({"text": "x"})).await.unwrap_err() })
        })
        .collect();
    let arrived = || script.methods().iter().filter(|method| *method == "tools/call").count();
    eventually("all have arrived", arrived, |n| *n == 100).await;
    let error = link.ping().await.unwrap_err();
    assert_eq!(error.cause, Cause::Exited { how: Exit::Signal(9) });
    for call in calls {
        let error = call.await.unwrap();
        assert_eq!((error.cause, error.sent), (Cause::Exited { how: Exit::Signal(9) }, Sent::Maybe));
    }
}

#[tokio::test]
async fn in_the_middle_of_an_answer() {
    let half = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"te"#;
    let (_script, link) = open(on_call(json!([{"raw": half}, {"exit": 1}]))).await;
    let error = call(&link, "echo", json!({})).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::Exited { how: Exit::Code(1) }, Sent::Maybe));
    let (count, first) = link.noise();
    assert_eq!(count, 1);
    assert!(first.unwrap().contains("\"id\":3"));
}

#[tokio::test]
async fn after_an_answer_without_the_end_of_its_line() {
    let whole = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"in time"}]}}"#;
    let (_script, link) = open(on_call(json!([{"raw": whole}, {"exit": 0}]))).await;
    let result = call(&link, "echo", json!({})).await.unwrap();
    assert_eq!(crate::kit::text(&result), "in time");
}

#[tokio::test]
async fn unasked() {
    let script = json!({"on": {"notifications/roots/list_changed": [{"stderr": "bye\n"}, {"exit": 5}]}});
    let (_script, link) = open(script).await;
    assert_works(&link).await;
    link.roots_changed().await.unwrap();
    assert_eq!(link.lost().await.cause, Cause::Exited { how: Exit::Code(5) });
    assert_eq!(link.stderr_tail(), "bye\n");
}

#[tokio::test]
async fn closing_the_output_is_the_end_although_the_process_lives() {
    let (_script, link) = open(on_call(json!([{"close_stdout": true}]))).await;
    let start = Instant::now();
    let error = call(&link, "echo", json!({})).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::Closed, Sent::Maybe));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_program_that_is_not_there_or_cannot_run_is_named() {
    let launch = testkit::connect::command(std::path::Path::new("/bin/sh"), &["-c", "exit 3"], &[]).await;
    let mut absent = testkit::connect::command(std::path::Path::new("/bin/sh"), &[], &[]).await;
    if let switchboard::resolve::Target::Child(child) = &mut absent.target {
        child.program = "/nowhere/at-all".into();
    }
    let failure = switchboard::wire::open(&absent, &terms()).await.unwrap_err();
    let Cause::Start { program, why } = &failure.error.cause else { panic!("{}", failure.error) };
    assert_eq!(program, std::path::Path::new("/nowhere/at-all"));
    assert!(why.contains("No such file"), "{why}");
    let failure = switchboard::wire::open(&launch, &terms()).await.unwrap_err();
    assert_eq!(failure.error.cause, Cause::Exited { how: Exit::Code(3) });
}

#[tokio::test]
async fn closing_the_input_is_the_end_although_the_process_lives() {
    let server = r#"
        read question; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
        read initialize; echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'
        read done; exec 0<&-
        echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'; exec sleep 60"#;
    let launch = testkit::connect::command(std::path::Path::new("/bin/sh"), &["-c", server], &[]).await;
    let link = switchboard::wire::open(&launch, &terms()).await.unwrap();
    assert_eq!(link.notice().await, switchboard::notice::Notice::ToolsChanged);
    let start = Instant::now();
    let error = call(&link, "echo", json!({})).await.unwrap_err();
    assert_eq!(error.cause, Cause::Closed);
    assert_eq!(link.lost().await.cause, Cause::Closed);
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
}
