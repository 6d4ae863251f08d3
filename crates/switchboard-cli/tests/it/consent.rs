//! The question on a terminal before something new is started.

use serde_json::json;
use testkit::{Fake, FakeScript, Sandbox, fake_server};

use crate::run;
use crate::screen::Screen;

/// A user's own server, and strangers that a project declares.
fn world(strangers: &[&str]) -> (Sandbox, FakeScript, FakeScript) {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let (own, other) = (Fake::script(json!({})), Fake::script(json!({})));
    let entry = json!({"command": fake_server(), "args": [own.path()]});
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"own": entry}}).to_string());
    let entry = |name: &&str| {
        let entry = json!({"command": fake_server(), "args": [other.path()], "env": {"WHO": name}});
        ((*name).to_owned(), entry)
    };
    let strangers: serde_json::Map<_, _> = strangers.iter().map(entry).collect();
    sandbox.write(".mcp.json", json!({"mcpServers": strangers}).to_string());
    (sandbox, own, other)
}

#[test]
fn a_no_is_remembered_and_the_list_goes_on() {
    let (sandbox, _own, other) = world(&["stranger"]);
    let mut screen = Screen::open(&sandbox, 100, &["tools"]);
    screen.wait_for("Approve stranger?");
    screen.send("\r");
    assert_eq!(screen.end(), 0);
    let seen = screen.text();
    assert!(seen.contains("A server waits for your approval. Nothing of it runs before."), "{seen}");
    assert!(seen.contains(".mcp.json line 1 (mcp.json)") && seen.contains("variable  WHO="), "{seen}");
    assert!(
        seen.contains("Not approved; you are not asked again. Later: switchboard trust stranger"),
        "{seen}"
    );
    assert!(seen.contains("mcp_own_echo") && !seen.contains("mcp_stranger"), "{seen}");
    let mut screen = Screen::open(&sandbox, 100, &["tools"]);
    assert_eq!(screen.end(), 0);
    assert!(!screen.text().contains("Approve stranger?"), "{}", screen.text());
    // Whoever names it is asked all the same.
    let mut screen = Screen::open(&sandbox, 100, &["tools", "stranger"]);
    screen.wait_for("Approve stranger?");
    screen.send("n\r");
    assert_eq!(screen.end(), 7);
    assert!(other.log().is_empty(), "it was never started");
    let mut screen = Screen::open(&sandbox, 100, &["test", "stranger"]);
    screen.wait_for("Approve stranger?");
    screen.send("y\r");
    assert_eq!(screen.end(), 0, "{}", screen.text());
}

#[test]
fn a_yes_starts_it_at_once() {
    let (sandbox, _own, _other) = world(&["stranger"]);
    let mut screen = Screen::open(&sandbox, 100, &["call", "stranger/echo", "text=hi"]);
    screen.wait_for("Approve stranger?");
    screen.send("y\r");
    assert_eq!(screen.end(), 0);
    let seen = screen.text();
    assert!(seen.contains("Approved: stranger") && seen.ends_with("hi"), "{seen}");
    assert!(run(&sandbox, &["tools"]).contains("mcp_stranger_echo"));
}

#[test]
fn of_several_some_may_be_taken() {
    let (sandbox, _own, _other) = world(&["one", "two"]);
    let mut screen = Screen::open(&sandbox, 100, &["tools"]);
    screen.wait_for("Approve which?");
    assert!(screen.text().contains("2 servers wait for your approval"), "{}", screen.text());
    screen.send("\x1b[B \r");
    assert_eq!(screen.end(), 0);
    let seen = screen.text();
    assert!(seen.contains("Approved: two") && seen.contains("Later: switchboard trust one"), "{seen}");
    assert!(seen.contains("mcp_two_echo") && !seen.contains("mcp_one"), "{seen}");
}

#[test]
fn what_is_about_another_server_asks_nothing() {
    let (sandbox, _own, _other) = world(&["stranger"]);
    for line in [
        &["call", "own/echo", "text=hi"][..],
        &["call", "mcp_own_echo", "text=hi"],
        &["tools", "own"],
        &["status"],
    ] {
        let mut screen = Screen::open(&sandbox, 100, line);
        assert_eq!(screen.end(), 0, "{}", screen.text());
        assert!(!screen.text().contains("Approve"), "{}", screen.text());
    }
    // To leave the question is to leave the command.
    let mut screen = Screen::open(&sandbox, 100, &["tools"]);
    screen.wait_for("Approve stranger?");
    screen.send("\x03");
    assert_eq!(screen.end(), 130);
}
