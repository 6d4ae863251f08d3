//! Servers that die, are switched off or change in the middle of a turn: the turn goes on, with a true account to the model.

use serde_json::json;
use switchboard_agent::{Event, Stop};
use tokio_util::sync::CancellationToken;

use crate::world::{Steps, World, agent, calls, text};

#[tokio::test]
async fn a_server_that_is_switched_off_is_gone() {
    let mut world = World::new().server("one", json!({})).server("two", json!({}));
    let session = world.session().await;
    // Between the question and the call.
    world.remove("two");
    let reload = {
        let session = session.clone();
        async move { drop(session.reload().await) }
    };
    let both = [("mcp_one_echo", json!({"text": "a"})), ("mcp_two_echo", json!({"text": "b"}))];
    let model = Steps::default().then(reload, calls(&both)).says(text("Only one."));
    let mut agent = agent(&session, &model);
    let mut events = Vec::new();
    let turn = agent
        .turn("Do it.".into(), &mut |event| events.push(event), &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!((turn.stop, turn.text.as_str()), (Stop::Done, "Only one."));
    let told = model.told();
    assert_eq!(told[0], "a");
    assert_eq!(
        told[1],
        "Error: the tool `mcp_two_echo` is gone: its server `two` was removed or switched off. Go on without it, or say so"
    );
    let names: Vec<String> = model.asked()[1].tools.iter().map(|tool| tool.name.clone()).collect();
    assert!(names.iter().all(|name| name.starts_with("mcp_one_")), "{names:?}");
    let changed = |event: &&Event| matches!(event, Event::ToolsChanged { added, removed } if added.is_empty() && removed.len() == 7);
    assert_eq!(events.iter().filter(changed).count(), 1, "{events:?}");
    session.shutdown().await;
}

#[tokio::test]
async fn a_server_that_dies_is_told_and_comes_back() {
    let script = json!({"on": {"tools/call": {"times": [[{"exit": 1}]]}}});
    let world = World::new().server("one", script).server("two", json!({}));
    let session = world.session().await;
    let both = [("mcp_one_echo", json!({"text": "a"})), ("mcp_two_echo", json!({"text": "b"}))];
    let model = Steps::default().says(calls(&both)).says(text("One died."));
    let mut agent = agent(&session, &model);
    let turn = agent.turn("Do it.".into(), &mut |_| {}, &CancellationToken::new()).await.unwrap();
    assert_eq!(turn.text, "One died.");
    let told = model.told();
    assert!(told[0].starts_with("MCP error: ") && told[0].contains("outcome unknown"), "{told:?}");
    assert_eq!(told[1], "b", "its neighbour is not hurt");
    assert_eq!(
        world.script(0).methods().iter().filter(|method| *method == "tools/call").count(),
        1,
        "not repeated"
    );
    session.shutdown().await;
}
