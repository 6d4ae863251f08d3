//! Calls that a rule of the user's settings wants a yes for: the client in front is asked, by a form. What no such rule says
//! anything about is the agent's to ask.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use switchboard::calls::{By, CallError, Decision, Denier, Ruling, Standing};
use switchboard::catalog::Entry;
use switchboard::digest;
use switchboard::json::Json;
use switchboard::session::Session;
use switchboard::visible::excerpt;
use tokio::time::Instant;

use crate::call::failed;
use crate::client::Caller;
use crate::park::Line;
use crate::rpc::RpcError;

/// Most characters of the arguments that are shown.
const SHOWN: usize = 2000;
/// A yes to a call that the server answered with a question is good for its next round, for so long.
const GOOD: Duration = Duration::from_mins(10);
/// So many of those are kept.
const MOST: usize = 1024;

/// What was said yes to and is not over: calls whose server asked something first.
#[derive(Debug, Default)]
pub(crate) struct Approved(Mutex<HashMap<String, Instant>>);

impl Approved {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        all.retain(|_, until| *until > now);
        all
    }

    /// The call goes on in another round, if its result is a question.
    pub(crate) fn carry_on(&self, caller: &Caller, entry: &Entry, (params, result): (&Json, &Json)) {
        let is_question =
            result.get("resultType").and_then(|kind| kind.text()).as_deref() == Some("input_required");
        let mut all = self.lock();
        if is_question && all.len() < MOST {
            let state = result.get("requestState");
            all.insert(mark(caller, entry, (params, state.as_ref())), Instant::now() + GOOD);
        }
    }

    fn take(&self, caller: &Caller, entry: &Entry, params: &Json) -> bool {
        let state = params.get("requestState");
        self.lock().remove(&mark(caller, entry, (params, state.as_ref()))).is_some()
    }
}

/// What makes two rounds those of one call.
fn mark(caller: &Caller, entry: &Entry, (params, state): (&Json, Option<&Json>)) -> String {
    let arguments = params.get("arguments").unwrap_or_else(Json::null);
    let state = state.map(Json::as_str).unwrap_or_default();
    let parts =
        [&format!("{:?}", caller.holder()), &entry.server, &entry.tool.name, arguments.as_str(), state];
    digest::hex(json!(parts).to_string().as_bytes())
}

/// Whether a rule of the user's settings wants a yes for it, and which.
fn wants_a_yes(ruling: &Ruling) -> Option<By> {
    match (&ruling.decision, ruling.by) {
        (Decision::Ask, by @ (By::SettingsTool(_) | By::SettingsServer(_))) => Some(by),
        (Decision::Ask | Decision::Run | Decision::Deny { .. }, _) => None,
    }
}

/// Whether the call needs a yes of whoever makes it.
pub(crate) fn needed(session: &Session, entry: &Entry) -> Option<By> {
    let by = wants_a_yes(&session.explain(entry))?;
    let is_granted = session.grants().iter().any(|grant| {
        grant.server == entry.server && grant.tool == entry.tool.name && grant.standing == Standing::Holds
    });
    (!is_granted).then_some(by)
}

/// Asks the client. Comes back when the call may be made.
pub(crate) async fn ask(
    (approved, line): (&Approved, &Line),
    caller: &Caller,
    entry: &Entry,
    (params, by): (&Json, By),
) -> Result<(), RpcError> {
    if approved.take(caller, entry, params) {
        return Ok(());
    }
    let denied = |reason: String, by: Denier| {
        failed(&CallError::Denied { server: entry.server.clone(), reason, by }, caller.era)
    };
    let question = form(entry, params);
    if caller.can_answer("elicitation/create", Some(&question)).is_err() {
        let reason =
            format!("{} wants a yes for `{}`, and the client cannot be asked", by.place(), entry.name);
        return Err(denied(reason, Denier::Unasked(by)));
    }
    let answer = line.put("elicitation/create".to_owned(), Some(question)).await;
    let answer = answer.map_err(|refusal| denied(refusal.message, Denier::Unasked(by)))?;
    let is_yes = answer.get("action").and_then(|action| action.text()).as_deref() == Some("accept")
        && answer
            .get("content")
            .and_then(|content| content.get("allow"))
            .is_some_and(|it| it.as_str() == "true");
    if is_yes { Ok(()) } else { Err(denied(format!("`{}` was not allowed", entry.name), Denier::User)) }
}

fn form(entry: &Entry, params: &Json) -> Json {
    let arguments =
        params.get("arguments").map_or_else(|| "{}".to_owned(), |given| excerpt(given.as_str(), SHOWN));
    let (server, tool) = (excerpt(&entry.server, 100), excerpt(&entry.tool.name, 100));
    json!({
        "mode": "form",
        "message": format!("May {server} run {tool}? It would get {arguments}"),
        "requestedSchema": {
            "type": "object",
            "properties": {"allow": {"type": "boolean", "title": "Run it"}},
            "required": ["allow"],
        },
    })
    .into()
}

#[cfg(test)]
mod tests {
    use switchboard::config::settings::Rule;

    use super::*;

    #[test]
    fn only_a_rule_of_the_settings_that_asks_wants_a_yes() {
        let ruling = |decision, by| Ruling { decision, by };
        for (ruling, expected) in [
            (ruling(Decision::Ask, By::Default), false),
            (ruling(Decision::Ask, By::Entry(Rule::Writes)), false),
            (ruling(Decision::Ask, By::EntryTool(Rule::Auto)), false),
            (ruling(Decision::Ask, By::SettingsTool(Rule::Auto)), true),
            (ruling(Decision::Ask, By::SettingsServer(Rule::Writes)), true),
            (ruling(Decision::Run, By::SettingsServer(Rule::Writes)), false),
            (ruling(Decision::Deny { reason: String::new() }, By::SettingsTool(Rule::Deny)), false),
        ] {
            assert_eq!(wants_a_yes(&ruling).is_some(), expected, "{ruling:?}");
        }
    }
}
