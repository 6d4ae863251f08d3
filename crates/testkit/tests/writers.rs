//! Many processes change one file, and die while they do.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use switchboard::config::edit::{IfExists, OwnFile};
use switchboard::config::file::ServerEntry;
use switchboard::config::write::Privacy;
use switchboard::sources::syntax::{Format, parse};
use testkit::Sandbox;

fn storm(file: &Path, prefix: &str, first: usize, count: usize) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_edit-storm"));
    command.arg(file).arg(prefix).arg(first.to_string()).arg(count.to_string()).stdout(Stdio::null());
    command
}

#[test]
fn eight_processes_lose_none_of_two_thousand_edits() {
    let sandbox = Sandbox::new();
    let file =
        sandbox.write(".switchboard/mcp.json", "// ours\n{\n  \"mcpServers\": {},\n  \"unknown\": 1\n}\n");
    let children: Vec<Child> =
        (0..8).map(|n| storm(&file, &format!("p{n}-"), 0, 250).spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = fs::read_to_string(&file).unwrap();
    let root = parse(&text, Format::Json).unwrap().unwrap();
    let servers = root.get("mcpServers").unwrap().entries().unwrap();
    assert_eq!(servers.len(), 2000);
    for process in 0..8 {
        // Each one's edits are there in its own order.
        let own: Vec<_> =
            servers.iter().filter(|(key, _)| key.text.starts_with(&format!("p{process}-"))).collect();
        let expected: Vec<_> = (0..250).map(|n| format!("p{process}-{n}")).collect();
        assert_eq!(own.iter().map(|(key, _)| key.text.to_string()).collect::<Vec<_>>(), expected);
    }
    assert!(text.starts_with("// ours\n") && text.ends_with("  \"unknown\": 1\n}\n"));
    let left: Vec<_> =
        fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["mcp.json"], "something stays behind");
}

/// The file's text after so many edits.
fn after(sandbox: &Sandbox, edits: usize) -> String {
    let path = sandbox.path("expected/mcp.json");
    let file = OwnFile::new(&path, Privacy::Shared);
    for number in 0..edits {
        let name = format!("s{number}");
        let entry = ServerEntry { command: Some(name.clone()), ..ServerEntry::default() };
        drop(file.add(&name, &entry, IfExists::Refuse));
    }
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn a_writer_that_is_killed_leaves_the_old_or_the_new_text() {
    let sandbox = Sandbox::new();
    let file = sandbox.path(".switchboard/mcp.json");
    let mut done = 0;
    for round in 0..40 {
        let mut child = storm(&file, "s", done, 1000).spawn().unwrap();
        // Killed after a few edits, at a point of the edit that differs from round to round.
        let wait_for = done + 1 + round % 3;
        let needle = format!("\"s{}\"", wait_for - 1);
        for spin in 0_u64.. {
            if fs::read_to_string(&file).is_ok_and(|text| text.contains(&needle)) {
                break;
            }
            assert!(spin < 10_000_000, "the writer does not write");
        }
        (0..round * 2000).for_each(|n| assert_ne!(std::hint::black_box(n), usize::MAX));
        child.kill().unwrap();
        child.wait().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let root = parse(&text, Format::Json).unwrap().unwrap();
        let edits = root.get("mcpServers").unwrap().entries().unwrap().len();
        assert!(edits >= done, "an edit is lost");
        assert_eq!(text, after(&sandbox, edits), "neither the old nor the new text");
        done = edits;
    }
    // Whoever was killed keeps nobody out.
    assert!(storm(&file, "last", 0, 1).status().unwrap().success());
}

#[test]
fn a_write_that_fails_half_way_changes_nothing() {
    let sandbox = Sandbox::new();
    let text = format!("{{\"mcpServers\": {{}}, \"ballast\": \"{}\"}}\n", "x".repeat(4096));
    let file = sandbox.write(".switchboard/mcp.json", &text);
    // The shell forbids files over 2 KiB, so that the write fails after the file was opened.
    let script = format!(
        "trap '' XFSZ; ulimit -f 4; exec {} {} s 0 1",
        env!("CARGO_BIN_EXE_edit-storm"),
        file.display()
    );
    let status = Command::new("sh").args(["-c", &script]).status().unwrap();
    assert!(!status.success());
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let left: Vec<_> =
        fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["mcp.json"], "something stays behind");
}
