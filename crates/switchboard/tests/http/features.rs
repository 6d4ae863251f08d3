//! Subscriptions, log levels, questions inside results and tasks, as they go over HTTP.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard::json::Json;
use switchboard::notice::Notice;
use switchboard::wire::{Cause, Interest, Terms};
use testkit::connect::{http, terms};

use crate::streams::Somebody;
use crate::{call, count, echo, eventually, header, lines, open, rpc, said};

const LEVEL: &str = "io.modelcontextprotocol/logLevel";

fn interest() -> Interest {
    let uris = vec!["mem://a".to_owned()];
    Interest { tools: true, uris, ..Interest::default() }
}

#[tokio::test]
async fn a_modern_subscription_is_an_open_request() {
    let script = json!({"era": "modern", "resources": [{"uri": "mem://a", "name": "a", "text": "A"}], "on": {
        "prompts/get": [
            {"broadcast": {"method": "notifications/tools/list_changed"}},
            {"broadcast": {"method": "notifications/resources/updated", "params": {"uri": "mem://a"}}},
            {"result": {"messages": []}},
        ],
    }});
    let (fake, link) = open(script).await;
    let subscription = link.subscribe(&interest()).await.unwrap();
    assert_eq!(
        subscription.granted.value(),
        json!({"toolsListChanged": true, "resourceSubscriptions": ["mem://a"]})
    );
    let asked = &lines(&fake, "subscriptions/listen")[0];
    assert_eq!(header(asked, "mcp-method").as_deref(), Some("subscriptions/listen"));
    link.prompt("x", &[]).await.unwrap();
    assert_eq!(link.notice().await, Notice::ToolsChanged);
    assert_eq!(link.notice().await, Notice::ResourceUpdated { uri: "mem://a".to_owned() });
    drop(subscription);
    eventually(&fake, |line| line.get("closed").is_some()).await;
    assert_eq!(count(&fake, "notifications/cancelled"), 0);
}

#[tokio::test]
async fn a_modern_subscription_ends_when_the_server_ends_it() {
    let granted = json!({"data": {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params":
        {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}, "notifications": {"toolsListChanged": true}}}});
    let word =
        json!({"data": {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}});
    for end in [json!({"result": {"resultType": "complete"}}), word, json!({"cut": true})] {
        let script = json!({"era": "modern", "on": {"subscriptions/listen": [{"sse": [granted, end, {"hang": true}]}]}});
        let (_fake, link) = open(script).await;
        let mut subscription = link.subscribe(&interest()).await.unwrap();
        assert_eq!(subscription.granted.value(), json!({"toolsListChanged": true}));
        tokio::time::timeout(testkit::PATIENCE, subscription.ended()).await.unwrap();
        assert_eq!(echo(&link, "still here").await.unwrap(), "still here", "{end}");
    }
}

#[tokio::test]
async fn a_subscription_that_is_refused_says_so() {
    let script = json!({"era": "modern", "on": {"subscriptions/listen": [{"error": {"code": -32601, "message": "no"}}]}});
    let (_fake, link) = open(script).await;
    assert_eq!(rpc(&link.subscribe(&interest()).await.unwrap_err()), Some(-32601));
}

#[tokio::test]
async fn a_subscription_of_the_handshake_protocol_is_one_request_for_each_resource() {
    let script = json!({"session": true, "listen": true, "resources": [{"uri": "mem://a", "name": "a", "text": "A"}], "on": {
        "resources/subscribe": [{"result": {}}],
        "resources/unsubscribe": [{"result": {}}],
        "ping": [{"broadcast": {"method": "notifications/resources/updated", "params": {"uri": "mem://a"}}}, {"default": true}],
    }});
    let (fake, link) = open(script).await;
    eventually(&fake, |line| line["http"]["method"] == "GET").await;
    let subscription = link.subscribe(&interest()).await.unwrap();
    assert_eq!(
        subscription.granted.value(),
        json!({"toolsListChanged": true, "resourceSubscriptions": ["mem://a"]})
    );
    assert_eq!(lines(&fake, "resources/subscribe")[0]["message"]["params"]["uri"], "mem://a");
    // The stream of the server may have been asked for only just now; what is broadcast before it is there is lost.
    let heard = async {
        loop {
            link.ping().await.unwrap();
            if let Some(notice) = link.take_notice() {
                return notice;
            }
            tokio::task::yield_now().await;
        }
    };
    let notice = tokio::time::timeout(testkit::PATIENCE, heard).await.unwrap();
    assert_eq!(notice, Notice::ResourceUpdated { uri: "mem://a".to_owned() });
    drop(subscription);
    let told = eventually(&fake, |line| line["message"]["method"] == "resources/unsubscribe").await;
    assert_eq!(told["message"]["params"]["uri"], "mem://a");
    assert!(header(&told, "mcp-session-id").is_some());
}

