//! What clients see: every list, name by name and address by address, and the way back from a name to its server. Pure.
//!
//! Items are kept as the text that goes out, so that a list costs a client nothing but its bytes. Names and addresses are
//! made of everything there is, and only then narrowed: a thing is called the same whoever sees it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use switchboard::catalog::{Catalog, Entry, Of, naming};
use switchboard::config::settings::{NameStyle, Profile};
use switchboard::digest;
use switchboard::json::Json;

use crate::hint::{self, Audience, Hint};
use crate::instructions;
use crate::pages::{Listed, Page, Pages};
use crate::search;

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
    const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

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

/// What there is, before anybody looks at it.
#[derive(Debug, Clone)]
pub(crate) struct Everything {
    pub(crate) catalog: Arc<Catalog>,
    /// Every server, also those that offer nothing.
    pub(crate) servers: BTreeSet<String>,
    /// Tools no rule lets anybody call, by their names in the catalog.
    pub(crate) denied: BTreeSet<String>,
    pub(crate) names: Names,
    pub(crate) style: NameStyle,
}

/// Who looks at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Eyes<'a> {
    /// What narrows it; none sees all.
    pub(crate) profile: Option<&'a Profile>,
    /// Whether there is a search instead of all tools.
    pub(crate) search: bool,
    /// Whether another client may see something else at the same place.
    pub(crate) audience: Audience,
}

impl Eyes<'_> {
    fn sees_server(&self, server: &str) -> bool {
        self.profile.is_none_or(|profile| profile.sees_server(server))
    }

    fn sees_tool(&self, entry: &Entry) -> bool {
        self.profile.is_none_or(|profile| profile.sees_tool(&entry.server, &entry.tool.name, &entry.name))
    }
}

/// A tool of a catalog, which stays as long as it is held.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    catalog: Arc<Catalog>,
    /// There is one at this place.
    index: usize,
}

impl std::ops::Deref for Held {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.catalog.tools[self.index]
    }
}

/// What clients see.
#[derive(Debug, Default)]
pub(crate) struct View {
    catalog: Arc<Catalog>,
    names: Names,
    /// What stands for each server in addresses, whoever sees it.
    words: BTreeMap<String, String>,
    /// The servers that are seen.
    servers: BTreeSet<String>,
    lists: [Pages; 4],
    tools: BTreeMap<String, usize>,
    tool_names: Arc<Vec<String>>,
    /// Prompts by name: the server and its own name for it.
    prompts: HashMap<String, (String, String)>,
    /// The words of the servers that are seen.
    pub(crate) instructions: String,
    pub(crate) search: bool,
    audience: Option<Audience>,
}

impl View {
    pub(crate) fn new(all: &Everything, eyes: Eyes<'_>) -> Self {
        let catalog = &all.catalog;
        let servers = all.servers.iter().filter(|server| eyes.sees_server(server)).cloned().collect();
        let mut view = Self {
            names: all.names,
            words: words(&all.servers),
            servers,
            instructions: all.instructions(eyes),
            search: eyes.search,
            audience: Some(eyes.audience),
            catalog: Arc::clone(catalog),
            ..Self::default()
        };
        let resources = catalog.resources.iter().filter(|of| eyes.sees_server(&of.server)).map(|of| {
            let key = view.outward(&of.server, &of.item.uri);
            let json = of.item.raw.with("uri", json!(key).into());
            Listed { key, json }
        });
        let resources = resources.collect();
        let templates = catalog.templates.iter().filter(|of| eyes.sees_server(&of.server)).map(|of| {
            let key = view.outward(&of.server, &of.item.uri_template);
            let json = of.item.raw.with("uriTemplate", json!(key).into());
            Listed { key, json }
        });
        let templates = templates.collect();
        let tools = view.take_tools(all, eyes);
        let prompts = view.take_prompts(all.style, eyes);
        view.lists = [
            Pages::new(List::Tools.field(), tools),
            Pages::new(List::Resources.field(), resources),
            Pages::new(List::Templates.field(), templates),
            Pages::new(List::Prompts.field(), prompts),
        ];
        view
    }

    fn take_tools(&mut self, all: &Everything, eyes: Eyes<'_>) -> Vec<Listed> {
        let catalog = Arc::clone(&self.catalog);
        let seen = |entry: &Entry| eyes.sees_tool(entry) && !all.denied.contains(&entry.name);
        for (index, entry) in catalog.tools.iter().enumerate().filter(|(_, entry)| seen(entry)) {
            let name = match self.names {
                Names::Prefixed => &entry.name,
                Names::Raw => &entry.tool.name,
            };
            self.tools.entry(name.clone()).or_insert(index);
        }
        self.tool_names = Arc::new(self.tools.keys().cloned().collect());
        if self.search {
            return search::tools();
        }
        let listed = |(name, entry): (&str, &Entry)| Listed {
            key: name.to_owned(),
            json: self.definition(name, entry),
        };
        self.seen().map(listed).collect()
    }

