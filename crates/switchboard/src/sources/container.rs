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
        Container::Below(paths) => match paths.iter().find_map(|path| root.at(path)) {
            Some(node) => named(node, paths[0].last().unwrap_or(&"")),
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

fn whole<'t, 'a>(root: &'t Node<'a>) -> Contents<'t, 'a> {
    for path in KEYS {
        if let Some(node) = root.at(path) {
            return named(node, path.last().unwrap_or(&""));
        }
    }
    let Some(entries) = root.entries() else { return named(root, "") };
    if entries.is_empty() {
        return Contents::default();
    }
    if entries.iter().any(|(_, node)| looks_like_a_server(node)) {
        return bare(root.line, entries);
    }
    if entries.iter().all(|(key, _)| is_beside_servers(&key.text)) {
        return Contents::default();
    }
    let near = entries.iter().find(|(key, _)| is_near_mcp_servers(&key.text));
    let problem = Problem::new(Code::NoServers, "there is no `mcpServers` in the file");
    let (line, problem) = match near {
        Some((key, _)) => {
            let hint = format!("`{}` is not read: rename it to `mcpServers`", excerpt(&key.text, 60));
            (key.line, problem.hint(hint))
        }
        None => (root.line, problem.hint("put the servers into an object called `mcpServers`")),
    };
    Contents { problems: vec![(line, problem)], ..Contents::default() }
}

/// A map of servers with nothing around it; what is not an object in it is no server.
fn bare<'t, 'a>(line: u32, entries: &'t [(Key<'a>, Node<'a>)]) -> Contents<'t, 'a> {
    let mut contents = by_key(line, entries);
    contents.entries.retain(|entry| entry.node.entries().is_some());
    let others = entries.iter().filter(|(key, node)| key.text != "$schema" && node.entries().is_none());
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
        Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
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
        match node.get("name").and_then(Node::text) {
            Some(name) => {
                contents.entries.push(Entry { name: Cow::Borrowed(name), line: node.line, node });
            }
            None => contents.problems.push((
                node.line,
                Problem::new(Code::WrongShape, format!("server {} of the list has no `name`", index + 1))
                    .hint("give it a `name`"),
            )),
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

/// The switches a tool keeps beside its servers.
pub(super) fn switches(root: &Node<'_>, provider: Provider, container: &Container) -> Switches {
    let names = |node: Option<&Node<'_>>| node.and_then(Node::texts).unwrap_or_default();
    match (provider, container) {
        (Provider::Omp | Provider::Xcsh | Provider::Pisces | Provider::Native, _) => Switches {
            off: names(root.get("disabledServers")),
            on: names(root.get("enabledServers")),
            only: None,
        },
        (Provider::Gemini | Provider::Qwen, _) => Switches {
            off: names(root.at(&["mcp", "excluded"])),
            on: Vec::new(),
            only: root.at(&["mcp", "allowed"]).and_then(Node::texts),
        },
        (Provider::Claude, Container::ClaudeProject(dir)) => Switches {
            off: names(claude_project(root, dir).and_then(|project| project.get("disabledMcpServers"))),
            ..Switches::default()
        },
        _ => Switches::default(),
    }
}
