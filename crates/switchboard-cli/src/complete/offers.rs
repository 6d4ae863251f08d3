//! What could stand at each place of the command line: names of servers, tools, resources, prompts, and arguments.

use std::ffi::OsStr;
use std::sync::Arc;

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use serde_json::Value;
use switchboard::catalog::{Catalog, Entry, Of};
use switchboard::declared::Switch;
use switchboard::offer::Prompt;
use switchboard::{
    Consent, Discovery, Env, Options, Provider, Server, ServerSpec, State, Transport, discover, session,
};

use super::line::Typed;
use super::schema;
use crate::commands;

/// What stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Servers(Which),
    Provider,
    /// A tool whose file can get the gateway.
    Installable,
    /// A tool whose file has it.
    Installed,
    /// A profile of the gateway.
    Profile,
    Tool,
    ToolOrServer,
    ToolArgument,
    JsonArguments,
    Resource,
    Prompt,
    PromptArgument,
}

/// Which servers make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Also those of which no definition counts.
    Mentioned,
    Any,
    Connectable,
    /// Those one could log in to.
    Remote,
    Waiting,
    Approved,
    On,
    Off,
    Ours,
    Foreign,
}

/// What stands at an argument of a command.
fn place(verb: &str, argument: &str) -> Option<Place> {
    Some(match (verb, argument) {
        ("why", "name") => Place::Servers(Which::Mentioned),
        ("status", "names") => Place::Servers(Which::Any),
        ("tools" | "resources" | "prompts", "servers")
        | ("test" | "reconnect" | "logs", "name")
        | ("call" | "read" | "prompt", "server")
        | ("chat" | "serve", "only") => Place::Servers(Which::Connectable),
        ("reauth" | "unauth", "name") => Place::Servers(Which::Remote),
        ("trust", "names") => Place::Servers(Which::Waiting),
        ("untrust", "names") => Place::Servers(Which::Approved),
        ("enable", "name") => Place::Servers(Which::Off),
        ("disable", "name") => Place::Servers(Which::On),
        ("remove", "name") => Place::Servers(Which::Ours),
        ("import", "names") => Place::Servers(Which::Foreign),
        ("trust", "source") | ("import", "from") => Place::Provider,
        ("install", "tools") => Place::Installable,
        ("uninstall", "tools") => Place::Installed,
        ("serve", "profile") => Place::Profile,
        ("call", "tool") | ("tools", "words") => Place::Tool,
        ("approve", "target") => Place::ToolOrServer,
        ("call", "arguments") => Place::ToolArgument,
        ("call", "args") => Place::JsonArguments,
        ("read", "uri") => Place::Resource,
        ("prompt", "name") => Place::Prompt,
        ("prompt", "arguments") => Place::PromptArgument,
        _ => return None,
    })
}

/// What is asked about, and where to look.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) typed: Typed,
    pub(crate) known: Known,
}

/// Where it is known from what there is.
#[derive(Debug)]
pub(crate) enum Known {
    /// Files, and what servers offered last time.
    OnDisk,
    /// A session that runs.
    Live(Live),
}

/// What a session knows right now.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) env: Env,
    pub(crate) discovery: Arc<Discovery>,
    pub(crate) catalog: Arc<Catalog>,
}

impl Asked {
    /// Where nothing can be known, nothing is offered.
    fn env(&self) -> Option<Env> {
        match &self.known {
            Known::OnDisk => commands::env(self.typed.directory.as_deref()).ok(),
            Known::Live(live) => Some(live.env.clone()),
        }
    }

    fn discovery(&self, env: &Env) -> Arc<Discovery> {
        match &self.known {
            Known::OnDisk => {
                Arc::new(discover(env, Options { trust_all: self.typed.trust, ..Options::default() }))
            }
            Known::Live(live) => Arc::clone(&live.discovery),
        }
    }

    /// What servers offer. Nobody is asked.
    fn catalog(&self, env: &Env) -> Arc<Catalog> {
        let Known::OnDisk = &self.known else {
            let Known::Live(live) = &self.known else { return Arc::default() };
            return Arc::clone(&live.catalog);
        };
        let mut options = session::Options::headless(env.clone());
        options.discovery = Options { trust_all: self.typed.trust, ..Options::default() };
        options.own_program = std::env::current_exe().ok();
        options.only = self.typed.server.clone().map(|server| [server].into());
        Arc::new(session::cached(&options).1)
    }
}

