//! What commands that use all servers share: the session, the wait with a sign of life, and what is said of the rest.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use switchboard::catalog::Catalog;
use switchboard::connect::{Event, Persistence, Status};
use switchboard::session::{Gate, LoadError, Options, ServerReport, Session};
use switchboard::visible::{excerpt, shell_word};
use switchboard::{Discovery, Provider, State};

use super::{Context, connection, s, trust, unknown_server};
use crate::error::CommandError;
use crate::progress::Progress;
use crate::report::ErrorRow;

/// More problems than this are counted, not shown.
pub(super) const MOST_PROBLEMS: usize = 8;
/// Somebody who changed something waits so long for what comes of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// A session for one job.
pub(crate) fn options(context: &Context, servers: &[String]) -> Options {
    let mut options = Options::headless(context.env.clone());
    options.discovery = context.options;
    options.guard = connection::guard();
    options.own_program = std::env::current_exe().ok();
    options.persistence = Persistence::OneShot;
    options.context.clone_from(&context.trace);
    if !servers.is_empty() {
        options.only = Some(servers.iter().cloned().collect());
    }
    options
}

/// What a session is waited for before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing: whoever uses it waits for what it needs.
    Nothing,
    /// Every server has something to show, now or from last time.
    Correct,
}

/// Asks about new servers where somebody can be asked; then refuses names that are nowhere, and servers that may not be
/// connected to. Gives what was found.
pub(super) fn check(context: &Context, servers: &[String]) -> Result<Discovery, CommandError> {
    trust::offer_new(context, servers)?;
    let discovery = context.discover();
    say_where_it_may_be(context, &discovery, servers);
    for name in servers {
        discovery.server(name).ok_or_else(|| unknown_server(&discovery, name))?;
        connection::connectable(&discovery, name)?;
    }
    Ok(discovery)
}

/// Does the work with the servers it is likely about; with all, if that leads nowhere.
pub(super) fn with_likely<T>(
    context: &Context,
    likely: &[String],
    wait: Wait,
    work: impl AsyncFn(&Session, &Progress) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    if !likely.is_empty() {
        match with_session(context, options(context, likely), wait, &work) {
            // What was known is no longer so.
            Err(error) if error.is_not_found() => {}
            settled => return settled,
        }
    }
    with_session(context, options(context, &[]), wait, work)
}

/// Starts a session, waits until its servers are there, uses it, and stops it in order. Ctrl-C ends the use at once and
/// the servers in order; a second one ends everything.
pub(super) fn with_session<T>(
    context: &Context,
    options: Options,
    wait: Wait,
    work: impl AsyncFnOnce(&Session, &Progress) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let progress = Progress::new("connecting", &context.printer);
    connection::block_on(progress.during(async {
        let session = Session::start(options).await;
        let using = async {
            if wait == Wait::Correct {
                let window = session.discovery().settings.startup_window;
                // Live lists are better than cached ones, if they come in time.
                session.settled(Some(window)).await;
                session.ready(Gate::Correct).await;
            }
            work(&session, &progress).await
        };
        // Dropping the work tells the server; stopping the session in order lets that get through.
        let used = tokio::select! {
            used = using => used,
            () = context.stopped() => Err(CommandError::stopped()),
            never = tell_who_is_missing(&session, &progress) => match never {},
        };
        tokio::select! {
            () = session.shutdown() => {}
            () = connection::ctrl_c() => {}
        }
        used
    }))?
}

/// Waits until the servers stand as wanted.
pub(super) async fn until(session: &Session, is_right: impl Fn(&[ServerReport]) -> bool) {
    let mut events = session.events();
    while !is_right(&session.servers()) {
        if events.next().await.is_none() {
            return;
        }
    }
}

/// Starts a server anew, and comes back when that has begun. False if there is none of that name.
pub(crate) async fn reconnect(session: &Session, name: &str) -> bool {
    let mut events = session.events();
    let is_coming = session.servers().iter().any(|report| report.name == name && !report.status.is_settled());
    if !session.reconnect(name).await {
        return false;
    }
    // It stands as before until its owner has heard of it. One that was coming up goes on coming up, and is next heard of
    // when it is there.
    while let Some(event) = events.next().await {
        match event {
            Event::Status { server, status }
                if server == name && (is_coming || status != Status::Connected) =>
            {
                break;
            }
            Event::Missed { .. } => break,
            _ => {}
        }
    }
    true
}

