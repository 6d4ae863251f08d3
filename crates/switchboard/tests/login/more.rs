//! A tool that needs more rights than the login has.

use serde_json::json;
use testkit::logins::Peer;

use crate::world::{Manner, Person, World, call};

#[tokio::test]
async fn more_rights_are_asked_for_once() {
    let world = World::new(Peer::oidc(&[]));
    world.login().await;
    let person = Person::willing();
    let session = world.session(&person).await;
    assert_eq!(call(&session, "tracker/echo").await.unwrap()["scopes"], json!(["mcp:read"]));

    // Others go on meanwhile, and those that need the same wait for the same page.
    let mut calls = tokio::task::JoinSet::new();
    for tool in ["tracker/write", "tracker/echo", "tracker/write", "tracker/echo", "tracker/write"] {
        let session = session.clone();
        calls.spawn(async move { call(&session, tool).await });
    }
    while let Some(called) = calls.join_next().await {
        assert_eq!(called.unwrap().unwrap()["subject"], "ada");
    }
    let pages = person.pages();
    assert_eq!(pages.len(), 1, "{pages:?}");
    assert_eq!(pages[0].scopes, ["mcp:read", "mcp:write", "offline_access"]);
    assert_eq!(pages[0].new_scopes, ["mcp:write"]);
    assert_eq!(world.peer.count("logins"), 2);
    assert_eq!(call(&session, "tracker/write").await.unwrap()["scopes"], json!(["mcp:read", "mcp:write"]));
    assert_eq!(person.pages().len(), 1);
    session.shutdown().await;
}

#[tokio::test]
async fn without_anybody_the_other_tools_go_on() {
    let world = World::new(Peer::oidc(&[]));
    world.login().await;
    let person = Person::with(Manner::Absent);
    let session = world.session(&person).await;
    for _ in 0..2 {
        let error = session.call("tracker/write", &json!({}).into()).await.unwrap_err();
        let switchboard::session::Found::Call(error) = error else { panic!("{error}") };
        assert!(error.needs_login() && error.text().contains("HTTP 403"), "{}", error.text());
        assert!(
            switchboard::Explain::hint(&error)
                .unwrap()
                .contains("switchboard reauth tracker --scope 'mcp:write'")
        );
        call(&session, "tracker/echo").await.unwrap();
    }
    assert_eq!((person.pages().len(), world.peer.count("logins")), (0, 1));
    session.shutdown().await;
}

#[tokio::test]
async fn who_says_no_is_asked_once_by_all_who_wait() {
    let world = World::new(Peer::oidc(&[]));
    world.login().await;
    let person = Person::with(Manner::Unwilling);
    let session = world.session(&person).await;
    let error = session.login("tracker", &switchboard::auth::Wishes::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the login was declined");
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..5 {
        let session = session.clone();
        calls.spawn(async move { call(&session, "tracker/write").await });
    }
    while let Some(called) = calls.join_next().await {
        assert!(called.unwrap().unwrap_err().contains("HTTP 403"));
    }
    // Once by hand, and once for all of the calls.
    assert_eq!(person.pages().len(), 2, "{:?}", person.pages());
    call(&session, "tracker/echo").await.unwrap();
    session.shutdown().await;
}

#[tokio::test]
async fn rights_beyond_those_of_the_registration() {
    let world = World::new(Peer::fastmcp(&[]));
    let person = Person::willing();
    let session = world.session(&person).await;
    let wishes = |scopes: &[&str]| switchboard::auth::Wishes {
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
    };
    session.login("tracker", &wishes(&["mcp:read"])).await.unwrap();
    session.listed().await;
    assert_eq!(call(&session, "tracker/echo").await.unwrap()["scopes"], json!(["mcp:read"]));
    let facts = session.login("tracker", &wishes(&["mcp:write"])).await.unwrap();
    assert_eq!(facts.scopes, ["mcp:read", "mcp:write"]);
    session.shutdown().await;
}

/// Many calls of a program that logs in as itself.
#[tokio::test]
async fn a_program_logs_in_once_for_all_its_calls() {
    let peer = Peer::oidc(&[("TOKEN_DELAY_MS", "100")]);
    let client = peer.facts["client"].clone();
    let world = World::new(peer);
    let oauth = json!({
        "clientId": client["id"], "clientSecret": client["secret"], "grant": "client_credentials",
    });
    let entry = json!({"url": world.peer.url(), "approval": "never", "oauth": oauth});
    world.sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"tracker": entry}}).to_string());
    let person = Person::willing();
    let session = world.session(&person).await;
    let first = generation(&world);
    for turn in 1..=3 {
        world.peer.expire();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..10 {
            let session = session.clone();
            calls.spawn(async move { call(&session, "tracker/echo").await });
        }
        while let Some(called) = calls.join_next().await {
            assert_eq!(called.unwrap().unwrap()["client"], client["id"]);
        }
        assert_eq!(generation(&world), first + turn);
    }
    // A login server that is away is no reason to ask anybody.
    world.peer.expire();
    world.peer.fail(1000);
    let error = call(&session, "tracker/echo").await.unwrap_err();
    assert!(error.contains("the login server cannot give a token right now: HTTP 503"), "{error}");
    world.peer.fail(0);
    call(&session, "tracker/echo").await.unwrap();
    assert_eq!((person.pages().len(), world.peer.count("logins")), (0, 0));
    session.shutdown().await;
}

/// How many tokens there were so far.
fn generation(world: &World) -> u64 {
    world.kept()["generation"].as_u64().unwrap()
}
