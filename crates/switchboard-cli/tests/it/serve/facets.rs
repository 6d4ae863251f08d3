//! Profiles: who sees what, and that nothing else can be used. What clients are told of who is not there.

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Mark};

use super::guest::Stream;
use super::http::{Site, greeting, request};
use super::{Pipe, modern, names, world, world_with};
use crate::run;

/// Two servers with something of everything.
fn scripts() -> (FakeScript, FakeScript) {
    let server = |era: &str, text: &str| {
        Fake::script(json!({
            "era": era,
            "instructions": text,
            "resources": [{"uri": "note:one", "name": "one", "text": text}],
            "templates": [{"uriTemplate": "note:{id}", "name": "by id"}],
            "prompts": [{"name": "greet", "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}],
            "capabilities": {
                "tools": {}, "resources": {"subscribe": true}, "prompts": {}, "completions": {}, "logging": {},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            },
            "on": {
                "completion/complete": [{"result": {"resultType": "complete", "completion": {"values": ["Ada"]}}}],
                "tasks/get": [{"result": {"resultType": "complete", "taskId": "1", "status": "working"}}],
            },
        }))
    };
    (server("legacy", "How to take notes."), server("modern", "How to use the safe."))
}

fn profiles() -> Value {
    json!({"profiles": {
        "small": {"servers": ["no*"], "tools": {"allow": ["e*", "notes/add"], "deny": ["mcp_notes_env"]}, "clients": ["test*"]},
        "other": {"servers": ["safe"], "clients": ["*"]},
    }})
}

/// Everything of the safe that a client might try, with what it would get if it could.
fn forbidden() -> Vec<(&'static str, Value)> {
    vec![
        ("tools/call", json!({"name": "mcp_safe_echo", "arguments": {"text": "x"}})),
        ("tools/call", json!({"name": "mcp_notes_env", "arguments": {}})),
        ("prompts/get", json!({"name": "mcp_safe_greet"})),
        ("resources/read", json!({"uri": "safe+note:one"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "mcp_safe_greet"}, "argument": {"name": "a", "value": ""}}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "safe+note:{id}"}, "argument": {"name": "a", "value": ""}}),
        ),
    ]
}

fn check_small(pipe: &mut Pipe, era: &str, say: fn(Value) -> Value) {
    let id = |what: &str| format!("{era} {what}");
    let tools = pipe.result(id("tools"), "tools/list", say(json!({})));
    assert_eq!(names(&tools, "tools", "name"), ["mcp_notes_add", "mcp_notes_echo"]);
    let resources = pipe.result(id("resources"), "resources/list", say(json!({})));
    assert_eq!(names(&resources, "resources", "uri"), ["notes+note:one"]);
    let templates = pipe.result(id("templates"), "resources/templates/list", say(json!({})));
    assert_eq!(names(&templates, "resourceTemplates", "uriTemplate"), ["notes+note:{id}"]);
    let prompts = pipe.result(id("prompts"), "prompts/list", say(json!({})));
    assert_eq!(names(&prompts, "prompts", "name"), ["mcp_notes_greet"]);
    let echo = json!({"name": "mcp_notes_echo", "arguments": {"text": "hi"}});
    let echoed = pipe.result(id("echo"), "tools/call", say(echo));
    assert_eq!(echoed["content"][0]["text"], "hi");
    let read = pipe.result(id("read"), "resources/read", say(json!({"uri": "notes+note:one"})));
    assert_eq!(read["contents"][0]["uri"], "notes+note:one");
    // What is not seen is answered like what is not there, word for word but for the name.
    for (n, (method, params)) in forbidden().into_iter().enumerate() {
        let absent: Value =
            serde_json::from_str(&params.to_string().replace("safe", "nowhere").replace("_env", "_nowhere"))
                .unwrap();
        let [got, expected] = [params, absent].map(|params| {
            pipe.request(id("forbidden"), method, say(params));
            let answer = pipe.answer(id("forbidden"));
            let error = answer["error"].to_string();
            assert!(answer["error"]["code"].is_i64(), "{answer}");
            let near = error.split("; near are").next().unwrap().to_owned();
            near.replace("safe", "nowhere").replace("_env", "_nowhere")
        });
        assert_eq!(got, expected, "{n} {method}");
    }
}

