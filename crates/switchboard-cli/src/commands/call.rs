//! `call`: runs one tool. Typing it is the user's approval; only a rule that denies stops it.

use std::cell::Cell;
use std::io::Read;
use std::time::Duration;

use serde_json::{Map, Value};
use switchboard::calls::{
    CallError, Coercion, Outcome as Called, Request, arguments, complete, unlisted, usage,
};
use switchboard::catalog::{Catalog, Entry, Missed, Verdict, naming};
use switchboard::config::settings::NameStyle;
use switchboard::json::Json;
use switchboard::notice::Progress as Heard;
use switchboard::session::{self, LoadError, Session};
use switchboard::visible::excerpt;
use switchboard::{Discovery, Server, State};

use super::online::{self, Wait};
use super::{Context, Outcome, connection, near_server, trust, unknown_server};
use crate::args::Call;
use crate::error::{CommandError, Kind};
use crate::printer::{Sink, Volume};
use crate::progress::Progress;
use crate::report;
use crate::shell::words;

/// No limit, as near as a clock can come to it.
const FOREVER: Duration = Duration::from_hours(24 * 365);

pub(super) fn run(context: &Context, call: &Call) -> Result<Outcome, CommandError> {
    let is_under_way = Cell::new(false);
    find_and_perform(context, call, &is_under_way).map_err(|error| match error.kind {
        Kind::Interrupted if is_under_way.get() => {
            error.reworded(|_| "stopped; the call was taken back, but may have run".to_owned())
        }
        _ => error,
    })
}

fn find_and_perform(
    context: &Context,
    call: &Call,
    is_under_way: &Cell<bool>,
) -> Result<Outcome, CommandError> {
    let given = given(context, call)?;
    let work = async |session: &Session, progress: &Progress| {
        let prepared = prepare(call, session, given.clone())?;
        is_under_way.set(true);
        perform(context, call, (session, progress), prepared).await
    };
    if let Some(server) = &call.server {
        let servers = [server.clone()];
        online::say_what_is_lost(context, &online::check(context, &servers)?);
        online::with_session(context, online::options(context, &servers), Wait::Correct, work)?;
        return Ok(Outcome::Done);
    }
    let likely = likely(context, &call.tool);
    trust::offer_new(context, &likely)?;
    let discovery = context.discover();
    online::say_what_is_lost(context, &discovery);
    if let Some(name) = set_aside(&discovery, &call.tool) {
        return Err(unknown_server(&discovery, name));
    }
    let (ready, others): (Vec<String>, Vec<String>) = likely
        .into_iter()
        .partition(|name| discovery.server(name).is_some_and(|server| server.state() == State::Enabled));
    // So spelled, it can be of these servers only; a dot may be part of a name.
    let is_certain = call.tool.contains('/') || call.tool.starts_with("mcp_");
    match (ready.is_empty(), others.as_slice()) {
        (true, [only]) if is_certain => drop(connection::connectable(&discovery, only)?),
        (false, _) if is_certain => {
            online::with_session(context, online::options(context, &ready), Wait::Correct, work)?;
        }
        _ => online::with_likely(context, &ready, Wait::Correct, work)?,
    }
    Ok(Outcome::Done)
}

/// The servers a call is likely about: the one that had the tool last time, else those its spelling begins with.
fn likely(context: &Context, spelling: &str) -> Vec<String> {
    let (discovery, known) = session::cached(&online::options(context, &[]));
    // A bare name may mean a tool of a server that is not known yet.
    if let Ok(entry) = known.find(spelling, None)
        && (entry.name == spelling || spelling.contains(&entry.server))
    {
        return vec![entry.server.clone()];
    }
    let named = discovery.servers.iter().filter(|server| begins_with(spelling, server));
    named.map(|server| server.name.clone()).collect()
}

