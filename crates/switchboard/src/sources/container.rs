//! Finds the servers in a file's tree, whatever shape their tool gives them, and the switches beside them.
//!
//! In: the tree and the [`Container`]. Out: the entries in order, or what is wrong with the file as a whole.

use std::borrow::Cow;
use std::path::Path;

use super::places::Container;
use super::tree::{Key, Node, Value};
use crate::problem::{Code, Problem};
use crate::provider::Provider;
use crate::visible::excerpt;

/// The entries of a file.
#[derive(Debug, Default)]
pub(super) struct Contents<'t, 'a> {
    /// Where the map of servers starts, if there is one.
    pub(super) map_line: Option<u32>,
    pub(super) entries: Vec<Entry<'t, 'a>>,
    pub(super) problems: Vec<(u32, Problem)>,
}

/// One named entry.
#[derive(Debug)]
pub(super) struct Entry<'t, 'a> {
    pub(super) name: Cow<'t, str>,
    pub(super) line: u32,
    pub(super) node: &'t Node<'a>,
}

/// Servers that a tool switches on or off outside their definitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switches {
    /// Off by name.
    pub off: Vec<String>,
    /// On by name, although the definition says off.
    pub on: Vec<String>,
    /// If given, all others are off.
    pub only: Option<Vec<String>>,
}

impl Switches {
    /// Whether they say nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes in what another file of the same tool says.
    pub(super) fn add(&mut self, other: Self) {
        self.off.extend(other.off);
        self.on.extend(other.on);
        if other.only.is_some() {
            self.only = other.only;
        }
    }
}

/// The keys under which a file about servers has them.
const KEYS: &[&[&str]] = &[&["mcpServers"], &["servers"], &["mcp", "servers"], &["mcp_servers"]];

pub(super) fn contents<'t, 'a>(root: &'t Node<'a>, container: &Container) -> Contents<'t, 'a> {
    if root.entries().is_none() && !(root.items().is_some() && matches!(container, Container::Whole)) {
        return broken(root.line, format!("the file must hold an object, not {}", root.kind()));
    }
    match container {
        Container::Below(paths) => match paths.iter().find_map(|path| Some((path, root.at(path)?))) {
            Some((path, node)) => repeated(root, path[0], named(node, &path.join("."))),
            None => Contents::default(),
        },
        Container::ClaudeProject(dir) => {
            match claude_project(root, dir).and_then(|project| project.get("mcpServers")) {
                Some(node) => named(node, "mcpServers"),
                None => Contents::default(),
            }
        }
        Container::Whole => whole(root),
    }
}

