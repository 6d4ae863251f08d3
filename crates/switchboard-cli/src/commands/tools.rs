//! `tools`: the tools of every server, by the names a model sees.

use switchboard::catalog::{Catalog, Entry};
use switchboard::connect::Freshness;
use switchboard::session;
use switchboard::visible::excerpt;

use super::{Context, Outcome, online, s};
use crate::error::CommandError;
use crate::printer::{FAINT, STRONG, Volume};
use crate::report::{ErrorRow, ProblemRow, ToolRow, Toolbox};
use crate::table::{Cell, Table};

pub(super) fn run(context: &Context, servers: &[String], cached: bool) -> Result<Outcome, CommandError> {
    online::check(context, servers)?;
    let options = online::options(context, servers);
    if cached {
        let (discovery, mut catalog) = session::cached(&options);
        catalog.tools.retain(|entry| servers.is_empty() || servers.contains(&entry.server));
        show(context, &catalog, Vec::new())?;
        online::remarks(context, &discovery, &[]);
        return Ok(Outcome::Done);
    }
    online::with_session(context, options, async |session| {
        let errors = session.errors();
        let errors: Vec<_> = errors
            .into_iter()
            .filter(|error| {
                servers.is_empty() || error.server.as_ref().is_some_and(|name| servers.contains(name))
            })
            .collect();
        show(context, &session.catalog(), online::error_rows(&errors))?;
        online::remarks(context, &session.discovery(), &errors);
        online::verdict(session, &errors)
    })?;
    Ok(Outcome::Done)
}

fn show(context: &Context, catalog: &Catalog, errors: Vec<ErrorRow>) -> Result<(), CommandError> {
    if context.printer.json {
        let tools = catalog.tools.iter().map(ToolRow::from).collect();
        let problems = catalog.problems.iter().map(ProblemRow::from).collect();
        context.printer.json(&Toolbox { tools, errors, problems })?;
        return Ok(());
    }
    if catalog.tools.is_empty() {
        context.printer.remark("No tools.");
    } else {
        let mut table = Table::new(&[("NAME", 24), ("SERVER", 10), ("DOES", 30)]);
        for entry in &catalog.tools {
            table.row(row(entry));
        }
        context.printer.data(&table.lines(context.printer.width))?;
        context.printer.remark("");
        let servers: std::collections::BTreeSet<_> =
            catalog.tools.iter().map(|entry| &entry.server).collect();
        let (n, m) = (catalog.tools.len(), servers.len());
        context.printer.remark(&format!("{n} tool{} of {m} server{}", s(n), s(m)));
    }
    let problems: Vec<_> = catalog.problems.iter().collect();
    let most = if context.printer.volume == Volume::Verbose { usize::MAX } else { 8 };
    context.printer.problems(&problems, &context.env, most);
    Ok(())
}

fn row(entry: &Entry) -> Vec<Cell> {
    let words = entry.tool.title.as_deref().or(entry.tool.description.as_deref()).unwrap_or_default();
    let line = words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let note = match entry.freshness {
        Freshness::Live => String::new(),
        Freshness::Cached { .. } => " (as of last time)".to_owned(),
    };
    vec![
        Cell::styled(entry.name.clone(), STRONG),
        Cell::new(excerpt(&entry.server, 40)),
        Cell::styled(format!("{}{note}", excerpt(line, 120)), FAINT),
    ]
}
