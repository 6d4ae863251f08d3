//! Blocks that show a piece of a file, or commands without their output: they must mean something to the program.

use serde_json::Value;
use switchboard::Provider;
use testkit::Sandbox;

use crate::links::prose;
use crate::page::{Block, Page};

/// What a problem with a piece of a file is called.
const MISTAKES: [&str; 9] = [
    "syntax-error",
    "wrong-shape",
    "invalid-server",
    "bad-field",
    "unknown-field",
    "duplicate-key",
    "bad-setting",
    "unknown-setting",
    "no-servers",
];

/// Checks a block that is not run. What is wrong, or what nobody knows, is the error.
pub(crate) fn check(path: &str, block: &Block) -> Result<(), String> {
    let is_compiled = ["docs/library.md", "docs/agent.md"].contains(&path);
    let is_made =
        path == "docs/gateway.md" && block.word("tool").is_some_and(|id| Provider::from_id(id).is_some());
    match block.info.as_str() {
        // The test `agents` makes these, and reads them.
        _ if is_made => Ok(()),
        "sh" => block.text.iter().try_for_each(|line| commands(line)),
        "json" => piece(&block.text.join("\n")),
        "rust" | "rust,no_run" if is_compiled => Ok(()),
        other => {
            Err(format!("a block `{other}` that nobody checks; run it, or put it into the list in unrun.rs"))
        }
    }
}

/// A line of a script: a command of ours, perhaps with variables before it and a remark behind it.
fn commands(line: &str) -> Result<(), String> {
    let line = line.split("  #").next().unwrap_or_default().trim();
    let is_variable = |word: &&str| word.contains('=') && !word.starts_with('-');
    let own: Vec<_> = line.split(' ').skip_while(is_variable).collect();
    match own.first() {
        Some(&"switchboard") => parses(&own.join(" ")),
        Some(&"") | None => Ok(()),
        Some(_) => Err(format!("nobody knows `{line}`")),
    }
}

/// The program understands the line: with `--help` in it, nothing else is done, but what is typed must be known.
pub(crate) fn parses(line: &str) -> Result<(), String> {
    let line = line.split(" | ").next().unwrap_or_default().split(" > ").next().unwrap_or_default();
    let asked = match line.split_once(" -- ") {
        Some((head, tail)) => format!("{head} --help -- {tail}"),
        // Asks for help already.
        None if line.starts_with("switchboard help ") => line.to_owned(),
        None => format!("{line} --help"),
    };
    let sandbox = Sandbox::new();
    let typed = format!("switchboard() {{ '{}' \"$@\"; }}\n{asked}", env!("CARGO_BIN_EXE_switchboard"));
    let output = sandbox.command("/bin/bash").arg("-c").arg(typed).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{line}\n{said}")) }
}

/// Words that stand for others in a text, and one of those.
const STAND_INS: [(&str, &str); 7] = [
    (" TOOL", " cursor"),
    (" SHELL", " bash"),
    (" COMMAND", " list"),
    (" VERB", " list"),
    (" MS", " 1"),
    (" N", " 1"),
    (" SECONDS", " 1"),
];

/// Commands in the middle of a sentence are known to the program as well.
#[test]
fn every_command_in_a_sentence_is_understood() {
    let mut wrong = Vec::new();
    let mut n_seen = 0;
    for page in Page::all() {
        let text = prose(&page).map(|(_, line)| line).collect::<Vec<_>>().join(" ");
        for span in text.split('`').skip(1).step_by(2).filter(|span| span.starts_with("switchboard ")) {
            let words = format!("{} ", span.replace("\\|", "|"));
            let line = STAND_INS
                .iter()
                .fold(words, |line, (word, one)| line.replace(&format!("{word} "), &format!("{one} ")));
            n_seen += 1;
            wrong.extend(parses(line.trim()).err().map(|why| format!("{}: {span}: {why}", page.path)));
        }
    }
    assert!(n_seen > 50, "only {n_seen} were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A piece of `mcp.json` or of `settings.json`.
fn piece(text: &str) -> Result<(), String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let sandbox = Sandbox::new();
    let is_servers = ["mcpServers", "disabledServers"].iter().any(|key| value.get(key).is_some());
    sandbox.write(if is_servers { "~/.switchboard/mcp.json" } else { "~/.switchboard/settings.json" }, text);
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_switchboard"));
    let output = command.args(["doctor", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let problems = report["problems"].as_array().into_iter().flatten();
    let is_mistake = |problem: &&Value| problem["code"].as_str().is_some_and(|code| MISTAKES.contains(&code));
    problems.into_iter().find(is_mistake).map_or(Ok(()), |problem| Err(problem.to_string()))
}
