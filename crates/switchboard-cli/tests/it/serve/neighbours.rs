//! Servers that are dead, hung, denied or not approved, beside one that is well.

use serde_json::{Value, json};
use testkit::{Fake, Mark, fake_server};

use super::{Pipe, names, world};

#[test]
fn a_dead_and_a_hung_server_hold_up_nobody() {
    let (good, dead) = (Fake::script(json!({})), Fake::script(json!({"start": [{"exit": 1}]})));
    let hung = Fake::script(json!({"start": [{"hang": true}]}));
    let mark = Mark::new();
    let sandbox = world(&[("good", &good), ("dead", &dead), ("hung", &hung)], &mark);
    let mut servers: Value = serde_json::from_str(&sandbox.read("~/.switchboard/mcp.json")).unwrap();
    servers["mcpServers"]["hung"]["startupTimeout"] = json!(3_600_000);
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
    let mut pipe = Pipe::open(&sandbox);
    pipe.greet();
    pipe.request("list", "tools/list", json!({}));
    // A call of the good one waits for nobody, so it is not behind the list, which waits a while.
    pipe.request("call", "tools/call", json!({"name": "mcp_good_echo", "arguments": {"text": "hi"}}));
    let first = pipe.wait(|message| message["id"] == "list" || message["id"] == "call");
    assert_eq!((&first["id"], &first["result"]["content"][0]["text"]), (&json!("call"), &json!("hi")));
    let list = pipe.answer("list");
    assert!(names(&list["result"], "tools", "name").contains(&"mcp_good_echo".to_owned()), "{list}");
    assert_eq!(pipe.close().0, Some(0));
    assert_eq!(mark.alive(), Vec::<u32>::new(), "also the one that was still starting");
}

#[test]
fn what_is_denied_is_neither_shown_nor_called() {
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let mut servers: Value = serde_json::from_str(&sandbox.read("~/.switchboard/mcp.json")).unwrap();
    servers["mcpServers"]["fake"]["tools"] = json!({"deny": ["e*"]});
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
    let mut pipe = Pipe::open(&sandbox);
    pipe.greet();
    let tools = pipe.result(1, "tools/list", json!({}));
    let expected = ["add", "ask", "count", "pid", "slow"].map(|tool| format!("mcp_fake_{tool}"));
    assert_eq!(names(&tools, "tools", "name"), expected);
    for name in ["mcp_fake_echo", "mcp_fake_env", "echo", "fake/echo"] {
        pipe.request(name, "tools/call", json!({"name": name, "arguments": {"text": "x"}}));
        assert_eq!(pipe.answer(name)["error"]["code"], -32602, "{name}");
    }
    assert!(!script.methods().iter().any(|method| method == "tools/call"));
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn what_was_not_approved_is_not_started_and_is_named() {
    let (mine, other) = (Fake::script(json!({})), Fake::script(json!({})));
    let sandbox = world(&[("mine", &mine)], &Mark::new());
    let stranger = json!({"mcpServers": {"stranger": {"command": fake_server(), "args": [other.path()]}}});
    sandbox.write(".mcp.json", stranger.to_string());
    let mut pipe = Pipe::open(&sandbox);
    pipe.greet();
    let tools = pipe.result(1, "tools/list", json!({}));
    assert!(names(&tools, "tools", "name").iter().all(|name| name.starts_with("mcp_mine_")), "{tools}");
    let (code, said) = pipe.close();
    assert_eq!(
        (code, said.as_str()),
        (Some(0), "1 server waits for your approval: switchboard trust stranger\n")
    );
    assert!(other.log().is_empty());
}

#[test]
fn the_gateway_does_not_start_itself() {
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let mut servers: Value = serde_json::from_str(&sandbox.read("~/.switchboard/mcp.json")).unwrap();
    servers["mcpServers"]["me"] = json!({"command": env!("CARGO_BIN_EXE_switchboard"), "args": ["serve"]});
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
    let mut pipe = Pipe::open(&sandbox);
    pipe.greet();
    let tools = pipe.result(1, "tools/list", json!({}));
    assert!(names(&tools, "tools", "name").iter().all(|name| name.starts_with("mcp_fake_")), "{tools}");
    let said = "left out, since it is this gateway itself: me\n".to_owned();
    assert_eq!(pipe.close(), (Some(0), said));
}
