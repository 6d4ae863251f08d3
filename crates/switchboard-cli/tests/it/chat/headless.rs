//! What a run without a terminal prints and sends, for every provider.

use serde_json::json;

use super::{OPENAI, PROVIDERS, World, calls, offered, told};

#[test]
fn words_come_from_every_provider() {
    for provider in PROVIDERS {
        let world = World::new(provider, json!({}), &json!([{"text": ["Hel", "lo ", "Wörld"]}]));
        let ran = world.chat(&[]);
        assert_eq!(
            (ran.out.as_str(), ran.err.as_str(), ran.code),
            ("Hello Wörld\n", "", Some(0)),
            "{}",
            provider.word
        );
        let request = &world.model.requests()[0];
        assert!(offered(provider, request).contains(&"mcp_fake_echo".to_owned()), "{request}");
        assert!(request.to_string().contains("Do it."), "{request}");
        let headers = world.model.log()[0]["headers"].to_string();
        assert_eq!(headers.contains("canary-key"), provider.key.is_some(), "{headers}");
    }
}

#[test]
fn parallel_calls_are_made_and_told_in_order() {
    for provider in PROVIDERS {
        let first = calls(&[
            ("mcp_fake_slow", json!({"ms": 100})),
            ("mcp_fake_add", json!({"a": 2, "b": 40})),
            ("mcp_fake_echo", json!({"text": "x"})),
        ]);
        let world = World::new(provider, json!({}), &json!([first, {"text": "It is 42."}]));
        let ran = world.chat(&["--allow", "mcp_fake_*", "--json"]);
        assert_eq!(ran.code, Some(0), "{}: {}", provider.word, ran.err);
        let report = ran.json();
        assert_eq!(report["text"], "It is 42.");
        assert_eq!(report["stopReason"], "done");
        assert_eq!(
            report["usage"],
            json!({"inputTokens": 20, "cachedTokens": 8, "outputTokens": 14}),
            "{}",
            provider.word
        );
        let rows: Vec<_> =
            report["toolCalls"].as_array().unwrap().iter().map(|row| row["tool"].clone()).collect();
        assert_eq!(rows, ["slow", "add", "echo"], "{}", provider.word);
        let added = &report["toolCalls"][1];
        assert_eq!(added["arguments"], json!({"a": 2, "b": 40}));
        assert_eq!((&added["isError"], &added["approved"]), (&json!(false), &json!(true)));
        let results = told(provider, &world.model.requests()[1]);
        assert_eq!(results.len(), 3, "{}: {results:?}", provider.word);
        assert!(results[1].contains("42"), "{}: {results:?}", provider.word);
    }
}

#[test]
fn what_no_rule_allows_is_denied_and_the_model_is_told_why() {
    for provider in PROVIDERS {
        let first = calls(&[("mcp_fake_add", json!({"a": 1, "b": 1})), ("mcp_fake_count", json!({}))]);
        let world = World::new(provider, json!({}), &json!([first, {"text": "I may not."}]));
        let ran = world.chat(&["--allow", "*", "--deny", "fake/count", "--deny", "mcp_*_add", "--json"]);
        let report = ran.json();
        assert_eq!((report["denied"].clone(), ran.code), (json!(2), Some(0)), "{}", provider.word);
        assert_eq!(report["toolCalls"][0]["approved"], false);
        let results = told(provider, &world.model.requests()[1]);
        assert!(results[0].contains("the rule `mcp_*_add` of this run denies `mcp_fake_add`"), "{results:?}");
        assert!(!world.script.methods().contains(&"tools/call".to_owned()), "nothing was sent");
    }
    let world =
        World::new(OPENAI, json!({}), &json!([calls(&[("mcp_fake_echo", json!({}))]), {"text": "No."}]));
    let ran = world.chat(&[]);
    assert_eq!(ran.err, "1 call was not allowed; --allow GLOB allows what it fits\n");
    let results = told(OPENAI, &world.model.requests()[1]);
    let reason =
        "Error: not allowed: `mcp_fake_echo` needs approval, no rule allows it, and nobody is there to ask";
    assert_eq!(results, [reason]);
}

#[test]
fn malformed_arguments_and_unknown_tools_can_be_corrected() {
    for provider in PROVIDERS {
        let first = calls(&[
            ("mcp_fake_echo", json!("{\"text\": \"x")),
            ("mcp_fake_nothing", json!({})),
            ("mcp_fake_echo", json!([1])),
        ]);
        let second = calls(&[("mcp_fake_echo", json!({"text": "right"}))]);
        let world = World::new(provider, json!({}), &json!([first, second, {"text": "Done."}]));
        let ran = world.chat(&["--allow", "*", "--json"]);
        let report = ran.json();
        assert_eq!(report["text"], "Done.", "{}: {}", provider.word, ran.err);
        let fates: Vec<_> =
            report["toolCalls"].as_array().unwrap().iter().map(|row| row["fate"].clone()).collect();
        assert_eq!(fates, ["malformed", "unknown", "malformed", "made"], "{}: {report}", provider.word);
        let results = told(provider, &world.model.requests()[1]);
        assert!(
            results[0].contains("are not valid JSON") || results[0].contains("must be one JSON object"),
            "{results:?}"
        );
        assert!(results[1].contains("there is no tool `mcp_fake_nothing`"), "{results:?}");
    }
}

