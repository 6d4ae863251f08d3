//! One client on standard input and output, by both protocols.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Mark};

use super::{Pipe, modern, names, world};
use crate::screen::Screen;

/// A server with a handshake that has something of everything, and a modern one whose result points to a resource.
fn scripts() -> (FakeScript, FakeScript) {
    let notes = Fake::script(json!({
        "resources": [{"uri": "note:one", "name": "one", "text": "first"}],
        "templates": [{"uriTemplate": "note:{id}", "name": "by id"}],
        "prompts": [{"name": "greet", "messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}]}],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}},
        "on": {"completion/complete": [{"result": {"completion": {"values": ["Ada"]}}}]},
    }));
    let links = Fake::script(json!({
        "era": "modern",
        "tools": [{"name": "find", "inputSchema": {"type": "object"}}],
        "resources": [{"uri": "file:///a", "name": "a", "text": "text of a"}],
        "on": {"tools/call": [{"result": {"resultType": "complete", "content": [
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "text of a"}}]}}]},
    }));
    (notes, links)
}

/// How a client says something in its protocol.
type Say = fn(Value) -> Value;

/// The parameters of the last request a server got by this method.
fn last(script: &FakeScript, method: &str) -> Value {
    let of = |line: &Value| (line["message"]["method"] == method).then(|| line["message"]["params"].clone());
    script.log().iter().rev().find_map(of).unwrap()
}

