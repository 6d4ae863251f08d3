//! On a terminal: tables that fit, colour that means something, questions and answers.

use testkit::Sandbox;

use crate::screen::Screen;
use crate::world;

/// So many servers in a user's file of ours and another tool's.
fn many(count: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let entry = |n: usize| {
        let rest = if n.is_multiple_of(3) {
            format!("\"url\": \"https://mcp.example.com/a/rather/long/path/to/an/endpoint/{n}\"")
        } else {
            format!(
                "\"command\": \"npx\", \"args\": [\"-y\", \"@example/server-with-a-long-name-{n}\", \"--verbose\"]"
            )
        };
        format!(
            "    \"server-{n:03}\": {{ {rest}, \"env\": {{ \"N\": \"{n}\" }}, \"disabled\": {} }}",
            n % 7 == 6
        )
    };
    let list: Vec<_> = (0..count).map(entry).collect();
    let half = count / 2;
    sandbox.write(
        "~/.switchboard/mcp.json",
        format!("{{\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", list[..half].join(",\n")),
    );
    sandbox.write(
        ".cursor/mcp.json",
        format!("{{\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", list[half..].join(",\n")),
    );
    sandbox.write("~/.switchboard/settings.json", "{\"defaults\": false}");
    sandbox
}

fn list(sandbox: &Sandbox, columns: u16, line: &[&str]) -> Screen {
    let mut screen = Screen::open(sandbox, columns, line);
    assert_eq!(screen.end(), 0);
    screen
}

#[test]
fn a_list_fits_80_and_140_columns() {
    for count in [0, 3] {
        let sandbox = many(count);
        for columns in [80, 140] {
            let screen = list(&sandbox, columns, &["list"]);
            insta::assert_snapshot!(format!("list_of_{count}_at_{columns}"), screen.text());
        }
    }
    let sandbox = world();
    for columns in [80, 140] {
        insta::assert_snapshot!(
            format!("list_of_a_world_at_{columns}"),
            list(&sandbox, columns, &["list"]).text()
        );
    }
}

#[test]
fn two_hundred_servers_take_a_line_each() {
    let sandbox = many(200);
    for columns in [40_usize, 80, 140] {
        let screen = list(&sandbox, u16::try_from(columns).unwrap(), &["list", "--no-color"]);
        let text = String::from_utf8_lossy(&screen.raw);
        let rows: Vec<_> = text.lines().filter(|line| line.starts_with("server-")).collect();
        assert_eq!(rows.len(), 200);
        // Narrower than the columns can get, lines are longer; else every one fits.
        let widest = rows.iter().map(|row| row.chars().count()).max().unwrap();
        assert!(columns == 40 || widest <= columns, "{widest} columns of {columns}");
    }
}

#[test]
fn what_people_type_is_not_cut() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let words = "does something that takes quite a few words to explain to anybody who asks";
    let script = testkit::Fake::script(serde_json::json!({
        "tools": [{"name": "a-tool-with-a-name-of-some-length", "description": words, "inputSchema": {"type": "object"}}],
        "resources": [{"uri": "demo://a/path/that/is/not/short.md", "name": words}],
    }));
    let entry =
        serde_json::json!({"command": testkit::fake_server(), "args": [script.path()], "required": true});
    let servers = serde_json::json!({"server": entry, "off": {"command": "no-such-program"}});
    sandbox.write("~/.switchboard/mcp.json", serde_json::json!({"mcpServers": servers}).to_string());
    for columns in [60, 80, 140] {
        for (verb, whole) in [
            ("tools", "mcp_server_a_tool_with_a_name_of_some_length"),
            ("resources", "demo://a/path/that/is/not/short.md"),
        ] {
            let mut screen = Screen::open(&sandbox, columns, &[verb]);
            assert_eq!(screen.end(), 0, "{}", screen.text());
            let text = screen.text();
            assert!(text.contains(whole), "{text}");
            let rows = text.lines().filter(|line| line.contains(whole));
            assert!(rows.clone().count() == 1 && rows.clone().all(|row| row.contains(" does")), "{text}");
        }
        let mut screen = Screen::open(&sandbox, columns, &["status"]);
        screen.end();
        insta::assert_snapshot!(format!("status_at_{columns}"), screen.text());
    }
}

