//! Which file of which tool gets the entry, and where in it.
//!
//! In: the places that are read anyway. Out: the one to write for a tool and a scope. A file that is there comes before
//! one that would have to be made.

use std::path::{Path, PathBuf};

use super::record::Record;
use super::text::{Shape, Slot};
use crate::config::edit::Refusal;
use crate::env::Env;
use crate::origin::{Origin, Scope};
use crate::provider::Provider;
use crate::sources::container;
use crate::sources::places::{Container, Project, Spot, places};
use crate::sources::syntax::{Format, parse};

/// The file of a tool that gets the entry.
#[derive(Debug, Clone)]
pub struct Target {
    /// The tool.
    pub tool: Provider,
    /// The user's file or the project's.
    pub scope: Scope,
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// As whose file it is found again.
    pub read_as: Provider,
    /// Where it is looked for in it.
    pub container: Container,
}

/// Every tool that can have the entry.
pub fn tools() -> impl Iterator<Item = Provider> + Clone {
    use Provider as P;
    P::all().filter(|tool| !tool.is_ours() && !matches!(tool, P::Environment | P::BuiltIn))
}

/// The file for a tool and a scope; nothing if the tool has none.
pub fn target(env: &Env, project: &Project, tool: Provider, scope: Scope) -> Option<Target> {
    let mut candidates = candidates(env, project, tool, scope);
    // One that cannot be looked at is there: another one would be written beside it.
    let there = candidates.iter().position(|target| target.path.try_exists().unwrap_or(true));
    let near = || candidates.iter().position(|target| target.path.parent().is_some_and(Path::is_dir));
    let chosen = there.or_else(near).unwrap_or_default();
    if candidates.is_empty() {
        return None;
    }
    Some(candidates.swap_remove(chosen))
}

/// The file that a record tells of, and the project around it, wherever that is; nothing if the tool has no such file.
pub fn recorded(env: &Env, record: &Record) -> Option<(Project, Target)> {
    let tool = tools().find(|tool| tool.id() == record.tool)?;
    if record.scope == Scope::User.as_str() {
        let project = Project::find(env);
        let known = candidates(env, &project, tool, Scope::User);
        if let Some(target) = known.into_iter().find(|target| target.path == record.path) {
            return Some((project, target));
        }
        // Where it was put counts, also if the tool has another file by now.
        let usual = target(env, &project, tool, Scope::User)?;
        let is_alike = usual.path.extension() == record.path.extension();
        return is_alike.then(|| (project, Target { path: record.path.clone(), ..usual }));
    }
    let mut dirs: Vec<&Path> = record.path.ancestors().skip(1).collect();
    // The outermost first: in a repository, a file counts in the directories below it as well.
    dirs.reverse();
    dirs.into_iter().find_map(|dir| {
        let env = env.clone().with_cwd(dir);
        let project = Project::find(&env);
        let known = candidates(&env, &project, tool, Scope::Project);
        let target = known.into_iter().find(|target| target.path == record.path)?;
        Some((project, target))
    })
}

/// Every file the tool has for a scope, the one that counts most first.
fn candidates(env: &Env, project: &Project, tool: Provider, scope: Scope) -> Vec<Target> {
    if tool == Provider::Continue && scope == Scope::Project {
        // Its servers for a project are files of their own.
        let path = env.join(env.cwd(), ".continue/mcpServers/switchboard.yaml");
        let container = Container::Whole;
        return vec![Target { tool, scope, path, format: Format::Yaml, read_as: tool, container }];
    }
    let read_as = match (tool, scope) {
        // Claude Code's file for a project is everybody's.
        (Provider::Claude, Scope::Project) => Provider::McpJson,
        _ => tool,
    };
    let all =
        places(env, project).into_iter().filter(|place| place.provider == read_as && place.scope == scope);
    let mut candidates: Vec<Target> = all
        .filter_map(|place| match place.spot {
            Spot::File(path) if is_meant(tool, scope, &path) => {
                let (format, container) = (place.format, place.container);
                Some(Target { tool, scope, path, format, read_as, container })
            }
            _ => None,
        })
        .collect();
    if tool == Provider::McpJson {
        // More tools look for `.mcp.json`, so that is the one to make.
        candidates.reverse();
    }
    candidates
}

