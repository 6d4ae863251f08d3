//! Everything people and programs get wrong in configuration files, one case at a time.
//!
//! The cases are data (see the README beside them). Each must leave its healthy neighbours alone, betray no secret,
//! run nothing and panic never; what is said of it is a snapshot.

use std::fs;
use std::path::Path;

use switchboard::config::Transport;
use switchboard::{Discovery, Options, discover, redact, resolve};
use testkit::Sandbox;

use crate::render;

struct Case {
    name: String,
    env: Vec<(String, String)>,
    files: Vec<(String, Vec<u8>)>,
}

#[test]
fn bad_input_costs_only_itself() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_input");
    let mut groups: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    groups.retain(|path| path.extension().is_some_and(|extension| extension == "cases"));
    groups.sort();
    let mut total = 0;
    let mut failures = Vec::new();
    for group in groups {
        let cases = parse(&fs::read_to_string(&group).unwrap());
        total += cases.len();
        let text: String = cases.iter().map(|case| check(case, &mut failures)).collect();
        let name = group.file_stem().unwrap().to_string_lossy().into_owned();
        insta::with_settings!({ snapshot_path => &dir, prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, text);
        });
    }
    assert!(total >= 200, "only {total} cases");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs one case and gives its text for the snapshot.
fn check(case: &Case, failures: &mut Vec<String>) -> String {
    let sandbox =
        case.env.iter().fold(Sandbox::new(), |sandbox, (name, value)| sandbox.with_var(name, value));
    for (path, content) in &case.files {
        sandbox.write(path, content);
    }
    let discovery = discover(&sandbox.env(), Options::default());
    let text = format!("=== {}\n{}", case.name, render::discovery(&discovery, &sandbox));
    for healthy in ["good", "neighbour"] {
        let declared = case.files.iter().any(|(_, content)| declares(content, healthy));
        if declared && discovery.server(healthy).is_none() {
            failures.push(format!("`{healthy}` is lost: {text}"));
        }
    }
    let said: String =
        discovery.problems.iter().map(render::problem).collect::<String>() + &shown(&discovery, &sandbox);
    if said.contains("canary-7f3a") {
        failures.push(format!("a secret is told: {said}"));
    }
    for dir in [sandbox.home(), sandbox.project()] {
        if dir.join("switchboard-was-here").exists() {
            failures.push(format!("{} ran something", case.name));
        }
    }
    text
}

/// Every value of every server, as people get to see it.
fn shown(discovery: &Discovery, sandbox: &Sandbox) -> String {
    let mut text = String::new();
    for server in &discovery.servers {
        let Ok(spec) = &server.definition else { continue };
        let (values, problems) = resolve::preview(&server.name, spec, &server.origin, &sandbox.env());
        text.extend(values.iter().map(|value| format!("{value:?}\n")));
        text.extend(problems.iter().map(render::problem));
        match &spec.transport {
            Transport::Stdio(stdio) => {
                text.push_str(&redact::word(stdio.command.raw()));
                text.push_str(&redact::args(&stdio.args).join("\n"));
            }
            Transport::Remote(endpoint) => text.push_str(&redact::url(endpoint.url.raw())),
        }
    }
    text
}

/// Whether the file declares a server of that name.
fn declares(content: &[u8], name: &str) -> bool {
    let text = String::from_utf8_lossy(content);
    let spellings = [
        format!("\"{name}\":"),
        format!("\"{name}\" :"),
        format!("mcp_servers.{name}]"),
        format!("  {name}:"),
        format!("name: {name}"),
    ];
    spellings.iter().any(|spelling| text.contains(spelling))
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let plain = line.trim_end_matches('\n');
        if let Some(name) = plain.strip_prefix("=== ") {
            cases.push(Case { name: name.to_owned(), env: Vec::new(), files: Vec::new() });
        } else if let Some(pair) = plain.strip_prefix("env: ") {
            let (name, value) = pair.split_once('=').unwrap();
            cases.last_mut().unwrap().env.push((name.to_owned(), value.to_owned()));
        } else if let Some(path) = plain.strip_prefix("file: ") {
            let mut chomp = false;
            for header in lines.by_ref() {
                match header.trim_end() {
                    "---" => break,
                    "chomp" => chomp = true,
                    other => panic!("unexpected header {other:?}"),
                }
            }
            let mut content = String::new();
            while let Some(next) = lines.peek() {
                if next.starts_with("file: ") || next.starts_with("=== ") {
                    break;
                }
                content.push_str(next);
                lines.next();
            }
            if chomp {
                content.pop();
            }
            cases.last_mut().unwrap().files.push((path.to_owned(), unescape(&content)));
        }
    }
    cases
}

/// `\x{HH}` is a byte, `\repeat{N}{text}` is text N times.
fn unescape(content: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = content;
    while let Some(start) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..start]);
        rest = &rest[start..];
        if let Some(hex) = rest.strip_prefix("\\x{") {
            let (hex, after) = hex.split_once('}').unwrap();
            bytes.push(u8::from_str_radix(hex, 16).unwrap());
            rest = after;
        } else if let Some(repeat) = rest.strip_prefix("\\repeat{") {
            let (count, after) = repeat.split_once("}{").unwrap();
            let (text, after) = after.split_once('}').unwrap();
            bytes.extend(text.as_bytes().repeat(count.parse().unwrap()));
            rest = after;
        } else {
            bytes.push(b'\\');
            rest = &rest[1..];
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}
