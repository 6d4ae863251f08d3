//! `doctor`: what is wrong with the configuration, worst first, one cause each, and what to do about it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

use switchboard::auth::{self, Keys};
use switchboard::config::{Because, Server, Transport};
use switchboard::discover::sort;
use switchboard::resolve::{self, Program, Subject, find_program};
use switchboard::visible::shell_word;
use switchboard::{Code, Discovery, Env, Problem, Provider, Scope, Severity, State, redact, session};

use super::add::quoted;
use super::online::{self, Wait};
use super::{Context, Outcome, bundle, is_this_program, login, s};
use crate::age::ago;
use crate::error::CommandError;
use crate::printer::{GOOD, Volume, problem_lines};
use crate::report::{Doctor, ProblemRow};

pub(super) fn run(context: &Context, connect: bool, report: Option<&Path>) -> Result<Outcome, CommandError> {
    let discovery = context.discover();
    let mut problems = examine(&discovery, &context.env);
    let more = if connect {
        // Who needs a login is known already.
        let logins = [Code::LoginMissing, Code::LoginOver, Code::ClearTextLogin];
        let known = problems.iter().filter(|problem| logins.contains(&problem.code));
        let known = known.filter_map(|problem| problem.server.clone()).collect();
        tried(context, &discovery, &known)?
    } else {
        remembered(context, &discovery)
    };
    problems.extend(more);
    sort(&mut problems);
    // What is known to be missing is one cause, not two.
    let missing: Vec<_> = problems
        .iter()
        .filter(|problem| problem.code == Code::CommandNotFound)
        .filter_map(|problem| problem.server.clone())
        .collect();
    problems.retain(|problem| {
        problem.code != Code::ServerFailed
            || problem.server.as_ref().is_none_or(|server| !missing.contains(server))
    });
    if let Some(path) = report {
        bundle::write(context, (&discovery, &problems), path)?;
    }
    let broken = problems.iter().any(|problem| problem.severity() == Severity::Error);
    let outcome = if broken { Outcome::Broken } else { Outcome::Done };
    if context.printer.json {
        context.printer.json(&Doctor { problems: problems.iter().map(ProblemRow::from).collect() })?;
        return Ok(outcome);
    }
    let (shown, notes): (Vec<_>, Vec<_>) = problems.iter().partition(|problem| {
        problem.severity() < Severity::Note || context.printer.volume == Volume::Verbose
    });
    let mut lines = Vec::new();
    for problem in &shown {
        lines.extend(problem_lines(problem, &context.env));
        lines.push(String::new());
    }
    lines.push(verdict(&discovery, &problems));
    context.printer.data(&lines)?;
    if !connect && discovery.servers.iter().any(|server| server.state() == State::Enabled) {
        context.printer.remark("Connections were not tried: switchboard doctor --connect");
    }
    if !notes.is_empty() {
        let n = notes.len();
        context.printer.remark(&format!(
            "{n} note{} need{} no action: switchboard doctor -v",
            s(n),
            if n == 1 { "s" } else { "" }
        ));
    }
    Ok(outcome)
}

/// What comes out when every approved server is connected to.
fn tried(
    context: &Context,
    discovery: &Discovery,
    logged_out: &BTreeSet<String>,
) -> Result<Vec<Problem>, CommandError> {
    online::with_session(context, online::options(context, &[]), Wait::Correct, async |session, _| {
        session.settled(None).await;
        let faults = session.servers().into_iter().filter_map(|report| {
            let fault = report.status.fault()?;
            if fault.needs_login() && logged_out.contains(&report.name) {
                return None;
            }
            let problem = fault.problem();
            let origin = discovery.server(&report.name).map(|server| server.origin.clone());
            Some(match origin {
                Some(origin) => problem.origin(origin),
                None => problem,
            })
        });
        let mut problems: Vec<Problem> = faults.collect();
        problems.extend(session.catalog().problems.iter().cloned());
        Ok(problems)
    })
}

/// What came out when approved servers were last connected to, of late.
fn remembered(context: &Context, discovery: &Discovery) -> Vec<Problem> {
    let (faults, now) = (session::last_faults(&online::options(context, &[]), discovery), SystemTime::now());
    let enabled = discovery.servers.iter().filter(|server| server.state() == State::Enabled);
    let problem = |server: &Server| {
        let (name, origin) = (server.name.as_str(), &server.origin);
        let fault = faults.get(name)?;
        let spec = server.definition.as_deref().ok()?;
        let subject = Subject { name, spec, origin, project: &discovery.project, token: None };
        let (when, word) = (ago(fault.at, now), shell_word(name));
        let (what, hint) = match login::status(name, login::standing(&context.env, &subject)) {
            // Where a login is kept or missing, that says more than what the server said before.
            Some(_) if fault.needs_login => return None,
            None if fault.needs_login => ("asked for a login", format!("switchboard reauth {word}")),
            _ => ("did not work", format!("switchboard test {word}")),
        };
        let message = format!("`{name}` {what} when it was last tried, {when}: {}", fault.message);
        Some(Problem::new(Code::ServerFailed, message).hint(hint).server(name).origin(origin.clone()))
    };
    enabled.filter_map(problem).collect()
}

