//! Until a server is connected: what is checked, filled in, asked for and kept, and who waits for it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::Provider;
use switchboard::connect::{Freshness, Persistence};
use switchboard::session::{Gate, Session, load};
use testkit::{Fake, Mark, Sandbox, eventually};

use crate::life::{until, until_status};
use crate::world::{World, echo, marked, names, only, status, tool, until_gone};

/// Settings with a window nobody would wait out.
const LONG_WINDOW: &str = r#"{"defaults": false, "startupWindow": 3600000}"#;

fn never_asks() -> Value {
    json!({"approval": "never"})
}

/// Opens the session and comes back when it says it is ready, which must be soon.
async fn soon_ready(world: &World, gate: Gate) -> Session {
    let session = world.start().await;
    tokio::time::timeout(Duration::from_secs(20), session.ready(gate)).await.unwrap();
    session
}

#[tokio::test]
async fn the_word_for_a_server_follows_its_life() {
    let world = World::new().stdio("s", json!({"on": {"initialize": [{"silent": true}]}}), never_asks());
    let session = world.start().await;
    assert_eq!(status(&session, "s"), "connecting");
    world.rescript("s", json!({"on": {"tools/call": [{"exit": 1}]}}));
    session.reconnect("s").await;
    until_status(&session, "connected").await;
    world.rescript("s", json!({"start": [{"hang": true}]}));
    echo(&session, "s", "x").await.unwrap_err();
    until_status(&session, "connecting").await;
    session.disconnect("s").await;
    until_status(&session, "disconnected").await;
    session.shutdown().await;
}

#[tokio::test]
async fn where_a_server_comes_from_is_known_before_it_is_connected() {
    let world = World::new().stdio("s", json!({"start": [{"hang": true}]}), json!({}));
    let session = world.start().await;
    let origin = session.discovery().server("s").unwrap().origin.clone();
    assert_eq!((status(&session, "s"), origin.provider), ("connecting", Provider::Native));
    assert_eq!(origin.path.as_deref(), Some(&*world.sandbox.path("~/.switchboard/mcp.json")));
    world.rescript("s", json!({}));
    session.reconnect("s").await;
    until(&session, |catalog| catalog.find("s/echo", None).is_ok_and(|entry| entry.origin == origin)).await;
    session.shutdown().await;
}

#[tokio::test]
async fn a_reload_leaves_a_pending_connection_alone() {
    let slow = json!({"on": {"initialize": [{"sleep_ms": 500}, {"default": true}]}});
    let world = World::new().stdio("s", slow, never_asks());
    let session = world.start().await;
    world.until_asked("s", "initialize", 1).await;
    session.reload().await;
    session.ready(Gate::Correct).await;
    assert_eq!(echo(&session, "s", "x").await.unwrap(), "x");
    assert_eq!(world.asked("s", "initialize"), 1);
    session.shutdown().await;
}

#[tokio::test]
async fn a_reload_leaves_a_server_that_is_tried_again_alone() {
    let world = World::new().stdio("s", json!({"start": [{"exit": 1}]}), json!({}));
    let session = world.ready().await;
    session.reload().await;
    let errors = session.errors();
    assert_eq!((errors.len(), errors[0].code), (1, "server-exited"), "what was learnt is not forgotten");
    session.shutdown().await;
}

/// What the process of a server has in a variable.
async fn variable(session: &Session, server: &str, name: &str) -> Value {
    let outcome = session.call(&format!("{server}/env"), &json!({}).into()).await.unwrap();
    let all: Value = serde_json::from_str(&outcome.shaped.text).unwrap();
    all[name].clone()
}

#[tokio::test]
async fn variables_are_filled_in_anew_for_each_connection() {
    let world = World::new();
    let file = world.sandbox.write("keys", "API_KEY=first-key-of-all\n");
    let conduct = json!({"approval": "never", "envFile": file});
    let world = world.stdio("s", json!({}), conduct);
    let session = world.ready().await;
    assert_eq!(variable(&session, "s", "API_KEY").await, "first-key-of-all");
    world.sandbox.write("keys", "API_KEY=second-key-after-it\n");
    assert_eq!(variable(&session, "s", "API_KEY").await, "first-key-of-all", "a process keeps what it has");
    session.reconnect("s").await;
    world.until_asked("s", "initialize", 2).await;
    assert_eq!(variable(&session, "s", "API_KEY").await, "second-key-after-it");
    session.listed().await;
    session.shutdown().await;
    assert_eq!(files_with(&world.sandbox, "-key-"), Vec::<String>::new(), "what was filled in is not kept");
}

