//! What holds although a server or a part of the session does not do its share.

use serde_json::json;
use switchboard::connect::Persistence;
use switchboard::session::{Gate, Session};
use testkit::{Mark, eventually, fake_server};

use crate::life::{until, until_status};
use crate::world::{World, echo, marked, only, tool, until_gone};

#[tokio::test]
async fn a_list_that_never_comes_holds_up_no_other() {
    let script = json!({
        "resources": [{"uri": "a:b", "name": "r"}], "templates": [{"uriTemplate": "a:{x}", "name": "t"}],
        "prompts": [{"name": "p"}], "on": {"resources/list": [{"silent": true}]}
    });
    let world = World::new().stdio("s", script, json!({"approval": "never", "timeout": 0}));
    let session = world.ready().await;
    until(&session, |catalog| catalog.prompts.len() == 1 && catalog.templates.len() == 1).await;
    session.shutdown().await;
}

#[tokio::test]
async fn a_list_that_never_comes_does_not_hide_a_change_of_the_tools() {
    let change = json!({"notify": {"method": "notifications/tools/list_changed"}});
    let tool = |name: &str| json!({"result": {"tools": [tool(name)]}});
    let script = json!({
        "capabilities": {"tools": {"listChanged": true}, "resources": {}},
        "on": {
            "resources/list": [{"silent": true}],
            "tools/list": {"times": [[tool("old")], [tool("new")]]},
            "tools/call": [change, {"result": {"content": []}}],
        }
    });
    let world = World::new().stdio("s", script, json!({"approval": "never", "timeout": 0}));
    let session = world.ready().await;
    world.until_asked("s", "resources/list", 1).await;
    session.call("s/old", &json!({}).into()).await.unwrap();
    until(&session, |catalog| catalog.find("s/new", None).is_ok()).await;
    session.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_disconnected_while_it_hangs_is_ended() {
    let mark = Mark::new();
    let mut conduct = marked(&mark);
    conduct["timeout"] = json!(0);
    let world = World::new().stdio("s", json!({"on": {"server/discover": [{"hang": true}]}}), conduct);
    let session = world.start().await;
    world.until_asked("s", "server/discover", 1).await;
    session.disconnect("s").await;
    until_gone(&mark).await;
    session.shutdown().await;
}

#[tokio::test]
async fn a_reconnect_ends_the_attempt_before_it() {
    let mark = Mark::new();
    let mut conduct = marked(&mark);
    conduct["timeout"] = json!(0);
    let world = World::new().stdio("s", json!({"on": {"server/discover": [{"hang": true}]}}), conduct);
    let session = world.start().await;
    world.until_asked("s", "server/discover", 1).await;
    let first = mark.alive();
    world.rescript("s", json!({}));
    session.reconnect("s").await;
    until_status(&session, "connected").await;
    let is_gone = |alive: &Vec<u32>| alive.iter().all(|pid| !first.contains(pid));
    eventually("the first is gone", || mark.alive(), is_gone).await;
    session.shutdown().await;
}

#[tokio::test]
async fn a_part_cannot_end_what_it_shares() {
    let world = World::new().stdio("one", json!({}), json!({"approval": "never"})).stdio(
        "two",
        json!({}),
        json!({"approval": "never"}),
    );
    let session = world.ready().await;
    only(&session, "one").shutdown().await;
    assert_eq!(echo(&session, "two", "x").await.unwrap(), "x");
    session.shutdown().await;
}

#[tokio::test]
async fn who_calls_a_broken_server_again_and_again_does_not_start_it_each_time() {
    let mut world = World::new().stdio("s", json!({"start": [{"exit": 1}]}), json!({}));
    // Each start of its process leaves a line.
    let (starts, path) = (world.sandbox.path("starts"), world.script("s").path());
    let line = "echo >> \"$0\"; exec \"$1\" \"$2\"";
    world.change("s", json!({"command": "/bin/sh", "args": ["-c", line, starts, fake_server(), path]}));
    let mut options = world.options();
    options.persistence = Persistence::OneShot;
    let session = Session::start(options).await;
    session.ready(Gate::Correct).await;
    for _ in 0..15 {
        session.read("s", "a:b").await.unwrap_err();
    }
    session.shutdown().await;
    let count = std::fs::read_to_string(starts).unwrap().lines().count();
    // The first attempt and ten more; one that ends at the first question is started again without it.
    assert!(count <= 22, "{count} starts");
}

#[tokio::test]
async fn a_stubborn_server_that_is_taken_out_holds_up_no_new_one() {
    let mark = Mark::new();
    let stubborn = json!({"eof": [{"hang": true}], "sigterm": "ignore"});
    let world = World::new().stdio("old", stubborn, marked(&mark));
    let session = world.ready().await;
    let mut world = world.stdio("new", json!({}), json!({}));
    world.remove("old");
    let reloading = session.clone();
    let reload = tokio::spawn(async move { reloading.reload().await });
    world.until_asked("new", "initialize", 1).await;
    assert!(!mark.alive().is_empty(), "the new one is not started before the old one is gone");
    reload.await.unwrap();
    session.shutdown().await;
}

#[tokio::test]
async fn instructions_that_are_cut_are_a_problem() {
    let world = World::new().stdio("s", json!({"instructions": "word ".repeat(2000)}), json!({}));
    let session = world.ready().await;
    let catalog = session.catalog();
    assert!(catalog.instructions[0].item.chars().count() <= 4100);
    let told = catalog.problems.iter().any(|problem| problem.message.contains("instructions"));
    assert!(told, "{:?}", catalog.problems);
    session.shutdown().await;
}
