//! What crosses between the protocols besides calls and questions: log levels of single requests, tasks, extensions of
//! servers that are slow to start, and rules that want a yes.

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Mark};

use super::{Pipe, modern, world};

fn with_level(mut params: Value, level: &str) -> Value {
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
    params
}

fn echo(text: &str) -> Value {
    json!({"name": "mcp_fake_echo", "arguments": {"text": text}})
}

/// The levels the server was told, in order.
fn levels(script: &FakeScript) -> Vec<String> {
    let log = script.log();
    let told = log.iter().filter(|line| line["message"]["method"] == "logging/setLevel");
    told.map(|line| line["message"]["params"]["level"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_level_of_one_request_reaches_a_server_with_a_handshake_and_goes_back() {
    let line = json!({"method": "notifications/message", "params": {"level": "debug", "data": "thinking"}});
    for share in ["auto", "client"] {
        let script = Fake::script(json!({
            "capabilities": {"tools": {}, "logging": {}},
            "on": {"tools/call": [{"notify": line}, {"default": true}]},
        }));
        let sandbox = world(&[("fake", &script)], &Mark::new());
        let mut servers: Value = serde_json::from_str(&sandbox.read("~/.switchboard/mcp.json")).unwrap();
        servers["mcpServers"]["fake"]["share"] = json!(share);
        sandbox.write("~/.switchboard/mcp.json", servers.to_string());
        let mut pipe = Pipe::open(&sandbox);
        pipe.result(1, "tools/call", modern(echo("quiet")));
        assert_eq!(pipe.count("notifications/message"), 0, "{share}: nobody wanted to hear it");
        pipe.result(2, "tools/call", with_level(modern(echo("loud")), "debug"));
        let heard = pipe.kept.iter().find(|message| message["method"] == "notifications/message");
        assert_eq!(heard.unwrap()["params"], json!({"level": "debug", "data": "thinking"}), "{share}");
        assert_eq!(levels(&script), ["debug"], "{share}");
        if share == "auto" {
            script.wait_for(|line| line["message"]["params"]["level"] == "warning");
        }
        assert_eq!(pipe.close().0, Some(0));
    }
}

#[test]
fn a_server_that_came_back_is_told_the_level_before_it_is_called() {
    let line = json!({"method": "notifications/message", "params": {"level": "info", "data": "thinking"}});
    for share in ["auto", "client"] {
        let script = Fake::script(json!({
            "capabilities": {"tools": {}, "logging": {}},
            "on": {"tools/call": [{"notify": line}, {"default": true}, {"exit": 0}]},
        }));
        let sandbox = world(&[("fake", &script)], &Mark::new());
        let mut servers: Value = serde_json::from_str(&sandbox.read("~/.switchboard/mcp.json")).unwrap();
        servers["mcpServers"]["fake"]["share"] = json!(share);
        sandbox.write("~/.switchboard/mcp.json", servers.to_string());
        let mut pipe = Pipe::open(&sandbox);
        pipe.greet();
        pipe.result(1, "logging/setLevel", json!({"level": "debug"}));
        let mut ids = 2..;
        for _ in 0..2 {
            // A call may still meet the one that is about to end.
            let is_answered = |id: i32, pipe: &mut Pipe| {
                pipe.request(id, "tools/call", echo("loud"));
                pipe.answer(id).get("result").is_some()
            };
            ids.find(|id| is_answered(*id, &mut pipe)).unwrap();
            pipe.wait(|message| message["method"] == "notifications/message");
        }
        let methods = script.methods();
        for (at, _) in methods.iter().enumerate().filter(|(_, method)| *method == "tools/call") {
            let session = methods[..at].rsplit(|method| method == "initialize").next().unwrap();
            assert!(session.iter().any(|method| method == "logging/setLevel"), "{share}: {methods:?}");
        }
        assert_eq!(pipe.close().0, Some(0));
    }
}

#[test]
fn a_server_that_takes_no_level_is_told_it_once() {
    let no = json!({"error": {"code": -32601, "message": "Method not found"}});
    let script = Fake::script(json!({
        "capabilities": {"tools": {}, "logging": {}},
        "on": {"logging/setLevel": [no]},
    }));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    for id in 1..=3 {
        pipe.result(id, "tools/call", with_level(modern(echo("loud")), "debug"));
    }
    let mut told = levels(&script);
    assert_eq!(told.first().map(String::as_str), Some("debug"));
    // On a slow machine it may be told meanwhile that nobody wants it any more.
    let n_told = told.len();
    told.dedup();
    assert_eq!(told.len(), n_told, "{told:?}");
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn who_does_not_know_tasks_gets_the_result() {
    let content = json!({"content": [{"type": "text", "text": "done"}]});
    let tool = |execution: Value| json!([{"name": "long", "inputSchema": {"type": "object"}, "execution": execution}]);
    let old = Fake::script(json!({
        "tools": tool(json!({"taskSupport": "required"})),
        "on": {
            "tools/call": [{"result": {"task": {"taskId": "t", "status": "working", "pollInterval": 20}}}],
            "tasks/get": [{"result": {"taskId": "t", "status": "completed"}}],
            "tasks/result": [{"result": content}],
        },
    }));
    let new = Fake::script(json!({
        "era": "modern",
        "tools": tool(Value::Null),
        "on": {
            "tools/call": [{"result": {"resultType": "task", "taskId": "t", "status": "working", "pollIntervalMs": 20}}],
            "tasks/get": [{"result": {"resultType": "complete", "taskId": "t", "status": "completed", "result": content}}],
        },
    }));
    let sandbox = world(&[("old", &old), ("new", &new)], &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    pipe.greet();
    let call = |server: &str| json!({"name": format!("mcp_{server}_long"), "arguments": {}});
    for server in ["old", "new"] {
        let result = pipe.result(server, "tools/call", call(server));
        assert_eq!(result["content"], content["content"], "{server}: {result}");
    }
    let result = pipe.result("modern", "tools/call", modern(call("old")));
    assert_eq!((&result["resultType"], &result["content"]), (&json!("complete"), &content["content"]));
    let asked = |line: &&Value| {
        line["message"]["method"] == "tools/call" && line["message"]["params"]["task"].is_object()
    };
    assert_eq!(old.log().iter().filter(asked).count(), 2);
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn a_client_that_asks_for_a_task_gets_one() {
    let content = json!({"content": [{"type": "text", "text": "done"}]});
    let script = Fake::script(json!({
        "capabilities": {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}},
        "tools": [{"name": "long", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}}],
        "on": {
            "tools/call": [{"result": {"task": {"taskId": "t", "status": "working", "pollInterval": 20}}}],
            "tasks/get": [{"result": {"taskId": "t", "status": "completed"}}],
            "tasks/result": [{"result": content}],
            "tasks/cancel": [{"result": {"taskId": "t", "status": "cancelled"}}],
        },
    }));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    // Known from the first list on, which waits for the server.
    pipe.greet();
    pipe.result(0, "tools/list", json!({}));
    assert_eq!(pipe.close().0, Some(0));
    let mut pipe = Pipe::open(&sandbox);
    let greeting = pipe.greet();
    assert_eq!(greeting["capabilities"]["tasks"]["requests"], json!({"tools": {"call": {}}}), "{greeting}");
    let call = json!({"name": "mcp_fake_long", "arguments": {}, "task": {"ttl": 60_000}});
    let created = pipe.result(1, "tools/call", call);
    assert_eq!(created["task"]["taskId"], "fake+t", "{created}");
    let task = json!({"taskId": "fake+t"});
    let state = pipe.result(2, "tasks/get", task.clone());
    assert_eq!((&state["taskId"], &state["status"]), (&json!("fake+t"), &json!("completed")));
    assert_eq!(pipe.result(3, "tasks/result", task.clone())["content"], content["content"]);
    assert_eq!(pipe.result(4, "tasks/cancel", task)["taskId"], "fake+t");
    pipe.request(5, "tasks/get", json!({"taskId": "nobody+t"}));
    assert_eq!(pipe.answer(5)["error"]["code"], -32602);
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn a_task_is_listened_to() {
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let note = json!({"method": "notifications/tasks", "params": {"taskId": "t", "status": "completed", "result": {"content": [{"type": "resource_link", "uri": "file:///a", "name": "a"}]}}});
    let script = Fake::script(json!({
        "era": "modern",
        "capabilities": {"tools": {}, "extensions": tasks["extensions"]},
        "on": {"subscriptions/listen": [
            {"notify": {"method": "notifications/subscriptions/acknowledged", "params": {
                "notifications": {"taskIds": ["t"]}, "_meta": {"io.modelcontextprotocol/subscriptionId": "$id"}}}},
            {"notify": note}, {"silent": true}]},
    }));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    pipe.result(0, "tools/list", modern(json!({})));
    let mut params = modern(json!({"notifications": {"taskIds": ["fake+t", "nobody+t"]}}));
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = tasks;
    pipe.request("ears", "subscriptions/listen", params);
    let granted = pipe.wait(|message| message["method"] == "notifications/subscriptions/acknowledged");
    assert_eq!(granted["params"]["notifications"], json!({"taskIds": ["fake+t"]}));
    let told = pipe.wait(|message| message["method"] == "notifications/tasks");
    assert_eq!(told["params"]["taskId"], "fake+t");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "ears");
    assert_eq!(told["params"]["result"]["content"][0]["uri"], "fake+file:///a");
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn what_we_can_do_is_said_when_servers_had_time_to_tell() {
    let script = Fake::script(json!({
        "era": "modern",
        "start": [{"sleep_ms": 100}],
        "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
    }));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    let discovered = pipe.result(1, "server/discover", modern(json!({})));
    let extensions = &discovered["capabilities"]["extensions"];
    assert_eq!(*extensions, json!({"io.modelcontextprotocol/tasks": {}}));
    assert_eq!(pipe.close().0, Some(0));
}

/// What the client is asked about a call, and how it answers: by either protocol.
fn answered(pipe: &mut Pipe, is_modern: bool, answer: &Value) -> Value {
    let id = format!("{is_modern} {answer}");
    if !is_modern {
        pipe.request(id.clone(), "tools/call", echo("hi"));
        let question = pipe.wait(|message| message["method"] == "elicitation/create");
        assert!(question["params"]["message"].as_str().unwrap().contains(r#"{"text":"hi"}"#), "{question}");
        pipe.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        return pipe.answer(id);
    }
    let asked = pipe.result(id.clone(), "tools/call", modern(echo("hi")));
    let mut again = echo("hi");
    again["inputResponses"] = json!({"q1": answer});
    again["requestState"] = asked["requestState"].clone();
    pipe.request(id.clone(), "tools/call", modern(again));
    pipe.answer(id)
}

#[test]
fn a_rule_that_asks_asks_the_client_and_nobody_else() {
    for era in ["legacy", "modern"] {
        let script = Fake::script(json!({"era": era}));
        let sandbox = world(&[("fake", &script)], &Mark::new());
        let settings = json!({"defaults": false, "approval": {"fake": {"echo": "auto", "ask": "auto"}}});
        sandbox.write("~/.switchboard/settings.json", settings.to_string());
        let mut pipe = Pipe::open(&sandbox);
        pipe.greet();
        for is_modern in [false, true] {
            let yes = json!({"action": "accept", "content": {"allow": true}});
            let result = answered(&mut pipe, is_modern, &yes);
            assert_eq!(result["result"]["content"][0]["text"], "hi", "{result}");
            for no in [
                json!({"action": "decline"}),
                json!({"action": "cancel"}),
                json!({"action": "accept", "content": {"allow": false}}),
            ] {
                let refused = answered(&mut pipe, is_modern, &no);
                assert_eq!(refused["error"]["data"]["code"], "denied", "{refused}");
            }
        }
        // Who cannot be asked hears which rule it is and what to change.
        let mut params = modern(echo("hi"));
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        pipe.request("deaf", "tools/call", params);
        let refused = pipe.answer("deaf")["error"].take();
        assert_eq!(refused["data"]["code"], "denied");
        assert!(refused["message"].as_str().unwrap().contains("settings.json, for this tool"), "{refused}");
        assert!(refused["data"]["hint"].as_str().unwrap().contains("`never`"), "{refused}");
        // What no rule is about is not asked.
        let sum = pipe.result(
            "add",
            "tools/call",
            modern(json!({"name": "mcp_fake_add", "arguments": {"a": 1, "b": 2}})),
        );
        assert_eq!(sum["content"][0]["text"], "3");
        let calls = script.log();
        let calls = calls.iter().filter(|line| line["message"]["params"]["name"] == "echo").count();
        assert_eq!(calls, 2, "{era}");
        assert_eq!(pipe.close().0, Some(0));
    }
}

#[test]
fn a_yes_holds_for_all_rounds_of_its_call_and_for_no_other() {
    let script = Fake::script(json!({"era": "modern"}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let settings = json!({"defaults": false, "approval": {"fake": {"*": "auto"}}});
    sandbox.write("~/.switchboard/settings.json", settings.to_string());
    let mut pipe = Pipe::open(&sandbox);
    let ask = |responses: Value, state: Option<&Value>| {
        let mut params = json!({"name": "mcp_fake_ask", "arguments": {"message": "Who?"}});
        if !responses.is_null() {
            params["inputResponses"] = responses;
        }
        if let Some(state) = state {
            params["requestState"] = state.clone();
        }
        modern(params)
    };
    let first = pipe.result(1, "tools/call", ask(Value::Null, None));
    let yes = json!({"q1": {"action": "accept", "content": {"allow": true}}});
    let second = pipe.result(2, "tools/call", ask(yes, first.get("requestState")));
    assert_eq!(second["inputRequests"]["q"]["params"]["message"], "Who?", "{second}");
    let ada = json!({"q": {"action": "accept", "content": {"name": "Ada"}}});
    let third = pipe.result(3, "tools/call", ask(ada.clone(), second.get("requestState")));
    assert!(third["content"][0]["text"].as_str().unwrap().contains("Ada"), "{third}");
    // The same again was not said yes to.
    let fourth = pipe.result(4, "tools/call", ask(ada, second.get("requestState")));
    assert_eq!(fourth["inputRequests"]["q1"]["params"]["requestedSchema"]["required"], json!(["allow"]));
    assert_eq!(pipe.close().0, Some(0));
}
