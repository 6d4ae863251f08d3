//! What is called by which name, who may call it, and what a failure is.

use serde_json::{Value, json};
use switchboard::calls::{CallError, Class, Decision, Request};
use switchboard::catalog::Missed;
use switchboard::session::{Found, Gate};

use crate::life::until;
use crate::world::{World, echo, names, tool};

fn never_asks() -> Value {
    json!({"approval": "never"})
}

#[tokio::test]
async fn a_name_that_was_good_never_comes_to_mean_another_tool() {
    let one = json!({"tools": [tool("t")]});
    let hangs = json!({"start": [{"hang": true}]});
    let world = World::new().stdio("a-b", one.clone(), never_asks()).stdio("a_b", hangs, never_asks());
    let session = world.start().await;
    until(&session, |catalog| catalog.tools.len() == 1).await;
    let entry = session.catalog().tools[0].clone();
    assert_eq!((entry.name.as_str(), entry.server.as_str()), ("mcp_a_b_t", "a-b"));
    world.rescript("a_b", one);
    session.reconnect("a_b").await;
    until(&session, |catalog| catalog.tools.len() == 2).await;
    assert!(names(&session).iter().all(|name| name.starts_with("mcp_a_b_t_")), "{:?}", names(&session));
    // Who still has the old name is told that it could mean either. The tool itself is still that tool.
    let Err(Found::Missed(missed)) = session.call("mcp_a_b_t", &json!({}).into()).await else { panic!() };
    assert!(matches!(missed, Missed::Ambiguous { .. }), "{missed:?}");
    let outcome = session.call_entry(&entry, &json!({}).into(), Request::default()).await.unwrap();
    assert_eq!(outcome.server, "a-b");
    session.shutdown().await;
}

#[tokio::test]
async fn each_failure_has_its_class() {
    let say = |code: i32| json!({"on": {"tools/call": [{"error": {"code": code, "message": "no"}}]}});
    let world = World::new()
        .stdio("misused", say(-32602), never_asks())
        .stdio("refuses", say(-32000), never_asks())
        .stdio("ends", json!({"on": {"tools/call": [{"exit": 1}]}}), never_asks())
        .stdio("asks", json!({}), json!({}));
    let session = world.ready().await;
    let expected = [
        ("misused", Class::Misuse),
        ("refuses", Class::Terminal),
        ("ends", Class::Transient),
        ("asks", Class::Terminal),
    ];
    for (server, class) in expected {
        let Err(Found::Call(error)) = echo(&session, server, "x").await else { panic!("{server}") };
        assert_eq!(error.class(), class, "{server}: {error:?}");
    }
    session.shutdown().await;
}

#[tokio::test]
async fn what_a_cached_tool_says_of_itself_loosens_nothing() {
    let reads =
        json!({"name": "t", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
    let world = World::new().stdio("s", json!({"tools": [reads]}), json!({"approval": "writes"}));
    let session = world.ready().await;
    let live = session.catalog().tools[0].clone();
    assert_eq!(session.decision(&live), Decision::Run);
    session.shutdown().await;
    world.rescript("s", json!({"start": [{"hang": true}]}));
    let session = world.start().await;
    session.ready(Gate::Quick).await;
    let cached = session.catalog().tools[0].clone();
    assert_eq!(session.decision(&cached), Decision::Ask);
    session.shutdown().await;
}

#[tokio::test]
async fn a_rule_of_the_settings_holds_whatever_the_spelling() {
    let world = World::new().stdio("my-s", json!({}), never_asks());
    let settings = json!({"defaults": false, "approval": {"my-s": {"echo": "deny"}}});
    world.sandbox.write("~/.switchboard/settings.json", settings.to_string());
    let session = world.ready().await;
    for spelling in ["mcp_my_s_echo", "my-s/echo", "my-s.echo", "mcp__my-s__echo", "mcp__my_s_echo", "echo"] {
        let Err(Found::Call(error)) = session.call(spelling, &json!({"text": "x"}).into()).await else {
            panic!("{spelling}")
        };
        assert!(matches!(error, CallError::Denied { .. }), "{spelling}: {error:?}");
    }
    let entry = session.catalog().find("my-s/echo", None).unwrap().clone();
    let arguments = json!({"text": "x"}).into();
    assert!(session.call_approved(&entry, &arguments, Request::default()).await.is_err(), "nor with a yes");
    assert_eq!(world.asked("my-s", "tools/call"), 0);
    world
        .sandbox
        .write("~/.switchboard/settings.json", r#"{"defaults": false, "toolNames": {"style": "double"}}"#);
    session.reload().await;
    assert_eq!(session.call("mcp__my_s_echo", &arguments).await.unwrap().name, "mcp__my_s_echo");
    assert_eq!(world.asked("my-s", "initialize"), 1, "rules and names need no new connection");
    session.shutdown().await;
}
