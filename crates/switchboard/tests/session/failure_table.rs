//! What fails, what that costs, and what goes on: one test for each way to fail.
//!
//! | what fails | what it costs | test |
//! |---|---|---|
//! | the configuration cannot be read | no tools and one error; the session lives | `a_configuration_that_cannot_be_read_is_one_error_and_not_the_end` |
//! | an entry is invalid | that server, with the reason | `an_invalid_entry_is_an_error_and_nothing_of_it_is_tried` |
//! | connecting takes too long or fails | that server, with the reason | `a_server_that_cannot_be_connected_to_is_an_error_and_the_others_go_on` |
//! | its tools are late, and known from before | nothing: those are there at once | `late_tools_that_are_known_are_there_at_once` |
//! | its tools are late, and not known | the wait for them | `late_tools_that_are_not_known_are_waited_for` |
//! | its tools do not come, after the start | that server; it is told | `tools_that_fail_to_come_after_the_start_are_told` |
//! | a connection is lost | nothing, if it comes back; else the calls meanwhile | `a_lost_connection_is_made_anew_and_its_tools_stay` |

use std::time::Duration;

use serde_json::{Value, json};
use switchboard::calls::Request;
use switchboard::connect::{Freshness, Persistence};
use switchboard::session::{Gate, Session, load};
use testkit::{Fake, fake_server};

use crate::life::until_status;
use crate::world::{World, echo, names, only, status};

fn never_asks() -> Value {
    json!({"approval": "never"})
}

/// Each error as server and code.
fn errors(session: &Session) -> Vec<(Option<String>, &'static str)> {
    session.errors().into_iter().map(|error| (error.server, error.code)).collect()
}

fn is_live(session: &Session, tool: &str) -> bool {
    session.catalog().find(tool, None).unwrap().freshness == Freshness::Live
}

#[tokio::test]
async fn a_configuration_that_cannot_be_read_is_one_error_and_not_the_end() {
    let world = World::new().stdio("s", json!({}), never_asks());
    let good = world.sandbox.read("~/.switchboard/mcp.json");
    world.sandbox.write("~/.switchboard/mcp.json", &good[..good.len() / 2]);
    let loaded = load(world.options()).await;
    assert!(loaded.tools.is_empty());
    assert_eq!(errors(&loaded.session), [(None, "syntax-error")]);
    world.sandbox.write("~/.switchboard/mcp.json", good);
    loaded.session.reload().await;
    loaded.session.ready(Gate::Correct).await;
    assert_eq!(errors(&loaded.session), []);
    assert_eq!(echo(&loaded.session, "s", "back").await.unwrap(), "back");
    loaded.session.shutdown().await;
}

#[tokio::test]
async fn an_invalid_entry_is_an_error_and_nothing_of_it_is_tried() {
    let (program, address) = (Fake::script(json!({})), Fake::http(json!({})));
    let both = json!({"command": fake_server(), "args": [program.path()], "url": address.url()});
    let world = World::new()
        .stdio("good", json!({}), never_asks())
        .entry("both", both)
        .entry("kind", json!({"type": "carrier-pigeon", "url": address.url()}))
        .entry("neither", json!({"type": "http"}));
    let session = world.ready().await;
    let said: Vec<_> = session.errors().into_iter().map(|error| (error.code, error.message)).collect();
    let expected = [
        "Server \"both\": both \"command\" and \"url\" are set - server should be either stdio (command) OR http/sse (url), not both",
        "Server \"kind\": unknown server type \"carrier-pigeon\"",
        "Server \"neither\": http server requires \"url\" field",
    ];
    assert_eq!(said, expected.map(|text| ("invalid-server", text.to_owned())));
    assert_eq!(echo(&session, "good", "x").await.unwrap(), "x");
    session.shutdown().await;
    assert!(program.log().is_empty() && address.log().is_empty(), "neither half of it was tried");
}

#[tokio::test]
async fn a_server_that_cannot_be_connected_to_is_an_error_and_the_others_go_on() {
    let no = json!({"error": {"code": -32000, "message": "not today"}});
    let world = World::new()
        .stdio("good", json!({}), never_asks())
        .stdio("ends", json!({"start": [{"stderr": "no key\n"}, {"exit": 3}]}), json!({}))
        .stdio("hangs", json!({"on": {"initialize": [{"hang": true}]}}), json!({"startupTimeout": 800}))
        .stdio("no-tools", json!({"on": {"tools/list": [no]}}), json!({}))
        .stdio("refuses", json!({"on": {"initialize": [no]}}), json!({}))
        .entry("missing", json!({"command": "no-such-program-anywhere"}))
        .entry("nobody", json!({"url": "http://127.0.0.1:1/mcp"}));
    let mut options = world.options();
    options.persistence = Persistence::OneShot;
    let loaded = load(options).await;
    let failed: Vec<_> = loaded.errors.iter().map(|error| error.server.as_deref().unwrap()).collect();
    assert_eq!(failed, ["ends", "hangs", "missing", "no-tools", "nobody", "refuses"]);
    let error = |server: &str| loaded.errors.iter().find(|error| error.server.as_deref() == Some(server));
    assert_eq!(error("hangs").unwrap().code, "timeout");
    assert_eq!(error("missing").unwrap().code, "command-not-found");
    assert_eq!(error("ends").unwrap().last_words.as_deref(), Some("no key"));
    for server in ["no-tools", "refuses"] {
        assert!(error(server).unwrap().message.contains("not today"), "{:?}", error(server));
    }
    assert!(loaded.tools.iter().all(|entry| entry.server == "good") && loaded.tools.len() == 7);
    assert_eq!(echo(&loaded.session, "good", "x").await.unwrap(), "x");
    loaded.session.shutdown().await;
}