#[test]
fn both_protocols_see_the_same_under_mapped_names() {
    let (notes, links) = scripts();
    let sandbox = world(&[("notes", &notes), ("links", &links)], &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    let greeting = pipe.greet();
    assert_eq!(
        (&greeting["protocolVersion"], &greeting["serverInfo"]["name"]),
        (&json!("2025-11-25"), &json!("switchboard"))
    );
    let discovered = pipe.result("d", "server/discover", modern(json!({})));
    assert_eq!(discovered["supportedVersions"], json!(["2026-07-28"]));
    for (era, say) in [("handshake", (|params| params) as Say), ("modern", modern as Say)] {
        let id = |what: &str| format!("{era} {what}");
        let is_modern = era == "modern";
        let tools = pipe.result(id("tools"), "tools/list", say(json!({})));
        let expected = [
            "mcp_links_find",
            "mcp_notes_add",
            "mcp_notes_ask",
            "mcp_notes_count",
            "mcp_notes_echo",
            "mcp_notes_env",
            "mcp_notes_pid",
            "mcp_notes_slow",
        ];
        assert_eq!(names(&tools, "tools", "name"), expected);
        assert_eq!((tools.get("resultType").is_some(), tools.get("ttlMs").is_some()), (is_modern, is_modern));
        let call = json!({"name": "mcp_notes_echo", "arguments": {"text": era}});
        let result = pipe.result(id("call"), "tools/call", say(call));
        assert_eq!(result["content"], json!([{"type": "text", "text": era}]));
        assert_eq!(last(&notes, "tools/call")["name"], "echo");

        let resources = pipe.result(id("resources"), "resources/list", say(json!({})));
        assert_eq!(names(&resources, "resources", "uri"), ["links+file:///a", "notes+note:one"]);
        let templates = pipe.result(id("templates"), "resources/templates/list", say(json!({})));
        assert_eq!(names(&templates, "resourceTemplates", "uriTemplate"), ["notes+note:{id}"]);
        let read = pipe.result(id("read"), "resources/read", say(json!({"uri": "notes+note:one"})));
        assert_eq!(
            (&read["contents"][0]["uri"], &read["contents"][0]["text"]),
            (&json!("notes+note:one"), &json!("first"))
        );
        assert_eq!(last(&notes, "resources/read")["uri"], "note:one");

        // What a result points to can be read by the address that stands there.
        let found = pipe.result(id("find"), "tools/call", say(json!({"name": "mcp_links_find"})));
        assert_eq!(found["content"][1]["resource"]["uri"], "links+file:///a");
        let read = pipe.result(id("link"), "resources/read", say(json!({"uri": found["content"][0]["uri"]})));
        assert_eq!(read["contents"][0]["text"], "text of a");
        assert_eq!(last(&links, "resources/read")["uri"], "file:///a");

        let prompts = pipe.result(id("prompts"), "prompts/list", say(json!({})));
        assert_eq!(names(&prompts, "prompts", "name"), ["mcp_notes_greet"]);
        let prompt = pipe.result(id("prompt"), "prompts/get", say(json!({"name": "mcp_notes_greet"})));
        assert_eq!(prompt["messages"][0]["content"]["text"], "Hello");
        for reference in [
            json!({"type": "ref/prompt", "name": "mcp_notes_greet"}),
            json!({"type": "ref/resource", "uri": "notes+note:{id}"}),
        ] {
            let params = json!({"ref": reference, "argument": {"name": "who", "value": "A"}});
            let completed = pipe.result(id("complete"), "completion/complete", say(params));
            assert_eq!(completed["completion"]["values"], json!(["Ada"]));
        }
        assert_eq!(
            last(&notes, "completion/complete")["ref"],
            json!({"type": "ref/resource", "uri": "note:{id}"})
        );

        for (method, params) in [
            ("tools/call", json!({"name": "echo"})),
            ("prompts/get", json!({"name": "greet"})),
            ("resources/read", json!({"uri": "note:one"})),
            ("nothing/known", json!({})),
        ] {
            pipe.request(id(method), method, say(params));
            let answer = pipe.answer(id(method));
            assert!(answer["error"]["code"].is_i64(), "{answer}");
        }
    }
    assert_eq!(pipe.close(), (Some(0), String::new()));
}

#[test]
fn progress_has_the_clients_token_and_a_cancellation_ends_one_call() {
    let (notes, _links) = scripts();
    let sandbox = world(&[("notes", &notes)], &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    pipe.greet();
    let slow = |ms: u64, token: Value| json!({"name": "mcp_notes_slow", "arguments": {"ms": ms}, "_meta": {"progressToken": token}});
    pipe.request(1, "tools/call", slow(3_600_001, json!("mine")));
    pipe.request(2, "tools/call", modern(slow(3_600_002, json!(7))));
    let is_progress = |token: Value| {
        move |message: &Value| {
            message["method"] == "notifications/progress" && message["params"]["progressToken"] == token
        }
    };
    let told = pipe.wait(is_progress(json!("mine")));
    assert_eq!(told["params"]["total"], 3_600_001);
    pipe.wait(is_progress(json!(7)));
    let call = notes.wait_for(|line| line["message"]["params"]["arguments"]["ms"] == 3_600_001);
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    let taken_back = notes.wait_for(|line| line["message"]["method"] == "notifications/cancelled");
    assert_eq!(taken_back["message"]["params"]["requestId"], call["message"]["id"]);
    // The other one goes on.
    pipe.kept.clear();
    pipe.wait(is_progress(json!(7)));
    let echoed =
        pipe.result(3, "tools/call", json!({"name": "mcp_notes_echo", "arguments": {"text": "still here"}}));
    assert_eq!(echoed["content"][0]["text"], "still here");
    let cancelled = notes.methods().iter().filter(|method| *method == "notifications/cancelled").count();
    assert_eq!(cancelled, 1);
    assert!(
        !pipe.kept.iter().any(|message| message["id"] == 1),
        "a request that was taken back got an answer"
    );
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn a_change_is_told_only_if_it_can_be_seen() {
    let list =
        |name: &str| json!([{"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}}]}}]);
    let fickle = Fake::script(json!({
        "capabilities": {"tools": {"listChanged": true}},
        "on": {
            "tools/list": {"times": [list("one"), list("one"), list("two")]},
            "tools/call": [{"broadcast": {"method": "notifications/tools/list_changed"}}, {"result": {"content": []}}],
        },
    }));
    let sandbox = world(&[("fickle", &fickle)], &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    pipe.greet();
    let tools = pipe.result(1, "tools/list", json!({}));
    assert_eq!(names(&tools, "tools", "name"), ["mcp_fickle_one"]);
    pipe.request("ear", "subscriptions/listen", modern(json!({"notifications": {"toolsListChanged": true}})));
    pipe.wait(|message| message["method"] == "notifications/subscriptions/acknowledged");
    let lists = || fickle.methods().iter().filter(|method| *method == "tools/list").count();
    assert_eq!(lists(), 1);
    pipe.result(2, "tools/call", json!({"name": "mcp_fickle_one"}));
    while lists() < 2 {
        std::thread::yield_now();
    }
    pipe.result(3, "tools/call", json!({"name": "mcp_fickle_one"}));
    // Told twice: as clients with a handshake hear it, and on the stream of the one that listens.
    let is_told = |message: &Value| message["method"] == "notifications/tools/list_changed";
    let (one, another) = (pipe.wait(is_told), pipe.wait(is_told));
    let tag = |message: &Value| message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone();
    assert!([tag(&one), tag(&another)].contains(&json!("ear")), "{one} {another}");
    let tools = pipe.result(4, "tools/list", json!({}));
    assert_eq!(names(&tools, "tools", "name"), ["mcp_fickle_two"]);
    assert_eq!(pipe.count("notifications/tools/list_changed"), 0);
    // Somebody who listens does not keep it from ending.
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn what_is_no_message_is_answered_as_such_and_changes_nothing() {
    let (notes, _links) = scripts();
    let mark = Mark::new();
    let sandbox = world(&[("notes", &notes)], &mark);
    let mut pipe = Pipe::open(&sandbox);
    pipe.request("early", "tools/list", json!({}));
    assert_eq!(pipe.answer("early")["error"]["code"], -32600);
    let lines: [(&[u8], i64); 7] = [
        (b"{\n", -32700),
        (b"\xff\xfe\x00\n", -32700),
        (b"[]\n", -32600),
        (b"5\n", -32600),
        (b"{\"id\": {}, \"method\": \"ping\"}\n", -32600),
        (b"{\"id\": 1, \"method\": \"ping\", \"params\": 7}\n", -32602),
        (b"{\"id\": null, \"method\": \"ping\"}\n", -32600),
    ];
    for (line, code) in lines {
        pipe.bytes(line);
        let error = pipe.wait(|message| message["id"].is_null());
        assert_eq!(error["error"]["code"], code, "{}", String::from_utf8_lossy(line));
    }
    // Longer than a message may be, and of a depth nobody reads.
    let mut long = vec![b'['; 17 * 1024 * 1024];
    long.push(b'\n');
    pipe.bytes(&long);
    assert_eq!(pipe.wait(|message| message["id"].is_null())["error"]["code"], -32600);
    pipe.bytes(format!("{}\n", "[".repeat(100_000)).as_bytes());
    pipe.wait(|message| message["id"].is_null());
    // An answer to nothing, and empty lines.
    pipe.bytes(b"\n  \n{\"id\": 99, \"result\": {}}\n");
    pipe.greet();
    assert_eq!(pipe.result("ping", "ping", json!({})), json!({}));
    kill_process(Pid::from_raw(i32::try_from(pipe.child.id()).unwrap()).unwrap(), Signal::TERM).unwrap();
    assert_eq!(pipe.end().0, Some(0));
    assert!(mark.alive().is_empty(), "a server is left behind");
}

#[test]
fn whoever_types_it_is_told_what_it_waits_for() {
    let sandbox = world(&[], &Mark::new());
    for key in ["\x04", "\x03"] {
        let mut screen = Screen::open(&sandbox, 140, &["serve"]);
        screen.wait_for("Ctrl-C or Ctrl-D ends it");
        let text = screen.text();
        assert!(text.contains("MCP on standard input and output; an agent is meant to start it"), "{text}");
        assert!(text.contains("switchboard install --into TOOL"), "{text}");
        screen.send(key);
        assert_eq!(screen.end(), 0, "{}", screen.text());
    }
    let mut screen = Screen::open(&sandbox, 140, &["serve", "-q"]);
    screen.send("\x04");
    assert_eq!(screen.end(), 0, "{}", screen.text());
    assert!(!screen.text().contains("MCP"), "{}", screen.text());
}
