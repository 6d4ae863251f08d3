//! Many servers: who hangs holds up nobody, the model is told the same bytes every time, and a crash loop ends.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::catalog::Catalog;
use switchboard::connect::Persistence;
use switchboard::session::{Gate, Session, load};
use testkit::fake_server;

use crate::life::until_status;
use crate::world::{World, echo, only, tool};

const SERVERS: usize = 50;
const HUNG: usize = 10;
const STARTS: usize = 100;

/// No server may need this long.
const FAR_TOO_LONG: Duration = Duration::from_secs(90);

fn name(index: usize) -> String {
    format!("s{index:02}")
}

fn hangs() -> Value {
    json!({"start": [{"hang": true}]})
}

#[tokio::test]
async fn fifty_servers_of_which_ten_hang_are_usable_at_once_from_a_warm_cache() {
    let mut world = World::new();
    for index in 0..SERVERS {
        world = world.stdio(&name(index), json!({}), json!({"approval": "never"}));
    }
    // A window that would be noticed: nobody is waited for.
    world.sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false, "startupWindow": 3600000}"#);
    world.warm().await;
    (0..HUNG).for_each(|index| world.rescript(&name(index), hangs()));
    let session = world.start().await;
    tokio::time::timeout(FAR_TOO_LONG, session.ready(Gate::Correct)).await.unwrap();
    assert_eq!(session.catalog().tools.len(), SERVERS * 7, "all tools are there, live or from before");
    for index in HUNG..SERVERS {
        assert_eq!(echo(&session, &name(index), "hi").await.unwrap(), "hi");
    }
    let waiting = session.servers().into_iter().filter(|report| report.status.as_str() == "connecting");
    assert_eq!(
        waiting.map(|report| report.name).collect::<Vec<_>>(),
        (0..HUNG).map(name).collect::<Vec<_>>()
    );
    session.shutdown().await;
}

#[tokio::test]
async fn without_a_cache_fifty_servers_are_waited_for_as_long_as_those_that_hang_may() {
    let mut world = World::new();
    for index in 0..SERVERS {
        let (script, conduct) = if index < HUNG {
            (hangs(), json!({"startupTimeout": 1500}))
        } else {
            (json!({}), json!({"approval": "never", "startupTimeout": 3_600_000}))
        };
        world = world.stdio(&name(index), script, conduct);
    }
    let mut options = world.options();
    options.persistence = Persistence::OneShot;
    let loaded = tokio::time::timeout(FAR_TOO_LONG, load(options)).await.unwrap();
    let failed: Vec<_> =
        loaded.errors.iter().map(|error| (error.server.clone().unwrap(), error.code)).collect();
    assert_eq!(failed, (0..HUNG).map(|index| (name(index), "timeout")).collect::<Vec<_>>());
    assert_eq!(loaded.tools.len(), (SERVERS - HUNG) * 7);
    for index in HUNG..SERVERS {
        assert_eq!(echo(&loaded.session, &name(index), "hi").await.unwrap(), "hi");
    }
    loaded.session.shutdown().await;
}

/// Numbers that look like chance and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// All a model is told of the tools, in order.
fn block(catalog: &Catalog) -> String {
    let mut block = String::new();
    for entry in &catalog.tools {
        let words = entry.tool.description.as_deref().unwrap_or_default();
        writeln!(block, "{}\n{words}\n{}", entry.name, entry.input_schema.as_str()).unwrap();
    }
    block
}

/// Tools with everything that could differ: names that clash, that are too long, and keys in no order.
fn tools(server: &str) -> Value {
    json!([
        tool("b_c"),
        tool("c"),
        {"name": "x".repeat(90), "description": format!("of {server}\u{2014}ü"), "inputSchema":
            {"required": ["z"], "properties": {"z": {"type": "string"}, "a": {"enum": [3, 1.50, 1e3]}}, "type": "object"}},
        {"name": "Ünïcode", "inputSchema": {"$schema": "x", "type": "object", "additionalProperties": false}},
    ])
}

#[tokio::test]
async fn a_hundred_starts_tell_a_model_the_same_bytes() {
    let servers = ["a", "A-b", "b", "c"];
    let mut world = World::new();
    for server in servers {
        world = world.stdio(server, json!({}), json!({}));
    }
    let mut chance = Chance(20_260_728);
    let mut first = None;
    for turn in 0..STARTS {
        for server in servers {
            let start = json!([{"sleep_ms": chance.below(41)}]);
            world.rescript(server, json!({"tools": tools(server), "start": start}));
        }
        // Now from the servers alone, now from the cache and then from the servers.
        if chance.below(2) == 0 {
            let _none = std::fs::remove_dir_all(world.sandbox.path("~/.switchboard/cache"));
        }
        let session = world.ready().await;
        let at_first = block(&session.catalog());
        session.settled(None).await;
        let expected = first.get_or_insert_with(|| at_first.clone());
        assert!(at_first == *expected && block(&session.catalog()) == *expected, "start {turn} differs");
        session.shutdown().await;
    }
    let first = first.unwrap();
    assert_eq!(first.lines().filter(|line| line.starts_with("mcp_")).count(), 16, "{first}");
}

/// A server whose every start leaves a line in a file.
fn counted(world: World, server: &str, script: Value) -> World {
    let mut world = world.stdio(server, script, json!({}));
    let (file, path) = (starts_of(&world, server), world.script(server).path());
    let line = "echo >> \"$0\"; exec \"$1\" \"$2\"";
    world.change(server, json!({"command": "/bin/sh", "args": ["-c", line, file, fake_server(), path]}));
    world
}

fn starts_of(world: &World, server: &str) -> std::path::PathBuf {
    world.sandbox.path(&format!("starts-of-{server}"))
}

fn count(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap_or_default().lines().count()
}

/// What it comes to is final: only a call or the user starts the server again. So this counts for any minute.
#[tokio::test]
async fn a_crash_loop_takes_ten_starts_at_most() {
    let comes_up = json!({"prompts": [{"name": "p"}], "on": {"prompts/list": [{"exit": 1}]}});
    let world = counted(World::new(), "goes", comes_up);
    let world = counted(world, "never-comes", json!({"start": [{"exit": 1}]}));
    let session: Session = world.start().await;
    until_status(&only(&session, "goes"), "suspended").await;
    until_status(&only(&session, "never-comes"), "failed").await;
    for server in ["goes", "never-comes"] {
        let starts = count(&starts_of(&world, server));
        assert!((2..=10).contains(&starts), "{server} was started {starts} times");
    }
    session.shutdown().await;
}
