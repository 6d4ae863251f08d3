//! What becomes of odd layouts, and that an edit and its undoing leave no trace.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn slot(format: Format, keys: &[&str], shape: Shape) -> Slot {
    Slot { format, keys: keys.iter().map(|key| (*key).to_owned()).collect(), shape }
}

fn toml() -> Slot {
    slot(Format::Toml, &["mcp_servers"], Shape::Map)
}

fn goose() -> Slot {
    slot(Format::Yaml, &["extensions"], Shape::Map)
}

fn list() -> Slot {
    slot(Format::Yaml, &["mcpServers"], Shape::List)
}

fn check_insert(slot: &Slot, before: &str, after: &str) {
    let entry = match slot.shape {
        Shape::Map => json!({"command": "s", "args": ["serve"]}),
        Shape::List => json!({"name": "gate", "command": "s", "args": ["serve"]}),
    };
    assert_eq!(slot.insert(before, "gate", &entry).unwrap(), after);
}

fn check_cut(slot: &Slot, before: &str, name: &str, after: &str, piece: &str) {
    assert_eq!(slot.cut(before, name).unwrap(), (after.to_owned(), piece.to_owned()));
    // What was cut can be put back, wherever it then stands.
    let back = slot.paste(after, name, piece).unwrap();
    assert_eq!(slot.entry(&back, name).unwrap(), slot.entry(before, name).unwrap());
}

#[test]
fn toml_gets_a_table_at_the_end() {
    let new = "[mcp_servers.gate]\ncommand = \"s\"\nargs = [\"serve\"]\n";
    check_insert(&toml(), "", new);
    check_insert(&toml(), "a = 1", &format!("a = 1\n\n{new}"));
    check_insert(&toml(), "[x] # c\na = 1\n\n", &format!("[x] # c\na = 1\n\n{new}"));
    check_insert(&toml(), "a = 1\r\n", &format!("a = 1\r\n\r\n{}", new.replace('\n', "\r\n")));
    check_insert(
        &toml(),
        "mcp_servers = { a = { command = \"x\" } } # mine\n",
        "mcp_servers = { a = { command = \"x\" }, gate = { command = \"s\", args = [\"serve\"] } } # mine\n",
    );
    check_insert(
        &toml(),
        "mcp_servers = {}\n",
        "mcp_servers = { gate = { command = \"s\", args = [\"serve\"] } }\n",
    );
}

#[test]
fn toml_loses_the_statements_of_one_entry() {
    check_cut(
        &toml(),
        "# top\n[mcp_servers.a]\ncommand = \"\"\"x\n[not a header]\n\"\"\" # why\n  [mcp_servers.a.env]\n  K = \"v\"\n\n# of b\n[mcp_servers.b]\ncommand = 'y'\n",
        "a",
        "# top\n\n# of b\n[mcp_servers.b]\ncommand = 'y'\n",
        "[mcp_servers.a]\ncommand = \"\"\"x\n[not a header]\n\"\"\" # why\n  [mcp_servers.a.env]\n  K = \"v\"\n",
    );
    check_cut(
        &toml(),
        "[mcp_servers]\na = { command = \"x\" }\n\"b.c\".command = \"y\"\n",
        "b.c",
        "[mcp_servers]\na = { command = \"x\" }\n",
        "[mcp_servers.\"b.c\"]\ncommand = \"y\"\n",
    );
    check_cut(
        &toml(),
        "[mcp_servers.a]\ncommand = 'x'\n\n[mcp_servers.b]\ncommand = 'y'\n\n[c]\n",
        "b",
        "[mcp_servers.a]\ncommand = 'x'\n\n[c]\n",
        "[mcp_servers.b]\ncommand = 'y'\n",
    );
    assert!(toml().cut("mcp_servers = { a = { command = \"x\" } }\n", "a").is_err());
}