/// Everything that discovery saw, and what a look at programs and values adds.
fn examine(discovery: &Discovery, env: &Env) -> Vec<Problem> {
    let mut problems: Vec<Problem> =
        discovery.problems.iter().filter(|problem| problem.code != Code::Untrusted).cloned().collect();
    for server in &discovery.servers {
        if matches!(server.state(), State::Enabled | State::Untrusted) {
            problems.extend(look(server, discovery, env));
        }
    }
    problems.extend(gateways(discovery, env));
    problems.extend(logins(discovery, env));
    problems.extend(waiting(discovery));
    sort(&mut problems);
    problems
}

/// What is wrong with kept logins, and with those that should be there.
fn logins(discovery: &Discovery, env: &Env) -> Vec<Problem> {
    let project = &discovery.project;
    let subject = |name, origin, spec| Subject { name, spec, origin, project, token: None };
    let keys = Keys::of(env, auth::Options::default().with(&discovery.settings.login));
    let mut problems = Vec::new();
    let mut all = Vec::new();
    for server in &discovery.servers {
        let Ok(spec) = &server.definition else { continue };
        let subject = subject(&server.name, &server.origin, &**spec);
        if server.state() == State::Enabled {
            problems.extend(keys.login_problem(&subject, env));
        }
        all.push(subject);
    }
    for aside in &discovery.shadowed {
        all.extend(aside.definition.as_ref().ok().map(|spec| subject(&aside.name, &aside.origin, &**spec)));
    }
    problems.extend(keys.store_problems(&all, env));
    problems
}

fn look(server: &Server, discovery: &Discovery, env: &Env) -> Vec<Problem> {
    let Ok(spec) = &server.definition else { return Vec::new() };
    // Of enabled servers, discovery has said it already.
    let mut problems = match server.state() {
        State::Untrusted => resolve::unresolved(&server.name, spec, &server.origin, env),
        _ => Vec::new(),
    };
    // A built-in server that nobody approved needs nothing yet.
    if server.origin.provider == Provider::BuiltIn && server.state() == State::Untrusted {
        return Vec::new();
    }
    if let Transport::Stdio(stdio) = &spec.transport
        && !is_this_program(server)
        && find_program(stdio, env, discovery.project.directory_of(&server.origin)) == Program::NotFound
    {
        let command = redact::word(stdio.command.raw());
        let message = format!("`{command}` is not found, so `{}` cannot start", server.name);
        let is_path = stdio.command.raw().contains(['/', '\\']);
        let hint = if is_path { "check the path" } else { "install it, or give its full path" };
        let line_hint = resolve::line_hint(stdio, env, discovery.project.directory_of(&server.origin));
        let hint = line_hint.unwrap_or_else(|| hint.to_owned());
        let problem = Problem::new(Code::CommandNotFound, message).hint(hint);
        problems.push(problem.server(&server.name).origin(server.origin.clone()));
    }
    let secrets = resolve::clear_secrets(spec);
    if server.origin.scope == Scope::Project && !secrets.is_empty() {
        let holds = if secrets.len() == 1 { "holds a secret" } else { "hold secrets" };
        let message = format!("{} {holds} in clear text, in a project's file", quoted(&secrets));
        let problem = Problem::new(Code::SecretInProject, message)
            .hint("put it into a variable and write its placeholder");
        problems.push(problem.server(&server.name).origin(server.origin.clone()));
    }
    problems
}

/// Entries of other tools that start us from where we no longer are.
fn gateways(discovery: &Discovery, env: &Env) -> Vec<Problem> {
    let own = discovery.shadowed.iter().filter(|aside| aside.because == Because::Gateway);
    own.filter_map(|aside| {
        let Transport::Stdio(stdio) = &aside.definition.as_ref().ok()?.transport else { return None };
        let dir = discovery.project.directory_of(&aside.origin);
        if find_program(stdio, env, dir) != Program::NotFound {
            return None;
        }
        let tool = match aside.origin.provider {
            Provider::McpJson => Provider::Claude,
            tool => tool,
        };
        let command = redact::word(stdio.command.raw());
        let message = format!("`{command}` is not found, so {tool} cannot start the gateway");
        let scope = if aside.origin.scope == Scope::Project { " --scope project" } else { "" };
        let hint = format!("switchboard install --into {}{scope}", tool.id());
        let problem = Problem::new(Code::CommandNotFound, message).hint(hint);
        Some(problem.server(&aside.name).origin(aside.origin.clone()))
    })
    .collect()
}

/// One problem for all that wait, with one thing to type.
fn waiting(discovery: &Discovery) -> Option<Problem> {
    let names: Vec<_> = discovery
        .servers
        .iter()
        .filter(|server| server.state() == State::Untrusted && server.origin.provider != Provider::BuiltIn)
        .map(|server| shell_word(&server.name))
        .collect();
    if names.is_empty() {
        return None;
    }
    let n = names.len();
    let message = format!("{n} server{} wait{} for your approval", s(n), if n == 1 { "s" } else { "" });
    Some(Problem::new(Code::Untrusted, message).hint(super::trust::how_to_approve(&names)))
}

fn verdict(discovery: &Discovery, problems: &[Problem]) -> String {
    let count = |severity: Severity| problems.iter().filter(|problem| problem.severity() == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let looked = format!(
        "{} file{} read, {} server{}",
        discovery.files.len(),
        s(discovery.files.len()),
        discovery.servers.len(),
        s(discovery.servers.len())
    );
    match (errors, warnings) {
        (0, 0) => format!("{GOOD}Nothing is wrong{GOOD:#}: {looked}."),
        _ => format!("{errors} error{}, {warnings} warning{}: {looked}.", s(errors), s(warnings)),
    }
}
