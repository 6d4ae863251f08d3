//! `tools`: the tools of every server, by the names a model sees.

use std::time::SystemTime;

use switchboard::catalog::{Catalog, Entry};
use switchboard::connect::Freshness;
use switchboard::session;
use switchboard::visible::excerpt;
use switchboard::{Code, Discovery};

use super::{Context, Outcome, online, s};
use crate::error::CommandError;
use crate::printer::{FAINT, STRONG, Volume};
use crate::report::{ErrorRow, ProblemRow, ToolRow, Toolbox};
use crate::table::{Cell, Table};

/// Whom to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// Nobody: what is known from last time will do.
    Nobody,
    /// Those who answer soon.
    Quick,
    /// Everybody.
    All,
}

impl Ask {
    pub(super) const fn new(cached: bool, wait: bool) -> Self {
        match (cached, wait) {
            (true, _) => Self::Nobody,
            (false, true) => Self::All,
            (false, false) => Self::Quick,
        }
    }
}

pub(super) fn run(context: &Context, servers: &[String], ask: Ask) -> Result<Outcome, CommandError> {
    online::check(context, servers)?;
    let options = online::options(context, servers);
    if ask == Ask::Nobody {
        let (discovery, catalog) = session::cached(&options);
        show(context, &catalog, &discovery, Vec::new())?;
        online::remarks(context, &discovery, &[]);
        return Ok(Outcome::Done);
    }
    online::with_session(context, options, async |session, _| {
        if ask == Ask::All {
            session.settled(None).await;
        }
        let errors = session.errors();
        let errors: Vec<_> = errors
            .into_iter()
            .filter(|error| {
                servers.is_empty() || error.server.as_ref().is_some_and(|name| servers.contains(name))
            })
            .collect();
        let discovery = session.discovery();
        show(context, &session.catalog(), &discovery, online::error_rows(&errors))?;
        online::stale(context, session);
        online::remarks(context, &session.discovery(), &errors);
        online::verdict(session, &errors)
    })?;
    Ok(Outcome::Done)
}

fn show(
    context: &Context,
    catalog: &Catalog,
    discovery: &Discovery,
    errors: Vec<ErrorRow>,
) -> Result<(), CommandError> {
    if context.printer.json {
        let tools = catalog.tools.iter().map(ToolRow::from).collect();
        // Who waits for approval is missing from the list, and must be seen to be.
        let untrusted = discovery.problems.iter().filter(|problem| problem.code == Code::Untrusted);
        let problems = catalog.problems.iter().chain(untrusted).map(ProblemRow::from).collect();
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
    // Of a list from last time, how old it is; of a live one nothing needs saying.
    let note = match entry.freshness {
        Freshness::Live => String::new(),
        Freshness::Cached { at } => format!(" ({})", age(at)),
    };
    vec![
        Cell::styled(entry.name.clone(), STRONG),
        Cell::new(excerpt(&entry.server, 40)),
        Cell::styled(format!("{}{note}", excerpt(line, 120)), FAINT),
    ]
}

/// How long ago, in the largest unit that fits.
fn age(at: SystemTime) -> String {
    let seconds = SystemTime::now().duration_since(at).unwrap_or_default().as_secs();
    match seconds {
        0..60 => "from just now".to_owned(),
        60..3600 => format!("{} min old", seconds / 60),
        3600..86_400 => format!("{} h old", seconds / 3600),
        _ => format!("{} d old", seconds / 86_400),
    }
}
