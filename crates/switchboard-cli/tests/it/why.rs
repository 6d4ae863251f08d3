//! `why`.

use crate::{run, session, world};

#[test]
fn explains_a_server() {
    let sandbox = world();
    insta::assert_snapshot!(session(
        &sandbox,
        &[&["why", "files"], &["why", "remote"], &["why", "search"], &["why", "broken"], &["why", "file"]]
    ));
}

#[test]
fn gives_the_same_as_json() {
    insta::assert_snapshot!(run(&world(), &["why", "files", "--json"]));
}

#[test]
fn hides_what_variables_hold() {
    let sandbox = testkit::Sandbox::new().with_var("MY_TOKEN", "hunter2").with_var("PLACE", "/srv/data");
    sandbox.write(
        "~/.switchboard/mcp.json",
        r#"{"mcpServers": {"a": {"command": "x", "args": ["--token", "${MY_TOKEN}", "--root", "${PLACE}", "${MY_TOKEN}", "${NOWHERE}"], "env": {"A": "${MY_TOKEN}", "B": "MY_TOKEN", "C": "!echo hunter2 --token hunter2"}},
            "b": {"url": "https://x.dev/${MY_TOKEN}/mcp", "auth": {"type": "bearer", "tokenEnv": "MY_TOKEN"}}}}"#,
    );
    let text = session(&sandbox, &[&["why", "a"], &["why", "b"], &["why", "a", "--json"]]);
    assert!(!text.replace("echo hunter2", "").contains("hunter2"), "{text}");
    insta::assert_snapshot!(text);
}
