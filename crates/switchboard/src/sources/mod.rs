//! Finds and reads every declaration of a server, in every tool's files.
//!
//! In: the environment. Out: [`Found`]: what was declared, where (file and line), and what could not be read.
//! Nothing is expanded, merged or judged here, and nothing fails as a whole: a bad entry costs itself, a bad
//! file costs itself, and both become a [`Problem`].

pub mod places;
pub mod read;
pub mod syntax;
pub mod tree;
pub mod watch;

mod builtin;
pub(crate) mod container;
pub(crate) mod dialect;
mod entry;
mod nearest;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

pub use container::Switches;
pub(crate) use nearest::{nearest, short_for};
use places::{Place, Project};
use syntax::Format;
use tree::Node;

use crate::declared::{Declaration, Rank};
use crate::env::{Env, SWITCHBOARD_MCP_SERVERS};
use crate::origin::{Origin, Scope};
use crate::problem::{Code, Problem};
use crate::provider::Provider;
use crate::visible::excerpt;

/// Everything the files say.
#[derive(Debug, Default)]
pub struct Found {
    /// The declarations, in no order that matters: each carries its rank.
    pub declarations: Vec<Declaration>,
    /// What tools switch on and off outside the definitions.
    pub switches: BTreeMap<(Provider, Scope), Switches>,
    /// Our settings files, not yet interpreted.
    pub settings: Vec<SettingsFile>,
    /// Whether `SWITCHBOARD_MCP_SERVERS` replaces everything.
    pub overridden: bool,
    /// Maps of a project in co-cli's manner, which replace the user's map of the same tool.
    pub replacing: Vec<Origin>,
    /// What could not be read or understood.
    pub problems: Vec<Problem>,
    /// The files that were there and could be read.
    pub files: Vec<Arc<Path>>,
}

/// A settings file of ours.
#[derive(Debug)]
pub struct SettingsFile {
    /// Whose it is.
    pub origin: Origin,
    /// What it holds.
    pub root: Node<'static>,
}

/// A file and everybody who keeps servers in it, with the rank of each.
struct Shared<'p> {
    format: Format,
    places: Vec<(u32, &'p Place)>,
}

/// Reads every place there is.
pub fn find(env: &Env, project: &Project) -> Found {
    let places = places::places(env, project);
    let mut found = Found::default();
    // A file that several tools keep their servers in is read once.
    let mut by_path: BTreeMap<Arc<Path>, Shared<'_>> = BTreeMap::new();
    let mut rank = 0;
    for place in &places {
        let files = read::files(&place.spot, place.format).unwrap_or_else(|problem| {
            let path = Some(place.spot.path().into());
            let origin = Origin { provider: place.provider, scope: place.scope, path, line: None };
            found.problems.push(problem.origin(origin));
            Vec::new()
        });
        for (path, format) in files {
            let shared = by_path.entry(path.into()).or_insert_with(|| Shared { format, places: Vec::new() });
            shared.places.push((rank, place));
            rank += 1;
        }
    }
    for (path, Shared { format, places }) in by_path {
        found.file(&path, format, &places);
    }
    if let Some(text) = env.non_empty(SWITCHBOARD_MCP_SERVERS) {
        found.variable(text);
    }
    found.text(
        builtin::DECLARATIONS,
        Format::Json,
        &[(
            u32::MAX,
            &Origin { provider: Provider::BuiltIn, scope: Scope::BuiltIn, path: None, line: None },
            &places::Container::Whole,
        )],
    );
    found
}

/// Reads one text as the file of a provider; what the golden corpus and the fuzzers drive.
pub fn read_text(text: &str, provider: Provider, format: Format, container: &places::Container) -> Found {
    let origin = Origin { provider, scope: Scope::Project, path: None, line: None };
    read_from(text, &origin, format, container)
}

/// Reads one text as if it stood in that file.
pub fn read_from(text: &str, origin: &Origin, format: Format, container: &places::Container) -> Found {
    let mut found = Found::default();
    found.text(text, format, &[(0, origin, container)]);
    found
}

impl Found {
    fn file(&mut self, path: &Arc<Path>, format: Format, places: &[(u32, &Place)]) {
        let origins: Vec<_> = places
            .iter()
            .map(|(rank, place)| {
                let path = Some(path.clone());
                let origin = Origin { provider: place.provider, scope: place.scope, path, line: None };
                (*rank, origin, &place.container)
            })
            .collect();
        match read::text(path) {
            Ok(Some(text)) => {
                self.files.push(path.clone());
                let readings: Vec<_> =
                    origins.iter().map(|(rank, origin, container)| (*rank, origin, *container)).collect();
                self.text(&text, format, &readings);
            }
            Ok(None) => {}
            Err(problem) => self.problems.push(problem.origin(origins[0].1.clone())),
        }
    }

    /// Takes in a text for everybody who keeps servers in it; tells whether there was a place for them.
    fn text(&mut self, text: &str, format: Format, readings: &[(u32, &Origin, &places::Container)]) -> bool {
        let first = readings[0].1;
        let parsed = match syntax::parse(text, format) {
            Ok(parsed) => parsed,
            Err(error) => {
                let message = match error.column {
                    Some(column) => {
                        format!("this is not valid {}: {} (column {column})", format.as_str(), error.what)
                    }
                    None => format!("this is not valid {}: {}", format.as_str(), error.what),
                };
                let problem = Problem::new(Code::SyntaxError, message)
                    .hint("nothing of this file is used until it is mended");
                let origin = Origin { line: error.line, ..first.clone() };
                self.problems.push(problem.origin(origin));
                return false;
            }
        };
        let Some(root) = parsed else {
            let problem = Problem::new(Code::FileEmpty, "the file is empty");
            self.problems.push(problem.origin(first.clone()));
            return false;
        };
        let mut any = false;
        for (rank, origin, container) in readings {
            any |= self.servers(&root, *rank, origin, container);
        }
        // Somebody meant servers, but nobody looks for them there.
        if let (false, places::Container::Below(paths)) = (any, readings[0].2)
            && let Some((line, problem)) = container::misplaced(&root, &paths[0].join("."))
        {
            self.problems.push(problem.origin(first.at(line)));
        }
        if first.provider == Provider::Settings {
            self.settings.push(SettingsFile { origin: first.clone(), root: root.into_owned() });
        }
        any
    }

