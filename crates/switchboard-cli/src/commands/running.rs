//! `reload` and `reconnect`, and the part of `status` that is about sessions and gateways that run. They do the work; here
//! they are asked, and what they say is shown.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard::visible::excerpt;

use super::{Context, Outcome, s};
use crate::control::{Answer, Reply, Row};
use crate::error::{CommandError, Kind};

/// So long whoever runs has to do what is wanted.
const PATIENCE: Duration = Duration::from_secs(25);
/// So long it has to say how it stands.
const BRIEF: Duration = Duration::from_secs(1);

/// Everybody who runs and answered, and who did not.
#[derive(Debug, Default)]
pub(super) struct Running {
    pub(super) answers: Vec<Answer>,
    pub(super) silent: Vec<u32>,
}

#[cfg(unix)]
fn ask(
    context: &Context,
    request: &crate::control::Request,
    limit: Duration,
) -> Result<Running, CommandError> {
    let asked = crate::control::all(&context.env, request, limit);
    let mut running = Running::default();
    for answer in super::connection::block_on(asked)? {
        match answer {
            Ok(answer) => running.answers.push(answer),
            Err(silent) => running.silent.push(silent.pid),
        }
    }
    Ok(running)
}

#[cfg(not(unix))]
fn ask(_: &Context, _: &crate::control::Request, _: Duration) -> Result<Running, CommandError> {
    let message = "sessions and gateways that run cannot be reached on this system";
    Err(CommandError::usage("not-here", message).hint("end them and start them again"))
}

/// How everybody who runs stands. Nobody is waited for.
pub(super) fn standing(context: &Context) -> Running {
    ask(context, &crate::control::Request::Status, BRIEF).unwrap_or_default()
}

pub(super) fn reload(context: &Context) -> Result<Outcome, CommandError> {
    let running = some(ask(context, &crate::control::Request::Reload, PATIENCE)?)?;
    show(context, &running, |reply| match reply {
        Reply::Reload(changes) => Some(changes.words(&context.env)),
        Reply::Status(_) | Reply::Reconnect(_) | Reply::Refused(_) => None,
    })?;
    let outcome = running.heard()?;
    // What other tools have in theirs is not for the user of Switchboard to mend.
    let is_broken = |answer: &Answer| match &answer.reply {
        Reply::Reload(changes) => changes.lost.iter().any(|lost| lost.own),
        Reply::Status(_) | Reply::Reconnect(_) | Reply::Refused(_) => false,
    };
    Ok(if running.answers.iter().any(is_broken) { Outcome::Broken } else { outcome })
}

pub(super) fn reconnect(context: &Context, name: &str) -> Result<Outcome, CommandError> {
    let request = crate::control::Request::Reconnect { server: name.to_owned() };
    let mut running = some(ask(context, &request, PATIENCE)?)?;
    // Those who do not have it need not be heard, if somebody has.
    let has = |answer: &Answer| matches!(answer.reply, Reply::Reconnect(_));
    if running.answers.iter().any(has) {
        running.answers.retain(has);
    }
    show(context, &running, |reply| match reply {
        Reply::Reconnect(row) => Some(stands(row)),
        Reply::Status(_) | Reply::Reload(_) | Reply::Refused(_) => None,
    })?;
    let failed = running.answers.iter().find_map(|answer| match &answer.reply {
        Reply::Reconnect(row) if row.status != "connected" => Some(row),
        _ => None,
    });
    if let Some(row) = failed {
        let kind = if row.status == "needs login" { Kind::LoginNeeded } else { Kind::Unreachable };
        let why = row.detail.as_deref().map_or_else(|| row.status.clone(), |detail| excerpt(detail, 300));
        let message = format!("Failed to connect to \"{}\": {why}", excerpt(name, 100));
        let word = switchboard::visible::shell_word(name);
        return Err(CommandError::new(kind, "not-reconnected", message)
            .server(name)
            .hint(format!("switchboard test {word}")));
    }
    running.heard()
}

/// An error if nobody runs.
fn some(running: Running) -> Result<Running, CommandError> {
    if running.answers.is_empty() && running.silent.is_empty() {
        return Err(CommandError::new(Kind::Failed, "nothing-runs", "no session and no gateway is running")
            .hint("what is started from now on reads the configuration anyway"));
    }
    Ok(running)
}

/// A line for each, or all as data.
fn show(
    context: &Context,
    running: &Running,
    words: impl Fn(&Reply) -> Option<String>,
) -> Result<(), CommandError> {
    if context.printer.json {
        let rows: Vec<Value> = running.answers.iter().map(flat).collect();
        return Ok(context.printer.json(&json!({ "running": rows }))?);
    }
    let lines: Vec<String> = running
        .answers
        .iter()
        .filter_map(|answer| Some(format!("{}: {}", answer.who.words(&context.env), words(&answer.reply)?)))
        .collect();
    Ok(context.printer.data(&lines)?)
}

/// Who answers and what, as one object.
pub(super) fn flat(answer: &Answer) -> Value {
    let mut row = json!(answer.who);
    let reply = match &answer.reply {
        Reply::Status(standing) => json!(standing),
        Reply::Reload(changes) => json!(changes),
        Reply::Reconnect(server) => json!({ "server": server }),
        Reply::Refused(refusal) => json!({ "error": refusal }),
    };
    if let (Value::Object(row), Value::Object(reply)) = (&mut row, reply) {
        row.extend(reply);
    }
    row
}

fn stands(row: &Row) -> String {
    let name = excerpt(&row.name, 60);
    match &row.detail {
        Some(detail) => format!("{name} is {}: {}", excerpt(&row.status, 20), excerpt(detail, 300)),
        None => format!("{name} is {}, {} tool{}", excerpt(&row.status, 20), row.tools, s(row.tools)),
    }
}

impl Running {
    /// Whether all did what was wanted.
    fn heard(&self) -> Result<Outcome, CommandError> {
        if let Some(pid) = self.silent.first() {
            let message = format!("process {pid} does not answer");
            return Err(CommandError::new(Kind::Failed, "no-answer", message).hint("end it, if it hangs"));
        }
        let refusal = self.answers.iter().find_map(|answer| match &answer.reply {
            Reply::Refused(refusal) => Some((answer, refusal)),
            Reply::Status(_) | Reply::Reload(_) | Reply::Reconnect(_) => None,
        });
        let Some((answer, refusal)) = refusal else { return Ok(Outcome::Done) };
        let kind = [Kind::Usage, Kind::LoginNeeded, Kind::Unreachable, Kind::NotApproved]
            .into_iter()
            .find(|kind| *kind as u8 == refusal.exit)
            .unwrap_or(Kind::Failed);
        let who = format!("{} {}", excerpt(&answer.who.kind, 20), answer.who.pid);
        let error = CommandError::new(kind, "refused", format!("{who}: {}", excerpt(&refusal.message, 300)));
        Err(match &refusal.hint {
            Some(hint) => error.hint(excerpt(hint, 300)),
            None => error,
        })
    }
}
