//! What a provider keeps of a prompt stays good: the same tools are the same bytes, whoever connects first.

use serde_json::{Value, json};
use switchboard_agent::block::{Block, Rules, spec};

use crate::world::World;

const SERVERS: u64 = 20;
const TOOLS: u64 = 10;
const RESTARTS: u64 = 100;

/// A server with its tools in an order of its own, that takes its time.
fn script(server: u64, seed: u64) -> Value {
    // Any mix of the two will do; it only has to differ.
    let mixed =
        (seed + 1).wrapping_mul(6_364_136_223_846_793_005).rotate_left(u32::try_from(server).unwrap());
    let mut tools: Vec<Value> = (0..TOOLS)
        .map(|n| {
            let schema = json!({"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}});
            json!({"name": format!("tool_{n}"), "description": format!("Does {n} for {server}"), "inputSchema": schema})
        })
        .collect();
    tools.rotate_left(usize::try_from(mixed % TOOLS).unwrap());
    json!({"tools": tools, "instructions": format!("Server {server}"), "start": [{"sleep_ms": mixed % 30}]})
}

#[tokio::test]
async fn two_hundred_tools_of_twenty_servers_are_the_same_bytes_over_a_hundred_restarts() {
    let mut world = World::new();
    for server in 0..SERVERS {
        world = world.server(&format!("server-{server}"), script(server, 0));
    }
    let rules = Rules { tokens: 10_000, pinned: vec!["*tool_3".to_owned()], sub_agents: false };
    let mut first: Option<(Vec<u8>, Vec<u8>, String)> = None;
    for restart in 0..RESTARTS {
        for server in 0..SERVERS {
            let path = world.script(usize::try_from(server).unwrap()).path();
            std::fs::write(path, script(server, restart).to_string()).unwrap();
        }
        let session = world.session().await;
        let catalog = session.catalog();
        assert_eq!(catalog.tools.len(), 200);
        let system = switchboard_agent::prompt::system("Be kind.", &catalog);
        let whole: Vec<_> = catalog.tools.iter().map(spec).collect();
        let now = (serde_json::to_vec(&whole).unwrap(), Block::build(&catalog, &rules, &[]).bytes(), system);
        session.shutdown().await;
        let first = first.get_or_insert_with(|| now.clone());
        assert!(*first == now, "restart {restart} gives other bytes");
    }
}
