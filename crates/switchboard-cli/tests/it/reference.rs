//! The reference pages are made from the code.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use switchboard::env::{Os, TELEMETRY_VARIABLES, VARIABLES};
use switchboard::sources::places::{Container, Project, Spot, places};
use switchboard::{Code, Env};
use testkit::{Sandbox, golden, workspace};

use crate::remedies::{self, COMMANDS, remedy};
use crate::{switchboard, verbs};

const HEAD: &str =
    "<!-- Made from the code by a test: run the tests with UPDATE_GOLDEN=1 to renew it. -->\n\n";

#[test]
fn commands() {
    let sandbox = Sandbox::new();
    let help = |line: &[&str]| {
        let output = switchboard(&sandbox).args(line).arg("--help").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let top = help(&[]);
    let mut page = format!("{HEAD}# Commands\n\n```text\n{}\n```\n", top.trim_end());
    for verb in verbs(&top) {
        write!(page, "\n## {verb}\n\n```text\n{}\n```\n", help(&[verb]).trim_end()).unwrap();
    }
    page.push_str(EXIT_CODES);
    golden(&workspace().join("docs/commands.md"), &page);
}

const EXIT_CODES: &str = "
## Exit codes

| code | meaning |
|---|---|
| 0 | done |
| 1 | failed: a file could not be written, the output could not be printed, a model did not come to its end |
| 2 | usage or configuration: a wrong argument, a name that exists or does not, a broken file, no model or key; `doctor` found an error |
| 3 | login needed: the server wants to know who asks, or the model's provider does not take the key |
| 4 | unreachable: the server does not start, does not answer or does not speak MCP, or the model cannot be reached |
| 5 | the tool reported an error |
| 6 | outcome unknown: the tool may have run, and there is no answer |
| 7 | not approved: consent is needed and nobody could be asked |
| 130 | interrupted |
";

#[test]
fn problems() {
    let mut page = format!(
        "{HEAD}# Problems\n\nEvery code there is, what it means and what to do. What you see on the screen has the file, the line and the values in it.\n[Troubleshooting](troubleshooting.md) goes by what you see instead. Codes are added, never renamed.\n\n## Problems\n\nWhat `list`, `why` and `doctor` may tell you.\n\n| code | severity | meaning | what to do |\n|---|---|---|---|\n"
    );
    let mut told = Vec::new();
    for code in Code::ALL {
        let (word, severity) = (code.as_str(), code.severity().as_str());
        writeln!(page, "| `{word}` | {severity} | {} | {} |", code.meaning(), remedy(word)).unwrap();
        told.push(word);
    }
    page.push_str("\n## Errors\n\nWhy a server cannot be reached or does not answer, a call is not made, or a model gives no answer.\n\n| code | meaning | what to do |\n|---|---|---|\n");
    let codes = switchboard::resolve::CODES.iter().chain(switchboard::auth::CODES);
    let codes = codes.chain(switchboard::wire::CODES).chain(switchboard::calls::CODES);
    for (code, meaning) in codes.chain(switchboard_agent::error::CODES) {
        writeln!(page, "| `{code}` | {meaning} | {} |", remedy(code)).unwrap();
        told.push(code);
    }
    page.push_str("\n## Files\n\nWhy a file was not changed, by `add`, `remove`, `enable`, `disable`, `import`, `install` and others.\n\n| code | meaning | what to do |\n|---|---|---|\n");
    let codes = switchboard::config::write::CODES.iter().chain(switchboard::config::edit::CODES);
    for (code, meaning) in codes {
        writeln!(page, "| `{code}` | {meaning} | {} |", remedy(code)).unwrap();
        told.push(code);
    }
    page.push_str("\n## Commands\n\nWhy a command failed, besides all of the above.\n\n| code | meaning | what to do |\n|---|---|---|\n");
    for (code, meaning, remedy) in COMMANDS {
        assert!(!told.contains(code), "`{code}` is told twice");
        writeln!(page, "| `{code}` | {meaning} | {remedy} |").unwrap();
        told.push(code);
    }
    codes_of_commands(&told);
    let stale: Vec<_> = remedies::codes().filter(|code| !told.contains(code)).collect();
    assert!(stale.is_empty(), "advice for codes that are gone: {stale:?}");
    golden(&workspace().join("docs/problems.md"), &page);
}

/// Holds the codes that commands fail with against those that are told.
fn codes_of_commands(told: &[&str]) {
    let sources = ["switchboard-cli", "switchboard-gateway"]
        .map(|name| workspace().join("crates").join(name).join("src"));
    let text: String = sources.iter().flat_map(|dir| sources_below(dir)).collect();
    for (code, ..) in COMMANDS {
        assert!(text.contains(&format!("\"{code}\"")), "`{code}` is gone");
    }
    let mut named = text.split("CommandError::usage(").skip(1).map(str::trim_start).collect::<Vec<_>>();
    let after_the_kind = |call: &'static str| {
        text.split(call).skip(1).filter_map(|rest| Some(rest.split_once(',')?.1.trim_start()))
    };
    named.extend(after_the_kind("CommandError::new("));
    let codes = named.iter().filter_map(|rest| Some(rest.strip_prefix('"')?.split_once('"')?.0));
    let untold: Vec<&str> = codes.filter(|code| !told.contains(code) && *code != HIDDEN).collect();
    assert!(untold.is_empty(), "not in docs/problems.md: {untold:?}");
}

