//! The interactive session as somebody lives in it. Scenarios take the front they run on.

use serde_json::json;
use testkit::Sandbox;

use crate::seat::{Front, Seat, Server, configure, home};

const PLAIN: Front = Front::Plain;

#[test]
fn from_an_empty_home_to_a_called_tool() {
    let sandbox = home(PLAIN);
    let server = Server::new(json!({}));
    let mut seat = Seat::take(&sandbox);
    seat.ask("/mcp list", "No servers found.");
    seat.ask("/mcp add", "Name of the server:");
    seat.ask("bad name", "Server name can only contain letters, numbers, dash, underscore, and dot");
    seat.ask("demo", "What is it?");
    seat.see("Number [1]:");
    seat.ask("1", "Command line:");
    let entry = server.entry();
    let (command, script) = (entry["command"].as_str().unwrap(), entry["args"][0].as_str().unwrap());
    seat.say(&format!("'{command}' '{script}'"));
    seat.see("Variable NAME=VALUE");
    seat.ask("GREETING=hello", "Variable NAME=VALUE");
    seat.press("\r");
    seat.see("For whom?");
    seat.ask("2", "Added `demo` to ~/.switchboard/mcp.json");
    seat.see("● demo connected, 7 tools");
    seat.ask("/call demo/echo text='hello there'", "\nhello there\n");
    seat.ask("/call demo/add {\"a\": 2, \"b\": 40}", "42");
    assert_eq!(seat.leave(), 0);
    assert_eq!(server.starts(), 1);
    assert!(sandbox.read("~/.switchboard/mcp.json").contains("\"GREETING\": \"hello\""));
}

#[test]
fn the_wizard_is_left_and_the_session_goes_on() {
    let sandbox = home(PLAIN);
    let mut seat = Seat::take(&sandbox);
    seat.ask("/mcp add", "Name of the server:");
    seat.press("\x03");
    seat.see("stopped; nothing was changed");
    seat.ask("/mcp list", "No servers found.");
    assert_eq!(seat.leave(), 0);
    assert!(!sandbox.path("~/.switchboard/mcp.json").exists());
}

#[test]
fn only_what_changed_is_restarted() {
    let sandbox = home(PLAIN);
    let (a, b, c) = (Server::new(json!({})), Server::new(json!({})), Server::new(json!({})));
    configure(&sandbox, &[("a", a.entry()), ("b", b.entry())]);
    let mut seat = Seat::take(&sandbox);
    seat.notice("a connected, 7 tools");
    seat.notice("b connected, 7 tools");

    seat.ask("/mcp disable b", "`b` is now disabled (~/.switchboard/mcp.json)");
    seat.see("b was stopped.");
    seat.ask("/call b/echo text=x", "Server \"b\" is disabled. Run /mcp enable b first.");
    seat.ask("/mcp test b", "Server \"b\" is disabled. Run /mcp enable b first.");
    seat.ask("/mcp reconnect b", "Server \"b\" is disabled. Run /mcp enable b first.");
    seat.ask("/mcp disable b", "`b` is already disabled");
    seat.ask("/mcp enable b", "● b connected, 7 tools");
    assert_eq!((a.starts(), b.starts()), (1, 2));

    let entry = c.entry();
    let (command, script) = (entry["command"].as_str().unwrap(), entry["args"][0].as_str().unwrap());
    seat.say(&format!("/mcp add c --scope user -- {command} {script}"));
    seat.see("Added `c` to ~/.switchboard/mcp.json");
    seat.see("● c connected, 7 tools");
    seat.ask("/mcp add c --scope user -- x", "Server \"c\" already exists in");
    seat.ask("/mcp add d --url http://x -- y", "Use either --url or -- <command...>, not both.");
    seat.ask("/mcp add d --token t -- y", "--token requires --url (HTTP/SSE transport).");
    seat.ask(
        "/mcp add 'd d' -- y",
        "Server name can only contain letters, numbers, dash, underscore, and dot",
    );
    seat.ask("/mcp rm c", "Removed `c` from ~/.switchboard/mcp.json");
    seat.see("c was stopped.");
    seat.ask("/mcp rm c", "Server \"c\" not found in");
    assert_eq!((a.starts(), b.starts(), c.starts()), (1, 2, 1));

    let mut changed = b.entry();
    changed["env"]["EXTRA"] = json!("1");
    configure(&sandbox, &[("a", a.entry()), ("b", changed)]);
    // Whoever does nothing is told as well.
    seat.notice("The configuration changed: /mcp reload would restart b");
    seat.ask("/mcp list", "The configuration changed: /mcp reload would restart b");
    seat.ask("/mcp reload", "changed  b");
    seat.see("kept     a");
    seat.see("● b connected, 7 tools");
    seat.ask("/mcp reload", "Nothing changed.");
    assert_eq!((a.starts(), b.starts(), c.starts()), (1, 3, 1));
    seat.ask("/mcp reconnect a", "● a connected, 7 tools");
    assert_eq!(a.starts(), 2);
    assert_eq!(seat.leave(), 0);
    for server in [&a, &b, &c] {
        assert!(server.mark.alive().is_empty(), "a process is left");
    }
}

