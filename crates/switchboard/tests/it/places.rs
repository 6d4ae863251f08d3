//! Where files are, on all three systems, as pure functions of an environment.

use std::path::PathBuf;

use switchboard::Env;
use switchboard::env::Os;
use switchboard::sources::places::{Container, Project, Spot, places};

fn list(env: &Env, project: &Project) -> String {
    let mut text = String::new();
    for place in places(env, project) {
        let spot = match &place.spot {
            Spot::File(path) => path.display().to_string(),
            Spot::FilesIn(dir) => format!("{} (every file)", dir.display()),
            Spot::InEach(dir, name) => format!("{} (each directory's {name})", dir.display()),
        };
        let container = match &place.container {
            Container::Whole => String::new(),
            Container::Below(paths) => {
                format!(" below {}", paths.iter().map(|path| path.join("/")).collect::<Vec<_>>().join(" or "))
            }
            Container::ClaudeProject(dir) => format!(" for {}", dir.display()),
        };
        let priority = place.provider.priority();
        text.push_str(&format!("{priority:>3} {} {} {spot}{container}\n", place.provider.id(), place.scope));
    }
    text
}

fn project(dir: &str) -> Project {
    Project { dir: PathBuf::from(dir), ancestors: vec![PathBuf::from(dir)] }
}

#[test]
fn linux() {
    let env = Env::new(Os::Linux, "/home/me", "/home/me/app");
    insta::assert_snapshot!(list(&env, &project("/home/me/app")));
}

#[test]
fn macos() {
    let env = Env::new(Os::MacOs, "/Users/me", "/Users/me/app");
    insta::assert_snapshot!(list(&env, &project("/Users/me/app")));
}

#[test]
fn windows() {
    let env = Env::new(Os::Windows, "C:\\Users\\me", "C:\\src\\app")
        .with_var("APPDATA", "C:\\Users\\me\\AppData\\Roaming")
        .with_var("LOCALAPPDATA", "C:\\Users\\me\\AppData\\Local");
    // Variables with absolute Windows paths are only absolute on Windows; below that, all is text.
    let text = list(&env, &project("C:\\src\\app")).replace("C:\\src\\app/C:", "C:");
    insta::assert_snapshot!(text);
}

#[test]
fn variables_move_files() {
    let check = |name: &str, value: &str, expected: &str| {
        let env = Env::new(Os::Linux, "/home/me", "/app").with_var(name, value);
        let text = list(&env, &project("/app"));
        assert!(text.lines().any(|line| line.contains(expected)), "{name} does not give {expected}:\n{text}");
    };
    check("SWITCHBOARD_HOME", "/sb", "native user /sb/mcp.json");
    check("SWITCHBOARD_HOME", "/sb", "settings user /sb/settings.json");
    check("CLAUDE_CONFIG_DIR", "/cc", "claude user /cc/.claude.json");
    check("CODEX_HOME", "/cx", "codex user /cx/config.toml");
    check("XDG_CONFIG_HOME", "/xdg", "zed user /xdg/zed/settings.json");
    check("XDG_CONFIG_HOME", "/xdg", "opencode user /xdg/opencode/opencode.json");
    check("OPENCODE_CONFIG", "/oc.json", "opencode user /oc.json");
    check("COPILOT_HOME", "/cp", "copilot-cli user /cp/mcp-config.json");
    check("CO_HOME", "/co", "co-cli user /co/settings.json");
    check("CLINE_MCP_SETTINGS_PATH", "/cl.json", "cline user /cl.json");
    check("CLINE_DATA_DIR", "/cld", "cline user /cld/settings/cline_mcp_settings.json");
    check("CLINE_DIR", "/cld", "cline user /cld/data/settings/cline_mcp_settings.json");
    check("AMP_SETTINGS_FILE", "/amp.json", "amp user /amp.json");
    check("OMP_PROFILE", "office", "omp user /home/me/.omp/profiles/office/agent/mcp.json");
    check("PI_CODING_AGENT_DIR", "/pi", "omp user /pi/mcp.json");
    check("PI_CONFIG_DIR", ".pi", "omp user /home/me/.pi/agent/mcp.json");
}

#[test]
fn some_tools_look_upwards_to_the_root_of_the_repository() {
    let sandbox = testkit::Sandbox::new();
    let server = |name: &str| format!("{{\"mcpServers\": {{\"{name}\": {{\"command\": \"{name}\"}}}}}}");
    sandbox.write(".mcp.json", server("root"));
    sandbox.write("a/b/.mcp.json", server("near"));
    sandbox.write("a/.cursor/mcp.json", server("not-here"));
    sandbox.write(".codex/config.toml", "[mcp_servers.codex-root]\ncommand = \"x\"\n");
    sandbox.write("../.mcp.json", server("outside"));
    sandbox.write(".switchboard/mcp.json", server("ours"));
    let env = sandbox.env().with_cwd(sandbox.project().join("a/b"));
    let discovery = switchboard::discover(&env, switchboard::Options::default());
    for found in ["root", "near", "codex-root", "ours"] {
        assert!(discovery.server(found).is_some(), "{found} is not found");
    }
    for hidden in ["outside", "not-here"] {
        assert!(discovery.server(hidden).is_none(), "{hidden} is found");
    }
    assert_eq!(discovery.project.dir, sandbox.project());
}

#[test]
fn a_home_under_version_control_is_no_project() {
    let sandbox = testkit::Sandbox::new();
    sandbox.write("~/.git/HEAD", "ref: refs/heads/main\n");
    sandbox.write("~/.switchboard/mcp.json", "{\"mcpServers\": {\"mine\": {\"command\": \"x\"}}}");
    sandbox.write("~/src/readme", "");
    let env = sandbox.env().with_cwd(sandbox.home().join("src"));
    let discovery = switchboard::discover(&env, switchboard::Options::default());
    let mine = discovery.server("mine").unwrap();
    assert_eq!(mine.origin.scope, switchboard::Scope::User);
    assert_eq!(mine.state(), switchboard::State::Enabled);
    assert!(discovery.shadowed.iter().all(|aside| aside.name != "mine"));
}

#[test]
fn in_the_home_directory_the_users_files_stay_the_users() {
    let sandbox = testkit::Sandbox::new();
    sandbox.write("~/.switchboard/mcp.json", "{\"mcpServers\": {\"mine\": {\"command\": \"x\"}}}");
    sandbox.write("~/.codex/config.toml", "[mcp_servers.codex]\ncommand = \"y\"\n");
    let env = sandbox.env().with_cwd(sandbox.home());
    let discovery = switchboard::discover(&env, switchboard::Options::default());
    assert_eq!(discovery.server("mine").unwrap().state(), switchboard::State::Enabled);
    assert_eq!(discovery.server("codex").unwrap().origin.scope, switchboard::Scope::User);
    assert!(discovery.shadowed.iter().all(|aside| aside.name != "mine" && aside.name != "codex"));
}
