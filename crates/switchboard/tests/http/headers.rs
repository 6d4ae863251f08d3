//! Headers: the configured ones, those the protocol owns, and those that mirror a message.

use serde_json::{Value, json};
use switchboard::declared::Remote;
use switchboard::resolve::Target;
use switchboard::wire::{self, Era, Link};
use testkit::Fake;
use testkit::connect::{address, stdio, terms};

use crate::{call, count, echo, header, lines, open, rpc, said, verbs};

async fn with_headers(script: Value, headers: &[(&str, &str)]) -> (Fake, Link) {
    let fake = Fake::http(script);
    let link = wire::open(&address(fake.url(), Remote::Http, headers).await, &terms()).await.unwrap();
    (fake, link)
}

fn requests(fake: &Fake) -> Vec<Value> {
    fake.log().into_iter().filter(|line| line.get("http").is_some()).collect()
}

#[tokio::test]
async fn configured_headers_go_with_every_request() {
    for script in [
        json!({"era": "modern"}),
        json!({"era": "legacy", "session": true, "listen": true}),
        json!({"transport": "sse"}),
    ] {
        let (fake, link) =
            with_headers(script.clone(), &[("X-Api-Key", "k-123456789"), ("X-Empty", "")]).await;
        link.tools().await.unwrap();
        echo(&link, "x").await.unwrap();
        link.stop().await;
        let requests = requests(&fake);
        assert!(requests.len() >= 3);
        for line in requests {
            assert_eq!(header(&line, "x-api-key").as_deref(), Some("k-123456789"), "{script} {line}");
        }
    }
}

#[tokio::test]
async fn what_the_protocol_owns_cannot_be_configured() {
    let configured = [
        ("MCP-Protocol-Version", "1999-01-01"),
        ("mcp-session-id", "mine"),
        ("Mcp-Method", "made/up"),
        ("Mcp-Name", "made up"),
        ("Content-Type", "text/plain"),
        ("Accept", "text/html"),
        ("Last-Event-ID", "77"),
    ];
    for script in [json!({"era": "modern"}), json!({"era": "legacy", "session": true, "listen": true})] {
        let fake = Fake::http(script);
        let mut launch = address(fake.url(), Remote::Http, &[]).await;
        // Configuration refuses them as well; this is what holds if one gets through.
        if let Target::Remote(address) = &mut launch.target {
            address.headers = configured.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        }
        let link = wire::open(&launch, &terms()).await.unwrap();
        link.tools().await.unwrap();
        assert_eq!(echo(&link, "x").await.unwrap(), "x");
        link.stop().await;
        for line in requests(&fake) {
            let has = |name: &str, value: &str| header(&line, name).as_deref() == Some(value);
            assert!(!has("mcp-protocol-version", "1999-01-01") && !has("mcp-session-id", "mine"), "{line}");
            assert!(!has("last-event-id", "77") && !has("mcp-name", "made up"), "{line}");
            if line["http"]["method"] == "POST" {
                assert_eq!(header(&line, "content-type").as_deref(), Some("application/json"));
                assert_eq!(header(&line, "accept").as_deref(), Some("application/json, text/event-stream"));
            }
        }
        if link.facts().era == Era::Modern {
            let called = &lines(&fake, "tools/call")[0];
            assert_eq!(header(called, "mcp-method").as_deref(), Some("tools/call"));
            assert_eq!(header(called, "mcp-name").as_deref(), Some("echo"));
            // A request without a name has none, whatever is configured.
            assert_eq!(header(&lines(&fake, "tools/list")[0], "mcp-name"), None);
        }
    }
}

#[tokio::test]
async fn a_modern_request_is_mirrored_in_its_headers() {
    let script = json!({
        "era": "modern",
        "tools": [{"name": "grüße", "inputSchema": {"type": "object"}}],
        "resources": [{"uri": "file:///a%20b/ü?x=1#y", "name": "r", "text": "R"}, {"uri": "mem://plain", "name": "p", "text": "P"}],
        "prompts": [{"name": " padded ", "messages": []}],
    });
    let (fake, link) = open(script).await;
    call(&link, "grüße", json!({})).await.unwrap();
    link.read("file:///a%20b/ü?x=1#y").await.unwrap();
    link.read("mem://plain").await.unwrap();
    link.prompt(" padded ", &[]).await.unwrap();
    let name = |method: &str, index: usize| header(&lines(&fake, method)[index], "mcp-name").unwrap();
    // The scripted server refuses headers that do not say what the body says.
    assert_eq!(name("tools/call", 0), "=?base64?Z3LDvMOfZQ==?=");
    assert!(name("resources/read", 0).starts_with("=?base64?"));
    assert_eq!(name("resources/read", 1), "mem://plain");
    assert_eq!(name("prompts/get", 0), "=?base64?IHBhZGRlZCA=?=");
    for line in verbs(&fake, "POST") {
        assert_eq!(header(&line, "mcp-protocol-version").as_deref(), Some("2026-07-28"));
        assert_eq!(header(&line, "mcp-method").as_deref(), line["message"]["method"].as_str());
    }
}

fn annotated(name: &str, header: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": header},
        "inner": {"type": "object", "properties": {"deep": {"type": "integer", "x-mcp-header": "Deep"}}},
        "flag": {"type": "boolean", "x-mcp-header": "Flag"},
        "other": {"type": "string"},
    }}})
}

