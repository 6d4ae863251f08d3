//! `add`.

use testkit::Sandbox;

use crate::{json, run, session};

#[test]
fn writes_a_file_that_people_can_read() {
    let sandbox = Sandbox::new();
    let lines: &[&[&str]] = &[
        &[
            "add",
            "files",
            "--env",
            "ROOT=${HOME}",
            "--timeout",
            "5000",
            "--",
            "npx",
            "-y",
            "server files",
            ".",
        ],
        &[
            "add",
            "remote",
            "--url",
            "https://mcp.example.com/sse",
            "--transport",
            "sse",
            "--header",
            "X-Team: blue",
            "--token",
            "${TOKEN}",
        ],
        &["list"],
    ];
    insta::assert_snapshot!(session(&sandbox, lines));
    insta::assert_snapshot!(sandbox.read(".switchboard/mcp.json"));
    assert!(sandbox.path(".switchboard/mcp.schema.json").exists());
    let mut left: Vec<_> = std::fs::read_dir(sandbox.path(".switchboard"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["mcp.json", "mcp.schema.json"]);
}

#[test]
fn what_was_added_is_trusted_until_it_changes() {
    let sandbox = Sandbox::new();
    run(&sandbox, &["add", "a", "--", "x"]);
    let state = |sandbox: &Sandbox| {
        json(sandbox, &["list", "--json"])["servers"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == "a")
            .unwrap()["state"]
            .clone()
    };
    assert_eq!(state(&sandbox), "enabled");
    let text = sandbox.read(".switchboard/mcp.json");
    sandbox.write(".switchboard/mcp.json", text.replace("\"x\"", "\"evil\""));
    assert_eq!(state(&sandbox), "untrusted");
    // And replacing it takes the old consent back.
    run(&sandbox, &["add", "a", "--replace", "--", "y"]);
    assert_eq!(state(&sandbox), "enabled");
    sandbox.write(".switchboard/mcp.json", text);
    assert_eq!(state(&sandbox), "untrusted");
}

#[test]
fn replacing_one_leaves_another_of_the_same_definition_trusted() {
    let sandbox = Sandbox::new();
    run(&sandbox, &["add", "one", "--", "foo", "--x", "1"]);
    run(&sandbox, &["add", "two", "--", "foo", "--x", "1"]);
    let is_trusted = |name: &str| {
        let listed = json(&sandbox, &["list", "--json"]);
        let row = listed["servers"].as_array().unwrap().iter().find(|row| row["name"] == name).cloned();
        row.unwrap()["state"] == "enabled"
    };
    run(&sandbox, &["add", "two", "--replace", "--", "foo", "--y", "2"]);
    assert!(is_trusted("one") && is_trusted("two"));
    // What is left of it is given to the one that has it.
    run(&sandbox, &["untrust", "two"]);
    assert!(is_trusted("one") && !is_trusted("two"));
    run(&sandbox, &["untrust", "one"]);
    assert!(!is_trusted("one"));
}

#[test]
fn refuses_with_the_words_of_the_contract() {
    let sandbox = Sandbox::new();
    run(&sandbox, &["add", "there", "--", "x"]);
    let long = "a".repeat(101);
    let lines: &[&[&str]] = &[
        &["add", "there", "--", "y"],
        &["add", "", "--", "y"],
        &["add", &long, "--", "y"],
        &["add", "a b", "--", "y"],
        &["add", "x", "--url", "https://a", "--", "y"],
        &["add", "x", "--token", "t", "--", "y"],
        &["add", "x"],
        &["add", "x", "--url", "ftp://a"],
        &["add", "x", "--url", "https://a", "--header", "no-colon"],
        &["add", "x", "--url", "https://a", "--header", "Host: evil"],
        &["add", "x", "--env", "NOVALUE", "--", "y"],
        &["add", "x", "--url", "https://a", "--env", "A=b"],
        &["add", "x", "--header", "A: b", "--", "y"],
        &["add"],
        &["add", "there", "--json", "--", "y"],
    ];
    insta::assert_snapshot!(session(&sandbox, lines));
}

#[test]
fn warns_of_a_secret_that_others_will_see() {
    let sandbox = Sandbox::new();
    let text = session(
        &sandbox,
        &[
            &["add", "a", "--url", "https://a.dev", "--token", "hunter2"],
            &["add", "b", "--scope", "user", "--url", "https://b.dev", "--token", "hunter2"],
            &["add", "c", "--json", "--url", "https://c.dev", "--token", "hunter2"],
        ],
    );
    assert!(!text.contains("hunter2 "), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn says_when_another_definition_counts() {
    let sandbox = Sandbox::new();
    run(&sandbox, &["add", "a", "--", "x"]);
    insta::assert_snapshot!(run(&sandbox, &["add", "a", "--scope", "user", "--", "y"]));
}

#[test]
fn says_when_two_names_are_one_connection() {
    let sandbox = Sandbox::new();
    let add = |name: &str, scope: &str| {
        let line = ["add", name, "--scope", scope, "--url", "https://example.com/mcp", "--json"];
        json(&sandbox, &line)["warnings"].clone()
    };
    assert_eq!(add("tracker", "user"), serde_json::json!([]));
    let another = "`later` is the same connection as `tracker`, which is used instead";
    assert_eq!(add("later", "user"), serde_json::json!([another]));
    // The project's counts before the user's.
    let instead = "`later` is the same connection as `near`, which is used instead";
    assert_eq!(add("near", "project"), serde_json::json!([instead]));
}

#[test]
fn a_link_in_a_project_leads_to_nothing_of_the_users() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    sandbox.write("~/.bashrc", "mine\n");
    sandbox.write("~/.claude.json", "{\"mcpServers\": {}}\n");
    sandbox.write(".switchboard/mcp.json", "{\"$schema\": \"./mcp.schema.json\", \"mcpServers\": {}}\n");
    symlink(sandbox.path("~/.bashrc"), sandbox.path(".switchboard/mcp.schema.json")).unwrap();
    run(&sandbox, &["add", "a", "--", "x"]);
    assert_eq!(sandbox.read("~/.bashrc"), "mine\n");
    std::fs::remove_file(sandbox.path(".switchboard/mcp.json")).unwrap();
    symlink(sandbox.path("~/.claude.json"), sandbox.path(".switchboard/mcp.json")).unwrap();
    insta::assert_snapshot!(run(&sandbox, &["add", "b", "--", "x"]));
    assert_eq!(sandbox.read("~/.claude.json"), "{\"mcpServers\": {}}\n");
    // A link at the lock's place neither hangs nor leads anywhere.
    std::fs::remove_file(sandbox.path(".switchboard/mcp.json")).unwrap();
    symlink(sandbox.path("~/made"), sandbox.path(".switchboard/.mcp.json.lock")).unwrap();
    assert!(run(&sandbox, &["add", "c", "--", "x"]).ends_with("--- exit 1\n"));
    assert!(!sandbox.path("~/made").exists());
}

#[test]
fn only_what_was_added_is_approved() {
    let sandbox = Sandbox::new();
    let twice = "{\"mcpServers\": {\"a\": {\"command\": \"evil\"}, \"a\": {\"command\": \"ok\"}}}";
    sandbox.write(".switchboard/mcp.json", twice);
    run(&sandbox, &["add", "a", "--replace", "--", "fine"]);
    sandbox.write(".switchboard/mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"evil\"}}}");
    assert!(run(&sandbox, &["list"]).contains("a         untrusted"));
}

#[test]
fn warns_of_a_secret_in_a_file_that_others_may_read() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let path = sandbox.write("~/.switchboard/mcp.json", "{\"mcpServers\": {}}\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    insta::assert_snapshot!(run(
        &sandbox,
        &["add", "a", "--scope", "user", "--url", "https://a.dev", "--token", "hunter2"]
    ));
}