/// The server of a spelling whose definition does not count.
fn set_aside<'a>(discovery: &Discovery, spelling: &'a str) -> Option<&'a str> {
    let (name, _) = spelling.split_once('/')?;
    let is_aside = discovery.shadowed.iter().any(|aside| aside.name == name);
    (is_aside && discovery.server(name).is_none()).then_some(name)
}

/// Whether a spelling begins with the name of the server, in any of the ways to spell it.
pub(crate) fn begins_with(spelling: &str, server: &Server) -> bool {
    let name = server.name.as_str();
    let prefix = server.definition.as_ref().ok().and_then(|spec| spec.conduct.prefix.as_deref());
    let plain = [format!("{name}/"), format!("{name}."), format!("mcp__{name}__")];
    let styles = [NameStyle::Standard, NameStyle::Letters, NameStyle::Double];
    let by_style = styles.iter().flat_map(|style| {
        // The name of any tool, without the tool.
        let names = [Some(name), prefix].into_iter().flatten();
        names.map(|word| naming::name(word, "x", *style).trim_end_matches('x').to_owned())
    });
    plain.into_iter().chain(by_style).any(|start| spelling.starts_with(&start))
}

/// The tool that is meant, and what it is called with.
fn prepare(call: &Call, session: &Session, given: Option<Json>) -> Result<(Entry, Json), CommandError> {
    let catalog = session.catalog();
    let entry = find(&catalog, session, call)?;
    let wanted = wanted(entry, call, given)?;
    Ok((entry.clone(), wanted))
}

async fn perform(
    context: &Context,
    call: &Call,
    (session, progress): (&Session, &Progress),
    (entry, wanted): (Entry, Json),
) -> Result<(), CommandError> {
    progress.say(format!("calling {}", entry.name));
    let mut hear = |heard: Heard| progress.say(how_far(&entry, heard));
    let request = Request { timeout: patience(call), on_progress: Some(&mut hear) };
    let done = session.call_approved(&entry, &wanted, request).await;
    progress.end();
    say_unlisted(context, &entry, &wanted);
    let outcome = done.map_err(|error| failed(&entry, &error))?;
    show(context, &outcome)
}

/// How long a call may be without a sign of life.
pub(crate) fn patience(call: &Call) -> Option<Duration> {
    call.timeout.map(|ms| if ms == 0 { FOREVER } else { Duration::from_millis(ms) })
}

/// How far a call is, in words.
pub(crate) fn how_far(entry: &Entry, heard: Heard) -> String {
    let total = heard.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let words = heard.message.map(|words| format!(": {words}")).unwrap_or_default();
    format!("calling {}, {}{total}{words}", entry.name, heard.progress)
}

pub(crate) fn find<'a>(
    catalog: &'a Catalog,
    session: &Session,
    call: &Call,
) -> Result<&'a Entry, CommandError> {
    catalog.find(&call.tool, call.server.as_deref()).map_err(|missed| match missed {
        Missed::Ambiguous { candidates } => {
            let message = format!("`{}` could be several tools: {}", call.tool, candidates.join(", "));
            CommandError::usage("ambiguous-tool", message).hint("use one of these names, or --server NAME")
        }
        Missed::LeftOut { server, tool } => {
            let message = format!("the rules for \"{server}\" leave out `{tool}`");
            CommandError::new(Kind::NotApproved, "denied", message)
                .server(&server)
                .hint("change `tools` in its entry: switchboard why shows where it stands")
        }
        Missed::Unknown { near } => {
            // If its server does not work, that is the reason.
            let errors = session.errors();
            let is_meant = |error: &&LoadError| {
                let name = error.server.as_deref().unwrap_or_default();
                call.server.as_deref() == Some(name) || (!name.is_empty() && call.tool.contains(name))
            };
            let broken = errors.iter().find(is_meant).or(errors.first().filter(|_| catalog.tools.is_empty()));
            if let Some(error) = broken {
                return unreachable(error);
            }
            let error = CommandError::usage("tool-not-found", format!("no tool is called `{}`", call.tool));
            match near.as_slice() {
                [] => error.hint(
                    meant(catalog, session, &call.tool)
                        .unwrap_or_else(|| "see them all: switchboard tools".to_owned()),
                ),
                near => error.hint(format!("did you mean {}?", near.join(" or "))),
            }
        }
    })
}

