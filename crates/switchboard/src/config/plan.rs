//! Decides which definition of each server counts, and keeps the others with the reason why not.
//!
//! In: what was found, the settings, the approvals. Out: a [`Plan`]. A pure function of values: the order in which
//! files were read makes no difference.

use std::collections::BTreeMap;
use std::collections::hash_map::{Entry as Slot, HashMap};
use std::path::PathBuf;

use super::definition;
use super::filter::{self, Filter};
use super::settings::Settings;
use super::spec::{Connection, ServerSpec};
use super::trust::{self, Approvals, Consent};
use super::validate;
use crate::declared::{Declaration, Declared, Switch};
use crate::glob::matches_glob;
use crate::origin::{Origin, Scope};
use crate::problem::{Code, Problem};
use crate::provider::Provider;
use crate::sources::places::Project;
use crate::sources::{Found, Switches};
use crate::visible::{excerpt, shell_word};

/// What a host wants of discovery.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a wish of its own")]
pub struct Options {
    /// Leave out Exa servers: the host searches the web itself.
    pub filter_exa: bool,
    /// Leave out browser servers: the host has a browser of its own.
    pub filter_browser: bool,
    /// Approve everything for this run.
    pub trust_all: bool,
    /// Leave out what the project declares, whatever the settings say.
    pub ignore_project: bool,
}

/// One winner per name, the others beside it.
#[derive(Debug, Default)]
pub struct Plan {
    /// The servers that count, by name.
    pub servers: Vec<Server>,
    /// What does not count, by name and then by precedence.
    pub set_aside: Vec<SetAside>,
    /// What is worth knowing about both.
    pub problems: Vec<Problem>,
}

/// A server that counts.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Where its definition stands.
    pub origin: Origin,
    /// What it is, or why it is nothing.
    pub definition: Result<Box<ServerSpec>, String>,
    /// Whether it is switched on.
    pub switch: Switch,
    /// Whether its own tool has it switched on, whatever our user file says.
    pub switch_of_tool: Switch,
    /// Whether it may run.
    pub consent: Consent,
    /// Whether its entry says that nothing works without it; also of one that is nothing.
    pub required: bool,
}

/// The state of a server in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Ready to be connected to.
    Enabled,
    /// Switched off.
    Disabled,
    /// Waiting for consent.
    Untrusted,
    /// Not usable as declared.
    Invalid,
}

impl State {
    /// The word in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Untrusted => "untrusted",
            Self::Invalid => "invalid",
        }
    }
}

impl Server {
    /// Its state: what keeps it from being connected to, if anything.
    pub fn state(&self) -> State {
        match (&self.definition, self.switch, self.consent.is_given()) {
            (_, Switch::Off, _) => State::Disabled,
            (Err(_), Switch::On, _) => State::Invalid,
            (Ok(_), Switch::On, false) => State::Untrusted,
            (Ok(_), Switch::On, true) => State::Enabled,
        }
    }

    /// What an approval of it is bound to.
    pub fn definition_hash(&self, project: &Project) -> Option<String> {
        self.definition.as_ref().ok().map(|spec| definition::hash(spec, &self.origin, project))
    }
}

/// A declaration that does not count.
#[derive(Debug, Clone)]
pub struct SetAside {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub origin: Origin,
    /// What it declares, or why that is nothing.
    pub definition: Result<Box<ServerSpec>, String>,
    /// Why it does not count.
    pub because: Because,
}

impl SetAside {
    /// The same as a problem, for people.
    pub fn problem(&self) -> Problem {
        aside_problem(self).server(&self.name).origin(self.origin.clone())
    }
}

/// Why a declaration does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Because {
    /// Another definition of the same name counts more.
    Shadowed(Origin),
    /// The project's `mcp_servers` replaces the whole map of the user's file.
    Replaced(Origin),
    /// `SWITCHBOARD_MCP_SERVERS` replaces everything.
    Overridden,
    /// Another name has the same connection.
    Duplicate(String, Origin),
    /// A filter of the host.
    Filtered(Filter),
    /// Entries of projects are switched off.
    ProjectOff,
    /// Its provider is switched off.
    ProviderOff,
    /// Built-in servers are switched off.
    DefaultsOff,
    /// It is this program as a gateway, as another tool has it.
    Gateway,
}