#[test]
fn yaml_gets_lines_in_the_manner_of_the_others() {
    let new = "extensions:\n  gate:\n    command: s\n    args:\n      - serve\n";
    check_insert(&goose(), "", new);
    check_insert(&goose(), "A: 1", &format!("A: 1\n{new}"));
    check_insert(&goose(), "A: 1\n...\n", &format!("A: 1\n{new}...\n"));
    check_insert(&goose(), "extensions: {} \nB: 2\n", &format!("{new}B: 2\n"));
    check_insert(&goose(), "extensions:\nB: 2\n", &format!("{new}B: 2\n"));
    check_insert(
        &goose(),
        "extensions:\n    a:\n        cmd: |\n          x\n\n          y\n\n# of B\nB: 2\n",
        "extensions:\n    a:\n        cmd: |\n          x\n\n          y\n    gate:\n      command: s\n      args:\n        - serve\n\n# of B\nB: 2\n",
    );
    check_insert(
        &goose(),
        "extensions: {a: {cmd: \"}\"}, # c ]\n}\n",
        "extensions: {a: {cmd: \"}\"}, # c ]\n\"gate\": {\"command\":\"s\",\"args\":[\"serve\"]}}\n",
    );
    check_insert(
        &list(),
        "mcpServers:\n- name: a\n  command: x\nB: 2\n",
        "mcpServers:\n- name: a\n  command: x\n- name: gate\n  command: s\n  args:\n    - serve\nB: 2\n",
    );
}

#[test]
fn yaml_loses_the_lines_of_one_entry() {
    check_cut(
        &goose(),
        "extensions:\n  a: {cmd: x}\n  # of b\n  b:\n    cmd: y\n  # last\nB: 2\n",
        "b",
        "extensions:\n  a: {cmd: x}\n  # of b\n  # last\nB: 2\n",
        "  b:\n    cmd: y\n",
    );
    check_cut(
        &goose(),
        "extensions:\n  a:\n    cmd: x\nB: 2\n",
        "a",
        "extensions: {}\nB: 2\n",
        "  a:\n    cmd: x\n",
    );
    check_cut(
        &list(),
        "mcpServers:\n- name: a\n  x: 1\n- name: b\n",
        "a",
        "mcpServers:\n- name: b\n",
        "- name: a\n  x: 1\n",
    );
    for text in
        ["extensions: &x\n  a: {cmd: y}\n", "extensions: {a: {cmd: y}}\n", "{extensions: {a: {cmd: y}}}\n"]
    {
        assert!(goose().cut(text, "a").is_err(), "{text}");
    }
}

#[test]
fn json_keeps_the_comments_of_a_piece() {
    let slot = slot(Format::Json, &["mcpServers"], Shape::Map);
    let before = "{\n  \"mcpServers\": {\n    \"a\": {\n      // why\n      \"command\": \"x\",\n    }, // a\n    \"b\": {}\n  }\n}\n";
    let (after, piece) = slot.cut(before, "a").unwrap();
    assert_eq!(piece, "{\n      // why\n      \"command\": \"x\",\n    }");
    let back = slot.paste(&after, "a", &piece).unwrap();
    assert!(back.contains(&piece), "{back}");
    assert_eq!(slot.entries(&back).unwrap().len(), 2);
}

#[test]
fn what_is_broken_is_named_with_its_line() {
    for (slot, text, line) in [(toml(), "a = 1\nb = \n", 2), (goose(), "a: 1\n  b: [\n", 3)] {
        let refused = slot.insert(text, "gate", &json!({})).unwrap_err();
        assert!(refused.line.is_some_and(|at| at <= line), "{refused:?}");
    }
}

/// Servers with names and values that are hard to keep apart.
fn servers() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop_oneof!["[a-e]", "[a-c][.:\"' #\\[{=]{1,2}[a-c]"];
    prop::collection::btree_map(name, "[a-z #\\[\\]{}='\"\\\\:,-]{0,8}", 0..5)
        .prop_map(|map| map.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// An entry that is put in and taken out again leaves the same servers, and every entry survives cut and paste.
    #[test]
    fn any_entries_survive(servers in servers(), which in 0..3_usize) {
        let slot = [toml(), goose(), slot(Format::Json, &["mcpServers"], Shape::Map)][which].clone();
        let mut text = ["# top\nother = 1\n", "# top\nother: 1\n", "// top\n{ \"other\": 1 }\n"][which].to_owned();
        for (name, value) in &servers {
            text = slot.insert(&text, name, &json!({"command": value, "args": [value], "env": {"K": value}})).unwrap();
        }
        let whole = slot.entries(&text).unwrap();
        prop_assert_eq!(whole.len(), servers.len());
        for (name, _) in &servers {
            let (without, piece) = slot.cut(&text, name).unwrap();
            prop_assert!(slot.entry(&without, name).unwrap().is_none());
            let back = slot.paste(&without, name, &piece).unwrap();
            prop_assert_eq!(slot.entry(&back, name).unwrap(), slot.entry(&text, name).unwrap());
            prop_assert!(back.contains("top"));
        }
    }
}
