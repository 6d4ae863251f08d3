//! What we send, to scripted servers of every revision over every transport, obeys the schemas.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::declared::Remote;
use switchboard::host::{Abilities, Answer, Elicitation, Host, Reply, Root};
use switchboard::json::Json;
use switchboard::wire::{self, CallOptions, Interest, Link, Terms};
use testkit::{Fake, connect, eventually};

use crate::judge::{Schemas, questions};
use crate::{HANDSHAKES, MODERN, official};

/// Answers everything, the way the schemas want it.
struct Polite;

impl Host for Polite {
    fn abilities(&self) -> Abilities {
        Abilities { roots: true, forms: true, urls: true, sampling: true }
    }

    fn roots(&self) -> Vec<Root> {
        vec![Root::new(&std::env::temp_dir())]
    }

    fn elicit(&self, question: Elicitation) -> Reply<'_, Answer> {
        let answer = match question.message.as_str() {
            "no" => Answer::Decline,
            "later" => Answer::Cancel,
            _ => Answer::Accept(json!({"name": "Ada"}).into()),
        };
        Box::pin(std::future::ready(answer))
    }

    fn sample(&self, _server: String, params: Json) -> Reply<'_, Result<Json, String>> {
        let content = json!({"type": "text", "text": "words"});
        let answer = match params.value()["maxTokens"].as_u64() {
            Some(0) => Err("not today".to_owned()),
            _ => Ok(json!({"role": "assistant", "model": "m", "content": content}).into()),
        };
        Box::pin(std::future::ready(answer))
    }
}

fn terms() -> Terms {
    Terms { host: Arc::new(Polite), ..connect::terms() }
}

/// A server with everything in it.
fn script(era: &str, version: Option<&str>) -> Value {
    let mut asking: Vec<Value> = Vec::new();
    for (id, method, params, _) in questions() {
        asking.push(json!({"request": {"id": id, "method": method, "params": params}}));
    }
    asking.push(json!({"result": {}}));
    let wants_headers = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
    }});
    let object = json!({"type": "object"});
    let mut script = json!({
        "era": era, "page_size": 2,
        "capabilities": {
            "tools": {"listChanged": true}, "prompts": {"listChanged": true}, "completions": {}, "logging": {},
            "resources": {"listChanged": true, "subscribe": true}, "tasks": {"requests": {"tools": {"call": {}}}},
        },
        "tools": [
            {"name": "echo", "inputSchema": object}, {"name": "slow", "inputSchema": object},
            {"name": "ask", "inputSchema": object}, {"name": "near", "inputSchema": wants_headers},
        ],
        "resources": [{"uri": "test://a", "name": "a", "text": "A"}],
        "templates": [{"uriTemplate": "test://{x}", "name": "x", "text": "X"}],
        "prompts": [{"name": "p", "messages": []}],
        "on": {
            "completion/complete": [{"result": {"completion": {"values": ["a"]}}}],
            "test/ask": asking,
        },
    });
    if let Some(version) = version {
        script["version"] = json!(version);
    }
    script
}

/// Everything one can do with a link.
async fn everything(link: &Link) {
    let none = CallOptions::default;
    assert_eq!(link.tools().await.unwrap().items.len(), 4);
    link.set_log_level("info").await.unwrap();
    link.resources().await.unwrap();
    link.templates().await.unwrap();
    link.prompts().await.unwrap();
    link.call("echo", &json!({"text": "é"}).into(), none()).await.unwrap();
    link.call("near", &json!({"region": "eu"}).into(), none()).await.unwrap();
    let asked = link.call("ask", &json!({}).into(), none()).await.unwrap();
    assert!(asked.raw.as_str().contains("Ada"), "{asked:?}");
    link.read("test://a").await.unwrap();
    link.prompt("p", &[]).await.unwrap();
    link.prompt("p", &[("a".to_owned(), "b".to_owned())]).await.unwrap();
    let prompt = Json::from(json!({"type": "ref/prompt", "name": "p"}));
    link.complete(&prompt, ("a", ""), None).await.unwrap();
    let template = Json::from(json!({"type": "ref/resource", "uri": "test://{x}"}));
    let context = Json::from(json!({"arguments": {"y": "z"}}));
    link.complete(&template, ("x", "v"), Some(&context)).await.unwrap();
    let uris = vec!["test://a".to_owned()];
    let interest = Interest { tools: true, prompts: true, resources: true, uris, tasks: Vec::new() };
    drop(link.subscribe(&interest).await.unwrap());
    link.ping().await.unwrap();
    link.roots_changed().await.unwrap();
    if link.facts().version != MODERN {
        link.request("test/ask", &json!({}).into()).await.unwrap();
    }
    // Somebody loses patience.
    let slow = json!({"ms": 60_000}).into();
    let slow = link.call("slow", &slow, none());
    tokio::time::timeout(Duration::from_millis(150), slow).await.unwrap_err();
    link.ping().await.unwrap();
}

/// Waits until the server has received this. What is said without waiting for an answer takes its time.
async fn hears(methods: impl Fn() -> Vec<String>, wanted: &str) {
    let is_heard = |methods: &Vec<String>| methods.iter().any(|method| method == wanted);
    eventually(format!("`{wanted}` is received"), methods, is_heard).await;
}

/// What every server must have seen.
fn is_complete(version: &str, seen: &[String]) {
    let mut wanted = vec![
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "tools/call",
        "resources/read",
        "prompts/get",
        "completion/complete",
    ];
    if version == MODERN {
        wanted.extend(["server/discover", "subscriptions/listen"]);
    } else {
        wanted.extend(["initialize", "notifications/initialized", "ping", "logging/setLevel"]);
        wanted.extend(["resources/subscribe", "resources/unsubscribe", "notifications/roots/list_changed"]);
        wanted.extend(["notifications/cancelled"]);
        wanted.extend(questions().iter().map(|question| question.0));
    }
    let missing: Vec<_> = wanted.iter().filter(|method| !seen.iter().any(|seen| seen == *method)).collect();
    assert!(missing.is_empty(), "{version}: {missing:?} not in {seen:?}");
}

