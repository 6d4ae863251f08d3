//! `enable` and `disable`.

use crate::{json, run, session, world};

fn state(sandbox: &testkit::Sandbox, name: &str) -> String {
    let report = json(sandbox, &["list", "--json"]);
    let row = report["servers"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    row["state"].as_str().unwrap().to_owned()
}

#[test]
fn ours_in_its_own_entry_theirs_in_our_lists() {
    let sandbox = world();
    let theirs = sandbox.read("~/.cursor/mcp.json");
    insta::assert_snapshot!(session(
        &sandbox,
        &[
            &["disable", "files"],
            &["disable", "files"],
            &["disable", "search"],
            &["enable", "off"],
            &["disable", "thinking"],
            &["disable", "nope"],
        ]
    ));
    insta::assert_snapshot!(sandbox.read("~/.switchboard/mcp.json"));
    assert_eq!(sandbox.read("~/.cursor/mcp.json"), theirs);
    assert_eq!(state(&sandbox, "files"), "disabled");
    assert_eq!(state(&sandbox, "search"), "disabled");
    assert_eq!(state(&sandbox, "off"), "untrusted");
    assert_eq!(state(&sandbox, "thinking"), "disabled");
    for name in ["files", "search", "thinking"] {
        run(&sandbox, &["enable", name]);
    }
    run(&sandbox, &["disable", "off"]);
    assert_eq!(state(&sandbox, "files"), "enabled");
    assert_eq!(state(&sandbox, "search"), "untrusted");
    assert_eq!(state(&sandbox, "off"), "disabled");
    let ours = sandbox.read("~/.switchboard/mcp.json");
    assert!(!ours.contains("disabledServers") && !ours.contains("enabledServers"), "{ours}");
    assert!(ours.contains("// mine"));
}

#[test]
fn a_project_entry_is_switched_in_the_projects_file() {
    let sandbox = world();
    run(&sandbox, &["add", "here", "--", "x"]);
    run(&sandbox, &["disable", "here"]);
    assert!(sandbox.read(".switchboard/mcp.json").contains("\"enabled\": false"));
    assert_eq!(state(&sandbox, "here"), "disabled");
    run(&sandbox, &["enable", "here"]);
    assert_eq!(state(&sandbox, "here"), "enabled");
}

#[test]
fn a_server_that_its_tool_lists_as_off_can_be_switched_on() {
    let sandbox = testkit::Sandbox::new();
    sandbox.write(
        "~/.gemini/settings.json",
        r#"{"mcp": {"excluded": ["g"]}, "mcpServers": {"g": {"command": "x"}, "*": {"command": "y"}}}"#,
    );
    assert_eq!(state(&sandbox, "g"), "disabled");
    run(&sandbox, &["enable", "g"]);
    assert_eq!(state(&sandbox, "g"), "untrusted");
    run(&sandbox, &["disable", "g"]);
    assert_eq!(state(&sandbox, "g"), "disabled");
    // A star is a name here, not every name.
    run(&sandbox, &["disable", "*"]);
    assert_eq!(state(&sandbox, "*"), "disabled");
    assert_eq!(state(&sandbox, "thinking"), "enabled");
    run(&sandbox, &["import", "g"]);
    assert_eq!(state(&sandbox, "g"), "disabled");
}

#[test]
fn nothing_is_left_behind_by_what_could_not_be_done() {
    let sandbox = testkit::Sandbox::new();
    run(&sandbox, &["remove", "x", "--scope", "project"]);
    run(&sandbox, &["remove", "x", "--scope", "user"]);
    assert!(!sandbox.path(".switchboard").exists() && !sandbox.path("~/.switchboard").exists());
}
