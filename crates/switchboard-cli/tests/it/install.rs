//! `install` and `uninstall`.

use std::fs;

use serde_json::json;
use testkit::Sandbox;

use crate::screen::Screen;
use crate::{json, run, session, switchboard};

const PROGRAM: &str = env!("CARGO_BIN_EXE_switchboard");

/// What is to see, with a word for the path of the program.
fn seen(sandbox: &Sandbox, lines: &[&[&str]]) -> String {
    session(sandbox, lines).replace(PROGRAM, "[PROGRAM]")
}

/// A home in which three tools have servers, and the program is on the path.
fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    let path = format!("{}:/usr/bin:/bin", sandbox.home().join("bin").display());
    let sandbox = sandbox.with_var("PATH", &path);
    fs::create_dir_all(sandbox.path("~/bin")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(PROGRAM, sandbox.path("~/bin/switchboard")).unwrap();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    sandbox.write(
        "~/.cursor/mcp.json",
        "{\n  // by hand\n  \"mcpServers\": {\n    \"files\": { \"command\": \"npx\", \"args\": [\"-y\", \"files\", \"--api-key\", \"hunter2\"], \"env\": { \"KEY\": \"${env:FILES_KEY}\" } },\n    \"odd name\": { \"command\": \"x\" },\n  }\n}\n",
    );
    sandbox.write(
        "~/.codex/config.toml",
        "model = \"gpt\" # mine\n\n[mcp_servers.docs]\ncommand = \"uvx\"\nargs = [\"docs\"]\nnew_field = 1\n\n[mcp_servers.docs.env]\nTOKEN = \"hunter2\"\n\n[mcp_servers.helped]\nurl = \"https://x.example/mcp\"\nhttp_headers_helper = \"helper\"\n",
    );
    sandbox.write("~/.config/goose/config.yaml", "extensions: {}\n");
    sandbox
}

#[test]
fn one_command_a_tool_and_back() {
    let sandbox = world();
    let before = ["~/.cursor/mcp.json", "~/.codex/config.toml"].map(|path| sandbox.read(path));
    insta::assert_snapshot!(seen(
        &sandbox,
        &[
            &["install", "--into", "cursor", "--into", "codex", "--dry-run"],
            &["install", "--into", "cursor", "--into", "codex"],
            &["install", "--into", "cursor"],
            &["install", "--into", "cursor", "--", "--only", "files"],
            &["list", "--all"],
            &["install", "--into", "windsurf", "--scope", "project"],
            &["install", "--into", "claude-desktop", "--http", "http://127.0.0.1:9/mcp"],
            &["install", "--into", "nothing"],
            &["uninstall", "--from", "cursor", "--dry-run"],
            &["uninstall", "--from", "all"],
            &["uninstall", "--from", "cursor"],
        ]
    ));
    assert_eq!(["~/.cursor/mcp.json", "~/.codex/config.toml"].map(|path| sandbox.read(path)), before);
}

#[test]
fn servers_move_behind_the_gateway_and_back() {
    let sandbox = world();
    let files = ["~/.cursor/mcp.json", "~/.codex/config.toml", "~/.switchboard/mcp.json"];
    let before = files.map(|path| sandbox.read(path));
    let text = seen(
        &sandbox,
        &[
            &["install", "--into", "codex", "--move", "--dry-run"],
            &["install", "--into", "codex", "--move"],
            &["install", "--into", "codex", "--into", "cursor", "--move", "--yes"],
            &["install", "--into", "codex", "--move", "--yes"],
            &["list"],
        ],
    );
    assert!(!text.contains("hunter2"), "{text}");
    insta::assert_snapshot!(text);
    insta::assert_snapshot!(files.map(|path| sandbox.read(path)).join("----\n"));
    assert_eq!(run(&sandbox, &["uninstall", "--from", "cursor"]).matches("put 1 server back").count(), 1);
    assert_eq!(run(&sandbox, &["uninstall", "--from", "codex"]).matches("put 1 server back").count(), 1);
    assert_eq!(files.map(|path| sandbox.read(path)), before);
}

#[test]
fn a_script_gets_json() {
    let sandbox = world();
    let report = json(&sandbox, &["install", "--into", "all", "--json"]);
    let rows = report["tools"].as_array().unwrap();
    let states: Vec<_> =
        rows.iter().map(|row| (row["tool"].as_str().unwrap(), row["state"].as_str().unwrap())).collect();
    assert_eq!(states, [("codex", "added"), ("cursor", "added"), ("goose", "added")]);
    assert!(rows.iter().all(|row| fs::exists(row["backup"].as_str().unwrap()).unwrap()), "{report}");
    let again = json(&sandbox, &["install", "--into", "all", "--json"]);
    assert!(again["tools"].as_array().unwrap().iter().all(|row| row["state"] == "unchanged"), "{again}");
    let back = json(&sandbox, &["uninstall", "--from", "all", "--json"]);
    assert!(back["tools"].as_array().unwrap().iter().all(|row| row["state"] == "removed"), "{back}");
    assert_eq!(sandbox.read("~/.config/goose/config.yaml"), "extensions: {}\n");
}