impl Because {
    /// The word in reports.
    pub const fn state(&self) -> &'static str {
        match self {
            Self::Shadowed(_) | Self::Replaced(_) | Self::Overridden => "shadowed",
            Self::Duplicate(..) => "duplicate",
            Self::Filtered(_) | Self::ProjectOff | Self::ProviderOff | Self::DefaultsOff | Self::Gateway => {
                "filtered"
            }
        }
    }

    /// The definition that stands in its way.
    pub const fn by(&self) -> Option<&Origin> {
        match self {
            Self::Shadowed(origin) | Self::Replaced(origin) | Self::Duplicate(_, origin) => Some(origin),
            _ => None,
        }
    }
}

/// Everything a decision is made of.
#[derive(Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) approvals: &'a Approvals,
    pub(crate) options: Options,
    pub(crate) project: &'a Project,
    /// The files of other tools that have the gateway under this name, because we put it there.
    pub(crate) installed: (&'a str, &'a [PathBuf]),
}

/// Makes the plan.
pub(crate) fn plan(found: Found, inputs: &Inputs<'_>) -> Plan {
    let Found { mut declarations, switches, overridden, replacing, .. } = found;
    declarations.sort_by_key(|declaration| (declaration.origin.provider, declaration.rank));
    let mut plan = Plan::default();
    let rules = Rules::of(overridden, replacing, inputs);
    let winners = winners(&declarations, &rules);
    for (index, declaration) in declarations.into_iter().enumerate() {
        let Declaration { name, origin, switch: own, content, .. } = declaration;
        let switch_of_tool = switched_by_tool(&name, &origin, own, &switches);
        let ours =
            switches.get(&(Provider::Native, Scope::User)).and_then(|ours| says(ours, &name, Match::Exact));
        let switch = ours.unwrap_or(switch_of_tool);
        let required = content.as_ref().is_ok_and(|declared| declared.conduct.required);
        let definition = checked(&name, content);
        match &winners[index] {
            None => plan.servers.push(Server {
                name,
                origin,
                definition,
                switch,
                switch_of_tool,
                consent: Consent::Missing,
                required,
            }),
            Some(because) => {
                plan.set_aside.push(SetAside { name, origin, definition, because: because.clone() });
            }
        }
    }
    plan.filter(inputs.options);
    plan.ask_consent(inputs);
    plan.drop_duplicates();
    plan.servers.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    // Stable: inside a name the order of precedence stays.
    plan.set_aside.sort_by(|left, right| left.name.cmp(&right.name));
    plan.report();
    plan
}

/// For each declaration why it does not count; nothing for the first of its name that may count.
fn winners(declarations: &[Declaration], rules: &Rules<'_>) -> Vec<Option<Because>> {
    let mut by_name: HashMap<&str, &Origin> = HashMap::with_capacity(declarations.len());
    let because = declarations.iter().map(|Declaration { name, origin, content, .. }| {
        let is_gateway = || is_gateway_of(origin, content) || rules.is_installed(name, origin);
        let gateway = || is_gateway().then_some(Because::Gateway);
        rules.against(origin).or_else(gateway).or_else(|| match by_name.entry(name) {
            Slot::Occupied(winner) => Some(Because::Shadowed((*winner.get()).clone())),
            Slot::Vacant(slot) => {
                slot.insert(origin);
                None
            }
        })
    });
    because.collect()
}

/// Whether another tool's entry starts this program as a gateway. What the user wrote into our own files is meant.
fn is_gateway_of(origin: &Origin, content: &Result<Box<Declared>, String>) -> bool {
    is_theirs(origin) && content.as_ref().is_ok_and(|declared| declared.is_gateway())
}

fn is_theirs(origin: &Origin) -> bool {
    !origin.provider.is_ours() && origin.provider != Provider::Environment
}

/// What keeps whole groups of declarations out.
struct Rules<'a> {
    inputs: &'a Inputs<'a>,
    overridden: bool,
    /// The project's own map of servers in co-cli's shape, by provider.
    replacing: BTreeMap<Provider, Origin>,
}

impl<'a> Rules<'a> {
    fn of(overridden: bool, replacing: Vec<Origin>, inputs: &'a Inputs<'a>) -> Self {
        let mut rules = Self { inputs, overridden, replacing: BTreeMap::new() };
        for origin in replacing {
            // A map that does not count itself replaces nothing.
            if rules.against(&origin).is_none() {
                rules.replacing.insert(origin.provider, origin);
            }
        }
        rules
    }

