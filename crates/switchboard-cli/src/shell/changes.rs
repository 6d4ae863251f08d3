//! What a change of the configuration does to a session that runs: only what changed is restarted, and it is said what
//! that was.

use switchboard::connect::Changes;
use switchboard::session::{ServerReport, Session};
use switchboard::visible::{excerpt, shell_word};
use switchboard::{Discovery, Server, State};

use super::turn::Turn;
use super::{Front, notices};
use crate::commands::online;
use crate::error::CommandError;

/// After a command that changed a file: what changed is restarted, and how it went is told.
pub(super) async fn apply<F: Front>(turn: &mut Turn<'_, F>) -> Result<(), CommandError> {
    let session = turn.session.clone();
    let changes = turn.wait("reading the configuration", session.reload()).await?;
    for line in ended(&changes, &turn.session.discovery()) {
        turn.context.printer.remark(&line);
    }
    outcome(turn, &started(&changes)).await
}

/// The same, with everything that was looked at.
pub(super) async fn reload<F: Front>(turn: &mut Turn<'_, F>) -> Result<(), CommandError> {
    let session = turn.session.clone();
    let changes = turn.wait("reading the configuration", session.reload()).await?;
    let discovery = turn.session.discovery();
    if turn.context.printer.json {
        let Changes { added, removed, changed, kept, waiting } = &changes;
        let report = serde_json::json!({
            "added": added, "removed": removed, "changed": changed, "kept": kept, "waiting": waiting,
        });
        return Ok(turn.context.printer.json(&report)?);
    }
    turn.context.printer.data(&told(&changes))?;
    for line in ended(&changes, &discovery) {
        turn.context.printer.remark(&line);
    }
    online::say_who_waits(&turn.context, &discovery);
    outcome(turn, &started(&changes)).await
}

/// Waits until these servers stand somewhere, and tells where.
pub(super) async fn outcome<F: Front>(turn: &mut Turn<'_, F>, names: &[String]) -> Result<(), CommandError> {
    if names.is_empty() || turn.context.printer.json {
        return Ok(());
    }
    let session = turn.session.clone();
    let words = format!("connecting to {}", excerpt(&names.join(", "), 200));
    let stopped = turn.wait(&words, online::settle(&session, names)).await;
    let reports = turn.session.servers();
    for report in reports.iter().filter(|report| names.contains(&report.name)) {
        turn.told.note(&report.name, &report.status);
        turn.context.printer.show(&stands(report));
    }
    stopped.map_err(|error| error.reworded(|_| "stopped waiting; it goes on in the background".to_owned()))
}

fn stands(report: &ServerReport) -> Vec<String> {
    if report.status.is_settled() {
        return notices::lines(&report.name, &report.status, report.n_tools);
    }
    let name = excerpt(&report.name, 60);
    vec![format!("{name} is still connecting; you are told when it is there. See /mcp list")]
}

fn started(changes: &Changes) -> Vec<String> {
    let mut names = [changes.added.as_slice(), &changes.changed].concat();
    names.sort();
    names
}

/// What a reload did, by what it did.
fn told(changes: &Changes) -> Vec<String> {
    let Changes { added, removed, changed, kept, .. } = changes;
    let groups = [("added", added), ("removed", removed), ("changed", changed), ("kept", kept)];
    let mut lines: Vec<String> = groups
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what:<8} {}", named(names)))
        .collect();
    if changes.is_empty() {
        lines.insert(0, "Nothing changed.".to_owned());
    }
    lines
}

/// Why servers that ran no longer do.
fn ended(changes: &Changes, discovery: &Discovery) -> Vec<String> {
    let why = |name: &String| {
        let (shown, word) = (excerpt(name, 60), shell_word(name));
        match discovery.server(name).map(Server::state) {
            Some(State::Untrusted) => {
                format!("{shown} was stopped: its definition waits for your approval. /mcp trust {word}")
            }
            Some(State::Invalid) => {
                format!("{shown} was stopped: it cannot be used as it is written. /mcp why {word}")
            }
            Some(State::Disabled | State::Enabled) | None => format!("{shown} was stopped."),
        }
    };
    changes.removed.iter().map(why).collect()
}

/// What a reload would do now, in one line; none if it would do nothing. Starts and stops nothing.
pub(super) async fn pending(session: &Session) -> Option<String> {
    let changes = session.preview_reload().await;
    let before = session.discovery();
    let is_new = |name: &&String| before.server(name).map(Server::state) != Some(State::Untrusted);
    let waiting: Vec<String> = changes.waiting.iter().filter(is_new).cloned().collect();
    let stopped = changes.removed.iter().filter(|name| !waiting.contains(name)).cloned().collect();
    let groups =
        [("start", changes.added), ("stop", stopped), ("restart", changes.changed), ("ask about", waiting)];
    let said: Vec<String> = groups
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what} {}", named(names)))
        .collect();
    (!said.is_empty()).then(|| format!("The configuration changed: /mcp reload would {}", said.join("; ")))
}

fn named(names: &[String]) -> String {
    names.iter().map(|name| excerpt(name, 60)).collect::<Vec<_>>().join(", ")
}