/// The command line with something to offer at its places.
pub(crate) fn attach(command: Command, asked: &Arc<Asked>) -> Command {
    command.mut_subcommands(|verb| {
        let name = verb.get_name().to_owned();
        attach_verb(verb, &name, asked)
    })
}

/// One verb with something to offer at its places.
pub(crate) fn attach_verb(verb: Command, name: &str, asked: &Arc<Asked>) -> Command {
    verb.mut_args(|argument| match place(name, argument.get_id().as_str()) {
        None => argument,
        Some(place) => {
            let asked = Arc::clone(asked);
            let offer = move |word: &OsStr| offer(place, &asked, &word.to_string_lossy());
            argument.add(ArgValueCompleter::new(offer))
        }
    })
}

fn offer(place: Place, asked: &Asked, word: &str) -> Vec<CompletionCandidate> {
    let Some(env) = asked.env() else { return Vec::new() };
    let typed = &asked.typed;
    let offered = match place {
        Place::Servers(which) => servers(which, typed, &asked.discovery(&env)),
        Place::Provider => {
            Provider::all().map(|provider| Offer::new(provider.id(), provider.label())).collect()
        }
        Place::Installable => with_all(switchboard::install::tools()),
        Place::Installed => {
            let records = switchboard::install::records(&env);
            with_all(records.iter().filter_map(|record| Provider::from_id(&record.tool)))
        }
        Place::Profile => profiles(&asked.discovery(&env)),
        Place::Tool => tools(&asked.catalog(&env), typed, word),
        Place::ToolOrServer => {
            let mut offers = servers(Which::Connectable, typed, &asked.discovery(&env));
            offers.extend(tools(&asked.catalog(&env), typed, &format!("{word}/")));
            offers
        }
        Place::ToolArgument => return tool_arguments(&asked.catalog(&env), typed, word, &env),
        Place::JsonArguments => return files(word, "@", &env),
        Place::Resource => resources(&asked.catalog(&env), typed),
        Place::Prompt => prompts(&asked.catalog(&env), typed),
        Place::PromptArgument => prompt_arguments(&asked.catalog(&env), typed),
    };
    // A name that looks like an option would be taken for one.
    let fits = |offer: &Offer| offer.value.starts_with(word) && !offer.value.starts_with('-');
    let found: Vec<CompletionCandidate> = offered.into_iter().filter(fits).map(Offer::candidate).collect();
    match (&asked.known, place) {
        (Known::Live(live), Place::Tool) if found.is_empty() => with_inside(&live.catalog, typed, word),
        _ => found,
    }
}

fn with_all(tools: impl Iterator<Item = Provider>) -> Vec<Offer> {
    let mut offers = vec![Offer::new("all", "every one of them")];
    offers.extend(tools.map(|tool| Offer::new(tool.id(), tool.label())));
    offers
}

fn profiles(discovery: &Discovery) -> Vec<Offer> {
    let profiles = discovery.settings.gateway.profiles.iter();
    profiles.map(|profile| Offer::new(&profile.name, "a profile of your settings")).collect()
}

/// Tools with this somewhere in their names. Only in a session: shells drop what does not begin with what is typed.
fn with_inside(catalog: &Catalog, typed: &Typed, word: &str) -> Vec<CompletionCandidate> {
    let word = word.to_lowercase();
    let all = tools(catalog, typed, "").into_iter();
    all.filter(|offer| offer.value.to_lowercase().contains(&word)).map(Offer::candidate).collect()
}

/// Something that could be typed.
struct Offer {
    value: String,
    help: String,
}

impl Offer {
    fn new(value: impl Into<String>, help: impl Into<String>) -> Self {
        Self { value: value.into(), help: help.into() }
    }

    fn candidate(self) -> CompletionCandidate {
        CompletionCandidate::new(self.value).help(Some(self.help.into()))
    }
}

