//! Three tools instead of all: they find, describe and call the others, and what is called passes through.

use serde_json::{Value, json};
use testkit::{Fake, Mark};

use super::{Pipe, modern, names, world, world_with};

fn call(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// What one of the three says.
fn said(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    if result["isError"] == true {
        return json!(text);
    }
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
    result["structuredContent"].clone()
}

#[test]
fn tools_are_found_described_and_called() {
    let script = Fake::script(json!({}));
    let mail = Fake::script(json!({"era": "modern", "tools": [{
        "name": "send", "description": "Sends a message to somebody",
        "inputSchema": {"type": "object", "properties": {"recipient": {"type": "string"}}},
        "outputSchema": {"type": "object"}, "annotations": {"destructiveHint": true},
    }]}));
    let sandbox = world(&[("fake", &script), ("mail", &mail)], &Mark::new());
    let mut pipe = Pipe::with(&sandbox, &["--search"]);
    let greeted = pipe.greet();
    assert_eq!(greeted["capabilities"]["tools"], json!({}), "they never change");
    assert!(greeted["instructions"].as_str().unwrap().contains("search_tools"));
    for (era, say) in [("handshake", (|params| params) as fn(Value) -> Value), ("modern", modern)] {
        let id = |what: &str| format!("{era} {what}");
        let tools = pipe.result(id("list"), "tools/list", say(json!({})));
        assert_eq!(names(&tools, "tools", "name"), ["call_tool", "describe_tool", "search_tools"]);
        let ask = |pipe: &mut Pipe, what: &str, arguments: Value| {
            pipe.result(id(what), "tools/call", say(call(what, &arguments)))
        };
        let found = said(&ask(&mut pipe, "search_tools", json!({"query": "send a message", "limit": 1})));
        let best = &found["tools"][0];
        assert_eq!((&best["name"], &best["server"]), (&json!("mcp_mail_send"), &json!("mail")));
        assert_eq!(best["description"], "Sends a message to somebody");
        assert!(best["score"].as_f64().unwrap() > 0.0);
        assert_eq!((found["tools"].as_array().unwrap().len(), &found["of"]), (1, &json!(8)));
        let none = said(&ask(&mut pipe, "search_tools", json!({"query": "send", "server": "fake"})));
        assert_eq!(none["tools"], json!([]));
        let all = said(&ask(&mut pipe, "describe_tool", json!({"name": "mcp_mail_send"})));
        assert_eq!(all["annotations"], json!({"destructiveHint": true}));
        assert_eq!(all["inputSchema"]["properties"]["recipient"], json!({"type": "string"}));
        assert_eq!(all["outputSchema"], json!({"type": "object"}));
        let inner = json!({"name": "mcp_fake_echo", "arguments": {"text": "through"}});
        let echoed = ask(&mut pipe, "call_tool", inner);
        assert_eq!(echoed["content"], json!([{"type": "text", "text": "through"}]));
        for (tool, arguments, expected) in [
            (
                "call_tool",
                json!({"name": "mcp_fake_ecco"}),
                "there is no tool `mcp_fake_ecco`; near are mcp_fake_",
            ),
            ("describe_tool", json!({"name": "mcp_mail_sendd"}), "near are mcp_mail_send"),
            (
                "call_tool",
                json!({"name": "mcp_fake_echo", "arguments": "text"}),
                "`arguments` has to be an object",
            ),
            ("call_tool", json!({}), "`name` has to be a text"),
            ("search_tools", json!({"query": 5}), "`query` has to be a text"),
        ] {
            let result = ask(&mut pipe, tool, arguments);
            let text = said(&result);
            assert!(result["isError"] == true && text.as_str().unwrap().contains(expected), "{text}");
        }
    }
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn a_call_through_the_search_is_like_any_other() {
    for era in ["legacy", "modern"] {
        let script = Fake::script(json!({"era": era}));
        let sandbox = world(&[("fake", &script)], &Mark::new());
        let mut pipe = Pipe::with(&sandbox, &["--search"]);
        pipe.greet();
        // Progress has the client's token, and a cancellation ends the call at the server.
        let slow = json!({"name": "mcp_fake_slow", "arguments": {"ms": 3_600_000}});
        let mut params = call("call_tool", &slow);
        params["_meta"] = json!({"progressToken": "mine"});
        pipe.request("slow", "tools/call", params);
        let told = pipe.wait(|message| message["method"] == "notifications/progress");
        assert_eq!(told["params"]["progressToken"], "mine");
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}});
        pipe.send(&cancel);
        script.wait_for(|line| line["message"]["method"] == "notifications/cancelled");
        // A question is a request to a client with a handshake, and a result to a modern one.
        let ask = json!({"name": "mcp_fake_ask", "arguments": {"message": "Who?"}});
        pipe.request("ask", "tools/call", call("call_tool", &ask));
        let question = pipe.wait(|message| message["method"] == "elicitation/create");
        let ada = json!({"action": "accept", "content": {"name": "Ada"}});
        pipe.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": ada}));
        assert!(pipe.answer("ask")["result"]["content"][0]["text"].as_str().unwrap().contains("Ada"));
        let asked = pipe.result("modern", "tools/call", modern(call("call_tool", &ask)));
        assert_eq!(asked["resultType"], "input_required", "{era}");
        let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap();
        let mut again = call("call_tool", &ask);
        again["inputResponses"] = json!({key: ada});
        if let Some(state) = asked.get("requestState") {
            again["requestState"] = state.clone();
        }
        let result = pipe.result("again", "tools/call", modern(again));
        assert!(result["content"][0]["text"].as_str().unwrap().contains("Ada"), "{era}: {result}");
        assert_eq!(pipe.close().0, Some(0));
    }
}

