//! What commands that use all servers share: the session, the wait with a sign of life, and what is said of the rest.

use std::collections::BTreeSet;
use std::sync::Arc;

use switchboard::connect::Persistence;
use switchboard::session::{Gate, LoadError, Options, Session};
use switchboard::visible::excerpt;
use switchboard::{Discovery, Provider, State};

use super::{Context, connection, s, trust, unknown_server};
use crate::error::{CommandError, Kind};
use crate::printer::Volume;
use crate::progress::Progress;
use crate::report::ErrorRow;

/// A session for one job.
pub(super) fn options(context: &Context, servers: &[String]) -> Options {
    let mut options = Options::headless(context.env.clone());
    options.discovery = context.options;
    options.guard = connection::guard();
    options.own_program = std::env::current_exe().ok();
    options.persistence = Persistence::OneShot;
    if !servers.is_empty() {
        options.only = Some(servers.iter().cloned().collect());
    }
    options
}

/// Asks about new servers where somebody can be asked; then refuses names that are nowhere, and servers that may not be
/// connected to.
pub(super) fn check(context: &Context, servers: &[String]) -> Result<(), CommandError> {
    trust::offer_new(context)?;
    let discovery = context.discover();
    for name in servers {
        discovery.server(name).ok_or_else(|| unknown_server(&discovery, name))?;
        connection::connectable(&discovery, name)?;
    }
    Ok(())
}

/// Starts a session, waits until its servers are there, uses it, and stops it in order. Ctrl-C ends the use at once and
/// the servers in order; a second one ends everything.
pub(super) fn with_session<T>(
    context: &Context,
    options: Options,
    work: impl AsyncFnOnce(&Session, &Progress) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let is_wanted = !context.printer.json && context.printer.volume > Volume::Quiet;
    let progress = Arc::new(Progress::new("connecting", is_wanted));
    connection::block_on(progress.during(async {
        let session = Session::start(options).await;
        let using = async {
            tell_who_is_missing(&session, &progress);
            let window = session.discovery().settings.startup_window;
            // Live lists are better than cached ones, if they come in time.
            session.settled(Some(window)).await;
            tell_who_is_missing(&session, &progress);
            session.ready(Gate::Correct).await;
            work(&session, &progress).await
        };
        // Dropping the work tells the server; stopping the session in order lets that get through.
        let used = tokio::select! {
            used = using => used,
            () = connection::ctrl_c() => Err(CommandError::stopped()),
        };
        tokio::select! {
            () = session.shutdown() => {}
            () = connection::ctrl_c() => {}
        }
        used
    }))?
}

fn tell_who_is_missing(session: &Session, progress: &Progress) {
    let waiting: Vec<String> = session
        .servers()
        .into_iter()
        .filter(|report| !report.status.is_settled())
        .map(|report| report.name)
        .collect();
    if !waiting.is_empty() {
        progress.say(format!("connecting to {}", waiting.join(", ")));
    }
}

/// What went wrong with servers, as data.
pub(super) fn error_rows(errors: &[LoadError]) -> Vec<ErrorRow> {
    errors
        .iter()
        .map(|error| ErrorRow {
            server: error.server.clone(),
            code: error.code,
            message: error.message.clone(),
            hint: error.hint.clone(),
            retryable: error.retryable,
            last_words: error.last_words.as_deref().map(|words| excerpt(words, 200)),
        })
        .collect()
}

/// Says what went wrong, and who waits for approval.
pub(super) fn remarks(context: &Context, discovery: &Discovery, errors: &[LoadError]) {
    for error in errors {
        let who = error.server.as_deref().unwrap_or("configuration");
        let failed = match &error.server {
            Some(_) => format!("Failed to connect to \"{who}\""),
            None => "The configuration cannot be read".to_owned(),
        };
        context.printer.remark(&format!("error: {failed}: {}", error.message));
        if let Some(words) = &error.last_words {
            context.printer.remark(&format!("  it said: {}", excerpt(words, 200)));
        }
        if let Some(hint) = &error.hint {
            context.printer.remark(&format!("  hint: {hint}"));
        }
    }
    let waiting: BTreeSet<String> = discovery
        .servers
        .iter()
        .filter(|server| server.state() == State::Untrusted && server.origin.provider != Provider::BuiltIn)
        .map(|server| switchboard::visible::shell_word(&server.name))
        .collect();
    if !waiting.is_empty() {
        let names: Vec<_> = waiting.iter().map(String::as_str).collect();
        let n = names.len();
        context.printer.remark(&format!(
            "{n} server{} wait{} for your approval: switchboard trust {}",
            s(n),
            if n == 1 { "s" } else { "" },
            names.join(" ")
        ));
    }
}

/// Says whose lists are not live.
pub(super) fn stale(context: &Context, session: &Session) {
    let late: Vec<String> = session
        .servers()
        .into_iter()
        .filter(|report| !report.status.is_settled())
        .map(|report| excerpt(&report.name, 60))
        .collect();
    if !late.is_empty() {
        let names = late.join(", ");
        context
            .printer
            .remark(&format!("Not answered yet, shown as of last time: {names} (--wait waits for them)"));
    }
}

/// Lists succeed when at least one server answered and no required one is missing.
pub(super) fn verdict(session: &Session, errors: &[LoadError]) -> Result<(), CommandError> {
    if let Some(missing) = errors.iter().find(|error| error.is_required) {
        let name = missing.server.as_deref().unwrap_or_default();
        let message = format!("the required server \"{name}\" does not work: {}", missing.message);
        return Err(CommandError::new(Kind::Unreachable, "required-server", message).server(name));
    }
    let reports = session.servers();
    let any_answered = reports.iter().any(|report| report.status.fault().is_none());
    if reports.is_empty() || any_answered {
        return Ok(());
    }
    Err(CommandError::new(Kind::Unreachable, "no-server-answered", "no server answered")
        .hint("see each one with `switchboard test NAME`"))
}