#[test]
fn ctrl_c_stops_a_call_and_nothing_else() {
    let sandbox = home(PLAIN);
    let server = Server::new(json!({}));
    configure(&sandbox, &[("demo", server.entry())]);
    let mut seat = Seat::take(&sandbox);
    seat.notice("demo connected");
    seat.ask("/call demo/slow ms=600000", "... calling mcp_demo_slow");
    server.script.wait_for(|line| line["message"]["method"] == "tools/call");
    seat.press("\x03");
    seat.see("stopped; the call was taken back, but may have run");
    server.script.wait_for(|line| line["message"]["method"] == "notifications/cancelled");
    seat.ask("/call demo/echo text=alive", "\nalive\n> ");
    // Where nothing is done, there is nothing to stop.
    seat.press("\x03");
    seat.see("\n> ");
    seat.ask("/call demo/echo text=still", "\nstill\n");
    seat.press("\x04");
    assert_eq!(seat.screen.end(), 0);
    assert_eq!(server.starts(), 1);
    assert!(server.mark.alive().is_empty());
}

#[test]
fn a_server_that_fails_says_so_and_its_last_words_can_be_read() {
    let sandbox = home(PLAIN);
    let server = Server::new(json!({"start": [{"stderr": "no \u{1b}[31mdatabase\n"}, {"exit": 3}]}));
    configure(&sandbox, &[("bad", server.entry()), ("lost", json!({"command": "no-such-program"}))]);
    let mut seat = Seat::take(&sandbox);
    seat.notice("Failed to connect to \"bad\":");
    seat.notice("Failed to connect to \"lost\":");
    seat.ask("/mcp logs bad", "no \\u{1b}[31mdatabase");
    seat.ask("/mcp logs nobody", "Server \"nobody\" not found");
    seat.ask("/mcp test lost", "Failed to connect to \"lost\":");
    seat.ask("/call bad/x", "Failed to connect to \"bad\":");
    seat.ask("/mcp status lost", "failed");
    assert_eq!(seat.leave(), 0);
}

#[test]
fn prompts_are_commands_and_resources_are_words() {
    let sandbox = home(PLAIN).with_var("OLLAMA_HOST", "http://127.0.0.1:9");
    let server = Server::new(json!({
        "prompts": [{"name": "greet", "description": "Says hello", "arguments": [{"name": "who", "required": true}],
            "messages": [{"role": "user", "content": {"type": "text", "text": "Say hello to them"}}]}],
        "resources": [{"uri": "note://one", "name": "one", "text": "the first note"}],
    }));
    configure(&sandbox, &[("demo", server.entry())]);
    let mut seat = Seat::take(&sandbox);
    seat.notice("demo connected");
    seat.ask("/demo:greet who=you", "Say hello to them");
    seat.ask("/demo:greet", "who:");
    seat.ask("everybody", "Say hello to them");
    server.script.wait_for(|line| line["message"]["params"]["arguments"]["who"] == "everybody");
    seat.ask("/prompt greet who=me", "Say hello to them");
    seat.ask("/read note://one", "the first note");
    seat.ask("what does @demo:note://one say?", "no model is set");
    seat.ask("/model ollama/small", "Model: ollama/small");
    // Nobody answers at this address; what is attached is read before.
    seat.ask("what does @demo:note://one say?", "Attached demo:note://one (14 characters)");
    seat.press("\x03");
    seat.see("\n> ");
    seat.ask("see @note://two", "no server has the resource `note://two`");
    seat.ask("/mcp prompts", "greet who");
    seat.ask("/mcp resources", "note://one");
    assert_eq!(seat.leave(), 0);
}

