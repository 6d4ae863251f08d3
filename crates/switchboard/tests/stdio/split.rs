//! Messages in pieces, messages together, and line ends of every kind.

use serde_json::{Value, json};

use crate::kit::{assert_works, call, on_call, open, text};

const MESSAGE: &str =
    r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"äö €𝄞 \" \\ é"}]}}"#;
const SAID: &str = "äö €𝄞 \" \\ é";

/// The answer to call `n`, cut after character `n`.
fn cut(n: usize) -> Option<Value> {
    let whole = MESSAGE.replace("ID", &(n + 3).to_string());
    let (at, _) = whole.char_indices().nth(n + 1)?;
    let (head, tail) = whole.split_at(at);
    Some(json!([{"raw": head}, {"sleep_ms": 2}, {"raw": format!("{tail}\n")}]))
}

#[tokio::test]
async fn a_message_cut_at_every_place_is_the_same_message() {
    // The question had id 1, the handshake 2; so the calls start at 3.
    let mut times = Vec::new();
    while let Some(pieces) = cut(times.len()) {
        times.push(pieces);
    }
    let n_cuts = times.len();
    assert!(n_cuts > 60);
    let (_script, link) = open(json!({"on": {"tools/call": {"times": times}}})).await;
    for n in 0..n_cuts {
        let result = call(&link, "echo", json!({})).await.unwrap();
        assert_eq!(text(&result), SAID, "cut at {n}");
    }
    assert_eq!(link.noise().0, 0);
}

#[tokio::test]
async fn a_message_byte_by_byte_is_the_same_message() {
    // Cuts inside characters, too.
    let result = json!({"content": [{"type": "text", "text": SAID}]});
    let (_script, link) = open(on_call(json!([{"drip": {"result": result, "ms": 0}}]))).await;
    for _ in 0..3 {
        assert_eq!(text(&call(&link, "echo", json!({})).await.unwrap()), SAID);
    }
    assert_eq!(link.noise().0, 0);
}

#[tokio::test]
async fn messages_in_one_piece_are_taken_apart() {
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#;
    let answer = MESSAGE.replace("ID", "3");
    let piece = format!("\n\r\n{notification}\r\nnoise\n{answer}\r\n   \n{notification}\n");
    let (_script, link) = open(on_call(json!([{"raw": piece}]))).await;
    assert_eq!(text(&call(&link, "echo", json!({})).await.unwrap()), SAID);
    assert_eq!(link.take_notice(), Some(switchboard::notice::Notice::PromptsChanged));
    assert_eq!(link.noise().0, 1);
}

#[tokio::test]
async fn a_batch_is_taken_apart() {
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#;
    let batch = format!("[{notification},{}]\n", MESSAGE.replace("ID", "3"));
    let (_script, link) = open(on_call(json!([{"raw": batch}]))).await;
    assert_eq!(text(&call(&link, "echo", json!({})).await.unwrap()), SAID);
    assert_eq!(link.take_notice(), Some(switchboard::notice::Notice::ResourcesChanged));
}

#[tokio::test]
async fn what_we_send_is_one_line_each_whatever_is_in_it() {
    let (_script, link) = open(json!({})).await;
    for said in ["a\nb", "a\r\nb", "\u{2028}\u{2029}", "\u{0}\u{1b}", "𝄞\"\\"] {
        let result = call(&link, "echo", json!({"text": said})).await.unwrap();
        assert_eq!(text(&result), said);
    }
    let long = "é".repeat(2_000_000);
    assert_eq!(text(&call(&link, "echo", json!({"text": long})).await.unwrap()), long);
    assert_works(&link).await;
}
