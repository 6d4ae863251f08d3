//! Settings files, the map of servers in them, and variables.

use std::time::Duration;

use switchboard::config::settings::{Keyring, NameStyle};
use switchboard::declared::Limit;
use switchboard::{Options, Provider, discover};
use testkit::Sandbox;

const A_SERVER: &str = "{\"command\": \"x\"}";

#[test]
fn the_projects_map_replaces_the_users_and_touches_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", format!("{{\"mcp_servers\": {{\"user\": {A_SERVER}}}}}"));
    sandbox.write("~/.switchboard/mcp.json", "{\"mcpServers\": {\"native\": {\"command\": \"y\"}}}");
    let discovery = discover(&sandbox.env(), Options::default());
    assert!(discovery.server("user").is_some());
    // An empty map replaces too.
    for map in ["{}", "{\"project\": {\"command\": \"z\"}}"] {
        sandbox.write(".switchboard/settings.json", format!("{{\"mcp_servers\": {map}}}"));
        let discovery = discover(&sandbox.env(), Options::default());
        assert!(discovery.server("user").is_none(), "{map}");
        assert!(discovery.shadowed.iter().any(|aside| aside.name == "user"), "{map}");
        assert!(discovery.server("native").is_some());
    }
    // One of the wrong shape does not.
    sandbox.write(".switchboard/settings.json", "{\"mcp_servers\": \"none\"}");
    assert!(discover(&sandbox.env(), Options::default()).server("user").is_some());
}

#[test]
fn the_variable_replaces_everything() {
    let sandbox = Sandbox::new().with_var("SWITCHBOARD_MCP_SERVERS", "{\"only\": {\"command\": \"x\"}}");
    sandbox.write("~/.switchboard/mcp.json", "{\"mcpServers\": {\"native\": {\"command\": \"y\"}}}");
    let discovery = discover(&sandbox.env(), Options::default());
    let names: Vec<_> = discovery.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["only"]);
    assert_eq!(discovery.servers[0].origin.provider, Provider::Environment);
    assert!(discovery.shadowed.iter().any(|aside| aside.name == "native"));
    let none = Sandbox::new().with_var("SWITCHBOARD_MCP_SERVERS", "{}");
    assert!(discover(&none.env(), Options::default()).servers.is_empty());
}

#[test]
fn project_entries_and_providers_can_be_switched_off() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "~/.switchboard/settings.json",
        "{\"enableProjectConfig\": false, \"providers\": {\"disabled\": [\"cursor\"]}, \"defaults\": false}",
    );
    sandbox.write(".switchboard/mcp.json", "{\"mcpServers\": {\"project\": {\"command\": \"x\"}}}");
    sandbox.write("~/.cursor/mcp.json", "{\"mcpServers\": {\"cursor\": {\"command\": \"y\"}}}");
    sandbox.write(
        "~/.claude.json",
        "{\"mcpServers\": {\"project\": {\"command\": \"z\", \"type\": \"stdio\"}}}",
    );
    let discovery = discover(&sandbox.env(), Options::default());
    let names: Vec<_> =
        discovery.servers.iter().map(|server| (server.name.as_str(), server.origin.provider)).collect();
    // Dropped before precedence: the user's entry of the same name counts now.
    assert_eq!(names, [("project", Provider::Claude)]);
    assert!(discovery.shadowed.iter().all(|aside| aside.because.state() == "filtered"));
}

#[test]
fn values_are_read_and_variables_win() {
    let sandbox = Sandbox::new()
        .with_var("SWITCHBOARD_MCP_TIMEOUT_MS", "0")
        .with_var("SWITCHBOARD_STARTUP_WINDOW_MS", "1000");
    sandbox.write(
        "~/.switchboard/settings.json",
        "{\"startupWindow\": 300, \"toolNames\": {\"style\": \"double\"}, \"output\": {\"maxBytes\": 7}, \"chat\": {\"model\": \"ollama/x\"}}",
    );
    sandbox.write(
        ".switchboard/settings.json",
        "{\"toolNames\": {\"style\": \"letters\"}, \"chat\": {\"baseUrl\": \"http://evil\"}}",
    );
    let discovery = discover(&sandbox.env(), Options::default());
    let settings = &discovery.settings;
    assert_eq!(settings.startup_window, Duration::from_secs(1));
    assert_eq!(settings.timeout_override, Some(Limit::None));
    assert_eq!(settings.tool_names, NameStyle::Letters);
    assert_eq!(settings.max_output_bytes, 7);
    assert_eq!(settings.chat.model.as_deref(), Some("ollama/x"));
    assert_eq!(settings.chat.base_url, None);
    let codes: Vec<_> = discovery.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert!(codes.contains(&"setting-not-allowed"), "{codes:?}");
}

#[test]
fn logins_are_for_the_user_to_set() {
    let sandbox = Sandbox::new();
    let login = |keyring: &str, hosts: &str| {
        format!(
            r#"{{"login": {{"keyring": {keyring}, "document": "https://me.dev/c.json", "privateHosts": {hosts}}}}}"#
        )
    };
    sandbox.write("~/.switchboard/settings.json", login("\"off\"", r#"["Login.Corp.Example", "10.1.2.3"]"#));
    sandbox.write(".switchboard/settings.json", login("\"auto\"", r#"["evil.example"]"#));
    let settings = discover(&sandbox.env(), Options::default()).settings.login;
    assert_eq!(settings.keyring, Keyring::Off);
    assert_eq!(settings.document.as_deref(), Some("https://me.dev/c.json"));
    assert_eq!(settings.private_hosts, ["login.corp.example", "10.1.2.3"]);
    for bad in [r#"["*.corp.example"]"#, r#"["https://a.b"]"#, r#"["a.b:443"]"#, r#""a.b""#, "[1]", r#"[""]"#]
    {
        sandbox.write("~/.switchboard/settings.json", login("\"on\"", bad));
        let discovery = discover(&sandbox.env(), Options::default());
        assert!(discovery.settings.login.private_hosts.is_empty(), "{bad}");
        assert_eq!(discovery.settings.login.keyring, Keyring::Auto);
        let n_bad =
            discovery.problems.iter().filter(|problem| problem.code.as_str() == "bad-setting").count();
        assert_eq!(n_bad, 2, "{bad}");
    }
}

#[test]
fn a_variable_counts_whole_or_not_at_all() {
    let check = |value: &str, names: &[&str]| {
        let sandbox = Sandbox::new().with_var("SWITCHBOARD_MCP_SERVERS", value);
        sandbox.write("~/.switchboard/mcp.json", "{\"mcpServers\": {\"native\": {\"command\": \"y\"}}}");
        sandbox.write("~/.switchboard/settings.json", "{\"defaults\": false}");
        let discovery = discover(&sandbox.env(), Options::default());
        let found: Vec<_> = discovery.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(found, names, "{value}");
    };
    check("{\"mcpServers\": {\"e\": {\"command\": \"x\"}}, \"mcp\": {\"q\": {}}}", &["e"]);
    check("{\"e\": {\"command\": \"x\"}, \"n\": null}", &["e", "n"]);
    check("[{\"name\": \"e\", \"command\": \"x\"}]", &["native"]);
    check("nonsense", &["native"]);
    check("{\"mcpServers\": 5}", &["native"]);
}