fn servers(which: Which, typed: &Typed, discovery: &Discovery) -> Vec<Offer> {
    let is_new =
        |name: &str| typed.subject.as_deref() != Some(name) && !typed.given.iter().any(|given| given == name);
    let fits = |server: &&Server| is_meant(which, server) && is_new(&server.name);
    let counting = discovery.servers.iter().filter(fits);
    let mut offers: Vec<Offer> =
        counting.map(|server| Offer::new(&server.name, server.origin.provider.label())).collect();
    offers.extend(aside(which, discovery).into_iter().filter(|offer| is_new(&offer.value)));
    offers
}

fn is_meant(which: Which, server: &Server) -> bool {
    match which {
        Which::Mentioned | Which::Any => true,
        Which::Connectable => server.state() == State::Enabled,
        Which::Remote => {
            let is_remote = |spec: &ServerSpec| matches!(spec.transport, Transport::Remote(_));
            server.state() == State::Enabled && server.definition.as_deref().is_ok_and(is_remote)
        }
        Which::Waiting => server.state() == State::Untrusted,
        Which::Approved => server.consent == Consent::Approved,
        Which::On => server.switch == Switch::On,
        Which::Off => server.switch == Switch::Off,
        Which::Ours => server.origin.provider.is_ours(),
        Which::Foreign => !server.origin.provider.is_ours() && server.origin.path.is_some(),
    }
}

/// Names of which no definition counts, but which can be explained all the same.
fn aside(which: Which, discovery: &Discovery) -> Vec<Offer> {
    if which != Which::Mentioned {
        return Vec::new();
    }
    let nowhere_else = discovery.shadowed.iter().filter(|aside| discovery.server(&aside.name).is_none());
    let mut offers: Vec<Offer> =
        nowhere_else.map(|aside| Offer::new(&aside.name, aside.because.state())).collect();
    offers.dedup_by(|one, other| one.value == other.value);
    offers
}

/// Tools by name; by server and tool, or by the tool alone, for those who begin so.
fn tools(catalog: &Catalog, typed: &Typed, word: &str) -> Vec<Offer> {
    let entries = catalog
        .tools
        .iter()
        .filter(|entry| typed.server.as_ref().is_none_or(|server| *server == entry.server));
    let is_name = catalog.tools.iter().any(|entry| entry.name.starts_with(word));
    let whole = |entry: &Entry| format!("{}/{}", entry.server, entry.tool.name);
    let is_whole = catalog.tools.iter().any(|entry| whole(entry).starts_with(word));
    entries
        .map(|entry| {
            let help = entry.tool.title.as_deref().or(entry.tool.description.as_deref()).unwrap_or_default();
            let spelling = match (is_name, is_whole) {
                (true, _) => entry.name.clone(),
                (false, true) => whole(entry),
                (false, false) => entry.tool.name.clone(),
            };
            Offer::new(spelling, help)
        })
        .collect()
}

fn tool_arguments(catalog: &Catalog, typed: &Typed, word: &str, env: &Env) -> Vec<CompletionCandidate> {
    let tool = typed.subject.as_deref().unwrap_or_default();
    let Ok(entry) = catalog.find(tool, typed.server.as_deref()) else { return Vec::new() };
    let schema = entry.input_schema.value();
    let Some((key, value)) = word.split_once('=') else {
        let all = schema::arguments(&schema).into_iter();
        let open = all.filter(|argument| argument.is_list || !is_given(typed, argument.name));
        return keys(open.map(|argument| (argument.name, argument.help)), word);
    };
    let values = schema::values(&schema, key);
    if values.is_empty() && is_path(&schema, key) {
        return files(value, "", env).into_iter().map(|file| file.add_prefix(format!("{key}="))).collect();
    }
    let values = values.into_iter().filter(|known| known.starts_with(value));
    values.map(|value| Offer::new(format!("{key}={value}"), "").candidate()).collect()
}

/// Whether a value is likely a path.
fn is_path(schema: &Value, key: &str) -> bool {
    let is_text = schema["properties"][key]["type"].as_str().is_none_or(|kind| kind == "string");
    let name = key.to_lowercase();
    is_text && ["path", "file", "dir"].iter().any(|word| name.contains(word))
}

