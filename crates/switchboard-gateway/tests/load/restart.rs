//! A server that dies while it is being called, and comes back: each call ends once, and says truly whether it may have run.

use std::collections::HashMap;

use serde_json::{Value, json};
use testkit::Fake;

use crate::client::{Line, ask};
use crate::world::World;

const CLIENTS: usize = 16;
const CALLS: usize = 30;
/// It dies with this call, each time it runs. Less often than a server is given up.
const LIFE: usize = 130;

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Answered,
    Unknown,
    NeverSent,
}

fn call(line: &mut Line, id: usize, (tool, word): (&str, &str)) -> End {
    let reply = ask(line, id, ("tools/call", tool), json!({"name": tool, "arguments": {"text": word}}));
    let answer = reply.answer().unwrap_or_else(|| panic!("{word}: {reply:?}"));
    assert_eq!(answer["id"], id, "{word}");
    if let Some(text) = answer["result"]["content"][0]["text"].as_str() {
        assert!(text.contains(&format!("\"text\":\"{word}\"")), "{word}: {text}");
        return End::Answered;
    }
    match &answer["error"]["data"]["outcomeUnknown"] {
        Value::Bool(true) => End::Unknown,
        Value::Bool(false) => End::NeverSent,
        _ => panic!("{word}: {answer}"),
    }
}

#[test]
fn a_server_that_dies_under_load_runs_no_call_twice() {
    let tool = |name: &str, is_read_only: bool| {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        json!({"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": is_read_only}})
    };
    let mut times = vec![json!([{"sleep_ms": 5}, {"default": true}]); LIFE];
    times.push(json!([{"exit": 1}]));
    let script = Fake::script(
        json!({"tools": [tool("write", false), tool("look", true)], "on": {"tools/call": {"times": times}}}),
    );
    let mut world = World::new();
    world.stdio("mortal", &script);
    let served = world.serve();
    let visitors: Vec<_> = (0..CLIENTS)
        .map(|who| {
            let address = served.address;
            std::thread::spawn(move || {
                let mut line = Line::open(address);
                let one = |id: usize| {
                    let tool = if id.is_multiple_of(3) { "mcp_mortal_look" } else { "mcp_mortal_write" };
                    let said = format!("{who}-{id}");
                    let end = call(&mut line, id, (tool, &said));
                    (said, id.is_multiple_of(3), end)
                };
                (1..=CALLS).map(one).collect::<Vec<_>>()
            })
        })
        .collect();
    let ends: Vec<_> = visitors.into_iter().flat_map(|visitor| visitor.join().unwrap()).collect();
    let mut heard: HashMap<String, usize> = HashMap::new();
    for line in script.log() {
        if let Some(word) = line["message"]["params"]["arguments"]["text"].as_str() {
            *heard.entry(word.to_owned()).or_insert(0) += 1;
        }
    }
    assert_eq!(ends.len(), CLIENTS * CALLS);
    for (word, is_safe, end) in &ends {
        let times = heard.get(word).copied().unwrap_or(0);
        let is_right = match (is_safe, end) {
            (false, End::Answered) => times == 1,
            (false, End::Unknown) => times <= 1,
            // What only looks may be sent again, once.
            (true, End::Answered) => times == 1 || times == 2,
            (true, End::Unknown) => times <= 2,
            (_, End::NeverSent) => times == 0,
        };
        assert!(is_right, "{word}, safe {is_safe}, {end:?}, was heard {times} times");
    }
    let n_unknown = ends.iter().filter(|(_, _, end)| *end == End::Unknown).count();
    assert!(n_unknown > 0, "nobody noticed that it died");
    assert!(ends.iter().any(|(_, is_safe, end)| *is_safe && *end == End::Answered));
    served.stop();
}
