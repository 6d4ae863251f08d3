//! The recent past of a server: what went over its connections, and what its process said, without content or secrets.

use serde_json::{Value, json};
use switchboard::session::Session;
use switchboard::wire::{Direction, End, Kind, Logs};
use testkit::eventually;

use crate::world::{World, echo, status};

fn logs(session: &Session) -> Logs {
    session.logs("s").unwrap()
}

/// What stands in it, in order: which way, what, and how it ended.
fn lines(logs: &Logs) -> Vec<String> {
    let way = |direction: Direction| if direction == Direction::Sent { "->" } else { "<-" };
    logs.traffic.iter().map(|passage| format!("{} {}", way(passage.direction), passage.what())).collect()
}

#[tokio::test]
async fn it_tells_what_went_over_the_connection_and_not_what_was_in_it() {
    let script = json!({
        "start": [{"stderr": "token canary-in-stderr is in use\n"}],
        "on": {"tools/call": [
            {"notify": {"method": "notifications/message", "params": {"level": "info", "data": "canary-in-a-line"}}},
            {"result": {"content": [{"type": "text", "text": "canary-in-the-result"}]}}
        ]}
    });
    let conduct = json!({"approval": "never", "env": {"TOKEN": "canary-in-stderr"}});
    let world = World::new().stdio("s", script, conduct);
    let session = world.ready().await;
    session.listed().await;
    session.call("s/echo", &json!({"text": "canary-in-arguments"}).into()).await.unwrap();
    assert!(session.logs("nobody").is_none());
    let logs = logs(&session);
    let shown = lines(&logs);
    let expected = ["-> tools/call", "<- notifications/message", "<- answer to tools/call"];
    assert!(shown.ends_with(&expected.map(str::to_owned)), "{shown:#?}");
    let answer = logs.traffic.last().unwrap();
    let question = &logs.traffic[logs.traffic.len() - 3];
    assert_eq!((answer.id.clone(), answer.kind), (question.id.clone(), Kind::Answer(End::Ok)));
    assert!(answer.took.is_some() && question.took.is_none());
    assert!(answer.bytes > 60 && question.bytes > 60);
    assert!(answer.at >= question.at);
    assert!(
        shown.contains(&"-> tools/list".to_owned()) && shown.contains(&"<- answer to tools/list".to_owned())
    );
    assert_eq!(logs.stderr.trim_end(), "token *** is in use");
    let whole = format!("{logs:?}");
    assert!(!whole.contains("canary"), "{whole}");
    session.shutdown().await;
}

#[tokio::test]
async fn it_survives_a_reconnect_and_is_bounded() {
    let world = World::new().stdio(
        "s",
        json!({"start": [{"stderr": "first life\n"}], "on": {"tools/call": [{"exit": 1}]}}),
        json!({"approval": "never"}),
    );
    let session = world.ready().await;
    session.listed().await;
    world.rescript("s", json!({"start": [{"stderr": "second life\n"}]}));
    echo(&session, "s", "x").await.unwrap_err();
    eventually("it is back", || status(&session, "s"), |status| *status == "connected").await;
    eventually("its new process speaks", || logs(&session).stderr, |said| said.contains("second life")).await;
    let after = logs(&session);
    assert_eq!(after.stderr.lines().map(str::trim).collect::<Vec<_>>(), ["first life", "second life"]);
    assert!(lines(&after).contains(&"<- no answer to tools/call".to_owned()), "{:#?}", lines(&after));
    for _ in 0..150 {
        echo(&session, "s", "x").await.unwrap();
    }
    let many = logs(&session);
    assert_eq!(many.traffic.len(), 200);
    assert!(many.n_earlier >= 100, "{}", many.n_earlier);
    // A part of the session that has only tools sees no more than those.
    let part = session.scoped(switchboard::session::Scope::Tools(["mcp_s_echo".to_owned()].into()));
    assert!(part.logs("s").is_none());
    session.shutdown().await;
}

#[tokio::test]
async fn one_that_never_came_up_tells_why() {
    let script: Value = json!({"start": [{"stderr": "no licence found\n"}, {"exit": 3}]});
    let world = World::new().stdio("s", script, json!({}));
    let session = world.ready().await;
    eventually("it said why", || logs(&session).stderr, |said| said.contains("no licence found")).await;
    session.shutdown().await;
}