#[test]
fn a_profile_shows_its_part_and_nothing_else_can_be_used() {
    let (notes, safe) = scripts();
    let servers = [("notes", &notes), ("safe", &safe)];
    let sandbox = world_with(&servers, &profiles());
    let mut pipe = Pipe::with(&sandbox, &["--profile", "small"]);
    let greeted = pipe.greet_as("somebody else");
    assert_eq!(greeted["instructions"], "## notes\n\nHow to take notes.");
    check_small(&mut pipe, "handshake", |params| params);
    check_small(&mut pipe, "modern", modern);
    for uri in ["safe+note:one", "nowhere+note:one"] {
        pipe.request(uri, "resources/subscribe", json!({ "uri": uri }));
        assert_eq!(pipe.answer(uri)["error"]["code"], -32002);
    }
    let discovered = pipe.result("d", "server/discover", modern(json!({})));
    assert_eq!(discovered["capabilities"]["extensions"], json!({}), "the safe has them");
    pipe.request("t", "tasks/get", modern(json!({"taskId": "safe+1"})));
    assert_eq!(pipe.answer("t")["error"]["code"], -32601);
    let ear = json!({"notifications": {"resourceSubscriptions": ["safe+note:one", "notes+note:one"]}});
    pipe.request("ear", "subscriptions/listen", modern(ear));
    let granted = pipe.wait(|message| message["method"] == "notifications/subscriptions/acknowledged");
    assert_eq!(granted["params"]["notifications"], json!({"resourceSubscriptions": ["notes+note:one"]}));
    assert_eq!(pipe.close().0, Some(0));
    assert!(!safe.methods().iter().any(|method| method == "tools/call" || method == "resources/read"));
}

#[test]
fn a_client_gets_the_first_profile_that_is_for_its_name() {
    let (notes, safe) = scripts();
    let sandbox = world_with(&[("notes", &notes), ("safe", &safe)], &profiles());
    let mut pipe = Pipe::open(&sandbox);
    pipe.greet_as("test-client");
    check_small(&mut pipe, "handshake", |params| params);
    drop(pipe.close());
    let mut pipe = Pipe::open(&sandbox);
    let named = |name: &str| {
        let mut params = modern(json!({}));
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": name, "version": "1"});
        params
    };
    // Each modern request says who it is from.
    let of = |pipe: &mut Pipe, id: &str, params: Value| {
        let resources = pipe.result(id, "resources/list", params);
        names(&resources, "resources", "uri")
    };
    assert_eq!(of(&mut pipe, "a", named("test")), ["notes+note:one"]);
    assert_eq!(of(&mut pipe, "b", named("any")), ["safe+note:one"]);
    assert_eq!(
        of(&mut pipe, "c", modern(json!({}))),
        ["notes+note:one", "safe+note:one"],
        "nobody in particular"
    );
    drop(pipe.close());
}

#[test]
fn a_profile_has_an_address_of_its_own() {
    let (notes, safe) = scripts();
    let sandbox = world_with(&[("notes", &notes), ("safe", &safe)], &profiles());
    let site = Site::open(&sandbox, &[]);
    let list = request(2, "resources/list", &json!({}));
    let seen = |path: &str| {
        let greeted = site.post_to(path, None, &greeting());
        let session = greeted.header("mcp-session-id").unwrap().to_owned();
        let listed = site.post_to(path, Some(&session), &list).message();
        (session, names(&listed["result"], "resources", "uri"))
    };
    let (session, uris) = seen("/mcp/other");
    assert_eq!(uris, ["safe+note:one"], "the address counts before the name");
    assert_eq!(seen("/mcp").1, ["notes+note:one"]);
    // A session stays where it began.
    for path in ["/mcp", "/mcp/small"] {
        assert_eq!(site.post_to(path, Some(&session), &list).status, 404, "{path}");
    }
    assert_eq!(site.post_to("/mcp/other", Some(&session), &list).status, 200);
    let headers = [
        ("Content-Type", "application/json"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "resources/list"),
    ];
    let body = request(3, "resources/list", &modern(json!({}))).to_string();
    let listed = site.request("POST /mcp/other", &headers, &body).message();
    assert_eq!(names(&listed["result"], "resources", "uri"), ["safe+note:one"]);
    // The door is guarded like any other.
    let from = |header: (&str, &str)| site.request("POST /mcp/other", &[headers[0], header], &body).status;
    assert_eq!(from(("Host", "evil.example")), 403);
    assert_eq!(from(("Origin", "https://evil.example")), 403);
    for path in ["/mcp/none", "/mcp/", "/mcp/other/", "/mcp/oth%65r"] {
        let refused = site.post_to(path, None, &greeting());
        assert_eq!(refused.status, 404, "{path}");
        let message = refused.message()["error"]["message"].to_string();
        assert!(message.contains("small, other"), "{message}");
    }
    drop(site);
    // With one profile chosen for all, there are no others.
    let site = Site::open(&sandbox, &["--profile", "small"]);
    assert_eq!(site.post_to("/mcp/other", None, &greeting()).status, 404);
    assert_eq!(site.post_to("/mcp/small", None, &greeting()).status, 200);
}

