//! The server on pipes, in both eras.

use std::fs;

use serde_json::{Value, json};

use crate::client::{MODERN, Pipes, call, initialize, modern, request};

#[test]
fn the_old_era_begins_with_a_handshake() {
    let mut pipes = Pipes::start(json!({"instructions": "be kind", "resources": [], "prompts": []}));
    assert_eq!(pipes.ask(&request(1, "server/discover", json!({})))["error"]["code"], -32601);
    assert_eq!(pipes.ask(&request(2, "tools/list", json!({})))["error"]["code"], -32600);
    let answer = pipes.ask(&initialize());
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answer["result"]["instructions"], "be kind");
    assert_eq!(
        answer["result"]["capabilities"],
        json!({
            "tools": {"listChanged": true},
            "resources": {"listChanged": true, "subscribe": true},
            "prompts": {"listChanged": true},
        })
    );
    pipes.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(pipes.ask(&request(3, "ping", json!({})))["result"], json!({}));
    assert_eq!(pipes.ask(&request(4, "no/such", json!({})))["error"]["code"], -32601);
    assert_eq!(pipes.script.methods()[2..], ["initialize", "notifications/initialized", "ping", "no/such"]);
    drop(pipes.stdin.take());
    assert_eq!(pipes.child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_new_era_has_none() {
    let mut pipes = Pipes::start(json!({"era": "modern"}));
    assert_eq!(pipes.ask(&initialize())["error"]["code"], -32601);
    assert_eq!(pipes.ask(&request(1, "tools/list", json!({})))["error"]["code"], -32602);
    let result = &pipes.ask(&modern(2, "server/discover", json!({})))["result"];
    assert_eq!(result["supportedVersions"], json!([MODERN]));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "fake-server");
    let result = &pipes.ask(&modern(3, "tools/list", json!({})))["result"];
    assert_eq!((&result["resultType"], &result["ttlMs"]), (&json!("complete"), &json!(0)));
    assert_eq!(result["cacheScope"], "private");
    let mut unknown = modern(4, "tools/list", json!({}));
    unknown["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
    let error = &pipes.ask(&unknown)["error"];
    assert_eq!((&error["code"], &error["data"]["supported"]), (&json!(-32022), &json!([MODERN])));
}

#[test]
fn a_server_of_both_eras_answers_each_client_in_its_own() {
    let mut pipes = Pipes::start(json!({"era": "both"}));
    let tools = pipes.ask(&modern(1, "tools/list", json!({})));
    assert_eq!(tools["result"]["resultType"], "complete");
    assert!(pipes.ask(&initialize())["result"].is_object());
    assert!(pipes.ask(&request(2, "tools/list", json!({})))["result"].get("resultType").is_none());
}

#[test]
fn tools_do_what_they_say() {
    let counter = tempfile::NamedTempFile::new().unwrap();
    let path = counter.path().to_str().unwrap();
    let mut pipes = Pipes::with_vars(json!({}), &[("FAKE_COUNTER", path), ("MARK", "x")]);
    pipes.ask(&initialize());
    let mut result = |tool: &str, arguments: Value| pipes.ask(&call(1, tool, arguments))["result"].clone();
    assert_eq!(result("echo", json!({"text": "hé"}))["content"][0]["text"], "hé");
    assert_eq!(result("echo", json!({}))["isError"], true);
    assert_eq!(result("add", json!({"a": 1, "b": 2}))["structuredContent"]["sum"], 3.0);
    assert_eq!(result("count", json!({}))["content"][0]["text"], "1");
    assert_eq!(result("count", json!({}))["content"][0]["text"], "2");
    assert_eq!(fs::read_to_string(counter.path()).unwrap(), "1\n2\n");
    assert_eq!(result("env", json!({}))["structuredContent"]["MARK"], "x");
    let process = result("pid", json!({}))["content"][0]["text"].clone();
    assert_eq!(process, pipes.child.id().to_string());
    assert_eq!(pipes.ask(&call(1, "none", json!({})))["error"]["code"], -32602);
}

#[test]
fn lists_come_in_pages() {
    let resources: Vec<_> =
        (0..5).map(|n| json!({"uri": format!("x://{n}"), "name": "n", "text": "t"})).collect();
    let prompts = json!([{"name": "p", "messages": []}]);
    let mut pipes =
        Pipes::ready(json!({"page_size": 2, "resources": resources, "prompts": prompts, "templates": []}));
    let (mut sizes, mut params) = (Vec::new(), json!({}));
    loop {
        let page = pipes.ask(&request(1, "resources/list", params))["result"].clone();
        sizes.push(page["resources"].as_array().unwrap().len());
        assert!(page["resources"][0].get("text").is_none());
        let Some(next) = page.get("nextCursor") else { break };
        params = json!({"cursor": next});
    }
    assert_eq!(sizes, [2, 2, 1]);
    assert_eq!(pipes.ask(&request(2, "tools/list", json!({"cursor": "2"})))["error"]["code"], -32602);
    let read = pipes.ask(&request(3, "resources/read", json!({"uri": "x://3"})));
    assert_eq!(read["result"]["contents"][0]["text"], "t");
    let missing = pipes.ask(&request(4, "resources/read", json!({"uri": "y://"})));
    assert_eq!(missing["error"]["code"], -32002);
    let prompt = pipes.ask(&request(5, "prompts/get", json!({"name": "p"})));
    assert_eq!(prompt["result"]["messages"], json!([]));
}

#[test]
fn calls_run_side_by_side_and_can_be_cancelled() {
    let mut pipes = Pipes::ready(json!({}));
    let mut slow = call(1, "slow", json!({"ms": 600_000}));
    slow["params"]["_meta"] = json!({"progressToken": "t"});
    pipes.send(&slow);
    let progress = pipes.receive();
    assert_eq!(
        (&progress["method"], &progress["params"]["progress"]),
        (&json!("notifications/progress"), &json!(50))
    );
    pipes.send(&call(2, "echo", json!({"text": "meanwhile"})));
    let answer = std::iter::repeat_with(|| pipes.receive()).find(|message| message.get("id").is_some());
    assert_eq!(answer.unwrap()["id"], 2);
    pipes.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    pipes.send(&call(3, "slow", json!({"ms": 120})));
    // The next thing with an id is not the answer to the first call. Its progress ends, too.
    let answer = std::iter::repeat_with(|| pipes.receive()).find(|message| message.get("id").is_some());
    assert_eq!(answer.unwrap()["id"], 3);
    assert_eq!(pipes.ask(&request(4, "ping", json!({})))["id"], 4);
}

#[test]
fn the_user_is_asked_in_both_eras() {
    let mut pipes = Pipes::ready(json!({}));
    let question = pipes.ask(&call(1, "ask", json!({"message": "who?"})));
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("who?"))
    );
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    assert_eq!(pipes.ask(&answer)["result"]["content"][0]["text"], r#"{"action":"decline"}"#);

    let mut pipes = Pipes::start(json!({"era": "modern"}));
    let result = pipes.ask(&modern(1, "tools/call", json!({"name": "ask"})))["result"].clone();
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(result["inputRequests"]["q"]["method"], "elicitation/create");
    let mut again = json!({"name": "ask", "inputResponses": {"q": {"action": "cancel"}}});
    assert_eq!(pipes.ask(&modern(2, "tools/call", again.clone()))["error"]["code"], -32602);
    again["requestState"] = result["requestState"].clone();
    let answer = pipes.ask(&modern(3, "tools/call", again));
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"action":"cancel"}"#);
}

