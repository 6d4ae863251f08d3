//! Calls that wait for the user's word: stored, answered later, made only if they are still what they were.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard::Explain;
use switchboard::calls::{CallError, Class, Deferred, Outcome};
use switchboard::host::{Headless, Permit, Unasked};
use switchboard::json::Json;
use switchboard::session::{Found, Gate, Options, Session};

use crate::world::World;

fn options(world: &World) -> Options {
    let host = Headless { unasked: Unasked::Defer, ..Headless::default() };
    Options { host: Arc::new(host), ..world.options() }
}

async fn start(world: &World) -> Session {
    let session = Session::start(options(world)).await;
    session.ready(Gate::Correct).await;
    session
}

fn tool(description: &str) -> Value {
    json!({"name": "write", "description": description, "inputSchema": {"type": "object", "properties": {"path": {}}}})
}

fn world() -> World {
    World::new().stdio("files", json!({"tools": [tool("Writes a file"), {"name": "other"}]}), json!({}))
}

/// Makes a call that is put aside, in a session of its own.
async fn put_aside(world: &World) -> Deferred {
    let session = start(world).await;
    let waits = session.call("files/write", &json!({"path": "a"}).into()).await;
    session.shutdown().await;
    let Err(Found::Call(CallError::Deferred { request })) = waits else { panic!("{waits:?}") };
    *request
}

/// Answers it in another one.
async fn resume(world: &World, deferred: &Deferred, permit: Permit) -> Result<Outcome, CallError> {
    let session = start(world).await;
    let reviewed = session.review(deferred).await.map(|question| question.arguments);
    let resumed = session.resume(deferred.clone(), permit).await;
    session.shutdown().await;
    if resumed.is_ok() {
        assert_eq!(reviewed.unwrap(), deferred.arguments, "what was shown is what was sent");
    }
    resumed
}

#[tokio::test]
async fn a_call_is_put_aside_stored_and_made_once_when_the_user_says_yes() {
    let world = world();
    let session = start(&world).await;
    let arguments = Json::from_text(r#"{"path": "a", "n": 123456789012345678901}"#).unwrap();
    let Err(Found::Call(error)) = session.call("files/write", &arguments).await else { panic!() };
    assert_eq!(
        (error.code(), error.class(), error.is_outcome_unknown()),
        ("approval-needed", Class::Terminal, false)
    );
    assert_eq!(error.server(), Some("files"));
    let text = error.text();
    assert!(
        text.starts_with("Error: `mcp_files_write` was not run: it waits for the user's approval"),
        "{text}"
    );
    let CallError::Deferred { request } = error else { panic!() };
    let stored = serde_json::to_string(&request).unwrap();
    session.shutdown().await;
    assert_eq!(world.asked("files", "tools/call"), 0, "nothing was sent");

    let session = start(&world).await;
    let deferred: Deferred = serde_json::from_str(&stored).unwrap();
    let question = session.review(&deferred).await.unwrap();
    assert_eq!((question.server.as_str(), question.tool.as_str()), ("files", "write"));
    assert_eq!(question.description.as_deref(), Some("Writes a file"));
    assert_eq!(question.arguments.as_str(), arguments.as_str());
    assert_eq!(world.asked("files", "tools/call"), 0, "asking sends nothing");
    let outcome = session.resume(deferred, Permit::Once).await.unwrap();
    assert!(!outcome.is_error);
    let sent = world.script("files").log();
    let sent = sent.iter().find(|line| line["message"]["method"] == "tools/call").unwrap();
    assert_eq!(sent["message"]["params"]["name"], "write");
    assert_eq!(sent["message"]["params"]["arguments"]["path"], "a");
    // A yes for once is for once.
    assert!(matches!(
        session.call("files/write", &arguments).await,
        Err(Found::Call(CallError::Deferred { .. }))
    ));
    session.shutdown().await;
    assert_eq!(world.asked("files", "tools/call"), 1);
}

#[tokio::test]
async fn the_answer_may_also_be_always_or_no_or_not_yet() {
    let world = world();
    let deferred = put_aside(&world).await;
    let no =
        resume(&world, &deferred, Permit::Deny { reason: "not on a Sunday".to_owned() }).await.unwrap_err();
    assert_eq!(no.text(), "Error: the user said no: not on a Sunday");
    let later = resume(&world, &deferred, Permit::Defer).await.unwrap_err();
    assert!(matches!(later, CallError::Deferred { request } if *request == deferred));
    assert_eq!(world.asked("files", "tools/call"), 0);

    let session = start(&world).await;
    session.resume(deferred, Permit::Session).await.unwrap();
    session.call("files/write", &json!({"path": "b"}).into()).await.unwrap();
    session.shutdown().await;
    assert_eq!(world.asked("files", "tools/call"), 2);
}

#[tokio::test]
async fn a_yes_does_not_count_for_what_changed_since() {
    let outdated = |error: &CallError| matches!(error, CallError::Outdated { .. });
    let denied = |error: &CallError| matches!(error, CallError::Denied { .. });
    let mut world = world();
    let deferred = put_aside(&world).await;
    let script = |tools: Value| json!({"tools": tools}).to_string();
    let path = world.script("files").path().clone();
    for tools in [json!([tool("Writes anything")]), json!([{"name": "other"}])] {
        std::fs::write(&path, script(tools)).unwrap();
        let error = resume(&world, &deferred, Permit::Once).await.unwrap_err();
        assert!(outdated(&error) && error.code() == "approval-outdated", "{error:?}");
    }
    std::fs::write(&path, script(json!([tool("Writes a file")]))).unwrap();

    world.change("files", json!({"tools": {"deny": ["wri*"]}}));
    assert!(denied(&resume(&world, &deferred, Permit::Session).await.unwrap_err()));
    world.change("files", json!({"tools": {}}));
    let rule = json!({"defaults": false, "approval": {"files": {"write": "deny"}}});
    world.sandbox.write("~/.switchboard/settings.json", rule.to_string());
    assert!(denied(&resume(&world, &deferred, Permit::Once).await.unwrap_err()));
    world.sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);

    world.change("files", json!({"env": {"TARGET": "production"}}));
    assert!(outdated(&resume(&world, &deferred, Permit::Once).await.unwrap_err()));
    world.change("files", json!({"env": {}}));
    world.change("files", json!({"enabled": false}));
    assert!(outdated(&resume(&world, &deferred, Permit::Once).await.unwrap_err()));
    world.change("files", json!({"enabled": true}));
    assert_eq!(world.asked("files", "tools/call"), 0, "nothing of it was sent");
    resume(&world, &deferred, Permit::Once).await.unwrap();
    world.remove("files");
    assert!(outdated(&resume(&world, &deferred, Permit::Once).await.unwrap_err()));
}

