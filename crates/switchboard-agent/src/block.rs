//! The tools as the model sees them. Pure: the same tools give the same bytes, whoever connected first, so that what a
//! provider keeps of a prompt stays good.
//!
//! All tools are sent, sorted by name, as long as they fit a budget of tokens. Above it only a search, the pinned ones,
//! and those the model has found or used, each appended where the last one ended: what was sent before stays the same.

use switchboard::catalog::{Catalog, Entry, search};
use switchboard::glob::matches_glob;
use switchboard::json::Json;

use crate::clean::{cap, clean, clean_schema};
use crate::model::ToolSpec;

/// The name of the search.
pub const SEARCH: &str = "search_tools";
/// The name of the tool that hands a task to another conversation.
pub const DELEGATE: &str = "delegate_task";
/// A description may be so long.
const LONGEST_DESCRIPTION: usize = 4_000;
/// Providers take no longer names.
pub const LONGEST_NAME: usize = 64;
/// Some providers take no more tools in one request.
const MOST_TOOLS: usize = 120;
/// So many are found by one search.
const MOST_FOUND: usize = 8;

/// Which tools are sent.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// So many tokens of tools; above that, a search.
    pub tokens: u64,
    /// Patterns of names that are always sent.
    pub pinned: Vec<String>,
    /// Whether tasks can be handed to another conversation.
    pub sub_agents: bool,
}

/// The tools as the model sees them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    /// In the order they are sent.
    pub tools: Vec<ToolSpec>,
    /// How many can only be found by the search.
    pub hidden: usize,
    /// About how many tokens they take.
    pub tokens: u64,
}

impl Block {
    /// Builds it. `found` are the names the model has found or used, in that order.
    pub fn build(catalog: &Catalog, rules: &Rules, found: &[String]) -> Self {
        let all: Vec<&Entry> =
            catalog.tools.iter().filter(|entry| entry.name.len() <= LONGEST_NAME).collect();
        let mut tools: Vec<ToolSpec> = Vec::new();
        if rules.sub_agents {
            tools.push(delegate_spec());
        }
        let whole: Vec<ToolSpec> = all.iter().map(|entry| spec(entry)).collect();
        let tokens: u64 = whole.iter().map(cost).sum();
        if tokens <= rules.tokens && whole.len() <= MOST_TOOLS {
            tools.extend(whole);
            return Self::of(tools, 0);
        }
        tools.push(search_spec());
        let is_pinned =
            |entry: &&&Entry| rules.pinned.iter().any(|pattern| matches_glob(pattern, &entry.name));
        let pinned: Vec<&Entry> = all.iter().filter(is_pinned).copied().collect();
        let later = found.iter().filter_map(|name| all.iter().find(|entry| entry.name == *name).copied());
        let mut sent: Vec<&Entry> = Vec::new();
        for entry in pinned.into_iter().chain(later) {
            if !sent.iter().any(|other| other.name == entry.name) && sent.len() < MOST_TOOLS {
                sent.push(entry);
            }
        }
        let hidden = all.len() - sent.len();
        tools.extend(sent.into_iter().map(spec));
        Self::of(tools, hidden)
    }

    fn of(tools: Vec<ToolSpec>, hidden: usize) -> Self {
        let tokens = tools.iter().map(cost).sum();
        Self { tools, hidden, tokens }
    }

    /// Whether there is more than what is sent.
    pub const fn has_search(&self) -> bool {
        self.hidden > 0
    }

    /// Whether a tool is sent.
    pub fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// As JSON: the bytes a provider keeps.
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.tools).unwrap_or_default()
    }
}

/// What the search finds: the names, and the text for the model.
pub fn find(catalog: &Catalog, query: &str) -> (Vec<String>, String) {
    let all: Vec<&Entry> = catalog.tools.iter().filter(|entry| entry.name.len() <= LONGEST_NAME).collect();
    let found = search(&all, query, MOST_FOUND);
    let names: Vec<String> = found.iter().map(|ranked| ranked.entry.name.clone()).collect();
    if names.is_empty() {
        let text =
            format!("None of the {} tools fits. Try other words: what it does, or on what.", all.len());
        return (names, text);
    }
    let line = |name: &String| {
        let entry = all.iter().find(|entry| entry.name == *name)?;
        let description = clean(entry.tool.description.as_deref().unwrap_or_default()).into_owned();
        let summary = cap(description.lines().next().unwrap_or_default(), 200).into_owned();
        Some(format!("- {name} (of {}): {summary}", clean(&entry.server)))
    };
    let lines: Vec<String> = names.iter().filter_map(line).collect();
    let n = all.len();
    let text = format!("These of {n} tools fit, and can be called from now on:\n{}", lines.join("\n"));
    (names, text)
}

/// A tool as the model sees it.
pub fn spec(entry: &Entry) -> ToolSpec {
    let title = entry.tool.title.as_deref().filter(|_| entry.tool.description.is_none());
    let words = entry.tool.description.as_deref().or(title).unwrap_or_default();
    ToolSpec {
        name: entry.name.clone(),
        description: cap(clean(words).trim(), LONGEST_DESCRIPTION).into_owned(),
        schema: clean_schema(&entry.input_schema),
    }
}

/// About how many tokens a tool takes.
pub fn cost(tool: &ToolSpec) -> u64 {
    tokens(tool.name.len() + tool.description.len() + tool.schema.len()) + 8
}

/// About how many tokens so many bytes are: four bytes each, which is near enough for words and JSON.
pub fn tokens(n_bytes: usize) -> u64 {
    u64::try_from(n_bytes.div_ceil(4)).unwrap_or(u64::MAX)
}

