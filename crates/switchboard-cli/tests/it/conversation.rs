//! The agent inside the interactive session, in a real terminal: words, calls and what somebody decides about them, with a
//! model and a server that follow scripts.

use serde_json::{Value, json};

use crate::chat::{OPENAI, World, calls, told};
use crate::screen::Screen;
use crate::seat::Seat;

/// A server, a model, and the name of the model where sessions look for it.
fn world(server: Value, turns: &Value) -> World {
    let world = World::new(OPENAI, server, turns);
    let name = world.name();
    let sandbox = world.sandbox.with_var("SWITCHBOARD_MODEL", &name).with_var("LANG", "C.UTF-8");
    World { sandbox, ..world }
}

/// The session, once the server is there.
fn open(world: &World) -> Screen {
    let mut screen = Screen::sized(&world.sandbox, (100, 50), &[]);
    screen.wait_for("1 connected");
    screen
}

/// Types a line.
fn say(screen: &mut Screen, line: &str) {
    screen.send(&format!("{line}\r"));
}

/// Waits until nothing is done any more, and the last row says how the servers stand.
fn rest(screen: &mut Screen) {
    screen.wait_until(|text| {
        text.contains("1 connected") && !text.contains("Ctrl-C stops it") && !text.contains("stopping")
    });
}

fn quit(screen: &mut Screen) {
    say(screen, "/quit");
    assert_eq!(screen.end(), 0, "{}", screen.text());
}

fn n_calls(world: &World) -> usize {
    world.script.methods().iter().filter(|method| *method == "tools/call").count()
}

/// A turn with words that calls `echo`.
fn echo(words: &str, text: &str) -> Value {
    let mut turn = calls(&[("mcp_fake_echo", json!({ "text": text }))]);
    turn["text"] = json!(words.split_inclusive(' ').collect::<Vec<_>>());
    turn
}

#[test]
fn words_lead_to_a_call_and_an_answer() {
    let world =
        world(json!({}), &json!([echo("I ask the echo.", "hello"), {"text": ["It says ", "hello."]}]));
    let mut screen = open(&world);
    screen.wait_for("openai/small");
    say(&mut screen, "What does the echo say?");
    screen.wait_for("May fake run echo?");
    screen.wait_until(|text| text.contains("I ask the echo.") && text.contains("\"text\": \"hello\""));
    assert_eq!(n_calls(&world), 0, "nothing runs before somebody agreed");
    screen.send("y");
    screen.wait_for("It says hello.");
    screen.wait_for("openai/small 20 in, 14 out");
    let text = screen.text();
    assert!(!text.contains("May fake run") && text.contains("mcp_fake_echo done in"), "{text}");
    assert_eq!(n_calls(&world), 1);
    assert_eq!(told(OPENAI, &world.model.requests()[1]), ["hello"]);
    quit(&mut screen);
}

#[test]
fn a_no_with_a_reason_reaches_the_model_and_not_the_server() {
    let world = world(json!({}), &json!([echo("I ask.", "hello"), {"text": "Then not."}]));
    let mut screen = open(&world);
    say(&mut screen, "Ask the echo.");
    screen.wait_for("May fake run echo?");
    screen.send("rask Bob first\r");
    screen.wait_for("Then not.");
    rest(&mut screen);
    assert!(screen.text().contains("mcp_fake_echo denied"), "{}", screen.text());
    let results = told(OPENAI, &world.model.requests()[1]);
    assert!(results.len() == 1 && results[0].contains("ask Bob first"), "{results:?}");
    assert_eq!(n_calls(&world), 0);
    quit(&mut screen);
}

#[test]
fn always_holds_for_the_next_session_until_the_tool_changes() {
    let turns: Vec<Value> = ["one", "two", "three"]
        .iter()
        .flat_map(|text| [echo("I ask.", text), json!({"text": format!("That was {text}.")})])
        .collect();
    let world = world(json!({"tools": [{"name": "echo", "description": "Says it again."}]}), &json!(turns));
    let mut screen = open(&world);
    say(&mut screen, "One.");
    screen.wait_for("May fake run echo?");
    screen.send("a");
    screen.wait_for("That was one.");
    quit(&mut screen);

    let mut screen = open(&world);
    say(&mut screen, "Two.");
    screen.wait_for("That was two.");
    quit(&mut screen);
    assert_eq!(n_calls(&world), 2);

    let path = world.script.path();
    let mut script: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    script["tools"][0]["description"] = json!("Says it again, to everybody.");
    std::fs::write(&path, script.to_string()).unwrap();
    let mut screen = open(&world);
    say(&mut screen, "Three.");
    screen.wait_for("May fake run echo?");
    screen.wait_for("CHANGED: it is not what you approved for good.");
    assert_eq!(n_calls(&world), 2);
    screen.send("y");
    screen.wait_for("That was three.");
    quit(&mut screen);
}