#[tokio::test]
async fn what_others_wrote_into_it_gains_nothing() {
    let world = world();
    let deferred = put_aside(&world).await;
    let forged = [
        // Another tool under a name the user trusts, or with the pin of this one.
        Deferred { tool: "other".to_owned(), ..deferred.clone() },
        Deferred { tool: "other".to_owned(), name: "mcp_files_other".to_owned(), ..deferred.clone() },
        Deferred { name: "mcp_files_read".to_owned(), ..deferred.clone() },
        Deferred { server: "nowhere".to_owned(), ..deferred.clone() },
        Deferred { tool: "../write".to_owned(), ..deferred.clone() },
        Deferred { pin: String::new(), ..deferred.clone() },
        Deferred { pin: "0".repeat(64), ..deferred.clone() },
    ];
    let session = start(&world).await;
    for forged in forged {
        assert!(matches!(session.review(&forged).await, Err(CallError::Outdated { .. })), "{forged:?}");
        let refused = session.resume(forged.clone(), Permit::Session).await;
        assert!(matches!(refused, Err(CallError::Outdated { .. })), "{forged:?}");
    }
    // Other arguments are what the user is shown, and what is sent.
    let edited = Deferred { arguments: json!({"path": "b"}).into(), ..deferred.clone() };
    assert_eq!(session.review(&edited).await.unwrap().arguments.value(), json!({"path": "b"}));
    let none = Deferred { arguments: json!(["b"]).into(), ..deferred.clone() };
    assert!(matches!(session.resume(none, Permit::Once).await, Err(CallError::Arguments { .. })));
    session.shutdown().await;
    assert_eq!(world.asked("files", "tools/call"), 0);
}

#[tokio::test]
async fn a_server_that_sleeps_is_woken_and_asked_what_it_offers_now() {
    let mut world = world();
    world.change("files", json!({"lazy": true}));
    let first = start(&world).await;
    first.reconnect("files").await;
    first.settled(None).await;
    first.shutdown().await;
    let deferred = put_aside(&world).await;
    let session = start(&world).await;
    session.resume(deferred.clone(), Permit::Once).await.unwrap();
    session.shutdown().await;
    // What is remembered of it is what was approved, but it is not that any more.
    let path = world.script("files").path().clone();
    std::fs::write(path, json!({"tools": [tool("Writes anything")]}).to_string()).unwrap();
    let session = start(&world).await;
    let refused = session.resume(deferred, Permit::Once).await;
    assert!(matches!(refused, Err(CallError::Outdated { .. })), "{refused:?}");
    session.shutdown().await;
    assert_eq!(world.asked("files", "tools/call"), 1);
}

#[tokio::test]
async fn arguments_that_are_no_object_are_refused_before_anybody_is_asked() {
    let world = world();
    let session = start(&world).await;
    for arguments in [json!([1]), json!("a"), json!(5), json!(null), json!(true)] {
        let refused = session.call("files/write", &arguments.clone().into()).await;
        let Err(Found::Call(error)) = refused else { panic!("{arguments}") };
        assert_eq!((error.code(), error.class()), ("bad-arguments", Class::Misuse));
        assert!(
            error.text().starts_with("Error: the arguments of `mcp_files_write` must be an object, and are ")
        );
    }
    session.shutdown().await;
    assert_eq!(world.asked("files", "tools/call"), 0);
}