#[test]
fn a_call_is_asked_about_as_the_rules_say() {
    let sandbox = home(PLAIN);
    let server = Server::new(json!({}));
    configure(&sandbox, &[("demo", server.entry())]);
    let mut seat = Seat::take(&sandbox);
    seat.notice("demo connected");
    seat.ask("/approve demo/echo", "asked each time");
    seat.ask("/call --ask demo/echo text=one", "May `echo` of \"demo\" be called?");
    seat.see("\"text\": \"one\"");
    seat.see("Number [4]:");
    seat.ask("4", "Why not?");
    seat.ask("not today", "the user declined: not today");
    seat.ask("/call --ask demo/echo text=two", "Number [4]:");
    seat.ask("9", "A number from 1 to 4");
    seat.ask("1", "\ntwo\n");
    seat.ask("/call --ask demo/echo text=three", "Number [4]:");
    seat.ask("2", "\nthree\n");
    seat.ask("/call --ask demo/echo text=four", "\nfour\n");
    seat.ask("/approve demo/echo", "runs: you said yes for this session");
    seat.ask("/approve", "demo/echo: you said yes for this session");
    seat.ask("/approve demo/echo deny", "demo/echo: never runs (~/.switchboard/settings.json)");
    seat.ask("/call demo/echo text=five", "the settings deny `echo` of `demo`");
    seat.ask("/approve forget demo/echo", "demo/echo: the rule is gone; so is the yes you gave");
    seat.ask("/approve demo never", "demo: runs without asking");
    seat.ask("/call --ask demo/echo text=six", "\nsix\n");
    seat.ask("/approve forget demo", "demo: the rule is gone");
    seat.ask("/approve forget demo", "demo: there was no rule");
    seat.ask("/call --ask demo/echo text=seven", "Number [4]:");
    seat.press("\x03");
    seat.see("stopped");
    assert!(sandbox.read("~/.switchboard/settings.json").contains("\"defaults\": false"));
    let calls = server.script.methods().iter().filter(|method| *method == "tools/call").count();
    assert_eq!(calls, 4, "what was declined was not sent");
    assert_eq!(seat.leave(), 0);
}

#[test]
fn a_server_asks_in_the_middle_of_a_call() {
    let sandbox = home(PLAIN);
    let schema = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "description": "Yours"}, "age": {"type": "integer"}}});
    let server = Server::new(json!({"tools": [{"name": "who"}], "on": {"tools/call": [
        {"request": {"id": 7, "method": "elicitation/create",
            "params": {"mode": "form", "message": "Who are you?", "requestedSchema": schema}}},
        {"result": {"content": [{"type": "text", "text": "thank you"}]}}]}}));
    configure(&sandbox, &[("demo", server.entry())]);
    let mut seat = Seat::take(&sandbox);
    seat.notice("demo connected");
    seat.ask("/call demo/who", "\"demo\" asks: Who are you?");
    seat.see("Number [3]:");
    seat.ask("1", "name: string (Yours):");
    seat.ask("Ada", "age?: integer:");
    seat.ask("old", "integer");
    seat.ask("36", "thank you");
    let answer = server.script.wait_for(|line| line["message"]["id"] == 7);
    assert_eq!(
        answer["message"]["result"],
        json!({"action": "accept", "content": {"name": "Ada", "age": 36}})
    );
    assert_eq!(seat.leave(), 0);
}

#[test]
fn new_servers_wait_for_a_yes() {
    let sandbox = home(PLAIN);
    let (mine, theirs) = (Server::new(json!({})), Server::new(json!({})));
    configure(&sandbox, &[("mine", mine.entry())]);
    let project = |entry: serde_json::Value| json!({"mcpServers": {"theirs": entry}}).to_string();
    sandbox.write(".mcp.json", project(theirs.entry()));
    let mut seat = Seat::open(&sandbox);
    seat.notice("Approve theirs? (y/N)");
    seat.ask("n", "Not approved; you are not asked again. Later: /mcp trust theirs");
    seat.see("mine connected");
    seat.ask("/mcp list", "1 server waits for your approval: /mcp trust theirs");
    assert_eq!(theirs.starts(), 0);
    seat.ask("/mcp trust theirs", "● theirs connected, 7 tools");

    // Another definition is another question.
    let mut changed = theirs.entry();
    changed["env"]["EXTRA"] = json!("1");
    sandbox.write(".mcp.json", project(changed));
    seat.ask("/mcp reload", "theirs was stopped: its definition waits for your approval.");
    seat.see("Approve theirs? (y/N)");
    assert_eq!(theirs.starts(), 1);
    seat.ask("y", "● theirs connected, 7 tools");
    seat.ask("/mcp untrust theirs", "theirs was stopped: its definition waits for your approval.");
    assert_eq!((mine.starts(), theirs.starts()), (1, 2));
    assert_eq!(seat.leave(), 0);
}

