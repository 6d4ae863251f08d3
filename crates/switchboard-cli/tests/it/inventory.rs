//! Nothing runs before consent: with a canary in every file of every tool, no command starts a process or opens a
//! connection.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use switchboard::sources::places::{Container, Place, Project, Spot, places};
use switchboard::sources::syntax::Format;
use testkit::Sandbox;

use crate::{run, switchboard};

/// Two servers that would betray themselves: one by running, one by dialling, both by their values.
fn canaries(script: &str, canary: &str, port: u16, number: usize) -> Value {
    json!({
        format!("run-{number}"): {
            "type": "stdio", "command": script, "cmd": script, "args": [number.to_string()],
            "env": {"A": format!("!touch {canary}-env")}, "envs": {"A": format!("$(touch {canary}-shell)")},
            "enabled": true, "name": format!("run-{number}"),
        },
        format!("dial-{number}"): {
            "type": "http", "url": format!("http://127.0.0.1:{port}/{number}"), "uri": format!("http://127.0.0.1:{port}/{number}"),
            "headers": {"X": format!("!touch {canary}-header")}, "enabled": true, "name": format!("dial-{number}"),
        },
    })
}

/// The text of a file of that place with these servers in it.
fn text(place: &Place, servers: &Value) -> String {
    let nest = |path: &[&str]| path.iter().rev().fold(servers.clone(), |value, key| json!({(*key): value}));
    let value = match &place.container {
        Container::Whole => json!({"mcpServers": servers}),
        Container::Below(paths) => nest(paths[0]),
        Container::ClaudeProject(dir) => {
            json!({"projects": {dir.to_str().unwrap(): {"mcpServers": servers}}})
        }
    };
    match place.format {
        // JSON is YAML too.
        Format::Json | Format::Yaml => value.to_string(),
        Format::Toml => {
            let mut text = String::new();
            for (name, server) in servers.as_object().unwrap() {
                text.push_str(&format!("[mcp_servers.{name}]\n"));
                for (key, value) in server.as_object().unwrap() {
                    let value = match value {
                        Value::Object(map) => format!(
                            "{{ {} }}",
                            map.iter().map(|(k, v)| format!("{k} = {v}")).collect::<Vec<_>>().join(", ")
                        ),
                        other => other.to_string(),
                    };
                    text.push_str(&format!("{key} = {value}\n"));
                }
            }
            text
        }
    }
}

#[test]
fn no_command_runs_or_dials_anything() {
    let sandbox = Sandbox::new();
    let canary = sandbox.path("canary").to_string_lossy().into_owned();
    let script = sandbox.write("canary.sh", format!("#!/bin/sh\ntouch {canary}-ran\n"));
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();

    let env = sandbox.env();
    let mut files = 0;
    for (number, place) in places(&env, &Project::find(&env)).iter().enumerate() {
        let path = match &place.spot {
            Spot::File(path) => path.clone(),
            Spot::FilesIn(dir) => dir.join("canary.json"),
            Spot::InEach(dir, name) => dir.join("canary").join(name),
        };
        // A file that several tools share gets the servers of the first.
        if path.exists() {
            continue;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text(place, &canaries(&script.to_string_lossy(), &canary, port, number))).unwrap();
        files += 1;
    }
    assert!(files > 60, "only {files} files");
    let listed = run(&sandbox, &["list"]);
    assert!(listed.matches("run-").count() >= files / 2, "{listed}");

    let names = ["run-0", "dial-0", "run-9", "dial-9", "run-40", "thinking", "github"];
    let mut lines: Vec<Vec<&str>> = vec![
        vec!["list", "--all"],
        vec!["list", "--json", "--trust"],
        vec!["status", "--trust"],
        vec!["doctor", "--trust"],
        vec!["doctor"],
    ];
    for name in names {
        for verb in ["why", "status", "trust", "disable", "enable", "untrust", "import", "remove"] {
            lines.push(vec![verb, name]);
        }
    }
    lines.extend([
        vec!["trust", "--all"],
        vec!["status"],
        vec!["doctor"],
        vec!["import", "--yes"],
        vec!["import", "--scope", "project", "--yes"],
        vec!["add", "new", "--env", "A=!false", "--", "canary.sh"],
        vec!["add", "new-url", "--url", "http://127.0.0.1:1/mcp"],
        vec!["list"],
        vec!["untrust", "--all"],
        vec!["completions", "bash"],
        vec!["schema"],
        vec!["schema", "settings"],
    ]);
    // So does a shell that asks what could come next.
    lines.extend(
        ["call ", "call x ", "read ", "prompt ", "tools ", "trust ", "--trust call "]
            .map(|line| vec!["--", line]),
    );
    for line in &lines {
        let mut command = switchboard(&sandbox);
        if line[0] == "--" {
            command.env("COMPLETE", "bash");
        }
        drop(command.args(line).output().unwrap());
        let left: Vec<_> = fs::read_dir(sandbox.project())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        let ran: Vec<_> = left.iter().filter(|name| name.starts_with("canary-")).collect();
        assert!(ran.is_empty(), "`switchboard {}` ran something: {ran:?}", line.join(" "));
        assert!(listener.accept().is_err(), "`switchboard {}` dialled", line.join(" "));
    }
    // The canaries do sing when someone runs them.
    assert!(std::process::Command::new(&script).status().unwrap().success());
    assert!(fs::exists(format!("{canary}-ran")).unwrap());
}