/// Waits until these servers stand somewhere, for a while.
pub(crate) async fn settle(session: &Session, names: &[String]) {
    let settled = async {
        for name in names {
            session.wait_for(name, Status::is_settled).await;
        }
        session.settled(Some(Duration::ZERO)).await;
    };
    // Too late is no failure: it goes on.
    drop(tokio::time::timeout(PATIENCE, settled).await);
}

/// Looks for something as servers come up, until `all` are there: nobody waits for a server that has nothing to do with it.
pub(crate) async fn found<T>(
    session: &Session,
    all: impl Future<Output = ()>,
    look: impl Fn(&Catalog) -> Option<T>,
) -> Option<T> {
    let mut changes = session.watch_catalog();
    tokio::pin!(all);
    loop {
        if let Some(found) = look(&session.catalog()) {
            return Some(found);
        }
        tokio::select! {
            () = &mut all => return look(&session.catalog()),
            change = changes.changed() => change.ok()?,
        }
    }
}

/// Keeps the words about who is waited for true.
async fn tell_who_is_missing(session: &Session, progress: &Progress) -> Infallible {
    let mut events = session.events();
    loop {
        progress.wait(missing(session).unwrap_or_else(|| "asking what they offer".to_owned()));
        if events.next().await.is_none() {
            return std::future::pending().await;
        }
    }
}

fn missing(session: &Session) -> Option<String> {
    let waiting: Vec<String> = session
        .servers()
        .into_iter()
        .filter(|report| !report.status.is_settled())
        .map(|report| report.name)
        .collect();
    (!waiting.is_empty()).then(|| format!("connecting to {}", waiting.join(", ")))
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

/// Says what went wrong.
pub(super) fn say_errors(context: &Context, errors: &[LoadError]) {
    for error in errors {
        let said = error.last_words.as_ref().map(|words| format!("it said: {}", excerpt(words, 200)));
        let hint = error.hint.clone().or_else(|| {
            let name = error.server.as_deref().filter(|_| error.code == INVALID)?;
            Some(format!("switchboard why {}", shell_word(name)))
        });
        let rest: Vec<String> = said.into_iter().chain(hint.map(|hint| format!("hint: {hint}"))).collect();
        context.printer.fault(&in_words(error), &rest);
    }
}

/// The code of a definition that cannot be used. Nobody tried to connect to it.
const INVALID: &str = "invalid-server";

/// What went wrong, in the words of the contract.
pub(crate) fn in_words(error: &LoadError) -> String {
    match &error.server {
        Some(_) if error.code == INVALID => error.message.clone(),
        Some(who) => format!("Failed to connect to \"{who}\": {}", error.message),
        None => format!("The configuration cannot be read: {}", error.message),
    }
}

/// Who could not be asked, as a hint for somebody who looks for something.
pub(crate) fn who_failed(session: &Session) -> Option<String> {
    let failed: Vec<String> = session.errors().into_iter().filter_map(|error| error.server).collect();
    let first = failed.first()?;
    let word = shell_word(first);
    Some(format!("not asked, since it does not work: {}; see switchboard test {word}", failed.join(", ")))
}

/// Says which files count for nothing: what stands in them is missing from whatever is shown or used.
pub(crate) fn say_what_is_lost(context: &Context, discovery: &Discovery) {
    let lost: Vec<_> = discovery.lost_files().collect();
    context.printer.problems(&lost, &context.env, MOST_PROBLEMS);
}

/// The same, if one of these is nowhere: it may stand in such a file.
pub(super) fn say_where_it_may_be(context: &Context, discovery: &Discovery, names: &[String]) {
    if names.iter().any(|name| discovery.server(name).is_none()) {
        say_what_is_lost(context, discovery);
    }
}

/// Says who waits for approval.
pub(crate) fn say_who_waits(context: &Context, discovery: &Discovery) {
    let waiting: BTreeSet<String> = discovery
        .servers
        .iter()
        .filter(|server| server.state() == State::Untrusted && server.origin.provider != Provider::BuiltIn)
        .map(|server| shell_word(&server.name))
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
