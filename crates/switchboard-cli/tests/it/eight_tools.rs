//! Real servers, declared in the files of eight tools, approved, listed and used in one go.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use testkit::{Sandbox, peers};

use crate::switchboard;

/// The program with the machine's own programs in reach, as a person has them.
#[expect(clippy::disallowed_methods, reason = "the programs of the machine that runs the tests")]
fn run(sandbox: &Sandbox, line: &[&str]) -> Output {
    let path = std::env::var("PATH").unwrap_or_default();
    switchboard(sandbox).env("PATH", path).args(line).output().unwrap()
}

fn call(sandbox: &Sandbox, tool: &str, arguments: &Value) -> String {
    let output = run(sandbox, &["call", tool, "--args", &arguments.to_string(), "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{tool}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(report["isError"], false, "{report}");
    report["text"].as_str().unwrap().to_owned()
}

fn declare(sandbox: &Sandbox) {
    let peers = peers();
    let peers = peers.canonicalize().unwrap();
    let node = peers.join("node");
    let server =
        |name: &str| peers.join(format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js"));
    let below = |path: &str| sandbox.project().join(path);
    for folder in ["files", "notes", "repository"] {
        std::fs::create_dir_all(below(folder)).unwrap();
    }
    let one = |name: &str, entry: Value| json!({"mcpServers": {name: entry}}).to_string();
    let by_node = |name: &str, more: &[&Path]| {
        let mut args = vec![json!(server(name))];
        args.extend(more.iter().map(|path| json!(path)));
        json!({"command": node, "args": args})
    };
    sandbox.write("~/.claude.json", one("everything", by_node("everything", &[])));
    sandbox.write("~/.cursor/mcp.json", one("files", by_node("filesystem", &[&below("files")])));
    let mut memory = by_node("memory", &[]);
    memory["env"] = json!({"MEMORY_FILE_PATH": below("memory.jsonl")});
    sandbox.write(".vscode/mcp.json", json!({"servers": {"memory": memory}}).to_string());
    let time = peers.join("python/bin/mcp-server-time");
    let time = time.display();
    sandbox.write(
        "~/.codex/config.toml",
        format!("[mcp_servers.time]\ncommand = \"{time}\"\nargs = [\"--local-timezone\", \"UTC\"]\n"),
    );
    let git = json!({"command": peers.join("python/bin/mcp-server-git"), "args": ["--repository", below("repository")]});
    sandbox.write("~/.gemini/settings.json", one("git", git));
    let sqlite = json!({"command": peers.join("python-old/bin/mcp-server-sqlite"), "args": ["--db-path", below("db.sqlite")]});
    sandbox.write(".mcp.json", one("sqlite", sqlite));
    let thinking = json!({"type": "local", "command": [node, server("sequential-thinking")]});
    sandbox.write("opencode.json", json!({"mcp": {"steps": thinking}}).to_string());
    sandbox.write(
        "~/.codeium/windsurf/mcp_config.json",
        one("notes", by_node("filesystem", &[&below("notes")])),
    );
    let made =
        std::process::Command::new("git").args(["init", "-q"]).current_dir(below("repository")).status();
    assert!(made.unwrap().success());
}

#[test]
fn real_servers_from_the_files_of_eight_tools_in_one_session() {
    let sandbox = Sandbox::new();
    declare(&sandbox);
    let names = ["everything", "files", "git", "memory", "notes", "sqlite", "steps", "time"];
    let mut trust = vec!["trust"];
    trust.extend(names);
    assert!(run(&sandbox, &trust).status.success());

    let output = run(&sandbox, &["tools", "--wait", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["errors"], json!([]), "{report}");
    for name in names {
        let has_some = report["tools"].as_array().unwrap().iter().any(|tool| tool["server"] == name);
        assert!(has_some, "{name} has no tools");
    }

    assert_eq!(call(&sandbox, "everything/echo", &json!({"message": "hi"})), "Echo: hi");
    let file = sandbox.project().join("files/a.txt");
    call(&sandbox, "files/write_file", &json!({"path": file, "content": "written"}));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "written");
    let entity = json!({"name": "Ada", "entityType": "person", "observations": ["counts"]});
    call(&sandbox, "memory/create_entities", &json!({"entities": [entity]}));
    assert!(sandbox.read("memory.jsonl").contains("Ada"));
    assert!(call(&sandbox, "time/get_current_time", &json!({"timezone": "UTC"})).contains("UTC"));
    let repository = sandbox.project().join("repository");
    assert!(call(&sandbox, "git/git_status", &json!({"repo_path": repository})).contains("No commits yet"));
    call(&sandbox, "sqlite/create_table", &json!({"query": "CREATE TABLE t (a INTEGER)"}));
    assert!(call(&sandbox, "sqlite/list_tables", &json!({})).contains('t'));
    let thought =
        json!({"thought": "so", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false});
    assert!(call(&sandbox, "steps/sequentialthinking", &thought).contains("thoughtHistoryLength"));
    std::fs::write(sandbox.project().join("notes/b.txt"), "noted").unwrap();
    let note = sandbox.project().join("notes/b.txt");
    assert!(call(&sandbox, "notes/read_text_file", &json!({"path": note})).contains("noted"));
}
