//! `why`: everything about one name: which file won, what it shadows, what its values are made of, consent.

use switchboard::auth::Standing;
use switchboard::declared::Auth;
use switchboard::resolve::{self, Subject};
use switchboard::visible::shell_word;
use switchboard::{Consent, Discovery, Problem, Server, State};

use super::{Context, Outcome, login, online, unknown_server};
use crate::error::CommandError;
use crate::printer::{FAINT, GOOD, STRONG, WAITING, problem_lines};
use crate::report::{ConsentRow, OriginRow, ProblemRow, ServerRow, ValueRow, Why};
use crate::table::{Cell, Table};

/// Characters of a hash that people are shown.
const HASH: usize = 16;

pub(super) fn run(context: &Context, name: &str) -> Result<Outcome, CommandError> {
    let discovery = context.discover();
    let server = discovery.server(name);
    let aside: Vec<_> = discovery.shadowed.iter().filter(|aside| aside.name == name).collect();
    if server.is_none() && aside.is_empty() {
        online::say_what_is_lost(context, &discovery);
        return Err(unknown_server(&discovery, name));
    }
    let (values, missing) = match server.and_then(|server| Some((server, server.definition.as_ref().ok()?))) {
        Some((server, spec)) => resolve::preview(name, spec, &server.origin, &context.env),
        None => (Vec::new(), Vec::new()),
    };
    let mut problems: Vec<Problem> = discovery
        .problems
        .iter()
        .filter(|problem| problem.server.as_deref() == Some(name))
        .cloned()
        .collect();
    // Of an enabled server, discovery has said it already.
    problems.extend(missing.into_iter().filter(|problem| !discovery.problems.contains(problem)));
    let values = values
        .into_iter()
        .map(|value| ValueRow { field: value.field, from: value.from, resolved: value.resolved })
        .collect();
    let standing = server.map_or(Standing::Unknown, |server| standing(context, server, &discovery));
    let report = Why {
        name: name.to_owned(),
        winner: server.map(ServerRow::from),
        shadowed: aside.iter().map(|aside| ServerRow::from(*aside)).collect(),
        values,
        consent: consent(server, &discovery),
        login: match &standing {
            Standing::In(facts) => Some(facts.into()),
            Standing::Unknown | Standing::Out { .. } | Standing::Unusable(_) => None,
        },
        problems: problems.iter().map(ProblemRow::from).collect(),
    };
    if context.printer.json {
        context.printer.json(&report)?;
    } else {
        let reasons: Vec<_> = aside.iter().map(|aside| aside.problem().message).collect();
        context.printer.data(&lines(context, &report, (server, &standing), &problems, &reasons))?;
    }
    Ok(Outcome::Done)
}

fn standing(context: &Context, server: &Server, discovery: &Discovery) -> Standing {
    let Ok(spec) = &server.definition else { return Standing::Unknown };
    let (name, origin) = (server.name.as_str(), &server.origin);
    let subject = Subject { name, spec, origin, project: &discovery.project, token: None };
    login::standing(&context.env, &subject)
}

fn consent(server: Option<&Server>, discovery: &Discovery) -> ConsentRow {
    let consent = server.map_or(Consent::Missing, |server| server.consent);
    ConsentRow {
        state: if consent.is_given() { "trusted" } else { "untrusted" },
        reason: consent.reason(),
        definition_hash: server.and_then(|server| server.definition_hash(&discovery.project)),
    }
}

fn lines(
    context: &Context,
    report: &Why,
    (server, standing): (Option<&Server>, &Standing),
    problems: &[Problem],
    reasons: &[String],
) -> Vec<String> {
    let mut lines = Vec::new();
    let name = switchboard::visible::visible(&report.name);
    match (&report.winner, server) {
        (Some(row), Some(server)) => {
            let transport = row.transport.unwrap_or("no transport");
            lines.push(format!("{STRONG}{name}{STRONG:#}  {}  {transport}", row.state));
            lines.push(format!("  defined in  {}", place(context, &row.origin)));
            let style = if server.consent.is_given() { GOOD } else { WAITING };
            let state = report.consent.state;
            lines.push(format!("  consent     {style}{state}{style:#}: {}", report.consent.reason));
            lines.extend(next(server).map(|line| format!("  hint        {line}")));
            if let Some(hash) = &report.consent.definition_hash {
                // Enough to tell two apart; the whole is for machines.
                let start: String = hash.chars().take(HASH).collect();
                lines.push(format!("  definition  {FAINT}sha256 {start}…{FAINT:#}"));
            }
            if let Ok(spec) = &server.definition
                && let Some(Auth::Bearer { token_env }) = &spec.conduct.auth
            {
                let name = switchboard::visible::visible(token_env);
                lines.push(format!("  token       from the variable {name}"));
            }
            if let Some(login) = login::line(&report.name, standing) {
                lines.push(format!("  login       {login}"));
            }
            if let Some(description) = &row.description {
                lines.push(format!("  for         {}", switchboard::visible::excerpt(description, 200)));
            }
        }
        _ => lines.push(format!("{STRONG}{name}{STRONG:#}  no definition of it counts")),
    }
    if !report.values.is_empty() {
        let mut table = Table::new(&[("  FIELD", 10), ("AS WRITTEN", 12), ("BECOMES", 12)]);
        for value in &report.values {
            let becomes = match &value.resolved {
                Some(resolved) if *resolved == value.from && !resolved.contains("***") => {
                    Cell::styled("as written", FAINT)
                }
                Some(resolved) => Cell::new(resolved.clone()),
                None => Cell::styled("cannot be told yet", WAITING),
            };
            table.row(vec![Cell::new(format!("  {}", value.field)), Cell::new(value.from.clone()), becomes]);
        }
        lines.push(String::new());
        // What is explained here is not cut, however narrow the terminal.
        lines.extend(table.lines(None));
    }
    if !report.shadowed.is_empty() {
        lines.push(String::new());
        lines.push(format!("  {STRONG}Does not count{STRONG:#}"));
        for (row, reason) in report.shadowed.iter().zip(reasons) {
            lines.push(format!("  {}: {}", row.state, place(context, &row.origin)));
            lines.push(format!("    {}", switchboard::visible::visible(reason)));
            lines.push(format!("    {FAINT}{}{FAINT:#}", row.target()));
        }
    }
    // What is said above is not said again.
    let told = ["shadowed", "filtered", "duplicate-server", "untrusted"];
    for problem in problems.iter().filter(|problem| !told.contains(&problem.code.as_str())) {
        lines.push(String::new());
        lines.extend(problem_lines(problem, &context.env).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// What to type to get it going.
fn next(server: &Server) -> Option<String> {
    let word = shell_word(&server.name);
    match server.state() {
        State::Untrusted => Some(format!("switchboard trust {word}")),
        State::Disabled => Some(format!("switchboard enable {word}")),
        State::Enabled | State::Invalid => None,
    }
}

/// File, line, tool and scope.
fn place(context: &Context, origin: &OriginRow) -> String {
    let label =
        switchboard::Provider::from_id(origin.provider).map_or(origin.provider, switchboard::Provider::label);
    match (&origin.path, origin.line) {
        (Some(path), Some(line)) => {
            format!("{} line {line} ({label}, {})", context.env.display(path.as_ref()), origin.scope)
        }
        (Some(path), None) => format!("{} ({label}, {})", context.env.display(path.as_ref()), origin.scope),
        (None, _) => label.to_owned(),
    }
}
