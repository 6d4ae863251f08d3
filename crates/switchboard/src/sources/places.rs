//! Every file that may declare servers, as a pure function of the environment.
//!
//! In: an [`Env`] and the [`Project`] around the working directory. Out: the places, in order of precedence:
//! provider by provider, project before user, nearest directory first. Nothing is opened here, so the paths of
//! all three systems can be tested on any of them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::syntax::Format;
use crate::env::{Env, Os};
use crate::origin::{Origin, Scope};
use crate::provider::Provider;

/// The directories around the working directory that matter.
#[derive(Debug, Clone)]
pub struct Project {
    /// Where `.switchboard` is, or would be made: the nearest directory up to the repository's root that has
    /// one, else the working directory.
    pub dir: PathBuf,
    /// The working directory and its parents up to the repository's root, nearest first.
    pub ancestors: Vec<PathBuf>,
}

impl Project {
    /// Looks around the working directory.
    pub fn find(env: &Env) -> Self {
        let mut ancestors: Vec<PathBuf> = Vec::new();
        let mut inside_repository = false;
        for dir in env.cwd().ancestors() {
            ancestors.push(dir.to_owned());
            if dir.join(".git").exists() {
                inside_repository = true;
                break;
            }
        }
        if !inside_repository {
            ancestors.truncate(1);
        }
        // A home directory under version control must not turn the user's own files into a project's.
        let user = env.switchboard_home();
        let dir = ancestors.iter().find(|dir| {
            let candidate = dir.join(".switchboard");
            candidate != user && candidate.is_dir()
        });
        Self { dir: dir.cloned().unwrap_or_else(|| env.cwd().to_owned()), ancestors }
    }
}

impl Project {
    /// The directory a server belongs to and runs in: for a project's entry the nearest that holds its file, else the
    /// root of the repository; for any other the project's directory.
    pub fn directory_of(&self, origin: &Origin) -> &Path {
        if origin.scope != Scope::Project {
            return &self.dir;
        }
        let holds = |dir: &&PathBuf| origin.path.as_deref().is_some_and(|path| path.starts_with(dir));
        let root = self.ancestors.last().unwrap_or(&self.dir);
        self.ancestors.iter().find(holds).unwrap_or(root)
    }
}

/// One file, or one directory of files, to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The tool it belongs to.
    pub provider: Provider,
    /// Project or user.
    pub scope: Scope,
    /// The file or files.
    pub spot: Spot,
    /// The format of the text.
    pub format: Format,
    /// Where in the file the servers stand.
    pub container: Container,
}

/// A file, or a directory whose files count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spot {
    /// This file.
    File(PathBuf),
    /// Every file in this directory, by name; the extension tells the format.
    FilesIn(PathBuf),
    /// This file in every directory below this one, by name.
    InEach(PathBuf, &'static str),
}

impl Spot {
    /// The file or directory.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::FilesIn(path) | Self::InEach(path, _) => path,
        }
    }
}

/// Where in a file the servers stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Container {
    /// The file is about servers only: `mcpServers`, `servers`, `mcp.servers`, or a bare map.
    Whole,
    /// Below the first of these paths of keys that is there; the file holds other things as well.
    Below(&'static [&'static [&'static str]]),
    /// Claude Code's private entries for one project directory.
    ClaudeProject(PathBuf),
}

const MCP_SERVERS: Container = Container::Below(&[&["mcpServers"]]);
const SNAKE_SERVERS: Container = Container::Below(&[&["mcp_servers"]]);
const ZED: Container = Container::Below(&[&["context_servers"]]);
const MCP: Container = Container::Below(&[&["mcp", "servers"], &["mcp"]]);

/// All places, the one that counts most first.
pub fn places(env: &Env, project: &Project) -> Vec<Place> {
    let mut list = List { env, cwd: env.cwd(), places: Vec::new() };
    ours(&mut list, project);
    terminals(&mut list, project);
    editors(&mut list);
    apps(&mut list);
    let mut places = list.places;
    // In the home directory, the user's own files are not a project's.
    let users = places.iter().filter(|place| place.scope == Scope::User);
    let own: HashSet<OsString> = users.map(|place| place.spot.path().as_os_str().to_owned()).collect();
    places.retain(|place| {
        let private = matches!(place.container, Container::ClaudeProject(_));
        place.scope == Scope::User || private || !own.contains(place.spot.path().as_os_str())
    });
    // Stable: inside a provider the order above stays.
    places.sort_by_key(|place| (place.provider, place.scope));
    places
}

/// Our user file that `add --scope user` writes and that carries the switches.
pub fn user_file(env: &Env) -> PathBuf {
    env.join(&env.switchboard_home(), "mcp.json")
}

/// Our project file that `add` writes.
pub fn project_file(env: &Env, project: &Project) -> PathBuf {
    env.join(&project.dir, ".switchboard/mcp.json")
}

/// Our settings files, project first.
pub fn settings_files(env: &Env, project: &Project) -> [(Scope, PathBuf); 2] {
    [
        (Scope::Project, env.join(&project.dir, ".switchboard/settings.json")),
        (Scope::User, env.join(&env.switchboard_home(), "settings.json")),
    ]
}

/// Collects places; each method is one way a tool lays out its files.
struct List<'a> {
    env: &'a Env,
    cwd: &'a Path,
    places: Vec<Place>,
}

