//! `trust` and `untrust`: consent to definitions as they are now.

use inquire::MultiSelect;
use switchboard::config::{Approvals, Approved, Transport};
use switchboard::declared::{Approval, InheritEnv};
use switchboard::{Consent, Discovery, Server, redact};

use super::{Context, Outcome, s, unknown_server};
use crate::args::Trust;
use crate::error::{CommandError, Kind};
use crate::printer::{FAINT, STRONG, WAITING};
use crate::terminal;

pub(super) fn run(context: &Context, trust: &Trust) -> Result<Outcome, CommandError> {
    let discovery = context.discover();
    let waiting: Vec<&Server> = discovery
        .servers
        .iter()
        .filter(|server| server.consent == Consent::Missing && server.definition.is_ok())
        .collect();
    let chosen = choose(context, trust, &discovery, &waiting)?;
    let new: Vec<_> = chosen
        .iter()
        .filter_map(|server| {
            let hash = server.definition_hash(&discovery.project.dir)?;
            let source = server
                .origin
                .path
                .as_deref()
                .map_or_else(|| server.origin.provider.label().to_owned(), |path| path.display().to_string());
            Some((hash, Approved { server: server.name.clone(), source }))
        })
        .collect();
    if !new.is_empty() {
        Approvals::add(&context.env, &new)?;
    }
    let names: Vec<_> = chosen.iter().map(|server| server.name.as_str()).collect();
    if context.printer.json {
        context.printer.json(&serde_json::json!({ "trusted": names }))?;
    }
    match names.len() {
        0 => context.printer.remark("Nothing was approved."),
        n => context.printer.remark(&format!("Approved {n} server{}: {}", s(n), names.join(", "))),
    }
    Ok(Outcome::Done)
}

fn choose<'d>(
    context: &Context,
    trust: &Trust,
    discovery: &'d Discovery,
    waiting: &[&'d Server],
) -> Result<Vec<&'d Server>, CommandError> {
    if !trust.names.is_empty() {
        let mut chosen = Vec::new();
        for name in &trust.names {
            chosen.extend(by_name(context, discovery, name)?);
        }
        show_all(context, &chosen);
        return Ok(chosen);
    }
    let from_source = |server: &&&Server| trust.source.is_none_or(|source| server.origin.provider == source);
    let waiting: Vec<&Server> = waiting.iter().filter(from_source).copied().collect();
    if waiting.is_empty() {
        context.printer.remark("No server waits for approval.");
        return Ok(waiting);
    }
    if trust.all || trust.source.is_some() {
        show_all(context, &waiting);
        return Ok(waiting);
    }
    if !terminal::is_interactive() || context.printer.json {
        return Err(CommandError::new(Kind::NotApproved, "not-approved", "nobody can be asked here")
            .hint("name the servers, or use --source PROVIDER or --all"));
    }
    ask(context, &waiting)
}

/// A named server that waits; one that is trusted already is only mentioned.
fn by_name<'d>(
    context: &Context,
    discovery: &'d Discovery,
    name: &str,
) -> Result<Option<&'d Server>, CommandError> {
    let Some(server) = discovery.server(name) else { return Err(unknown_server(discovery, name)) };
    if let Err(reason) = &server.definition {
        return Err(CommandError::usage("invalid-server", reason.clone()).server(name));
    }
    if server.consent.is_given() && server.consent != Consent::ThisRun {
        context.printer.remark(&format!("`{name}` is trusted already: {}", server.consent.reason()));
        return Ok(None);
    }
    Ok(Some(server))
}

fn show_all(context: &Context, servers: &[&Server]) {
    for server in servers {
        context.printer.show(&definition(context, server));
    }
}

/// Shows everything that is new and takes all, some or none.
fn ask<'d>(context: &Context, waiting: &[&'d Server]) -> Result<Vec<&'d Server>, CommandError> {
    show_all(context, waiting);
    let names: Vec<_> =
        waiting.iter().map(|server| switchboard::visible::excerpt(&server.name, 60)).collect();
    let picked = MultiSelect::new("Approve which? (space marks, right arrow marks all, enter ends)", names)
        .raw_prompt()?;
    Ok(picked.into_iter().map(|option| waiting[option.index]).collect())
}