/// The keys under which a file about servers has them: none for a bare map; nothing if it has no servers.
pub(crate) fn path(root: &Node<'_>) -> Option<&'static [&'static str]> {
    if let Some(path) = KEYS.iter().find(|path| root.at(path).is_some()) {
        return Some(path);
    }
    let mut entries = root.entries()?.iter();
    entries.any(|(_, node)| looks_like_a_server(node)).then_some(&[])
}

fn whole<'t, 'a>(root: &'t Node<'a>) -> Contents<'t, 'a> {
    let Some(entries) = root.entries() else { return named(root, "") };
    let problem = match path(root) {
        Some([]) => return bare(root.line, entries),
        Some(path) => {
            let Some(node) = root.at(path) else { return Contents::default() };
            let mut contents = repeated(root, path[0], named(node, &path.join(".")));
            let near = entries.iter().find(|(key, node)| {
                key.text != path[0] && node.entries().is_some() && is_near_mcp_servers(&key.text)
            });
            contents.problems.extend(near.map(|(key, _)| {
                let shown = excerpt(&key.text, 60);
                let message = format!("`{shown}` is not read: the servers are taken from `{}`", path[0]);
                (key.line, Problem::new(Code::NoServers, message))
            }));
            return contents;
        }
        None if entries.iter().all(|(key, _)| is_beside_servers(&key.text)) => return Contents::default(),
        None => Problem::new(Code::NoServers, "there is no `mcpServers` in the file"),
    };
    let (line, problem) = match entries.iter().find(|(key, _)| is_near_mcp_servers(&key.text)) {
        Some((key, _)) => {
            let hint = format!("`{}` is not read: rename it to `mcpServers`", excerpt(&key.text, 60));
            (key.line, problem.hint(hint))
        }
        None => (root.line, problem.hint("put the servers into an object called `mcpServers`")),
    };
    Contents { problems: vec![(line, problem)], ..Contents::default() }
}

/// Adds a word about a container that stands twice: only the last one is read.
fn repeated<'t, 'a>(root: &'t Node<'a>, key: &str, mut contents: Contents<'t, 'a>) -> Contents<'t, 'a> {
    let mut lines = root.entries().unwrap_or_default().iter().filter(|(other, _)| other.text == key);
    if let (Some((first, _)), Some(_)) = (lines.next(), lines.next()) {
        let message = format!("`{key}` stands more than once in this file; only the last one is read");
        let problem = Problem::new(Code::DuplicateKey, message).hint("make one of the two");
        contents.problems.push((first.line, problem));
    }
    contents
}

/// A map of servers with nothing around it; what is not an object in it is no server.
fn bare<'t, 'a>(line: u32, entries: &'t [(Key<'a>, Node<'a>)]) -> Contents<'t, 'a> {
    let mut contents = by_key(line, entries);
    let is_entry = |node: &Node<'_>| node.entries().is_some() || node.value == Value::Null;
    contents.entries.retain(|entry| is_entry(entry.node) && !is_beside_servers(&entry.name));
    let others = entries.iter().filter(|(key, node)| !is_beside_servers(&key.text) && !is_entry(node));
    contents.problems.extend(others.map(|(key, node)| {
        let message = format!("`{}` is {}, not a server", excerpt(&key.text, 60), node.kind());
        (key.line, Problem::new(Code::UnknownField, message))
    }));
    contents
}

/// Entries of a map by key, or of a list by their `name`.
fn named<'t, 'a>(node: &'t Node<'a>, key: &str) -> Contents<'t, 'a> {
    match &node.value {
        Value::Map(entries) => by_key(node.line, entries),
        Value::List(items) => by_name(items),
        Value::Null => Contents::default(),
        Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Odd(_) => {
            broken(node.line, format!("`{key}` must be an object of servers, not {}", node.kind()))
        }
    }
}

fn by_key<'t, 'a>(line: u32, entries: &'t [(Key<'a>, Node<'a>)]) -> Contents<'t, 'a> {
    let entries = entries
        .iter()
        .filter(|(key, _)| key.text != "$schema")
        .map(|(key, node)| Entry { name: Cow::Borrowed(key.text.as_ref()), line: key.line, node })
        .collect();
    Contents { map_line: Some(line), entries, problems: Vec::new() }
}

fn by_name<'t, 'a>(items: &'t [Node<'a>]) -> Contents<'t, 'a> {
    let mut contents = Contents::default();
    for (index, node) in items.iter().enumerate() {
        if let Some(name) = node.get("name").and_then(Node::text) {
            contents.entries.push(Entry { name: Cow::Borrowed(name), line: node.line, node });
        } else {
            let number = index + 1;
            let message = match (node.entries(), node.get("name")) {
                (None, _) => format!("item {number} of the list is {}, not a server", node.kind()),
                (Some(_), None) => format!("server {number} of the list has no `name`"),
                (Some(_), Some(name)) => {
                    format!("the `name` of server {number} is {}, not a string", name.kind())
                }
            };
            contents
                .problems
                .push((node.line, Problem::new(Code::WrongShape, message).hint("give it a `name`")));
        }
    }
    contents
}

fn broken<'t, 'a>(line: u32, message: String) -> Contents<'t, 'a> {
    let problem = Problem::new(Code::WrongShape, message).hint("see `switchboard schema` for the shape");
    Contents { problems: vec![(line, problem)], ..Contents::default() }
}

fn looks_like_a_server(node: &Node<'_>) -> bool {
    ["command", "url", "httpUrl", "serverUrl", "type"].iter().any(|field| node.get(field).is_some())
}

/// Keys that may stand alone in a file without any server.
fn is_beside_servers(key: &str) -> bool {
    matches!(key, "$schema" | "disabledServers" | "enabledServers" | "inputs" | "sandbox" | "mcp")
}

