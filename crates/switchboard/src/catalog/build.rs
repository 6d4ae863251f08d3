//! From offers to the catalog. Pure: no server, no disk, no clock.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::builder::Checked;
use super::naming::{self, Raw};
use super::promise::Promise;
use crate::config::settings::NameStyle;
use crate::connect::{Freshness, Hints, Offer};
use crate::declared::Conduct;
use crate::glob::matches_glob;
use crate::json::Json;
use crate::offer::{Prompt, Resource, Template, Tool};
use crate::origin::Origin;
use crate::problem::{Code, Problem};
use crate::wire;

/// One server's contribution.
#[derive(Debug)]
pub struct Part<'a> {
    /// The server.
    pub server: &'a str,
    /// Where its definition stands.
    pub origin: &'a Origin,
    /// How to deal with it.
    pub conduct: &'a Conduct,
    /// What it offers.
    pub offer: &'a Arc<Offer>,
}

impl Part<'_> {
    /// What stands for the server in names.
    fn word(&self) -> &str {
        self.conduct.prefix.as_deref().unwrap_or(self.server)
    }
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The unique name.
    pub name: String,
    /// The server it belongs to.
    pub server: String,
    /// The tool, as the server has it.
    pub tool: Tool,
    /// The schema of its arguments, fit for a model.
    pub input_schema: Json,
    /// Where the server's definition stands.
    pub origin: Origin,
    /// Whether the server was just asked.
    pub freshness: Freshness,
    /// What it promises its structured result to be, if anything.
    pub promise: Option<Arc<Promise>>,
    /// What stands for the server in names.
    pub word: String,
}

/// Something of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Of<T> {
    /// The server.
    pub server: String,
    /// What it is.
    pub item: T,
}

/// The rule of a server that leaves a tool out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// What matches is not offered.
    Deny,
    /// Only what matches is offered.
    Allow,
}

impl Rule {
    /// The field it stands in.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "tools.deny",
            Self::Allow => "tools.allow",
        }
    }
}

/// A tool that the rules of its server leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Which tool of which server.
    pub raw: Raw,
    /// What leaves it out.
    pub by: Rule,
    /// What stands for the server in names.
    pub(super) word: String,
}

/// What all servers offer together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// The tools, by name.
    pub tools: Vec<Entry>,
    /// The resources, by server and address.
    pub resources: Vec<Of<Resource>>,
    /// The templates, by server.
    pub templates: Vec<Of<Template>>,
    /// The prompts, by server and name.
    pub prompts: Vec<Of<Prompt>>,
    /// How to use each server, in its own words: unverified.
    pub instructions: Vec<Of<String>>,
    /// How long the lists of each server may be kept.
    pub hints: Vec<Of<Hints>>,
    /// What was renamed, left out or repaired.
    pub problems: Vec<Problem>,
    /// Tools the rules leave out: no model sees them, and whoever names one is told why.
    pub(super) left_out: Vec<LeftOut>,
}

/// Builds the catalog. `checked` gives what was found out about the tools of a server, in the order they are listed.
pub(super) fn from_checked<'a>(
    parts: &[Part<'_>],
    style: NameStyle,
    checked: impl Fn(&str) -> &'a [Checked],
) -> Catalog {
    let mut parts: Vec<&Part<'_>> = parts.iter().collect();
    parts.sort_by_key(|part| part.server);
    let mut catalog = Catalog::default();
    let mut usable = Vec::new();
    for part in &parts {
        catalog.take_lists(part);
        usable.extend(catalog.usable_tools(part, checked(part.server)));
    }
    let raws: Vec<(Raw, &str)> = usable
        .iter()
        .map(|(part, tool, ..)| {
            let raw = Raw { server: part.server.to_owned(), tool: tool.name.clone() };
            (raw, part.word())
        })
        .collect();
    let (names, clashes) = naming::names(&raws, style);
    for clash in clashes {
        catalog.problems.push(clash_problem(&clash, &raws, &names));
    }
    for ((part, tool, input_schema, promise), name) in usable.into_iter().zip(names) {
        catalog.tools.push(Entry {
            name,
            server: part.server.to_owned(),
            promise,
            tool,
            input_schema,
            origin: part.origin.clone(),
            freshness: part.offer.freshness,
            word: part.word().to_owned(),
        });
    }
    catalog.tools.sort_by(|one, other| one.name.cmp(&other.name));
    catalog
}