#[tokio::test]
async fn the_log_level_is_told_in_the_way_of_the_protocol() {
    let (fake, link) = open(json!({"era": "modern"})).await;
    echo(&link, "x").await.unwrap();
    link.set_log_level("debug").await.unwrap();
    echo(&link, "x").await.unwrap();
    let levels: Vec<_> = lines(&fake, "tools/call")
        .iter()
        .map(|line| line["message"]["params"]["_meta"][LEVEL].clone())
        .collect();
    assert_eq!(levels, [Value::Null, json!("debug")]);
    assert_eq!(count(&fake, "logging/setLevel"), 0);

    let script = json!({"capabilities": {"tools": {}, "logging": {}}, "on": {
        "logging/setLevel": [{"result": {}}],
        "tools/call": [{"notify": {"method": "notifications/message", "params": {"level": "warning", "logger": "l", "data": {"a": 1}}}}, {"default": true}],
    }});
    let (fake, link) = open(script).await;
    link.set_log_level("warning").await.unwrap();
    assert_eq!(lines(&fake, "logging/setLevel")[0]["message"]["params"], json!({"level": "warning"}));
    echo(&link, "x").await.unwrap();
    let Notice::Log { level, logger, data } = link.notice().await else { panic!("no line") };
    assert_eq!((level.as_str(), logger.as_deref(), data.value()), ("warning", Some("l"), json!({"a": 1})));

    // A server without a log is not asked.
    let (fake, link) = open(json!({})).await;
    link.set_log_level("debug").await.unwrap();
    assert_eq!(count(&fake, "logging/setLevel"), 0);
}

#[tokio::test]
async fn a_question_inside_a_result_is_answered_with_the_same_call_again() {
    let terms = Terms { host: Arc::new(Somebody), ..terms() };
    let (fake, link) = http(json!({"era": "modern"}), &terms).await;
    let link = link.unwrap();
    let asked = call(&link, "ask", json!({"message": "Who?"})).await.unwrap();
    assert_eq!(said(&asked), r#"{"action":"accept","content":{"name":"Ada"}}"#);
    let calls = lines(&fake, "tools/call");
    assert_eq!(calls.len(), 2);
    let params = |index: usize| &calls[index]["message"]["params"];
    assert_ne!(calls[0]["message"]["id"], calls[1]["message"]["id"]);
    assert_eq!((&params(0)["arguments"], &params(0)["name"]), (&params(1)["arguments"], &params(1)["name"]));
    assert_eq!(params(0).get("inputResponses"), None);
    assert!(calls.iter().all(|line| header(line, "mcp-name").as_deref() == Some("ask")));
    // Nothing of it is left in the next one.
    echo(&link, "x").await.unwrap();
    let next = &lines(&fake, "tools/call")[2]["message"]["params"];
    assert_eq!((next.get("inputResponses"), next.get("requestState")), (None, None));
}

#[tokio::test]
async fn questions_without_end_have_one() {
    let again = json!([{"result": {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}}}]);
    let terms = Terms {
        host: Arc::new(switchboard::host::Headless {
            folders: vec![std::env::temp_dir()],
            ..switchboard::host::Headless::default()
        }),
        ..terms()
    };
    let (fake, link) = http(json!({"era": "modern", "on": {"tools/call": again}}), &terms).await;
    let error = echo(&link.unwrap(), "x").await.unwrap_err();
    assert_eq!((error.cause, count(&fake, "tools/call")), (Cause::TooManyRounds { rounds: 10 }, 10));
}

/// A server whose calls become a task, which goes through these states.
fn task(states: &[Value]) -> Value {
    let state = |extra: &Value| {
        let mut state = json!({"resultType": "complete", "taskId": "t ä/1", "pollIntervalMs": 20});
        state.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!([{"result": state}])
    };
    let states: Vec<Value> = states.iter().map(state).collect();
    json!({"era": "modern", "on": {
        "tools/call": [{"result": {"resultType": "task", "taskId": "t ä/1", "status": "working", "pollIntervalMs": 20}}],
        "tasks/get": {"times": states},
        "tasks/update": [{"result": {"resultType": "complete"}}],
        "tasks/cancel": [{"result": {"resultType": "complete"}}],
    }})
}

