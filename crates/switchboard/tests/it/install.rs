//! The gateway in other tools' files: what is written, and that undoing it leaves no trace.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::json;
use switchboard::config::Because;
use switchboard::install::{self, Gateway, Left, NAME, Target, Wish};
use switchboard::sources::places::Project;
use switchboard::{Explain, Options, Provider, Scope, discover};
use testkit::Sandbox;

fn program() -> Gateway {
    Gateway::Program { command: "switchboard".to_owned(), args: vec!["serve".to_owned()] }
}

fn address() -> Gateway {
    let headers = vec![("Authorization".to_owned(), "Bearer T".to_owned())];
    Gateway::Address { url: "http://127.0.0.1:9/mcp".to_owned(), headers }
}

fn target(sandbox: &Sandbox, tool: Provider, scope: Scope) -> Option<Target> {
    let env = sandbox.env();
    install::target(&env, &Project::find(&env), tool, scope)
}

fn wish(tool: Provider, gateway: &Gateway, moves: bool) -> Wish<'static> {
    Wish { entry: install::entry(tool, NAME, gateway).unwrap(), force: false, moves: moves.then_some(&[]) }
}

fn put(sandbox: &Sandbox, target: &Target, wish: &Wish) -> install::Prepared {
    let env = sandbox.env();
    let prepared = install::prepare(&env, &Project::find(&env), target.clone(), wish).unwrap();
    prepared.perform().unwrap();
    prepared
}

fn undone(sandbox: &Sandbox, target: &Target) -> install::Undo {
    let env = sandbox.env();
    let undo = install::undo(&env, &Project::find(&env), target.clone()).unwrap().unwrap();
    undo.perform().unwrap();
    undo
}

/// Every file and directory below home and project, with its text.
fn everything(sandbox: &Sandbox) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    fn walk(dir: &Path, found: &mut Vec<(PathBuf, Option<Vec<u8>>)>) {
        let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                found.push((path.clone(), None));
                walk(&path, found);
            } else {
                found.push((path.clone(), Some(fs::read(&path).unwrap())));
            }
        }
    }
    let mut found = Vec::new();
    walk(&sandbox.home(), &mut found);
    walk(&sandbox.project(), &mut found);
    // Where the record was is no trace.
    found.retain(|(path, _)| !path.ends_with(".switchboard") && !path.ends_with(".switchboard/installs"));
    found
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// Every file of the corpus that stands where a tool gets the entry.
fn corpus_files() -> Vec<(Provider, String, PathBuf)> {
    let mut files = Vec::new();
    for tool in install::tools() {
        let dir = corpus().join(tool.id());
        for line in fs::read_to_string(dir.join("cases.txt")).unwrap().lines() {
            if let Some((file, path)) = line.split_once("  ") {
                files.push((tool, path.trim().to_owned(), dir.join(file)));
            }
        }
    }
    files
}

/// The file of the tool that stands there, if it is the one that gets the entry.
fn target_at(sandbox: &Sandbox, tool: Provider, path: &str) -> Option<Target> {
    let scope = if path.starts_with("~/") { Scope::User } else { Scope::Project };
    target(sandbox, tool, scope).filter(|target| target.path == sandbox.path(path))
}

#[test]
fn what_every_tool_gets() {
    let mut text = String::new();
    for (scope, gateway) in [(Scope::User, program()), (Scope::User, address()), (Scope::Project, program())]
    {
        for tool in install::tools() {
            let sandbox = Sandbox::new();
            let Some(target) = target(&sandbox, tool, scope) else {
                text.push_str(&format!("== {} ({scope}): none\n", tool.id()));
                continue;
            };
            let entry = match install::entry(tool, NAME, &gateway) {
                Ok(entry) => entry,
                Err(why) => {
                    text.push_str(&format!("== {} ({scope}): {why}\n", tool.id()));
                    continue;
                }
            };
            let before = everything(&sandbox);
            put(&sandbox, &target, &Wish { entry, force: false, moves: None });
            let file = fs::read_to_string(&target.path).unwrap();
            let path = sandbox.filter(&target.path.to_string_lossy());
            text.push_str(&format!("== {} ({scope}): {path}\n{file}", tool.id()));
            // Our own discovery finds it as that tool's, and knows itself.
            let discovery = discover(&sandbox.env(), Options::default());
            let own = discovery.shadowed.iter().find(|aside| aside.name == NAME);
            let own = own.unwrap_or_else(|| panic!("{} does not show it", tool.id()));
            assert_eq!((own.origin.provider, &own.because), (target.read_as, &Because::Gateway));
            assert!(own.definition.is_ok(), "{}", tool.id());
            assert!(discovery.server(NAME).is_none(), "{}", tool.id());
            undone(&sandbox, &target);
            assert_eq!(everything(&sandbox), before, "{} leaves something behind", tool.id());
        }
    }
    insta::assert_snapshot!(text);
}

