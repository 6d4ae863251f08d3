//! `status`: could each server start? Looks, never connects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use switchboard::catalog::Catalog;
use switchboard::config::Transport;
use switchboard::connect::Freshness;
use switchboard::declared::Auth;
use switchboard::resolve::{self, Program, Subject, find_program};
use switchboard::visible::{excerpt, shell_word};
use switchboard::wire::LastFault;
use switchboard::{Discovery, Env, Server, ServerSpec, State, session};

use super::running::{self, Running};
use super::{ADD_ONE, Context, Outcome, is_this_program, login, online, s, unknown_server};
use crate::age::{age, ago};
use crate::control::Reply;
use crate::error::CommandError;
use crate::printer::{BAD, FAINT, GOOD, STRONG, WAITING};
use crate::report::{ProblemRow, Status, StatusRow};
use crate::table::{Cell, Table};

const READY: &str = "ready";
const NEEDS_LOGIN: &str = "needs login";
const FAILED: &str = "failed";

/// What is known of a server from last time.
struct LastTime<'a> {
    /// What it offered, in words.
    seen: Option<&'a String>,
    /// Why it did not work.
    fault: Option<&'a LastFault>,
    now: SystemTime,
}

/// What was found, and how each of these servers could start, or all.
pub(super) fn rows(
    context: &Context,
    names: &[String],
) -> Result<(Arc<Discovery>, Vec<StatusRow>), CommandError> {
    let options = online::options(context, &[]);
    let (discovery, catalog) = session::cached(&options);
    online::say_where_it_may_be(context, &discovery, names);
    for name in names {
        if discovery.server(name).is_none() {
            return Err(unknown_server(&discovery, name));
        }
    }
    let now = SystemTime::now();
    let (seen, faults) = (seen(&catalog, now), session::last_faults(&options, &discovery));
    let servers = discovery.servers.iter().filter(|server| names.is_empty() || names.contains(&server.name));
    let row = |server: &Server| {
        let name = server.name.as_str();
        let last_time = LastTime { seen: seen.get(name), fault: faults.get(name), now };
        row(server, &discovery, &context.env, &last_time)
    };
    let rows = servers.map(row).collect();
    Ok((discovery, rows))
}

pub(super) fn run(context: &Context, names: &[String]) -> Result<Outcome, CommandError> {
    let (discovery, servers) = rows(context, names)?;
    let mut running = running::standing(context);
    for answer in &mut running.answers {
        if let Reply::Status(standing) = &mut answer.reply {
            standing.servers.retain(|row| names.is_empty() || names.contains(&row.name));
        }
    }
    let problems = discovery.lost_files().map(ProblemRow::from).collect();
    let running_rows = running.answers.iter().map(running::flat).collect();
    let report = Status { servers, running: running_rows, problems };
    if context.printer.json {
        context.printer.json(&report)?;
        return Ok(Outcome::Done);
    }
    if report.servers.is_empty() {
        context.printer.remark("No servers found.");
        context.printer.remark(ADD_ONE);
        online::say_what_is_lost(context, &discovery);
        return Ok(Outcome::Done);
    }
    let mut table = Table::new(&[("NAME", 12), ("STATUS", 14), ("DETAIL", 16)]).keep(2).wrap_last();
    for row in &report.servers {
        let style = match row.status.as_str() {
            READY => GOOD,
            "disabled" => FAINT,
            "untrusted" | NEEDS_LOGIN => WAITING,
            _ => BAD,
        };
        table.row(vec![
            Cell::styled(excerpt(&row.name, 100), STRONG),
            Cell::styled(row.status.clone(), style),
            Cell::new(excerpt(row.detail.as_deref().unwrap_or_default(), 300)),
        ]);
    }
    context.printer.data(&table.lines(context.printer.width))?;
    context.printer.remark("");
    context.printer.remark(&summary(&report.servers));
    live(context, &running)?;
    online::say_what_is_lost(context, &discovery);
    Ok(Outcome::Done)
}