#[test]
fn one_broken_file_does_not_keep_the_others_from_it() {
    let sandbox = world();
    sandbox.write("~/.gemini/settings.json", "{\n  torn\n");
    let text = run(&sandbox, &["install", "--into", "gemini", "--into", "cursor"]);
    assert!(text.contains("~/.gemini/settings.json line 2") && text.contains("Cursor: added"), "{text}");
    assert!(text.contains("--- exit 2"), "{text}");
    assert_eq!(sandbox.read("~/.gemini/settings.json"), "{\n  torn\n");
    // Two of them are still one object on standard error.
    sandbox.write("~/.cursor/mcp.json", "{\n  torn\n");
    let line = ["install", "--into", "gemini", "--into", "cursor", "--json"];
    let output = switchboard(&sandbox).args(line).output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["tools"][0]["error"], said["error"], "{report}");
    assert_eq!(report["tools"][1]["state"], "failed", "{report}");
}

#[test]
fn somebody_is_asked_once_before_servers_move() {
    let sandbox = world();
    let before = sandbox.read("~/.cursor/mcp.json");
    let mut screen = Screen::open(&sandbox, 120, &["install", "--into", "cursor", "--move"]);
    screen.wait_for("Move 1 server of Cursor to ~/.switchboard/mcp.json and approve?");
    assert!(
        screen.text().contains("runs      [\"npx\",\"-y\",\"files\",\"--api-key\",\"***\"]"),
        "{}",
        screen.text()
    );
    screen.send("n\r");
    assert_eq!(screen.end(), 130);
    assert_eq!(sandbox.read("~/.cursor/mcp.json"), before);
    let mut screen = Screen::open(&sandbox, 120, &["install", "--into", "cursor", "--move"]);
    screen.wait_for("and approve?");
    screen.send("y\r");
    assert_eq!(screen.end(), 0, "{}", screen.text());
    assert!(sandbox.read("~/.switchboard/mcp.json").contains("${FILES_KEY}"));
}

#[test]
fn doctor_names_an_entry_that_leads_nowhere() {
    let sandbox = world();
    run(&sandbox, &["install", "--into", "cursor"]);
    assert!(!run(&sandbox, &["doctor"]).contains("cannot start the gateway"));
    fs::remove_file(sandbox.path("~/bin/switchboard")).unwrap();
    let text = run(&sandbox, &["doctor"]);
    assert!(text.contains("`switchboard` is not found, so Cursor cannot start the gateway"), "{text}");
    assert!(text.contains("hint: switchboard install --into cursor"), "{text}");
    // Then the whole path is written, and all is well again.
    let text = run(&sandbox, &["install", "--into", "cursor"]);
    assert!(text.contains("since `switchboard` is not on your PATH"), "{text}");
    assert!(sandbox.read("~/.cursor/mcp.json").contains(PROGRAM));
    assert!(!run(&sandbox, &["doctor"]).contains("cannot start the gateway"));
}

#[test]
fn a_gateway_that_runs_can_be_named_with_a_header() {
    let sandbox = world();
    let line = [
        "install",
        "--into",
        "cursor",
        "--http",
        "http://127.0.0.1:9/mcp",
        "--header",
        "Authorization: Bearer T",
    ];
    run(&sandbox, &line);
    let entry = json!({"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer T"}});
    let text = sandbox.read("~/.cursor/mcp.json").replace("// by hand", "").replace("},\n  }", "}\n  }");
    let file: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
    assert_eq!(file["mcpServers"]["switchboard"], entry);
    // Approved by mistake, it is still known for what it is.
    let mut command = switchboard(&sandbox);
    let output = command.args(["serve", "--trust"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("127.0.0.1:9"), "{said}");
    let servers = json(&sandbox, &["list", "--all", "--json"])["servers"].clone();
    let own = servers.as_array().unwrap().iter().find(|server| server["name"] == "switchboard").unwrap();
    assert_eq!(own["state"], "filtered", "{own}");
}