#[test]
fn ctrl_c_stops_the_model_or_the_call_and_the_conversation_goes_on() {
    let world = world(
        json!({"on": {"tools/call": [{"silent": true}]}}),
        &json!([{"text": "On and on", "hang": true}, echo("I ask.", "x"), {"text": "Still here."}]),
    );
    let mut screen = open(&world);
    say(&mut screen, "First.");
    screen.wait_for("On and on");
    screen.send("\x03");
    world.model.wait_for(|line| line.get("closed").is_some());
    rest(&mut screen);
    say(&mut screen, "Second.");
    screen.wait_for("May fake run echo?");
    screen.send("y");
    world.script.wait_for(|line| line["message"]["method"] == "tools/call");
    screen.send("\x03");
    world.script.wait_for(|line| line["message"]["method"] == "notifications/cancelled");
    rest(&mut screen);
    assert_eq!(world.model.requests().len(), 2, "the model is not asked again");
    say(&mut screen, "Third.");
    screen.wait_for("Still here.");
    rest(&mut screen);
    let requests = world.model.requests();
    let messages = requests[2]["messages"].as_array().unwrap();
    let said = |words: &str| messages.iter().any(|message| message["content"].to_string().contains(words));
    assert!(said("First.") && said("Second.") && said("Third."), "{messages:?}");
    // Every call has its result, as providers want it.
    let id = messages.iter().find_map(|message| message["tool_calls"][0]["id"].as_str()).unwrap();
    assert!(messages.iter().any(|message| message["tool_call_id"] == id), "{messages:?}");
    quit(&mut screen);
}

#[test]
fn a_model_is_chosen_forgotten_and_kept() {
    let world = World::new(OPENAI, json!({}), &json!([{"text": "I am small."}, {"text": "Anew."}]));
    let mut screen = open(&world);
    say(&mut screen, "/model");
    screen.wait_for("no model is set");
    screen.wait_for("SWITCHBOARD_MODEL");
    say(&mut screen, "/model openai/x");
    screen.wait_for("Model: openai/x");
    say(&mut screen, "Who are you?");
    screen.wait_for("I am small.");
    screen.wait_for("openai/x 10 in, 7 out");
    say(&mut screen, "/save kept.jsonl");
    screen.wait_for("Wrote the conversation to");
    let kept = world.sandbox.read("kept.jsonl");
    assert!(kept.contains("Who are you?") && kept.contains("I am small."), "{kept}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(world.sandbox.path("kept.jsonl")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    say(&mut screen, "/clear");
    screen.wait_for("The conversation begins anew.");
    say(&mut screen, "And now?");
    screen.wait_for("Anew.");
    let requests = world.model.requests();
    assert_eq!(requests[1]["model"], "x");
    assert!(!requests[1].to_string().contains("Who are you?"), "{}", requests[1]);
    quit(&mut screen);
}

#[test]
fn a_server_uses_the_model_if_somebody_agrees() {
    let ask = json!({"request": {"id": "q", "method": "sampling/createMessage", "params": {"maxTokens": 100,
        "messages": [{"role": "user", "content": {"type": "text", "text": "Say a number"}}]}}});
    let answer = |path: &str| json!({"result": {"content": [{"type": "text", "text": path}]}});
    let lists = json!([[ask, answer("$answer.result.content.text")], [ask, answer("$answer.error.message")]]);
    let world = world(json!({"on": {"tools/call": {"times": lists}}}), &json!([{"text": "Forty-two"}]));
    let mut screen = open(&world);
    say(&mut screen, "/call fake/echo text=x");
    screen.wait_for("May fake ask your model this?");
    screen.wait_for("Say a number");
    assert!(world.model.requests().is_empty(), "nothing is asked before somebody agreed");
    screen.send("y");
    screen.wait_for("\nForty-two\n");
    rest(&mut screen);
    say(&mut screen, "/call fake/echo text=x");
    screen.wait_for("May fake ask your model this?");
    screen.send("n");
    screen.wait_for("the user declined");
    rest(&mut screen);
    assert_eq!(world.model.requests().len(), 1);
    quit(&mut screen);
}

#[test]
fn a_terminal_of_lines_has_the_same_conversation() {
    let world = world(
        json!({}),
        &json!([echo("I ask.", "hello"), {"text": "It says hello."}, echo("Again.", "x"), {"text": "Well."}]),
    );
    let world = World { sandbox: world.sandbox.with_var("TERM", "dumb"), ..world };
    let mut seat = Seat::take(&world.sandbox);
    seat.notice("fake connected");
    seat.ask("What does the echo say?", "May `echo` of \"fake\" be called?");
    seat.see("\"text\": \"hello\"");
    seat.see("Number [4]:");
    seat.ask("y", "It says hello.\n");
    seat.see("\n> ");
    assert_eq!(n_calls(&world), 1);
    seat.ask("Once more.", "Number [4]:");
    seat.ask("4", "Why not?");
    seat.ask("no need", "Well.\n");
    let results = told(OPENAI, &world.model.requests()[3]);
    assert!(results[1].contains("no need"), "{results:?}");
    assert_eq!(n_calls(&world), 1);
    assert_eq!(seat.leave(), 0);
}
