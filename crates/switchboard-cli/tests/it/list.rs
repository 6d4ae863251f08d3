//! `list`.

use testkit::Sandbox;

use crate::{json, run, session, world};

#[test]
fn shows_what_there_is() {
    let sandbox = world();
    insta::assert_snapshot!(session(
        &sandbox,
        &[&["list"], &["list", "--all"], &["list", "-q"], &["list", "-v"]]
    ));
}

#[test]
fn gives_the_same_as_json() {
    let sandbox = world();
    insta::assert_snapshot!(run(&sandbox, &["list", "--all", "--json"]));
    let report = json(&sandbox, &["list", "--json"]);
    let states: Vec<_> =
        report["servers"].as_array().unwrap().iter().map(|row| row["state"].as_str().unwrap()).collect();
    assert!(states.iter().all(|state| ["enabled", "disabled", "untrusted", "invalid"].contains(state)));
}

#[test]
fn an_empty_machine_has_the_built_in_servers() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(run(&sandbox, &["list"]));
    sandbox.write("~/.switchboard/settings.json", "{\"defaults\": false}");
    insta::assert_snapshot!(run(&sandbox, &["list"]));
}

#[test]
fn works_elsewhere_with_a_directory() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/.cursor/mcp.json", "{\"mcpServers\": {\"there\": {\"command\": \"x\"}}}");
    let report = json(&sandbox, &["-C", "sub", "list", "--json"]);
    assert!(report["servers"].as_array().unwrap().iter().any(|row| row["name"] == "there"));
    insta::assert_snapshot!(run(&sandbox, &["-C", "nowhere", "list"]));
}
