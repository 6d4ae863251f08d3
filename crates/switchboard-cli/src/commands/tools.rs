//! `tools`: the tools of every server, by the names a model sees.

use std::collections::{BTreeMap, BTreeSet};

use switchboard::catalog::{Catalog, Entry, Rule};
use switchboard::visible::excerpt;
use switchboard::{Code, Problem};

use super::listing::{self, Lists, Shown};
use super::online::MOST_PROBLEMS;
use super::{ADD_ONE, Context, Outcome, s};
use crate::args::Listing;
use crate::error::CommandError;
use crate::printer::{FAINT, STRONG, Volume};
use crate::report::{LeftOutRow, ProblemRow, ToolRow, Toolbox};
use crate::table::{Cell, Table};

/// Columns that the rest of a line needs to make sense.
const ROOM: usize = 24;

pub(super) fn run(context: &Context, listing: &Listing) -> Result<Outcome, CommandError> {
    listing::run(context, listing, Lists::Tools, |shown| show(context, listing, shown))
}

fn show(context: &Context, listing: &Listing, shown: &Shown<'_>) -> Result<(), CommandError> {
    let catalog = shown.catalog;
    if context.printer.json {
        let tools = catalog.tools.iter().map(ToolRow::from).collect();
        // Who waits for approval is missing from the list, and must be seen to be. So is what stands in a broken file.
        let waits = |problem: &&Problem| problem.code == Code::Untrusted && listing.servers.is_empty();
        let untrusted = shown.discovery.problems.iter().filter(waits);
        let missing = shown.discovery.lost_files().chain(untrusted);
        let problems = catalog.problems.iter().chain(missing).map(ProblemRow::from).collect();
        let left_out = catalog.left_out().iter().map(LeftOutRow::from).collect();
        context.printer.json(&Toolbox { tools, left_out, errors: &shown.errors, problems })?;
        return Ok(());
    }
    if catalog.tools.is_empty() {
        context.printer.remark("No tools.");
        if shown.discovery.servers.is_empty() {
            context.printer.remark(ADD_ONE);
        }
    } else {
        context.printer.data(&table(catalog, context.printer.width).lines(context.printer.width))?;
        context.printer.remark("");
        let servers: BTreeSet<_> = catalog.tools.iter().map(|entry| &entry.server).collect();
        let (n, m) = (catalog.tools.len(), servers.len());
        context.printer.remark(&format!("{n} tool{} of {m} server{}", s(n), s(m)));
    }
    if context.printer.volume == Volume::Verbose {
        say_what_is_left_out(context, catalog);
    }
    let problems: Vec<_> = catalog.problems.iter().collect();
    let most = if context.printer.volume == Volume::Verbose { usize::MAX } else { MOST_PROBLEMS };
    context.printer.problems(&problems, &context.env, most);
    Ok(())
}

/// Says which tools the rules leave out, one line a server.
fn say_what_is_left_out(context: &Context, catalog: &Catalog) {
    let mut servers: BTreeMap<&str, BTreeMap<Rule, BTreeSet<&str>>> = BTreeMap::new();
    for left_out in catalog.left_out() {
        let rules = servers.entry(&left_out.raw.server).or_default();
        rules.entry(left_out.by).or_default().insert(&left_out.raw.tool);
    }
    for (server, rules) in servers {
        let rules = rules.into_iter().map(|(rule, tools)| {
            let tools: Vec<_> = tools.into_iter().map(|tool| excerpt(tool, 80)).collect();
            format!("by `{}`: {}", rule.as_str(), tools.join(", "))
        });
        let rules: Vec<_> = rules.collect();
        context.printer.remark(&format!("Left out of {} {}", excerpt(server, 60), rules.join("; ")));
    }
}

/// On a narrow terminal the server is left out: it is part of the name.
fn table(catalog: &Catalog, width: Option<usize>) -> Table {
    let widest =
        |text: fn(&Entry) -> &str| catalog.tools.iter().map(|entry| text(entry).len()).max().unwrap_or(0);
    let (names, servers) = (widest(|entry| &entry.name), widest(|entry| &entry.server));
    if width.is_none_or(|width| names + servers + ROOM <= width) {
        let mut table = Table::new(&[("NAME", 24), ("SERVER", 10), ("DOES", 20)]).keep(1);
        for entry in &catalog.tools {
            table.row(vec![name(entry), Cell::new(excerpt(&entry.server, 40)), does(entry)]);
        }
        return table;
    }
    let mut table = Table::new(&[("NAME", 24), ("DOES", 10)]).keep(1);
    for entry in &catalog.tools {
        table.row(vec![name(entry), does(entry)]);
    }
    table
}

pub(crate) fn name(entry: &Entry) -> Cell {
    Cell::styled(entry.name.clone(), STRONG)
}

pub(crate) fn does(entry: &Entry) -> Cell {
    let words = entry.tool.title.as_deref().or(entry.tool.description.as_deref()).unwrap_or_default();
    let line = words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Cell::styled(excerpt(line, 120), FAINT)
}