/// Sessions and gateways that run, a line each.
fn live(context: &Context, running: &Running) -> Result<(), CommandError> {
    let mut lines = Vec::new();
    for answer in &running.answers {
        let Reply::Status(standing) = &answer.reply else { continue };
        let mut parts = Vec::new();
        for state in ["connected", "connecting", "needs login", "failed", "suspended", "disconnected"] {
            let there: Vec<String> = standing
                .servers
                .iter()
                .filter(|row| row.status == state)
                .map(|row| excerpt(&row.name, 60))
                .collect();
            if !there.is_empty() {
                parts.push(format!("{state}: {}", there.join(", ")));
            }
        }
        if let Some(clients) = standing.clients {
            parts.push(format!("{clients} client{}", s(clients)));
        }
        lines.push(format!("{} runs; {}", answer.who.words(&context.env), parts.join("; ")));
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    context.printer.data(&lines)?;
    for pid in &running.silent {
        context.printer.remark(&format!("process {pid} does not answer"));
    }
    Ok(())
}

/// How many of each there are.
fn summary(rows: &[StatusRow]) -> String {
    let mut parts = Vec::new();
    for status in [READY, FAILED, NEEDS_LOGIN, "untrusted", "disabled", "invalid"] {
        match rows.iter().filter(|row| row.status == status).count() {
            0 => {}
            n if n > 1 && status == NEEDS_LOGIN => parts.push(format!("{n} need login")),
            n => parts.push(format!("{n} {status}")),
        }
    }
    match rows.iter().filter(|row| row.status.ends_with(" not found")).count() {
        0 => {}
        n => parts.push(format!("{n} not found")),
    }
    format!("{} server{}: {}", rows.len(), s(rows.len()), parts.join(", "))
}

/// What each server offered last time, in words.
fn seen(catalog: &Catalog, now: SystemTime) -> BTreeMap<&str, String> {
    let mut counts: BTreeMap<&str, (usize, SystemTime)> = BTreeMap::new();
    for entry in &catalog.tools {
        if let Freshness::Cached { at } = entry.freshness {
            counts.entry(&entry.server).or_insert((0, at)).0 += 1;
        }
    }
    let words = |(n, at)| match age(at, now) {
        Some(age) => format!("{n} tool{}, seen {age} ago", s(n)),
        None => format!("{n} tool{}, seen just now", s(n)),
    };
    counts.into_iter().map(|(server, seen)| (server, words(seen))).collect()
}

fn row(server: &Server, discovery: &Discovery, env: &Env, last_time: &LastTime<'_>) -> StatusRow {
    let word = shell_word(&server.name);
    let (status, detail) = match (server.state(), &server.definition) {
        (State::Disabled, _) => ("disabled".to_owned(), Some(format!("switchboard enable {word}"))),
        (State::Untrusted, _) => ("untrusted".to_owned(), Some(format!("switchboard trust {word}"))),
        (State::Invalid, Err(reason)) => ("invalid".to_owned(), Some(reason.clone())),
        (State::Invalid, Ok(_)) | (State::Enabled, Err(_)) => ("invalid".to_owned(), None),
        (State::Enabled, Ok(spec)) => readiness(server, spec, discovery, env, last_time),
    };
    StatusRow { name: server.name.clone(), status, detail }
}

/// Of an approved server: what is missing, or else what is known of it.
fn readiness(
    server: &Server,
    spec: &ServerSpec,
    discovery: &Discovery,
    env: &Env,
    last_time: &LastTime<'_>,
) -> (String, Option<String>) {
    let missing = missing(server, spec, env);
    let place = match &spec.transport {
        Transport::Stdio(_) if is_this_program(server) => None,
        Transport::Stdio(stdio) => {
            let directory = discovery.project.directory_of(&server.origin);
            match find_program(stdio, env, directory) {
                Program::Found(path) => Some(env.display(&path)),
                Program::NotFound => {
                    let command = stdio.command.raw();
                    let is_path = command.contains(['/', '\\']);
                    let detail = if is_path { "check the path" } else { "install it, or give its full path" };
                    let status = format!("{} not found", switchboard::redact::word(command));
                    let line_hint = resolve::line_hint(stdio, env, directory);
                    return (status, Some(line_hint.unwrap_or_else(|| detail.to_owned())));
                }
                Program::Unknown => Some("its command is known only at the start".to_owned()),
            }
        }
        Transport::Remote(endpoint) => {
            let (name, origin) = (server.name.as_str(), &server.origin);
            let subject = Subject { name, spec, origin, project: &discovery.project, token: None };
            match login::status(name, login::standing(env, &subject)) {
                Some((NEEDS_LOGIN, detail)) => return (NEEDS_LOGIN.to_owned(), Some(detail)),
                // Who is logged in matters more than what was seen last time. It may have been before the login.
                Some(_) if last_time.fault.is_some_and(|fault| !fault.needs_login) => None,
                Some((_, detail)) => return (READY.to_owned(), missing.or(Some(detail))),
                None => Some(switchboard::redact::url(endpoint.url.raw())),
            }
        }
    };
    match &spec.conduct.auth {
        Some(Auth::Bearer { token_env }) if env.non_empty(token_env).is_none() => {
            return (NEEDS_LOGIN.to_owned(), missing);
        }
        _ => {}
    }
    match last_time.fault {
        Some(fault) => not_working(server, fault, missing, last_time.now),
        None => (READY.to_owned(), missing.or_else(|| last_time.seen.cloned()).or(place)),
    }
}

/// Of a server that did not work when it was last tried. What is missing may be why.
fn not_working(
    server: &Server,
    fault: &LastFault,
    missing: Option<String>,
    now: SystemTime,
) -> (String, Option<String>) {
    let when = ago(fault.at, now);
    let (status, what) = if fault.needs_login {
        let how = format!("switchboard reauth {}", shell_word(&server.name));
        (NEEDS_LOGIN, format!("it asked for a login {when}: {how}"))
    } else {
        (FAILED, format!("{when}: {}", fault.message))
    };
    let detail = [Some(what), missing].into_iter().flatten().collect::<Vec<_>>().join("; ");
    (status.to_owned(), Some(detail))
}

/// What cannot be filled in.
fn missing(server: &Server, spec: &ServerSpec, env: &Env) -> Option<String> {
    let problems = resolve::unresolved(&server.name, spec, &server.origin, env);
    let first = problems.first()?.message.clone();
    Some(match problems.len() - 1 {
        0 => first,
        more => format!("{first}; and {more} more: switchboard why {}", shell_word(&server.name)),
    })
}