/// A record is enough to find the file again, from anywhere.
#[test]
fn a_file_is_found_again_by_its_record() {
    for scope in [Scope::User, Scope::Project] {
        for tool in install::tools() {
            let sandbox = Sandbox::new();
            let Some(target) = target(&sandbox, tool, scope) else { continue };
            let before = everything(&sandbox);
            put(&sandbox, &target, &wish(tool, &program(), false));
            let env = sandbox.env().with_cwd(sandbox.home());
            let (project, found) = install::recorded(&env, &install::records(&env)[0]).unwrap();
            assert_eq!((found.tool, found.scope, &found.path), (tool, scope, &target.path));
            assert_eq!(found.read_as, target.read_as);
            install::undo(&env, &project, found).unwrap().unwrap().perform().unwrap();
            assert_eq!(everything(&sandbox), before, "{} leaves something behind", tool.id());
        }
    }
}

#[test]
fn every_file_of_the_corpus_comes_back_to_the_byte() {
    let (mut n_files, mut n_moved, mut n_stays) = (0, 0, 0);
    let mut golden = String::new();
    for (tool, path, file) in corpus_files() {
        for moves in [false, true] {
            let sandbox = Sandbox::new();
            sandbox.write(&path, fs::read(&file).unwrap());
            let Some(target) = target_at(&sandbox, tool, &path) else { continue };
            let before = everything(&sandbox);
            let env = sandbox.env();
            let wish = wish(tool, &program(), moves);
            let known = discover(&env, Options::default());
            let prepared = install::prepare(&env, &Project::find(&env), target.clone(), &wish)
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            prepared.perform().unwrap();
            n_files += 1;
            n_moved += prepared.moves.len();
            n_stays += prepared.left.len();
            let after = fs::read_to_string(&target.path).unwrap();
            let discovery = discover(&env, Options::default());
            assert!(
                discovery.shadowed.iter().any(|aside| aside.because == Because::Gateway),
                "{}: it is not found",
                file.display()
            );
            // Whatever was there is still there, in one file or the other.
            let names = |discovery: &switchboard::Discovery| {
                let all = discovery.servers.iter().map(|server| server.name.clone());
                let aside = discovery.shadowed.iter().map(|aside| aside.name.clone());
                let mut names: Vec<_> = all.chain(aside).filter(|name| name != NAME).collect();
                names.sort();
                names.dedup();
                names
            };
            assert_eq!(names(&known), names(&discovery), "{}", file.display());
            // A second time there is nothing to do.
            let again = install::prepare(&env, &Project::find(&env), target.clone(), &wish).unwrap();
            assert!(again.is_done(), "{}: {:?}", file.display(), again.state);
            if file.file_stem().is_some_and(|stem| stem == "odd") {
                let moved: Vec<_> = prepared.moves.iter().map(|one| one.name.as_str()).collect();
                let left: Vec<_> =
                    prepared.left.iter().map(|left| format!("{}: {}", left.name, left.reason)).collect();
                let own = fs::read_to_string(prepared.own_path()).unwrap_or_default();
                let shown = format!(
                    "== {} moves={moves}\n{after}-- moved {moved:?}\n-- left {left:#?}\n{own}\n",
                    tool.id()
                );
                golden.push_str(&sandbox.filter(&shown));
            }
            undone(&sandbox, &target);
            assert_eq!(everything(&sandbox), before, "{} moves={moves}", file.display());
        }
    }
    assert!(n_files > 200 && n_moved > 150 && n_stays > 50, "{n_files} {n_moved} {n_stays}");
    insta::assert_snapshot!(golden);
}