/// How a server is reached: the name of it, and what the script says of it.
fn remotes() -> [(&'static str, Remote, Value); 3] {
    [
        ("plain", Remote::Http, json!({"transport": "http", "listen": true})),
        (
            "streams",
            Remote::Http,
            json!({"transport": "http", "session": true, "answer": "sse", "listen": true}),
        ),
        ("old", Remote::Sse, json!({"transport": "sse"})),
    ]
}

fn merged(mut script: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        script[name] = value.clone();
    }
    script
}

#[tokio::test]
async fn all_we_send_to_a_program_obeys_its_schema() {
    let Some(dir) = official() else { return };
    let mut schemas = Schemas::new(dir);
    for version in HANDSHAKES.into_iter().chain([MODERN]) {
        let script = match version {
            MODERN => script("modern", None),
            _ => script("legacy", Some(version)),
        };
        let (script, link) = connect::stdio(script, &terms()).await;
        let link = link.unwrap();
        assert_eq!(link.facts().version, version);
        everything(&link).await;
        if version != MODERN {
            hears(|| script.methods(), "notifications/cancelled").await;
        }
        link.stop().await;
        let seen = schemas.log(version, &script.log());
        is_complete(version, &seen);
    }
}

#[tokio::test]
async fn all_we_send_over_http_obeys_its_schema() {
    let Some(dir) = official() else { return };
    let mut schemas = Schemas::new(dir);
    for version in HANDSHAKES.into_iter().chain([MODERN]) {
        for (name, kind, more) in remotes() {
            let script = match version {
                MODERN if name == "old" => continue,
                MODERN => script("modern", None),
                _ => script("legacy", Some(version)),
            };
            let fake = Fake::http(merged(script, &more));
            let launch = connect::address(fake.url(), kind, &[]).await;
            let link = wire::open(&launch, &terms()).await.unwrap();
            assert_eq!(link.facts().version, version, "{name}");
            everything(&link).await;
            if version != MODERN {
                hears(|| fake.methods(), "notifications/cancelled").await;
            }
            link.stop().await;
            let seen = schemas.log(version, &fake.log());
            is_complete(version, &seen);
            if kind == Remote::Http {
                headers_agree(version, &fake.log());
            }
        }
    }
}

/// After the greeting, every message says its version in a header too.
fn headers_agree(version: &str, log: &[Value]) {
    for line in log {
        let method = line["message"]["method"].as_str().unwrap_or_default();
        if line.get("message").is_none() || matches!(method, "initialize" | "server/discover") {
            continue;
        }
        let header = &line["http"]["headers"]["mcp-protocol-version"];
        assert_eq!(header, version, "{line}");
    }
}

/// A server whose one tool becomes a task that asks on the way.
fn task_script(era: &str) -> Value {
    let state = |status: &str| {
        json!({
            "taskId": "t1", "status": status, "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 60000, "ttlMs": 60000,
            "pollInterval": 20, "pollIntervalMs": 20,
        })
    };
    let done = json!({"content": [{"type": "text", "text": "done"}]});
    let question = json!({"method": "elicitation/create", "params": questions()[2].2});
    let mut script = script(era, None);
    script["tools"] = json!([{"name": "work", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}]);
    script["on"] = match era {
        "modern" => {
            let typed = |mut state: Value, kind: &str| {
                state["resultType"] = json!(kind);
                state
            };
            let mut asking = typed(state("input_required"), "complete");
            asking["inputRequests"] = json!({"q": question});
            let mut finished = typed(state("completed"), "complete");
            finished["result"] = done;
            json!({
                "tools/call": [{"result": typed(state("working"), "task")}],
                "tasks/get": {"times": [[{"result": asking}], [{"result": finished}], [{"result": state("working")}]]},
                "tasks/update": [{"result": {"resultType": "complete"}}],
                "tasks/cancel": [{"result": {"resultType": "complete"}}],
            })
        }
        _ => json!({
            "tools/call": [{"result": {"task": state("working")}}],
            "tasks/get": {"times": [[{"result": state("completed")}], [{"result": state("working")}]]},
            "tasks/result": [{"result": done}],
            "tasks/cancel": [{"result": state("cancelled")}],
        }),
    };
    script
}

#[tokio::test]
async fn all_we_send_for_a_task_obeys_its_schema() {
    let Some(dir) = official() else { return };
    let mut schemas = Schemas::new(dir);
    for (era, version) in [("legacy", HANDSHAKES[0]), ("modern", MODERN)] {
        let fake = Fake::http(task_script(era));
        let launch = connect::address(fake.url(), Remote::Http, &[]).await;
        let link = wire::open(&launch, &terms()).await.unwrap();
        link.tools().await.unwrap();
        let done = link.call("work", &json!({}).into(), CallOptions::default()).await.unwrap();
        assert_eq!(done.content[0].text.as_deref(), Some("done"));
        let dropped = json!({}).into();
        let dropped = link.call("work", &dropped, CallOptions::default());
        tokio::time::timeout(Duration::from_millis(150), dropped).await.unwrap_err();
        hears(|| fake.methods(), "tasks/cancel").await;
        link.stop().await;
        let seen = schemas.log(version, &fake.log());
        let last = if era == "modern" { "tasks/update" } else { "tasks/result" };
        assert!(["tasks/get", last].iter().all(|method| seen.iter().any(|seen| seen == method)), "{seen:?}");
    }
}
