//! Servers that die or change in the middle of a turn: the model is told truly and the turn goes on.

use serde_json::json;

use super::{OPENAI, World, calls, offered, told};

#[test]
fn a_server_that_dies_in_a_call_is_told_and_can_be_called_again() {
    let server = json!({"on": {"tools/call": {"times": [[{"stderr": "out of memory\n"}, {"exit": 1}], [{"default": true}]]}}});
    let call = calls(&[("mcp_fake_echo", json!({"text": "x"}))]);
    let world = World::new(OPENAI, server, &json!([call, {"text": "It died."}]));
    let ran = world.chat(&["--allow", "*", "--json"]);
    assert_eq!(ran.json()["text"], "It died.", "{}", ran.err);
    let results = told(OPENAI, &world.model.requests()[1]);
    assert!(results[0].starts_with("MCP error: ") && results[0].contains("outcome unknown"), "{results:?}");
    assert_eq!(ran.json()["toolCalls"][0]["isError"], true);
}

#[test]
fn tools_that_change_in_the_middle_of_a_turn_are_told() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let changed = json!({"method": "notifications/tools/list_changed"});
    let done = json!({"result": {"content": [{"type": "text", "text": "done"}]}});
    // The last answer waits until the new list was asked for.
    let server = json!({
        "capabilities": {"tools": {"listChanged": true}},
        "on": {
            "tools/list": {"times": [
                [{"result": {"tools": [tool("old"), tool("turn")]}}],
                [{"result": {"tools": [tool("new"), tool("turn")]}}]]},
            "tools/call": {"times": [[{"notify": changed}, {"sleep_ms": 700}, done], [done]]}
        }
    });
    let turns = json!([
        calls(&[("mcp_fake_turn", json!({}))]),
        calls(&[("mcp_fake_old", json!({})), ("mcp_fake_new", json!({}))]),
        {"text": "Changed."}
    ]);
    let world = World::new(OPENAI, server, &turns);
    let ran = world.chat(&["--allow", "*", "--stream-json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let requests = world.model.requests();
    assert_eq!(offered(OPENAI, &requests[0]), ["mcp_fake_old", "mcp_fake_turn"]);
    assert_eq!(offered(OPENAI, &requests[1]), ["mcp_fake_new", "mcp_fake_turn"]);
    let gone = "Error: the tool `mcp_fake_old` is gone: its server `fake` does not offer `old` any more. Go on without it, or say so";
    assert_eq!(told(OPENAI, &requests[2])[1..], [gone.to_owned(), "done".to_owned()]);
    let event = ran.lines().into_iter().find(|line| line["type"] == "toolsChanged").unwrap();
    assert_eq!((&event["added"], &event["removed"]), (&json!(["mcp_fake_new"]), &json!(["mcp_fake_old"])));
}
