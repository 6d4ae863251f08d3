//! The life of a session: losses, changes, reloads, the end.

use serde_json::{Value, json};
use switchboard::session::{Gate, Scope, Session};
use testkit::PATIENCE;

use crate::world::World;

async fn ready(world: &World) -> Session {
    let session = world.start().await;
    session.ready(Gate::Correct).await;
    session
}

/// Waits until the catalog is as it should be.
pub(crate) async fn until(session: &Session, is_so: impl Fn(&switchboard::catalog::Catalog) -> bool) {
    let mut catalog = session.watch_catalog();
    let wait = catalog.wait_for(|catalog| is_so(catalog));
    tokio::time::timeout(PATIENCE, wait).await.unwrap().unwrap();
}

/// Waits until a server stands so.
pub(crate) async fn until_status(session: &Session, status: &str) {
    let names: Vec<String> = session.servers().into_iter().map(|report| report.name).collect();
    let mut waits = tokio::task::JoinSet::new();
    for name in names {
        let (session, status) = (session.clone(), status.to_owned());
        waits.spawn(async move { session.wait_for(&name, |now| now.as_str() == status).await });
    }
    let any = waits.join_next();
    tokio::time::timeout(PATIENCE, any).await.unwrap();
}

#[tokio::test]
async fn a_lost_server_comes_back_and_its_tools_stay_meanwhile() {
    let script = json!({"on": {"tools/call": {"times": [[{"exit": 1}], [{"default": true}]]}}});
    let world = World::new().stdio("s", script, json!({"approval": "never"}));
    let session = ready(&world).await;
    session.call("s/echo", &json!({"text": "x"}).into()).await.unwrap_err();
    assert!(session.catalog().find("s/echo", None).is_ok(), "stale tools stay visible");
    until_status(&session, "connected").await;
    assert_eq!(world.asked("s", "initialize"), 2);
    session.shutdown().await;
}

#[tokio::test]
async fn a_crash_loop_is_suspended() {
    // It answers everything and then ends, again and again.
    let script = json!({"on": {"prompts/list": [{"exit": 1}], "resources/list": [{"exit": 1}]}, "prompts": [{"name": "p"}]});
    let world = World::new().stdio("s", script, json!({}));
    let session = world.start().await;
    until_status(&session, "suspended").await;
    assert!(world.asked("s", "initialize") <= 7, "{}", world.asked("s", "initialize"));
    session.shutdown().await;
}

#[tokio::test]
async fn ten_thousand_changes_are_a_few_fetches_and_the_last_is_seen() {
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).to_string() + "\n";
    let old = json!({"tools": [{"name": "old", "inputSchema": {"type": "object"}}]});
    let new = json!({"tools": [{"name": "new", "inputSchema": {"type": "object"}}]});
    let script = json!({
        "tools": [{"name": "old", "inputSchema": {"type": "object"}}],
        "on": {
            "tools/call": [{"repeat": {"text": notice, "times": 10_000}}, {"result": {"content": []}}],
            "tools/list": {"times": [[{"result": old}], [{"result": new}]]},
        }
    });
    let world = World::new().stdio("s", script, json!({"approval": "never"}));
    let session = ready(&world).await;
    session.call("s/old", &json!({}).into()).await.unwrap();
    until(&session, |catalog| catalog.find("s/new", None).is_ok()).await;
    let fetches = world.asked("s", "tools/list") - 1;
    assert!((1..=3).contains(&fetches), "{fetches} fetches");
    session.shutdown().await;
}

#[tokio::test]
async fn a_modern_server_tells_of_changes_too() {
    let old =
        json!({"resultType": "complete", "tools": [{"name": "old", "inputSchema": {"type": "object"}}]});
    let new =
        json!({"resultType": "complete", "tools": [{"name": "new", "inputSchema": {"type": "object"}}]});
    let change = json!({"broadcast": {"method": "notifications/tools/list_changed", "params": {}}});
    let script = json!({
        "era": "modern",
        "on": {
            "tools/call": [change, {"result": {"resultType": "complete", "content": []}}],
            "tools/list": {"times": [[{"result": old}], [{"result": new}]]},
        }
    });
    let world = World::new().stdio("s", script, json!({"approval": "never"}));
    let session = ready(&world).await;
    world.script("s").wait_for(|line| line["message"]["method"] == "subscriptions/listen");
    session.call("s/old", &json!({}).into()).await.unwrap();
    until(&session, |catalog| catalog.find("s/new", None).is_ok()).await;
    session.shutdown().await;
}

#[tokio::test]
async fn nobody_listens_on_a_connection_that_was_let_go() {
    let script = json!({
        "era": "modern",
        "capabilities": {"tools": {"listChanged": true}},
        "on": {"tools/call": [{"status": 401}]}
    });
    let fake = testkit::Fake::http(script);
    let world = World::new().entry("s", json!({"url": fake.url(), "approval": "never"}));
    let session = ready(&world).await;
    let is_listening = |line: &serde_json::Value| line["message"]["method"] == "subscriptions/listen";
    fake.wait_for(is_listening);
    session.call("s/echo", &json!({"text": "x"}).into()).await.unwrap_err();
    fake.wait_for(|line| line.get("closed").is_some());
    assert_eq!(fake.log().iter().filter(|line| is_listening(line)).count(), 1);
    session.shutdown().await;
}