/// Files and directories, after a mark.
fn files(word: &str, mark: &str, env: &Env) -> Vec<CompletionCandidate> {
    let Some(path) = word.strip_prefix(mark) else { return Vec::new() };
    let found = PathCompleter::any().current_dir(env.cwd()).complete(OsStr::new(path));
    found.into_iter().map(|file| file.add_prefix(mark)).collect()
}

fn is_given(typed: &Typed, name: &str) -> bool {
    typed.given.iter().any(|given| given.split_once('=').is_some_and(|(key, _)| key == name))
}

fn keys<'k>(keys: impl Iterator<Item = (&'k str, String)>, word: &str) -> Vec<CompletionCandidate> {
    let fitting = keys.filter(|(name, _)| name.starts_with(word) && !name.starts_with('-'));
    fitting.map(|(name, help)| Offer::new(format!("{name}="), help).candidate()).collect()
}

/// Addresses, and the beginnings of those with something to fill in.
fn resources(catalog: &Catalog, typed: &Typed) -> Vec<Offer> {
    let is_meant = |server: &str| typed.server.as_deref().is_none_or(|wanted| wanted == server);
    let addresses = catalog
        .resources
        .iter()
        .filter(|of| is_meant(&of.server))
        .map(|of| Offer::new(&of.item.uri, of.item.title.as_deref().unwrap_or(&of.item.name)));
    let templates = catalog.templates.iter().filter(|of| is_meant(&of.server)).filter_map(|of| {
        let (beginning, _) = of.item.uri_template.split_once('{')?;
        let help = of.item.title.as_deref().unwrap_or(&of.item.name);
        (!beginning.is_empty()).then(|| Offer::new(beginning, help))
    });
    addresses.chain(templates).collect()
}

/// Prompts by name; with their server if the name alone could mean several.
fn prompts(catalog: &Catalog, typed: &Typed) -> Vec<Offer> {
    let is_shared = |of: &Of<Prompt>| {
        catalog.prompts.iter().any(|other| other.item.name == of.item.name && other.server != of.server)
    };
    let is_meant = |of: &&Of<Prompt>| typed.server.as_ref().is_none_or(|server| *server == of.server);
    let prompts = catalog.prompts.iter().filter(is_meant);
    prompts
        .map(|of| {
            let help = of.item.description.as_deref().unwrap_or_default();
            let is_shared = is_shared(of) && typed.server.is_none();
            let name =
                if is_shared { format!("{}:{}", of.server, of.item.name) } else { of.item.name.clone() };
            Offer::new(name, help)
        })
        .collect()
}

fn prompt_arguments(catalog: &Catalog, typed: &Typed) -> Vec<Offer> {
    let name = typed.subject.as_deref().unwrap_or_default();
    let is_meant = |of: &&Of<Prompt>| {
        (of.item.name == name || format!("{}:{}", of.server, of.item.name) == name)
            && typed.server.as_ref().is_none_or(|server| *server == of.server)
    };
    let Some(prompt) = catalog.prompts.iter().find(is_meant) else { return Vec::new() };
    let mut arguments: Vec<_> =
        prompt.item.arguments.iter().filter(|one| !is_given(typed, &one.name)).collect();
    arguments.sort_by_key(|argument| !argument.required);
    arguments
        .into_iter()
        .map(|argument| {
            let needed = Some("needed").filter(|_| argument.required);
            let words = argument.title.as_deref().or(argument.description.as_deref());
            let help: Vec<_> = needed.into_iter().chain(words).collect();
            Offer::new(format!("{}=", argument.name), help.join(", "))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_can_be_typed_has_something_to_offer() {
        let names = ["NAME", "SERVER", "PROVIDER", "KEY=VALUE"];
        for verb in crate::args::command()
            .get_subcommands()
            .filter(|verb| verb.get_name() != "add" && !verb.is_hide_set())
        {
            for argument in verb.get_arguments() {
                let is_name = argument
                    .get_value_names()
                    .into_iter()
                    .flatten()
                    .any(|name| names.contains(&name.as_str()));
                let place = place(verb.get_name(), argument.get_id().as_str());
                assert!(!is_name || place.is_some(), "{} {}", verb.get_name(), argument.get_id());
            }
        }
    }
}