#[test]
fn log_lines_of_servers_that_are_not_seen_are_not_heard() {
    let loud = |word: &str| {
        let line = json!({"level": "info", "logger": "l", "data": word});
        let said = json!({"broadcast": {"method": "notifications/message", "params": line}});
        let called = json!([said, {"default": true}]);
        Fake::script(json!({"capabilities": {"tools": {}, "logging": {}}, "on": {"tools/call": called}}))
    };
    let (notes, safe) = (loud("from notes"), loud("from the safe"));
    let sandbox = world_with(&[("notes", &notes), ("safe", &safe)], &profiles());
    let site = Site::open(&sandbox, &[]);
    let guest = |path: &str| {
        let greeted = site.post_to(path, None, &greeting());
        let session = greeted.header("mcp-session-id").unwrap().to_owned();
        let level = request(2, "logging/setLevel", &json!({"level": "debug"}));
        assert_eq!(site.post_to(path, Some(&session), &level).status, 200);
        session
    };
    let (small, other) = (guest("/mcp/small"), guest("/mcp/other"));
    let mut ears = [("/mcp/small", &small), ("/mcp/other", &other)].map(|(path, session)| {
        let headers = [("Accept", "text/event-stream"), ("Mcp-Session-Id", session.as_str())];
        Stream::open(&site, &format!("GET {path}"), &headers, "")
    });
    let call = |path: &str, session: &str, tool: &str| {
        let params = json!({"name": tool, "arguments": {"text": "x"}});
        assert_eq!(site.post_to(path, Some(session), &request(3, "tools/call", &params)).status, 200);
    };
    // What the safe says comes first, so that it would be there by the time the other one is.
    call("/mcp/other", &other, "mcp_safe_echo");
    let heard = ears[1].question("notifications/message");
    assert_eq!(heard["params"]["data"], "from the safe");
    call("/mcp/small", &small, "mcp_notes_echo");
    let heard = ears[0].wait(|message| message["method"] == "notifications/message");
    assert_eq!(heard["params"]["data"], "from notes");
}

#[test]
fn a_profile_that_is_not_there_is_an_error_and_one_with_a_mistake_shows_nothing() {
    let (notes, _safe) = scripts();
    let sandbox = world_with(&[("notes", &notes)], &profiles());
    insta::assert_snapshot!(run(&sandbox, &["serve", "--profile", "smal"]));
    let sandbox = world_with(&[("notes", &notes)], &json!({"profiles": {"bad": {"servers": "notes"}}}));
    let mut pipe = Pipe::with(&sandbox, &["--profile", "bad"]);
    assert_eq!(pipe.greet().get("instructions"), None);
    assert_eq!(pipe.result(1, "tools/list", json!({}))["tools"], json!([]));
    drop(pipe.close());
}

#[test]
fn who_is_not_there_is_told_of_with_the_reason() {
    let (notes, _safe) = scripts();
    let broken = Fake::script(json!({"start": [{"stderr": "no database at all\n"}, {"exit": 3}]}));
    let sandbox = world(&[("notes", &notes), ("broken", &broken)], &Mark::new());
    sandbox.write(
        ".mcp.json",
        json!({"mcpServers": {"new": {"command": "npx", "args": ["-y", "new-mcp"]}}}).to_string(),
    );
    let mut pipe = Pipe::open(&sandbox);
    // The list waits for everybody, so that everything is known.
    pipe.result("tools", "tools/list", modern(json!({})));
    let told = pipe.result("d", "server/discover", modern(json!({})))["instructions"].to_string();
    for part in [
        "## notes",
        "# Not available now",
        "- broken: does not work: ",
        "- new: waits for the user's approval (switchboard trust new)",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn a_tool_known_from_before_whose_server_is_down_fails_with_its_last_words() {
    let dying = |start: Value| json!({"start": start});
    let script = Fake::script(dying(json!([])));
    let sandbox = world(&[("db", &script)], &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    pipe.greet();
    assert_eq!(names(&pipe.result(1, "tools/list", json!({})), "tools", "name").len(), 7);
    drop(pipe.close());
    std::fs::write(
        script.path(),
        dying(json!([{"stderr": "no database at all\n"}, {"exit": 3}])).to_string(),
    )
    .unwrap();
    let mut pipe = Pipe::open(&sandbox);
    pipe.greet();
    assert_eq!(names(&pipe.result(1, "tools/list", json!({})), "tools", "name").len(), 7, "from memory");
    pipe.request(2, "tools/call", json!({"name": "mcp_db_echo", "arguments": {"text": "x"}}));
    let error = pipe.answer(2)["error"].take();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("no database at all"), "{error}");
    assert_eq!(error["data"]["server"], "db");
    drop(pipe.close());
}
