//! What a host sees while a session lives: events, waits, reloads, logins that run out, machines that sleep.

use std::time::Duration;

use serde_json::json;
use switchboard::connect::Event;
use switchboard::session::{Gate, Scope, Session};
use testkit::Fake;

use crate::world::World;

async fn ready(world: &World) -> Session {
    let session = world.start().await;
    session.ready(Gate::Correct).await;
    session
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work).await.unwrap()
}

#[tokio::test]
async fn a_host_hears_how_servers_stand_and_what_they_say_and_of_no_others_than_it_may_see() {
    let log =
        json!({"notify": {"method": "notifications/message", "params": {"level": "info", "data": "hi"}}});
    let says = json!({"on": {"tools/call": [log, {"result": {"content": []}}]}});
    let world = World::new()
        .stdio("loud", says, json!({"approval": "never"}))
        .entry("gone", json!({"command": "no-such-program-anywhere"}));
    let session = world.start().await;
    let mut all = session.events();
    let mut part = session.scoped(Scope::Servers(["gone".to_owned()].into())).events();
    assert_eq!(
        within(session.wait_for("gone", |status| status.fault().is_some())).await.unwrap().as_str(),
        "failed"
    );
    within(session.wait_for("loud", |status| status.as_str() == "connected")).await.unwrap();
    session.call("loud/echo", &json!({"text": "x"}).into()).await.unwrap();
    let (mut statuses, mut said) = (Vec::new(), None);
    while said.is_none() || statuses.len() < 2 {
        match within(all.next()).await.unwrap() {
            Event::Status { server, status } => statuses.push(format!("{server} {}", status.as_str())),
            Event::Said { server, notice } => said = Some((server, notice)),
            other => panic!("{other:?}"),
        }
    }
    statuses.sort();
    assert_eq!(statuses, ["gone failed", "loud connected"]);
    assert_eq!(said.unwrap().0, "loud");
    session.shutdown().await;
    let mut seen = Vec::new();
    drop(session);
    while let Some(event) = within(part.next()).await {
        seen.push(event.server().unwrap().to_owned());
    }
    assert!(!seen.is_empty() && seen.iter().all(|server| server == "gone"), "{seen:?}");
    assert!(world.start().await.wait_for("nobody", |_| true).await.is_none());
}

#[tokio::test]
async fn the_catalog_is_published_when_it_is_another_one_and_only_then() {
    let world = World::new().stdio("s", json!({}), json!({"approval": "never"}));
    let session = ready(&world).await;
    session.listed().await;
    let mut catalog = session.watch_catalog();
    catalog.mark_unchanged();
    session.disconnect("s").await;
    within(session.wait_for("s", |status| status.as_str() == "disconnected")).await;
    assert!(!catalog.has_changed().unwrap(), "the tools stay what they are");
    session.shutdown().await;
}

#[tokio::test]
async fn what_changed_before_changes_are_told_is_seen_all_the_same() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let list =
        |tools: Vec<serde_json::Value>| json!([{"result": {"tools": tools, "resultType": "complete"}}]);
    let capabilities = json!({"tools": {"listChanged": true}});
    // It changes between the first list and the subscription, so nobody is told.
    let lists = json!({"times": [list(vec![tool("a")]), list(vec![tool("a"), tool("b")])]});
    let script = json!({"era": "modern", "capabilities": capabilities, "on": {"tools/list": lists}});
    let world = World::new().stdio("s", script, json!({}));
    let session = ready(&world).await;
    let mut catalog = session.watch_catalog();
    let has_both = |catalog: &std::sync::Arc<switchboard::catalog::Catalog>| catalog.tools.len() == 2;
    within(catalog.wait_for(has_both)).await.unwrap();
    assert_eq!(world.asked("s", "subscriptions/listen"), 1);
    session.shutdown().await;
}

#[tokio::test]
async fn a_reload_tells_what_it_did_and_after_the_end_it_does_nothing() {
    let mut world = World::new()
        .stdio("kept", json!({}), json!({}))
        .stdio("moved", json!({}), json!({}))
        .stdio("gone", json!({}), json!({}));
    let session = ready(&world).await;
    world.remove("gone");
    world.change("moved", json!({"env": {"X": "1"}}));
    let world = world.stdio("new", json!({}), json!({}));
    let changes = session.reload().await;
    assert_eq!(changes.added, ["new"]);
    assert_eq!(changes.removed, ["gone"]);
    assert_eq!(changes.changed, ["moved"]);
    assert_eq!(changes.kept, ["kept"]);
    session.shutdown().await;
    let before = world.asked("kept", "initialize");
    assert_eq!(session.reload().await, switchboard::connect::Changes::default());
    assert!(session.servers().iter().all(|report| report.status.as_str() == "disconnected"));
    assert_eq!(world.asked("kept", "initialize"), before);
}

