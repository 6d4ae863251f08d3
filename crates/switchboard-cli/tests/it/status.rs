//! `status`.

use crate::{run, session, world};

#[test]
fn tells_whether_each_could_start() {
    let sandbox = world();
    sandbox.write(
        ".switchboard/settings.json",
        r#"{"mcp_servers": {"login": {"url": "https://a.dev/mcp", "auth": {"type": "oauth"}}, "gone": {"command": "no-such-program"}, "needs": {"command": "sh", "args": ["${UNSET}"]}}}"#,
    );
    insta::assert_snapshot!(session(
        &sandbox,
        &[&["status", "--trust"], &["status", "files", "--json"], &["status", "nope"]]
    ));
    let json = run(&sandbox, &["status", "gone", "--trust", "--json"]);
    assert!(json.contains("\"status\": \"no-such-program not found\""), "{json}");
}
