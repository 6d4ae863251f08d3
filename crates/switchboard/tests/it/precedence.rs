//! Who wins, who keeps a name, who is a duplicate.

use switchboard::{Options, Scope, State, discover};
use testkit::Sandbox;

use crate::render;

fn servers(list: &str) -> String {
    format!("{{\"mcpServers\": {{{list}}}}}")
}

#[test]
fn project_comes_before_user_inside_one_provider() {
    let sandbox = Sandbox::new();
    sandbox.write(".cursor/mcp.json", servers("\"a\": {\"command\": \"project\"}"));
    sandbox.write("~/.cursor/mcp.json", servers("\"a\": {\"command\": \"user\"}"));
    sandbox.write("~/.codex/config.toml", "[mcp_servers.b]\ncommand = \"codex\"\n");
    sandbox.write(".cursor/x", "");
    let discovery = discover(&sandbox.env(), Options::default());
    assert_eq!(discovery.server("a").unwrap().origin.scope, Scope::Project);
    assert_eq!(discovery.shadowed.iter().filter(|aside| aside.name == "a").count(), 1);
}

#[test]
fn a_disabled_server_keeps_its_name() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/mcp.json", servers("\"a\": {\"command\": \"x\", \"enabled\": false}"));
    sandbox.write(
        "~/.cursor/mcp.json",
        servers("\"a\": {\"command\": \"y\"}, \"b\": {\"command\": \"z\", \"disabled\": true}"),
    );
    let discovery = discover(&sandbox.env(), Options::default());
    assert_eq!(discovery.server("a").unwrap().state(), State::Disabled);
    assert_eq!(discovery.server("b").unwrap().state(), State::Disabled);
    // Also when nothing else about it is right.
    sandbox.write("~/.cursor/mcp.json", servers("\"c\": {\"disabled\": true, \"args\": \"x\"}"));
    assert_eq!(discover(&sandbox.env(), Options::default()).server("c").unwrap().state(), State::Disabled);
    assert!(discovery.shadowed.iter().any(|aside| aside.name == "a"));
}

#[test]
fn one_connection_under_two_names_is_one_server() {
    let sandbox = Sandbox::new();
    let one = "\"command\": \"npx\", \"args\": [\"x\"], \"env\": {\"K\": \"${V}\"}";
    sandbox.write("~/.switchboard/mcp.json", servers(&format!("\"first\": {{{one}}}")));
    // The same thing in Cursor's syntax, and another account beside it.
    let same = one.replace("${V}", "${env:V}");
    let other = one.replace("${V}", "${env:OTHER}");
    let off = "\"off\": {\"command\": \"npx\", \"args\": [\"x\"], \"env\": {\"K\": \"${env:V}\"}, \"disabled\": true}";
    sandbox.write(
        "~/.cursor/mcp.json",
        servers(&format!("\"second\": {{{same}}}, \"account\": {{{other}}}, {off}")),
    );
    let discovery = discover(&sandbox.env(), Options::default());
    insta::assert_snapshot!(render::discovery(&discovery, &sandbox));
}

#[test]
fn the_users_lists_switch_servers_of_other_tools() {
    let sandbox = Sandbox::new();
    sandbox
        .write("~/.switchboard/mcp.json", "{\"disabledServers\": [\"on\"], \"enabledServers\": [\"off\"]}");
    sandbox.write(
        "~/.cursor/mcp.json",
        servers("\"on\": {\"command\": \"a\"}, \"off\": {\"command\": \"b\", \"disabled\": true}"),
    );
    // A project has no say in it.
    sandbox.write(".switchboard/mcp.json", "{\"disabledServers\": [\"off\"], \"mcpServers\": {}}");
    let discovery = discover(&sandbox.env(), Options::default());
    assert_eq!(discovery.server("on").unwrap().state(), State::Disabled);
    assert_eq!(discovery.server("off").unwrap().state(), State::Untrusted);
}

#[test]
fn filters_are_options_and_say_so() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "~/.switchboard/mcp.json",
        servers("\"exa\": {\"url\": \"https://mcp.exa.ai/mcp\"}, \"playwright\": {\"command\": \"npx\", \"args\": [\"@playwright/mcp\"]}"),
    );
    let plain = discover(&sandbox.env(), Options::default());
    assert!(plain.server("exa").is_some() && plain.server("playwright").is_some());
    let options = Options { filter_exa: true, filter_browser: true, ..Options::default() };
    let filtered = discover(&sandbox.env(), options);
    insta::assert_snapshot!(render::discovery(&filtered, &sandbox));
}

#[test]
fn a_file_that_two_tools_share_is_read_for_both() {
    let sandbox = Sandbox::new();
    let text = "{\"mcp\": {\"servers\": {\"v\": {\"command\": \"v\"}}}, \"amp.mcpServers\": {\"a\": {\"command\": \"a\"}}}";
    sandbox.write("~/.config/Code/User/settings.json", text);
    let discovery = discover(&sandbox.env(), Options::default());
    assert_eq!(discovery.server("v").unwrap().origin.provider.id(), "vscode");
    assert_eq!(discovery.server("a").unwrap().origin.provider.id(), "amp");
    assert_eq!(discovery.files.len(), 1);
}

#[test]
fn accounts_are_told_apart_and_transports_are_not() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "~/.codex/config.toml",
        "[mcp_servers.a]\nurl = \"https://x.dev\"\nbearer_token_env_var = \"A\"\n[mcp_servers.b]\nurl = \"https://x.dev\"\nbearer_token_env_var = \"B\"\n",
    );
    sandbox.write(
        "~/.claude.json",
        "{\"mcpServers\": {\"c\": {\"type\": \"http\", \"url\": \"https://y.dev\"}}}",
    );
    sandbox.write("~/.gemini/settings.json", "{\"mcpServers\": {\"d\": {\"url\": \"https://y.dev\"}}}");
    let discovery = discover(&sandbox.env(), Options::default());
    assert!(discovery.server("a").is_some() && discovery.server("b").is_some());
    assert!(discovery.server("c").is_some() && discovery.server("d").is_none());
}

#[test]
fn a_project_cannot_put_a_trusted_server_aside() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/mcp.json", servers("\"mine\": {\"command\": \"x\"}"));
    sandbox.write(".switchboard/mcp.json", servers("\"theirs\": {\"command\": \"x\"}"));
    let discovery = discover(&sandbox.env(), Options::default());
    assert_eq!(discovery.server("mine").unwrap().state(), State::Enabled);
    assert!(discovery.server("theirs").is_none());
}