#[test]
fn colour_is_for_those_who_want_it() {
    let sandbox = world();
    let colours =
        |line: &[&str]| list(&sandbox, 100, line).raw.windows(2).filter(|bytes| bytes == b"\x1b[").count();
    assert!(colours(&["list"]) > 10);
    assert_eq!(colours(&["list", "--no-color"]), 0);
    let mut screen = Screen::open(&sandbox, 100, &["list"]);
    screen.end();
    // States are told apart by colour as well as by word.
    let raw = String::from_utf8_lossy(&screen.raw).into_owned();
    assert!(
        raw.contains("\x1b[32menabled")
            && raw.contains("\x1b[33muntrusted")
            && raw.contains("\x1b[31minvalid"),
        "{raw}"
    );
}

#[test]
fn the_wizard_asks_and_writes() {
    let sandbox = Sandbox::new();
    let mut screen = Screen::open(&sandbox, 80, &["add"]);
    screen.wait_for("Name of the server:");
    screen.send("bad name\r");
    screen.wait_for("can only contain letters");
    screen.send(&format!("{}files\r", "\x7f".repeat("bad name".len())));
    screen.wait_for("What is it?");
    screen.send("\r");
    screen.wait_for("Command line:");
    screen.send("npx -y 'server files' .\r");
    screen.wait_for("Variable NAME=VALUE");
    screen.send("ROOT=${HOME}\r");
    screen.wait_until(|text| text.matches("Variable NAME=VALUE").count() == 2);
    screen.send("\r");
    screen.wait_for("For whom?");
    screen.send("\r");
    assert_eq!(screen.end(), 0, "{}", screen.text());
    insta::assert_snapshot!(screen.text());
    insta::assert_snapshot!(sandbox.read(".switchboard/mcp.json"));
}

#[test]
fn the_wizard_can_be_left() {
    let sandbox = Sandbox::new();
    let mut screen = Screen::open(&sandbox, 80, &["add"]);
    screen.wait_for("Name of the server:");
    screen.send("\x03");
    assert_eq!(screen.end(), 130);
    assert!(!sandbox.path(".switchboard").exists());
}

#[test]
fn consent_takes_some_and_leaves_some() {
    let sandbox = world();
    let mut screen = Screen::open(&sandbox, 100, &["trust"]);
    screen.wait_for("Approve which?");
    // Enter alone approves nothing.
    screen.send("\r");
    assert_eq!(screen.end(), 0);
    assert!(screen.text().contains("Nothing was approved."), "{}", screen.text());
    assert!(!sandbox.path("~/.switchboard/approvals.json").exists());

    let mut screen = Screen::open(&sandbox, 100, &["trust"]);
    screen.wait_for("Approve which?");
    screen.send("\x1b[B\x1b[B \r");
    assert_eq!(screen.end(), 0);
    insta::assert_snapshot!(screen.text());
    assert!(sandbox.read("~/.switchboard/approvals.json").contains("search"));
}

#[test]
fn an_import_asks_before_it_writes() {
    let sandbox = world();
    let before = sandbox.read("~/.switchboard/mcp.json");
    let mut screen = Screen::open(&sandbox, 100, &["import", "search"]);
    screen.wait_for("Write this to");
    screen.send("n\r");
    assert_eq!(screen.end(), 130);
    assert_eq!(sandbox.read("~/.switchboard/mcp.json"), before);
    let mut screen = Screen::open(&sandbox, 100, &["import", "search"]);
    screen.wait_for("Write this to");
    screen.send("y\r");
    assert_eq!(screen.end(), 0);
    assert!(sandbox.read("~/.switchboard/mcp.json").contains("\"search\""));
}