/// Whether the tool itself writes its servers there; some places are only read for the sake of old files.
fn is_meant(tool: Provider, scope: Scope, path: &Path) -> bool {
    use Provider as P;
    let path = path.to_string_lossy().replace('\\', "/");
    let ends = |ending: &str| path.ends_with(ending);
    match (tool, scope) {
        // These have no file for a project any more, or never had.
        (P::CoCli | P::Windsurf, Scope::Project) => false,
        (P::Claude, Scope::User) => ends("/.claude.json"),
        (P::Claude, _) => ends("/.mcp.json"),
        (P::Amp, _) => !ends("/User/settings.json") && !ends("/.vscode/settings.json"),
        (P::VsCode, _) => ends("/mcp.json"),
        (P::Kiro, _) => ends("/.kiro/settings/mcp.json"),
        (P::Junie, _) => ends("/.junie/mcp/mcp.json"),
        (P::Warp, _) => ends("/.warp/.mcp.json"),
        _ => true,
    }
}

impl Target {
    /// Whether the tool seems to be there.
    pub fn is_present(&self, env: &Env) -> bool {
        let dir = self.path.parent();
        let has_dir = || match self.tool {
            Provider::Claude => env.in_home(".claude").is_dir(),
            _ => dir.is_some_and(|dir| dir != env.home() && dir.is_dir()),
        };
        // A project's directories are shared by many tools.
        self.path.exists() || (self.scope == Scope::User && has_dir())
    }

    /// What a file says before its first server.
    pub(super) fn head(&self) -> &'static str {
        match (self.tool, self.scope) {
            (Provider::Continue, Scope::Project) => "name: Switchboard\nversion: 0.0.1\nschema: v1\n",
            (Provider::Continue, _) => "name: Local Config\nversion: 1.0.0\nschema: v1\n",
            _ => "",
        }
    }

    /// Where the servers stand in this text, or would.
    pub fn slot(&self, text: &str) -> Result<Slot, Refusal> {
        let root = parse(text, self.format).map_err(|error| Refusal {
            line: error.line,
            what: format!("it is not valid {}: {}", self.format.as_str(), error.what),
        })?;
        let keys: &[&str] = match (&self.container, &root) {
            (Container::Below(paths), Some(root)) => {
                paths.iter().find(|path| root.at(path).is_some()).copied().unwrap_or_else(|| self.usual())
            }
            (Container::Whole, Some(root)) if root.at(self.usual()).is_none() => {
                match container::path(root) {
                    None => self.usual(),
                    // What the tool reads as it is stays as it is.
                    Some([]) if self.reads_bare_maps() => &[],
                    Some(path) if !path.is_empty() && self.reads_any_key() => path,
                    Some(path) => {
                        let what = match path {
                            [] => format!(
                                "its servers stand in no `{}`, where {} would look",
                                self.usual().join("."),
                                self.tool
                            ),
                            _ => format!(
                                "its servers stand under `{}`, where {} does not look",
                                path.join("."),
                                self.tool
                            ),
                        };
                        return Err(Refusal { line: None, what });
                    }
                }
            }
            _ => self.usual(),
        };
        let shape = if self.tool == Provider::Continue { Shape::List } else { Shape::Map };
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        Ok(Slot { format: self.format, keys, shape })
    }

    /// Where the tool itself puts its servers.
    fn usual(&self) -> &'static [&'static str] {
        use Provider as P;
        match self.tool {
            P::CoCli | P::Codex => &["mcp_servers"],
            P::VsCode => &["servers"],
            P::OpenCode | P::Crush => &["mcp"],
            P::Zed => &["context_servers"],
            P::Amp => &["amp.mcpServers"],
            P::Goose => &["extensions"],
            _ => &["mcpServers"],
        }
    }

    fn reads_any_key(&self) -> bool {
        matches!(self.tool, Provider::Warp | Provider::McpJson)
    }

    fn reads_bare_maps(&self) -> bool {
        matches!(self.tool, Provider::CopilotCli | Provider::Warp | Provider::McpJson)
    }

    /// Where an entry of the file comes from.
    pub(super) fn origin(&self) -> Origin {
        Origin {
            provider: self.read_as,
            scope: self.scope,
            path: Some(self.path.as_path().into()),
            line: None,
        }
    }
}
