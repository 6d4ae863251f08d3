//! `remove`.

use crate::{run, session, world};

#[test]
fn removes_what_is_ours_and_nothing_else() {
    let sandbox = world();
    let theirs = sandbox.read("~/.cursor/mcp.json");
    insta::assert_snapshot!(session(
        &sandbox,
        &[
            &["remove", "files"],
            &["rm", "files"],
            &["rm", "search"],
            &["rm", "thinking"],
            &["rm", "nope"],
            &["rm", "nope", "--scope", "user"]
        ]
    ));
    insta::assert_snapshot!(sandbox.read("~/.switchboard/mcp.json"));
    assert_eq!(sandbox.read("~/.cursor/mcp.json"), theirs);
}

#[test]
fn tells_machines_too() {
    insta::assert_snapshot!(run(&world(), &["remove", "files", "--json"]));
}
