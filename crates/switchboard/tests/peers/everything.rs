//! The official server with everything in it, over stdio and Streamable HTTP.

use std::sync::Arc;

use serde_json::json;
use switchboard::catalog::Verdict;
use switchboard::declared::Remote;
use switchboard::json::Json;
use switchboard::notice::Notice;
use switchboard::offer::{Body, Kind};
use switchboard::wire::{CallOptions, Cause, Ending, Interest, Link};
use tempfile::TempDir;

use crate::world::{
    Listening, Willing, call, dial, ends, ends_by_itself, node, notice, package, promised, say, speaks,
    stdio, steps, terms_with, text, tools,
};

const TEXT: &str = "demo://resource/dynamic/text/1";

fn entry() -> String {
    package("server-everything/dist/index.js")
}

/// The server on stdio, with a host that answers. It lives on for a minute when it is left before it got the folders.
async fn opened() -> (Link, Arc<Willing>, TempDir) {
    let folder = TempDir::new().unwrap();
    let values = json!({"name": "Ada", "interpretation": "snake"});
    let host = Willing::new(folder.path(), values);
    let link = stdio(&node(), &[&entry(), "stdio"], &terms_with(&host)).await;
    speaks(&link, "2025-11-25");
    host.wait_for("roots").await;
    (link, host, folder)
}

#[tokio::test]
async fn tools_give_every_kind_of_content() {
    let (link, _host, _folder) = opened().await;
    let offered = tools(&link).await;
    let wanted = ["echo", "get-sum", "get-tiny-image", "simulate-research-query", "trigger-url-elicitation"];
    assert!(wanted.iter().all(|name| offered.contains(*name)) && offered.len() >= 17, "{offered:?}");
    assert_eq!(say(&link, "echo", json!({"message": "hello"})).await, "Echo: hello");
    assert!(say(&link, "get-sum", json!({"a": 2, "b": 3})).await.contains('5'));

    let weather = call(&link, "get-structured-content", json!({"location": "Chicago"})).await;
    assert_eq!(promised(&link, "get-structured-content", &weather).await, Some(Verdict::Kept));
    assert_eq!(weather.structured.unwrap().value()["temperature"], 36);

    let message = json!({"messageType": "error", "includeImage": true});
    let message = call(&link, "get-annotated-message", message).await;
    assert_eq!(message.content[0].raw.value()["annotations"]["priority"], 1.0);
    let kinds = |blocks: &[switchboard::offer::Content]| -> Vec<Kind> {
        blocks.iter().map(|block| block.kind.clone()).collect()
    };
    assert_eq!(kinds(&message.content), [Kind::Text, Kind::Image]);

    let image = call(&link, "get-tiny-image", json!({})).await;
    assert!(kinds(&image.content).contains(&Kind::Image));
    let links = call(&link, "get-resource-links", json!({"count": 3})).await;
    let link_kind = Kind::ResourceLink;
    assert_eq!(kinds(&links.content), [Kind::Text, link_kind.clone(), link_kind.clone(), link_kind]);
    let reference = json!({"resourceType": "Text", "resourceId": 1});
    let reference = call(&link, "get-resource-reference", reference).await;
    let embedded = reference.content.iter().find(|block| block.kind == Kind::Resource).unwrap();
    assert!(embedded.text.as_ref().unwrap().starts_with("Resource 1"));

    let wrong = link.call("get-sum", &json!({"a": "x"}).into(), CallOptions::default()).await;
    assert!(matches!(wrong, Ok(result) if result.is_error));
    ends_by_itself(&link).await;
}

#[tokio::test]
async fn the_host_is_asked_for_folders_forms_visits_and_the_model() {
    let (link, host, folder) = opened().await;
    tools(&link).await;
    let root = folder.path().to_str().unwrap().to_owned();
    let said = say(&link, "get-roots-list", json!({})).await;
    assert!(said.contains(&format!("file://{root}")), "{said}");

    let form = call(&link, "trigger-elicitation-request", json!({})).await;
    let form = form.raw.as_str().to_owned();
    // What the user said, and a default of the form.
    assert!(form.contains("Ada") && form.contains("dark and stormy"), "{form}");

    let address = "https://example.com/consent";
    let said = say(&link, "trigger-url-elicitation", json!({"url": address})).await;
    assert!(said.contains("User completed"), "{said}");
    let sampling = json!({"prompt": "pond", "maxTokens": 10});
    let said = say(&link, "trigger-sampling-request", sampling).await;
    assert!(said.contains("an old silent pond"), "{said}");

    let asked = host.asked();
    assert!(asked.contains(&format!("visit {address}")), "{asked:?}");
    assert!(asked.iter().any(|asked| asked.starts_with("form Please provide")), "{asked:?}");
    assert!(asked.iter().any(|asked| asked.starts_with("sample") && asked.contains("pond")), "{asked:?}");
    let before = asked.iter().filter(|asked| *asked == "roots").count();
    link.roots_changed().await.unwrap();
    // A change of the folders makes it ask again; the answer to a later request shows that it has.
    link.ping().await.unwrap();
    say(&link, "get-roots-list", json!({})).await;
    let after = host.asked().iter().filter(|asked| *asked == "roots").count();
    assert!(after > before, "{:?}", host.asked());
    ends_by_itself(&link).await;
}