fn own(name: &str, description: &str, schema: &str) -> ToolSpec {
    let schema = Json::from_text(schema).unwrap_or(Json::null());
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema }
}

fn search_spec() -> ToolSpec {
    own(
        SEARCH,
        "Finds tools by what they do. There are more tools than are listed here: search before you say that something cannot \
         be done. Tools that are found can be called in your next step.",
        r#"{"type":"object","properties":{"query":{"type":"string","description":"A few words: what the tool does, and on what"}},"required":["query"]}"#,
    )
}

fn delegate_spec() -> ToolSpec {
    own(
        DELEGATE,
        "Hands a task to a helper with the same tools and a conversation of its own, and gives back its answer. The helper knows \
         nothing but the task: say everything it needs. `servers` limits it to the tools of these servers.",
        r#"{"type":"object","properties":{"task":{"type":"string"},"servers":{"type":"array","items":{"type":"string"}}},"required":["task"]}"#,
    )
}

#[cfg(test)]
pub(crate) mod sample {
    //! Tools without a server.

    use serde_json::{Map, Value, json};
    use switchboard::catalog::{Catalog, Entry};
    use switchboard::connect::Freshness;
    use switchboard::offer::{TaskSupport, Tool};
    use switchboard::{Origin, Provider, Scope};

    pub(crate) fn entry(server: &str, tool: &str, description: &str, keys: &[&str]) -> Entry {
        let properties: Map<String, Value> =
            keys.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
        let schema = json!({"type": "object", "properties": properties});
        Entry {
            name: format!("mcp_{server}_{tool}"),
            server: server.to_owned(),
            tool: Tool {
                name: tool.to_owned(),
                title: None,
                description: Some(description.to_owned()),
                input_schema: schema.clone().into(),
                output_schema: None,
                annotations: None,
                task_support: TaskSupport::Forbidden,
                raw: json!({}).into(),
            },
            input_schema: schema.into(),
            origin: Origin { provider: Provider::Native, scope: Scope::User, path: None, line: None },
            freshness: Freshness::Live,
            promise: None,
            word: server.to_owned(),
        }
    }

    pub(crate) fn catalog(tools: Vec<Entry>) -> Catalog {
        let mut catalog = Catalog::default();
        catalog.tools = tools;
        catalog.tools.sort_by(|one, other| one.name.cmp(&other.name));
        catalog
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::sample::{catalog, entry};
    use super::*;

    fn rules(tokens: u64, pinned: &[&str]) -> Rules {
        let pinned = pinned.iter().map(|pattern| (*pattern).to_owned()).collect();
        Rules { tokens, pinned, sub_agents: false }
    }

    fn names(block: &Block) -> Vec<&str> {
        block.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    fn many(n: usize) -> Catalog {
        catalog(
            (0..n).map(|i| entry("s", &format!("tool_{i:03}"), &format!("Does thing {i}"), &["a"])).collect(),
        )
    }

    #[test]
    fn what_fits_is_sent_whole_and_sorted() {
        let block = Block::build(&many(30), &rules(10_000, &[]), &["mcp_s_tool_020".to_owned()]);
        assert_eq!((block.tools.len(), block.hidden), (30, 0));
        assert!(names(&block).is_sorted());
    }

    #[test]
    fn above_the_budget_there_is_a_search() {
        let all = many(100);
        let empty = Block::build(&all, &rules(1_000, &[]), &[]);
        assert_eq!((names(&empty), empty.hidden), (vec![SEARCH], 100));
        let pinned = rules(1_000, &["*_09*"]);
        let before = Block::build(&all, &pinned, &[]);
        assert_eq!(before.tools.len(), 11);
        let (found, text) = find(&all, "thing 42");
        assert_eq!(found[0], "mcp_s_tool_042");
        assert!(text.contains("mcp_s_tool_042 (of s): Does thing 42"), "{text}");
        let after = Block::build(&all, &pinned, &found);
        assert!(
            after.bytes().starts_with(&before.bytes()[..before.bytes().len() - 1]),
            "what was sent stays the same"
        );
        assert!(after.has("mcp_s_tool_042") && after.has_search());
        assert!(find(&all, "weather").0.is_empty());
    }

    #[test]
    fn more_tools_than_a_provider_takes_are_too_many() {
        assert!(Block::build(&many(121), &rules(1_000_000, &[]), &[]).has_search());
        let everything = Block::build(&many(200), &rules(1, &["*"]), &[]);
        assert_eq!(everything.tools.len(), 1 + MOST_TOOLS);
    }

    #[test]
    fn what_a_server_says_is_cleaned_and_capped() {
        let long = format!("\u{e0041}Reads{}", "x".repeat(5_000));
        let told = spec(&entry("s", "t", &long, &[]));
        assert!(told.description.starts_with("Readsxx") && told.description.ends_with("[cut off]"));
        assert!(told.description.chars().count() < 4_020);
    }

    proptest! {
        #[test]
        fn the_same_tools_give_the_same_bytes(
            tools in prop::collection::btree_map("[a-z]{1,6}", ".{0,30}", 1..12),
            keys in prop::collection::vec(any::<u64>(), 12),
            budget in prop::sample::select(vec![0_u64, 100, 10_000]),
        ) {
            let build = |order: &[usize]| {
                let list: Vec<_> = tools.iter().collect();
                let entries = order.iter().map(|i| entry("s", list[*i].0, list[*i].1, &["k"])).collect();
                Block::build(&catalog(entries), &rules(budget, &["*a*"]), &[]).bytes()
            };
            let sorted: Vec<usize> = (0..tools.len()).collect();
            let mut shuffled = sorted.clone();
            shuffled.sort_by_key(|i| keys[*i]);
            prop_assert_eq!(build(&sorted), build(&shuffled));
        }
    }
}
