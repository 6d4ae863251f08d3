//! The three formats read the same thing into the same tree, with lines.

use super::super::tree::Value;
use super::{Format, parse};

const JSON: &str = r#"{
  // a comment
  "servers": {
    "one": { "command": "npx", "args": ["-y", "x"], "n": 3, "on": true },
    "two": null,
  },
}
"#;
const TOML: &str =
    "# a comment\n\n[servers.one]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nn = 3\non = true\n";
const YAML: &str = "# a comment\n\nservers:\n  one:\n    command: npx\n    args: [-y, x]\n    n: 3\n    on: true\n  two: ~\n";

#[test]
fn every_format_keeps_values_and_lines() {
    for (text, format, one, command) in
        [(JSON, Format::Json, 4, 4), (TOML, Format::Toml, 3, 4), (YAML, Format::Yaml, 4, 5)]
    {
        let root = parse(text, format).unwrap().unwrap();
        let servers = root.get("servers").unwrap();
        let (key, server) = &servers.entries().unwrap()[0];
        assert_eq!((key.text.as_ref(), key.line), ("one", one), "{format:?}");
        assert_eq!(server.get("command").unwrap().text(), Some("npx"));
        assert_eq!(server.get("command").unwrap().line, command, "{format:?}");
        assert_eq!(server.get("args").unwrap().texts().unwrap(), ["-y", "x"]);
        assert_eq!(server.get("n").unwrap().value, Value::Number("3".into()));
        assert_eq!(server.get("on").unwrap().bool(), Some(true));
    }
}

#[test]
fn a_text_that_says_nothing_is_nothing() {
    for (text, format) in [
        ("", Format::Json),
        (" \n\t", Format::Json),
        ("// only\n/* comments */", Format::Json),
        ("", Format::Toml),
        ("# only", Format::Toml),
        ("", Format::Yaml),
        ("# only\n\n", Format::Yaml),
    ] {
        assert!(parse(text, format).unwrap().is_none(), "{text:?} as {format:?}");
    }
}

#[test]
fn errors_name_the_place_and_not_the_source() {
    for (text, format, line) in [
        ("{\n \"a\": \"hunter2\" \"b\": 1\n}", Format::Json, 2),
        ("a = 1\nb = hunter2\n", Format::Toml, 2),
        ("a: 1\nb: [hunter2\nc: hunter2\n", Format::Yaml, 3),
    ] {
        let error = parse(text, format).unwrap_err();
        assert!(!error.what.contains("hunter2"), "{}", error.what);
        assert!(error.line.is_some_and(|at| at >= line - 1), "{format:?} {error:?}");
    }
}

#[test]
fn a_bomb_is_an_error_and_not_an_explosion() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let references = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{references}]\n"));
    }
    assert!(parse(&bomb, Format::Yaml).is_err());
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}{}", open.repeat(10_000), close.repeat(10_000));
        assert!(parse(&deep, Format::Json).is_err());
        assert!(parse(&deep, Format::Yaml).is_err());
    }
    assert!(parse(&format!("a = {}1{}", "[".repeat(10_000), "]".repeat(10_000)), Format::Toml).is_err());
}

#[test]
fn repeated_keys_are_all_there_and_the_last_counts() {
    for (text, format) in
        [("{\"a\": 1, \"b\": 2, \"a\": 3}", Format::Json), ("a: 1\nb: 2\na: 3\n", Format::Yaml)]
    {
        let root = parse(text, format).unwrap().unwrap();
        assert_eq!(root.entries().unwrap().len(), 3, "{format:?}");
        assert_eq!(root.get("a").unwrap().value, Value::Number("3".into()));
    }
}