    fn take_prompts(&mut self, style: NameStyle, eyes: Eyes<'_>) -> Vec<Listed> {
        let catalog = Arc::clone(&self.catalog);
        let raws: Vec<(naming::Raw, &str)> = catalog
            .prompts
            .iter()
            .map(|of| {
                let raw = naming::Raw { server: of.server.clone(), tool: of.item.name.clone() };
                (raw, of.server.as_str())
            })
            .collect();
        let (names, _) = naming::names(&raws, style);
        let mut listed = Vec::new();
        for (of, name) in catalog.prompts.iter().zip(names).filter(|(of, _)| eyes.sees_server(&of.server)) {
            let key = match self.names {
                Names::Prefixed => name,
                Names::Raw => of.item.name.clone(),
            };
            let owner = (of.server.clone(), of.item.name.clone());
            if self.prompts.insert(key.clone(), owner).is_none() {
                let json = of.item.raw.with("name", json!(key).into());
                listed.push(Listed { key, json });
            }
        }
        listed
    }

    /// A page of a list: the first one, or that after a cursor. None if the cursor is none of ours.
    pub(crate) fn page(&self, list: List, cursor: Option<&str>) -> Option<Page> {
        self.lists[list as usize].page(cursor)
    }

    /// How long a list may be kept, and whether others may have it.
    pub(crate) fn hint(&self, list: List, now: Instant) -> Hint {
        if self.search && list == List::Tools {
            return Hint::OWN;
        }
        let parts = self.catalog.hints.iter().filter(|of| self.sees(&of.server));
        let parts = parts.map(|of| hint::of(&of.item, list));
        hint::together(parts, self.audience.unwrap_or(Audience::WhoAsked), now)
    }

    /// Whether anything of a server is seen.
    pub(crate) fn sees(&self, server: &str) -> bool {
        self.servers.contains(server)
    }

    /// The tools that can be called, by name.
    pub(crate) fn seen(&self) -> impl Iterator<Item = (&str, &Entry)> {
        let entry = |index: &usize| self.catalog.tools.get(*index);
        self.tools.iter().filter_map(move |(name, index)| Some((name.as_str(), entry(index)?)))
    }

    /// Their names, in order.
    pub(crate) fn names(&self) -> Arc<Vec<String>> {
        Arc::clone(&self.tool_names)
    }

    /// The tool a client means.
    pub(crate) fn tool(&self, name: &str) -> Option<&Entry> {
        self.tools.get(name).and_then(|index| self.catalog.tools.get(*index))
    }

    /// The same, to be kept: a definition is long, and is not copied for each call.
    pub(crate) fn held(&self, name: &str) -> Option<Held> {
        let index = *self.tools.get(name)?;
        self.catalog.tools.get(index)?;
        Some(Held { catalog: Arc::clone(&self.catalog), index })
    }

    /// All about a tool, as clients get it.
    pub(crate) fn definition(&self, name: &str, entry: &Entry) -> Json {
        tool(entry, name, self.names)
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

    /// The server an address of ours leads to, and its own address for it, if the server is seen.
    pub(crate) fn inward<'a>(&'a self, uri: &'a str) -> Option<(&'a str, &'a str)> {
        if self.names == Names::Raw {
            return self.servers.iter().next().map(|server| (server.as_str(), uri));
        }
        let (word, rest) = uri.split_once('+')?;
        let (server, _) = self.words.iter().find(|(_, other)| *other == word)?;
        self.sees(server).then_some((server, rest))
    }

    /// Whether addresses are made as at another time.
    pub(crate) fn has_words_of(&self, other: &Self) -> bool {
        self.words == other.words
    }

    /// Which lists differ from those of another time.
    pub(crate) fn changes(&self, before: &Self) -> BTreeSet<List> {
        let is_another = |list: &List| {
            let place = *list as usize;
            self.lists[place].items() != before.lists[place].items()
        };
        List::ALL.into_iter().filter(is_another).collect()
    }
}

