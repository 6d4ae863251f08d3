//! Servers that are started: the official ones in JavaScript and Python, in either era.

use std::process::Command;

use serde_json::json;
use switchboard::wire::{self, CallOptions, Ending};
use tempfile::TempDir;

use crate::world::{
    Willing, call, ends, ends_by_itself, names, node, package, say, speaks, stdio, terms, terms_with, tools,
};

#[tokio::test]
async fn filesystem_asks_for_folders_and_works_in_them() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let host = Willing::new(&folder, json!({}));
    let entry = package("server-filesystem/dist/index.js");
    let link = stdio(&node(), &[&entry, folder.to_str().unwrap()], &terms_with(&host)).await;
    speaks(&link, "2025-11-25");
    let offered = tools(&link).await;
    for name in ["read_text_file", "write_file", "list_directory", "list_allowed_directories"] {
        assert!(offered.contains(name), "{name} is not in {offered:?}");
    }
    host.wait_for("roots").await;
    let file = folder.join("greeting.txt");
    call(&link, "write_file", json!({"path": file, "content": "héllo\n"})).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "héllo\n");
    assert_eq!(say(&link, "read_text_file", json!({"path": file})).await, "héllo\n");
    assert_eq!(say(&link, "list_directory", json!({"path": folder})).await, "[FILE] greeting.txt");
    let outside = json!({"path": "/etc/passwd"}).into();
    assert!(link.call("read_text_file", &outside, CallOptions::default()).await.unwrap().is_error);
    ends_by_itself(&link).await;
}

#[tokio::test]
async fn memory_keeps_a_graph() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("memory.jsonl");
    let entry = package("server-memory/dist/index.js");
    let variables = [("MEMORY_FILE_PATH", file.to_str().unwrap())];
    let launch = testkit::connect::command(&node(), &[&entry], &variables).await;
    let link = wire::open(&launch, &terms()).await.unwrap();
    speaks(&link, "2025-11-25");
    assert_eq!(tools(&link).await.len(), 9);
    let entity = json!({"name": "Ada", "entityType": "person", "observations": ["wrote a program"]});
    call(&link, "create_entities", json!({"entities": [entity]})).await;
    let graph = call(&link, "read_graph", json!({})).await;
    let graph = graph.structured.expect("a value").value();
    assert_eq!(graph["entities"][0]["name"], "Ada");
    assert_eq!(graph["entities"][0]["observations"], json!(["wrote a program"]));
    ends_by_itself(&link).await;
}

#[tokio::test]
async fn sequential_thinking_thinks() {
    let link = stdio(&node(), &[&package("server-sequential-thinking/dist/index.js")], &terms()).await;
    speaks(&link, "2025-11-25");
    assert_eq!(tools(&link).await, names(&["sequentialthinking"]));
    let thought =
        json!({"thought": "first", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false});
    let said = say(&link, "sequentialthinking", thought).await;
    assert!(said.contains("\"thoughtNumber\": 1"), "{said}");
    ends_by_itself(&link).await;
}

#[tokio::test]
async fn git_is_modern_and_sees_a_repository() {
    let folder = TempDir::new().unwrap();
    let made = Command::new("git").args(["init", "--quiet"]).current_dir(folder.path()).status().unwrap();
    assert!(made.success());
    std::fs::write(folder.path().join("new.txt"), "new").unwrap();
    let link = stdio(&testkit::peers().join("python/bin/mcp-server-git"), &[], &terms()).await;
    speaks(&link, "2026-07-28");
    let offered = tools(&link).await;
    assert!(offered.contains("git_status") && offered.len() == 12, "{offered:?}");
    let said = say(&link, "git_status", json!({"repo_path": folder.path()})).await;
    assert!(said.contains("new.txt"), "{said}");
    // It starts slowly, so it was offered a handshake as well; its refusal finds nobody who waits for it.
    ends(&link, Ending::ByItself, 1).await;
}

#[tokio::test]
async fn time_is_modern_and_converts() {
    let program = testkit::peers().join("python/bin/mcp-server-time");
    let link = stdio(&program, &["--local-timezone", "UTC"], &terms()).await;
    speaks(&link, "2026-07-28");
    assert_eq!(tools(&link).await, names(&["convert_time", "get_current_time"]));
    let times = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let said = say(&link, "convert_time", times).await;
    assert!(said.contains("T21:00:00+09:00"), "{said}");
    // It starts slowly, so it was offered a handshake as well; its refusal finds nobody who waits for it.
    ends(&link, Ending::ByItself, 1).await;
}

#[tokio::test]
async fn sqlite_of_the_older_sdk_runs_queries() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("test.db");
    let program = testkit::peers().join("python-old/bin/mcp-server-sqlite");
    let link = stdio(&program, &["--db-path", file.to_str().unwrap()], &terms()).await;
    speaks(&link, "2025-11-25");
    let offered = tools(&link).await;
    assert!(offered.contains("read_query") && offered.len() == 6, "{offered:?}");
    call(&link, "create_table", json!({"query": "CREATE TABLE t (n INTEGER)"})).await;
    call(&link, "write_query", json!({"query": "INSERT INTO t VALUES (6), (7)"})).await;
    let said = say(&link, "read_query", json!({"query": "SELECT sum(n) AS total FROM t"})).await;
    assert!(said.contains("'total': 13"), "{said}");
    ends_by_itself(&link).await;
}
