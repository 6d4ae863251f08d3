//! A conversation inside of another has the same connections, and never more tools.

use std::collections::BTreeSet;

use serde_json::json;
use switchboard::session::Scope;
use tokio_util::sync::CancellationToken;

use crate::world::{Steps, World, agent, calls, text};

#[tokio::test]
async fn a_helper_shares_connections_and_is_limited_to_its_servers() {
    let world = World::new().server("one", json!({})).server("two", json!({}));
    let session = world.session().await;
    let both = [("mcp_one_pid", json!({})), ("mcp_two_pid", json!({}))];
    let model = Steps::default().says(calls(&both)).says(text("All.")).says(calls(&both)).says(text("Some."));
    let mut parent = agent(&session, &model);
    parent.turn("Do it.".into(), &mut |_| {}, &CancellationToken::new()).await.unwrap();
    let pids = model.told();
    let mut helper = parent.sub(Some(&BTreeSet::from(["two".to_owned()])));
    assert!(helper.history().is_empty());
    helper.turn("Do it.".into(), &mut |_| {}, &CancellationToken::new()).await.unwrap();
    let told = model.told();
    assert!(told[0].starts_with("Error: there is no tool `mcp_one_pid`"), "{told:?}");
    assert_eq!(told[1], pids[1], "the same process");
    session.shutdown().await;
}

#[tokio::test]
async fn a_helper_of_a_limited_conversation_is_limited_as_well() {
    let world = World::new().server("one", json!({})).server("two", json!({}));
    let session = world.session().await;
    let part = session.scoped(Scope::Tools(BTreeSet::from(["mcp_one_echo".to_owned()])));
    let helper =
        agent(&part, &Steps::default()).sub(Some(&BTreeSet::from(["one".to_owned(), "two".to_owned()])));
    let names: Vec<String> = helper.block().tools.into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["mcp_one_echo"]);
    session.shutdown().await;
}
