//! Mistakes in what is typed, and files that cannot be used.

use std::os::unix::fs::PermissionsExt;

use testkit::Sandbox;

use crate::{run, session, switchboard, world};

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
fn a_name_that_is_nearly_right_is_told() {
    let sandbox = world();
    for line in [
        &["why", "fiels"][..],
        &["test", "fiels"],
        &["status", "fiels"],
        &["enable", "fiels"],
        &["trust", "fiels"],
        &["reauth", "fiels"],
        &["remove", "fiels"],
        &["tools", "fiels"],
        &["call", "--server", "fiels", "read"],
    ] {
        let said = run(&sandbox, line);
        assert!(said.contains("hint: did you mean `files`?") && said.contains("--- exit 2"), "{said}");
    }
}

#[test]
fn arguments_that_are_no_json_come_with_how_to_give_them() {
    let sandbox = world();
    let said = run(&sandbox, &["call", "files/read", "--args", "{oops"]);
    assert!(said.contains("the arguments are not JSON: key must be a string at line 1 column 2"), "{said}");
    let hint = "hint: put them in single quotes: --args '{\"key\": \"value\"}'; or use a file: --args @FILE";
    assert!(said.contains(hint) && said.contains("standard input: --args -"), "{said}");
    sandbox.write("oops.json", "{oops");
    let said = run(&sandbox, &["call", "files/read", "--args", "@oops.json"]);
    assert!(said.contains("hint: they must look like {\"key\": \"value\"}\n"), "{said}");
    let said = run(&sandbox, &["call", "files/read", "--args", "@none.json"]);
    assert!(said.contains("cannot read the arguments from none.json: No such file"), "{said}");
}

#[test]
fn a_field_with_a_wrong_name_is_told_where_it_is_missed() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/mcp.json", r#"{"mcpServers": {"odd": {"comand": "true"}}}"#);
    let said = run(&sandbox, &["test", "odd"]);
    assert!(said.contains("Server \"odd\": stdio server requires \"command\" field"), "{said}");
    assert!(said.contains("hint: `comand` is not a known field; did you mean `command`?"), "{said}");
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