/// A tool that may be offered: whose it is, its schema as models take it, and what it promises.
type Usable<'a> = (&'a Part<'a>, Tool, Json, Option<Arc<Promise>>);

impl Catalog {
    /// The tools that the rules of their servers leave out, by server, in the order they are listed.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The tools of a server that may be offered, each once.
    fn usable_tools<'a>(&mut self, part: &'a Part<'a>, checked: &[Checked]) -> Vec<Usable<'a>> {
        let mut seen = BTreeSet::new();
        let mut usable = Vec::new();
        for (tool, checked) in part.offer.tools.iter().zip(checked) {
            if let Some(by) = left_out_by(part.conduct, &tool.name) {
                let raw = Raw { server: part.server.to_owned(), tool: tool.name.clone() };
                self.left_out.push(LeftOut { raw, by, word: part.word().to_owned() });
                continue;
            }
            if !seen.insert(tool.name.clone()) {
                let message = format!("`{}` is listed twice; the first one counts", tool.name);
                self.problem(part, Code::ToolTwice, message);
                continue;
            }
            match &checked.schema {
                Ok(schema) => usable.push((part, tool.clone(), schema.clone(), checked.promise.clone())),
                Err(reason) => {
                    let message = format!("`{}` is not offered: {reason}", tool.name);
                    self.problem(part, Code::ToolQuarantined, message);
                }
            }
        }
        usable
    }

    fn take_lists(&mut self, part: &Part<'_>) {
        let offer = part.offer;
        let server = || part.server.to_owned();
        self.resources.extend(offer.resources.iter().cloned().map(|item| Of { server: server(), item }));
        self.templates.extend(offer.templates.iter().cloned().map(|item| Of { server: server(), item }));
        self.prompts.extend(offer.prompts.iter().cloned().map(|item| Of { server: server(), item }));
        self.hints.push(Of { server: server(), item: offer.hints });
        let instructions = offer.facts.instructions.clone().filter(|text| !text.trim().is_empty());
        if instructions.as_ref().is_some_and(|text| text.ends_with(wire::CUT)) {
            self.problem(part, Code::RepairedItem, "instructions: cut off after 4000 characters".to_owned());
        }
        self.instructions.extend(instructions.map(|item| Of { server: server(), item }));
        for (list, odd) in offer.odd.iter() {
            let name = odd.name.clone().unwrap_or_else(|| format!("item {}", odd.index + 1));
            self.problem(part, Code::OddItem, format!("{list}: `{name}` cannot be used: {}", odd.reason));
        }
        for (_, note) in offer.notes.iter() {
            self.problem(part, Code::RepairedItem, note.clone());
        }
    }

    fn problem(&mut self, part: &Part<'_>, code: Code, message: String) {
        self.problems.push(Problem::new(code, message).server(part.server).origin(part.origin.clone()));
    }
}

/// Whether the rules of the server let the tool through. What is denied stays denied.
pub(crate) fn is_allowed(conduct: &Conduct, tool: &str) -> bool {
    left_out_by(conduct, tool).is_none()
}

fn left_out_by(conduct: &Conduct, tool: &str) -> Option<Rule> {
    let rules = &conduct.tools;
    let matches = |patterns: &[String]| patterns.iter().any(|pattern| matches_glob(pattern, tool));
    if matches(&rules.deny) {
        return Some(Rule::Deny);
    }
    (!rules.allow.is_empty() && !matches(&rules.allow)).then_some(Rule::Allow)
}

fn clash_problem(clash: &[usize], raws: &[(Raw, &str)], names: &[String]) -> Problem {
    let tools: Vec<String> = clash
        .iter()
        .map(|index| format!("{}/{} is `{}`", raws[*index].0.server, raws[*index].0.tool, names[*index]))
        .collect();
    let message = format!("tools that would share a name are told apart: {}", tools.join(", "));
    Problem::new(Code::NameClash, message).hint("give one of the servers a `prefix` of its own")
}
