//! What is missing is named, and nothing is started for nothing.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::Sandbox;

use super::{OPENAI, World};
use crate::{run, session, switchboard};

#[test]
fn what_is_missing_is_named() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(session(
        &sandbox,
        &[
            &["chat", "-p", "hello"],
            &["chat", "-p", "hello", "--model", "gpt"],
            &["chat", "-p", "hello", "--model", "anthropic/x"],
            &["chat", "-p", "hello", "--model", "openai/x", "--json"],
            &["chat", "-p", "hello", "--model", "gemini/x"],
            &["chat", "-p", " ", "--model", "ollama/x"],
            &["chat", "-p", "hello", "--model", "ollama/x", "--only", "nobody"],
        ]
    ));
}

#[test]
fn a_project_cannot_send_the_key_elsewhere() {
    let sandbox = Sandbox::new().with_var("OPENAI_API_KEY", "canary-key");
    sandbox.write(
        ".switchboard/settings.json",
        r#"{"chat": {"model": "openai/x", "baseUrl": "http://127.0.0.1:1/v1"}}"#,
    );
    let seen = run(&sandbox, &["chat", "-p", "hello"]);
    assert!(seen.contains("no model is set"), "{seen}");
    let seen = run(&sandbox, &["doctor"]);
    assert!(seen.contains("`chat` in a project's settings has no effect"), "{seen}");
}

#[test]
fn the_settings_name_the_model_and_the_address() {
    let world = World::new(OPENAI, json!({}), &json!([{"text": "one"}, {"text": "two"}]));
    let url = format!("{}/v1", world.model.url());
    let chat = json!({"model": "openai/kept", "baseUrl": url, "prices": {"openai/kept": {"input": 3, "output": 15.5, "cached": 0.3}}});
    world.sandbox.write("~/.switchboard/settings.json", json!({"defaults": false, "chat": chat}).to_string());
    let bare = |line: &[&str]| {
        switchboard(&world.sandbox).env_remove("OPENAI_BASE_URL").args(line).output().unwrap()
    };
    let output = bare(&["chat", "-p", "hello", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["text"], &report["model"]), (&json!("one"), &json!("openai/kept")));
    // 6 fresh at 3, 4 known at 0.3, 7 written at 15.5 dollars for a million.
    assert_eq!(report["usage"]["costMicroDollars"], 128);
    let mut named = switchboard(&world.sandbox);
    named.env("SWITCHBOARD_MODEL", "openai/other").args(["chat", "-p", "hello", "--json"]);
    let report: Value = serde_json::from_slice(&named.output().unwrap().stdout).unwrap();
    assert_eq!(report["model"], "openai/other");
    let models: Vec<_> = world.model.requests().iter().map(|request| request["model"].clone()).collect();
    assert_eq!(models, ["kept", "other"]);
}

#[test]
fn a_name_is_sent_as_it_is_written() {
    for name in ["mistral-medium", "deepseek-v3-low", "a/b:c", "x::y"] {
        let world = World::new(OPENAI, json!({}), &json!([{"text": "hi"}]));
        let mut command = switchboard(&world.sandbox);
        command.args(["chat", "-p", "hello", "--model", &format!("openai/{name}")]);
        assert!(command.output().unwrap().status.success());
        let request = &world.model.requests()[0];
        assert_eq!(request["model"], name);
        assert_eq!(request.get("reasoning_effort"), None, "{name}");
    }
}

#[test]
fn the_prompt_comes_from_standard_input() {
    for line in [&["chat", "--model", "openai/x"][..], &["chat", "-p", "-", "--model", "openai/x"]] {
        let world = World::new(OPENAI, json!({}), &json!([{"text": "heard"}]));
        let mut child = switchboard(&world.sandbox)
            .args(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"from a pipe").unwrap();
        assert!(child.wait_with_output().unwrap().status.success());
        assert!(world.model.requests()[0].to_string().contains("from a pipe"));
    }
}

#[test]
fn words_of_a_server_carry_its_name_and_nothing_hidden() {
    let tool =
        json!({"name": "t", "description": "Reads.\u{e0041}\u{200b}", "inputSchema": {"type": "object"}});
    let server = json!({"instructions": "Be \u{202e}careful.", "tools": [tool]});
    let world = World::new(OPENAI, server, &json!([{"text": "hi"}]));
    world.chat(&["--system", "Own words."]);
    let request = world.model.requests().remove(0);
    let system = request["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("Own words.\n\n"), "{system}");
    assert!(system.contains("<server-words server=\"fake\"") && system.contains("Be careful."), "{system}");
    assert_eq!(request["tools"][0]["function"]["description"], "Reads.");
}

#[test]
fn a_server_that_fails_is_told_and_the_turn_goes_on() {
    let world = World::new(OPENAI, json!({}), &json!([{"text": "hi"}, {"text": "hi"}]));
    let text = world.sandbox.read("~/.switchboard/mcp.json");
    let mut file: Value = serde_json::from_str(&text).unwrap();
    file["mcpServers"]["broken"] = json!({"command": "/nowhere/at-all"});
    world.sandbox.write("~/.switchboard/mcp.json", file.to_string());
    let ran = world.chat(&[]);
    assert_eq!((ran.out.as_str(), ran.code), ("hi\n", Some(0)));
    assert!(ran.err.contains("Failed to connect to \"broken\""), "{}", ran.err);
    assert_eq!(world.chat(&["--json"]).json()["errors"][0]["server"], "broken");
    file["mcpServers"]["broken"]["required"] = json!(true);
    world.sandbox.write("~/.switchboard/mcp.json", file.to_string());
    assert_eq!(world.chat(&[]).code, Some(4), "a required one is missed");
}
