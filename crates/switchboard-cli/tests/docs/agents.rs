//! The entries for every tool in the guide of the gateway: what `install` writes, read again as that tool's file.

use std::fmt::Write;

use serde_json::Value;
use switchboard::Provider;
use switchboard::install::tools;
use testkit::{Sandbox, golden_part, workspace};

use crate::world::World;

/// A text, and the tools with their files that have it.
type Group = (String, Vec<(Provider, String)>);

#[test]
fn the_entry_of_every_tool_is_what_install_writes() {
    let mut groups: Vec<Group> = Vec::new();
    for tool in tools() {
        let world = World::new("fresh");
        let (path, text) = installed(&world.sandbox, tool);
        is_read(&world.sandbox, tool);
        match groups.iter_mut().find(|(there, _)| *there == text) {
            Some((_, tools)) => tools.push((tool, path)),
            None => groups.push((text, vec![(tool, path)])),
        }
    }
    assert_eq!(groups.iter().map(|(_, tools)| tools.len()).sum::<usize>(), 26);
    let mut part = String::new();
    for (text, tools) in groups {
        for (tool, path) in &tools {
            writeln!(part, "- {tool}: `{path}`").unwrap();
        }
        let (tool, path) = &tools[0];
        let format = path.rsplit('.').next().unwrap_or_default();
        write!(part, "\n<!-- tool: {} -->\n```{format}\n{}\n```\n\n", tool.id(), text.trim_end()).unwrap();
    }
    golden_part(&workspace().join("docs/gateway.md"), "entries", &part);
}

/// Installs into an empty home; gives the file and what it says.
fn installed(sandbox: &Sandbox, tool: Provider) -> (String, String) {
    let scope = if tool == Provider::McpJson { "project" } else { "user" };
    let report = json(sandbox, &["install", "--into", tool.id(), "--scope", scope, "--json"]);
    let path = report["tools"][0]["path"].as_str().unwrap_or_else(|| panic!("{tool}: {report}")).to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    let shown = path.replace(&*sandbox.home().to_string_lossy(), "~");
    (shown.replace(&format!("{}/", sandbox.project().display()), ""), text)
}

/// The tool's file is read, and the gateway in it is known for what it is.
fn is_read(sandbox: &Sandbox, tool: Provider) {
    let report = json(sandbox, &["list", "--all", "--json"]);
    let rows = report["servers"].as_array().unwrap();
    let row =
        rows.iter().find(|row| row["name"] == "switchboard").unwrap_or_else(|| panic!("{tool}: {report}"));
    assert_eq!(
        (row["provider"].as_str(), row["state"].as_str()),
        (Some(tool.id()), Some("filtered")),
        "{report}"
    );
    let plan = json(
        sandbox,
        &["install", "--into", tool.id(), "--scope", row["scope"].as_str().unwrap(), "--dry-run", "--json"],
    );
    assert_eq!(plan["tools"][0]["state"], "unchanged", "{plan}");
}

fn json(sandbox: &Sandbox, line: &[&str]) -> Value {
    let program = sandbox.home().parent().unwrap().join("bin/switchboard");
    let output = sandbox.command(program).args(line).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}
