//! The commands that change our own files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use testkit::Sandbox;
use testkit::tree::{Node, Tree};

use crate::trial::{Trial, as_it_is};

const SECRET: &str = "hunter2-0123456789";

/// Editors miss it, nothing else does.
const SCHEMAS: [&str; 2] = ["home/.switchboard/mcp.schema.json", "project/.switchboard/mcp.schema.json"];

fn mode(sandbox: &Sandbox, path: &str, mode: u32) {
    fs::set_permissions(sandbox.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

/// Our own file, by hand, behind a link.
fn own() -> Sandbox {
    let sandbox = Sandbox::in_memory();
    let text = "// mine\n{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"a\" }, // keep\n    \"b\": { \"command\": \"b\", \"enabled\": false }\n  },\n  \"unknown\": 1\n}\n";
    let file = sandbox.write("~/dotfiles/switchboard.json", text);
    sandbox.write("~/.switchboard/settings.json", "{\"defaults\": false} // mine\n");
    symlink(file, sandbox.path("~/.switchboard/mcp.json")).unwrap();
    mode(&sandbox, "~/dotfiles/switchboard.json", 0o640);
    sandbox
}

/// Another tool's server, with a secret.
fn theirs() -> Sandbox {
    let sandbox = Sandbox::in_memory();
    let text = format!(
        "{{\n  // by hand\n  \"mcpServers\": {{\n    \"files\": {{ \"command\": \"npx\", \"args\": [\"--api-key\", \"{SECRET}\"] }},\n    \"docs\": {{ \"command\": \"docs\" }},\n  }}\n}}\n"
    );
    sandbox.write("~/.cursor/mcp.json", text);
    sandbox.write("~/.switchboard/settings.json", "{\"defaults\": false}\n");
    sandbox
}

fn trial(name: &'static str, sandbox: &Sandbox, line: &[&str], again: &[&str]) {
    trial_in_which(|_| Ok(()), name, sandbox, line, again);
}

fn trial_in_which(
    holds: fn(&Tree) -> Result<(), String>,
    name: &'static str,
    sandbox: &Sandbox,
    line: &[&str],
    again: &[&str],
) {
    let secrets = [SECRET];
    let is_good = |healthy: &str, printed: &str| printed == healthy;
    Trial {
        name,
        sandbox,
        line,
        again,
        hints: &SCHEMAS,
        secrets: &secrets,
        normal: as_it_is,
        holds,
        is_good,
    }
    .try_all();
}

#[test]
fn add_with_no_file_yet() {
    let token = format!("TOKEN={SECRET}");
    let line = ["add", "x", "--scope", "user", "--env", &token, "--", "x"];
    let again = ["add", "x", "--replace", "--scope", "user", "--env", &token, "--", "x"];
    trial("add, no file yet", &Sandbox::in_memory(), &line, &again);
}

#[test]
fn add_behind_a_link() {
    let line = ["add", "x", "--scope", "user", "--", "x"];
    trial("add, behind a link", &own(), &line, &["add", "x", "--replace", "--scope", "user", "--", "x"]);
}

#[test]
fn add_to_a_project() {
    let sandbox = Sandbox::in_memory();
    sandbox.write(".switchboard/mcp.json", "{\n  \"mcpServers\": {}\n} // ours\n");
    mode(&sandbox, ".switchboard/mcp.json", 0o600);
    let line = ["add", "x", "--scope", "project", "--", "x"];
    trial("add to a project", &sandbox, &line, &["add", "x", "--replace", "--scope", "project", "--", "x"]);
}

#[test]
fn disable() {
    trial("disable", &own(), &["disable", "a"], &["disable", "a"]);
}

#[test]
fn enable() {
    trial("enable", &own(), &["enable", "b"], &["enable", "b"]);
}

#[test]
fn disable_one_of_another_tool() {
    trial("disable, another tool's", &theirs(), &["disable", "docs"], &["disable", "docs"]);
}

#[test]
fn remove() {
    trial("remove", &own(), &["remove", "a"], &["remove", "a"]);
}

#[test]
fn import() {
    let line = ["import", "--from", "cursor", "--yes"];
    trial("import", &theirs(), &line, &line);
}

#[test]
fn trust() {
    trial("trust", &theirs(), &["trust", "--all"], &["trust", "--all"]);
}

/// Approvals, and what the tools were allowed for good.
#[test]
fn untrust() {
    let sandbox = theirs();
    let trusted =
        sandbox.command(env!("CARGO_BIN_EXE_switchboard")).args(["trust", "--all"]).status().unwrap();
    assert!(trusted.success());
    let grants = "{\"version\":1,\"grants\":[{\"server\":\"files\",\"tool\":\"t\",\"connection\":\"c\",\"pin\":\"p\",\"name\":\"n\",\"at\":1}]}\n";
    sandbox.write("~/.switchboard/grants.json", grants);
    mode(&sandbox, "~/.switchboard/grants.json", 0o600);
    trial("untrust, with grants", &sandbox, &["untrust", "--all"], &["untrust", "--all"]);
}

#[test]
fn report() {
    let sandbox = Sandbox::in_memory();
    sandbox.write("~/.switchboard/settings.json", "{\"defaults\": false}\n");
    let line = ["doctor", "--report", "report.json"];
    trial("doctor --report", &sandbox, &line, &line);
}

/// Three files of ours, and one of another tool.
#[test]
fn install_and_move() {
    let line = ["install", "--into", "cursor", "--move", "--yes"];
    trial_in_which(no_server_is_gone, "install --move", &theirs(), &line, &line);
}

/// Each of their servers is in their file or in ours.
fn no_server_is_gone(found: &Tree) -> Result<(), String> {
    let text = |path: &str| match found.get(Path::new(path)) {
        Some(Node::File(_, bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    };
    let (theirs, ours) = (text("home/.cursor/mcp.json"), text("home/.switchboard/mcp.json"));
    for name in ["\"files\"", "\"docs\""] {
        if !theirs.contains(name) && !ours.contains(name) {
            return Err(format!("{name} is gone from both files: {theirs}{ours}"));
        }
    }
    Ok(())
}

#[test]
fn uninstall() {
    let sandbox = theirs();
    let mut install = sandbox.command(env!("CARGO_BIN_EXE_switchboard"));
    assert!(install.args(["install", "--into", "cursor", "--move", "--yes"]).status().unwrap().success());
    let line = ["uninstall", "--from", "cursor"];
    trial("uninstall", &sandbox, &line, &line);
}
