//! Consent is bound to the definition: what changes what would run asks again, nothing else does.

use switchboard::config::{Approvals, Approved};
use switchboard::{Consent, Discovery, Options, State, discover};
use testkit::Sandbox;

const ENTRY: &str = r#"{"command": "npx", "args": ["-y", "x"], "env": {"K": "${V}"}, "cwd": "sub"}"#;
const REMOTE: &str = r#"{"type": "http", "url": "https://x.dev/mcp", "headers": {"H": "v"}}"#;
const ENTERPRISE: &str = r#"{"type": "http", "url": "https://x.dev/mcp", "oauth": {"enterprise":
    {"endpoint": "https://corp.dev/token", "clientId": "me", "idToken": "/run/id"}}}"#;

fn with(sandbox: &Sandbox, entry: &str) -> Discovery {
    sandbox.write(".cursor/mcp.json", format!("{{\"mcpServers\": {{\"s\": {entry}}}}}"));
    discover(&sandbox.env(), Options::default())
}

fn approve(sandbox: &Sandbox, discovery: &Discovery) {
    let server = discovery.server("s").unwrap();
    let hash = server.definition_hash(&discovery.project).unwrap();
    let approved = Approved { server: "s".to_owned(), source: "test".to_owned() };
    Approvals::add(&sandbox.env(), &[(hash, approved)]).unwrap();
}

fn is_trusted(sandbox: &Sandbox, entry: &str) -> bool {
    with(sandbox, entry).server("s").unwrap().consent.is_given()
}

#[test]
fn every_change_of_what_would_run_asks_again() {
    let sandbox = Sandbox::new();
    approve(&sandbox, &with(&sandbox, ENTRY));
    approve(&sandbox, &with(&sandbox, REMOTE));
    approve(&sandbox, &with(&sandbox, ENTERPRISE));
    assert!([ENTRY, REMOTE, ENTERPRISE].iter().all(|entry| is_trusted(&sandbox, entry)));
    let changes = [
        (ENTRY, "\"npx\"", "\"bunx\""),
        (ENTRY, "\"x\"", "\"y\""),
        (ENTRY, "[\"-y\", \"x\"]", "[\"x\", \"-y\"]"),
        (ENTRY, "\"K\"", "\"L\""),
        (ENTRY, "${V}", "${env:V}"),
        (ENTRY, "${V}", "!cat secret"),
        (ENTRY, "\"sub\"", "\"..\""),
        (ENTRY, "\"env\"", "\"envFile\": \".env\", \"env\""),
        (REMOTE, "x.dev", "evil.dev"),
        (REMOTE, "\"http\"", "\"sse\""),
        (REMOTE, "\"H\"", "\"G\""),
        (REMOTE, "\"v\"", "\"w\""),
        (REMOTE, "\"url\"", "\"auth\": {\"CLIENT_SECRET\": \"${env:AWS_SECRET_ACCESS_KEY}\"}, \"url\""),
        (REMOTE, "\"url\"", "\"disabledTools\": [\"x\"], \"url\""),
        (REMOTE, "\"url\"", "\"oauth\": {\"grant\": \"client_credentials\"}, \"url\""),
        (REMOTE, "\"url\"", "\"oauth\": {\"privateKey\": \"~/.ssh/id\"}, \"url\""),
        (REMOTE, "\"url\"", "\"oauth\": {\"assertion\": \"!cat /run/token\"}, \"url\""),
        (ENTERPRISE, "corp.dev", "evil.dev"),
        (ENTERPRISE, "/run/id", "/run/other"),
    ];
    for (entry, from, to) in changes {
        let edited = entry.replacen(from, to, 1);
        assert_ne!(edited, entry);
        assert!(!is_trusted(&sandbox, &edited), "{from} to {to} does not ask again");
    }
}

#[test]
fn a_change_of_form_does_not_ask_again() {
    let sandbox = Sandbox::new();
    approve(&sandbox, &with(&sandbox, ENTRY));
    for same in [
        "{ // a comment\n \"cwd\": \"sub\", \"env\": {\"K\": \"${V}\"},\n \"args\": [\"-y\", \"x\"], \"command\": \"npx\", }",
        r#"{"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"K": "${V}"}, "cwd": "sub", "timeout": 5}"#,
    ] {
        assert!(is_trusted(&sandbox, same), "{same}");
    }
}

