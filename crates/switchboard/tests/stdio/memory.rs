//! What a server can make us keep. Each attack runs in a process of its own, which measures itself.

use std::process::Command;

use serde_json::{Value, json};
use testkit::{Fake, attack, fake_server, guard};

/// So much more than before the attack, at most.
const MOST_KIB: u64 = 32 * 1024;

/// Runs the attack; the second call of a script that survives it must work again.
fn attacked(script: Value, action: &str) -> Value {
    // Built by now, so that the other process does not have to.
    let _there = (fake_server(), guard());
    let script = Fake::script(script);
    let output = Command::new(attack()).arg(script.path()).arg(action).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["grew_kib"].as_u64().unwrap() <= MOST_KIB, "{report}");
    report
}

/// A script whose first call plays this, says that it is done, and ends so; later ones are answered.
fn once(mut actions: Vec<Value>, end: Option<Value>) -> Value {
    actions.push(json!({"notify": {"method": "notifications/tools/list_changed"}}));
    actions.extend(end);
    json!({"on": {"tools/call": {"times": [actions, [{"default": true}]]}}})
}

/// Messages that start so and are closed by `"}}`, each with a megabyte of text.
fn megabytes(count: usize, head: &str) -> Vec<Value> {
    let one = [
        json!({"raw": head}),
        json!({"repeat": {"text": "x", "times": 1_000_000}}),
        json!({"raw": "\"}}\n"}),
    ];
    std::iter::repeat_n(one, count).flatten().collect()
}

/// The call that comes with all this is answered, and so is the next.
fn assert_unimpressed(flood: Vec<Value>, action: &str) {
    let report = attacked(once(flood, Some(json!({"default": true}))), action);
    assert_eq!((&report["outcome"], &report["works"]), (&json!("x"), &json!(true)));
}

// The question had id 1, the handshake 2, the list 3; so the call has 4.
const HEAD: &str = r#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":""#;
const LINE: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a line"}}"#;

#[test]
fn a_long_line_and_one_without_end() {
    for length in [40_000_000, 1_u64 << 30] {
        let line = json!({"repeat": {"text": "x", "times": length}});
        let report =
            attacked(once(vec![json!({"raw": HEAD}), line, json!({"raw": "\"}]}}\n"})], None), "call");
        assert_eq!(report["outcome"], "a message exceeds 16777216 bytes");
        assert_eq!(report["works"], true);
    }
}

#[test]
fn a_gibibyte_on_the_standard_error() {
    let flood = json!({"stderr_repeat": {"text": "words and more words\n", "times": 51_130_563}});
    assert_unimpressed(vec![flood], "call");
}

#[test]
fn a_million_notifications_nobody_takes() {
    let flood = json!({"repeat": {"text": format!("{LINE}\n"), "times": 1_000_000}});
    assert_unimpressed(vec![flood], "call");
}

#[test]
fn large_notifications_nobody_takes() {
    let head = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":""#;
    assert_unimpressed(megabytes(200, head), "call");
}

#[test]
fn small_notifications_among_a_lot_of_junk() {
    // A small part of a large piece of memory must not hold all of it.
    let text = format!("{LINE}\n{}\n", "j".repeat(100_000));
    let flood = json!({"repeat": {"text": text, "times": 1500}});
    assert_unimpressed(vec![flood], "call");
}

#[test]
fn large_questions_nobody_answers() {
    let head = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":""#;
    assert_unimpressed(megabytes(200, head), "think");
    let head = r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"systemPrompt":""#;
    assert_unimpressed(megabytes(200, head), "think");
}

#[test]
fn large_progress() {
    let head = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4,"progress":1,"message":""#;
    assert_unimpressed(megabytes(200, head), "call");
}

#[test]
fn a_flood_of_junk() {
    let flood = json!({"repeat": {"text": "no message at all\n", "times": 5_000_000}});
    assert_unimpressed(vec![flood], "call");
}

#[test]
fn calls_that_are_never_read() {
    let report = attacked(json!({"on": {"tools/call": [{"hang": true}]}}), "calls");
    assert_eq!((&report["outcome"], &report["works"]), (&json!("200 failed"), &json!(false)));
}
