//! Servers that send without end: what they cost us in memory and time is bounded, and the limit is named.

use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use switchboard::declared::Remote;
use switchboard::wire::{Cause, Limits, Terms};
use testkit::Fake;
use testkit::connect::{http, terms};

use crate::{call, count, dial, echo, open, said};

const MIB: u64 = 1024 * 1024;
/// So much may a message be, and so much may it cost while it is refused.
const MESSAGE: u64 = 16 * MIB;
const MOST: u64 = 32 * MIB;

/// What a process of its own says of its visit to such a server.
fn visit(script: Value) -> (Fake, Value) {
    let fake = Fake::http(script);
    let start = Instant::now();
    let output = Command::new(testkit::assault()).arg(fake.url()).stderr(Stdio::inherit()).output().unwrap();
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    (fake, report)
}

/// Visits a server that attacks at a call, and checks what it cost and how it ended.
fn attacked(era: &str, attack: &Value, code: &Value) -> Value {
    attacked_within(MOST, era, attack, code)
}

fn attacked_within(most: u64, era: &str, attack: &Value, code: &Value) -> Value {
    let (fake, report) = visit(json!({"era": era, "on": {"tools/call": attack}}));
    assert_eq!(&report["code"], code, "{era} {report}");
    let grown = report["grown"].as_u64().unwrap();
    assert!(grown <= most, "{era}: {} MiB; {report}", grown / MIB);
    assert_eq!(count(&fake, "tools/call"), 1);
    report
}

/// A result of exactly so many bytes as one message.
fn sized(bytes: u64) -> Value {
    let head = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":""#;
    let tail = r#""}]}}"#;
    let filling = bytes - head.len() as u64 - tail.len() as u64;
    let length =
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {bytes}\r\n\r\n");
    json!([{"raw": length}, {"raw": head}, {"repeat": {"text": "a", "times": filling}}, {"raw": tail}])
}

#[tokio::test]
async fn a_message_may_be_as_large_as_the_limit_and_no_larger() {
    for (bytes, is_fine) in
        [(MESSAGE - MIB / 10, true), (MESSAGE, true), (MESSAGE + 1, false), (MESSAGE + MIB / 10, false)]
    {
        // In this protocol the call is the third request.
        let (_fake, link) =
            open(json!({"on": {"tools/call": {"times": [sized(bytes), [{"default": true}]]}}})).await;
        match echo(&link, "x").await {
            Ok(text) => assert!(is_fine && text.len() as u64 > bytes - 200, "{bytes}"),
            Err(error) => {
                assert!(!is_fine, "{bytes}: {error:?}");
                assert_eq!(error.cause, Cause::TooLarge { limit: 16 * 1024 * 1024 });
                assert!(error.to_string().contains("16777216") && error.is_outcome_unknown());
            }
        }
        // It cost only itself.
        assert_eq!(echo(&link, "still here").await.unwrap(), "still here");
    }
}

#[tokio::test]
async fn the_limit_counts_for_events_as_well() {
    let terms = Terms { limits: Limits { message: 4096, ..Limits::default() }, ..terms() };
    for era in ["legacy", "modern"] {
        let (_fake, link) = http(json!({"era": era, "answer": "sse"}), &terms).await;
        let link = link.unwrap();
        let short = "a".repeat(3500);
        assert_eq!(echo(&link, &short).await.unwrap(), short);
        let error = echo(&link, &"a".repeat(4096)).await.unwrap_err();
        assert_eq!(error.cause, Cause::TooLarge { limit: 4096 }, "{era}");
        assert_eq!(echo(&link, "still here").await.unwrap(), "still here");
    }
}

#[test]
fn a_large_answer_costs_its_size_and_little_more() {
    for bytes in [MESSAGE + MIB / 10, 1024 * MIB] {
        attacked("legacy", &sized(bytes), &json!("message-too-large"));
    }
    // One that is taken is there as it came and as the text in it.
    attacked_within(MOST + 8 * MIB, "legacy", &sized(MESSAGE - MIB / 10), &Value::Null);
}

#[test]
fn a_bomb_is_put_out() {
    for era in ["legacy", "modern"] {
        let report = attacked(era, &json!([{"gzip_bomb": 4096 * MIB}]), &json!("message-too-large"));
        assert!(report["message"].as_str().unwrap().contains("16777216"), "{report}");
    }
}