#[tokio::test]
async fn arguments_are_mirrored_where_the_tool_wants_it() {
    let (fake, link) = open(json!({"era": "modern", "tools": [annotated("query", "Region")]})).await;
    link.tools().await.unwrap();
    call(&link, "query", json!({"region": "eu-west", "inner": {"deep": 42}, "flag": false, "other": "o"}))
        .await
        .unwrap();
    call(&link, "query", json!({"region": "zürich\r\nX-Evil: 1", "inner": {"deep": 7}})).await.unwrap();
    call(&link, "query", json!({"region": null})).await.unwrap();
    let calls = lines(&fake, "tools/call");
    let of = |index: usize, name: &str| header(&calls[index], name);
    assert_eq!(of(0, "mcp-param-region").as_deref(), Some("eu-west"));
    assert_eq!(of(0, "mcp-param-deep").as_deref(), Some("42"));
    assert_eq!(of(0, "mcp-param-flag").as_deref(), Some("false"));
    assert_eq!(of(0, "mcp-param-other"), None);
    assert!(of(1, "mcp-param-region").unwrap().starts_with("=?base64?"));
    assert_eq!((of(1, "x-evil"), of(1, "mcp-param-flag")), (None, None));
    assert_eq!((of(2, "mcp-param-region"), of(2, "mcp-param-deep")), (None, None));
}

#[tokio::test]
async fn the_handshake_protocol_mirrors_nothing() {
    let (fake, link) = open(json!({"tools": [annotated("query", "Region")]})).await;
    link.tools().await.unwrap();
    call(&link, "query", json!({"region": "eu"})).await.unwrap();
    for line in requests(&fake).iter().filter(|line| line["message"]["method"] != "server/discover") {
        for name in ["mcp-method", "mcp-name", "mcp-param-region"] {
            assert_eq!(header(line, name), None, "{line}");
        }
    }
    assert_eq!(header(&lines(&fake, "initialize")[0], "mcp-protocol-version"), None);
    assert_eq!(header(&lines(&fake, "tools/call")[0], "mcp-protocol-version").as_deref(), Some("2025-11-25"));
}

#[tokio::test]
async fn headers_that_do_not_fit_any_more_are_made_anew_once() {
    let mismatch = json!({"status": 400, "body": {"jsonrpc": "2.0", "id": "$id", "error": {"code": -32020, "message": "Header mismatch"}}});
    let list =
        |header: &str| json!([{"result": {"resultType": "complete", "tools": [annotated("query", header)]}}]);
    let script = json!({"era": "modern", "tools": [annotated("query", "New")], "on": {
        "tools/list": {"times": [list("Old"), list("New")]},
        "tools/call": {"times": [[mismatch], [{"default": true}]]},
    }});
    let (fake, link) = open(script).await;
    link.tools().await.unwrap();
    let result = call(&link, "query", json!({"region": "eu"})).await.unwrap();
    assert!(said(&result).starts_with("query"));
    let calls = lines(&fake, "tools/call");
    assert_eq!((calls.len(), count(&fake, "tools/list")), (2, 2));
    assert_eq!(header(&calls[0], "mcp-param-old").as_deref(), Some("eu"));
    assert_eq!(
        (header(&calls[1], "mcp-param-old"), header(&calls[1], "mcp-param-new").as_deref()),
        (None, Some("eu"))
    );

    // A server that never likes them is not asked for ever.
    let script = json!({"era": "modern", "on": {"tools/call": [mismatch]}});
    let (fake, link) = open(script).await;
    let error = echo(&link, "x").await.unwrap_err();
    assert_eq!((rpc(&error), count(&fake, "tools/call"), count(&fake, "tools/list")), (Some(-32020), 2, 1));
    assert!(!error.is_outcome_unknown());
}

#[tokio::test]
async fn a_tool_that_wants_impossible_headers_is_not_offered_over_http_only() {
    let bad = |name: &str, schema: Value| json!({"name": name, "inputSchema": {"type": "object", "properties": {"a": schema}}});
    let mut twice = annotated("twice", "Flag");
    twice["description"] = json!("the same name two times");
    let tools = json!([
        annotated("good", "Region"),
        bad("empty", json!({"type": "string", "x-mcp-header": ""})),
        bad("space", json!({"type": "string", "x-mcp-header": "a b"})),
        bad("injection", json!({"type": "string", "x-mcp-header": "a\r\nX-Evil: 1"})),
        bad("number", json!({"type": "number", "x-mcp-header": "A"})),
        bad("object", json!({"type": "object", "x-mcp-header": "A"})),
        bad("text", json!({"type": "string", "x-mcp-header": 5})),
        bad("items", json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}})),
        twice,
        {"name": "plain", "inputSchema": {"type": "object"}},
    ]);
    for era in ["modern", "legacy"] {
        let (_fake, link) = open(json!({"era": era, "tools": tools})).await;
        let listing = link.tools().await.unwrap();
        let names: Vec<_> = listing.items.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["good", "plain"], "{era}");
        assert_eq!(listing.odd.len(), 8, "{era}");
        assert!(listing.odd.iter().all(|odd| odd.reason.contains("x-mcp-header") && odd.name.is_some()));
    }
    let (_script, link) = stdio(json!({"era": "modern", "tools": tools}), &terms()).await;
    assert_eq!(link.unwrap().tools().await.unwrap().items.len(), 10);
}
