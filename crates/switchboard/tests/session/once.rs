//! Nothing runs twice: calls cut at every moment, on every transport, 2,000 on each.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard::calls::Request;
use switchboard::session::{Gate, Session};
use testkit::Fake;

use crate::world::World;

const SESSIONS: u64 = 20;
const CALLS: u64 = 100;

/// What each call of a session came to: whether it failed, and if so whether it may have run.
type Ends = BTreeMap<u64, Result<(), (bool, String)>>;

async fn call_all(session: &Session) -> Ends {
    let entry = session.catalog().find("s/t", None).unwrap().clone();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..CALLS {
        let (session, entry) = (session.clone(), entry.clone());
        calls.spawn(async move {
            let outcome = session.call_entry(&entry, &json!({"n": number}).into(), Request::default()).await;
            (number, outcome.map(drop).map_err(|error| (error.is_outcome_unknown(), error.to_string())))
        });
    }
    calls.join_all().await.into_iter().collect()
}

/// Every call ended once; none reached the server twice; what reached it and failed says that it may have run.
fn check(ends: &Ends, log: &[Value]) {
    assert_eq!(ends.len() as u64, CALLS);
    let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
    for line in log.iter().filter(|line| line["message"]["method"] == "tools/call") {
        *seen.entry(line["message"]["params"]["arguments"]["n"].as_u64().unwrap()).or_default() += 1;
    }
    for (number, end) in ends {
        let times = seen.get(number).copied().unwrap_or_default();
        assert!(times <= 1, "call {number} reached the server {times} times");
        match end {
            Ok(()) => assert_eq!(times, 1),
            Err((may_have_run, error)) => {
                // A server that says it does not know the session did not look at the call.
                let was_refused = error.starts_with("HTTP 404");
                assert!(*may_have_run || times == 0 || was_refused, "call {number} may have run: {error}");
            }
        }
    }
}

fn tool() -> Value {
    json!([{"name": "t", "inputSchema": {"type": "object"}}])
}

/// Answers a few calls and then ends, before or after the work, or in the middle of its answer.
fn ends_after(calls: u64, how: u64) -> Value {
    let answer = json!({"result": {"content": [], "structuredContent": null}});
    let last = match how % 3 {
        0 => json!([{"exit": 1}]),
        1 => json!([answer, {"signal": "KILL"}]),
        _ => json!([{"raw": "{\"jsonrpc\":\"2.0\",\"id\":"}, {"exit": 1}]),
    };
    let mut times = vec![json!([answer]); usize::try_from(calls).unwrap()];
    times.push(last);
    json!({"tools": tool(), "on": {"tools/call": {"times": times}}})
}

#[tokio::test]
async fn over_stdio() {
    for round in 0..SESSIONS {
        let script = ends_after(round * 7 % 60, round);
        let world = World::new().stdio("s", script, json!({"approval": "never", "timeout": 3000}));
        let session = world.start().await;
        session.ready(Gate::Correct).await;
        let ends = call_all(&session).await;
        session.shutdown().await;
        check(&ends, &world.script("s").log());
    }
}

#[tokio::test]
async fn over_http() {
    for round in 0..SESSIONS {
        let cut = json!([{"cut_after": round * 11}]);
        let normal = json!([{"result": {"content": []}}]);
        let turns: Vec<Value> = (0..CALLS)
            .map(|turn| if (turn + round) % 3 == 0 { cut.clone() } else { normal.clone() })
            .collect();
        let fake =
            Fake::http(json!({"tools": tool(), "era": if round % 2 == 0 { "modern" } else { "legacy" },
            "answer": if round % 4 < 2 { "json" } else { "sse" }, "on": {"tools/call": {"times": turns}}}));
        check_remote(&fake, "http").await;
    }
}

#[tokio::test]
async fn over_legacy_sse() {
    for round in 0..SESSIONS {
        let normal = json!([{"result": {"content": []}}]);
        let mut turns = vec![normal; usize::try_from(round * 5).unwrap()];
        turns.push(json!([{"cut": true}]));
        let fake =
            Fake::http(json!({"transport": "sse", "tools": tool(), "on": {"tools/call": {"times": turns}}}));
        check_remote(&fake, "sse").await;
    }
}

async fn check_remote(fake: &Fake, kind: &str) {
    let entry = json!({"url": fake.url(), "type": kind, "approval": "never", "timeout": 3000});
    let world = World::new().entry("s", entry);
    let session = world.start().await;
    session.ready(Gate::Correct).await;
    let ends = call_all(&session).await;
    session.shutdown().await;
    check(&ends, &fake.log());
}
