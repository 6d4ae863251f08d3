//! How the servers of a session stand: `/mcp list` and `/mcp status`.

use anstyle::Style;
use switchboard::connect::Status;
use switchboard::session::ServerReport;
use switchboard::visible::{excerpt, shell_word};
use switchboard::{Discovery, Server, Severity, State};

use super::turn::Turn;
use super::{Front, changes};
use crate::commands::list::place_of;
use crate::commands::{ADD_ONE, online, s, unknown_server};
use crate::error::CommandError;
use crate::printer::{BAD, FAINT, GOOD, STRONG, WAITING};
use crate::report::ServerRow;
use crate::table::{Cell, Table};

/// How a server stands, with the mark and colour for it.
pub(super) struct Standing {
    pub(super) mark: char,
    pub(super) word: &'static str,
    pub(super) style: Style,
}

/// How a status looks.
pub(super) const fn standing(status: &Status) -> Standing {
    let (mark, style) = match status {
        Status::Connected => ('●', GOOD),
        Status::Connecting | Status::Waiting(_) => ('◌', WAITING),
        Status::Dormant | Status::Stopped => ('○', FAINT),
        Status::NeedsLogin(_) => ('▲', WAITING),
        Status::Failed(_) | Status::Suspended(_) => ('✗', BAD),
    };
    Standing { mark, word: status.as_str(), style }
}

/// How a server that the session does not run looks.
const fn idle(state: State) -> Standing {
    let (mark, style) = match state {
        State::Untrusted => ('▲', WAITING),
        State::Invalid => ('✗', BAD),
        State::Disabled | State::Enabled => ('○', FAINT),
    };
    Standing { mark, word: state.as_str(), style }
}

/// One server with what the session knows of it.
struct Row<'d> {
    server: &'d Server,
    report: Option<&'d ServerReport>,
}

impl Row<'_> {
    fn standing(&self) -> Standing {
        self.report.map_or_else(|| idle(self.server.state()), |report| standing(&report.status))
    }

    fn status(&self) -> Cell {
        let Standing { mark, word, style } = self.standing();
        Cell::styled(format!("{mark} {word}"), style)
    }

    /// Why it does not work, or what to do.
    fn detail(&self) -> Option<String> {
        let word = shell_word(&self.server.name);
        match (self.report.map(|report| &report.status), self.server.state(), &self.server.definition) {
            (Some(Status::NeedsLogin(_)), ..) => Some(format!("log in: /mcp reauth {word}")),
            (Some(status), ..) => {
                let fault = status.fault()?;
                let hint = fault.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
                Some(format!("{}{hint}", fault.message))
            }
            (None, State::Disabled, _) => Some(format!("/mcp enable {word}")),
            (None, State::Untrusted, _) => Some(format!("/mcp trust {word}")),
            (None, State::Invalid, Err(reason)) => Some(reason.clone()),
            (None, ..) => None,
        }
    }
}

fn rows<'d>(discovery: &'d Discovery, reports: &'d [ServerReport]) -> Vec<Row<'d>> {
    let report = |server: &Server| reports.iter().find(|report| report.name == server.name);
    discovery.servers.iter().map(|server| Row { server, report: report(server) }).collect()
}

pub(super) async fn list<F: Front>(turn: &mut Turn<'_, F>) -> Result<(), CommandError> {
    let session = turn.session.clone();
    let pending = turn.wait("reading the configuration", changes::pending(&session)).await?;
    let (discovery, reports) = (turn.session.discovery(), turn.session.servers());
    let printer = &turn.context.printer;
    let rows = rows(&discovery, &reports);
    if rows.is_empty() {
        printer.remark("No servers found.");
        printer.remark(ADD_ONE);
        return Ok(());
    }
    let columns = [("NAME", 12), ("STATUS", 14), ("TOOLS", 5), ("TYPE", 5), ("WHERE", 16)];
    let mut table = Table::new(&columns).keep(2);
    for row in &rows {
        let shown = ServerRow::from(row.server);
        let counted = row.report.filter(|report| report.n_tools > 0 || report.status == Status::Connected);
        let tools = counted.map(|report| report.n_tools.to_string()).unwrap_or_default();
        table.row(vec![
            Cell::styled(excerpt(&row.server.name, 100), STRONG),
            row.status(),
            Cell::new(tools),
            Cell::new(shown.transport.unwrap_or("-")),
            Cell::styled(place_of(&turn.context, &shown.origin), FAINT),
        ]);
    }
    printer.data(&table.lines(printer.width))?;
    printer.remark("");
    printer.remark(&summary(&rows));
    for row in rows.iter().filter(|row| !matches!(row.server.state(), State::Disabled | State::Untrusted)) {
        if let Some(detail) = row.detail() {
            let Standing { mark, style, .. } = row.standing();
            let name = excerpt(&row.server.name, 60);
            printer.remark_styled(&format!("{style}{mark} {name}{style:#}: {}", excerpt(&detail, 400)));
        }
    }
    online::say_who_waits(&turn.context, &discovery);
    let n = discovery.problems.iter().filter(|problem| problem.severity() < Severity::Note).count();
    if n > 0 {
        printer.remark(&format!("{n} problem{}: /mcp doctor", s(n)));
    }
    if let Some(pending) = pending {
        printer.remark(&pending);
    }
    Ok(())
}

/// How many stand where.
fn summary(rows: &[Row<'_>]) -> String {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for row in rows {
        let word = row.standing().word;
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let order = ["connected", "connecting", "disconnected", "needs login", "failed", "suspended"];
    counts.sort_by_key(|(word, _)| order.iter().position(|known| known == word).unwrap_or(order.len()));
    let parts: Vec<String> = counts.into_iter().map(|(word, count)| format!("{count} {word}")).collect();
    format!("{} server{}: {}", rows.len(), s(rows.len()), parts.join(", "))
}

pub(super) fn status<F: Front>(turn: &Turn<'_, F>, names: &[String]) -> Result<(), CommandError> {
    let (discovery, reports) = (turn.session.discovery(), turn.session.servers());
    if let Some(name) = names.iter().find(|name| discovery.server(name).is_none()) {
        return Err(unknown_server(&discovery, name));
    }
    let catalog = turn.session.catalog();
    let mut table = Table::new(&[("NAME", 12), ("STATUS", 14), ("DETAIL", 16)]).keep(2).wrap_last();
    let rows = rows(&discovery, &reports);
    for row in rows.iter().filter(|row| names.is_empty() || names.contains(&row.server.name)) {
        let name = &row.server.name;
        let detail = row.detail().or_else(|| {
            let n_tools = row.report.filter(|report| report.status == Status::Connected)?.n_tools;
            let count = |servers: &mut dyn Iterator<Item = &String>| servers.filter(|of| *of == name).count();
            let n_resources = count(&mut catalog.resources.iter().map(|of| &of.server));
            let n_prompts = count(&mut catalog.prompts.iter().map(|of| &of.server));
            let counts = [(n_tools, "tool"), (n_resources, "resource"), (n_prompts, "prompt")];
            let parts = counts.iter().filter(|(n, what)| *n > 0 || *what == "tool");
            Some(parts.map(|(n, what)| format!("{n} {what}{}", s(*n))).collect::<Vec<_>>().join(", "))
        });
        table.row(vec![
            Cell::styled(excerpt(name, 100), STRONG),
            row.status(),
            Cell::new(excerpt(&detail.unwrap_or_default(), 400)),
        ]);
    }
    let printer = &turn.context.printer;
    Ok(printer.data(&table.lines(printer.width))?)
}
