//! `doctor`.

use testkit::Sandbox;

use crate::{run, session, world};

#[test]
fn names_causes_worst_first() {
    let sandbox = world();
    sandbox.write(".switchboard/mcp.json", "{\"mcpServers\": {\"shared\": {\"command\": \"sh\", \"env\": {\"API_TOKEN\": \"hunter2\", \"DB\": \"postgres://a:hunter2@db/x\"}}}}");
    let text = session(&sandbox, &[&["doctor"], &["doctor", "--json"]]);
    assert!(!text.contains("hunter2"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn is_content_with_an_empty_machine() {
    insta::assert_snapshot!(run(&Sandbox::new(), &["doctor"]));
}