/// Of a verb that is there for the tests alone.
const HIDDEN: &str = "conformance";

/// All Rust sources below a directory.
fn sources_below(dir: &Path) -> Vec<String> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.extension() {
            _ if path.is_dir() => sources_below(&path),
            Some(ending) if ending == "rs" => vec![fs::read_to_string(&path).unwrap()],
            _ => Vec::new(),
        })
        .collect()
}

#[test]
fn configuration() {
    let mut page = format!("{HEAD}# Configuration\n\n");
    page.push_str("`mcp.json` is JSON; comments and trailing commas are fine. Its schema is in `schemas/mcp.schema.json`, that of\n`settings.json` in `schemas/settings.schema.json`; `switchboard schema` prints both.\n\n");
    page.push_str("## Fields of a server\n\n| field | meaning |\n|---|---|\n");
    let schema = switchboard::config::schema::mcp_file().to_value();
    fields(&mut page, &schema["$defs"]["ServerEntry"]);
    page.push_str("\n## Other keys of `mcp.json`\n\n| key | meaning |\n|---|---|\n");
    fields(&mut page, &schema);
    page.push_str("\n## Settings\n\n| key | meaning |\n|---|---|\n");
    fields(&mut page, &switchboard::config::schema::settings_file().to_value());
    page.push_str("\n## Variables\n\n| variable | effect |\n|---|---|\n");
    for (name, effect) in VARIABLES.iter().chain(TELEMETRY_VARIABLES) {
        writeln!(page, "| `{name}` | {effect} |").unwrap();
    }
    page.push_str("\n## Where servers are looked for\n\nThe one that counts most first. `.` is the project, `~` the home directory; on macOS and Windows desktop programs\nkeep their files elsewhere, and they are found there.\n\n| priority | provider | scope | file | below |\n|---|---|---|---|---|\n");
    let env = Env::new(Os::Linux, "/home", "/project");
    let project = Project { dir: "/project".into(), ancestors: vec!["/project".into()] };
    for place in places(&env, &project) {
        let spot = match &place.spot {
            Spot::File(path) => path.display().to_string(),
            Spot::FilesIn(dir) => format!("{}/*", dir.display()),
            Spot::InEach(dir, name) => format!("{}/*/{name}", dir.display()),
        };
        let spot = spot.replacen("/home", "~", 1).replacen("/project", ".", 1);
        let below = match &place.container {
            Container::Whole => "`mcpServers` or `servers`, or the servers alone".to_owned(),
            Container::Below(paths) => {
                let mut keys: Vec<_> = paths.iter().map(|path| format!("`{}`", path.join("."))).collect();
                keys.dedup();
                keys.join(" or ")
            }
            Container::ClaudeProject(_) => "`projects.<directory>.mcpServers`".to_owned(),
        };
        writeln!(
            page,
            "| {} | {} (`{}`) | {} | `{spot}` | {below} |",
            place.provider.priority(),
            place.provider,
            place.provider.id(),
            place.scope
        )
        .unwrap();
    }
    golden(&workspace().join("docs/configuration.md"), &page);
}

/// A row for each property of a schema.
fn fields(page: &mut String, schema: &serde_json::Value) {
    for (name, property) in schema["properties"].as_object().unwrap() {
        let text = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        writeln!(page, "| `{name}` | {text} |").unwrap();
    }
}
