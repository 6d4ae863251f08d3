//! What `tools`, `resources` and `prompts` share: whom to ask, what is said of the rest, and the verdict.

use std::collections::BTreeMap;
use std::time::SystemTime;

use switchboard::catalog::Catalog;
use switchboard::connect::Freshness;
use switchboard::session::{self, LoadError, ServerReport, Session};
use switchboard::visible::{excerpt, shell_word};
use switchboard::{Discovery, State};

use super::online::{self, Wait};
use super::{Context, Outcome};
use crate::age::age;
use crate::args::Listing;
use crate::error::{CommandError, Kind};
use crate::report::ErrorRow;

/// Which lists of a server are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    /// The tools, which every server is asked for first.
    Tools,
    /// The others, which come after them.
    Others,
}

/// What is to be shown.
pub(super) struct Shown<'s> {
    pub(super) catalog: &'s Catalog,
    pub(super) discovery: &'s Discovery,
    pub(super) errors: Vec<ErrorRow>,
}

/// Asks the servers, shows what they offer, says what is wrong with the rest, and judges.
pub(super) fn run(
    context: &Context,
    listing: &Listing,
    lists: Lists,
    show: impl Fn(&Shown<'_>) -> Result<(), CommandError>,
) -> Result<Outcome, CommandError> {
    let servers = &listing.servers;
    online::check(context, servers)?;
    let options = online::options(context, servers);
    if listing.cached {
        let (discovery, catalog) = session::cached(&options);
        show(&Shown { catalog: &catalog, discovery: &discovery, errors: Vec::new() })?;
        let known = seen(&catalog, |_| true);
        if !known.is_empty() {
            context.printer.remark(&format!("As of last time: {}", known.join(", ")));
        }
        online::say_what_is_lost(context, &discovery);
        if servers.is_empty() {
            online::say_who_waits(context, &discovery);
        }
        return Ok(Outcome::Done);
    }
    online::with_session(context, options, Wait::Correct, async |session, progress| {
        if listing.wait {
            session.settled(None).await;
        }
        if lists == Lists::Others {
            session.listed().await;
        }
        let discovery = session.discovery();
        online::until(session, |reports| is_decided(&discovery, reports)).await;
        progress.end();
        let is_meant = |error: &LoadError| {
            servers.is_empty() || error.server.as_ref().is_some_and(|name| servers.contains(name))
        };
        let errors: Vec<LoadError> = session.errors().into_iter().filter(is_meant).collect();
        show(&Shown {
            catalog: &session.catalog(),
            discovery: &discovery,
            errors: online::error_rows(&errors),
        })?;
        say_who_is_late(context, session);
        online::say_errors(context, &errors);
        online::say_what_is_lost(context, &discovery);
        if servers.is_empty() {
            online::say_who_waits(context, &discovery);
        }
        verdict(&discovery, &session.servers(), servers)
    })?;
    Ok(Outcome::Done)
}

/// Says whose lists are not live.
fn say_who_is_late(context: &Context, session: &Session) {
    let reports = session.servers();
    let late = reports.iter().filter(|report| !report.status.is_settled());
    let late: Vec<&str> = late.map(|report| report.name.as_str()).collect();
    if !late.is_empty() {
        let known = seen(&session.catalog(), |name| late.contains(&name));
        let names = if known.is_empty() { excerpt(&late.join(", "), 200) } else { known.join(", ") };
        context.printer.remark(&format!("Not answered yet, shown as of last time: {names}"));
        context.printer.remark("  hint: --wait waits for them");
    }
}

/// The servers whose tools are from last time, and how old that is.
fn seen(catalog: &Catalog, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let now = SystemTime::now();
    let mut ages: BTreeMap<&str, String> = BTreeMap::new();
    for entry in catalog.tools.iter().filter(|entry| is_meant(&entry.server)) {
        if let Freshness::Cached { at } = entry.freshness {
            let age = age(at, now).map_or("just now".to_owned(), |age| format!("{age} ago"));
            ages.entry(&entry.server).or_insert(age);
        }
    }
    ages.into_iter().map(|(server, age)| format!("{} ({age})", excerpt(server, 60))).collect()
}

/// Whether it was up, or rests until it is needed.
fn has_answered(report: &ServerReport) -> bool {
    report.status.is_settled() && report.status.fault().is_none()
}

/// Whether it is clear how this ends: a required server is waited for, and so is the first that answers.
fn is_decided(discovery: &Discovery, reports: &[ServerReport]) -> bool {
    let is_required =
        |report: &ServerReport| discovery.server(&report.name).is_some_and(|server| server.required);
    let waits = |report: &ServerReport| !report.status.is_settled() && is_required(report);
    let all_settled = reports.iter().all(|report| report.status.is_settled());
    all_settled || (reports.iter().any(has_answered) && !reports.iter().any(waits))
}

/// Fails when a required server is missing. One that is switched off is missed by nobody.
pub(super) fn required(
    discovery: &Discovery,
    reports: &[ServerReport],
    servers: &[String],
) -> Result<(), CommandError> {
    let wanted =
        discovery.servers.iter().filter(|server| servers.is_empty() || servers.contains(&server.name));
    for server in wanted.filter(|server| server.required) {
        let word = shell_word(&server.name);
        let report = reports.iter().find(|report| report.name == server.name);
        let (what, hint) = match server.state() {
            State::Disabled => continue,
            State::Untrusted => ("is not approved", format!("switchboard trust {word}")),
            State::Invalid => ("cannot be used as it is written", format!("switchboard why {word}")),
            State::Enabled if report.is_some_and(has_answered) => continue,
            State::Enabled => ("did not answer", format!("switchboard test {word}")),
        };
        let message = format!("the required server \"{}\" {what}", server.name);
        let error = CommandError::new(Kind::Unreachable, "required-server", message);
        return Err(error.server(&server.name).hint(hint));
    }
    Ok(())
}

/// A list succeeds when at least one server answered and no required one is missing. One that waits for approval is missed
/// only if it is required.
fn verdict(discovery: &Discovery, reports: &[ServerReport], servers: &[String]) -> Result<(), CommandError> {
    required(discovery, reports, servers)?;
    let wanted =
        discovery.servers.iter().filter(|server| servers.is_empty() || servers.contains(&server.name));
    let n_invalid = wanted.filter(|server| server.state() == State::Invalid).count();
    if reports.iter().any(has_answered) || reports.len() + n_invalid == 0 {
        return Ok(());
    }
    Err(CommandError::new(Kind::Unreachable, "no-server-answered", "no server answered")
        .hint("see what is wrong: switchboard doctor --connect, or switchboard test NAME"))
}
