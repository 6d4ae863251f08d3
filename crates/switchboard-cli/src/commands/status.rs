//! `status`: could each server start? Looks, never connects.

use switchboard::config::Transport;
use switchboard::resolve::{self, Program, Subject, find_program};
use switchboard::{Discovery, Env, Provider, Server, State};

use super::{Context, Outcome, login, unknown_server};
use crate::error::CommandError;
use crate::printer::{BAD, FAINT, GOOD, STRONG, WAITING};
use crate::report::{Status, StatusRow};
use crate::table::{Cell, Table};

pub(super) fn run(context: &Context, names: &[String]) -> Result<Outcome, CommandError> {
    let discovery = context.discover();
    for name in names {
        if discovery.server(name).is_none() {
            return Err(unknown_server(&discovery, name));
        }
    }
    let servers = discovery.servers.iter().filter(|server| names.is_empty() || names.contains(&server.name));
    let report = Status { servers: servers.map(|server| row(server, &discovery, &context.env)).collect() };
    if context.printer.json {
        context.printer.json(&report)?;
        return Ok(Outcome::Done);
    }
    if report.servers.is_empty() {
        context.printer.remark("No servers found.");
        return Ok(Outcome::Done);
    }
    let mut table = Table::new(&[("NAME", 12), ("STATUS", 14), ("DETAIL", 20)]);
    for row in &report.servers {
        let style = match row.status.as_str() {
            "ready" => GOOD,
            "disabled" => FAINT,
            "untrusted" | "needs login" => WAITING,
            _ => BAD,
        };
        table.row(vec![
            Cell::styled(switchboard::visible::excerpt(&row.name, 100), STRONG),
            Cell::styled(row.status.clone(), style),
            Cell::new(row.detail.clone().unwrap_or_default()),
        ]);
    }
    context.printer.data(&table.lines(context.printer.width))?;
    Ok(Outcome::Done)
}

fn row(server: &Server, discovery: &Discovery, env: &Env) -> StatusRow {
    let (status, detail) = match server.state() {
        State::Disabled => ("disabled".to_owned(), None),
        State::Invalid => ("invalid".to_owned(), server.definition.as_ref().err().cloned()),
        State::Untrusted => {
            let word = switchboard::visible::shell_word(&server.name);
            ("untrusted".to_owned(), Some(format!("switchboard trust {word}")))
        }
        State::Enabled => readiness(server, discovery, env),
    };
    let detail = if status == "ready" { missing(server, env).or(detail) } else { detail };
    StatusRow { name: server.name.clone(), status, detail }
}

/// The first value that cannot be filled in.
fn missing(server: &Server, env: &Env) -> Option<String> {
    let spec = server.definition.as_ref().ok()?;
    let (_, problems) = resolve::preview(&server.name, spec, &server.origin, env);
    problems.into_iter().next().map(|problem| problem.message)
}

fn readiness(server: &Server, discovery: &Discovery, env: &Env) -> (String, Option<String>) {
    let Ok(spec) = &server.definition else { return ("invalid".to_owned(), None) };
    match &spec.transport {
        // The program is this one.
        Transport::Stdio(_) if server.origin.provider == Provider::BuiltIn => ("ready".to_owned(), None),
        Transport::Stdio(stdio) => {
            match find_program(stdio, env, discovery.project.directory_of(&server.origin)) {
                Program::Found(path) => ("ready".to_owned(), Some(env.display(&path))),
                Program::NotFound => {
                    (format!("{} not found", switchboard::redact::word(stdio.command.raw())), None)
                }
                Program::Unknown => {
                    ("ready".to_owned(), Some("its command is known only at the start".to_owned()))
                }
            }
        }
        Transport::Remote(endpoint) => {
            let (name, origin) = (server.name.as_str(), &server.origin);
            let subject = Subject { name, spec, origin, project: &discovery.project, token: None };
            let (word, detail) = login::status(name, login::standing(env, &subject))
                .unwrap_or_else(|| ("ready", switchboard::redact::url(endpoint.url.raw())));
            (word.to_owned(), Some(detail))
        }
    }
}