#[test]
fn headers_without_end_are_not_read_to_it() {
    for era in ["legacy", "modern"] {
        attacked(era, &json!([{"endless_headers": true}]), &json!("unreachable"));
    }
    let long = json!([{"raw": "HTTP/1.1 200 OK\r\nX-Long: "}, {"repeat": {"text": "a", "times": 512 * MIB}}]);
    attacked("modern", &long, &json!("unreachable"));
}

#[test]
fn an_event_without_end_is_not_kept() {
    for text in ["data: a", "a", ": comment", "id: 1"] {
        let attack =
            json!([{"sse": [{"raw": text}, {"repeat": {"text": "aaaaaaaaaaaaaaaa", "times": 20 * MIB}}]}]);
        attacked("modern", &attack, &json!("message-too-large"));
    }
    // In many lines instead of one.
    let attack = json!([{"sse": [{"repeat": {"text": "data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", "times": MIB}}]}]);
    attacked("legacy", &attack, &json!("message-too-large"));
}

#[test]
fn a_million_events_are_a_million_small_things() {
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    let progress =
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}"#;
    let stray = r#"{"jsonrpc":"2.0","id":777,"result":{}}"#;
    for (text, times) in [
        (format!("data: {log}\n\n"), 100_000),
        (format!("data: {progress}\n\n"), 50_000),
        (format!("data: {stray}\n\n"), 50_000),
        ("data: no JSON\n\n".to_owned(), 50_000),
        ("data:\n\n".to_owned(), 1_000_000),
    ] {
        let result = json!({"content": []});
        let attack = json!([{"sse": [{"repeat": {"text": text, "times": times}}, {"result": result}]}]);
        let report = attacked("legacy", &attack, &Value::Null);
        assert!(report["notices"].as_u64().unwrap() <= 1024, "{report}");
    }
}

#[test]
fn an_error_page_without_end_is_read_from_the_start_only() {
    let head = "HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\n\r\n";
    let attack = json!([{"raw": head}, {"repeat": {"text": "<p>sorry</p>", "times": 100 * MIB}}]);
    let report = attacked("modern", &attack, &json!("http-error"));
    assert!(report["message"].as_str().unwrap().len() < 1000);
}

#[test]
fn an_attack_at_the_first_question_is_no_better() {
    for attack in [json!([{"gzip_bomb": 1024 * MIB}]), sized(512 * MIB), json!([{"endless_headers": true}])] {
        let (_fake, report) = visit(json!({"on": {"*": attack}}));
        assert_eq!(report["opened"], false, "{report}");
        assert!(report["grown"].as_u64().unwrap() <= MOST, "{report}");
    }
}

#[test]
fn a_stream_of_the_server_without_end_costs_nothing() {
    let flood =
        json!([{"sse": [{"raw": "data: "}, {"repeat": {"text": "aaaaaaaaaaaaaaaa", "times": 20 * MIB}}]}]);
    let script =
        json!({"session": true, "on": {"GET": flood, "tools/call": [{"sleep_ms": 1500}, {"default": true}]}});
    let (_fake, report) = visit(script);
    assert_eq!(report["code"], Value::Null, "{report}");
    assert!(report["grown"].as_u64().unwrap() <= MOST, "{report}");
}

#[tokio::test]
async fn a_packed_answer_is_unpacked() {
    // The scripted server packs bombs only, so this one is a small one.
    let (_fake, link) = open(json!({"era": "modern", "on": {"tools/call": [{"gzip_bomb": 5000}]}})).await;
    let text = echo(&link, "x").await.unwrap();
    assert!(text.len() > 4000 && text.bytes().all(|byte| byte == b'a'));
    assert_eq!(said(&call(&link, "echo", json!({"text": "x"})).await.unwrap()), text);
}

#[tokio::test]
async fn a_packed_error_page_is_bounded_after_it_is_unpacked() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&vec![b'a'; 64 * 1024 * 1024]).unwrap();
    let packed = packed.finish().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    // It ends with the test.
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let head = "HTTP/1.1 402 Pay\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n";
            let _talk = std::io::Read::read(&mut stream, &mut [0; 8192])
                .and_then(|_| stream.write_all(head.as_bytes()))
                .and_then(|()| stream.write_all(&packed));
        }
    });
    let failure = dial(&url, Remote::Http, &terms()).await.unwrap_err();
    let Cause::Http { status: 402, body, .. } = &failure.error.cause else { panic!("{failure:?}") };
    assert!(body.len() < 1000, "{}", body.len());
}