/// What a spelling that leads nowhere is probably a slip of.
fn meant(catalog: &Catalog, session: &Session, spelling: &str) -> Option<String> {
    let discovery = session.discovery();
    let server = spelling.split_once('/').map(|(server, _)| server);
    if let Some(server) = server.filter(|server| discovery.server(server).is_none())
        && let Some(near) = near_server(&discovery, server)
    {
        return Some(format!("there is no server `{}`; did you mean `{near}`?", excerpt(server, 60)));
    }
    let tool = spelling.rsplit('/').next().unwrap_or(spelling);
    let near = words::nearest(tool, catalog.tools.iter().map(|entry| entry.tool.name.as_str()))?;
    let entry = catalog.tools.iter().find(|entry| entry.tool.name == near)?;
    Some(format!("did you mean {}?", entry.name))
}

fn unreachable(error: &LoadError) -> CommandError {
    let name = error.server.clone().unwrap_or_default();
    let kind = if error.needs_login { Kind::LoginNeeded } else { Kind::Unreachable };
    let failed = CommandError::new(kind, error.code, online::in_words(error))
        .server(&name)
        .last_words(error.last_words.as_deref());
    match &error.hint {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}

/// The arguments, if they can be right. What was given as JSON is sent as it was written.
pub(crate) fn wanted(entry: &Entry, call: &Call, given: Option<Json>) -> Result<Json, CommandError> {
    let schema = &entry.input_schema;
    let wrong = |error: Coercion| {
        let message = match &error {
            Coercion::Missing { names } => format!("`{}` also needs {}", entry.name, names.join(", ")),
            other => other.to_string(),
        };
        let hint = match (&error, usage(schema)) {
            (Coercion::Inexact { .. }, _) => "give all arguments as JSON: --args '{...}'".to_owned(),
            (_, Some(usage)) => format!("it takes {usage}"),
            (_, None) => format!("see its schema: switchboard tools {} --json", entry.server),
        };
        CommandError::usage("bad-arguments", message).server(&entry.server).hint(hint)
    };
    if let Some(given) = given {
        // What nests too deep to be looked at is for the server to judge.
        let fields: Option<Map<String, Value>> = given.parse().ok();
        fields.map_or(Ok(()), |fields| complete(&fields, schema)).map_err(wrong)?;
        return Ok(given);
    }
    let typed = arguments(&call.arguments, schema).map_err(wrong)?;
    complete(&typed, schema).map_err(wrong)?;
    Ok(Value::Object(typed).into())
}

/// Says what was sent although the tool does not list it: it may have had no effect.
pub(crate) fn say_unlisted(context: &Context, entry: &Entry, sent: &Json) {
    let Ok(fields) = sent.parse::<Map<String, Value>>() else { return };
    let unlisted = unlisted(&fields, &entry.input_schema);
    if unlisted.is_empty() {
        return;
    }
    let named: Vec<String> = unlisted
        .iter()
        .map(|(key, near)| match near {
            Some(near) => format!("`{key}` (did you mean `{near}`?)"),
            None => format!("`{key}`"),
        })
        .collect();
    let (what, is_sent) =
        if named.len() == 1 { ("an argument", "it is sent") } else { ("arguments", "they are sent") };
    let takes = usage(&entry.input_schema).map(|usage| format!(". It lists: {usage}")).unwrap_or_default();
    context.printer.remark(&format!(
        "warning: the tool does not list {what} {}; {is_sent} all the same{takes}",
        named.join(", ")
    ));
}

/// Arguments given as one JSON text.
pub(crate) fn given(context: &Context, call: &Call) -> Result<Option<Json>, CommandError> {
    let Some(source) = &call.args else { return Ok(None) };
    let unreadable = |from: &str, error: &std::io::Error| {
        CommandError::usage("bad-arguments", format!("cannot read the arguments from {from}: {error}"))
    };
    let text = match source.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(context.env.absolute(path.as_ref()))
            .map_err(|error| unreadable(&excerpt(path, 200), &error))?,
        None if source == "-" => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| unreadable("standard input", &error))?;
            text
        }
        None => source.clone(),
    };
    match Json::from_text(text.trim()) {
        Ok(json) if json.as_str().starts_with('{') => Ok(Some(json)),
        Ok(_) => Err(CommandError::usage("bad-arguments", "the arguments must be a JSON object")
            .hint(how_to_give(context, source))),
        Err(error) => {
            let message = format!("the arguments are not JSON: {error}");
            Err(CommandError::usage("bad-arguments", message).hint(how_to_give(context, source)))
        }
    }
}