    /// Whether it is the entry of the gateway that we put there, whatever it says: an address, or another program.
    fn is_installed(&self, name: &str, origin: &Origin) -> bool {
        let (own, files) = self.inputs.installed;
        let is_there = || files.iter().any(|file| origin.path.as_deref() == Some(file));
        name == own && is_theirs(origin) && is_there()
    }

    fn against(&self, origin: &Origin) -> Option<Because> {
        let Inputs { settings, options, .. } = self.inputs;
        if self.overridden && origin.provider != Provider::Environment {
            return Some(Because::Overridden);
        }
        if origin.provider == Provider::BuiltIn && !settings.defaults {
            return Some(Because::DefaultsOff);
        }
        if settings.disabled_providers.contains(&origin.provider) {
            return Some(Because::ProviderOff);
        }
        if origin.scope == Scope::Project && (!settings.enable_project_config || options.ignore_project) {
            return Some(Because::ProjectOff);
        }
        match self.replacing.get(&origin.provider) {
            Some(project) if origin.scope == Scope::User => Some(Because::Replaced(project.clone())),
            _ => None,
        }
    }
}

/// On or off by the tool's own word: what it says elsewhere, then the entry itself.
pub(crate) fn switched_by_tool(
    name: &str,
    origin: &Origin,
    own: Switch,
    switches: &BTreeMap<(Provider, Scope), Switches>,
) -> Switch {
    if switches.is_empty() {
        return own;
    }
    // omp and its forks honour their lists in the user's file only.
    let scopes: &[Scope] = match origin.provider {
        Provider::Native | Provider::Settings => &[],
        Provider::Omp | Provider::Xcsh | Provider::Pisces => &[Scope::User],
        _ => &[Scope::Project, Scope::User],
    };
    let matching = match origin.provider {
        Provider::Gemini | Provider::Qwen => Match::Glob,
        _ => Match::Exact,
    };
    let lists = scopes.iter().filter_map(|scope| switches.get(&(origin.provider, *scope)));
    lists.into_iter().find_map(|switches| says(switches, name, matching)).unwrap_or(own)
}

/// How the names in a list are meant.
#[derive(Clone, Copy)]
enum Match {
    Exact,
    Glob,
}

fn says(switches: &Switches, name: &str, matching: Match) -> Option<Switch> {
    let listed = |list: &[String]| {
        list.iter().any(|pattern| match matching {
            Match::Exact => pattern == name,
            Match::Glob => matches_glob(pattern, name),
        })
    };
    if listed(&switches.off) {
        Some(Switch::Off)
    } else if listed(&switches.on) {
        Some(Switch::On)
    } else if switches.only.as_ref().is_some_and(|only| !listed(only)) {
        Some(Switch::Off)
    } else {
        None
    }
}

fn checked(name: &str, content: Result<Box<Declared>, String>) -> Result<Box<ServerSpec>, String> {
    match content {
        Ok(declared) => validate::server(name, *declared).map(Box::new).map_err(|reasons| reasons.join("; ")),
        Err(reason) => Err(format!("Server \"{}\": {reason}", excerpt(name, 100))),
    }
}

impl Plan {
    fn filter(&mut self, options: Options) {
        let wanted = |server: &Server| match &server.definition {
            Ok(spec) if options.filter_exa && filter::is_exa(&server.name, spec) => Some(Filter::Exa),
            Ok(spec) if options.filter_browser && filter::is_browser(&server.name, spec) => {
                Some(Filter::Browser)
            }
            Ok(_) | Err(_) => None,
        };
        let servers = std::mem::take(&mut self.servers);
        for server in servers {
            match wanted(&server) {
                Some(filter) => self.put_aside(server, Because::Filtered(filter)),
                None => self.servers.push(server),
            }
        }
    }

