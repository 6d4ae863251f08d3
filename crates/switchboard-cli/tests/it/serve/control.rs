//! A gateway or session that runs, and commands that reach it.

use std::os::unix::fs::MetadataExt;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Mark, Sandbox, eventually_blocking, fake_server};

use super::http::Site;
use super::{Pipe, names, world};
use crate::screen::Screen;
use crate::seat::{Front, Seat, configure, home};
use crate::{json as output, run};

/// Adds a server to the user's file.
fn add(sandbox: &Sandbox, name: &str, script: &FakeScript) {
    let mut servers: Value = serde_json::from_str(&sandbox.read("~/.switchboard/mcp.json")).unwrap();
    servers["mcpServers"][name] = json!({"command": fake_server(), "args": [script.path()]});
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
}

#[test]
fn a_gateway_is_reloaded_and_told_of() {
    let (first, second, dead) =
        (Fake::script(json!({})), Fake::script(json!({})), Fake::script(json!({"start": [{"exit": 1}]})));
    let sandbox = world(&[("first", &first)], &Mark::new());
    let none = run(&sandbox, &["reload"]);
    assert!(none.contains("no session and no gateway is running") && none.contains("--- exit 1"), "{none}");
    assert!(run(&sandbox, &["reconnect", "first"]).contains("--- exit 1"));

    let site = Site::open(&sandbox, &["--no-watch"]);
    let pid = site.child.id();
    site.until("switchboard_server_up{server=\"first\"}", |up| up > 0.0);
    let who = format!("gateway {pid} (http://{}/mcp)", site.address);
    assert!(run(&sandbox, &["reload"]).contains(&format!("{who}: nothing changed\n")));
    add(&sandbox, "second", &second);
    let seen = run(&sandbox, &["reload"]);
    assert!(seen.contains(&format!("{who}: added second\n")) && seen.contains("--- exit 0"), "{seen}");
    site.until("switchboard_server_up{server=\"second\"}", |up| up > 0.0);
    let seen = run(&sandbox, &["status"]);
    assert!(seen.contains(&format!("{who} runs; connected: first, second; 0 clients\n")), "{seen}");
    let status = output(&sandbox, &["status", "second", "--json"]);
    assert_eq!(status["servers"].as_array().unwrap().len(), 1);
    let running = &status["running"][0];
    assert_eq!((&running["pid"], &running["kind"]), (&json!(pid), &json!("gateway")));
    assert_eq!(running["servers"], json!([{"name": "second", "status": "connected", "tools": 7}]));

    let config = sandbox.read("~/.switchboard/mcp.json");
    sandbox.write("~/.switchboard/mcp.json", "{\n  torn");
    let seen = run(&sandbox, &["reload"]);
    let torn = format!("{who}: nothing changed; ~/.switchboard/mcp.json line 2 cannot be used: ");
    assert!(seen.contains(&torn) && seen.contains("--- exit 2"), "{seen}");
    sandbox.write("~/.switchboard/mcp.json", config);

    let starts =
        |script: &FakeScript| script.methods().iter().filter(|method| *method == "initialize").count();
    let before = starts(&first);
    let seen = run(&sandbox, &["reconnect", "first"]);
    assert!(seen.contains(": first is connected, 7 tools\n") && seen.contains("--- exit 0"), "{seen}");
    assert!(starts(&first) > before);
    let seen = run(&sandbox, &["reconnect", "nobody"]);
    assert!(seen.contains("\"nobody\" not found") && seen.contains("--- exit 2"), "{seen}");
    add(&sandbox, "dead", &dead);
    assert_eq!(output(&sandbox, &["reload", "--json"])["running"][0]["added"], json!(["dead"]));
    let seen = run(&sandbox, &["reconnect", "dead"]);
    assert!(seen.contains("Failed to connect to \"dead\"") && seen.contains("--- exit 4"), "{seen}");

    let socket = sandbox.home().join(format!(".switchboard/run/{pid}.sock"));
    let mode = |path: &std::path::Path| path.metadata().unwrap().mode() & 0o777;
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
    site.terminate();
    assert_eq!(site.end().0, Some(0));
    assert!(!socket.exists(), "it goes with the gateway");
}

#[test]
fn a_broken_file_of_another_tool_is_said_and_fails_no_reload() {
    let (first, second) = (Fake::script(json!({})), Fake::script(json!({})));
    let sandbox = world(&[("first", &first)], &Mark::new());
    let _site = Site::open(&sandbox, &["--no-watch"]);
    add(&sandbox, "second", &second);
    sandbox.write(".mcp.json", "{\n  torn");
    let seen = run(&sandbox, &["reload"]);
    let told = ": added second; .mcp.json line 2 cannot be used: ";
    assert!(seen.contains(told) && seen.contains("--- exit 0"), "{seen}");
    sandbox.write(".switchboard/mcp.json", "{\n  torn");
    let seen = run(&sandbox, &["reload"]);
    let told = ["; .mcp.json line 2 cannot be used: ", "; .switchboard/mcp.json line 2 cannot be used: "];
    assert!(told.iter().all(|told| seen.contains(told)) && seen.contains("--- exit 2"), "{seen}");
    let lost = &output(&sandbox, &["reload", "--json"])["running"][0]["lost"];
    let own = |name: &str| {
        let mut files = lost.as_array().unwrap().iter();
        files.find(|file| file["path"].as_str().unwrap().ends_with(name)).unwrap()["own"].clone()
    };
    assert_eq!((own("project/.mcp.json"), own(".switchboard/mcp.json")), (json!(false), json!(true)));
}