/// An address does not tell that it is our own; the record of the installation does.
#[test]
fn the_gateway_at_an_address_is_not_one_of_the_servers_either() {
    let sandbox = world();
    let installed = run(&sandbox, &["install", "--into", "cursor", "--http", "http://127.0.0.1:8090/mcp"]);
    assert!(installed.contains("--- exit 0") && !installed.contains("trust switchboard"), "{installed}");
    let listed = run(&sandbox, &["list"]);
    assert!(!listed.contains("trust switchboard") && !listed.contains("8090"), "{listed}");
    let all = run(&sandbox, &["list", "--all"]);
    let line = all.lines().find(|line| line.contains("8090")).unwrap_or_default();
    assert!(line.contains("filtered"), "{all}");
    run(&sandbox, &["uninstall", "--from", "cursor"]);
    // Without the record it is an address like any other.
    let entry = r#"{"mcpServers": {"switchboard": {"url": "http://127.0.0.1:8090/mcp"}}}"#;
    sandbox.write("~/.cursor/mcp.json", entry);
    assert!(run(&sandbox, &["list"]).contains("untrusted"), "it waits like any other");
}

/// Whoever says all means projects as well, wherever they are.
#[test]
fn all_means_every_project_it_was_put_into() {
    let sandbox = world();
    sandbox.write("~/other/.cursor/mcp.json", "{}\n");
    let other = sandbox.path("~/other").to_string_lossy().into_owned();
    run(&sandbox, &["install", "--into", "cursor"]);
    run(&sandbox, &["install", "--into", "vscode", "--scope", "project"]);
    run(&sandbox, &["install", "--into", "cursor", "--scope", "project", "-C", &other]);
    // A scope, or a tool, leaves the others as they are, and says so.
    let text = run(&sandbox, &["uninstall", "--from", "all", "--scope", "user"]);
    assert!(text.contains("Cursor: took `switchboard` out of ~/.cursor/mcp.json"), "{text}");
    let how = "switchboard uninstall --from cursor --scope project -C ~/other\n";
    let stays = format!("Cursor: `switchboard` stays in ~/other/.cursor/mcp.json; this takes it out: {how}");
    assert!(text.contains(&stays), "{text}");
    let here = "stays in .vscode/mcp.json; this takes it out: switchboard uninstall --from vscode --scope project -C [PROJECT]\n";
    assert!(text.contains(here), "{text}");
    let report = json(&sandbox, &["uninstall", "--from", "vscode", "--json"]);
    assert_eq!(report["tools"][0]["state"], "unchanged", "{report}");
    assert_eq!(report["elsewhere"][0]["scope"], "project", "{report}");
    assert_eq!(report["elsewhere"].as_array().unwrap().len(), 1, "{report}");
    // Without one, nothing is left.
    let text = run(&sandbox, &["uninstall", "--from", "all"]);
    for path in ["~/other/.cursor/mcp.json", ".vscode/mcp.json"] {
        assert!(text.contains(&format!("took `switchboard` out of {path}\n")), "{text}");
    }
    assert!(text.contains("--- exit 0") && !text.contains("stays"), "{text}");
    assert_eq!(sandbox.read("~/other/.cursor/mcp.json"), "{}\n");
    assert!(!sandbox.path(".vscode").exists());
    assert!(run(&sandbox, &["uninstall", "--from", "all"]).contains("Nothing to do.\n"));
}

