//! The interactive session in a real terminal: what is seen, what keys do, and how the terminal is left.

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Sandbox, fake_server};

use crate::screen::Screen;

const SIZE: (u16, u16) = (80, 24);

/// A home with these servers and nothing built in.
fn home(servers: &Value) -> Sandbox {
    let sandbox = Sandbox::new().with_var("LANG", "C.UTF-8");
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    sandbox.write("~/.switchboard/mcp.json", json!({ "mcpServers": servers }).to_string());
    sandbox
}

/// A home with one scripted server, and its session once the server is there.
fn world(script: Value) -> (Sandbox, FakeScript, Screen) {
    let script = Fake::script(script);
    let sandbox = home(&json!({"fake": {"command": fake_server(), "args": [script.path()]}}));
    let mut screen = Screen::sized(&sandbox, SIZE, &[]);
    screen.wait_for("1 connected");
    (sandbox, script, screen)
}

/// Types a line, and leaves.
fn quit(screen: &mut Screen) {
    screen.send("/quit\r");
    assert_eq!(screen.end(), 0, "{}", screen.text());
}

#[test]
fn servers_come_up_while_one_looks() {
    for (columns, rows) in [(80, 24), (140, 50)] {
        let slow = Fake::script(json!({"on": {"tools/list": [{"sleep_ms": 1500}, {"default": true}]}}));
        let quick = Fake::script(json!({}));
        let tracker = Fake::http(json!({"login": {}}));
        let sandbox = home(&json!({
            "slow": {"command": fake_server(), "args": [slow.path()]},
            "quick": {"command": fake_server(), "args": [quick.path()]},
            "broken": {"command": "no-such-program"},
            "tracker": {"url": tracker.url()},
        }));
        let mut screen = Screen::sized(&sandbox, (columns, rows), &[]);
        screen.wait_for("connecting");
        // Nobody presses a key, and it says more and more.
        screen.wait_until(|text| {
            text.contains("2 connected") && text.contains("login") && text.contains("broken failed:")
        });
        screen.send("/hel");
        screen.wait_for("› /hel");
        insta::assert_snapshot!(format!("start_{columns}x{rows}"), sandbox.filter(&screen.text()));
        screen.send("\x03");
        quit(&mut screen);
    }
}

#[test]
fn a_call_is_approved_in_each_way() {
    let (_sandbox, script, mut screen) = world(json!({}));
    let called =
        |script: &FakeScript| script.methods().iter().filter(|method| *method == "tools/call").count();
    let mut ask = |text: &str, keys: &str, shown: &str| {
        screen.send(&format!("/call --ask fake/echo {{\"text\": \"{text}\"}}\r"));
        screen.wait_for("May fake run echo?");
        screen.wait_for(&format!("\"text\": \"{text}\""));
        screen.send(keys);
        screen.wait_until(|text| text.contains(shown) && !text.contains("May fake run"));
    };
    ask("one", "n", "said no");
    ask("two", "rask Bob first\r", "ask Bob first");
    assert_eq!(called(&script), 0, "nothing ran");
    ask("three", "y", "\nthree\n");
    ask("four", "s", "\nfour\n");
    screen.send("/call --ask fake/echo {\"text\": \"five\"}\r");
    screen.wait_for("\nfive\n");
    assert_eq!(called(&script), 3);
    screen.send("/call --ask fake/add {\"a\": 1, \"b\": 2}\r");
    screen.wait_for("May fake run add?");
    screen.send("a");
    screen.wait_for("\n3\n");
    screen.send("/call --ask fake/add {\"a\": 2, \"b\": 2}\r");
    screen.wait_for("\n4\n");
    quit(&mut screen);
}

#[test]
fn a_form_of_a_server_is_filled_in() {
    let schema = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}});
    let question = json!({"id": "q", "method": "elicitation/create",
        "params": {"message": "Who are you?", "requestedSchema": schema}});
    let answer = json!({"result": {"content": [{"type": "text", "text": "$answer.result.content.name"}]}});
    let (_sandbox, _script, mut screen) =
        world(json!({"on": {"tools/call": [{"request": question}, answer]}}));
    screen.send("/call --ask fake/echo text=x\r");
    screen.wait_for("May fake run echo?");
    screen.send("y");
    screen.wait_for("fake asks: Who are you?");
    screen.send("Ada\r\r");
    screen.wait_for("\nAda\n");
    quit(&mut screen);
}

#[test]
fn ctrl_c_stops_the_call_and_nothing_else() {
    let (_sandbox, script, mut screen) = world(json!({"on": {"tools/call": [{"silent": true}]}}));
    screen.send("/call --ask fake/slow ms=1\r");
    screen.wait_for("May fake run slow?");
    screen.send("y");
    script.wait_for(|line| line["message"]["method"] == "tools/call");
    screen.send("later");
    screen.wait_for("› later");
    screen.send("\x03");
    script.wait_for(|line| line["message"]["method"] == "notifications/cancelled");
    screen.wait_until(|text| {
        let is_whole = text.contains("› later") && text.contains("1 connected");
        is_whole && !text.contains("Ctrl-C stops it") && !text.contains("stopping")
    });
    screen.send("\x03");
    screen.wait_until(|text| !text.contains("› later"));
    screen.send("\x03");
    screen.wait_for("Ctrl-D leaves");
    screen.send("\x04");
    assert_eq!(screen.end(), 0);
}

#[test]
fn ctrl_c_takes_back_a_question() {
    let (_sandbox, script, mut screen) = world(json!({}));
    screen.send("/call --ask fake/echo text=x\r");
    screen.wait_for("May fake run echo?");
    screen.send("\x03");
    screen.wait_until(|text| !text.contains("May fake run echo?"));
    quit(&mut screen);
    assert!(!script.methods().contains(&"tools/call".to_owned()));
}