#[test]
fn an_approval_is_good_for_this_project_only() {
    let sandbox = Sandbox::new();
    approve(&sandbox, &with(&sandbox, ENTRY));
    let other = sandbox.path("~/other");
    std::fs::create_dir_all(other.join(".cursor")).unwrap();
    std::fs::copy(sandbox.path(".cursor/mcp.json"), other.join(".cursor/mcp.json")).unwrap();
    let discovery = discover(&sandbox.env().with_cwd(&other), Options::default());
    assert_eq!(discovery.server("s").unwrap().state(), State::Untrusted);
    // What the user has everywhere is approved everywhere.
    sandbox.write("~/.codex/config.toml", "[mcp_servers.mine]\ncommand = \"x\"\n");
    let discovery = discover(&sandbox.env(), Options::default());
    let mine = discovery.server("mine").unwrap();
    let hash = mine.definition_hash(&discovery.project).unwrap();
    Approvals::add(
        &sandbox.env(),
        &[(hash, Approved { server: "mine".to_owned(), source: "test".to_owned() })],
    )
    .unwrap();
    let elsewhere = discover(&sandbox.env().with_cwd(&other), Options::default());
    assert_eq!(elsewhere.server("mine").unwrap().consent, Consent::Approved);
}

#[test]
fn a_loosened_approval_asks_again() {
    let sandbox = Sandbox::new();
    sandbox.write(".mcp.json", "{\"mcpServers\": {\"s\": {\"command\": \"x\"}}}");
    approve(&sandbox, &discover(&sandbox.env(), Options::default()));
    for loosened in [r#""approval": "never""#, r#""inheritEnv": true"#, r#""autoApprove": ["t"]"#] {
        sandbox
            .write(".mcp.json", format!("{{\"mcpServers\": {{\"s\": {{\"command\": \"x\", {loosened}}}}}}}"));
        let discovery = discover(&sandbox.env(), Options::default());
        assert_eq!(discovery.server("s").unwrap().state(), State::Untrusted, "{loosened}");
    }
}

#[test]
fn trust_for_one_run_and_trust_by_origin() {
    let sandbox = Sandbox::new();
    let entry = "{\"mcpServers\": {\"NAME\": {\"command\": \"NAME\"}}}";
    for (path, name) in
        [(".switchboard/mcp.json", "project"), ("~/.switchboard/mcp.json", "user"), (".mcp.json", "root")]
    {
        sandbox.write(path, entry.replace("NAME", name));
    }
    let state = |discovery: &Discovery, name: &str| discovery.server(name).unwrap().state();
    let plain = discover(&sandbox.env(), Options::default());
    assert_eq!(state(&plain, "user"), State::Enabled);
    assert_eq!(state(&plain, "project"), State::Untrusted);
    assert_eq!(state(&plain, "root"), State::Untrusted);
    assert_eq!(state(&plain, "thinking"), State::Enabled);
    assert_eq!(state(&plain, "github"), State::Untrusted);
    assert_eq!(state(&plain, "context7"), State::Untrusted);
    for run in [
        discover(&sandbox.env(), Options { trust_all: true, ..Options::default() }),
        discover(&sandbox.env().with_var("SWITCHBOARD_TRUST", "1"), Options::default()),
    ] {
        assert_eq!(state(&run, "project"), State::Enabled);
    }
    assert_eq!(
        state(&discover(&sandbox.env().with_var("SWITCHBOARD_TRUST", "0"), Options::default()), "root"),
        State::Untrusted
    );
}

#[test]
fn a_damaged_store_approves_nothing_and_is_not_overwritten() {
    let sandbox = Sandbox::new();
    approve(&sandbox, &with(&sandbox, ENTRY));
    let good = sandbox.read("~/.switchboard/approvals.json");
    for damaged in
        ["", "{", "[]", "{\"version\": 2, \"approved\": {}}", &good.replace("\"server\"", "\"servant\"")]
    {
        sandbox.write("~/.switchboard/approvals.json", damaged);
        let discovery = discover(&sandbox.env(), Options::default());
        assert_eq!(discovery.server("s").unwrap().state(), State::Untrusted);
        assert_eq!(discovery.problems[0].code.as_str(), "approvals-unreadable");
        let approved = Approved { server: "s".to_owned(), source: "test".to_owned() };
        assert!(Approvals::add(&sandbox.env(), &[("00".to_owned(), approved)]).is_err());
        assert_eq!(sandbox.read("~/.switchboard/approvals.json"), damaged);
    }
}

#[test]
#[cfg(unix)]
fn the_store_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    approve(&sandbox, &with(&sandbox, ENTRY));
    let mode = |path: &str| std::fs::metadata(sandbox.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("~/.switchboard/approvals.json"), 0o600);
    assert_eq!(mode("~/.switchboard"), 0o700);
}

#[test]
fn a_relative_command_of_the_user_is_approved_where_it_was_seen() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.cursor/mcp.json", "{\"mcpServers\": {\"s\": {\"command\": \"./run.sh\"}}}");
    approve(&sandbox, &discover(&sandbox.env(), Options::default()));
    assert_eq!(discover(&sandbox.env(), Options::default()).server("s").unwrap().state(), State::Enabled);
    std::fs::create_dir_all(sandbox.path("~/other")).unwrap();
    let elsewhere = discover(&sandbox.env().with_cwd(sandbox.path("~/other")), Options::default());
    assert_eq!(elsewhere.server("s").unwrap().state(), State::Untrusted);
}
