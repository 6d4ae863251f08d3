//! What clients see: every list, name by name and address by address, and the way back from a name to its server. Pure.
//!
//! Items are kept as the text that goes out, so that a list costs a client nothing but its bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::json;
use switchboard::catalog::{Catalog, Entry, naming};
use switchboard::config::settings::NameStyle;
use switchboard::digest;
use switchboard::json::Json;

/// How things are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Names {
    /// As in the catalog, with the server in the name.
    #[default]
    Prefixed,
    /// As their server calls them. For one server.
    Raw,
}

/// The lists of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum List {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl List {
    /// The field that holds it.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}

/// One item, as clients get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// What the list is ordered by; unique in it.
    pub(crate) key: String,
    pub(crate) json: Json,
}

/// What clients see.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) catalog: Arc<Catalog>,
    names: Names,
    /// What stands for each server in addresses.
    words: BTreeMap<String, String>,
    lists: [Vec<Listed>; 4],
    tools: HashMap<String, usize>,
    /// Prompts by name: the server and its own name for it.
    prompts: HashMap<String, (String, String)>,
    pub(crate) instructions: Option<String>,
}

impl View {
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        servers: &BTreeSet<String>,
        names: Names,
        style: NameStyle,
    ) -> Self {
        let words = words(servers);
        let mut view = Self { names, words, instructions: instructions(&catalog, names), ..Self::default() };
        for (index, entry) in catalog.tools.iter().enumerate() {
            let key = match names {
                Names::Prefixed => entry.name.clone(),
                Names::Raw => entry.tool.name.clone(),
            };
            if view.tools.insert(key.clone(), index).is_none() {
                let json = tool(entry, &key, names);
                view.lists[List::Tools as usize].push(Listed { key, json });
            }
        }
        view.take_prompts(&catalog, style);
        for of in &catalog.resources {
            let key = view.outward(&of.server, &of.item.uri);
            let json = of.item.raw.with("uri", json!(key).into());
            view.lists[List::Resources as usize].push(Listed { key, json });
        }
        for of in &catalog.templates {
            let key = view.outward(&of.server, &of.item.uri_template);
            let json = of.item.raw.with("uriTemplate", json!(key).into());
            view.lists[List::Templates as usize].push(Listed { key, json });
        }
        for list in &mut view.lists {
            list.sort_by(|one, another| one.key.cmp(&another.key));
            list.dedup_by(|one, another| one.key == another.key);
        }
        view.catalog = catalog;
        view
    }

    fn take_prompts(&mut self, catalog: &Catalog, style: NameStyle) {
        let raws: Vec<(naming::Raw, &str)> = catalog
            .prompts
            .iter()
            .map(|of| {
                let raw = naming::Raw { server: of.server.clone(), tool: of.item.name.clone() };
                (raw, of.server.as_str())
            })
            .collect();
        let (names, _) = naming::names(&raws, style);
        for (of, name) in catalog.prompts.iter().zip(names) {
            let key = match self.names {
                Names::Prefixed => name,
                Names::Raw => of.item.name.clone(),
            };
            let owner = (of.server.clone(), of.item.name.clone());
            if self.prompts.insert(key.clone(), owner).is_none() {
                let json = of.item.raw.with("name", json!(key).into());
                self.lists[List::Prompts as usize].push(Listed { key, json });
            }
        }
    }

    pub(crate) fn list(&self, list: List) -> &[Listed] {
        &self.lists[list as usize]
    }

    /// The tool a client means.
    pub(crate) fn tool(&self, name: &str) -> Option<&Entry> {
        self.tools.get(name).and_then(|index| self.catalog.tools.get(*index))
    }

    /// The server of a prompt, and its own name for it.
    pub(crate) fn prompt(&self, name: &str) -> Option<(&str, &str)> {
        self.prompts.get(name).map(|(server, prompt)| (server.as_str(), prompt.as_str()))
    }

    /// An address of a server, as clients see it.
    pub(crate) fn outward(&self, server: &str, uri: &str) -> String {
        match (self.names, self.words.get(server)) {
            (Names::Prefixed, Some(word)) => format!("{word}+{uri}"),
            (Names::Prefixed, None) | (Names::Raw, _) => uri.to_owned(),
        }
    }

    /// The server an address of ours leads to, and its own address for it.
    pub(crate) fn inward<'a>(&'a self, uri: &'a str) -> Option<(&'a str, &'a str)> {
        if self.names == Names::Raw {
            return self.words.keys().next().map(|server| (server.as_str(), uri));
        }
        let (word, rest) = uri.split_once('+')?;
        let (server, _) = self.words.iter().find(|(_, other)| *other == word)?;
        Some((server, rest))
    }

    /// Which lists differ from those of another time.
    pub(crate) fn changes(&self, before: &Self) -> BTreeSet<List> {
        let all = [List::Tools, List::Resources, List::Templates, List::Prompts];
        all.into_iter().filter(|list| self.list(*list) != before.list(*list)).collect()
    }
}

fn tool(entry: &Entry, name: &str, names: Names) -> Json {
    let mut json = entry.tool.raw.with("name", json!(name).into());
    if json.get("inputSchema").is_none_or(|schema| !schema.as_str().starts_with('{')) {
        json = json.with("inputSchema", entry.tool.input_schema.clone());
    }
    if names == Names::Raw {
        return json;
    }
    let meta = json.get("_meta").filter(|meta| meta.as_str().starts_with('{'));
    let meta = meta.unwrap_or_else(|| Json::object([]));
    let meta = meta.with("switchboard/server", json!(entry.server).into());
    json.with("_meta", meta.with("switchboard/tool", json!(entry.tool.name).into()))
}

/// The start of addresses, for each server: what may stand before the first colon of one, unique.
fn words(servers: &BTreeSet<String>) -> BTreeMap<String, String> {
    let plain: Vec<String> = servers.iter().map(|server| word(server)).collect();
    servers
        .iter()
        .zip(&plain)
        .map(|(server, word)| {
            let is_shared = plain.iter().filter(|other| *other == word).count() > 1;
            // Two names that look alike are told apart by what they are, so the order makes no difference.
            let hash = || digest::hex(server.as_bytes()).chars().take(8).collect::<String>();
            let word = if is_shared || word != server { format!("{word}-{}", hash()) } else { word.clone() };
            (server.clone(), word)
        })
        .collect()
}

/// Letters, digits, dots and dashes, a letter first.
fn word(server: &str) -> String {
    let keeps = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c.to_ascii_lowercase() } else { '-' }
    };
    let clean: String = server.chars().map(keeps).collect();
    if clean.starts_with(|c: char| c.is_ascii_lowercase()) { clean } else { format!("s-{clean}") }
}

/// How to use the servers, in their own words, each under its name.
fn instructions(catalog: &Catalog, names: Names) -> Option<String> {
    if names == Names::Raw {
        return catalog.instructions.first().map(|of| of.item.clone());
    }
    let parts: Vec<String> =
        catalog.instructions.iter().map(|of| format!("## {}\n\n{}", of.server, of.item)).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}