#[test]
fn ten_thousand_lines_are_pasted_at_once() {
    let (_sandbox, _script, mut screen) = world(json!({}));
    let pasted = (0..10_000).map(|n| format!("line {n}\r")).collect::<Vec<_>>().concat();
    screen.send("see ");
    screen.send(&format!("\x1b[200~{pasted}\x1b[201~"));
    screen.wait_for("› see [pasted 10000 lines]");
    screen.send(" and this");
    screen.wait_for("› see [pasted 10000 lines] and this");
    screen.send("\x03");
    screen.wait_until(|text| !text.contains("pasted"));
    quit(&mut screen);
}

#[test]
fn a_terminal_may_change_its_size() {
    let (_sandbox, _script, mut screen) = world(json!({}));
    screen.send("some words that are longer than a narrow terminal is wide");
    screen.wait_for("is wide");
    // The smallest shows the end of the line.
    for (columns, rows, start) in
        [(40, 10, "some"), (30, 6, "some"), (20, 5, "ger"), (140, 50, "some"), (60, 12, "some")]
    {
        screen.resize(columns, rows);
        screen.wait_until(|text| {
            let flat: String = text.split_whitespace().collect();
            flat.contains(start) && flat.matches("narrowterminaliswide1connected").count() == 1
        });
        let (row, column) = screen.terminal().cursor_position();
        assert!(row < rows && column < columns);
    }
    screen.send("\x15");
    screen.wait_until(|text| !text.contains("is wide"));
    quit(&mut screen);
}

#[test]
fn lines_are_found_again_and_secrets_are_not_kept() {
    let (sandbox, _script, mut screen) = world(json!({}));
    screen.send(" /secret\r");
    screen.wait_for("›  /secret\n");
    screen.send("/call --ask fake/echo {\"text\": \"hi\"}\r");
    screen.wait_for("May fake run echo?");
    screen.send("y");
    screen.wait_for("\nhi\n");
    quit(&mut screen);
    let kept = sandbox.read("~/.switchboard/history");
    assert!(
        kept.contains("/quit") && kept.contains("/call --ask fake/echo") && !kept.contains("/secret"),
        "{kept}"
    );
    let mut screen = Screen::sized(&sandbox, SIZE, &[]);
    screen.wait_for("1 connected");
    screen.send("\x12echo");
    screen.wait_for("search `echo`: /call --ask fake/echo");
    screen.send("\x1b[A\x1b[A");
    screen.wait_for("› /call --ask fake/echo {\"text\": \"hi\"}");
    screen.send("\x1b[B");
    screen.wait_for("› /quit");
    screen.send("\r");
    assert_eq!(screen.end(), 0, "{}", screen.text());
}

#[test]
fn what_is_typed_is_completed() {
    let (_sandbox, _script, mut screen) = world(json!({}));
    screen.send("/qui\t");
    screen.wait_for("› /quit");
    screen.send("\r");
    assert_eq!(screen.end(), 0, "{}", screen.text());
}

#[test]
fn colour_is_left_out_where_nobody_wants_it() {
    let script = Fake::script(json!({}));
    let servers = json!({"fake": {"command": fake_server(), "args": [script.path()]}});
    let colours = |sandbox: &Sandbox, line: &[&str]| {
        let mut screen = Screen::sized(sandbox, SIZE, line);
        screen.wait_for("1 connected");
        quit(&mut screen);
        String::from_utf8_lossy(&screen.raw).matches("\x1b[32m").count()
    };
    assert!(colours(&home(&servers), &[]) > 0);
    assert_eq!(colours(&home(&servers), &["--no-color"]), 0);
    assert_eq!(colours(&home(&servers).with_var("NO_COLOR", "1"), &[]), 0);
}

/// Starts it from a shell, which tells afterwards how the terminal was left.
#[cfg(unix)]
fn from_a_shell() -> (Sandbox, FakeScript, Screen) {
    let script = Fake::script(json!({}));
    let sandbox = home(&json!({"fake": {"command": fake_server(), "args": [script.path()]}}));
    let inner = r#"sh -c 'echo pid $$.; exec switchboard'; echo "code $?"; stty -a; echo "end of it""#;
    let mut screen = Screen::start(&sandbox, 100, &["sh", "-c", inner]);
    screen.wait_for("1 connected");
    assert!(screen.terminal().bracketed_paste());
    (sandbox, script, screen)
}

#[cfg(unix)]
fn is_restored(screen: &mut Screen, code: u8) {
    screen.wait_for("end of it");
    let text = screen.text();
    assert!(text.contains(&format!("code {code}")), "{text}");
    assert!(text.contains(" echo ") && text.contains(" icanon ") && !text.contains("-icanon"), "{text}");
    assert!(!text.contains("1 connected"), "the live rows are gone: {text}");
    assert!(!screen.terminal().bracketed_paste() && !screen.terminal().hide_cursor());
    screen.end();
}

#[cfg(unix)]
#[test]
fn the_terminal_is_given_back() {
    let (_sandbox, _script, mut screen) = from_a_shell();
    screen.send("half a line\x15\x04");
    is_restored(&mut screen, 0);
}

#[cfg(unix)]
#[test]
fn the_terminal_is_given_back_when_it_is_killed() {
    use rustix::process::{Pid, Signal, kill_process};
    let (_sandbox, _script, mut screen) = from_a_shell();
    let text = screen.text();
    let pid = text.split("pid ").nth(1).and_then(|rest| rest.split('.').next()).unwrap();
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::TERM).unwrap();
    is_restored(&mut screen, 130);
}
