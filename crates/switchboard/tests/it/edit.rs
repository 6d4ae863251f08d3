//! Editing our own files: what is asked for, and nothing else.

use switchboard::config::edit::{IfExists, OwnFile};
use switchboard::config::file::ServerEntry;
use switchboard::config::write::Privacy;
use switchboard::declared::{Conduct, Switch};
use switchboard::problem::Explain;
use testkit::Sandbox;

const FILE: &str = "~/.switchboard/mcp.json";
const TEXT: &str = "\u{feff}{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t\"a\": { \"command\": \"x\", \"future\": 1 }, // keep\r\n\t},\r\n\t\"other\": [1,2]\r\n}\r\n";

fn file(sandbox: &Sandbox) -> OwnFile {
    OwnFile::new(&sandbox.path(FILE), Privacy::Private)
}

fn entry() -> ServerEntry {
    ServerEntry { command: Some("npx".to_owned()), ..ServerEntry::default() }
}

#[test]
fn everything_around_an_edit_stays() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, TEXT);
    file(&sandbox).add("b", &entry(), IfExists::Refuse).unwrap();
    insta::assert_debug_snapshot!(sandbox.read(FILE));
    file(&sandbox).remove("b").unwrap();
    assert_eq!(sandbox.read(FILE), TEXT);
    file(&sandbox).switch("a", Switch::Off).unwrap();
    assert_eq!(sandbox.read(FILE), TEXT.replace("\"future\": 1", "\"future\": 1, \"enabled\": false"));
    file(&sandbox).switch("a", Switch::On).unwrap();
    assert_eq!(sandbox.read(FILE), TEXT.replace("\"future\": 1", "\"future\": 1, \"enabled\": true"));
}

#[test]
fn a_new_file_is_private_and_names_its_schema() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    file(&sandbox).add("b", &entry(), IfExists::Refuse).unwrap();
    insta::assert_snapshot!(sandbox.read(FILE));
    let mode = std::fs::metadata(sandbox.path(FILE)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[test]
fn modes_and_links_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let sandbox = Sandbox::new();
    let real = sandbox.write("~/dotfiles/mcp.json", TEXT);
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::create_dir_all(sandbox.path("~/.switchboard")).unwrap();
    symlink("../dotfiles/mcp.json", sandbox.path(FILE)).unwrap();
    file(&sandbox).add("b", &entry(), IfExists::Refuse).unwrap();
    assert!(sandbox.path(FILE).symlink_metadata().unwrap().is_symlink());
    assert!(sandbox.read("~/dotfiles/mcp.json").contains("\"b\""));
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    let left: Vec<_> = std::fs::read_dir(sandbox.path("~/dotfiles")).unwrap().collect();
    assert_eq!(left.len(), 1, "something stays behind: {left:?}");
}

#[test]
fn what_cannot_be_done_is_said_and_nothing_changes() {
    use std::os::unix::fs::PermissionsExt;
    let mut text = String::new();
    let mut check = |what: &str, content: &str, mode: u32| {
        let sandbox = Sandbox::new();
        let path = sandbox.write(FILE, content);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let error = file(&sandbox).add("b", &entry(), IfExists::Refuse).unwrap_err();
        assert_eq!(sandbox.read(FILE), content);
        let line = error.place().and_then(|(_, line)| line);
        let error =
            format!("{what}: [{}] {error}\n  line: {line:?}\n  hint: {:?}\n", error.code(), error.hint());
        text.push_str(&sandbox.filter(&error));
    };
    check("read-only", TEXT, 0o444);
    check("not JSON", "{\n  \"mcpServers\": {\n    oops\n  }\n}\n", 0o644);
    check("torn", "{\"mcpServers\": {\"a\": {\"com", 0o644);
    check("a list", "[]", 0o644);
    check("a wrong container", "{\"mcpServers\": \"none\"}", 0o644);
    check("there already", "{\"mcpServers\": {\"b\": {}}}", 0o644);
    insta::assert_snapshot!(text);
}

#[test]
fn a_server_of_another_tool_is_switched_in_our_lists() {
    let sandbox = Sandbox::new();
    let on = Conduct::default();
    let off = Conduct { enabled: Switch::Off, ..Conduct::default() };
    let file = file(&sandbox);
    file.switch_foreign("b", Switch::Off, &on).unwrap();
    file.switch_foreign("a", Switch::Off, &on).unwrap();
    file.switch_foreign("c", Switch::On, &off).unwrap();
    insta::assert_snapshot!(sandbox.read(FILE), @r#"
    {
      "disabledServers": ["a", "b"],
      "enabledServers": ["c"]
    }
    "#);
    file.switch_foreign("a", Switch::On, &on).unwrap();
    file.switch_foreign("b", Switch::On, &on).unwrap();
    file.switch_foreign("c", Switch::Off, &off).unwrap();
    assert_eq!(sandbox.read(FILE).split_whitespace().collect::<String>(), "{}");
}

#[test]
fn a_file_without_a_container_keeps_its_manner() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "{\n  \"$schema\": \"x\",\n  \"a\": { \"command\": \"true\" }\n}\n");
    file(&sandbox).add("b", &entry(), IfExists::Refuse).unwrap();
    file(&sandbox).switch_foreign("other", Switch::Off, &Conduct::default()).unwrap();
    let other = ServerEntry { command: Some("bunx".to_owned()), ..ServerEntry::default() };
    file(&sandbox).add("c", &other, IfExists::Refuse).unwrap();
    let discovery = switchboard::discover(&sandbox.env(), switchboard::Options::default());
    for name in ["a", "b", "c"] {
        assert!(discovery.server(name).is_some(), "{name} is lost: {}", sandbox.read(FILE));
    }
    file(&sandbox).remove("a").unwrap();
    // A list cannot be edited, and that is said.
    sandbox.write(FILE, "{\"mcpServers\": [{\"name\": \"l\", \"command\": \"x\"}]}");
    assert_eq!(file(&sandbox).remove("l").unwrap_err().code(), "file-not-editable");
}
