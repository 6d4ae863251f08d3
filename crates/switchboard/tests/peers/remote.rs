//! The example servers of the SDK for TypeScript over Streamable HTTP, each with one thing of its own.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::declared::Remote;
use switchboard::notice::Notice;
use switchboard::wire::{self, Cause};
use tempfile::TempDir;

use crate::world::{
    Listening, Willing, dial, example, names, notice, say, speaks, terms, terms_with, text, tools,
};

#[tokio::test]
async fn a_session_with_a_form_a_task_and_log_lines() {
    let server = Listening::node(&[&example("simpleStreamableHttp")]);
    let folder = TempDir::new().unwrap();
    let host = Willing::new(folder.path(), json!({"name": "Ada", "email": "ada@example.com"}));
    let link = dial(&server.url("/mcp"), Remote::Http, &terms_with(&host)).await;
    speaks(&link, "2025-11-25");
    let offered = tools(&link).await;
    assert!(offered.contains("greet") && offered.contains("delay"), "{offered:?}");
    assert_eq!(say(&link, "greet", json!({"name": "Ada"})).await, "Hello, Ada!");
    let said = say(&link, "collect-user-info", json!({"infoType": "contact"})).await;
    assert!(said.contains("ada@example.com"), "{said}");
    assert_eq!(host.asked(), ["form Please provide your contact information"]);
    assert_eq!(say(&link, "delay", json!({"duration": 50})).await, "Completed 50ms delay");
    link.set_log_level("info").await.unwrap();
    say(&link, "start-notification-stream", json!({"interval": 10, "count": 2})).await;
    notice(&link, |notice| matches!(notice, Notice::Log { .. })).await;
    let read = link.read("https://example.com/greetings/default").await.unwrap();
    assert_eq!(text(&read), "Hello, world!");
    link.stop().await;
}

#[tokio::test]
async fn no_session_at_all() {
    let server = Listening::node(&[&example("simpleStatelessStreamableHttp")]);
    let link = dial(&server.url("/mcp"), Remote::Http, &terms()).await;
    speaks(&link, "2025-11-25");
    assert_eq!(tools(&link).await, names(&["start-notification-stream"]));
    let said = say(&link, "start-notification-stream", json!({"interval": 10, "count": 2})).await;
    // Its log lines go nowhere: they belong to no request, and there is no common stream.
    assert!(said.starts_with("Started sending"), "{said}");
    let prompt = link.prompt("greeting-template", &[("name".to_owned(), "Ada".to_owned())]).await.unwrap();
    assert!(prompt.messages[0].as_str().contains("greet Ada"));
    link.stop().await;
}

#[tokio::test]
async fn answers_without_a_stream() {
    let server = Listening::node(&[&example("jsonResponseStreamableHttp")]);
    let link = dial(&server.url("/mcp"), Remote::Http, &terms()).await;
    speaks(&link, "2025-11-25");
    assert_eq!(tools(&link).await, names(&["greet", "multi-greet"]));
    assert_eq!(say(&link, "greet", json!({"name": "Ada"})).await, "Hello, Ada!");
    link.stop().await;
}

#[tokio::test]
async fn a_stream_the_server_cuts_is_taken_up_again() {
    let server = Listening::node(&[&example("ssePollingExample")]);
    let link = dial(&server.url("/mcp"), Remote::Http, &terms()).await;
    speaks(&link, "2025-11-25");
    assert_eq!(tools(&link).await, names(&["long-task"]));
    let start = Instant::now();
    assert_eq!(say(&link, "long-task", json!({})).await, "Long task completed successfully!");
    // It asks to be left alone for two seconds, two seconds after the start.
    assert!(start.elapsed() >= Duration::from_secs(4), "{:?}", start.elapsed());
    for part in ["25%", "50%", "75%", "100%"] {
        let has =
            |notice: &Notice| matches!(notice, Notice::Log { data, .. } if data.as_str().contains(part));
        notice(&link, has).await;
    }
    link.stop().await;
}

#[tokio::test]
async fn tasks_whose_questions_come_on_the_common_stream() {
    let server = Listening::node(&[&example("simpleTaskInteractive")]);
    let folder = TempDir::new().unwrap();
    let host = Willing::new(folder.path(), json!({"confirm": true}));
    let link = dial(&server.url("/mcp"), Remote::Http, &terms_with(&host)).await;
    speaks(&link, "2025-11-25");
    assert_eq!(tools(&link).await, names(&["confirm_delete", "write_haiku"]));
    let said = say(&link, "confirm_delete", json!({"filename": "old.txt"})).await;
    assert_eq!(said, "Deleted 'old.txt'");
    assert_eq!(say(&link, "write_haiku", json!({"topic": "ponds"})).await, "Haiku:\nan old silent pond");
    let asked = host.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].starts_with("form Are you sure") && asked[1].starts_with("sample"), "{asked:?}");
    link.stop().await;
}

#[tokio::test]
async fn a_server_behind_a_login_says_where() {
    let server = Listening::node_after_login(&[&example("elicitationUrlExample")]);
    let launch = testkit::connect::address(&server.url("/mcp"), Remote::Http, &[]).await;
    let failure = wire::open(&launch, &terms()).await.unwrap_err();
    assert!(failure.error.needs_login(), "{failure:?}");
    let Cause::Unauthorized { status: 401, challenge: Some(challenge), .. } = &failure.error.cause else {
        panic!("{failure:?}")
    };
    assert!(challenge.contains("Bearer") && challenge.contains("resource_metadata="), "{challenge}");
}

#[tokio::test]
async fn one_server_with_both_transports() {
    let server = Listening::node(&[&example("sseAndStreamableHttpCompatibleServer")]);
    for (path, kind, transport) in
        [("/mcp", Remote::Http, "http"), ("/sse", Remote::Sse, "sse"), ("/sse", Remote::Http, "sse")]
    {
        let link = dial(&server.url(path), kind, &terms()).await;
        speaks(&link, "2025-11-25");
        assert_eq!(link.transport(), transport, "{path}");
        assert_eq!(tools(&link).await, names(&["start-notification-stream"]));
        say(&link, "start-notification-stream", json!({"interval": 10, "count": 1})).await;
        notice(&link, |notice| matches!(notice, Notice::Log { .. })).await;
        link.stop().await;
    }
}