impl List<'_> {
    fn add(&mut self, provider: Provider, scope: Scope, path: PathBuf, container: Container) {
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Format::Toml,
            Some("yaml" | "yml") => Format::Yaml,
            _ => Format::Json,
        };
        self.places.push(Place { provider, scope, spot: Spot::File(path), format, container });
    }

    fn project(&mut self, provider: Provider, relative: &str, container: Container) {
        let path = self.env.join(self.cwd, relative);
        self.add(provider, Scope::Project, path, container);
    }

    fn upwards(&mut self, provider: Provider, project: &Project, relative: &[&str], container: &Container) {
        for dir in &project.ancestors {
            for relative in relative {
                self.add(provider, Scope::Project, self.env.join(dir, relative), container.clone());
            }
        }
    }

    fn home(&mut self, provider: Provider, relative: &str, container: Container) {
        let path = self.env.in_home(relative);
        self.add(provider, Scope::User, path, container);
    }

    fn user(&mut self, provider: Provider, base: &Path, relative: &str, container: Container) {
        let path = self.env.join(base, relative);
        self.add(provider, Scope::User, path, container);
    }

    fn spot(&mut self, provider: Provider, scope: Scope, spot: Spot) {
        let container = Container::Whole;
        self.places.push(Place { provider, scope, spot, format: Format::Json, container });
    }

    /// A directory from a variable, else below home.
    fn dir(&self, variable: &str, relative: &str) -> PathBuf {
        match self.env.non_empty(variable) {
            Some(dir) => self.env.absolute(Path::new(dir)),
            None => self.env.in_home(relative),
        }
    }

    /// `~/.config`, which some tools use on every system.
    fn xdg(&self) -> PathBuf {
        self.dir("XDG_CONFIG_HOME", ".config")
    }

    /// Where desktop programs keep their settings.
    fn app_data(&self) -> PathBuf {
        match self.env.os() {
            Os::Linux => self.xdg(),
            Os::MacOs => self.env.in_home("Library/Application Support"),
            Os::Windows => self.dir("APPDATA", "AppData/Roaming"),
        }
    }
}

fn ours(list: &mut List<'_>, project: &Project) {
    let home = list.env.switchboard_home();
    for name in ["mcp.json", ".mcp.json"] {
        let path = list.env.join(&project.dir, &format!(".switchboard/{name}"));
        list.add(Provider::Native, Scope::Project, path, Container::Whole);
        list.user(Provider::Native, &home, name, Container::Whole);
    }
    for (scope, path) in settings_files(list.env, project) {
        list.add(Provider::Settings, scope, path, SNAKE_SERVERS);
    }
    list.upwards(Provider::McpJson, project, &["mcp.json", ".mcp.json"], &Container::Whole);
}