#[tokio::test]
async fn late_tools_that_are_known_are_there_at_once() {
    let world = World::new().stdio("s", json!({}), never_asks());
    world.warm().await;
    world.rescript("s", json!({"on": {"tools/list": [{"silent": true}]}}));
    let session = world.start().await;
    session.ready(Gate::Correct).await;
    world.until_asked("s", "tools/list", 2).await;
    assert_eq!(status(&session, "s"), "connecting");
    assert!(names(&session).len() == 7 && !is_live(&session, "s/echo"));
    // A call of one waits for the connection, whichever one it will be.
    let caller = session.clone();
    let call = tokio::spawn(async move { echo(&caller, "s", "at last").await });
    world.rescript("s", json!({}));
    assert!(session.reconnect("s").await);
    assert_eq!(call.await.unwrap().unwrap(), "at last");
    session.settled(None).await;
    assert!(is_live(&session, "s/echo"));
    session.shutdown().await;
}

#[tokio::test]
async fn late_tools_that_are_not_known_are_waited_for() {
    // Longer than the window of a start.
    let late = json!({"on": {"tools/list": [{"sleep_ms": 700}, {"default": true}]}});
    let world = World::new().stdio("s", late, never_asks());
    let session = world.start().await;
    session.ready(Gate::Correct).await;
    assert_eq!(status(&session, "s"), "connected");
    assert!(is_live(&session, "s/echo"));
    session.shutdown().await;
}

#[tokio::test]
async fn tools_that_fail_to_come_after_the_start_are_told() {
    let world = World::new().stdio("good", json!({}), never_asks()).stdio("late", json!({}), never_asks());
    world.warm().await;
    let no = json!({"error": {"code": -32000, "message": "changed my mind"}});
    world.rescript("late", json!({"on": {"tools/list": [{"sleep_ms": 300}, no]}}));
    let mut options = world.options();
    options.persistence = Persistence::OneShot;
    let session = Session::start(options).await;
    session.ready(Gate::Correct).await;
    assert_eq!(errors(&session), [], "nobody waited for it");
    until_status(&only(&session, "late"), "failed").await;
    let told = session.errors();
    assert_eq!(told.len(), 1);
    assert!(told[0].message.contains("changed my mind"), "{told:?}");
    assert!(names(&session).iter().any(|name| name == "mcp_late_echo"), "what was known of it stays");
    let error = session.call("late/echo", &json!({"text": "x"}).into()).await.unwrap_err();
    assert!(error.to_string().contains("changed my mind"), "{error}");
    assert_eq!(echo(&session, "good", "x").await.unwrap(), "x");
    session.shutdown().await;
}

#[tokio::test]
async fn a_lost_connection_is_made_anew_and_its_tools_stay() {
    let ends = json!({"on": {"tools/call": [{"exit": 1}]}});
    let world = World::new().stdio("s", ends, never_asks()).stdio("good", json!({}), never_asks());
    let session = world.ready().await;
    let before = names(&session);
    world.rescript("s", json!({"start": [{"hang": true}]}));
    echo(&session, "s", "x").await.unwrap_err();
    until_status(&only(&session, "s"), "connecting").await;
    assert_eq!(names(&session), before, "stale tools stay visible");
    // It does not come back as long as it hangs, and who calls meanwhile is told so in time.
    let entry = session.catalog().find("s/echo", None).unwrap().clone();
    let request = Request { timeout: Some(Duration::from_millis(200)), ..Request::default() };
    let error = session.call_entry(&entry, &json!({"text": "x"}).into(), request).await.unwrap_err();
    assert!(error.text().starts_with("MCP error: ") && !error.is_outcome_unknown(), "{}", error.text());
    assert_eq!(echo(&session, "good", "x").await.unwrap(), "x");
    world.rescript("s", json!({}));
    session.reconnect("s").await;
    assert_eq!(echo(&session, "s", "again").await.unwrap(), "again");
    session.shutdown().await;
}
