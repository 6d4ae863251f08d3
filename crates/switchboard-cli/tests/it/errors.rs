//! Mistakes in what is typed, and files that cannot be used.

use std::os::unix::fs::PermissionsExt;

use testkit::Sandbox;

use crate::{session, switchboard, world};

#[test]
fn a_mistake_is_one_object_for_machines() {
    let sandbox = world();
    insta::assert_snapshot!(session(
        &sandbox,
        &[
            &["nonsense", "--json"],
            &["list", "--nonsense"],
            &["why"],
            &["why", "nope", "--json"],
            &["-C", "nowhere", "list", "--json"]
        ]
    ));
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let sandbox = Sandbox::new();
    let path = sandbox.write(".switchboard/mcp.json", "{\"mcpServers\": {}}");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    let torn = sandbox.write("~/.switchboard/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": tru\n");
    insta::assert_snapshot!(session(
        &sandbox,
        &[
            &["add", "x", "--", "y"],
            &["add", "x", "--scope", "user", "--", "y"],
            &["add", "x", "--scope", "user", "--json", "--", "y"],
            &["disable", "thinking"],
        ]
    ));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "{\"mcpServers\": {}}");
    assert_eq!(std::fs::read_to_string(torn).unwrap(), "{\n  \"mcpServers\": {\n    \"a\": tru\n");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sandbox = world();
    let mut child = switchboard(&sandbox)
        .args(["list", "--all", "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_full_device_is_an_error() {
    let sandbox = world();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status =
        switchboard(&sandbox).arg("list").stdout(full).stderr(std::process::Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(1));
}
