//! What one server costs the others, and how a list is judged.

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Sandbox, fake_server};

use crate::{json as report, run};

/// A server that never says a word.
fn mute() -> Value {
    json!({"on": {"*": [{"silent": true}]}})
}

fn entry(script: &FakeScript, more: &Value) -> Value {
    let mut entry = json!({"command": fake_server(), "args": [script.path()]});
    if let (Value::Object(entry), Value::Object(more)) = (&mut entry, more) {
        entry.extend(more.clone());
    }
    entry
}

/// A home with these servers of the user's and nothing built in.
fn home(servers: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": servers}).to_string());
    sandbox
}

fn offers() -> Value {
    json!({
        "resources": [{"uri": "note:one", "name": "one", "text": "hello"}],
        "templates": [{"uriTemplate": "day:{day}", "name": "a day"}],
        "prompts": [{"name": "greet", "messages": [{"role": "user", "content": {"type": "text", "text": "Say hello"}}]}],
    })
}

#[test]
fn a_required_server_is_missed_unless_it_is_switched_off() {
    let good = Fake::script(json!({}));
    let other = Fake::script(mute());
    let cases = [
        (json!({"command": "no-such-program-anywhere"}), 4, "\"needed\" did not answer"),
        (entry(&other, &json!({"startupTimeout": 300})), 4, "\"needed\" did not answer"),
        (json!({"command": "x", "url": "https://y"}), 4, "\"needed\" cannot be used as it is written"),
        (json!({"command": "x", "enabled": false}), 0, ""),
    ];
    for (mut needed, code, words) in cases {
        needed["required"] = json!(true);
        let sandbox = home(&json!({"good": entry(&good, &json!({})), "needed": needed}));
        for verb in ["tools", "resources", "prompts"] {
            let seen = run(&sandbox, &[verb]);
            assert!(seen.contains(words) && seen.ends_with(&format!("--- exit {code}\n")), "{seen}");
        }
        // Whoever asks another server does not miss it.
        assert!(run(&sandbox, &["tools", "good"]).ends_with("--- exit 0\n"));
    }
    let sandbox = home(&json!({"good": entry(&good, &json!({}))}));
    sandbox.write(".mcp.json", r#"{"mcpServers": {"needed": {"command": "x", "required": true}}}"#);
    let seen = run(&sandbox, &["tools"]);
    assert!(seen.contains("mcp_good_echo") && seen.contains("hint: switchboard trust needed"), "{seen}");
    assert!(seen.ends_with("--- exit 4\n"), "{seen}");
}

#[test]
fn a_required_server_from_memory_is_waited_for() {
    let good = Fake::script(json!({}));
    let slow = Fake::script(json!({"on": {"initialize": [{"sleep_ms": 600}, {"default": true}]}}));
    let sandbox =
        home(&json!({"good": entry(&good, &json!({})), "slow": entry(&slow, &json!({"required": true}))}));
    for _ in 0..2 {
        let seen = report(&sandbox, &["tools", "--json"]);
        let states: Vec<_> = seen["tools"].as_array().unwrap().iter().map(|tool| &tool["state"]).collect();
        assert!(states.iter().all(|state| **state == "live"), "{states:?}");
    }
    // One that hangs from now on is known from before, and has not answered.
    std::fs::write(slow.path(), mute().to_string()).unwrap();
    let servers = json!({"good": entry(&good, &json!({})), "slow": entry(&slow, &json!({"required": true, "startupTimeout": 300}))});
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": servers}).to_string());
    let seen = run(&sandbox, &["tools"]);
    assert!(seen.contains("mcp_slow_echo") && seen.ends_with("--- exit 4\n"), "{seen}");
}

#[test]
fn nobody_waits_for_one_that_is_known_while_another_answers() {
    let good = Fake::script(json!({}));
    let other = Fake::script(json!({}));
    let servers =
        json!({"good": entry(&good, &json!({})), "other": entry(&other, &json!({"startupTimeout": 0}))});
    let sandbox = home(&servers);
    run(&sandbox, &["resources"]);
    std::fs::write(other.path(), mute().to_string()).unwrap();
    let seen = run(&sandbox, &["tools"]);
    assert!(seen.contains("mcp_other_echo") && seen.ends_with("--- exit 0\n"), "{seen}");
    assert!(
        seen.contains("shown as of last time: other (just now)\n  hint: --wait waits for them"),
        "{seen}"
    );
}

#[test]
fn without_any_answer_a_list_fails_and_shows_what_is_known() {
    let only = Fake::script(json!({}));
    let sandbox = home(&json!({"only": entry(&only, &json!({"startupTimeout": 300}))}));
    run(&sandbox, &["tools"]);
    std::fs::write(only.path(), mute().to_string()).unwrap();
    let seen = run(&sandbox, &["tools"]);
    assert!(seen.contains("mcp_only_echo") && seen.contains("no server answered"), "{seen}");
    assert!(seen.ends_with("--- exit 4\n"), "{seen}");
    // One that rests until it is needed has nothing to answer.
    let idle = Fake::script(json!({}));
    let sandbox = home(&json!({"only": entry(&idle, &json!({"lazy": true}))}));
    run(&sandbox, &["tools"]);
    assert!(run(&sandbox, &["tools"]).ends_with("--- exit 0\n"));
    // Nothing to ask is no failure, nothing that can be used is one.
    let seen = run(&home(&json!({})), &["tools"]);
    assert!(seen.contains("Add one: switchboard add NAME") && seen.ends_with("--- exit 0\n"), "{seen}");
    assert!(
        run(&home(&json!({"bad": {"url": "https://x", "command": "y"}})), &["tools"])
            .ends_with("--- exit 4\n")
    );
}

#[test]
fn one_that_hangs_costs_nothing_where_the_answer_is_known() {
    let good = Fake::script(offers());
    let hung = Fake::script(mute());
    // Without a limit: whoever waits for it waits for ever.
    let servers = json!({"good": entry(&good, &json!({})), "hung": entry(&hung, &json!({"timeout": 0, "startupTimeout": 0}))});
    let lines: &[(&[&str], &str)] = &[
        (&["read", "note:one"], "hello"),
        (&["read", "note:one", "--server", "good"], "hello"),
        (&["prompt", "greet"], "Say hello"),
        (&["prompt", "good:greet"], "Say hello"),
        (&["prompt", "greet", "--server", "good"], "Say hello"),
        (&["call", "good/add", "a=1", "b=2"], "3"),
        (&["call", "mcp_good_add", "a=1", "b=2"], "3"),
        (&["call", "add", "--server", "good", "a=1", "b=2"], "3"),
    ];
    for (line, answer) in lines {
        // With nothing known from before.
        let sandbox = home(&servers);
        let seen = run(&sandbox, line);
        assert!(seen.contains(answer) && seen.ends_with("--- exit 0\n"), "{seen}");
    }
}

#[test]
fn what_is_known_from_last_time_starts_its_server_only() {
    let (good, other) = (Fake::script(offers()), Fake::script(json!({})));
    let sandbox = home(&json!({"good": entry(&good, &json!({})), "other": entry(&other, &json!({}))}));
    run(&sandbox, &["resources"]);
    let before = other.log().len();
    for line in [
        &["read", "note:one"][..],
        &["read", "day:monday"],
        &["prompt", "greet"],
        &["call", "mcp_good_add", "a=1", "b=2"],
    ] {
        let seen = run(&sandbox, line);
        assert!(seen.ends_with("--- exit 0\n") || line[1] == "day:monday", "{seen}");
        assert_eq!(other.log().len(), before, "{seen}");
    }
    // What has moved since is found all the same.
    std::fs::write(good.path(), "{}").unwrap();
    std::fs::write(other.path(), offers().to_string()).unwrap();
    run(&sandbox, &["resources"]);
    let seen = run(&sandbox, &["read", "note:one"]);
    assert!(seen.contains("hello"), "{seen}");
}

#[test]
fn a_spelling_that_names_a_server_gets_its_reason() {
    let good = Fake::script(json!({}));
    let sandbox = home(&json!({"good": entry(&good, &json!({})), "off": {"command": "x", "enabled": false}}));
    sandbox.write(".mcp.json", r#"{"mcpServers": {"stranger": {"command": "x"}}}"#);
    for (line, code) in [
        (&["call", "stranger/echo"][..], 7),
        (&["call", "mcp_stranger_echo"], 7),
        (&["call", "off/echo"], 2),
        (&["prompt", "stranger:x"], 7),
        (&["read", "note:one", "--server", "off"], 2),
    ] {
        let seen = run(&sandbox, line);
        assert!(seen.ends_with(&format!("--- exit {code}\n")) && !seen.contains("is called"), "{seen}");
    }
    assert!(good.log().is_empty(), "nobody else was started");
}

#[test]
fn who_could_not_be_asked_is_said_to_those_who_look_for_something() {
    let sandbox = home(&json!({"gone": {"command": "no-such-program-anywhere"}}));
    let seen = run(&sandbox, &["read", "note:one"]);
    assert!(seen.contains("not asked, since it does not work: gone; see switchboard test gone"), "{seen}");
}