#[tokio::test]
async fn headers_are_filled_in_anew_for_each_connection() {
    let fake = Fake::http(json!({}));
    let world = World::new().var("SWITCHBOARD_TRUST", "1");
    world.sandbox.write("token", "first-token\n");
    let entry = json!({"type": "remote", "url": fake.url(), "headers": {"X-Token": "{file:./token}"}});
    world.sandbox.write("opencode.json", json!({"mcp": {"s": entry}}).to_string());
    let session = world.ready().await;
    assert_eq!(status(&session, "s"), "connected");
    world.sandbox.write("token", "second-token\n");
    session.reconnect("s").await;
    let sent = || -> BTreeSet<String> {
        let lines = fake.log();
        lines
            .iter()
            .filter_map(|line| line["http"]["headers"]["x-token"].as_str().map(str::to_owned))
            .collect()
    };
    eventually("the new token is sent", sent, |sent| sent.contains("second-token")).await;
    session.listed().await;
    session.shutdown().await;
    assert_eq!(sent(), ["first-token", "second-token"].map(str::to_owned).into());
    assert_eq!(files_with(&world.sandbox, "-token"), Vec::<String>::new(), "what was filled in is not kept");
}

/// Our own files that have a text in them.
fn files_with(sandbox: &Sandbox, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![sandbox.path("~/.switchboard")];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(text) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test]
async fn a_server_counts_as_connected_when_its_tools_are_there() {
    let world = World::new().stdio("s", json!({"on": {"tools/list": [{"silent": true}]}}), json!({}));
    let session = world.start().await;
    world.until_asked("s", "tools/list", 1).await;
    assert_eq!(status(&session, "s"), "connecting");
    assert!(!session.settled(Some(Duration::from_millis(100))).await);
    session.shutdown().await;
}

#[tokio::test]
async fn a_cache_that_cannot_be_kept_costs_nothing() {
    let world = World::new().stdio("s", json!({}), never_asks());
    let settings = r#"{"defaults": false, "output": {"maxBytes": 1000}}"#;
    world.sandbox.write("~/.switchboard/settings.json", settings);
    // Whoever may do anything can still not make a directory where a file is.
    world.sandbox.write("~/.switchboard/cache", "in the way");
    for _ in 0..2 {
        let session = world.ready().await;
        session.listed().await;
        assert_eq!(names(&session).len(), 7);
        assert!(session.catalog().problems.is_empty() && session.errors().is_empty());
        let long = "word ".repeat(1000);
        let outcome = session.call("s/echo", &json!({"text": long}).into()).await.unwrap();
        assert!(outcome.spilled.is_none() && outcome.shaped.text.contains("could not be kept"));
        assert_eq!(
            outcome.result.content[0].text.as_deref(),
            Some(long.as_str()),
            "the answer itself is whole"
        );
        session.shutdown().await;
    }
    assert_eq!(world.sandbox.read("~/.switchboard/cache"), "in the way");
}

#[tokio::test]
async fn a_list_that_fails_costs_only_itself() {
    let no = json!([{"error": {"code": -32603, "message": "no"}}]);
    for broken in ["resources/list", "resources/templates/list", "prompts/list"] {
        let script = json!({
            "resources": [{"uri": "a:b", "name": "r"}], "templates": [{"uriTemplate": "a:{x}", "name": "t"}],
            "prompts": [{"name": "p"}], "on": {broken: no}
        });
        let world = World::new().stdio("s", script, never_asks());
        let session = world.ready().await;
        session.listed().await;
        let catalog = session.catalog();
        let there = [
            ("resources/list", catalog.resources.len()),
            ("resources/templates/list", catalog.templates.len()),
            ("prompts/list", catalog.prompts.len()),
        ];
        assert_eq!(
            there.map(|(list, count)| (list == broken, count)),
            there.map(|(list, _)| (list == broken, usize::from(list != broken)))
        );
        assert_eq!(status(&session, "s"), "connected", "{broken}");
        assert_eq!(echo(&session, "s", "x").await.unwrap(), "x");
        session.shutdown().await;
    }
}

#[tokio::test]
async fn a_limit_of_zero_is_none() {
    let late = json!([{"sleep_ms": 900}, {"default": true}]);
    let script = json!({"on": {"tools/list": late, "tools/call": late}});
    let conduct = json!({"approval": "never", "timeout": 300});
    let world = World::new().stdio("s", script, conduct);
    let mut options = world.options();
    options.persistence = Persistence::OneShot;
    let loaded = load(options).await;
    assert_eq!(loaded.errors[0].code, "timeout", "so it is too late for its limit");
    loaded.session.shutdown().await;
    let world = world.var("SWITCHBOARD_MCP_TIMEOUT_MS", "0");
    let session = world.ready().await;
    assert_eq!(echo(&session, "s", "in the end").await.unwrap(), "in the end");
    session.shutdown().await;
}