#[tokio::test]
async fn a_server_at_an_address_that_goes_away_comes_back() {
    let fake = testkit::Fake::http(json!({}));
    let world = World::new().entry("s", json!({"url": fake.url(), "approval": "never", "timeout": 2000}));
    let session = ready(&world).await;
    drop(fake);
    session.call("s/echo", &json!({"text": "x"}).into()).await.unwrap_err();
    session.call("s/echo", &json!({"text": "x"}).into()).await.unwrap_err();
    let status = session.servers().remove(0).status;
    assert!(status.fault().is_some(), "it is known to be gone: {status:?}");
    session.shutdown().await;
}

#[tokio::test]
async fn a_reload_touches_only_what_changed() {
    let mut world = World::new()
        .stdio("kept", json!({}), json!({}))
        .stdio("moved", json!({}), json!({}))
        .stdio("gone", json!({}), json!({}));
    let session = ready(&world).await;
    world.remove("gone");
    world.change("moved", json!({"env": {"X": "1"}}));
    world.change("kept", json!({"approval": "never", "prefix": "k"}));
    let mut world = world.stdio("new", json!({}), json!({}));
    session.reload().await;
    session.ready(Gate::Correct).await;
    let servers: Vec<String> = session.servers().into_iter().map(|report| report.name).collect();
    assert_eq!(servers, ["kept", "moved", "new"]);
    assert_eq!(world.asked("kept", "initialize"), 1, "its connection was left alone");
    assert_eq!(world.asked("moved", "initialize"), 2);
    assert!(
        session.catalog().tools.iter().any(|entry| entry.name == "mcp_k_echo"),
        "a new name needs no restart"
    );
    world.remove("new");
    session.reload().await;
    assert!(session.catalog().tools.iter().all(|entry| entry.server != "new"), "no ghosts");
    session.shutdown().await;
}

#[tokio::test]
async fn lazy_servers_start_at_the_first_call() {
    let world = World::new().stdio("lazy", json!({}), json!({"lazy": true, "approval": "never"}));
    let first = ready(&world).await;
    first.shutdown().await;
    let before = world.asked("lazy", "initialize");
    let session = ready(&world).await;
    assert_eq!(session.servers()[0].status.as_str(), "disconnected");
    assert_eq!(world.asked("lazy", "initialize"), before, "nobody needed it yet");
    let outcome = session.call("lazy/echo", &json!({"text": "now"}).into()).await.unwrap();
    assert_eq!(outcome.shaped.text, "now");
    session.shutdown().await;
}

#[tokio::test]
async fn an_idle_server_is_stopped_and_comes_back_when_needed() {
    let world = World::new().stdio("s", json!({}), json!({"idleTimeout": 200, "approval": "never"}));
    let session = ready(&world).await;
    until_status(&session, "disconnected").await;
    let outcome = session.call("s/echo", &json!({"text": "again"}).into()).await.unwrap();
    assert_eq!(outcome.shaped.text, "again");
    session.shutdown().await;
}

#[tokio::test]
async fn a_tool_that_is_not_what_it_was_is_told() {
    let tool = |words: &str| json!({"tools": [{"name": "t", "description": words, "inputSchema": {"type": "object"}}]});
    let world = World::new().stdio("s", tool("adds numbers"), json!({}));
    let first = ready(&world).await;
    assert!(first.catalog().problems.is_empty());
    first.shutdown().await;
    std::fs::write(world.script("s").path(), tool("sends your files away").to_string()).unwrap();
    let session = world.start().await;
    session.settled(None).await;
    let codes: Vec<_> = session.catalog().problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes, ["tool-changed"]);
    session.shutdown().await;
}

#[tokio::test]
async fn a_part_of_a_session_shares_its_connections_and_sees_no_more_than_it_may() {
    let world = World::new().stdio("one", json!({}), json!({"approval": "never"})).stdio(
        "two",
        json!({}),
        json!({"approval": "never"}),
    );
    let session = ready(&world).await;
    let part = session.scoped(Scope::Servers(["one".to_owned()].into()));
    assert!(part.catalog().tools.iter().all(|entry| entry.server == "one"));
    part.call("one/echo", &json!({"text": "x"}).into()).await.unwrap();
    assert!(part.call("two/echo", &json!({"text": "x"}).into()).await.is_err());
    let tool = session.scoped(Scope::Tools(["mcp_two_add".to_owned()].into()));
    let names: Vec<String> = tool.catalog().tools.iter().map(|entry| entry.name.clone()).collect();
    assert_eq!(names, ["mcp_two_add"]);
    assert_eq!(world.asked("one", "initialize"), 1);
    session.shutdown().await;
}

#[tokio::test]
async fn the_end_is_final() {
    let world = World::new().stdio("s", json!({}), json!({"approval": "never"}));
    let session = ready(&world).await;
    session.shutdown().await;
    let error = session.call("s/echo", &json!({"text": "x"}).into()).await.unwrap_err();
    assert!(error.to_string().contains("stopped"), "{error}");
    let value: Value =
        json!(session.servers().iter().map(|report| report.status.as_str()).collect::<Vec<_>>());
    assert_eq!(value, json!(["disconnected"]));
}