#[tokio::test]
async fn a_modern_task_is_followed_under_its_own_name() {
    let terms = Terms { host: Arc::new(Somebody), ..terms() };
    let question = json!({"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {"type": "object"}}});
    let wants_input = json!({"status": "input_required", "inputRequests": {"k": question}});
    let done = json!({"status": "completed", "result": {"content": [{"type": "text", "text": "done"}]}});
    // The same question twice is answered once.
    let script = task(&[json!({"status": "working"}), wants_input.clone(), wants_input, done]);
    let (fake, link) = http(script, &terms).await;
    assert_eq!(echo(&link.unwrap(), "x").await.unwrap(), "done");
    assert_eq!(
        (count(&fake, "tasks/get"), count(&fake, "tasks/update"), count(&fake, "tasks/cancel")),
        (4, 1, 0)
    );
    for method in ["tasks/get", "tasks/update"] {
        for line in lines(&fake, method) {
            assert_eq!(line["message"]["params"]["taskId"], "t ä/1");
            assert_eq!(header(&line, "mcp-name").as_deref(), Some("=?base64?dCDDpC8x?="), "{method}");
            assert_eq!(header(&line, "mcp-method").as_deref(), Some(method));
        }
    }
    let update = &lines(&fake, "tasks/update")[0]["message"]["params"]["inputResponses"];
    assert_eq!(update["k"], json!({"action": "accept", "content": {"name": "Ada"}}));
}

#[tokio::test]
async fn a_modern_task_that_fails_is_a_call_that_fails() {
    let failed = json!({"status": "failed", "error": {"code": -7, "message": "no luck"}});
    let (_fake, link) = open(task(&[failed])).await;
    assert_eq!(rpc(&echo(&link, "x").await.unwrap_err()), Some(-7));
    let (_fake, link) = open(task(&[json!({"status": "cancelled"})])).await;
    assert!(echo(&link, "x").await.is_err());
}

#[tokio::test]
async fn a_modern_task_nobody_waits_for_is_cancelled_by_its_name() {
    let (fake, link) = open(task(&[json!({"status": "working"})])).await;
    let running = {
        let link = link.clone();
        tokio::spawn(async move { echo(&link, "x").await })
    };
    eventually(&fake, |line| line["message"]["method"] == "tasks/get").await;
    running.abort();
    let told = eventually(&fake, |line| line["message"]["method"] == "tasks/cancel").await;
    assert_eq!(told["message"]["params"]["taskId"], "t ä/1");
    assert_eq!(header(&told, "mcp-name").as_deref(), Some("=?base64?dCDDpC8x?="));
    assert_eq!(count(&fake, "notifications/cancelled"), 0);
}

#[tokio::test]
async fn a_task_of_the_handshake_protocol_is_asked_for_and_fetched() {
    let tool =
        json!({"name": "echo", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}});
    let state = |status: &str| json!([{"result": {"taskId": "t-1", "status": status, "pollInterval": 20}}]);
    let script = json!({"session": true, "tools": [tool], "on": {
        "tools/call": [{"result": {"task": {"taskId": "t-1", "status": "working", "pollInterval": 20}}}],
        "tasks/get": {"times": [state("working"), state("completed")]},
        "tasks/result": [{"result": {"content": [{"type": "text", "text": "done"}]}}],
    }});
    let (fake, link) = open(script).await;
    link.tools().await.unwrap();
    assert_eq!(echo(&link, "x").await.unwrap(), "done");
    assert!(lines(&fake, "tools/call")[0]["message"]["params"]["task"].is_object());
    assert_eq!((count(&fake, "tasks/get"), count(&fake, "tasks/result")), (2, 1));
    assert!(lines(&fake, "tasks/get").iter().all(|line| header(line, "mcp-name").is_none()));
}

#[tokio::test]
async fn lists_reads_prompts_and_completions_look_the_same_in_both_protocols() {
    for era in ["legacy", "modern"] {
        for answer in ["json", "sse"] {
            let script = json!({
                "era": era, "answer": answer, "session": true, "page_size": 1,
                "resources": [{"uri": "mem://a", "name": "a", "text": "A"}, {"uri": "mem://b", "name": "b", "text": "B"}],
                "templates": [{"uriTemplate": "mem://{x}", "name": "t"}],
                "prompts": [{"name": "p", "messages": [{"role": "user", "content": {"type": "text", "text": "P"}}]}],
                "on": {"completion/complete": [{"result": {"completion": {"values": ["one", "two"], "hasMore": false}}}]},
            });
            let (_fake, link) = open(script).await;
            assert_eq!(link.tools().await.unwrap().items.len(), 7);
            assert_eq!(link.resources().await.unwrap().items.len(), 2);
            assert_eq!(link.templates().await.unwrap().items.len(), 1);
            assert_eq!(link.prompts().await.unwrap().items.len(), 1);
            assert_eq!(link.read("mem://b").await.unwrap().contents.len(), 1);
            assert_eq!(link.prompt("p", &[]).await.unwrap().messages.len(), 1);
            let reference = Json::from(json!({"type": "ref/prompt", "name": "p"}));
            let completion = link.complete(&reference, ("a", "o"), None).await.unwrap();
            assert_eq!(completion.values, ["one", "two"], "{era} {answer}");
        }
    }
}