#[test]
fn one_that_is_coming_up_can_be_started_anew() {
    // The first time it never answers; its second start works.
    let hangs = Fake::script(json!({"on": {"initialize": [{"silent": true}]}}));
    let sandbox = world(&[("slow", &hangs)], &Mark::new());
    let site = Site::open(&sandbox, &[]);
    hangs.wait_for(|line| line["message"]["method"] == "initialize");
    let script = std::fs::read_to_string(hangs.path()).unwrap();
    let mut script: Value = serde_json::from_str(&script).unwrap();
    script["on"] = json!({});
    std::fs::write(hangs.path(), script.to_string()).unwrap();
    let seen = run(&sandbox, &["reconnect", "slow"]);
    assert!(seen.contains(": slow is connected, 7 tools\n") && seen.contains("--- exit 0"), "{seen}");
    drop(site);
}

#[test]
fn several_are_reached_at_once() {
    let (one, another) = (Fake::script(json!({})), Fake::script(json!({})));
    let sandbox = world(&[("one", &one)], &Mark::new());
    let site = Site::open(&sandbox, &["--no-watch"]);
    let mut pipe = Pipe::with(&sandbox, &["--no-watch"]);
    pipe.greet();
    pipe.result(1, "tools/list", json!({}));
    add(&sandbox, "another", &another);
    let seen = run(&sandbox, &["reload"]);
    assert_eq!(seen.matches(": added another\n").count(), 2, "{seen}");
    pipe.wait(|message| message["method"] == "notifications/tools/list_changed");
    let tools = pipe.result(2, "tools/list", json!({}));
    assert!(names(&tools, "tools", "name").contains(&"mcp_another_echo".to_owned()), "{tools}");
    drop(site);
    // One that was killed is not asked.
    let seen = run(&sandbox, &["reload"]);
    assert_eq!(seen.matches(": nothing changed\n").count(), 1, "{seen}");
    assert!(seen.contains("--- exit 0"), "{seen}");
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn a_hangup_reloads() {
    let (one, another, third) = (Fake::script(json!({})), Fake::script(json!({})), Fake::script(json!({})));
    let sandbox = world(&[("one", &one)], &Mark::new());
    let mut pipe = Pipe::with(&sandbox, &["--no-watch"]);
    pipe.greet();
    pipe.result(1, "tools/list", json!({}));
    add(&sandbox, "another", &another);
    let pid = Pid::from_raw(i32::try_from(pipe.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    pipe.wait(|message| message["method"] == "notifications/tools/list_changed");
    let tools = pipe.result(2, "tools/list", json!({}));
    assert!(names(&tools, "tools", "name").contains(&"mcp_another_echo".to_owned()), "{tools}");
    let (code, said) = pipe.close();
    assert_eq!((code, said.as_str()), (Some(0), "read the configuration again: added another\n"));

    let mut site = Site::open(&sandbox, &["--no-watch"]);
    add(&sandbox, "third", &third);
    site.signal(Signal::HUP);
    assert_eq!(site.says(), "read the configuration again: added third\n");
    site.until("switchboard_server_up{server=\"third\"}", |up| up > 0.0);
    site.terminate();
    assert_eq!(site.end().0, Some(0));
}

#[test]
fn files_that_change_are_read_again_and_broken_ones_waited_for() {
    let (first, second) = (Fake::script(json!({})), Fake::script(json!({})));
    let sandbox = world(&[("first", &first)], &Mark::new());
    let before = sandbox.read("~/.switchboard/mcp.json");
    let mut site = Site::open(&sandbox, &[]);
    add(&sandbox, "second", &second);
    assert_eq!(site.says(), "the configuration changed: added second\n");
    site.until("switchboard_server_up{server=\"second\"}", |up| up > 0.0);
    let starts = first.methods().iter().filter(|method| *method == "initialize").count();
    // Somebody is in the middle of editing.
    sandbox.write("~/.switchboard/mcp.json", &before[..before.len() - 2]);
    assert!(site.says().starts_with("error: "));
    let place = site.says();
    assert!(place.contains("~/.switchboard/mcp.json line 1") && place.contains("[syntax-error]"), "{place}");
    while site.says() != "everything stays as it is until that is mended, or you say: switchboard reload\n" {}
    assert_eq!(site.metric("switchboard_server_up{server=\"second\"}"), Some(1.0));
    sandbox.write("~/.switchboard/mcp.json", &before);
    assert_eq!(site.says(), "the configuration changed: removed second\n");
    assert_eq!(first.methods().iter().filter(|method| *method == "initialize").count(), starts);
    // A server of a project waits for a word, which is a file as well.
    let entry = json!({"command": fake_server(), "args": [second.path()]});
    sandbox.write(".mcp.json", json!({"mcpServers": {"theirs": entry}}).to_string());
    assert_eq!(site.says(), "1 server waits for your approval: switchboard trust theirs\n");
    assert!(run(&sandbox, &["trust", "theirs"]).contains("--- exit 0"));
    assert_eq!(site.says(), "the configuration changed: added theirs\n");
    site.terminate();
    assert_eq!(site.end().0, Some(0));
}

#[test]
fn a_call_to_a_server_that_was_just_changed_waits_for_it() {
    // Its second start takes a while.
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let mut pipe = Pipe::with(&sandbox, &["--no-watch"]);
    pipe.greet();
    pipe.result(1, "tools/list", json!({}));
    let slow = Fake::script(json!({"start": [{"sleep_ms": 700}]}));
    add(&sandbox, "fake", &slow);
    assert!(run(&sandbox, &["reload"]).contains(": changed fake\n"));
    let echo = json!({"name": "mcp_fake_echo", "arguments": {"text": "still here"}});
    let result = pipe.result(2, "tools/call", echo);
    assert_eq!(result["content"][0]["text"], "still here");
    assert_eq!(slow.methods().iter().filter(|method| *method == "tools/call").count(), 1);
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn a_gateway_goes_with_its_terminal() {
    let (script, mark) = (Fake::script(json!({})), Mark::new());
    let sandbox = world(&[("fake", &script)], &mark);
    let mut screen = Screen::open(&sandbox, 100, &["serve", "--http"]);
    screen.wait_for("listening on http://");
    script.wait_for(|line| line["message"]["method"] == "tools/list");
    assert_eq!(screen.hang_up(), 0);
    // A server that was just being started is ended by its guard, in its own time.
    eventually_blocking("no server is left behind", || mark.alive(), Vec::is_empty);
}

#[test]
fn a_server_that_a_gateway_leaves_out_stays_out_after_a_reload() {
    let (one, another) = (Fake::script(json!({})), Fake::script(json!({})));
    let sandbox = world(&[("one", &one)], &Mark::new());
    let mut servers: Value = serde_json::from_str(&sandbox.read("~/.switchboard/mcp.json")).unwrap();
    servers["mcpServers"]["gate"] = json!({"command": "switchboard", "args": ["serve"]});
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
    let mut pipe = Pipe::with(&sandbox, &["--no-watch"]);
    pipe.greet();
    pipe.result(1, "tools/list", json!({}));
    add(&sandbox, "another", &another);
    let seen = run(&sandbox, &["reload"]);
    assert!(seen.contains(": added another\n"), "new ones come all the same: {seen}");
    assert!(run(&sandbox, &["reconnect", "gate"]).contains("is not one of those it serves"));
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn an_interactive_session_is_reached_as_well() {
    let sandbox = home(Front::Plain);
    configure(&sandbox, &[]);
    let mut seat = Seat::take(&sandbox);
    let script = Fake::script(json!({}));
    add(&sandbox, "late", &script);
    let seen = run(&sandbox, &["reload"]);
    assert!(seen.contains("session ") && seen.contains(": added late\n"), "{seen}");
    script.wait_for(|line| line["message"]["method"] == "tools/list");
    let seen = run(&sandbox, &["reconnect", "late"]);
    assert!(seen.contains(": late is connected, 7 tools\n"), "{seen}");
    let status = output(&sandbox, &["status", "--json"]);
    assert_eq!(status["running"][0]["kind"], "session");
    seat.ask("/mcp list", "late");
    assert_eq!(seat.leave(), 0);
    assert!(run(&sandbox, &["reload"]).contains("no session and no gateway is running"));
}

#[test]
fn who_watches_a_gateway_sees_who_stops_working_and_works_again() {
    let fake = Fake::script(json!({"start": [{"exit": 1}]}));
    let sandbox = world(&[("fake", &fake)], &Mark::new());
    let config = sandbox.read("~/.switchboard/mcp.json");
    let mut site = Site::open(&sandbox, &[]);
    while !site.says().starts_with("error: `fake` does not work: ") {}
    std::fs::write(fake.path(), "{}").unwrap();
    run(&sandbox, &["reconnect", "fake"]);
    while site.says() != "fake is connected\n" {}
    sandbox.write("~/.switchboard/mcp.json", "{\n torn");
    while !site.says().starts_with("everything stays as it is until that is mended") {}
    sandbox.write("~/.switchboard/mcp.json", config);
    while site.says() != "read the configuration again: nothing changed\n" {}
}