/// Agents that live in a terminal.
fn terminals(list: &mut List<'_>, project: &Project) {
    omp_family(list);
    list.project(Provider::CoCli, ".co-cli/settings.json", SNAKE_SERVERS);
    let co_home = list.dir("CO_HOME", ".co-cli");
    list.user(Provider::CoCli, &co_home, "settings.json", SNAKE_SERVERS);

    claude(list, project);

    list.upwards(Provider::Codex, project, &[".codex/config.toml"], &SNAKE_SERVERS);
    let codex_home = list.dir("CODEX_HOME", ".codex");
    list.user(Provider::Codex, &codex_home, "config.toml", SNAKE_SERVERS);

    for (provider, dir) in [(Provider::Gemini, ".gemini"), (Provider::Qwen, ".qwen")] {
        list.project(provider, &format!("{dir}/settings.json"), MCP_SERVERS);
        list.home(provider, &format!("{dir}/settings.json"), MCP_SERVERS);
    }

    let names = ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"];
    list.upwards(Provider::OpenCode, project, &names, &MCP);
    if let Some(path) = list.env.non_empty("OPENCODE_CONFIG") {
        list.add(Provider::OpenCode, Scope::User, list.env.absolute(Path::new(path)), MCP);
    }
    let opencode = list.env.join(&list.xdg(), "opencode");
    for name in ["opencode.json", "opencode.jsonc", "config.json"] {
        list.user(Provider::OpenCode, &opencode, name, MCP);
    }

    list.upwards(Provider::CopilotCli, project, &[".github/mcp.json"], &Container::Whole);
    let copilot = list.dir("COPILOT_HOME", ".copilot");
    list.user(Provider::CopilotCli, &copilot, "mcp-config.json", Container::Whole);

    list.spot(
        Provider::Goose,
        Scope::Project,
        Spot::InEach(list.env.join(list.cwd, ".agents/plugins"), ".mcp.json"),
    );
    let goose = match list.env.os() {
        Os::Windows => list.env.join(&list.app_data(), "Block/goose/config"),
        Os::Linux | Os::MacOs => list.env.join(&list.xdg(), "goose"),
    };
    list.user(Provider::Goose, &goose, "config.yaml", Container::Below(&[&["extensions"]]));

    for name in [".crush.json", "crush.json"] {
        list.project(Provider::Crush, name, MCP);
    }
    let crush = match list.env.os() {
        Os::Windows => list.dir("LOCALAPPDATA", "AppData/Local"),
        Os::Linux | Os::MacOs => list.xdg(),
    };
    list.user(Provider::Crush, &crush, "crush/crush.json", MCP);

    for dir in [".warp", ".agents"] {
        list.project(Provider::Warp, &format!("{dir}/.mcp.json"), Container::Whole);
        list.home(Provider::Warp, &format!("{dir}/.mcp.json"), Container::Whole);
    }
}

/// omp and its forks; the user file is below `agent`, though their documents name it without.
fn omp_family(list: &mut List<'_>) {
    for (provider, dir) in [(Provider::Omp, ".omp"), (Provider::Xcsh, ".xcsh"), (Provider::Pisces, ".pisces")]
    {
        let mut agent = list.env.in_home(&format!("{dir}/agent"));
        if provider == Provider::Omp {
            let root = list.env.non_empty("PI_CONFIG_DIR").unwrap_or(dir).to_owned();
            let profile = list.env.var("OMP_PROFILE").or_else(|| list.env.var("PI_PROFILE"));
            agent = match profile.filter(|profile| !profile.is_empty()) {
                Some(profile) => list.env.in_home(&format!("{root}/profiles/{profile}/agent")),
                None => list.env.in_home(&format!("{root}/agent")),
            };
            if let Some(own) = list.env.non_empty("PI_CODING_AGENT_DIR") {
                agent = list.env.absolute(Path::new(own));
            }
        }
        for name in ["mcp.json", ".mcp.json"] {
            list.project(provider, &format!("{dir}/{name}"), Container::Whole);
            list.user(provider, &agent, name, Container::Whole);
        }
        list.home(provider, &format!("{dir}/mcp.json"), Container::Whole);
    }
}

/// Claude Code: private entries per project, the project's folder, the user's file.
fn claude(list: &mut List<'_>, project: &Project) {
    let own_dir = list.env.non_empty("CLAUDE_CONFIG_DIR").map(|dir| list.env.absolute(Path::new(dir)));
    let file = match &own_dir {
        Some(dir) => list.env.join(dir, ".claude.json"),
        None => list.env.in_home(".claude.json"),
    };
    for dir in &project.ancestors {
        list.add(Provider::Claude, Scope::Project, file.clone(), Container::ClaudeProject(dir.clone()));
    }
    for name in [".claude/.mcp.json", ".claude/mcp.json"] {
        list.project(Provider::Claude, name, Container::Whole);
    }
    list.add(Provider::Claude, Scope::User, file, MCP_SERVERS);
    let dir = own_dir.unwrap_or_else(|| list.env.in_home(".claude"));
    list.user(Provider::Claude, &dir, "mcp.json", Container::Whole);
}

/// Editors and what lives inside them.
fn editors(list: &mut List<'_>) {
    list.project(Provider::Cursor, ".cursor/mcp.json", Container::Whole);
    list.home(Provider::Cursor, ".cursor/mcp.json", Container::Whole);

    list.project(Provider::Windsurf, ".windsurf/mcp_config.json", Container::Whole);
    for path in ["windsurf/mcp_config.json", "windsurf-next/mcp_config.json", "mcp_config.json"] {
        list.home(Provider::Windsurf, &format!(".codeium/{path}"), Container::Whole);
    }

    list.project(Provider::Zed, ".zed/settings.json", ZED);
    let zed = match list.env.os() {
        Os::Windows => list.env.join(&list.app_data(), "Zed"),
        Os::Linux | Os::MacOs => list.env.join(&list.xdg(), "zed"),
    };
    list.user(Provider::Zed, &zed, "settings.json", ZED);

    vs_code(list);

    list.project(Provider::Kiro, ".kiro/settings/mcp.json", Container::Whole);
    list.home(Provider::Kiro, ".kiro/settings/mcp.json", Container::Whole);
    list.project(Provider::Kiro, ".amazonq/mcp.json", Container::Whole);
    list.home(Provider::Kiro, ".aws/amazonq/mcp.json", Container::Whole);

    let blocks = Spot::FilesIn(list.env.join(list.cwd, ".continue/mcpServers"));
    list.spot(Provider::Continue, Scope::Project, blocks);
    list.home(Provider::Continue, ".continue/config.yaml", MCP_SERVERS);
    let blocks = Spot::FilesIn(list.env.in_home(".continue/mcpServers"));
    list.spot(Provider::Continue, Scope::User, blocks);

    for dir in [".junie", ".ai"] {
        list.project(Provider::Junie, &format!("{dir}/mcp/mcp.json"), Container::Whole);
        list.home(Provider::Junie, &format!("{dir}/mcp/mcp.json"), Container::Whole);
    }
}

