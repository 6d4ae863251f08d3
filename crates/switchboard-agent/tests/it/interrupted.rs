//! A turn that is stopped at any moment leaves a conversation that can go on.

use serde_json::json;
use switchboard_agent::model::Answer;
use switchboard_agent::{Fate, Stop};
use tokio_util::sync::CancellationToken;

use crate::world::{Steps, World, agent, calls, is_sound, text};

fn model() -> Steps {
    let two = [("mcp_one_echo", json!({"text": "a"})), ("mcp_one_slow", json!({"ms": 5}))];
    let first = Answer { text: "Let me see.".to_owned(), ..calls(&two) };
    Steps::default().says(first.clone()).says(first).says(text("Done."))
}

/// Waits until the server has the call.
async fn until_called(world: &World) {
    let is_there = |methods: &Vec<String>| methods.iter().any(|method| method == "tools/call");
    testkit::eventually("the call arrives", || world.script(0).methods(), is_there).await;
}

#[tokio::test]
async fn stopped_at_any_event_it_can_go_on() {
    let world = World::new().server("one", json!({}));
    let session = world.session().await;
    let mut n_stopped = 0;
    for stop_at in 0..20 {
        let mut agent = agent(&session, &model());
        let cancel = CancellationToken::new();
        let mut n_events = 0;
        let mut on_event = |_| {
            if n_events == stop_at {
                cancel.cancel();
            }
            n_events += 1;
        };
        let turn = agent.turn("Do it.".into(), &mut on_event, &cancel).await.unwrap();
        is_sound(agent.history().messages());
        if turn.stop == Stop::Interrupted {
            n_stopped += 1;
        }
        let next = agent.turn("Go on.".into(), &mut |_| {}, &CancellationToken::new()).await.unwrap();
        assert_eq!(next.stop, Stop::Done, "stopped at event {stop_at}");
        is_sound(agent.history().messages());
    }
    assert!(n_stopped >= 10, "{n_stopped}");
    session.shutdown().await;
}

#[tokio::test]
async fn stopped_in_a_call_the_server_hears_of_it() {
    let world = World::new().server("one", json!({"on": {"tools/call": [{"silent": true}]}}));
    let session = world.session().await;
    let model = Steps::default().says(calls(&[("mcp_one_echo", json!({"text": "a"}))]));
    let mut agent = agent(&session, &model);
    let cancel = CancellationToken::new();
    let mut deaf = |_| {};
    let turn = agent.turn("Do it.".into(), &mut deaf, &cancel);
    let arrived = async {
        until_called(&world).await;
        cancel.cancel();
        std::future::pending::<()>().await;
    };
    let turn = tokio::select! {
        turn = turn => turn.unwrap(),
        () = arrived => unreachable!(),
    };
    assert_eq!((turn.stop, turn.tool_calls[0].fate), (Stop::Interrupted, Fate::Interrupted));
    is_sound(agent.history().messages());
    session.shutdown().await;
    world.script(0).wait_for(|line| line["message"]["method"] == "notifications/cancelled");
}

#[tokio::test]
async fn a_dropped_turn_leaves_a_conversation_that_can_go_on() {
    let world = World::new().server("one", json!({"on": {"tools/call": [{"silent": true}]}}));
    let session = world.session().await;
    let model = Steps::default().says(calls(&[("mcp_one_echo", json!({"text": "a"}))])).says(text("Hello."));
    let mut agent = agent(&session, &model);
    let never = CancellationToken::new();
    let arrived = until_called(&world);
    let mut deaf = |_| {};
    tokio::select! {
        _ = agent.turn("Do it.".into(), &mut deaf, &never) => unreachable!(),
        () = arrived => {}
    }
    let next = agent.turn("Go on.".into(), &mut |_| {}, &never).await.unwrap();
    assert_eq!(next.text, "Hello.");
    is_sound(agent.history().messages());
    session.shutdown().await;
}
