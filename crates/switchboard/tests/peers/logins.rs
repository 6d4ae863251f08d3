//! The servers that want a login do what tests of logins rely on.

use std::process::Command;

use crate::world::{node, source};

#[test]
fn authorization_servers_go_all_the_way() {
    let mut check = Command::new(node());
    check.arg(source("check-logins.mjs")).env("SWITCHBOARD_PEERS", testkit::peers());
    let output = check.output().unwrap();
    let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    assert!(output.status.success(), "{said}");
}