#[tokio::test]
async fn the_variable_overrides_the_limit_of_every_server() {
    let hangs = json!({"start": [{"hang": true}]});
    let world = World::new()
        .stdio("one", hangs.clone(), json!({"timeout": 3_600_000}))
        .stdio("two", hangs, json!({"timeout": 0}))
        .var("SWITCHBOARD_MCP_TIMEOUT_MS", "400");
    let mut options = world.options();
    options.persistence = Persistence::OneShot;
    let loaded = tokio::time::timeout(Duration::from_secs(20), load(options)).await.unwrap();
    let codes: Vec<_> = loaded.errors.iter().map(|error| error.code).collect();
    assert_eq!(codes, ["timeout", "timeout"]);
    loaded.session.shutdown().await;
}

#[tokio::test]
async fn a_server_that_could_not_be_opened_leaves_no_process() {
    let no = json!([{"error": {"code": -32000, "message": "no"}}]);
    let scripts = [
        json!({"on": {"initialize": no}}),
        json!({"on": {"initialize": [{"hang": true}]}}),
        json!({"version": "1999-01-01"}),
        json!({"on": {"tools/list": no}}),
        json!({"on": {"tools/list": [{"silent": true}]}, "eof": [{"hang": true}]}),
    ];
    let mark = Mark::new();
    let mut world = World::new();
    for (index, script) in scripts.into_iter().enumerate() {
        let mut conduct = marked(&mark);
        conduct["startupTimeout"] = json!(900);
        world = world.stdio(&format!("s{index}"), script, conduct);
    }
    let mut options = world.options();
    options.persistence = Persistence::OneShot;
    let loaded = load(options).await;
    assert_eq!(loaded.errors.len(), 5, "{:?}", loaded.errors);
    until_gone(&mark).await;
    loaded.session.shutdown().await;
}

#[tokio::test]
async fn a_start_is_over_when_every_server_is_live_or_failed() {
    let world = World::new().stdio("good", json!({}), json!({})).stdio(
        "ends",
        json!({"start": [{"exit": 1}]}),
        json!({}),
    );
    world.sandbox.write("~/.switchboard/settings.json", LONG_WINDOW);
    let session = soon_ready(&world, Gate::Quick).await;
    assert_eq!(status(&session, "good"), "connected");
    assert_eq!(session.errors().len(), 1);
    session.shutdown().await;
}

#[tokio::test]
async fn a_warm_start_waits_for_nobody() {
    let world = World::new().stdio("good", json!({}), json!({})).stdio("hung", json!({}), json!({}));
    world.sandbox.write("~/.switchboard/settings.json", LONG_WINDOW);
    world.warm().await;
    world.rescript("hung", json!({"start": [{"hang": true}]}));
    for gate in [Gate::Quick, Gate::Correct] {
        let session = soon_ready(&world, gate).await;
        assert_eq!((status(&session, "hung"), names(&session).len()), ("connecting", 14), "{gate:?}");
        session.shutdown().await;
    }
}

#[tokio::test]
async fn tools_join_when_they_arrive() {
    let late = json!({"start": [{"sleep_ms": 900}]});
    let world = World::new().stdio("good", json!({}), json!({})).stdio("late", late, never_asks());
    let session = world.start().await;
    let mut catalog = session.watch_catalog();
    session.ready(Gate::Quick).await;
    assert_eq!(status(&session, "late"), "connecting");
    assert!(names(&session).iter().all(|name| !name.starts_with("mcp_late")));
    catalog.mark_unchanged();
    let joins = catalog.wait_for(|catalog| catalog.tools.len() == 14);
    drop(tokio::time::timeout(Duration::from_secs(20), joins).await.unwrap().unwrap());
    assert_eq!(echo(&session, "late", "here").await.unwrap(), "here");
    session.shutdown().await;
}

#[tokio::test]
async fn live_tools_take_the_place_of_the_cached_ones_of_that_server_alone() {
    let two = json!({"tools": [tool("kept"), tool("dropped")]});
    let world = World::new().stdio("a", two.clone(), json!({})).stdio("a_b", two, json!({}));
    world.warm().await;
    world.rescript("a", json!({"tools": [tool("kept"), tool("new")]}));
    world.rescript("a_b", json!({"start": [{"hang": true}]}));
    let session = world.start().await;
    session.ready(Gate::Quick).await;
    let cached = ["mcp_a_b_dropped", "mcp_a_b_kept", "mcp_a_dropped", "mcp_a_kept"];
    assert_eq!(names(&session), cached);
    until_status(&only(&session, "a"), "connected").await;
    until(&session, |catalog| catalog.find("a/new", None).is_ok()).await;
    assert_eq!(names(&session), ["mcp_a_b_dropped", "mcp_a_b_kept", "mcp_a_kept", "mcp_a_new"]);
    let live = |entry: &switchboard::catalog::Entry| entry.freshness == Freshness::Live;
    assert!(session.catalog().tools.iter().all(|entry| live(entry) == (entry.server == "a")));
    session.shutdown().await;
}
