//! `tools`: the tools of every server, by the names a model sees.

use std::time::SystemTime;

use switchboard::Code;
use switchboard::catalog::Entry;
use switchboard::connect::Freshness;
use switchboard::visible::excerpt;

use super::listing::{self, Lists, Shown};
use super::{Context, Outcome, s};
use crate::age::age;
use crate::args::Listing;
use crate::error::CommandError;
use crate::printer::{FAINT, STRONG, Volume};
use crate::report::{ProblemRow, ToolRow, Toolbox};
use crate::table::{Cell, Table};

pub(super) fn run(context: &Context, listing: &Listing) -> Result<Outcome, CommandError> {
    listing::run(context, listing, Lists::Tools, |shown| show(context, shown))
}

fn show(context: &Context, shown: &Shown<'_>) -> Result<(), CommandError> {
    let catalog = shown.catalog;
    if context.printer.json {
        let tools = catalog.tools.iter().map(ToolRow::from).collect();
        // Who waits for approval is missing from the list, and must be seen to be.
        let untrusted = shown.discovery.problems.iter().filter(|problem| problem.code == Code::Untrusted);
        let problems = catalog.problems.iter().chain(untrusted).map(ProblemRow::from).collect();
        context.printer.json(&Toolbox { tools, errors: &shown.errors, problems })?;
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
    // Of a list from last time, how old it is; of a live one nothing needs saying.
    let note = match entry.freshness {
        Freshness::Live => String::new(),
        Freshness::Cached { at } => match age(at, SystemTime::now()) {
            Some(age) => format!(" ({age} old)"),
            None => " (from just now)".to_owned(),
        },
    };
    vec![
        Cell::styled(entry.name.clone(), STRONG),
        Cell::new(excerpt(&entry.server, 40)),
        Cell::styled(format!("{}{note}", excerpt(line, 120)), FAINT),
    ]
}