#[test]
fn a_file_that_changed_meanwhile_is_merged_entry_by_entry() {
    let sandbox = Sandbox::new();
    let path = "~/.cursor/mcp.json";
    let before = "{\n  \"mcpServers\": {\n    // first\n    \"a\": { \"command\": \"x\", /* why */ \"args\": [\"${env:A}\"] },\n    \"b\": { \"command\": \"y\" }\n  }\n}\n";
    sandbox.write(path, before);
    sandbox.write("~/.switchboard/mcp.json", "{ \"mcpServers\": { \"mine\": { \"command\": \"m\" } } }\n");
    let cursor = target(&sandbox, Provider::Cursor, Scope::User).unwrap();
    let prepared = put(&sandbox, &cursor, &wish(Provider::Cursor, &program(), true));
    assert_eq!(prepared.moves.len(), 2);
    let moved = sandbox.read(path);
    assert!(!moved.contains("\"a\"") && moved.contains("// first"), "{moved}");
    assert!(sandbox.read("~/.switchboard/mcp.json").contains("${A}"));
    // The user goes on working in both files.
    sandbox.write(
        path,
        moved.replacen("\"switchboard\"", "\"b\": { \"command\": \"other\" },\n    \"switchboard\"", 1),
    );
    let ours = sandbox.read("~/.switchboard/mcp.json");
    sandbox.write("~/.switchboard/mcp.json", ours.replace("\"m\"", "\"m2\""));
    let undo = undone(&sandbox, &cursor);
    assert_eq!(undo.back, ["a"]);
    assert_eq!(undo.left.len(), 1);
    assert_eq!(undo.left[0].name, "b");
    let after = sandbox.read(path);
    assert!(after.contains("{ \"command\": \"x\", /* why */ \"args\": [\"${env:A}\"] }"), "{after}");
    assert!(after.contains("other") && !after.contains("serve"), "{after}");
    let ours = sandbox.read("~/.switchboard/mcp.json");
    assert!(ours.contains("m2") && ours.contains("\"y\"") && !ours.contains("${A}"), "{ours}");
    // What is stuck can be put back once its name is free.
    sandbox.write(path, after.replace("\"b\"", "\"c\""));
    assert_eq!(undone(&sandbox, &cursor).back, ["b"]);
    assert!(
        sandbox.read(path).contains("\"y\"") && !sandbox.read("~/.switchboard/mcp.json").contains("\"y\"")
    );
}

#[test]
fn something_else_of_that_name_is_not_overwritten() {
    let sandbox = Sandbox::new();
    let before = "{\"mcpServers\": {\"switchboard\": {\"command\": \"theirs\"}}}";
    sandbox.write("~/.cursor/mcp.json", before);
    let cursor = target(&sandbox, Provider::Cursor, Scope::User).unwrap();
    let (env, mut wish) = (sandbox.env(), wish(Provider::Cursor, &program(), false));
    let error = install::prepare(&env, &Project::find(&env), cursor.clone(), &wish).unwrap_err();
    assert_eq!(error.code(), "server-exists");
    wish.force = true;
    put(&sandbox, &cursor, &wish);
    sandbox.write("~/.cursor/mcp.json", sandbox.read("~/.cursor/mcp.json").replace("{\"mcp", "{ \"mcp"));
    undone(&sandbox, &cursor);
    let back: serde_json::Value = serde_json::from_str(&sandbox.read("~/.cursor/mcp.json")).unwrap();
    assert_eq!(back, json!({"mcpServers": {"switchboard": {"command": "theirs"}}}));
}

/// Whatever the file and whosever it is: one that does not count stays where it is.
#[test]
fn a_server_does_not_move_before_the_one_that_counts() {
    let servers = |command: &str| json!({"files": {"command": command}});
    let whole = |command: &str| json!({"mcpServers": servers(command)}).to_string();
    let check = |tool: Provider, scope: Scope, files: &[(&str, String)], by: &str| {
        let sandbox = Sandbox::new();
        for (path, text) in files {
            sandbox.write(path, text);
        }
        if tool == Provider::Claude {
            let project = sandbox.project().to_string_lossy().into_owned();
            let private = json!({project: {"mcpServers": servers("counts")}});
            let file = json!({"mcpServers": servers("other"), "projects": private});
            sandbox.write("~/.claude.json", file.to_string());
        }
        let env = sandbox.env();
        let counting = discover(&env, Options::default()).servers;
        let wish = Wish { moves: Some(&counting), ..wish(tool, &program(), true) };
        let target = target(&sandbox, tool, scope).unwrap();
        let prepared = install::prepare(&env, &Project::find(&env), target, &wish).unwrap();
        assert!(prepared.moves.is_empty(), "{tool}: {:?}", prepared.moves);
        let reason = format!("it would take the place of the one from {by}, which counts now");
        assert_eq!(prepared.left, [Left { name: "files".to_owned(), reason }]);
    };
    check(Provider::Claude, Scope::User, &[], "Claude Code");
    for (scope, ours, theirs) in [
        (Scope::User, "~/.switchboard/.mcp.json", "~/.cursor/mcp.json"),
        (Scope::Project, ".switchboard/.mcp.json", ".cursor/mcp.json"),
        (Scope::Project, "~/.switchboard/.mcp.json", ".cursor/mcp.json"),
    ] {
        let files = [(ours, whole("counts")), (theirs, whole("other"))];
        check(Provider::Cursor, scope, &files, "Switchboard");
    }
}