impl Everything {
    /// How to use the servers that are seen, in their own words.
    fn instructions(&self, eyes: Eyes<'_>) -> String {
        let seen = self.catalog.instructions.iter().filter(|of| eyes.sees_server(&of.server));
        let parts: Vec<&Of<String>> = seen.collect();
        match self.names {
            Names::Raw => parts.first().map(|of| of.item.clone()).unwrap_or_default(),
            Names::Prefixed => instructions::merged(&parts),
        }
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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use proptest::prelude::*;
    use switchboard::connect::Freshness;
    use switchboard::offer::{Prompt, Resource, Tool, page};
    use switchboard::{Origin, Provider, Scope};

    use super::*;

    fn entry(server: &str, name: &str, freshness: Freshness) -> Entry {
        let listed = json!({"tools": [{"name": name, "inputSchema": {"type": "object"}}]});
        let tool = page::<Tool>(&listed.into()).unwrap().items.remove(0);
        Entry {
            name: format!("mcp_{server}_{name}"),
            server: server.to_owned(),
            input_schema: tool.input_schema.clone(),
            tool,
            origin: Origin { provider: Provider::Native, scope: Scope::User, path: None, line: None },
            freshness,
            promise: None,
            word: server.to_owned(),
        }
    }

    /// Each of these is a tool, a resource and a prompt, in this order.
    fn everything(things: &[(String, String)], freshness: Freshness) -> Everything {
        let mut catalog = Catalog::default();
        for (server, name) in things {
            let resources = json!({"resources": [{"uri": format!("x:{name}"), "name": name}]});
            let prompts = json!({"prompts": [{"name": name}]});
            let server = || server.clone();
            catalog.tools.push(entry(&server(), name, freshness));
            let item = page::<Resource>(&resources.into()).unwrap().items.remove(0);
            catalog.resources.push(Of { server: server(), item });
            let item = page::<Prompt>(&prompts.into()).unwrap().items.remove(0);
            catalog.prompts.push(Of { server: server(), item });
        }
        Everything {
            catalog: Arc::new(catalog),
            servers: ["a", "b", "c"].map(str::to_owned).into(),
            denied: BTreeSet::new(),
            names: Names::Prefixed,
            style: NameStyle::Standard,
        }
    }

    fn eyes(profile: Option<&Profile>, search: bool) -> Eyes<'_> {
        Eyes { profile, search, audience: Audience::Everybody }
    }

    fn bytes(view: &View) -> Vec<Page> {
        List::ALL.into_iter().filter_map(|list| view.page(list, None)).collect()
    }

    fn profile(servers: &[&str], deny: &[&str]) -> Profile {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Profile { servers: Some(owned(servers)), deny: owned(deny), ..Profile::default() }
    }

    proptest! {
        #[test]
        fn the_same_content_gives_the_same_bytes_whoever_came_first(
            things in prop::collection::btree_set(("[abc]", "[a-z]{1,4}"), 0..30),
            keys in prop::collection::vec(any::<u64>(), 30),
        ) {
            let sorted: Vec<(String, String)> = things.into_iter().collect();
            let mut order: Vec<usize> = (0..sorted.len()).collect();
            order.sort_by_key(|index| keys[*index]);
            let shuffled: Vec<_> = order.iter().map(|index| sorted[*index].clone()).collect();
            let before = Freshness::Cached { at: SystemTime::UNIX_EPOCH };
            let one = View::new(&everything(&sorted, Freshness::Live), eyes(None, false));
            let two = View::new(&everything(&shuffled, before), eyes(None, false));
            prop_assert_eq!(bytes(&one), bytes(&two));
            prop_assert!(one.changes(&two).is_empty());
        }

        #[test]
        fn a_facet_is_a_part_under_the_same_names(
            things in prop::collection::btree_set(("[abc]", "[a-z]{1,2}"), 0..30),
            server in "[abc*]",
            denied in "[a-z*]",
        ) {
            let things: Vec<(String, String)> = things.into_iter().collect();
            let all = everything(&things, Freshness::Live);
            let narrow = profile(&[&server], &[&denied]);
            let (whole, part) = (View::new(&all, eyes(None, false)), View::new(&all, eyes(Some(&narrow), false)));
            for list in List::ALL {
                let whole: Vec<Json> = whole.page(list, None).unwrap().items.items().unwrap();
                let part: Vec<Json> = part.page(list, None).unwrap().items.items().unwrap();
                prop_assert!(part.iter().all(|item| whole.contains(item)));
            }
            for (name, entry) in whole.seen() {
                let is_seen = narrow.sees_tool(&entry.server, &entry.tool.name, &entry.name);
                prop_assert_eq!(part.tool(name).is_some(), is_seen);
            }
            for (server, name) in &things {
                let uri = whole.outward(server, name);
                prop_assert_eq!(part.outward(server, name), uri.clone());
                prop_assert_eq!(part.inward(&uri).is_some(), narrow.sees_server(server));
            }
        }
    }

    #[test]
    fn with_a_search_the_list_of_tools_never_changes() {
        let thing = |name: &str| ("a".to_owned(), name.to_owned());
        let one = View::new(&everything(&[thing("x")], Freshness::Live), eyes(None, true));
        let two = View::new(&everything(&[thing("y")], Freshness::Live), eyes(None, true));
        assert_eq!(one.page(List::Tools, None), two.page(List::Tools, None));
        assert!(!one.changes(&two).contains(&List::Tools));
        assert!(one.tool("mcp_a_x").is_some() && one.tool("mcp_a_y").is_none());
    }

    #[test]
    fn what_rules_deny_is_not_seen() {
        let mut all = everything(&[("a".to_owned(), "x".to_owned())], Freshness::Live);
        all.denied = ["mcp_a_x".to_owned()].into();
        let view = View::new(&all, eyes(None, false));
        assert!(view.tool("mcp_a_x").is_none() && view.names().is_empty());
    }
}
