//! The server of the SDK for Python, which speaks both eras on one address.

use serde_json::json;
use switchboard::calls::shape;
use switchboard::catalog::Verdict;
use switchboard::declared::Remote;
use switchboard::wire::{CallOptions, Era, Link, Terms};
use tempfile::TempDir;

use crate::world::{
    Listening, Willing, call, dial, names, promised, say, speaks, steps, terms_with, text, tools,
};

const TOOLS: &[&str] = &["add", "count", "echo", "fail", "order", "reserve"];

async fn the_same_in_both(link: &Link) {
    assert_eq!(tools(link).await, names(TOOLS));
    assert_eq!(say(link, "echo", json!({"text": "hällo"})).await, "hällo");
    assert_eq!(say(link, "add", json!({"a": 20, "b": 22})).await, "42");
    let sum = call(link, "add", json!({"a": 1, "b": 1})).await;
    assert_eq!(promised(link, "add", &sum).await, Some(Verdict::Kept));
    assert_eq!(shape(&sum).text, "2", "said once, not twice");
    let heard = steps(link, "count", json!({"to": 3})).await;
    assert_eq!(heard, [(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))]);
    let failed = link.call("fail", &json!({}).into(), CallOptions::default()).await.unwrap();
    assert!(failed.is_error && failed.raw.as_str().contains("always fails"), "{failed:?}");

    let resources = link.resources().await.unwrap().items;
    assert_eq!(resources.iter().map(|item| item.uri.as_str()).collect::<Vec<_>>(), ["peer://greeting"]);
    assert_eq!(text(&link.read("peer://greeting").await.unwrap()), "Hello from the peer");
    let templates = link.templates().await.unwrap().items;
    let templates: Vec<_> = templates.iter().map(|item| item.uri_template.as_str()).collect();
    assert_eq!(templates, ["peer://square/{number}"]);
    assert_eq!(text(&link.read("peer://square/12").await.unwrap()), "144");
    let prompts = link.prompts().await.unwrap().items;
    assert_eq!(prompts.iter().map(|item| item.name.as_str()).collect::<Vec<_>>(), ["introduce"]);
    let prompt = link.prompt("introduce", &[("name".to_owned(), "Ada".to_owned())]).await.unwrap();
    let words = prompt.messages[0].value()["content"]["text"].clone();
    assert_eq!(words, "Please introduce Ada in one sentence.");
    link.ping().await.unwrap();
}

#[tokio::test]
async fn modern_by_itself_with_questions_inside_results() {
    let server = Listening::fastmcp(&[]);
    let folder = TempDir::new().unwrap();
    let host = Willing::new(folder.path(), json!({"name": "Ada"}));
    let link = dial(&server.url("/mcp"), Remote::Http, &terms_with(&host)).await;
    speaks(&link, "2026-07-28");
    assert_eq!(link.facts().instructions.as_deref(), Some("A peer for tests."));
    the_same_in_both(&link).await;
    // The count is the form's default; the state is the server's own.
    assert_eq!(say(&link, "reserve", json!({})).await, "1 x Ada, reserve-1");
    assert_eq!(host.asked(), ["form For whom?"]);
    link.stop().await;
}

#[tokio::test]
async fn with_a_handshake_when_that_is_remembered() {
    let server = Listening::fastmcp(&[]);
    let folder = TempDir::new().unwrap();
    let host = Willing::new(folder.path(), json!({"name": "Ada", "count": 3}));
    let terms = Terms { remembered: Some(Era::Handshake), ..terms_with(&host) };
    let link = dial(&server.url("/mcp"), Remote::Http, &terms).await;
    speaks(&link, "2025-11-25");
    the_same_in_both(&link).await;
    assert_eq!(say(&link, "order", json!({})).await, "3 x Ada");
    assert_eq!(host.asked(), ["form What shall it be?"]);
    link.stop().await;
}