#[test]
fn what_is_broken_is_left_alone_and_named() {
    for (tool, path, text, line) in [
        (Provider::Cursor, "~/.cursor/mcp.json", "{\n  \"mcpServers\": {,\n", 2),
        (Provider::Codex, "~/.codex/config.toml", "a = 1\n[mcp_servers.x\n", 2),
        (Provider::Goose, "~/.config/goose/config.yaml", "extensions:\n  a: [\n", 3),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(path, text);
        let target = target(&sandbox, tool, Scope::User).unwrap();
        let env = sandbox.env();
        let error =
            install::prepare(&env, &Project::find(&env), target, &wish(tool, &program(), true)).unwrap_err();
        assert!(error.place().and_then(|(_, line)| line).is_some_and(|at| at <= line), "{error:?}");
        assert_eq!(sandbox.read(path), text);
    }
}

#[test]
fn a_second_move_adds_to_what_can_be_undone() {
    let sandbox = Sandbox::new();
    let path = "~/.codex/config.toml";
    let before = "# mine\n[mcp_servers.a]\ncommand = \"x\"\n";
    sandbox.write(path, before);
    let codex = target(&sandbox, Provider::Codex, Scope::User).unwrap();
    put(&sandbox, &codex, &wish(Provider::Codex, &program(), false));
    put(&sandbox, &codex, &wish(Provider::Codex, &program(), true));
    let now = sandbox.read(path);
    assert!(!now.contains("mcp_servers.a"), "{now}");
    // Nobody else changed it, so all of it comes back.
    undone(&sandbox, &codex);
    assert_eq!(sandbox.read(path), before);
    assert_eq!(sandbox.read("~/.switchboard/mcp.json"), "");
    // Somebody does.
    put(&sandbox, &codex, &wish(Provider::Codex, &program(), true));
    sandbox.write(path, format!("{}\n[mcp_servers.b]\ncommand = \"y\"\n", sandbox.read(path)));
    put(&sandbox, &codex, &wish(Provider::Codex, &program(), true));
    assert_eq!(undone(&sandbox, &codex).back, ["a", "b"]);
    let now = sandbox.read(path);
    assert!(
        now.contains("[mcp_servers.a]\ncommand = \"x\"\n")
            && now.contains("[mcp_servers.b]\ncommand = \"y\"\n")
    );
    assert!(now.starts_with("# mine\n") && !now.contains("switchboard"), "{now}");
}

#[cfg(unix)]
#[test]
fn modes_and_links_stay_and_a_project_does_not_lead_out_of_itself() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let sandbox = Sandbox::new();
    let real = sandbox.write("~/dotfiles/cursor.json", "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(sandbox.path("~/.cursor")).unwrap();
    symlink(&real, sandbox.path("~/.cursor/mcp.json")).unwrap();
    let cursor = target(&sandbox, Provider::Cursor, Scope::User).unwrap();
    put(&sandbox, &cursor, &wish(Provider::Cursor, &program(), false));
    assert!(sandbox.path("~/.cursor/mcp.json").is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(sandbox.read("~/dotfiles/cursor.json").contains("serve"));

    symlink(sandbox.path("~/dotfiles/cursor.json"), sandbox.path(".mcp.json")).unwrap();
    let claude = target(&sandbox, Provider::Claude, Scope::Project).unwrap();
    let env = sandbox.env();
    let wish = wish(Provider::Claude, &program(), false);
    let mut prepared = install::prepare(&env, &Project::find(&env), claude, &wish).unwrap();
    prepared.state = install::State::Updated;
    assert!(prepared.perform().unwrap_err().to_string().contains("outside of the project"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is put at the end of a file of the corpus, undoing leaves it as it was.
    #[test]
    fn comments_and_line_ends_come_back(index in 0..1000_usize, crlf in any::<bool>(), tail in "[ \n]{0,3}", moves in any::<bool>()) {
        let files = corpus_files();
        let (tool, path, file) = &files[index % files.len()];
        let text = fs::read_to_string(file).unwrap();
        let text = if crlf { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text };
        let sandbox = Sandbox::new();
        sandbox.write(path, format!("{text}{tail}"));
        if let Some(target) = target_at(&sandbox, *tool, path) {
            let before = everything(&sandbox);
            put(&sandbox, &target, &wish(*tool, &program(), moves));
            undone(&sandbox, &target);
            prop_assert_eq!(everything(&sandbox), before);
        }
    }
}