#[test]
fn subscribers_hear_what_is_broadcast() {
    let changed = json!([{"broadcast": {"method": "notifications/tools/list_changed"}}, {"default": true}]);
    let mut pipes = Pipes::start(json!({"era": "modern", "on": {"tools/list": changed}}));
    let listen = modern(1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let granted = pipes.ask(&listen);
    assert_eq!(granted["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(granted["params"]["notifications"], json!({"toolsListChanged": true}));
    pipes.send(&modern(2, "tools/list", json!({})));
    let messages = [pipes.receive(), pipes.receive()];
    let heard =
        messages.iter().find(|message| message["method"] == "notifications/tools/list_changed").unwrap();
    assert_eq!(heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
}

#[test]
fn a_tool_can_have_a_reaction_of_its_own_and_what_ran_is_noted() {
    let notes = tempfile::NamedTempFile::new().unwrap();
    let on = json!({"tools/call echo": [{"result": {"own": true}}], "tools/call": [{"default": true}]});
    let mut pipes = Pipes::ready(json!({"on": on, "runs": notes.path()}));
    assert_eq!(pipes.ask(&call(1, "echo", json!({"text": "a"})))["result"], json!({"own": true}));
    assert_eq!(pipes.ask(&call(2, "add", json!({"a": 1, "b": 2})))["result"]["content"][0]["text"], "3");
    assert_eq!(pipes.ask(&call(3, "nobody", json!({})))["error"]["code"], -32602);
    let lines = fs::read_to_string(notes.path()).unwrap();
    let names: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].clone()).collect();
    assert_eq!(names, ["echo", "add"]);
}