#[test]
fn every_verb_answers() {
    let sandbox = home(PLAIN);
    let server = Server::new(json!({}));
    configure(&sandbox, &[("demo", server.entry()), ("off", json!({"command": "x", "enabled": false}))]);
    sandbox.write("~/.cursor/mcp.json", r#"{"mcpServers": {"search": {"command": "search-mcp"}}}"#);
    let mut seat = Seat::open(&sandbox);
    seat.ask("n", "/help");
    seat.notice("demo connected");
    for (line, answer) in [
        ("/mcp", "Usage: /mcp"),
        ("/mcp help", "reconnect"),
        ("/mcp help add", "/mcp add files -- npx"),
        ("/mcp list", "3 servers: 1 connected, 1 disabled, 1 untrusted"),
        ("/mcp list --all", "RUNS"),
        ("/mcp status", "/mcp enable off"),
        ("/mcp why demo", "demo"),
        ("/mcp doctor", "search"),
        ("/mcp tools", "7 tools of 1 server"),
        ("/mcp resources", "No resources."),
        ("/mcp prompts", "No prompts."),
        ("/mcp test demo", "works"),
        ("/mcp logs demo", "<- answer to tools/list"),
        ("/mcp reauth demo", "Server \"demo\" is a stdio server: it manages its own credentials"),
        ("/mcp unauth demo", "Server \"demo\" is a stdio server: it manages its own credentials"),
        ("/mcp trust search", "Approved 1 server: search"),
        ("/mcp untrust search", "Took back 1 approval."),
        ("/mcp import search --dry-run", "Nothing was changed: this was a dry run."),
        ("/mcp call demo/echo text=hi", "\nhi\n"),
        ("/mcp reload --json", "\"kept\""),
        ("/mcp schema", "this is for the command line only"),
        ("/tools", "tokens"),
        ("/tools echo", "call it    /call demo/echo"),
        ("/tools slow demo", "1 tool of 1 server"),
        ("/tools nothing like it", "no tool has to do with"),
        ("/tools echo --schema", "\"inputSchema\""),
        ("/approve", "Change one: /approve"),
        ("/model", "no model is set"),
        ("/model ollama/x", "Model: ollama/x"),
        ("/clear", "no conversation"),
        ("/save x.md", "no conversation"),
        ("/help", "Ctrl-D leaves."),
        ("/mpc", "did you mean /mcp?"),
        ("/reload", "did you mean /mcp reload?"),
        ("/mcp enabel x", "unrecognized subcommand"),
        ("/call demo/echo text='x", "a quotation mark is not closed"),
    ] {
        seat.ask(line, answer);
        // The prompt is back.
        seat.see("\n> ");
        let said = seat.seen().replace("switchboard builtin", "");
        assert!(!said.contains("switchboard "), "{line}\n{said}");
    }
    assert_eq!(seat.leave(), 0);
}

#[test]
fn how_servers_stand_is_seen_at_a_glance() {
    let sandbox = home(PLAIN);
    let (demo, slow) =
        (Server::new(json!({})), Server::new(json!({"on": {"tools/list": [{"silent": true}]}})));
    configure(
        &sandbox,
        &[
            ("demo", demo.entry()),
            ("lost", json!({"command": "no-such-program"})),
            ("off", json!({"command": "x", "enabled": false})),
            ("slow", slow.entry()),
            ("wrong", json!({"command": "x", "url": "http://y"})),
        ],
    );
    let mut seat = Seat::take(&sandbox);
    seat.notice("demo connected");
    seat.notice("Failed to connect to \"lost\"");
    slow.script.wait_for(|line| line["message"]["method"] == "tools/list");
    seat.ask("/mcp list", "/mcp doctor");
    insta::assert_snapshot!(shown(&sandbox, &mut seat));
    seat.ask("/mcp status", "/mcp enable off");
    insta::assert_snapshot!(shown(&sandbox, &mut seat));
    seat.ask("/tools demo/add", "call it");
    insta::assert_snapshot!(shown(&sandbox, &mut seat));
    seat.ask("/help", "Ctrl-D leaves.");
    insta::assert_snapshot!(shown(&sandbox, &mut seat));
    assert_eq!(seat.leave(), 0);
}

fn shown(sandbox: &Sandbox, seat: &mut Seat) -> String {
    seat.see("\n> ");
    let text = seat.seen();
    sandbox.filter(text.trim_end_matches("\n> ").trim())
}

#[test]
fn without_anybody_there_it_is_a_usage_error() {
    let sandbox = home(PLAIN);
    let output = crate::switchboard(&sandbox).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("Usage: switchboard"));
    let output = crate::switchboard(&sandbox).arg("--json").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("{\"error\":"));
}