#[test]
fn what_all_cannot_undo_is_named() {
    let sandbox = world();
    sandbox.write("~/gone/.cursor/mcp.json", r#"{"mcpServers": {"tool": {"command": "x"}}}"#);
    let gone = sandbox.path("~/gone").to_string_lossy().into_owned();
    let line = ["install", "--into", "cursor", "--scope", "project", "--move", "--yes", "-C", &gone];
    let text = run(&sandbox, &line);
    assert!(text.contains("moved 1 server"), "{text}");
    fs::remove_dir_all(&gone).unwrap();
    sandbox.write("~/.switchboard/installs/torn.json", "{");
    run(&sandbox, &["install", "--into", "codex"]);
    let text = run(&sandbox, &["uninstall", "--from", "all"]);
    assert!(text.contains("Cursor: ~/gone/.cursor/mcp.json is not there any more\n"), "{text}");
    assert!(text.contains("  `tool`: the directory of its project is not there\n"), "{text}");
    assert!(text.contains("the record of an installation is damaged"), "{text}");
    assert!(text.contains("Codex: took") && text.contains("--- exit 2"), "{text}");
    assert!(!fs::exists(&gone).unwrap(), "a project is not made again");
}

#[test]
fn a_project_that_comes_back_gets_its_old_entry_back() {
    let before = r#"{"mcpServers": {"switchboard": {"command": "theirs"}, "tool": {"command": "x"}}}"#;
    let moves: [&[&str]; 2] = [&[], &["--move", "--yes"]];
    for moves in moves {
        let sandbox = world();
        sandbox.write("~/away/.cursor/mcp.json", before);
        let (dir, aside) = (sandbox.path("~/away"), sandbox.path("~/aside"));
        let typed = dir.to_string_lossy().into_owned();
        let line = ["install", "--into", "cursor", "--scope", "project", "--force", "-C", &typed];
        let text = run(&sandbox, &[&line[..], moves].concat());
        assert!(text.contains("Cursor: replaced `switchboard` in .cursor/mcp.json\n"), "{text}");
        fs::rename(&dir, &aside).unwrap();
        let text = run(&sandbox, &["uninstall", "--from", "all"]);
        assert!(text.contains("  `switchboard`: the directory of its project is not there\n"), "{text}");
        let report = json(&sandbox, &["uninstall", "--from", "all", "--json"]);
        assert_eq!(report["tools"][0]["state"], "unchanged", "{report}");
        fs::rename(&aside, &dir).unwrap();
        let text = run(&sandbox, &["uninstall", "--from", "all"]);
        assert!(text.contains("Cursor: took `switchboard` out of ~/away/.cursor/mcp.json\n"), "{text}");
        assert_eq!(sandbox.read("~/away/.cursor/mcp.json"), before);
        assert!(run(&sandbox, &["uninstall", "--from", "all"]).contains("Nothing to do.\n"));
    }
}

#[test]
fn a_file_that_cannot_be_edited_does_not_hide_the_others() {
    let sandbox = world();
    sandbox.write("~/other/.cursor/mcp.json", "{}\n");
    let other = sandbox.path("~/other").to_string_lossy().into_owned();
    run(&sandbox, &["install", "--into", "cursor"]);
    run(&sandbox, &["install", "--into", "cursor", "--scope", "project", "-C", &other]);
    sandbox.write("~/.cursor/mcp.json", "{\n  torn\n");
    let text = run(&sandbox, &["uninstall", "--from", "cursor"]);
    assert!(text.contains("~/.cursor/mcp.json line 2") && text.contains("--- exit 2"), "{text}");
    assert!(text.contains("`switchboard` stays in ~/other/.cursor/mcp.json"), "{text}");
    run(&sandbox, &["uninstall", "--from", "cursor", "--scope", "project", "-C", &other]);
    sandbox.write("~/.switchboard/installs/torn.json", "{");
    let text = run(&sandbox, &["uninstall", "--from", "all"]);
    assert!(text.contains("~/.cursor/mcp.json line 2") && text.contains("is damaged"), "{text}");
    let output = switchboard(&sandbox).args(["uninstall", "--from", "all", "--json"]).output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let errors = report["errors"].as_array().unwrap();
    assert_eq!((errors.len(), &errors[0]), (2, &said["error"]), "{report}");
    assert_eq!(report["tools"][0]["error"], errors[1], "{report}");
}

#[test]
fn a_file_the_tool_does_not_have_any_more_is_named() {
    let sandbox = world();
    run(&sandbox, &["install", "--into", "cursor"]);
    let installs = sandbox.path("~/.switchboard/installs");
    let mut files = fs::read_dir(&installs).unwrap().map(|entry| entry.unwrap().path());
    let record = files.find(|path| path.extension().is_some_and(|ending| ending == "json")).unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    record["path"] = json!("/nowhere/mcp.toml");
    sandbox.write("~/.switchboard/installs/other.json", record.to_string());
    for from in ["cursor", "all"] {
        let text = run(&sandbox, &["uninstall", "--from", from]);
        assert!(text.contains("`cursor` is not known to have the file /nowhere/mcp.toml"), "{text}");
        assert!(text.contains("--- exit 2"), "{text}");
    }
    assert!(!run(&sandbox, &["uninstall", "--from", "codex"]).contains("nowhere"));
}
#[test]
fn a_server_that_does_not_count_does_not_begin_to_by_moving() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "~/.cursor/mcp.json",
        r#"{"mcpServers": {"files": {"command": "one"}, "notes": {"command": "notes"}}}"#,
    );
    sandbox.write(
        "~/.codex/config.toml",
        "[mcp_servers.files]\ncommand = \"other\"\n\n[mcp_servers.notes]\ncommand = \"notes\"\n",
    );
    let counts = |name: &str| json(&sandbox, &["why", name, "--json"])["winner"]["command"].clone();
    let before = counts("files");
    let (first, second) = if before == "one" { ("codex", "cursor") } else { ("cursor", "codex") };
    let text = run(&sandbox, &["install", "--into", first, "--move", "--yes"]);
    assert!(text.contains("`files` stays: it would take the place of the one from"), "{text}");
    assert!(text.contains("moved 1 server to ~/.switchboard/mcp.json: notes"), "{text}");
    assert_eq!(counts("files"), before);
    let text = run(&sandbox, &["install", "--into", second, "--move", "--yes"]);
    assert!(text.contains("moved 2 servers to ~/.switchboard/mcp.json: files, notes"), "{text}");
    assert_eq!(counts("files"), before);
}
