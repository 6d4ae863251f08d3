//! `import`.

use crate::{run, session, world};

#[test]
fn shows_the_difference_and_copies() {
    let sandbox = world();
    let theirs = sandbox.read("~/.cursor/mcp.json");
    let before = sandbox.read("~/.switchboard/mcp.json");
    let text = run(&sandbox, &["import", "--from", "cursor", "--dry-run"]);
    assert_eq!(sandbox.read("~/.switchboard/mcp.json"), before);
    assert!(!text.contains("hunter2"), "{text}");
    insta::assert_snapshot!(text);
    insta::assert_snapshot!(session(
        &sandbox,
        &[
            &["import", "--from", "cursor"],
            &["import", "--from", "cursor", "--json"],
            &["import"],
            &["import", "thinking"],
            &["import", "nope"]
        ]
    ));
    insta::assert_snapshot!(sandbox.read("~/.switchboard/mcp.json"));
    assert_eq!(sandbox.read("~/.cursor/mcp.json"), theirs);
}

#[test]
fn placeholders_are_translated_or_the_server_is_left() {
    let sandbox = testkit::Sandbox::new();
    sandbox.write(
        ".vscode/mcp.json",
        r#"{"servers": {"asks": {"command": "x", "env": {"K": "${input:key}"}}, "fine": {"command": "${userHome}/x", "env": {"K": "${env:KEY}"}},
            "odd name": {"command": "y"}}}"#,
    );
    insta::assert_snapshot!(run(&sandbox, &["import", "--from", "vscode", "--scope", "project", "--yes"]));
    insta::assert_snapshot!(sandbox.read(".switchboard/mcp.json"));
    assert!(run(&sandbox, &["list"]).contains("fine      enabled"), "what was imported is trusted");
}
