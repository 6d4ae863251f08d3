//! `trust` and `untrust`: consent to definitions as they are now.

use switchboard::calls::Grants;
use switchboard::config::{Approvals, Approved, Asked, Transport};
use switchboard::declared::{Approval, Auth, InheritEnv, OAuth};
use switchboard::env::SWITCHBOARD_TRUST;
use switchboard::template::Template;
use switchboard::visible::{excerpt, shell_word, visible};
use switchboard::{
    Consent, Discovery, Options, Origin, Provider, Server, ServerSpec, State, discover, redact,
};

use super::{Context, Outcome, connection, online, s, unknown_server};
use crate::args::Trust;
use crate::error::{CommandError, Kind};
use crate::printer::{FAINT, STRONG, WAITING};

pub(super) fn run(context: &Context, trust: &Trust) -> Result<Outcome, CommandError> {
    let discovery = stored(context);
    let waiting: Vec<&Server> =
        discovery.servers.iter().filter(|server| server.state() == State::Untrusted).collect();
    let chosen = choose(context, trust, &discovery, &waiting)?;
    approve(context, &discovery, &chosen)?;
    let names: Vec<_> = chosen.iter().map(|server| server.name.as_str()).collect();
    if context.printer.json {
        context.printer.json(&serde_json::json!({ "trusted": names }))?;
    }
    match names.len() {
        0 => context.printer.remark("Nothing was approved."),
        n => context.printer.remark(&visible(&format!("Approved {n} server{}: {}", s(n), names.join(", ")))),
    }
    Ok(Outcome::Done)
}

/// Asks about servers nobody was asked about before, where somebody can be asked: about these, or about all.
pub(crate) fn offer_new(context: &Context, servers: &[String]) -> Result<(), CommandError> {
    if !context.can_ask() || context.options.trust_all {
        return Ok(());
    }
    let discovery = stored(context);
    let mut asked = Asked::load(&context.env);
    let new = new_ones(&discovery, &asked, servers);
    if new.is_empty() {
        return Ok(());
    }
    let n = new.len();
    let what = if n == 1 { "A server waits".to_owned() } else { format!("{n} servers wait") };
    context.printer.remark(&format!("{what} for your approval. Nothing of it runs before."));
    let chosen = ask(context, &new)?;
    approve(context, &discovery, &chosen)?;
    asked.add(new.iter().filter_map(|server| server.definition_hash(&discovery.project)));
    let names = |approved: bool| -> Vec<String> {
        let is_chosen = |server: &Server| chosen.iter().any(|chosen| chosen.name == server.name);
        let some = new.iter().filter(|server| is_chosen(server) == approved);
        some.map(|server| shell_word(&server.name)).collect()
    };
    let (yes, no) = (names(true), names(false));
    if !yes.is_empty() {
        context.printer.remark(&format!("Approved: {}", yes.join(", ")));
    }
    if !no.is_empty() {
        let later = no.join(" ");
        context
            .printer
            .remark(&format!("Not approved; you are not asked again. Later: switchboard trust {later}"));
    }
    context.printer.remark("");
    Ok(())
}

/// Whether there is a server nobody was asked about before.
pub(crate) fn has_new(context: &Context) -> bool {
    !new_ones(&stored(context), &Asked::load(&context.env), &[]).is_empty()
}

/// The servers to ask about: those that were named, or those nobody was asked about before.
fn new_ones<'d>(discovery: &'d Discovery, asked: &Asked, servers: &[String]) -> Vec<&'d Server> {
    discovery
        .servers
        .iter()
        .filter(|server| server.state() == State::Untrusted)
        .filter(|server| {
            let is_new =
                || server.definition_hash(&discovery.project).is_some_and(|hash| !asked.contains(&hash));
            // Whoever names a server wants it, also if it was passed over before.
            let is_named = servers.contains(&server.name);
            is_named || (servers.is_empty() && server.origin.provider != Provider::BuiltIn && is_new())
        })
        .collect()
}

/// Writes down that these definitions are approved.
fn approve(context: &Context, discovery: &Discovery, chosen: &[&Server]) -> Result<(), CommandError> {
    let new: Vec<_> = chosen
        .iter()
        .filter_map(|server| {
            let hash = server.definition_hash(&discovery.project)?;
            Some((hash, Approved { server: server.name.clone(), source: source(&server.origin) }))
        })
        .collect();
    if !new.is_empty() {
        Approvals::add(&context.env, &new)?;
    }
    Ok(())
}