#[tokio::test]
async fn resources_prompts_and_completions() {
    let (link, _host, _folder) = opened().await;
    assert!(!link.resources().await.unwrap().items.is_empty());
    let templates = link.templates().await.unwrap().items;
    let templates: Vec<_> = templates.into_iter().map(|template| template.uri_template).collect();
    assert!(templates.contains(&"demo://resource/dynamic/text/{resourceId}".to_owned()), "{templates:?}");
    assert!(text(&link.read(TEXT).await.unwrap()).starts_with("Resource 1"));
    let blob = link.read("demo://resource/dynamic/blob/1").await.unwrap();
    assert!(matches!(blob.contents[0].body, Body::Blob(_)));
    assert!(matches!(link.read("demo://nothing").await.unwrap_err().cause, Cause::Rpc(_)));

    let prompts: Vec<_> = link.prompts().await.unwrap().items.into_iter().map(|item| item.name).collect();
    for name in ["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"] {
        assert!(prompts.iter().any(|prompt| prompt == name), "{prompts:?}");
    }
    let city = [("city".to_owned(), "Oslo".to_owned())];
    let prompt = link.prompt("args-prompt", &city).await.unwrap();
    assert_eq!(prompt.messages[0].value()["content"]["text"], "What's weather in Oslo?");
    assert_eq!(link.prompt("simple-prompt", &[]).await.unwrap().messages.len(), 1);

    let reference = Json::from(json!({"type": "ref/prompt", "name": "completable-prompt"}));
    let departments = link.complete(&reference, ("department", "S"), None).await.unwrap();
    assert_eq!(departments.values, ["Sales", "Support"]);
    let chosen = Json::from(json!({"arguments": {"department": "Sales"}}));
    let people = link.complete(&reference, ("name", "E"), Some(&chosen)).await.unwrap();
    assert_eq!(people.values, ["Eve"]);
    ends_by_itself(&link).await;
}

#[tokio::test]
async fn progress_log_lines_and_changes_are_heard() {
    let (link, _host, _folder) = opened().await;
    // Some tools are added when the server knows what the host can do.
    notice(&link, |notice| *notice == Notice::ToolsChanged).await;
    let heard = steps(&link, "trigger-long-running-operation", json!({"duration": 0.3, "steps": 3})).await;
    assert_eq!(heard, [(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))]);

    link.set_log_level("debug").await.unwrap();
    call(&link, "toggle-simulated-logging", json!({})).await;
    // Its level is left to chance.
    let simulated =
        |notice: &Notice| matches!(notice, Notice::Log { data, .. } if data.as_str().contains("message"));
    notice(&link, simulated).await;
    call(&link, "toggle-simulated-logging", json!({})).await;

    let interest = Interest { tools: true, uris: vec![TEXT.to_owned()], ..Interest::default() };
    let subscription = link.subscribe(&interest).await.unwrap();
    let granted = json!({"toolsListChanged": true, "resourceSubscriptions": [TEXT]});
    assert_eq!(subscription.granted.value(), granted);
    call(&link, "toggle-subscriber-updates", json!({})).await;
    let updated = Notice::ResourceUpdated { uri: TEXT.to_owned() };
    notice(&link, |notice| *notice == updated).await;
    call(&link, "toggle-subscriber-updates", json!({})).await;
    drop(subscription);
    // What was sent last is dealt with before the server is left.
    link.ping().await.unwrap();
    // The answer to the end of a subscription finds nobody who waits for it.
    ends(&link, Ending::ByItself, 1).await;
}

#[tokio::test]
async fn a_tool_that_must_be_a_task_is_one_and_asks_on_the_way() {
    let (link, host, _folder) = opened().await;
    tools(&link).await;
    let query = json!({"topic": "python", "ambiguous": true});
    let said = say(&link, "simulate-research-query", query).await;
    assert!(said.starts_with("# Research Report: python (snake)"), "{said}");
    host.wait_for("form The research query").await;
    // It keeps the task for minutes, and itself with it, until it is asked to end.
    ends(&link, Ending::Asked, 0).await;
}

#[tokio::test]
async fn over_http_with_a_session_that_ends() {
    let server = Listening::node(&[&entry(), "streamableHttp"]);
    let folder = TempDir::new().unwrap();
    let host = Willing::new(folder.path(), json!({"name": "Ada"}));
    let link = dial(&server.url("/mcp"), Remote::Http, &terms_with(&host)).await;
    speaks(&link, "2025-11-25");
    assert_eq!(link.transport(), "http");
    let offered = tools(&link).await;
    assert!(offered.contains("trigger-elicitation-request"), "{offered:?}");
    assert_eq!(say(&link, "echo", json!({"message": "hello"})).await, "Echo: hello");
    let heard = steps(&link, "trigger-long-running-operation", json!({"duration": 0.2, "steps": 2})).await;
    assert_eq!(heard, [(1.0, Some(2.0)), (2.0, Some(2.0))]);
    let form = call(&link, "trigger-elicitation-request", json!({})).await;
    assert!(form.raw.as_str().contains("Ada"));
    host.wait_for("roots").await;
    link.stop().await;
    assert!(matches!(link.ping().await.unwrap_err().cause, Cause::Stopped));
    // The server has not gone: it takes the next one.
    let link = dial(&server.url("/mcp"), Remote::Http, &terms_with(&host)).await;
    assert_eq!(say(&link, "get-sum", json!({"a": 1, "b": 1})).await.matches('2').count(), 1);
    link.stop().await;
}
