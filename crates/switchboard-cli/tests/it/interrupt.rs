//! Ctrl-C, and the sign of life before it.

#![cfg(unix)]

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Mark, Sandbox, fake_server};

use crate::screen::Screen;
use crate::{run, switchboard};

/// A home with one scripted server, whose process can be found again.
fn world(script: Value) -> (Sandbox, FakeScript, Mark) {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let (script, mark) = (Fake::script(script), Mark::new());
    let env = json!({Mark::NAME: mark.value()});
    let entry = json!({"command": fake_server(), "args": [script.path()], "env": env, "timeout": 0});
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"fake": entry}}).to_string());
    (sandbox, script, mark)
}

fn silent(method: &str) -> Value {
    json!({"on": {method: [{"silent": true}]},
        "resources": [{"uri": "note:one", "name": "one"}], "prompts": [{"name": "greet"}]})
}

#[test]
fn ctrl_c_tells_the_server_and_leaves_nothing_behind() {
    let lines: &[(&[&str], &str)] = &[
        (&["call", "fake/slow", "ms=60000"], "tools/call"),
        (&["read", "note:one"], "resources/read"),
        (&["read", "note:one", "--server", "fake"], "resources/read"),
        (&["prompt", "greet"], "prompts/get"),
    ];
    for (line, method) in lines {
        let (sandbox, script, mark) = world(silent(method));
        let mut child = switchboard(&sandbox).args(*line).spawn().unwrap();
        script.wait_for(|line| line["message"]["method"] == *method);
        assert!(!mark.alive().is_empty(), "{line:?}");
        kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{line:?}");
        script.wait_for(|line| line["message"]["method"] == "notifications/cancelled");
        assert!(mark.alive().is_empty(), "{line:?} leaves a process behind");
    }
}

#[test]
fn ctrl_c_while_a_server_starts_leaves_nothing_behind() {
    for line in [
        &["tools"][..],
        &["call", "fake/echo"],
        &["read", "note:one"],
        &["test", "fake"],
        &["doctor", "--connect"],
    ] {
        let (sandbox, script, mark) = world(silent("tools/list"));
        let mut child = switchboard(&sandbox).args(line).spawn().unwrap();
        script.wait_for(|line| line["message"]["method"] == "tools/list");
        kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{line:?}");
        // A server that is just being started is ended by its guard, which takes a moment.
        while !mark.alive().is_empty() {
            std::thread::yield_now();
        }
    }
}

/// The small guard that is installed beside the program, and the program itself where that is missing.
#[test]
#[cfg(target_os = "linux")]
fn a_kill_leaves_nothing_behind_whichever_program_guards() {
    let installed = Path::new(env!("CARGO_BIN_EXE_switchboard"));
    let folder = installed.parent().unwrap();
    let alone = tempfile::tempdir_in(folder).unwrap();
    let copy = alone.path().join("switchboard");
    std::fs::hard_link(installed, &copy).unwrap();
    for (program, guard) in [(installed, folder.join("switchboard-guard")), (&copy, copy.clone())] {
        let (sandbox, script, mark) = world(silent("tools/call"));
        let mut child = sandbox.command(program).args(["call", "fake/slow", "ms=60000"]).spawn().unwrap();
        script.wait_for(|line| line["message"]["method"] == "tools/call");
        let running: Vec<_> = mark
            .alive()
            .iter()
            .filter_map(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).ok())
            .collect();
        assert!(running.contains(&guard), "{guard:?} is not among {running:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        while !mark.alive().is_empty() {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_call_that_may_have_run_says_so() {
    let (sandbox, script, _mark) = world(silent("tools/call"));
    let mut screen = Screen::open(&sandbox, 80, &["call", "fake/echo", "text=x"]);
    script.wait_for(|line| line["message"]["method"] == "tools/call");
    screen.wait_for("calling mcp_fake_echo");
    screen.send("\x03");
    assert_eq!(screen.end(), 130);
    assert_eq!(screen.text(), "error: stopped; the call was taken back, but may have run");
}

#[test]
fn a_sign_of_life_goes_away_again() {
    let slow = json!({"on": {"initialize": [{"sleep_ms": 1500}, {"default": true}]}});
    for columns in [30, 80] {
        let (sandbox, _script, _mark) = world(slow.clone());
        let mut screen = Screen::open(&sandbox, columns, &["tools"]);
        screen.wait_for("connecting to fake");
        assert_eq!(screen.end(), 0);
        let text = screen.text();
        assert!(text.starts_with("NAME") && !text.contains("connecting"), "{text}");
    }
    // Elsewhere there is none, nor for those who want it quiet.
    let (sandbox, _script, _mark) = world(slow);
    let seen = run(&sandbox, &["tools", "--wait"]);
    assert!(!seen.contains("connecting") && !seen.contains('\x1b'), "{seen}");
    let mut screen = Screen::open(&sandbox, 80, &["tools", "--wait", "-q", "--no-color"]);
    assert_eq!(screen.end(), 0);
    assert!(!screen.raw.contains(&0x1b), "{}", screen.text());
}