/// What an approval says of where its definition stood.
pub(super) fn source(origin: &Origin) -> String {
    let path = origin.path.as_deref();
    path.map_or_else(|| origin.provider.label().to_owned(), |path| path.display().to_string())
}

fn choose<'d>(
    context: &Context,
    trust: &Trust,
    discovery: &'d Discovery,
    waiting: &[&'d Server],
) -> Result<Vec<&'d Server>, CommandError> {
    if !trust.names.is_empty() {
        online::say_where_it_may_be(context, discovery, &trust.names);
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
    if !context.can_ask() {
        return Err(CommandError::new(Kind::NotApproved, "not-approved", "nobody can be asked here")
            .hint("name the servers, or use --source PROVIDER or --all"));
    }
    ask(context, &waiting)
}

/// What is there by the store alone, whatever this run was told to approve.
fn stored(context: &Context) -> Discovery {
    let env = context.env.clone().without_var(SWITCHBOARD_TRUST);
    discover(&env, Options { trust_all: false, ..context.options })
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
    if server.consent.is_given() {
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
    let names: Vec<_> = waiting.iter().map(|server| excerpt(&server.name, 60)).collect();
    if let [only] = names.as_slice() {
        let question = format!("Approve {only}?");
        let is_yes = connection::block_on(context.ask().confirm(&question, false))??;
        return Ok(if is_yes { waiting.to_vec() } else { Vec::new() });
    }
    let picked = connection::block_on(context.ask().several("Approve which?", names))??;
    Ok(picked.into_iter().map(|index| waiting[index]).collect())
}

/// What a login sends, and where, if it is not to where the server is.
fn proofs(oauth: &OAuth) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |what: &str, value: Option<&Template>, to: &str| {
        if let Some(value) = value {
            // Which file is read matters; what stands in the entry itself is nobody's business.
            let is_path = value.raw().contains('/') && !value.raw().contains("-----BEGIN");
            let shown = if is_path { redact::word(value.raw()) } else { redact::value(value) };
            lines.push(format!("  {what} {shown}{to}"));
        }
    };
    say("client secret", oauth.client_secret.as_ref(), "");
    say("signs with your key", oauth.private_key.as_ref(), "");
    say("sends the statement", oauth.assertion.as_ref(), "");
    if let Some(enterprise) = &oauth.enterprise {
        let to = format!(" to {}", redact::url(enterprise.endpoint.raw()));
        say("sends your identity", Some(&enterprise.id_token), &to);
    }
    lines
}

/// Everything that decides what would run, nothing cut short, secrets hidden.
fn definition(context: &Context, server: &Server) -> Vec<String> {
    match &server.definition {
        Ok(spec) => defined(context, &server.name, spec, &server.origin),
        Err(_) => Vec::new(),
    }
}

/// The same of a definition that is not a server's yet.
pub(super) fn defined(context: &Context, name: &str, spec: &ServerSpec, origin: &Origin) -> Vec<String> {
    let place = match (origin.path.as_deref(), origin.line) {
        (Some(path), Some(line)) => {
            format!("{} line {line} ({})", context.env.display(path), origin.provider)
        }
        _ => origin.provider.label().to_owned(),
    };
    let name = visible(name);
    let mut lines = vec![format!("{STRONG}{name}{STRONG:#}  {FAINT}{place}{FAINT:#}")];
    lines.extend(transport(&spec.transport));
    for (field, value) in spec.values() {
        let own = value.shell_command().filter(|_| field.name().is_some());
        for command in own.into_iter().chain(value.inner_commands()) {
            lines.push(format!("  {WAITING}runs `{}` for {field}{WAITING:#}", redact::word(command)));
        }
    }
    if let Some(Auth::OAuth { credential_id: Some(id) }) = &spec.conduct.auth {
        lines.push(format!("  {WAITING}uses your login {}{WAITING:#}", visible(id)));
    }
    lines.extend(spec.conduct.oauth.iter().flat_map(|oauth| proofs(oauth)));
    if let Some(Auth::Bearer { token_env }) = &spec.conduct.auth {
        lines.push(format!("  {WAITING}sends your variable {} as its token{WAITING:#}", visible(token_env)));
    }
    match spec.conduct.approval {
        Approval::Auto => {}
        Approval::Writes => {
            lines.push(format!("  {WAITING}its tools that only read run without asking{WAITING:#}"));
        }
        Approval::Never => lines.push(format!("  {WAITING}its tools run without asking{WAITING:#}")),
    }
    for (tool, approval) in &spec.conduct.tools.approval {
        lines.push(format!("  tool      {}: approval {}", visible(tool), approval.as_str()));
    }
    lines
}