#[test]
fn the_first_step_can_be_told_to_call_a_tool() {
    let sent = |choice: &str| {
        let turns = json!([calls(&[("mcp_fake_echo", json!({"text": "x"}))]), {"text": "Done."}]);
        let world = World::new(OPENAI, json!({}), &turns);
        let ran = world.chat(&["--allow", "*", "--tool-choice", choice]);
        let choices: Vec<_> =
            world.model.requests().iter().map(|request| request["tool_choice"].clone()).collect();
        (choices, ran.code)
    };
    assert_eq!(sent("required"), (vec![json!("required"), json!(null)], Some(0)), "only the first");
    let named = json!({"type": "function", "function": {"name": "mcp_fake_echo"}});
    assert_eq!(sent("fake/echo"), (vec![named, json!(null)], Some(0)));
    assert_eq!(sent("nothing"), (vec![], Some(2)));
}

#[test]
fn the_limit_of_steps_ends_with_a_last_answer_without_tools() {
    let again = calls(&[("mcp_fake_echo", json!({"text": "x"}))]);
    let world = World::new(OPENAI, json!({}), &json!([again, again, {"text": "That is all."}]));
    let ran = world.chat(&["--allow", "*", "--max-steps", "2"]);
    assert_eq!((ran.out.as_str(), ran.code), ("That is all.\n", Some(1)));
    assert!(ran.err.contains("the limit of 2 steps was reached"), "{}", ran.err);
    let requests = world.model.requests();
    assert_eq!((requests.len(), &requests[2]["tool_choice"]), (3, &json!("none")));
}

#[test]
fn events_come_one_a_line() {
    let first =
        json!({"text": "Let me see.", "calls": [{"name": "mcp_fake_add", "arguments": {"a": 2, "b": 40}}]});
    let world = World::new(OPENAI, json!({}), &json!([first, {"text": ["4", "2"]}]));
    let ran = world.chat(&["--allow", "*", "--stream-json"]);
    let lines = ran.lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["start", "text", "usage", "toolCall", "toolResult", "text", "text", "usage", "result"]
    );
    assert_eq!(lines[0]["model"], "openai/small");
    assert_eq!((&lines[3]["server"], &lines[3]["tool"]), (&json!("fake"), &json!("add")));
    assert_eq!((&lines[4]["isError"], &lines[4]["fate"]), (&json!(false), &json!("made")));
    assert_eq!(lines[8]["text"], "42");
}

#[test]
fn many_tools_are_found_by_searching() {
    let tools: Vec<_> = (0..150)
        .map(|n| json!({"name": format!("thing_{n}"), "description": format!("Does thing number {n}"), "inputSchema": {"type": "object"}}))
        .collect();
    let turns = json!([
        calls(&[("search_tools", json!({"query": "thing number 77"}))]),
        calls(&[("mcp_fake_thing_77", json!({}))]),
        {"text": "Done."}
    ]);
    let world = World::new(OPENAI, json!({"tools": tools}), &turns);
    let ran = world.chat(&["--allow", "*", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let requests = world.model.requests();
    assert_eq!(offered(OPENAI, &requests[0]), ["search_tools"]);
    let after = offered(OPENAI, &requests[1]);
    assert!(after[0] == "search_tools" && after.contains(&"mcp_fake_thing_77".to_owned()), "{after:?}");
    assert_eq!(ran.json()["toolCalls"][1]["tool"], "thing_77");
}

#[test]
fn a_model_may_hand_on_a_task_if_the_user_lets_it() {
    let turns = json!([
        calls(&[("delegate_task", json!({"task": "Add them.", "servers": ["fake"]}))]),
        calls(&[("mcp_fake_add", json!({"a": 2, "b": 40}))]),
        {"text": "It is 42."},
        {"text": "The helper says 42."}
    ]);
    let world = World::new(OPENAI, json!({}), &turns);
    world
        .sandbox
        .write("~/.switchboard/settings.json", r#"{"defaults": false, "chat": {"subAgents": true}}"#);
    let report = world.chat(&["--allow", "*", "--json"]).json();
    assert_eq!(report["text"], "The helper says 42.");
    assert_eq!(report["toolCalls"][1]["tool"], "add", "what the helper did is told");
    let requests = world.model.requests();
    assert!(!offered(OPENAI, &requests[1]).contains(&"delegate_task".to_owned()), "a helper has no helpers");
    assert_eq!(told(OPENAI, &requests[3]), ["It is 42."]);
    assert!(!requests[1].to_string().contains("Do it."), "a conversation of its own");
}