#[tokio::test]
async fn new_limits_reach_a_connection_that_stays() {
    let silent = json!({"on": {"tools/call": [{"silent": true}]}});
    let mut world = World::new().stdio("s", silent, json!({"approval": "never"}));
    let session = ready(&world).await;
    world.change("s", json!({"timeout": 150}));
    assert_eq!(session.reload().await.kept, ["s"]);
    let error = within(session.call("s/echo", &json!({"text": "x"}).into())).await.unwrap_err();
    assert!(error.to_string().contains("150 ms"), "{error}");
    world.change("s", json!({"idleTimeout": 50}));
    session.reload().await;
    within(session.wait_for("s", |status| status.as_str() == "disconnected")).await.unwrap();
    assert_eq!(world.asked("s", "initialize"), 1);
    session.shutdown().await;
}

#[tokio::test]
async fn a_server_in_use_is_not_idle() {
    let slow = json!({"on": {"tools/call": [{"sleep_ms": 600}, {"result": {"content": []}}]}});
    let world = World::new().stdio("s", slow, json!({"approval": "never", "idleTimeout": 100}));
    let session = ready(&world).await;
    let mut events = session.events();
    session.call("s/echo", &json!({"text": "x"}).into()).await.unwrap();
    within(session.wait_for("s", |status| status.as_str() == "disconnected")).await.unwrap();
    assert_eq!(world.asked("s", "tools/call"), 1);
    let Some(Event::Status { status, .. }) = within(events.next()).await else { panic!() };
    assert!(["disconnected", "connecting"].contains(&status.as_str()), "{status:?}");
    session.shutdown().await;
}

#[tokio::test]
async fn whoever_gives_up_waiting_does_not_keep_a_server_busy() {
    let mute = json!({"on": {"tools/call": [{"silent": true}]}});
    let world = World::new().stdio("s", mute, json!({"approval": "never", "idleTimeout": 100}));
    let session = ready(&world).await;
    let waiting = session.call("s/echo", &json!({"text": "x"}).into()).await_briefly().await;
    assert!(waiting.is_none(), "it never answers");
    within(session.wait_for("s", |status| status.as_str() == "disconnected")).await.unwrap();
    session.shutdown().await;
}

/// Gives up after a moment.
trait Impatient: Future + Sized {
    async fn await_briefly(self) -> Option<Self::Output> {
        tokio::time::timeout(Duration::from_millis(50), self).await.ok()
    }
}

impl<F: Future> Impatient for F {}

#[tokio::test]
async fn a_login_that_runs_out_is_known_to_whoever_calls_next() {
    let refuse = json!([{"status": 401, "headers": {"WWW-Authenticate": "Bearer"}, "body": ""}]);
    let fine = json!([{"result": {"content": []}}]);
    let fake = Fake::http(json!({"on": {"tools/call": {"times": [fine, refuse]}}}));
    let world = World::new().entry("s", json!({"url": fake.url(), "approval": "never"}));
    let session = ready(&world).await;
    session.call("s/echo", &json!({"text": "x"}).into()).await.unwrap();
    session.call("s/echo", &json!({"text": "x"}).into()).await.unwrap_err();
    assert_eq!(session.servers()[0].status.as_str(), "needs login");
    assert!(session.catalog().find("s/echo", None).is_ok(), "its tools stay");
    let calls =
        |fake: &Fake| fake.log().iter().filter(|line| line["message"]["method"] == "tools/call").count();
    let before = calls(&fake);
    session.call("s/echo", &json!({"text": "x"}).into()).await.unwrap_err();
    assert_eq!(calls(&fake), before, "nobody is asked again for nothing");
    session.shutdown().await;
}

#[tokio::test]
async fn after_a_sleep_dead_connections_are_found_and_live_ones_left_alone() {
    let (alive, dead) = (Fake::http(json!({})), Fake::http(json!({})));
    let entry = |fake: &Fake| json!({"url": fake.url(), "approval": "never"});
    let world = World::new().entry("alive", entry(&alive)).entry("dead", entry(&dead)).stdio(
        "process",
        json!({}),
        json!({}),
    );
    let session = ready(&world).await;
    session.settled(None).await;
    drop(dead);
    session.resumed().await;
    within(session.wait_for("dead", |status| status.fault().is_some())).await.unwrap();
    assert_eq!(session.wait_for("alive", |_| true).await.unwrap().as_str(), "connected");
    assert_eq!(world.asked("process", "initialize"), 1);
    session.shutdown().await;
}

#[tokio::test]
async fn a_hung_server_whose_lists_are_known_holds_up_no_lists() {
    let prompts = json!({"prompts": [{"name": "p"}]});
    let world = World::new().stdio("fine", prompts.clone(), json!({})).stdio(
        "hung",
        prompts,
        json!({"startupTimeout": 60_000}),
    );
    let first = ready(&world).await;
    first.listed().await;
    first.shutdown().await;
    let hangs = json!({"on": {"server/discover": [{"hang": true}], "initialize": [{"hang": true}]}});
    std::fs::write(world.script("hung").path(), hangs.to_string()).unwrap();
    let session = world.start().await;
    within(session.listed()).await;
    assert_eq!(session.catalog().prompts.len(), 2);
    session.shutdown().await;
}