/// What would be started or dialled, and what it would be given.
fn transport(transport: &Transport) -> Vec<String> {
    let mut lines = Vec::new();
    match transport {
        Transport::Stdio(stdio) => {
            let command = redact::word(stdio.command.raw());
            let words: Vec<_> = std::iter::once(command).chain(redact::args(&stdio.args)).collect();
            lines.push(format!("  runs      {}", serde_json::json!(words)));
            lines.extend(stdio.cwd.iter().map(|cwd| format!("  in        {}", redact::word(cwd.raw()))));
            let variables = stdio.env.iter();
            lines.extend(variables.map(|(name, value)| {
                format!("  variable  {}={}", visible(name), redact::variable(name, value))
            }));
            let files = stdio.env_file.iter();
            lines.extend(files.map(|file| format!("  variables from {}", redact::word(file.raw()))));
            match &stdio.inherit_env {
                InheritEnv::Safe => {}
                InheritEnv::All => lines.push(format!("  {WAITING}gets all your variables{WAITING:#}")),
                InheritEnv::Names(names) => {
                    let names = names.join(", ");
                    lines.push(format!("  {WAITING}gets your variables {}{WAITING:#}", visible(&names)));
                }
            }
        }
        Transport::Remote(endpoint) => {
            lines.push(format!("  connects  {}", redact::url(endpoint.url.raw())));
            let headers = endpoint.headers.iter();
            lines.extend(
                headers
                    .map(|(name, value)| format!("  header    {}: {}", visible(name), redact::value(value))),
            );
        }
    }
    lines
}

pub(super) fn untrust(context: &Context, names: &[String], all: bool) -> Result<Outcome, CommandError> {
    if names.is_empty() && !all {
        return Err(CommandError::usage("usage", "name the servers, or use --all"));
    }
    let discovery = stored(context);
    online::say_where_it_may_be(context, &discovery, names);
    let mut taken = 0;
    if all {
        taken = Approvals::remove_all(&context.env)?;
        Grants::take_back_all(&context.env)?;
    }
    let mut refused = None;
    for name in names {
        let server = discovery.server(name);
        let hash = server.and_then(|server| server.definition_hash(&discovery.project));
        // By name too, so that approvals of earlier definitions go with it.
        let removed = Approvals::remove(&context.env, name, hash.as_deref())?;
        taken += removed;
        // What its tools were allowed goes with it.
        Grants::take_back(&context.env, name, None)?;
        let error = match server {
            Some(server) if server.consent.is_given() && server.consent != Consent::Approved => {
                let message = format!("`{name}` is trusted because {}", server.consent.reason());
                CommandError::usage("always-trusted", message)
                    .server(name)
                    .hint(format!("switch it off instead: switchboard disable {}", shell_word(name)))
            }
            None if removed == 0 => unknown_server(&discovery, name),
            Some(_) | None => continue,
        };
        refused.get_or_insert(error);
    }
    if context.printer.json {
        context.printer.json(&serde_json::json!({ "removed": taken }))?;
    }
    match taken {
        0 => context.printer.remark("There was no approval to take back."),
        n => context.printer.remark(&format!("Took back {n} approval{}.", s(n))),
    }
    match refused {
        Some(error) => Err(error),
        None => Ok(Outcome::Done),
    }
}

/// What to type to approve these. Of many nobody reads the names, so it asks: `--all` would approve more than were counted.
pub(super) fn how_to_approve(names: &[String]) -> String {
    match names.len() {
        0..=6 => format!("switchboard trust {}", names.join(" ")),
        _ => "switchboard trust".to_owned(),
    }
}