    /// Takes in the servers of one tool; tells whether there was a place for them.
    fn servers(
        &mut self,
        root: &Node<'_>,
        rank: u32,
        origin: &Origin,
        container: &places::Container,
    ) -> bool {
        self.switches(root, origin, container);
        let contents = container::contents(root, container);
        let whole_map = matches!(origin.provider, Provider::Settings | Provider::CoCli);
        if let (true, Scope::Project, Some(line)) = (whole_map, origin.scope, contents.map_line) {
            self.replacing.push(origin.at(line));
        }
        let problems = contents.problems.into_iter();
        self.problems.extend(problems.map(|(line, problem)| problem.origin(origin.at(line))));
        self.entries(&contents.entries, rank, origin);
        contents.map_line.is_some() || !contents.entries.is_empty()
    }

    /// Takes in what stands beside the servers.
    fn switches(&mut self, root: &Node<'_>, origin: &Origin, container: &places::Container) {
        let mut beside = container::not_honoured(root, origin.provider);
        let switches = container::switches(root, origin.provider, container, &mut beside);
        self.problems.extend(beside.into_iter().map(|(line, problem)| problem.origin(origin.at(line))));
        if switches.is_empty() {
            return;
        }
        if (origin.provider, origin.scope) == (Provider::Native, Scope::Project) {
            let message = "`disabledServers` and `enabledServers` count only in your own user file";
            let list = root.get("disabledServers").or_else(|| root.get("enabledServers"));
            let problem = Problem::new(Code::SettingNotAllowed, message).hint("switchboard disable NAME");
            self.problems.push(problem.origin(origin.at(list.map_or(1, |node| node.line))));
        }
        self.switches.entry((origin.provider, origin.scope)).or_default().add(switches);
    }

    fn entries(&mut self, entries: &[container::Entry<'_, '_>], rank: u32, origin: &Origin) {
        let dialect = dialect::of(origin.provider);
        let total = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let mut lines: HashMap<&str, u32> = HashMap::with_capacity(entries.len());
        self.declarations.reserve(entries.len());
        for (entry, index) in entries.iter().zip(0..) {
            let name = entry.name.as_ref();
            let origin = origin.at(entry.line);
            // Of two entries with one name the later counts, so it gets the lower rank.
            let order = match lines.insert(name, entry.line) {
                Some(first) => {
                    self.problems.push(stands_twice(name, first, entry.line).origin(origin.clone()));
                    total - index
                }
                None => total + index,
            };
            match entry::read(entry.node, name, &origin, &dialect, &mut self.problems) {
                entry::Outcome::Server(content, switch) => {
                    let rank = Rank { file: rank, entry: order };
                    self.declarations.push(Declaration {
                        name: name.to_owned(),
                        origin,
                        rank,
                        switch,
                        content,
                    });
                }
                entry::Outcome::Skipped(problem, switch) => {
                    self.problems.push(problem);
                    let switches = self.switches.entry((origin.provider, origin.scope)).or_default();
                    match switch {
                        Some(true) => switches.on.push(name.to_owned()),
                        Some(false) => switches.off.push(name.to_owned()),
                        None => {}
                    }
                }
            }
        }
    }

    /// The servers of a variable; they carry the lowest rank of all, so they count first.
    fn variable(&mut self, text: &str) {
        let origin =
            Origin { provider: Provider::Environment, scope: Scope::Environment, path: None, line: None };
        if syntax::parse(text, Format::Json)
            .is_ok_and(|root| root.is_some_and(|root| root.entries().is_none()))
        {
            let message = format!("{SWITCHBOARD_MCP_SERVERS} is ignored: it is not an object");
            let hint = "it must be a JSON object of servers by name";
            return self.problems.push(Problem::new(Code::BadVariable, message).hint(hint).origin(origin));
        }
        let (declarations, problems) = (self.declarations.len(), self.problems.len());
        let has_place = self.text(text, Format::Json, &[(0, &origin, &places::Container::Whole)]);
        self.overridden = has_place || is_empty_object(text);
        if self.overridden {
            return;
        }
        self.declarations.truncate(declarations);
        for problem in &mut self.problems[problems..] {
            problem.code = Code::BadVariable;
            problem.message = format!("{SWITCHBOARD_MCP_SERVERS} is ignored: {}", problem.message);
            problem.hint = Some("it must be a JSON object of servers by name".to_owned());
        }
    }
}

fn is_empty_object(text: &str) -> bool {
    matches!(syntax::parse(text, Format::Json), Ok(Some(root)) if root.entries().is_some_and(<[_]>::is_empty))
}

fn stands_twice(name: &str, first: u32, second: u32) -> Problem {
    let shown = excerpt(name, 60);
    let message = format!(
        "the server `{shown}` stands twice in this file, on lines {first} and {second}; the last one counts"
    );
    Problem::new(Code::DuplicateKey, message).hint("rename or remove one of them").server(name)
}
