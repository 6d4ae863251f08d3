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