    /// Of two names with one connection, the first counts. What is switched off neither makes nor is a duplicate.
    fn drop_duplicates(&mut self) {
        let mut first: HashMap<Connection<'_>, usize> = HashMap::with_capacity(self.servers.len());
        let mut duplicates: BTreeMap<usize, usize> = BTreeMap::new();
        // What the user agreed to comes first: a project must not put a trusted server aside.
        let mut order: Vec<usize> = (0..self.servers.len()).collect();
        order.sort_by_key(|index| !self.servers[*index].consent.is_given());
        for index in order {
            let server = &self.servers[index];
            let (Ok(spec), Switch::On) = (&server.definition, server.switch) else { continue };
            match first.entry(Connection::of(spec)) {
                Slot::Occupied(original) => drop(duplicates.insert(index, *original.get())),
                Slot::Vacant(slot) => drop(slot.insert(index)),
            }
        }
        drop(first);
        if duplicates.is_empty() {
            return;
        }
        let originals: BTreeMap<usize, Because> = duplicates
            .into_iter()
            .map(|(index, original)| {
                let original = &self.servers[original];
                (index, Because::Duplicate(original.name.clone(), original.origin.clone()))
            })
            .collect();
        for (index, server) in std::mem::take(&mut self.servers).into_iter().enumerate() {
            match originals.get(&index) {
                Some(because) => self.put_aside(server, because.clone()),
                None => self.servers.push(server),
            }
        }
    }

    fn put_aside(&mut self, server: Server, because: Because) {
        let Server { name, origin, definition, .. } = server;
        self.set_aside.push(SetAside { name, origin, definition, because });
    }

    fn ask_consent(&mut self, inputs: &Inputs<'_>) {
        for server in &mut self.servers {
            server.consent = match trust::by_origin(&server.origin, &server.name) {
                Some(consent) => consent,
                None if inputs.options.trust_all => Consent::ThisRun,
                None if inputs.approvals.is_empty() => Consent::Missing,
                None => match server.definition_hash(inputs.project) {
                    Some(hash) if inputs.approvals.contains(&hash) => Consent::Approved,
                    Some(_) | None => Consent::Missing,
                },
            };
        }
    }

    /// Nothing is set aside or waits without a word.
    fn report(&mut self) {
        for server in &self.servers {
            let problem = match (server.state(), &server.definition) {
                (State::Invalid, Err(reason)) => Problem::new(Code::InvalidServer, reason.clone())
                    .hint("mend the entry; the other servers are not affected"),
                (State::Untrusted, _) => {
                    let message = format!("`{}` waits for your approval", excerpt(&server.name, 60));
                    let hint = format!("switchboard trust {}", shell_word(&server.name));
                    Problem::new(Code::Untrusted, message).hint(hint)
                }
                _ => continue,
            };
            self.problems.push(problem.server(&server.name).origin(server.origin.clone()));
        }
        for aside in &self.set_aside {
            self.problems.push(aside.problem());
        }
    }
}

fn aside_problem(aside: &SetAside) -> Problem {
    let name = excerpt(&aside.name, 60);
    match &aside.because {
        Because::Shadowed(by) => Problem::new(
            Code::Shadowed,
            format!("`{name}` is defined by {} ({}), which counts more", by.provider, by.scope),
        ),
        Because::Replaced(_) => Problem::new(
            Code::Shadowed,
            format!("the project's `mcp_servers` replaces this whole map, `{name}` included"),
        ),
        Because::Overridden => {
            Problem::new(Code::Shadowed, format!("SWITCHBOARD_MCP_SERVERS replaces `{name}`"))
        }
        Because::Duplicate(of, _) => {
            let of = excerpt(of, 60);
            Problem::new(
                Code::DuplicateServer,
                format!("`{name}` is the same connection as `{of}`, which is used instead"),
            )
            .hint("remove one of them, or give them different variables or headers")
        }
        Because::Filtered(filter) => {
            Problem::new(Code::Filtered, format!("`{name}` is left out: {} are filtered", filter.as_str()))
        }
        Because::ProjectOff => Problem::new(
            Code::Filtered,
            format!("`{name}` is left out: entries of projects are switched off"),
        )
        .hint("set `enableProjectConfig` to true in your settings.json"),
        Because::ProviderOff => {
            let id = aside.origin.provider.id();
            Problem::new(Code::Filtered, format!("`{name}` is left out: the provider `{id}` is switched off"))
                .hint(format!("remove `{id}` from `providers.disabled` in your settings.json"))
        }
        Because::Gateway => Problem::new(
            Code::Filtered,
            format!("`{name}` is left out: it is this program itself, as a gateway"),
        ),
        Because::DefaultsOff => {
            Problem::new(Code::Filtered, format!("`{name}` is left out: built-in servers are switched off"))
        }
    }
}

#[cfg(test)]
mod tests;