/// `mcp-servers`, `MCPServers`, `mcpServer` and the like.
fn is_near_mcp_servers(key: &str) -> bool {
    let letters: String = key.chars().filter(char::is_ascii_alphabetic).collect();
    matches!(
        letters.to_ascii_lowercase().trim_end_matches('s'),
        "mcpserver" | "server" | "mcp" | "contextserver"
    )
}

fn claude_project<'t, 'a>(root: &'t Node<'a>, dir: &Path) -> Option<&'t Node<'a>> {
    root.get("projects")?.get(dir.to_str()?)
}

/// The switches a tool keeps beside its servers, and what is wrong with them.
pub(super) fn switches(
    root: &Node<'_>,
    provider: Provider,
    container: &Container,
    problems: &mut Vec<(u32, Problem)>,
) -> Switches {
    let mut names = |key: &str, node: Option<&Node<'_>>| -> Option<Vec<String>> {
        let node = node.filter(|node| node.value != Value::Null)?;
        let items = node.items().unwrap_or_default();
        let names: Vec<_> = items.iter().filter_map(|item| item.text().map(str::to_owned)).collect();
        if node.items().is_none() || names.len() < items.len() {
            let message = format!("`{key}` must be a list of names, not {}", node.description());
            problems.push((node.line, Problem::new(Code::BadField, message)));
        }
        Some(names)
    };
    match (provider, container) {
        (Provider::Omp | Provider::Xcsh | Provider::Pisces | Provider::Native, _) => Switches {
            off: names("disabledServers", root.get("disabledServers")).unwrap_or_default(),
            on: names("enabledServers", root.get("enabledServers")).unwrap_or_default(),
            only: None,
        },
        (Provider::Gemini | Provider::Qwen, _) => Switches {
            off: names("mcp.excluded", root.at(&["mcp", "excluded"])).unwrap_or_default(),
            on: Vec::new(),
            only: names("mcp.allowed", root.at(&["mcp", "allowed"])),
        },
        (Provider::Claude, Container::ClaudeProject(dir)) => {
            let list = claude_project(root, dir).and_then(|project| project.get("disabledMcpServers"));
            Switches { off: names("disabledMcpServers", list).unwrap_or_default(), ..Switches::default() }
        }
        _ => Switches::default(),
    }
}

/// Keys beside the servers that mean something in their tool and nothing here.
const NOT_HONOURED: &[(Provider, &[&str], &str)] = &[
    (Provider::Gemini, &["mcp", "serverCommand"], "declare the command as a server"),
    (Provider::Qwen, &["mcp", "serverCommand"], "declare the command as a server"),
    (Provider::Zed, &["context_server_timeout"], "give each server its own `timeout`"),
    (Provider::Amp, &["amp.tools.disable"], "leave tools out with `tools.deny` in your own file"),
    (Provider::OpenCode, &["tools"], "leave tools out with `tools.deny` in your own file"),
    (Provider::VsCode, &["sandbox"], "servers are not run in a sandbox"),
];

/// A problem for each such key.
pub(super) fn not_honoured(root: &Node<'_>, provider: Provider) -> Vec<(u32, Problem)> {
    let keys = NOT_HONOURED.iter().filter(|(owner, ..)| *owner == provider);
    keys.filter_map(|(_, path, reason)| {
        let node = root.at(path)?;
        let message = format!("`{}` of {provider} has no effect here", path.join("."));
        Some((node.line, Problem::new(Code::UnsupportedField, message).hint(*reason)))
    })
    .collect()
}

/// A key that looks like a list of servers in a file that has none where they are expected.
pub(super) fn misplaced(root: &Node<'_>, expected: &str) -> Option<(u32, Problem)> {
    let (key, _) = root.entries()?.iter().find(|(key, node)| {
        is_near_mcp_servers(&key.text)
            && node.entries().is_some_and(|entries| entries.iter().any(|(_, node)| looks_like_a_server(node)))
    })?;
    let message = format!("`{}` is not read in this file", excerpt(&key.text, 60));
    Some((
        key.line,
        Problem::new(Code::NoServers, message).hint(format!("servers stand under `{expected}` here")),
    ))
}
