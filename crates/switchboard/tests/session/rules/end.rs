//! How servers and sessions end: nothing comes back by itself, nothing is left, and nobody else notices.

use serde_json::{Value, json};
use switchboard::session::Gate;
use testkit::{Mark, eventually};

use crate::life::{until, until_status};
use crate::world::{World, echo, marked, names, only, status, tool, until_gone};

/// Offers one of everything.
fn everything() -> Value {
    json!({
        "tools": [tool("t")], "resources": [{"uri": "a:b", "name": "r"}],
        "templates": [{"uriTemplate": "a:{x}", "name": "t"}], "prompts": [{"name": "p"}], "instructions": "Be kind."
    })
}

#[tokio::test]
async fn a_server_that_is_disconnected_stays_so_until_it_is_needed() {
    let mark = Mark::new();
    let world = World::new().stdio("s", json!({}), marked(&mark));
    let session = world.ready().await;
    assert!(!mark.alive().is_empty() && session.disconnect("s").await && !session.disconnect("x").await);
    until_status(&session, "disconnected").await;
    until_gone(&mark).await;
    assert_eq!((status(&session, "s"), session.errors().len()), ("disconnected", 0), "it is no loss");
    assert_eq!(echo(&session, "s", "again").await.unwrap(), "again");
    assert_eq!(world.asked("s", "initialize"), 2);
    session.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_disconnected_while_it_connects_does_not_come_up_late() {
    let mark = Mark::new();
    let slow = json!({"on": {"initialize": [{"sleep_ms": 400}, {"default": true}]}});
    let world = World::new().stdio("s", slow, marked(&mark)).stdio("good", json!({}), json!({}));
    let session = world.start().await;
    world.until_asked("s", "initialize", 1).await;
    session.disconnect("s").await;
    until_status(&only(&session, "s"), "disconnected").await;
    until_gone(&mark).await;
    session.ready(Gate::Correct).await;
    assert_eq!(status(&session, "s"), "disconnected");
    assert!(session.catalog().tools.iter().all(|entry| entry.server == "good"));
    session.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_taken_out_takes_all_it_offered_with_it_and_nothing_of_others() {
    // One name is the start of the other, and so are the names of their tools.
    let mut world = World::new().stdio("a", everything(), json!({})).stdio("a_t", everything(), json!({}));
    let session = world.ready().await;
    session.listed().await;
    assert_eq!(names(&session), ["mcp_a_t", "mcp_a_t_t"]);
    world.remove("a");
    session.reload().await;
    let catalog = session.catalog();
    assert_eq!(names(&session), ["mcp_a_t_t"]);
    let owners = [
        catalog.resources.iter().map(|of| of.server.as_str()).collect::<Vec<_>>(),
        catalog.templates.iter().map(|of| of.server.as_str()).collect(),
        catalog.prompts.iter().map(|of| of.server.as_str()).collect(),
        catalog.instructions.iter().map(|of| of.server.as_str()).collect(),
    ];
    assert_eq!(owners, [["a_t"], ["a_t"], ["a_t"], ["a_t"]]);
    assert_eq!(status(&session, "a"), "absent");
    session.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_disabled_is_ended_and_comes_back_when_it_is_enabled() {
    let mark = Mark::new();
    let mut world = World::new().stdio("s", json!({}), marked(&mark)).stdio("good", json!({}), json!({}));
    let session = world.ready().await;
    world.change("s", json!({"enabled": false}));
    session.reload().await;
    until_gone(&mark).await;
    assert!(session.catalog().tools.iter().all(|entry| entry.server == "good"));
    assert_eq!(session.discovery().server("s").unwrap().state().as_str(), "disabled");
    world.change("s", json!({"enabled": true}));
    session.reload().await;
    until(&session, |catalog| catalog.tools.len() == 14).await;
    assert_eq!(echo(&session, "s", "back").await.unwrap(), "back");
    assert_eq!(world.asked("good", "initialize"), 1);
    session.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_taken_out_while_it_connects_leaves_nothing() {
    let mark = Mark::new();
    let hangs = json!({"start": [{"hang": true}]});
    let mut conduct = marked(&mark);
    conduct["timeout"] = json!(0);
    let mut world = World::new().stdio("s", hangs, conduct).stdio("good", json!({}), json!({}));
    let session = world.start().await;
    eventually("it is started", || mark.alive(), |alive| !alive.is_empty()).await;
    world.remove("s");
    session.reload().await;
    until_gone(&mark).await;
    session.ready(Gate::Correct).await;
    assert!(session.errors().is_empty() && session.servers().len() == 1);
    session.shutdown().await;
}

#[tokio::test]
async fn the_end_ends_every_server_whatever_it_is_doing() {
    let mark = Mark::new();
    let world = World::new()
        .stdio("good", json!({}), marked(&mark))
        .stdio("opening", json!({"on": {"initialize": [{"hang": true}]}}), marked(&mark))
        .stdio("listing", json!({"on": {"tools/list": [{"silent": true}]}}), marked(&mark))
        .stdio("stubborn", json!({"eof": [{"hang": true}], "sigterm": "ignore"}), marked(&mark))
        .stdio("parent", json!({"start": [{"fork": "tree"}]}), marked(&mark))
        .stdio("lost", json!({"on": {"tools/call": [{"exit": 1}]}}), marked(&mark));
    let session = world.start().await;
    for server in ["good", "stubborn", "parent", "lost"] {
        until_status(&only(&session, server), "connected").await;
    }
    world.until_asked("opening", "initialize", 1).await;
    world.until_asked("listing", "tools/list", 1).await;
    until(&session, |catalog| catalog.find("lost/echo", None).is_ok()).await;
    echo(&session, "lost", "x").await.unwrap_err();
    session.shutdown().await;
    assert!(mark.alive().is_empty(), "when the end is over, all are gone");
    assert!(session.servers().iter().all(|report| report.status.as_str() == "disconnected"));
}

#[tokio::test]
async fn calls_under_way_end_with_the_session() {
    let world = World::new().stdio(
        "s",
        json!({"on": {"tools/call": [{"silent": true}]}}),
        json!({"approval": "never"}),
    );
    let session = world.ready().await;
    let caller = session.clone();
    let call = tokio::spawn(async move { echo(&caller, "s", "x").await });
    world.until_asked("s", "tools/call", 1).await;
    session.shutdown().await;
    let error = call.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("stopped"), "{error}");
}

#[tokio::test]
async fn a_session_that_is_dropped_leaves_no_process() {
    let mark = Mark::new();
    let world = World::new().stdio("good", json!({}), marked(&mark)).stdio(
        "hangs",
        json!({"on": {"initialize": [{"hang": true}]}}),
        marked(&mark),
    );
    let session = world.start().await;
    until_status(&only(&session, "good"), "connected").await;
    world.until_asked("hangs", "initialize", 1).await;
    drop(session);
    until_gone(&mark).await;
}

#[tokio::test]
async fn a_part_that_goes_leaves_the_connections_to_the_rest() {
    let world = World::new().stdio("one", json!({}), json!({"approval": "never"})).stdio(
        "two",
        json!({}),
        json!({"approval": "never"}),
    );
    let session = world.ready().await;
    let part = only(&session, "one");
    assert!(
        !part.reconnect("two").await && !part.disconnect("two").await,
        "what it does not see it cannot touch"
    );
    assert_eq!(echo(&part, "one", "x").await.unwrap(), "x");
    drop(part);
    for server in ["one", "two"] {
        assert_eq!(echo(&session, server, "x").await.unwrap(), "x");
        assert_eq!(world.asked(server, "initialize"), 1);
    }
    session.shutdown().await;
}