/// How JSON is given, for somebody who gave something else.
fn how_to_give(context: &Context, source: &str) -> &'static str {
    if source == "-" || source.starts_with('@') {
        return r#"they must look like {"key": "value"}"#;
    }
    match context.printer.sink {
        // A shell takes double quotes away.
        Sink::Streams | Sink::Outbox(_) => {
            "put them in single quotes: --args '{\"key\": \"value\"}'; \
             or use a file: --args @FILE, or standard input: --args -"
        }
        Sink::Session | Sink::Buffer(_) => {
            r#"they must look like {"key": "value"}; or use a file: --args @FILE"#
        }
    }
}

pub(crate) fn failed(entry: &Entry, error: &CallError) -> CommandError {
    let kind = match error {
        CallError::Denied { .. } | CallError::Deferred { .. } | CallError::Outdated { .. } => {
            Kind::NotApproved
        }
        CallError::Arguments { .. } => Kind::Usage,
        _ if error.needs_login() => Kind::LoginNeeded,
        _ if error.is_outcome_unknown() => Kind::OutcomeUnknown,
        CallError::Failed { error, .. } if matches!(error.cause, switchboard::wire::Cause::Rpc(_)) => {
            Kind::ToolFailed
        }
        CallError::Down { .. }
        | CallError::Stopped { .. }
        | CallError::TooLate { .. }
        | CallError::Failed { .. } => Kind::Unreachable,
    };
    let failed = CommandError::explained(kind, error).server(&entry.server).last_words(error.last_words());
    match error {
        CallError::Denied { .. } | CallError::Arguments { .. } => failed,
        _ => failed.reworded(|_| error.text()),
    }
}

/// Shows what a call brought; a failure that the tool reports is one.
pub(crate) fn show(context: &Context, outcome: &Called) -> Result<(), CommandError> {
    if context.printer.json {
        context.printer.json(&report::Call::from(outcome))?;
        return reported(outcome);
    }
    if outcome.is_cut && outcome.spilled.is_none() {
        // It could not be kept anywhere else.
        context.printer.text(&outcome.whole_text())?;
    } else {
        context.printer.text(outcome.said())?;
    }
    match &outcome.verdict {
        Some(Verdict::Unclear { reason }) if context.printer.volume == Volume::Verbose => {
            context
                .printer
                .remark(&format!("the result was not checked against the tool's output schema: {reason}"));
        }
        _ => {}
    }
    if let Some(warning) = outcome.warning() {
        context.printer.remark(&format!("warning: {warning}"));
    }
    reported(outcome)
}

/// A failure that the tool reports is one of the command as well.
fn reported(outcome: &Called) -> Result<(), CommandError> {
    if !outcome.is_error {
        return Ok(());
    }
    let message = format!("`{}` reported an error", outcome.name);
    Err(CommandError::new(Kind::ToolFailed, "tool-error", message).server(&outcome.server))
}