/// VS Code itself, and the extensions that keep their files with it.
fn vs_code(list: &mut List<'_>) {
    const OLD: Container = Container::Below(&[&["mcp", "servers"], &["mcp.servers"]]);
    const DEV: Container = Container::Below(&[&["customizations", "vscode", "mcp", "servers"]]);
    const AMP: Container = Container::Below(&[&["amp.mcpServers"], &["amp", "mcpServers"]]);
    list.project(Provider::VsCode, ".vscode/mcp.json", Container::Whole);
    list.project(Provider::VsCode, ".vscode/settings.json", OLD);
    list.project(Provider::VsCode, ".devcontainer/devcontainer.json", DEV);
    list.project(Provider::Roo, ".roo/mcp.json", Container::Whole);
    amp(list, &AMP);

    if let Some(path) = list.env.non_empty("CLINE_MCP_SETTINGS_PATH") {
        let path = list.env.absolute(Path::new(path));
        list.add(Provider::Cline, Scope::User, path, Container::Whole);
    } else {
        let data = match list.env.non_empty("CLINE_DATA_DIR") {
            Some(data) => list.env.absolute(Path::new(data)),
            None => list.env.join(&list.dir("CLINE_DIR", ".cline"), "data"),
        };
        list.user(Provider::Cline, &data, "settings/cline_mcp_settings.json", Container::Whole);
    }
    list.home(Provider::Cline, ".cline/mcp.json", Container::Whole);

    for edition in ["Code", "Code - Insiders"] {
        let user = list.env.join(&list.app_data(), &format!("{edition}/User"));
        list.user(Provider::VsCode, &user, "mcp.json", Container::Whole);
        list.user(Provider::VsCode, &user, "settings.json", OLD);
        let profiles = list.env.join(&user, "profiles");
        list.spot(Provider::VsCode, Scope::User, Spot::InEach(profiles, "mcp.json"));
        list.user(Provider::Amp, &user, "settings.json", AMP);
        let storage = list.env.join(&user, "globalStorage");
        let cline = "saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
        list.user(Provider::Cline, &storage, cline, Container::Whole);
        let roo = "rooveterinaryinc.roo-cline/settings/mcp_settings.json";
        list.user(Provider::Roo, &storage, roo, Container::Whole);
    }
}

fn amp(list: &mut List<'_>, container: &Container) {
    for name in ["settings.json", "settings.jsonc"] {
        list.project(Provider::Amp, &format!(".amp/{name}"), container.clone());
    }
    list.project(Provider::Amp, ".vscode/settings.json", container.clone());
    if let Some(path) = list.env.non_empty("AMP_SETTINGS_FILE") {
        list.add(Provider::Amp, Scope::User, list.env.absolute(Path::new(path)), container.clone());
        return;
    }
    let amp = match list.env.os() {
        Os::Windows => list.env.join(&list.app_data(), "amp"),
        Os::Linux | Os::MacOs => list.env.join(&list.xdg(), "amp"),
    };
    for name in ["settings.json", "settings.jsonc"] {
        list.user(Provider::Amp, &amp, name, container.clone());
    }
}

/// Desktop programs.
fn apps(list: &mut List<'_>) {
    let app_data = list.app_data();
    let names: &[&str] = match list.env.os() {
        // Linux builds do not agree on the case.
        Os::Linux => &["Claude", "claude"],
        Os::MacOs | Os::Windows => &["Claude"],
    };
    for name in names {
        let file = format!("{name}/claude_desktop_config.json");
        list.user(Provider::ClaudeDesktop, &app_data, &file, MCP_SERVERS);
    }
    for path in [".lmstudio/mcp.json", ".cache/lm-studio/mcp.json"] {
        list.home(Provider::LmStudio, path, Container::Whole);
    }
}
