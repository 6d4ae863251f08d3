//! Servers of the transport of 2024-11-05, whichever kind their address is declared as.

use serde_json::json;
use switchboard::declared::Remote;
use tempfile::TempDir;

use crate::world::{
    Listening, Willing, call, dial, example, names, package, say, speaks, steps, terms_with, text, tools,
};

const KINDS: [Remote; 2] = [Remote::Sse, Remote::Http];

#[tokio::test]
async fn everything() {
    let server = Listening::node(&[&package("server-everything/dist/index.js"), "sse"]);
    for kind in KINDS {
        let folder = TempDir::new().unwrap();
        let host = Willing::new(folder.path(), json!({"name": "Ada"}));
        let link = dial(&server.url("/sse"), kind, &terms_with(&host)).await;
        speaks(&link, "2025-11-25");
        assert_eq!(link.transport(), "sse");
        let offered = tools(&link).await;
        assert!(offered.contains("echo") && offered.len() > 12, "{offered:?}");
        assert_eq!(say(&link, "echo", json!({"message": "hello"})).await, "Echo: hello");
        let heard =
            steps(&link, "trigger-long-running-operation", json!({"duration": 0.2, "steps": 2})).await;
        assert_eq!(heard.len(), 2);
        let form = call(&link, "trigger-elicitation-request", json!({})).await;
        assert!(form.raw.as_str().contains("Ada"));
        host.wait_for("roots").await;
        link.stop().await;
    }
}

/// Its lines end in two characters.
#[tokio::test]
async fn fastmcp() {
    let server = Listening::fastmcp(&["--sse"]);
    for kind in KINDS {
        let folder = TempDir::new().unwrap();
        let host = Willing::new(folder.path(), json!({"name": "Ada", "count": 2}));
        let link = dial(&server.url("/sse"), kind, &terms_with(&host)).await;
        speaks(&link, "2025-11-25");
        assert_eq!(link.transport(), "sse");
        assert_eq!(tools(&link).await, names(&["add", "count", "echo", "fail", "order", "reserve"]));
        assert_eq!(say(&link, "order", json!({})).await, "2 x Ada");
        assert_eq!(steps(&link, "count", json!({"to": 2})).await.len(), 2);
        assert_eq!(text(&link.read("peer://greeting").await.unwrap()), "Hello from the peer");
        link.stop().await;
    }
}

#[tokio::test]
async fn the_simple_example() {
    let server = Listening::node(&[&example("simpleSseServer")]);
    let folder = TempDir::new().unwrap();
    let host = Willing::new(folder.path(), json!({}));
    let link = dial(&server.url("/mcp"), Remote::Sse, &terms_with(&host)).await;
    speaks(&link, "2025-11-25");
    assert_eq!(link.transport(), "sse");
    let offered = tools(&link).await;
    assert_eq!(offered, names(&["start-notification-stream"]));
    say(&link, "start-notification-stream", json!({"interval": 10, "count": 1})).await;
    link.stop().await;
}
