//! Files that change while a session runs: told, looked at beforehand, and taken into force where the user agreed.

use serde_json::json;
use switchboard::config::{Approvals, Approved};
use switchboard::sources::watch::Fate;
use switchboard::{Options, discover};
use testkit::fake_server;

use crate::world::{World, names, status};

/// Approves a server as it is defined now.
fn approve(world: &World, name: &str) {
    let env = world.sandbox.env();
    let discovery = discover(&env, Options::default());
    let hash = discovery.server(name).unwrap().definition_hash(&discovery.project).unwrap();
    let approved = Approved { server: name.to_owned(), source: "a test".to_owned() };
    Approvals::add(&env, &[(hash, approved)]).unwrap();
}

#[tokio::test]
async fn a_changed_definition_waits_for_consent_again_and_every_list_says_so() {
    let world = World::new().stdio("mine", json!({}), json!({}));
    let theirs = World::new().stdio("theirs", json!({}), json!({}));
    let script = theirs.script("theirs").path();
    let entry = |variable: &str| {
        let server = json!({"command": fake_server(), "args": [script], "env": {"X": variable}});
        json!({"mcpServers": {"theirs": server}}).to_string()
    };
    world.sandbox.write(".mcp.json", entry("1"));
    approve(&world, "theirs");
    let session = world.ready().await;
    session.listed().await;
    assert_eq!(status(&session, "theirs"), "connected");
    let mut files = session.watch_files();
    assert!(session.preview_reload().await.is_empty());

    world.sandbox.write(".mcp.json", entry("2"));
    let told = files.next().await;
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].path.clone(), told[0].fate), (world.sandbox.path(".mcp.json"), Fate::Changed));
    let preview = session.preview_reload().await;
    assert_eq!(status(&session, "theirs"), "connected", "looking does nothing");
    let changes = session.reload().await;
    assert_eq!(changes, preview, "it does what it said");
    assert_eq!(
        (changes.kept, changes.removed, changes.waiting),
        (vec!["mine".into()], vec!["theirs".into()], vec!["theirs".into()])
    );
    assert!(changes.added.is_empty() && changes.changed.is_empty());
    assert!(names(&session).iter().all(|name| !name.contains("theirs")));

    approve(&world, "theirs");
    let told = files.next().await;
    assert_eq!(told[0].path, world.sandbox.path("~/.switchboard/approvals.json"));
    let changes = session.reload().await;
    assert_eq!((changes.added, changes.waiting), (vec!["theirs".to_owned()], Vec::new()));
    session.settled(None).await;
    assert_eq!(status(&session, "theirs"), "connected");
    session.shutdown().await;
    assert!(session.preview_reload().await.is_empty(), "nothing is left to change");
}

#[tokio::test]
async fn a_file_of_a_tool_that_was_not_there_is_told() {
    let world = World::new().stdio("mine", json!({}), json!({}));
    let session = world.ready().await;
    let mut files = session.watch_files();
    world
        .sandbox
        .write("~/.gemini/settings.json", json!({"mcpServers": {"g": {"command": "x"}}}).to_string());
    let told = files.next().await;
    assert_eq!(
        (told[0].path.clone(), told[0].fate),
        (world.sandbox.path("~/.gemini/settings.json"), Fate::Appeared)
    );
    let preview = session.preview_reload().await;
    assert_eq!((preview.waiting, preview.kept), (vec!["g".to_owned()], vec!["mine".to_owned()]));
    assert!(session.preview_reload().await.is_empty(), "it starts nothing");
    session.shutdown().await;
}

#[tokio::test]
async fn a_file_of_ones_own_that_breaks_stops_nothing_and_switches_nothing_on() {
    let world = World::new().stdio("mine", json!({}), json!({}));
    let theirs = World::new().stdio("theirs", json!({}), json!({}));
    let server = json!({"command": fake_server(), "args": [theirs.script("theirs").path()]});
    world.sandbox.write(".mcp.json", json!({"mcpServers": {"theirs": server}}).to_string());
    approve(&world, "theirs");
    let file = "~/.switchboard/mcp.json";
    let mut whole: serde_json::Value = serde_json::from_str(&world.sandbox.read(file)).unwrap();
    whole["disabledServers"] = json!(["theirs"]);
    let whole = whole.to_string();
    world.sandbox.write(file, &whole);
    let session = world.ready().await;
    for broken in [&whole[..whole.len() / 2], ""] {
        world.sandbox.write(file, broken);
        let preview = session.preview_reload().await;
        let changes = session.reload().await;
        assert_eq!(changes, preview, "it does what it said");
        assert_eq!(changes.kept, ["mine"], "{broken}: {changes:?}");
        assert!(changes.added.is_empty() && changes.removed.is_empty(), "{broken}: {changes:?}");
        assert_eq!(status(&session, "mine"), "connected");
        let path = world.sandbox.path(file);
        let is_told = |problem: &switchboard::problem::Problem| {
            problem.origin.as_ref().is_some_and(|origin| origin.path.as_deref() == Some(path.as_path()))
        };
        assert!(session.discovery().problems.iter().any(is_told), "{broken}");
    }
    world.sandbox.write(file, "{}");
    let changes = session.reload().await;
    assert_eq!((changes.removed, changes.added), (vec!["mine".to_owned()], vec!["theirs".to_owned()]));
    session.shutdown().await;
}
