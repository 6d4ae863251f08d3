//! `list`: every server found, its state and where it stands.

use switchboard::{Discovery, Provider, Severity, State};

use switchboard::config::Because;

use super::online::MOST_PROBLEMS;
use super::{ADD_ONE, Context, Outcome, s};
use crate::error::CommandError;
use crate::printer::{BAD, FAINT, GOOD, STRONG, Volume, WAITING};
use crate::report::{List, OriginRow, ProblemRow, ServerRow};
use crate::table::{Cell, Table};

/// With so many columns left, there is room for the command or address.
const ROOM: usize = 24;

pub(super) fn run(context: &Context, all: bool) -> Result<Outcome, CommandError> {
    let discovery = context.discover();
    let servers = rows(&discovery, all);
    if context.printer.json {
        let problems = discovery.problems.iter().map(ProblemRow::from).collect();
        context.printer.json(&List { servers, problems })?;
        return Ok(Outcome::Done);
    }
    if servers.is_empty() {
        context.printer.remark("No servers found.");
        if discovery.shadowed.iter().any(|aside| aside.because == Because::Overridden) {
            let n = discovery.shadowed.len();
            context.printer.remark(&format!("SWITCHBOARD_MCP_SERVERS replaces {n} definition{}.", s(n)));
        }
        context.printer.remark(ADD_ONE);
    } else {
        context.printer.data(&lines(context, &servers))?;
        context.printer.remark("");
        context.printer.remark(&summary(&discovery));
    }
    remarks(context, &discovery);
    Ok(Outcome::Done)
}

pub(super) fn rows(discovery: &Discovery, all: bool) -> Vec<ServerRow> {
    let mut servers: Vec<ServerRow> = discovery.servers.iter().map(ServerRow::from).collect();
    if all {
        servers.extend(discovery.shadowed.iter().map(ServerRow::from));
        // Stable: the one that counts stays before those it shadows.
        servers.sort_by(|left, right| left.name.cmp(&right.name));
    }
    servers
}

fn lines(context: &Context, rows: &[ServerRow]) -> Vec<String> {
    let mut table = Table::new(&[("NAME", 12), ("STATE", 9), ("TYPE", 5), ("WHERE", 20)]);
    for row in rows {
        let style = match row.state {
            "enabled" => GOOD,
            "untrusted" => WAITING,
            "invalid" => BAD,
            _ => FAINT,
        };
        table.row(vec![
            Cell::styled(switchboard::visible::excerpt(&row.name, 100), STRONG),
            Cell::styled(row.state, style),
            Cell::new(row.transport.unwrap_or("-")),
            Cell::new(place_of(context, &row.origin)),
        ]);
    }
    let has_room = context.printer.width.is_none_or(|width| table.width() + ROOM <= width);
    if has_room {
        let targets = rows.iter().map(|row| Cell::styled(row.target(), FAINT));
        table.column("RUNS", ROOM, targets);
    }
    table.lines(context.printer.width)
}

/// File and line as people write them.
pub(crate) fn place_of(context: &Context, origin: &OriginRow) -> String {
    match (&origin.path, origin.line) {
        (Some(path), Some(line)) => format!("{}:{line}", context.env.display(path.as_ref())),
        (Some(path), None) => context.env.display(path.as_ref()),
        (None, _) if origin.provider == "builtin" => "built in".to_owned(),
        (None, _) => "SWITCHBOARD_MCP_SERVERS".to_owned(),
    }
}

fn summary(discovery: &Discovery) -> String {
    let count = |state: State| discovery.servers.iter().filter(|server| server.state() == state).count();
    let total = discovery.servers.len();
    let mut parts = Vec::new();
    for state in [State::Enabled, State::Untrusted, State::Disabled, State::Invalid] {
        match count(state) {
            0 => {}
            n => parts.push(format!("{n} {}", state.as_str())),
        }
    }
    let mut text = format!("{total} server{}: {}", s(total), parts.join(", "));
    if !discovery.shadowed.is_empty() {
        let n = discovery.shadowed.len();
        let verb = if n == 1 { "does" } else { "do" };
        text.push_str(&format!("; {n} more {verb} not count (list --all)"));
    }
    text
}

/// What waits for consent, and what is wrong.
fn remarks(context: &Context, discovery: &Discovery) {
    let waiting: Vec<_> = discovery
        .servers
        .iter()
        // Built-in servers that nobody asked for need not be approved.
        .filter(|server| server.state() == State::Untrusted && server.origin.provider != Provider::BuiltIn)
        .map(|server| switchboard::visible::shell_word(&server.name))
        .collect();
    if !waiting.is_empty() {
        let wait = if waiting.len() == 1 { "waits" } else { "wait" };
        context.printer.remark_styled(&format!(
            "{WAITING}{} server{} {wait} for your approval{WAITING:#}: {}",
            waiting.len(),
            s(waiting.len()),
            super::trust::how_to_approve(&waiting)
        ));
    }
    let shown: Vec<_> = discovery
        .problems
        .iter()
        .filter(|problem| problem.severity() < Severity::Note || context.printer.volume == Volume::Verbose)
        .collect();
    let most = if context.printer.volume == Volume::Verbose { usize::MAX } else { MOST_PROBLEMS };
    context.printer.problems(&shown, &context.env, most);
}
