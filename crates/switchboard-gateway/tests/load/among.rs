//! Ten servers, of which one is dead, one hangs, one dies again and again, and one never stops talking.

use serde_json::json;
use testkit::{Fake, eventually_blocking};

use crate::client::{Line, Pipe, ask};
use crate::world::{World, resident};

const CLIENTS: usize = 12;
const CALLS: usize = 200;
/// So many kilobytes may stay of a flood that would fill any memory.
const GROWTH: u64 = 16 * 1024;
const GOOD: [&str; 6] = ["good0", "good1", "good2", "good3", "good4", "good5"];

/// Log lines, changes, progress and words on the standard error, without end.
fn flood() -> serde_json::Value {
    let messages = [
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": "all is well"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 3, "progress": 1}}),
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "file:///a"}}),
    ];
    let text = messages.map(|message| message.to_string() + "\n").concat();
    let forever = 1_u64 << 40;
    json!({"on": {
        "notifications/initialized": [{"repeat": {"text": text, "times": forever}}],
        "tools/list": [{"default": true}, {"stderr_repeat": {"text": "all is well\n", "times": forever}}],
    }})
}

/// The tools, as text. How long the list may be kept changes with time.
fn list(line: &mut Line) -> String {
    let reply = ask(line, 1, ("tools/list", ""), json!({}));
    let (_, rest) = reply.body.split_once("\"tools\":").unwrap();
    rest.rsplit_once(']').unwrap().0.to_owned()
}

/// The calls of one client: to everybody in turn, and now and then to those that are not well.
fn visit(address: std::net::SocketAddr, who: usize, whole: &str) {
    let mut line = Line::open(address);
    for id in 1..=CALLS {
        let is_brave = id % 20 == 0;
        let server = match id % 60 {
            20 => "crashing",
            40 => "flooding",
            0 => "dead",
            _ => GOOD[(who + id) % GOOD.len()],
        };
        let (tool, word) = (format!("mcp_{server}_echo"), format!("{who}-{id}"));
        let params = json!({"name": tool, "arguments": {"text": word}});
        let reply = ask(&mut line, id, ("tools/call", &tool), params);
        let answer = reply.answer().unwrap_or_else(|| panic!("{word}: {reply:?}"));
        assert_eq!(answer["id"], id, "{word}");
        let text = answer["result"]["content"][0]["text"].as_str();
        assert!(text == Some(&word) || (is_brave && answer.get("error").is_some()), "{word}: {reply:?}");
        if id % 50 == 0 {
            assert_eq!(list(&mut line), whole, "the tools look different");
        }
    }
}

#[test]
fn bad_servers_cost_their_neighbours_nothing() {
    let mut world = World::new();
    let mut scripts = Vec::new();
    for (n, name) in GOOD.into_iter().enumerate().skip(1) {
        let script = Fake::script(json!({"era": if n % 2 == 0 { "legacy" } else { "modern" }}));
        world.stdio(name, &script);
        scripts.push(script);
    }
    let web = Fake::http(json!({}));
    world.http(GOOD[0], web.url());
    let crash =
        json!({"on": {"tools/call": {"times": [[{"default": true}], [{"default": true}], [{"exit": 1}]]}}});
    let hang = json!({"start": [{"hang": true}]});
    let dead = json!({"start": [{"exit": 1}]});
    for (name, script) in [("crashing", crash), ("hung", hang), ("dead", dead), ("flooding", flood())] {
        let script = Fake::script(script);
        world.stdio(name, &script);
        scripts.push(script);
    }
    // Longer than anybody would wait for it.
    world.set("hung", "startupTimeout", json!(3_600_000));
    let served = world.serve();
    let mut line = Line::open(served.address);
    let whole = list(&mut line);
    for server in GOOD.into_iter().chain(["crashing", "flooding"]) {
        let name = format!("\"mcp_{server}_echo\"");
        assert!(whole.contains(&name), "{name} is not in the list");
    }
    let mut pipe = Pipe::open(served.pipe());
    let before = resident();
    let visitors: Vec<_> = (0..CLIENTS)
        .map(|who| {
            let (address, whole) = (served.address, whole.clone());
            std::thread::spawn(move || visit(address, who, &whole))
        })
        .collect();
    for visitor in visitors {
        visitor.join().unwrap();
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < GROWTH, "{grown} kB more than before");
    assert_eq!(list(&mut line), whole);
    // Nobody was told of changes that are none.
    pipe.send(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    assert_eq!(pipe.receive()["id"], 7);
    drop(pipe);
    served.stop();
    eventually_blocking("all servers are gone", || world.n_processes(), |n| *n == 0);
}
