//! While a session lives: servers that come, go, come back and change.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::calls::Request;
use switchboard::session::{Found, Session};
use testkit::{Fake, eventually};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::life::{until, until_status};
use crate::world::{World, echo, names, status, tool};

fn never_asks() -> Value {
    json!({"approval": "never"})
}

#[tokio::test]
async fn a_server_that_fails_at_first_is_tried_again_and_joins() {
    let world = World::new().stdio("s", json!({"start": [{"exit": 1}]}), never_asks());
    let session = world.ready().await;
    assert_eq!(session.errors().len(), 1, "the first failure is told at once");
    world.rescript("s", json!({}));
    until_status(&session, "connected").await;
    until(&session, |catalog| catalog.find("s/echo", None).is_ok()).await;
    assert_eq!(session.errors(), []);
    session.shutdown().await;
}

#[tokio::test]
async fn a_server_that_comes_back_is_asked_for_its_tools_again() {
    let before = json!({"tools": [tool("stays"), tool("goes")], "on": {"tools/call": [{"exit": 1}]}});
    let world = World::new().stdio("s", before, never_asks());
    let session = world.ready().await;
    world.rescript("s", json!({"tools": [tool("stays"), tool("comes")]}));
    session.call("s/goes", &json!({}).into()).await.unwrap_err();
    until(&session, |catalog| catalog.find("s/comes", None).is_ok()).await;
    assert_eq!(names(&session), ["mcp_s_comes", "mcp_s_stays"]);
    session.shutdown().await;
}

#[tokio::test]
async fn all_who_wait_for_a_server_share_one_reconnect() {
    let world = World::new().stdio("s", json!({"on": {"tools/call": [{"exit": 1}]}}), never_asks());
    let session = world.ready().await;
    world.rescript("s", json!({"start": [{"sleep_ms": 200}]}));
    echo(&session, "s", "x").await.unwrap_err();
    let mut calls = JoinSet::new();
    for number in 0..20 {
        let session = session.clone();
        calls.spawn(async move { echo(&session, "s", &number.to_string()).await.unwrap() });
    }
    let mut said: Vec<u32> = calls.join_all().await.iter().map(|text| text.parse().unwrap()).collect();
    said.sort_unstable();
    assert_eq!(said, (0..20).collect::<Vec<_>>());
    assert_eq!(world.asked("s", "initialize"), 2);
    session.shutdown().await;
}

/// Comes up, and goes as soon as it is asked for more than its tools.
fn crash_loop() -> Value {
    json!({"prompts": [{"name": "p"}], "on": {"prompts/list": [{"exit": 1}]}})
}

#[tokio::test]
async fn a_suspended_server_is_left_alone_until_somebody_asks_for_it() {
    let world = World::new().stdio("s", crash_loop(), never_asks());
    let session = world.start().await;
    until_status(&session, "suspended").await;
    let starts = world.asked("s", "initialize");
    let error = echo(&session, "s", "x").await.unwrap_err();
    let Found::Call(error) = error else { panic!("{error}") };
    assert!(error.text().starts_with("MCP error: ") && !error.is_outcome_unknown(), "{}", error.text());
    assert_eq!((status(&session, "s"), world.asked("s", "initialize")), ("suspended", starts));
    assert_eq!(session.errors().len(), 1);
    world.rescript("s", json!({}));
    assert!(session.reconnect("s").await);
    assert_eq!(echo(&session, "s", "again").await.unwrap(), "again");
    assert!(!session.reconnect("nobody").await);
    session.shutdown().await;
}

/// An address of its own that leads to a server, until it is closed.
struct Relay {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Relay {
    /// At this address; port 0 is any.
    async fn open(address: SocketAddr, fake: &Fake) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let target = fake.url().trim_start_matches("http://").split('/').next().unwrap().to_owned();
        let (stop, mut stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let mut pipes = JoinSet::new();
            loop {
                let mut near = tokio::select! {
                    near = listener.accept() => near.unwrap().0,
                    _ = &mut stopped => break,
                };
                let target = target.clone();
                pipes.spawn(async move {
                    let mut far = TcpStream::connect(target).await.unwrap();
                    let _cut = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                });
            }
            pipes.shutdown().await;
        });
        Self { address, stop, task }
    }

    /// Comes back when nothing is open any more.
    async fn close(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }
}

#[tokio::test]
async fn a_call_to_an_address_that_is_away_waits_for_it_and_goes_out_once() {
    let (one, two) = (Fake::http(json!({})), Fake::http(json!({})));
    let relay = Relay::open(([127, 0, 0, 1], 0).into(), &one).await;
    let address = relay.address;
    let world = World::new().entry("s", json!({"url": format!("http://{address}/mcp"), "approval": "never"}));
    let session = world.ready().await;
    assert_eq!(echo(&session, "s", "first").await.unwrap(), "first");
    relay.close().await;
    let caller = session.clone();
    let call = tokio::spawn(async move { echo(&caller, "s", "second").await });
    until_status(&session, "connecting").await;
    let relay = Relay::open(address, &two).await;
    assert_eq!(call.await.unwrap().unwrap(), "second");
    let calls = |fake: &Fake| fake.methods().iter().filter(|method| *method == "tools/call").count();
    assert_eq!((calls(&one), calls(&two)), (1, 1));
    assert_eq!(status(&session, "s"), "connected");
    session.shutdown().await;
    relay.close().await;
}