#[test]
fn what_came_and_went_is_told_with_what_is_found_and_nowhere_else() {
    let list = |name: &str| json!([{"result": {"tools": [{"name": name, "description": "Does it", "inputSchema": {"type": "object"}}]}}]);
    let fickle = Fake::script(json!({
        "capabilities": {"tools": {"listChanged": true}},
        "on": {
            "tools/list": {"times": [list("one"), list("two")]},
            "tools/call": [{"broadcast": {"method": "notifications/tools/list_changed"}}, {"result": {"content": []}}],
        },
    }));
    let gateway = json!({"profiles": {"found": {"search": true, "tools": {"deny": ["hidden"]}}}});
    let sandbox = world_with(&[("fickle", &fickle)], &gateway);
    let mut pipe = Pipe::with(&sandbox, &["--profile", "found"]);
    pipe.greet();
    let mut n = 0;
    let mut ask = |pipe: &mut Pipe, what: &str, arguments: Value| {
        n += 1;
        said(&pipe.result(n, "tools/call", call(what, &arguments)))
    };
    let found = ask(&mut pipe, "search_tools", json!({"query": "does it"}));
    assert_eq!(found["tools"][0]["name"], "mcp_fickle_one");
    assert_eq!((found.get("new"), found.get("gone")), (None, None));
    pipe.result("call", "tools/call", call("call_tool", &json!({"name": "mcp_fickle_one"})));
    // Until the change is seen.
    let gone = loop {
        let told = ask(&mut pipe, "describe_tool", json!({"name": "mcp_fickle_one"}));
        if let Some(text) = told.as_str() {
            break text.to_owned();
        }
    };
    assert!(gone.contains("`mcp_fickle_one` is gone") && gone.contains("near are mcp_fickle_two"), "{gone}");
    let found = ask(&mut pipe, "search_tools", json!({"query": "does it"}));
    assert_eq!((&found["new"], &found["gone"]), (&json!(["mcp_fickle_two"]), &json!(["mcp_fickle_one"])));
    assert_eq!(pipe.count("notifications/tools/list_changed"), 0);
    assert_eq!(pipe.close().0, Some(0));
}
