//! A discovery as text, for snapshots.

use switchboard::config::file::ServerEntry;
use switchboard::config::{Because, ServerSpec};
use switchboard::{Discovery, Origin, Problem, Provider, Server, SetAside};
use testkit::Sandbox;

/// Everything that was decided, without the built-in servers.
pub(crate) fn discovery(discovery: &Discovery, sandbox: &Sandbox) -> String {
    let mut text = String::new();
    for server in discovery.servers.iter().filter(|server| server.origin.provider != Provider::BuiltIn) {
        text.push_str(&self::server(server));
    }
    for aside in discovery.shadowed.iter().filter(|aside| aside.origin.provider != Provider::BuiltIn) {
        text.push_str(&set_aside(aside));
    }
    text.push_str(&problems(discovery));
    sandbox.filter(&text)
}

/// The problems, without those that only repeat a state or speak of built-in servers.
pub(crate) fn problems(discovery: &Discovery) -> String {
    let told = ["untrusted", "shadowed"];
    discovery
        .problems
        .iter()
        .filter(|problem| !told.contains(&problem.code.as_str()))
        .filter(|problem| problem.origin.as_ref().is_none_or(|origin| origin.provider != Provider::BuiltIn))
        .map(problem)
        .collect()
}

pub(crate) fn problem(problem: &Problem) -> String {
    let server = problem.server.as_deref().map(|name| format!(" {}", short(name))).unwrap_or_default();
    let place = problem.origin.as_ref().map(|origin| format!(" ({})", place(origin))).unwrap_or_default();
    let hint = problem.hint.as_deref().map(|hint| format!("\n      hint: {hint}")).unwrap_or_default();
    let severity = problem.severity().as_str();
    format!("  {severity}[{}]{server}{place}\n      {}{hint}\n", problem.code.as_str(), problem.message)
}

fn server(server: &Server) -> String {
    let head = format!("  {} {} ({})\n", short(&server.name), server.state().as_str(), place(&server.origin));
    match &server.definition {
        Ok(spec) => format!("{head}{}", definition(spec)),
        Err(reason) => format!("{head}      {reason}\n"),
    }
}

fn set_aside(aside: &SetAside) -> String {
    let by = match &aside.because {
        Because::Shadowed(origin) | Because::Replaced(origin) => format!(" by {}", place(origin)),
        Because::Duplicate(name, origin) => format!(" of {name} in {}", place(origin)),
        _ => String::new(),
    };
    format!("  {} {}{by} ({})\n", short(&aside.name), aside.because.state(), place(&aside.origin))
}

/// The canonical entry; where our own files could not say it, the values as written.
fn definition(spec: &ServerSpec) -> String {
    match ServerEntry::from_spec(spec) {
        Ok(entry) => format!("      {}\n", serde_json::to_string(&entry).unwrap()),
        Err(inexpressible) => {
            let values = spec.values();
            let values: Vec<_> =
                values.into_iter().map(|(field, value)| format!("{field}={}", value.raw())).collect();
            let word = spec.transport.as_str();
            format!(
                "      {word}, only in its own syntax because of {}: {}\n",
                inexpressible.field,
                values.join(" ")
            )
        }
    }
}

fn place(origin: &Origin) -> String {
    let line = origin.line.map(|line| format!(":{line}")).unwrap_or_default();
    match &origin.path {
        Some(path) => format!("{} {}{line}", origin.scope, path.display()),
        None => origin.provider.id().to_owned(),
    }
}

fn short(name: &str) -> String {
    switchboard::visible::excerpt(name, 40)
}
