//! The start: all at once, cached tools at once, nobody waits for the one that hangs.

use std::time::Instant;

use serde_json::json;
use switchboard::session::{Gate, load};
use testkit::PATIENCE;

use crate::world::World;

fn hangs() -> serde_json::Value {
    json!({"on": {"server/discover": [{"hang": true}]}})
}

#[tokio::test]
async fn every_server_is_asked_and_one_bad_one_costs_nobody_else_anything() {
    let world = World::new()
        .stdio("one", json!({}), json!({}))
        .stdio("two", json!({"era": "modern"}), json!({}))
        .stdio("crash", json!({"start": [{"stderr": "no key\n"}, {"exit": 3}]}), json!({}))
        .entry("gone", json!({"command": "no-such-program-anywhere"}))
        .entry("odd", json!({"command": "x", "url": "http://y"}));
    let mut options = world.options();
    options.persistence = switchboard::connect::Persistence::OneShot;
    let loaded = load(options).await;
    let names: Vec<_> = loaded.tools.iter().map(|entry| entry.name.as_str()).collect();
    assert!(names.contains(&"mcp_one_echo") && names.contains(&"mcp_two_echo"), "{names:?}");
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(names, sorted);
    let errors: Vec<_> =
        loaded.errors.iter().map(|error| (error.server.as_deref().unwrap(), error.code)).collect();
    assert_eq!(
        errors,
        [("crash", "server-exited"), ("gone", "command-not-found"), ("odd", "invalid-server")]
    );
    loaded.session.shutdown().await;
}

#[tokio::test]
async fn nothing_found_because_nothing_could_be_read_is_one_error() {
    let world = World::new();
    world.sandbox.write("~/.switchboard/mcp.json", "{ torn");
    let loaded = load(world.options()).await;
    assert!(loaded.tools.is_empty());
    assert_eq!(loaded.errors.len(), 1);
    assert_eq!((loaded.errors[0].server.as_ref(), loaded.errors[0].code), (None, "syntax-error"));
}

#[tokio::test]
async fn with_a_warm_cache_hung_servers_hold_up_nobody() {
    // First everything answers, so that the cache is warm; then ten of the servers hang.
    let mut world = World::new();
    for index in 0..10 {
        world = world.stdio(&format!("s{index}"), json!({}), json!({}));
    }
    let first = load(world.options()).await;
    let before = first.tools.len();
    first.session.shutdown().await;
    for index in 0..5 {
        std::fs::write(world.script(&format!("s{index}")).path(), hangs().to_string()).unwrap();
    }
    let session = world.start().await;
    session.ready(Gate::Correct).await;
    let catalog = session.catalog();
    assert_eq!(catalog.tools.len(), before, "all tools are there, live or from before");
    let outcome = session.call("mcp_s7_echo", &json!({"text": "hi"}).into()).await;
    assert!(outcome.is_err(), "a call needs approval");
    session.shutdown().await;
}

/// Opening a pipe that nobody writes to never ends.
#[cfg(unix)]
#[tokio::test]
async fn a_pipe_in_the_place_of_what_was_known_holds_up_nobody() {
    use std::os::unix::fs::MetadataExt as _;

    let world = World::new()
        .stdio("s", json!({}), json!({}))
        .entry("gone", json!({"command": "no-such-program-anywhere"}));
    load(world.options()).await.session.shutdown().await;
    let mut kept = Vec::new();
    for dir in ["offers", "eras", "faults"] {
        let dir = world.sandbox.path("~/.switchboard/cache").join(dir);
        let files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{}", dir.display());
        kept.extend(files);
    }
    for path in &kept {
        std::fs::remove_file(path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }
    let loaded = load(world.options()).await;
    assert!(!loaded.tools.is_empty());
    loaded.session.shutdown().await;
    for path in kept {
        let data = std::fs::metadata(&path).unwrap();
        // What servers say is nobody else's business.
        assert!(data.is_file() && data.mode() & 0o777 == 0o600, "{}: {:o}", path.display(), data.mode());
    }
}

#[tokio::test]
async fn without_a_cache_a_headless_start_waits_for_their_own_limits_and_reports_each() {
    let conduct = json!({"startupTimeout": 700, "timeout": 600_000});
    let world = World::new()
        .stdio("fine", json!({}), json!({}))
        .stdio("hung", hangs(), conduct.clone())
        .stdio("mute", json!({"on": {"*": [{"silent": true}]}}), conduct);
    let mut options = world.options();
    options.persistence = switchboard::connect::Persistence::OneShot;
    let started = Instant::now();
    let loaded = load(options).await;
    assert!(started.elapsed() < PATIENCE);
    let failed: Vec<_> = loaded.errors.iter().map(|error| error.server.clone().unwrap()).collect();
    assert_eq!(failed, ["hung", "mute"]);
    assert!(loaded.errors.iter().all(|error| error.code == "timeout" && error.retryable));
    assert!(loaded.tools.iter().all(|entry| entry.server == "fine"));
    loaded.session.shutdown().await;
}

#[tokio::test]
async fn somebody_in_front_of_it_never_waits_longer_than_the_window() {
    let world = World::new().stdio("hung", hangs(), json!({"timeout": 600_000}));
    let session = world.start().await;
    let started = Instant::now();
    session.ready(Gate::Quick).await;
    assert!(started.elapsed() < PATIENCE, "the window is a quarter of a second");
    assert_eq!(session.servers()[0].status.as_str(), "connecting");
    session.shutdown().await;
}

#[tokio::test]
async fn the_same_servers_give_the_same_bytes() {
    let delays = [0, 30, 60];
    let mut seen = std::collections::BTreeSet::new();
    for turn in 0..3 {
        let mut world = World::new();
        for (index, name) in ["a", "b", "A-b"].iter().enumerate() {
            let delay = delays[(index + turn) % 3];
            let script = json!({"start": [{"sleep_ms": delay}], "tools": [
                {"name": "b_c", "inputSchema": {"type": "object"}}, {"name": "c", "inputSchema": {"type": "object"}}]});
            world = world.stdio(name, script, json!({}));
        }
        let loaded = load(world.options()).await;
        let bytes: Vec<String> = loaded
            .tools
            .iter()
            .map(|entry| format!("{} {}", entry.name, entry.input_schema.as_str()))
            .collect();
        seen.insert(bytes.join("\n"));
        let clashes = loaded.session.catalog().problems.len();
        assert_eq!(clashes, 2, "`a`/`b_c` with `A-b`/`c`, and `b`/`b_c` with `b`/`c`");
        loaded.session.shutdown().await;
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
}
