//! Text made by an enemy: it may be shown, it may not act.

use testkit::Sandbox;

use crate::screen::Screen;

const NAME: &str = "evil\\u001b]0;owned\\u0007\\u202etxt\\u200b";

fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    let bad = "\\u001b[2J\\u001b]52;c;aGk=\\u0007\\u0085";
    sandbox.write(
        ".mcp.json",
        format!(
            r#"{{"mcpServers": {{"{NAME}": {{"command": "x{bad}", "args": ["{bad}"], "cwd": "{bad}", "env": {{"A{bad}": "!b{bad}", "B": "${{{bad}}}"}},
            "inheritEnv": ["C{bad}"], "description": "{bad}", "tools": {{"approval": {{"{bad}": "never"}}}}, "{bad}": 1, "timeout": "{bad}"}},
            "remote": {{"url": "https://x/{bad}?a{bad}=b", "headers": {{"H{bad}": "{bad}"}}, "auth": {{"type": "bearer", "tokenEnv": "{bad}"}}}},
            "typed": {{"type": "{bad}"}}}}}}"#
        ),
    );
    sandbox.write(
        ".agents/plugins/\u{1b}[31mplugin\u{7}/.mcp.json",
        "{\"mcpServers\": {\"p\": {\"command\": \"x\"}}}",
    );
    sandbox.write(
        "~/.switchboard/settings.json",
        format!(
            "{{\"{bad}\": 1, \"providers\": {{\"disabled\": [\"{bad}\"]}}, \"approval\": {{\"{bad}\": 1}}}}"
        ),
    );
    sandbox
}

/// Everything a terminal would act on, except for our own colours and line ends.
fn acts(raw: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(raw);
    let mut found = Vec::new();
    let mut rest = text.as_ref();
    while let Some(at) = rest.find(|c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}')) {
        rest = &rest[at..];
        let colour = rest.strip_prefix("\x1b[").and_then(|tail| {
            let end = tail.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            tail[end..].starts_with('m').then_some(end + 3)
        });
        let length = rest.chars().next().map_or(1, char::len_utf8);
        if colour.is_none() && !rest.starts_with(['\n', '\r']) {
            found.push(rest.chars().take(12).collect::<String>().escape_debug().to_string());
        }
        rest = &rest[colour.unwrap_or(length)..];
    }
    found
}

#[test]
fn a_terminal_is_told_nothing_but_text_and_colour() {
    let sandbox = world();
    let name = "evil\u{1b}]0;owned\u{7}\u{202e}txt\u{200b}";
    let lines: &[&[&str]] = &[
        &["list", "--all", "-v"],
        &["why", name],
        &["why", "remote"],
        &["why", "typed"],
        &["why", "\u{1b}[2J"],
        &["status"],
        &["doctor", "-v"],
        &["trust", name, "remote", "p"],
        &["status"],
        &["import", "remote", "--dry-run"],
        &["import", "--dry-run"],
        &["disable", name],
        &["enable", name],
        &["remove", name],
        &["untrust", name],
        &["trust", "--all"],
        &["untrust", "--all"],
        &["disable", "\u{1b}[2J"],
        &["remove", "\u{1b}[2J"],
        &["add", "\u{1b}[2J", "--", "x"],
    ];
    for line in lines {
        let mut screen = Screen::open(&sandbox, 200, line);
        screen.end();
        assert!(!screen.raw.is_empty());
        let acts = acts(&screen.raw);
        assert!(acts.is_empty(), "{line:?} sends {acts:?}:\n{}", screen.text());
    }
}