#[tokio::test]
async fn lists_besides_the_tools_are_fetched_again_when_they_change() {
    let change = |list: &str| json!({"notify": {"method": format!("notifications/{list}/list_changed")}});
    let script = json!({
        "capabilities": {"tools": {}, "resources": {"listChanged": true}, "prompts": {"listChanged": true}},
        "on": {
            "resources/list": {"times": [
                [{"result": {"resources": [{"uri": "a:1", "name": "one"}]}}],
                [{"result": {"resources": [{"uri": "a:2", "name": "two"}]}}]]},
            "resources/templates/list": [{"result": {"resourceTemplates": []}}],
            "prompts/list": {"times": [
                [{"result": {"prompts": [{"name": "one"}]}}],
                [{"result": {"prompts": [{"name": "two"}]}}]]},
            "tools/call": [change("resources"), change("prompts"), {"result": {"content": []}}],
        }
    });
    let world = World::new().stdio("s", script, never_asks());
    let session = world.ready().await;
    session.listed().await;
    assert_eq!(session.catalog().resources[0].item.uri, "a:1");
    session.call("s/echo", &json!({"text": "x"}).into()).await.unwrap();
    until(&session, |catalog| {
        catalog.resources[0].item.uri == "a:2" && catalog.prompts[0].item.name == "two"
    })
    .await;
    session.shutdown().await;
}

#[tokio::test]
async fn a_tool_that_is_no_longer_there_says_so() {
    let world = World::new().stdio("s", json!({}), never_asks()).stdio("gone", json!({}), never_asks());
    let session = world.ready().await;
    let entry = session.catalog().find("gone/echo", None).unwrap().clone();
    let mut world = world;
    world.remove("gone");
    session.reload().await;
    assert_missing(&session, "gone/echo").await;
    let error =
        session.call_entry(&entry, &json!({"text": "x"}).into(), Request::default()).await.unwrap_err();
    assert!(!error.is_outcome_unknown(), "{}", error.text());
    assert_eq!(echo(&session, "s", "x").await.unwrap(), "x");
    session.shutdown().await;
}

async fn assert_missing(session: &Session, tool: &str) {
    assert!(matches!(session.call(tool, &json!({}).into()).await, Err(Found::Missed(_))));
}

#[tokio::test]
async fn a_call_that_waits_for_a_server_ends_when_that_does_not_come() {
    let world = World::new().stdio("s", json!({}), never_asks());
    world.warm().await;
    world.rescript("s", json!({"start": [{"exit": 1}]}));
    let session = world.start().await;
    let call = tokio::time::timeout(Duration::from_secs(25), echo(&session, "s", "x")).await.unwrap();
    let Err(Found::Call(error)) = call else { panic!("{call:?}") };
    assert!(error.text().starts_with("MCP error: ") && !error.is_outcome_unknown(), "{}", error.text());
    session.shutdown().await;
}

#[tokio::test]
async fn a_login_that_is_wanted_is_told_and_nothing_is_tried_until_somebody_asks() {
    let fake = Fake::http(json!({"on": {"*": [{"status": 401, "body": "who?"}]}}));
    let world = World::new().entry("s", json!({"url": fake.url()})).stdio("good", json!({}), json!({}));
    let session = world.ready().await;
    assert_eq!(status(&session, "s"), "needs login");
    let error = session.errors().remove(0);
    assert!(error.needs_login && !error.retryable && error.hint.is_some(), "{error:?}");
    let asked = fake.log().len();
    let error = session.read("s", "a:b").await.unwrap_err();
    assert!(error.needs_login());
    assert_eq!(fake.log().len(), asked, "nobody was asked again");
    session.reconnect("s").await;
    eventually("it is asked again", || fake.log().len(), |n| *n > asked).await;
    session.shutdown().await;
}

#[tokio::test]
async fn a_list_that_is_cut_is_a_problem() {
    let tools: Vec<Value> = (0..2001).map(|n| tool(&format!("t{n}"))).collect();
    let world = World::new().stdio("s", json!({"tools": tools}), json!({}));
    let session = world.ready().await;
    let catalog = session.catalog();
    assert_eq!(catalog.tools.len(), 2000);
    let told = catalog.problems.iter().any(|problem| problem.message.contains("more than 2000 items"));
    assert!(told, "{:?}", catalog.problems);
    session.shutdown().await;
}
