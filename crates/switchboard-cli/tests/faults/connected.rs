//! What is written while servers are connected: what they offered, and logins.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::logins::browse;
use testkit::{Fake, FakeScript, Sandbox, fake_server};

use crate::trial::Trial;

/// All that can be made again.
const REMEMBERED: [&str; 2] = ["home/.switchboard/cache", "home/.switchboard/pins.json"];

/// More than is shown of a result.
const LONG: usize = 70_000;

/// Times and the mark of a renewal that is under way differ; everything else counts.
fn timeless(path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    let is_ours = path.extension().is_some_and(|ending| ending == "json");
    match serde_json::from_slice::<Value>(&bytes) {
        Ok(mut value) if is_ours => {
            without_times(&mut value);
            value.to_string().into_bytes()
        }
        _ => bytes,
    }
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if ["at", "day", "receivedAt", "expiresAt", "refreshing"].contains(&name.as_str()) {
                    *value = Value::Null;
                } else {
                    without_times(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

fn on_stdio(script: &Value) -> (Sandbox, FakeScript) {
    let sandbox = Sandbox::in_memory();
    let script = Fake::script(script.clone());
    let entry = json!({ "command": fake_server(), "args": [script.path()], "approval": "never" });
    sandbox.write("~/.switchboard/mcp.json", json!({ "mcpServers": { "s": entry } }).to_string());
    sandbox.write("~/.switchboard/settings.json", "{\"defaults\": false}");
    (sandbox, script)
}

fn trial(
    name: &'static str,
    sandbox: &Sandbox,
    line: &[&str],
    secrets: &[&str],
    is_good: fn(&str, &str) -> bool,
) {
    Trial {
        name,
        sandbox,
        line,
        again: line,
        hints: &REMEMBERED,
        secrets,
        normal: timeless,
        holds: |_| Ok(()),
        is_good,
    }
    .try_all();
}

/// A list is the same with and without a disk.
#[test]
fn what_was_offered() {
    let (sandbox, _script) = on_stdio(&json!({}));
    let line = ["tools", "--json"];
    trial("tools", &sandbox, &line, &[], |healthy, printed| printed == healthy);
}

/// A result too long to be shown is in a file, or is shown all the same.
#[test]
fn a_long_result() {
    let (sandbox, _script) = on_stdio(&json!({}));
    sandbox.write("arguments.json", json!({ "text": "x".repeat(LONG) }).to_string());
    let line = ["call", "s/echo", "--args", "@arguments.json"];
    trial("call, a long result", &sandbox, &line, &[], |healthy, printed| {
        printed == healthy || printed.contains(&"x".repeat(LONG))
    });
}

/// Logs in without a terminal; the browser is us.
fn log_in(sandbox: &Sandbox) {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_switchboard"));
    command.args(["reauth", "s", "--no-browser"]).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    let page = loop {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
        let page = said.split_whitespace().find(|word| word.contains("/authorize?") && said.ends_with('\n'));
        if let Some(page) = page {
            break page.to_owned();
        }
    };
    browse(&page);
    stderr.read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
}

const ACCESS: &str = "access-0123456789abcdef";
const REFRESH: &str = "refresh-0123456789abcdef";

fn logged_in() -> (Sandbox, Fake) {
    let login = json!({"access": ACCESS, "refresh": REFRESH, "expires_in": 3600});
    let fake = Fake::http(json!({ "login": login }));
    let sandbox = Sandbox::in_memory();
    let entry = json!({"url": fake.url(), "auth": {"type": "oauth"}});
    sandbox.write("~/.switchboard/mcp.json", json!({ "mcpServers": { "s": entry } }).to_string());
    sandbox.write("~/.switchboard/settings.json", "{\"defaults\": false}");
    log_in(&sandbox);
    (sandbox, fake)
}

/// Where the only login is kept.
fn kept(sandbox: &Sandbox) -> std::path::PathBuf {
    let files = std::fs::read_dir(sandbox.path("~/.switchboard/credentials")).unwrap();
    let mut paths = files.map(|file| file.unwrap().path());
    paths.find(|path| path.extension().is_some_and(|ending| ending == "json")).unwrap()
}

/// A login that is over is renewed, and what the login server gave is on disk or told of.
#[test]
fn a_renewal() {
    let (sandbox, _fake) = logged_in();
    let path = kept(&sandbox);
    let mut login: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for login in login["logins"].as_object_mut().unwrap().values_mut() {
        login["expiresAt"] = json!(1);
        login["access"] = json!("access-that-is-over");
    }
    std::fs::write(&path, login.to_string()).unwrap();
    let line = ["test", "s"];
    trial("a renewal", &sandbox, &line, &[ACCESS, REFRESH], |_, _| true);
}

#[test]
fn logging_out() {
    let (sandbox, _fake) = logged_in();
    let line = ["unauth", "s"];
    trial("unauth", &sandbox, &line, &[ACCESS, REFRESH], |_, _| true);
}
