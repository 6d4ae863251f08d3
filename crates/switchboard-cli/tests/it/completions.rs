//! `completions`, and what a shell gets when it asks.

use crate::{run, switchboard, world};

#[test]
fn every_shell_gets_a_script() {
    let sandbox = world();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = run(&sandbox, &["completions", shell]);
        assert!(text.contains("switchboard") && text.ends_with("--- exit 0\n"), "{text}");
    }
}

#[test]
fn names_of_servers_are_offered() {
    let sandbox = world();
    let output = switchboard(&sandbox)
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "2")
        .env("_CLAP_IFS", "\n")
        .args(["--", "switchboard", "why", "fi"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "files");
}
