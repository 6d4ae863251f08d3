//! `completions`, and what a shell gets when somebody presses Tab.

use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use testkit::{Fake, FakeScript, Sandbox, fake_server};

use crate::screen::Screen;
use crate::{run, switchboard, world};

/// What bash parts words at.
const BREAKS: &str = " \t\n\"'@><=;|&(:";

/// A home with a server whose offers are known from last time.
fn known() -> (Sandbox, FakeScript) {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let script = Fake::script(json!({
        "tools": [
            {"name": "get", "description": "Gets it", "inputSchema": {"type": "object"}},
            {"name": "set", "description": "Sets it", "inputSchema": {"type": "object", "required": ["level"], "properties": {
                "quiet": {"type": "boolean", "description": "Say less"},
                "level": {"enum": ["low", "very high", "x;touch canary *"]},
                "path": {"type": "string"},
                "-rf": {"type": "string"}}}}],
        "resources": [
            {"uri": "note:one", "name": "one", "text": "hello"}, {"uri": "note:two words", "name": "two"},
            {"uri": "note:\u{1b}[31m", "name": "evil"}],
        "templates": [{"uriTemplate": "note:day/{day}", "name": "a day"}],
        "prompts": [{"name": "greet", "arguments": [{"name": "tone"}, {"name": "who", "required": true}]}],
    }));
    let entry = json!({"command": fake_server(), "args": [script.path()]});
    let off = json!({"command": "x", "enabled": false});
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"fake": entry, "off": off}}).to_string());
    sandbox.write("notes/a file.txt", "");
    assert!(run(&sandbox, &["resources"]).contains("note:one"));
    (sandbox, script)
}

/// What is offered for a line, one a line.
fn offered(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let output = switchboard(sandbox).env("COMPLETE", "bash").args(["--", line, BREAKS]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn every_shell_gets_a_script() {
    let sandbox = world();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = run(&sandbox, &["completions", shell]);
        assert!(text.contains("switchboard") && text.ends_with("--- exit 0\n"), "{text}");
    }
}

#[test]
fn tools_and_their_arguments_are_offered_from_memory() {
    let (sandbox, script) = known();
    let asked = script.log().len();
    let check = |line: &str, expected: &[&str]| {
        assert_eq!(offered(&sandbox, &format!("switchboard {line}")), expected, "{line}");
    };
    check("call ", &["mcp_fake_get ", "mcp_fake_set "]);
    check("call mcp_fake_s", &["mcp_fake_set "]);
    check("call fake/", &["fake/get ", "fake/set "]);
    check("call --server nobody ", &[]);
    // What is needed comes first, what was given is not offered again.
    check("call mcp_fake_set ", &["level=", "quiet=", "path="]);
    check("call fake/set level=low q", &["quiet="]);
    check("call set level=low ", &["quiet=", "path="]);
    check("call mcp_fake_set quiet=", &["true ", "false "]);
    check("call mcp_fake_set level=", &["low ", "very\\ high ", "x\\;touch\\ canary\\ \\* "]);
    check("call mcp_fake_set level=\"v", &["very high"]);
    check("call mcp_fake_set path=no", &["notes/"]);
    check("call mcp_fake_set path=notes/", &["notes/a\\ file.txt "]);
    check("call mcp_fake_set --args @no", &["notes/"]);
    check("call nothing ", &[]);
    check("read note:", &["one ", "two\\ words ", "day/"]);
    check("prompt ", &["greet "]);
    check("prompt greet ", &["who=", "tone="]);
    check("prompt greet who=me ", &["tone="]);
    assert_eq!(script.log().len(), asked, "nobody was asked");
}

#[test]
fn servers_are_offered_where_they_make_sense() {
    let (sandbox, _script) = known();
    sandbox.write(
        ".mcp.json",
        json!({"mcpServers": {"stranger": {"command": "x"}, "--trust": {"command": "y"}}}).to_string(),
    );
    let check = |line: &str, expected: &[&str]| {
        assert_eq!(offered(&sandbox, &format!("switchboard {line}")), expected, "{line}");
    };
    check("why ", &["fake ", "off ", "stranger ", "context7 ", "github ", "thinking "]);
    check("why f", &["fake "]);
    check("status fake ", &["off ", "stranger "]);
    check("tools ", &["fake "]);
    check("test ", &["fake "]);
    check("--trust tools ", &["fake ", "stranger "]);
    check("trust ", &["stranger "]);
    check("untrust ", &[]);
    check("enable ", &["off "]);
    check("disable ", &["fake ", "stranger "]);
    check("remove ", &["fake ", "off "]);
    check("import ", &["stranger "]);
    check("call --server ", &["fake "]);
    check("trust --source cur", &["cursor "]);
    check("completions z", &["zsh "]);
    check("tools --w", &["--wait "]);
    check("no", &[]);
    // Elsewhere there are others.
    sandbox.write("~/elsewhere/.mcp.json", r#"{"mcpServers": {"there": {"command": "x"}}}"#);
    check("-C ../home/elsewhere trust ", &["there "]);
}

#[test]
fn bash_completes_a_whole_call() {
    let (sandbox, script) = known();
    let mut screen = Screen::start(&sandbox, 100, &["bash", "--norc", "--noprofile"]);
    screen.send("PS1='> '; source <(switchboard completions bash); echo re''ady\r");
    type_a_call(&mut screen);
    assert_called(&script);
    screen.send("exit\r");
    screen.end();
}

#[test]
fn zsh_completes_a_whole_call() {
    let is_there = ["/usr/bin/zsh", "/bin/zsh"].iter().any(|path| Path::new(path).exists());
    assert!(is_there, "`zsh` cannot be started. Install it: apt-get install zsh");
    let (sandbox, script) = known();
    let mut screen = Screen::start(&sandbox, 100, &["zsh", "-f"]);
    screen.send("PS1='> '; autoload -Uz compinit; compinit -D -u; source <(switchboard completions zsh); echo re''ady\r");
    type_a_call(&mut screen);
    assert_called(&script);
    screen.send("exit\r");
    screen.end();
}

/// Presses Tab where there is one way to go on.
fn type_a_call(screen: &mut Screen) {
    screen.wait_for("\nready");
    screen.send("switchboard call mcp_fake_s\t");
    screen.wait_for("call mcp_fake_set");
    screen.send("l\t");
    screen.wait_for("set level=");
    screen.send("v\t");
    screen.wait_for("level=very\\ high");
    screen.send("q\t");
    screen.wait_for("high quiet=");
    screen.send("t\t");
    screen.wait_for("quiet=true");
    screen.send("; echo en''ded\r");
    screen.wait_for("\nended");
}

fn assert_called(script: &FakeScript) {
    let log = script.log();
    let call = log.iter().find(|line| line["message"]["method"] == "tools/call").unwrap();
    assert_eq!(call["message"]["params"]["arguments"], json!({"level": "very high", "quiet": true}));
}

#[test]
fn fish_is_told_what_things_mean() {
    let (sandbox, _script) = known();
    let own = Path::new(env!("CARGO_BIN_EXE_switchboard")).parent().unwrap();
    let lines = "switchboard completions fish | source; complete -C 'switchboard call mcp_fake_set '; complete -C 'switchboard call mcp_fake_set level=v'";
    let mut fish = sandbox.command("fish");
    fish.env("PATH", format!("{}:/usr/bin:/bin", own.display())).stdin(Stdio::null());
    let output = fish.args(["--no-config", "-c", lines]).output();
    let output = output.expect("`fish` cannot be started. Install it: apt-get install fish");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "level=\tneeded\nquiet=\tboolean, Say less\npath=\tstring\nlevel=very high\n");
}
