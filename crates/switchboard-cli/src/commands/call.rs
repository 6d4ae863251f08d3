//! `call`: runs one tool. Typing it is the user's approval; only a rule that denies stops it.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use switchboard::calls::{CallError, Coercion, Outcome as Called, Request, arguments, complete, usage};
use switchboard::catalog::{Catalog, Entry, Missed, Verdict};
use switchboard::json::Json;
use switchboard::session::{self, LoadError, Session};

use super::{Context, Outcome, online};
use crate::args::Call;
use crate::error::{CommandError, Kind};
use crate::printer::Volume;
use crate::progress::Progress;
use crate::report;

/// The code of a name that leads nowhere.
const NOT_FOUND: &str = "tool-not-found";
/// No limit, as near as a clock can come to it.
const FOREVER: Duration = Duration::from_hours(24 * 365);

pub(super) fn run(context: &Context, call: &Call) -> Result<Outcome, CommandError> {
    let servers: Vec<String> = call.server.iter().cloned().collect();
    online::check(context, &servers)?;
    let mut options = online::options(context, &servers);
    // If the tool is known from last time, only its server need be started.
    if servers.is_empty() {
        let (_, known) = session::cached(&options);
        // A bare name may mean a tool of a server that is not known yet.
        if let Ok(entry) = known.find(&call.tool, None)
            && (entry.name == call.tool || call.tool.contains(&entry.server))
        {
            options.only = Some([entry.server.clone()].into());
        }
    }
    let given = given(context, call)?;
    let is_narrow = options.only.is_some() && servers.is_empty();
    let narrow = online::with_session(context, options, async |session, progress| {
        perform(context, call, (session, progress), given.clone()).await
    });
    match narrow {
        // What was known is no longer so: all servers are asked.
        Err(error) if is_narrow && error.code() == NOT_FOUND => {
            online::with_session(context, online::options(context, &servers), async |session, progress| {
                perform(context, call, (session, progress), given).await
            })?;
        }
        settled => settled?,
    }
    Ok(Outcome::Done)
}

async fn perform(
    context: &Context,
    call: &Call,
    (session, progress): (&Session, &Progress),
    given: Option<Json>,
) -> Result<(), CommandError> {
    let catalog = session.catalog();
    let entry = find(&catalog, session, call)?;
    let wanted = wanted(entry, call, given)?;
    let timeout = call.timeout.map(|ms| if ms == 0 { FOREVER } else { Duration::from_millis(ms) });
    progress.say(format!("calling {}", entry.name));
    let mut hear = |heard: switchboard::notice::Progress| {
        let total = heard.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let words = heard.message.map(|words| format!(": {words}")).unwrap_or_default();
        progress.say(format!("calling {}, {}{total}{words}", entry.name, heard.progress));
    };
    let request = Request { timeout, on_progress: Some(&mut hear) };
    let outcome =
        session.call_approved(entry, &wanted, request).await.map_err(|error| failed(entry, &error))?;
    show(context, &outcome)?;
    if outcome.is_error {
        let message = format!("`{}` reported an error", outcome.name);
        return Err(CommandError::new(Kind::ToolFailed, "tool-error", message).server(&outcome.server));
    }
    Ok(())
}

fn find<'a>(catalog: &'a Arc<Catalog>, session: &Session, call: &Call) -> Result<&'a Entry, CommandError> {
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
            let error = CommandError::usage(NOT_FOUND, format!("no tool is called `{}`", call.tool));
            match near.as_slice() {
                [] => error.hint("see them all: switchboard tools"),
                near => error.hint(format!("did you mean {}?", near.join(" or "))),
            }
        }
    })
}

fn unreachable(error: &LoadError) -> CommandError {
    let name = error.server.clone().unwrap_or_default();
    let kind = if error.needs_login { Kind::LoginNeeded } else { Kind::Unreachable };
    let message = format!("Failed to connect to \"{name}\": {}", error.message);
    let failed =
        CommandError::new(kind, error.code, message).server(&name).last_words(error.last_words.as_deref());
    match &error.hint {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}

/// The arguments, if they can be right. What was given as JSON is sent as it was written.
fn wanted(entry: &Entry, call: &Call, given: Option<Json>) -> Result<Json, CommandError> {
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

/// Arguments given as one JSON text.
fn given(context: &Context, call: &Call) -> Result<Option<Json>, CommandError> {
    let Some(source) = &call.args else { return Ok(None) };
    let unreadable = |error: std::io::Error| {
        CommandError::usage("bad-arguments", format!("cannot read the arguments: {error}"))
    };
    let text = match source.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(context.env.absolute(path.as_ref())).map_err(unreadable)?,
        None if source == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(unreadable)?;
            text
        }
        None => source.clone(),
    };
    match Json::from_text(text.trim()) {
        Ok(json) if json.as_str().starts_with('{') => Ok(Some(json)),
        Ok(_) => Err(CommandError::usage("bad-arguments", "the arguments must be a JSON object")),
        Err(error) => {
            Err(CommandError::usage("bad-arguments", format!("the arguments are not JSON: {error}")))
        }
    }
}

fn failed(entry: &Entry, error: &CallError) -> CommandError {
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

fn show(context: &Context, outcome: &Called) -> Result<(), CommandError> {
    if context.printer.json {
        return Ok(context.printer.json(&report::Call::from(outcome))?);
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
    Ok(())
}
