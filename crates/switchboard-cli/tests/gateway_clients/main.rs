//! Real clients through the gateway to real servers: each does the same job through `switchboard serve`, over standard input
//! and output and over HTTP, and directly at each server; and sees the same.
//!
//! In: the clients of `peers/clients`, which `peers/install` provides, and rmcp's. The servers are made by others too, but for
//! the fixture, which is there to ask and to change. Names and addresses differ, as `docs/gateway.md` says, and nothing else.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod rmcp_client;

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Listening, SaidOn, Sandbox};

/// What a client is told to do at one server.
struct Errand {
    server: &'static str,
    command: Value,
    calls: Value,
    reads: Value,
    gets: Value,
}

fn errands() -> [Errand; 3] {
    let peers = testkit::peers();
    let node = |program: PathBuf, args: &[&str]| {
        let program = json!(program);
        let args: Vec<Value> = std::iter::once(program).chain(args.iter().map(|arg| json!(arg))).collect();
        json!({"command": peers.join("node"), "args": args})
    };
    let everything = peers.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let time = peers.join("python/bin/mcp-server-time");
    [
        Errand {
            server: "everything",
            command: node(everything, &[]),
            calls: json!([["echo", {"message": "hello"}], ["get-sum", {"a": 2, "b": 40}], ["get-tiny-image", {}]]),
            reads: json!(["demo://resource/static/document/features.md"]),
            gets: json!([["simple-prompt", {}], ["args-prompt", {"city": "Zurich"}]]),
        },
        Errand {
            server: "time",
            command: json!({"command": time, "args": ["--local-timezone", "UTC"]}),
            calls: json!([["convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}]]),
            reads: json!([]),
            gets: json!([]),
        },
        Errand {
            server: "fixture",
            command: node(testkit::workspace().join("peers/fixture.mjs"), &["--stdio"]),
            calls: json!([["test_simple_text", {}], ["test_structured", {"a": 1, "b": 2}], ["test_pointers", {}]]),
            reads: json!(["test://static-text"]),
            gets: json!([["test_prompt_with_arguments", {"arg1": "x", "arg2": "y"}]]),
        },
    ]
}

/// A client, as far as these tests know it.
struct Client {
    /// Does a job in a world, and tells what it saw.
    run: fn(&Sandbox, &Value) -> Value,
    /// The protocol it speaks with the gateway.
    protocol: Value,
    /// Whether it can be asked, and hears of changes.
    is_interactive: bool,
}

/// What the gateway calls something of a server.
fn outward(server: &str, name: &Value) -> Value {
    json!(format!("mcp_{server}_{}", name.as_str().unwrap().replace('-', "_")))
}

fn prefixed(server: &str, named: &Value) -> Value {
    let mut named = named.clone();
    for item in named.as_array_mut().unwrap() {
        item[0] = outward(server, &item[0]);
    }
    named
}

/// All errands together, as one job at the gateway.
fn through(connect: &Value, errands: &[Errand], is_interactive: bool) -> Value {
    let mut job = json!({"connect": connect, "calls": [], "reads": [], "gets": []});
    for errand in errands {
        let add = |job: &mut Value, field: &str, more: Value| {
            job[field].as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
        };
        add(&mut job, "calls", prefixed(errand.server, &errand.calls));
        add(&mut job, "gets", prefixed(errand.server, &errand.gets));
        let reads = errand.reads.as_array().unwrap().iter();
        let reads = reads.map(|uri| json!(format!("{}+{}", errand.server, uri.as_str().unwrap()))).collect();
        add(&mut job, "reads", reads);
    }
    if is_interactive {
        job["asks"] = json!(["mcp_fixture_test_elicitation", {"message": "Who?"}]);
        job["changes"] = json!("mcp_fixture_test_trigger_tool_change");
    }
    job
}

/// What there is to see directly, put together as if it were one server.
fn direct(client: &Client, sandbox: &Sandbox, errands: &[Errand]) -> Value {
    let mut all = json!({"tools": [], "resources": [], "prompts": [], "calls": [], "reads": [], "gets": []});
    for errand in errands {
        let Errand { server, command, calls, reads, gets } = errand;
        let mut job = json!({"connect": command, "calls": calls, "reads": reads, "gets": gets});
        if client.is_interactive && *server == "fixture" {
            job["asks"] = json!(["test_elicitation", {"message": "Who?"}]);
            job["changes"] = json!("test_trigger_tool_change");
        }
        let seen = (client.run)(sandbox, &job);
        for field in ["tools", "prompts"] {
            let names = seen[field].as_array().unwrap().iter().map(|name| outward(server, name));
            all[field].as_array_mut().unwrap().extend(names);
        }
        for field in ["resources", "calls", "reads", "gets"] {
            all[field].as_array_mut().unwrap().extend(seen[field].as_array().unwrap().iter().cloned());
        }
        if *server == "fixture" {
            all["asked"] = seen["asked"].clone();
            all["changed"] = seen["changed"].clone();
        }
    }
    all
}

/// Addresses without the server they are of.
fn unmapped(value: &Value, errands: &[Errand]) -> Value {
    let mut text = value.to_string();
    for errand in errands {
        text = text.replace(&format!("\"{}+", errand.server), "\"");
    }
    serde_json::from_str(&text).unwrap()
}

fn crosses(client: &Client) {
    let mut errands = errands();
    if !client.is_interactive {
        // It starts a process for each thing it does, so it does one of each.
        for errand in &mut errands {
            for list in [&mut errand.calls, &mut errand.gets] {
                list.as_array_mut().unwrap().truncate(1);
            }
        }
    }
    let fixture = Listening::fixture(&[]);
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let [everything, time, _] = &errands;
    let servers =
        json!({"everything": everything.command, "time": time.command, "fixture": {"url": fixture.url()}});
    sandbox.write("~/.switchboard/mcp.json", json!({ "mcpServers": servers }).to_string());
    let expected = direct(client, &sandbox, &errands);

    let program = env!("CARGO_BIN_EXE_switchboard");
    let mut serve = sandbox.command(program);
    serve.args(["serve", "--http", "127.0.0.1:0"]);
    let gateway = Listening::start(serve, SaidOn::Error);
    let ways = [json!({"command": program, "args": ["serve"]}), json!({"url": gateway.url()})];
    for connect in ways {
        let seen = (client.run)(&sandbox, &through(&connect, &errands, client.is_interactive));
        assert_eq!(seen["protocol"], client.protocol, "{connect}");
        let seen = unmapped(&seen, &errands);
        for list in ["tools", "resources", "prompts"] {
            let listed = seen[list].as_array().unwrap();
            // A server may offer more to who can be asked more.
            let lost: Vec<&Value> =
                expected[list].as_array().unwrap().iter().filter(|name| !listed.contains(name)).collect();
            assert!(lost.is_empty(), "{connect}: {list} without {lost:?}: {listed:?}");
        }
        for done in ["calls", "reads", "gets", "asked", "changed"] {
            assert_eq!(seen[done], expected[done], "{connect}: {done}");
        }
        assert_eq!(seen["changed"].as_bool(), client.is_interactive.then_some(true), "{connect}");
    }
}

/// Runs a script of `peers/clients`.
fn script(sandbox: &Sandbox, (program, script): (&str, &str), job: &Value) -> Value {
    let mut command = sandbox.command(testkit::peers().join(program));
    command.arg(testkit::workspace().join("peers/clients").join(script)).arg(job.to_string());
    command.env("SWITCHBOARD_PEERS", testkit::peers()).stderr(Stdio::inherit());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{script} said {text:?} for {job}"))
}

const NODE: &str = "node";
const PYTHON: &str = "python/bin/python";

#[test]
fn of_the_typescript_sdk_1() {
    let run = |sandbox: &Sandbox, job: &Value| script(sandbox, (NODE, "ts1.mjs"), job);
    crosses(&Client { run, protocol: json!("handshake"), is_interactive: true });
}

#[test]
fn of_the_typescript_sdk_2() {
    let run = |sandbox: &Sandbox, job: &Value| script(sandbox, (NODE, "ts2.mjs"), job);
    crosses(&Client { run, protocol: json!("modern"), is_interactive: true });
}

#[test]
fn of_the_python_sdk() {
    let run = |sandbox: &Sandbox, job: &Value| script(sandbox, (PYTHON, "python_sdk.py"), job);
    crosses(&Client { run, protocol: json!("modern"), is_interactive: true });
}

#[test]
fn of_fastmcp() {
    let run = |sandbox: &Sandbox, job: &Value| script(sandbox, (PYTHON, "fastmcp_client.py"), job);
    crosses(&Client { run, protocol: json!("modern"), is_interactive: true });
}

#[test]
fn of_the_inspector() {
    let run = |sandbox: &Sandbox, job: &Value| script(sandbox, (NODE, "inspector.mjs"), job);
    crosses(&Client { run, protocol: Value::Null, is_interactive: false });
}

#[test]
fn of_rmcp() {
    crosses(&Client { run: rmcp_client::run, protocol: json!("modern"), is_interactive: true });
}