/// Everything that decides what would run, nothing cut short, secrets hidden.
pub(super) fn definition(context: &Context, server: &Server) -> Vec<String> {
    let Ok(spec) = &server.definition else { return Vec::new() };
    let place =
        server.origin.path.as_deref().map_or_else(|| "built in".to_owned(), |path| context.env.display(path));
    let line = server.origin.line.map(|line| format!(" line {line}")).unwrap_or_default();
    let name = switchboard::visible::visible(&server.name);
    let mut lines =
        vec![format!("{STRONG}{name}{STRONG:#}  {FAINT}{place}{line} ({}){FAINT:#}", server.origin.provider)];
    match &spec.transport {
        Transport::Stdio(stdio) => {
            let words: Vec<_> =
                std::iter::once(redact::word(stdio.command.raw())).chain(redact::args(&stdio.args)).collect();
            lines.push(format!("  runs      {}", serde_json::json!(words)));
            lines.extend(stdio.cwd.iter().map(|cwd| format!("  in        {}", redact::word(cwd.raw()))));
            lines.extend(stdio.env.iter().map(|(name, value)| {
                format!("  variable  {}={}", switchboard::visible::visible(name), redact::value(value))
            }));
            lines.extend(
                stdio.env_file.iter().map(|file| format!("  variables from {}", redact::word(file.raw()))),
            );
            match &stdio.inherit_env {
                InheritEnv::Safe => {}
                InheritEnv::All => lines.push(format!("  {WAITING}gets all your variables{WAITING:#}")),
                InheritEnv::Names(names) => lines.push(format!("  gets your variables {}", names.join(", "))),
            }
        }
        Transport::Remote(endpoint) => {
            lines.push(format!("  connects  {}", redact::url(endpoint.url.raw())));
            lines.extend(endpoint.headers.iter().map(|(name, value)| {
                format!("  header    {}: {}", switchboard::visible::visible(name), redact::value(value))
            }));
        }
    }
    for (field, value) in spec.transport.values() {
        let is_pair = field.starts_with("env.") || field.starts_with("headers.");
        let own = value.shell_command().filter(|_| is_pair);
        for command in own.into_iter().chain(value.inner_commands()) {
            lines.push(format!("  {WAITING}runs `{}` for {field}{WAITING:#}", redact::words(command)));
        }
    }
    if spec.conduct.approval == Approval::Never {
        lines.push(format!("  {WAITING}its tools run without asking{WAITING:#}"));
    } else if !spec.conduct.tools.approval.is_empty() {
        let tools: Vec<_> = spec.conduct.tools.approval.keys().map(String::as_str).collect();
        lines.push(format!(
            "  has rules of its own for {}",
            switchboard::visible::excerpt(&tools.join(", "), 200)
        ));
    }
    lines
}

pub(super) fn untrust(context: &Context, names: &[String], all: bool) -> Result<Outcome, CommandError> {
    let discovery = context.discover();
    if names.is_empty() && !all {
        return Err(CommandError::usage("usage", "name the servers, or use --all"));
    }
    let mut chosen = Vec::new();
    for name in names {
        let Some(server) = discovery.server(name) else { return Err(unknown_server(&discovery, name)) };
        match server.consent {
            Consent::Approved => chosen.push(server),
            Consent::Missing | Consent::ThisRun => {
                context.printer.remark(&format!("`{name}` is not trusted"));
            }
            Consent::OwnFile | Consent::BuiltIn | Consent::Environment => {
                let reason = server.consent.reason();
                return Err(CommandError::usage(
                    "always-trusted",
                    format!("`{name}` is trusted because {reason}"),
                )
                .server(name)
                .hint(format!("switch it off instead: switchboard disable {name}")));
            }
        }
    }
    if all {
        chosen.extend(discovery.servers.iter().filter(|server| server.consent == Consent::Approved));
    }
    let hashes: Vec<_> =
        chosen.iter().filter_map(|server| server.definition_hash(&discovery.project.dir)).collect();
    if !hashes.is_empty() {
        Approvals::remove(&context.env, &hashes)?;
    }
    let names: Vec<_> = chosen.iter().map(|server| server.name.as_str()).collect();
    if context.printer.json {
        context.printer.json(&serde_json::json!({ "untrusted": names }))?;
    }
    match names.len() {
        0 => context.printer.remark("No approval was taken back."),
        n => context.printer.remark(&format!(
            "Took back the approval of {n} server{}: {}",
            s(n),
            names.join(", ")
        )),
    }
    Ok(Outcome::Done)
}
