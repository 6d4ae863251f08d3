//! Calls that go on as tasks: followed to their end, cancelled when nobody waits any more.
//!
//! The two protocols differ in everything but the idea. Under the handshake a tool says that it wants to be a task, and
//! the result is fetched by a request that waits. In the modern one any call may turn into a task, and the result lies in
//! its state.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::sleep;

use super::errand::Errand;
use super::error::{Cause, Error};
use super::link::{Asking, Shared};
use super::message::{self, Params};
use super::peer::{Patience, Rules};
use crate::json::Json;

const USUAL_POLL: Duration = Duration::from_secs(1);
const SHORTEST_POLL: Duration = Duration::from_millis(20);
const LONGEST_POLL: Duration = Duration::from_secs(30);
/// How long a server of the handshake protocol is asked to keep a task.
pub(super) const KEEP_MS: u64 = 60 * 60 * 1000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct State<'a> {
    #[serde(default)]
    task_id: Option<String>,
    #[serde(default)]
    status: Option<String>,
    // The name in either protocol; who serves both may send both.
    #[serde(default)]
    poll_interval: Option<f64>,
    #[serde(default)]
    poll_interval_ms: Option<f64>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input_requests: Option<&'a RawValue>,
}

/// A task, and whose errand it is, if it is somebody else's.
type Task<'a> = (&'a str, Option<&'a Errand>);

/// Where a task stands.
struct Look {
    id: Option<String>,
    status: String,
    poll: Duration,
    result: Option<Json>,
    error: Option<Json>,
    requests: Vec<(String, Json)>,
}

fn look(raw: &Json) -> Result<Look, Error> {
    let malformed =
        || Error::maybe(Cause::Malformed { why: "the state of a task cannot be read".to_owned() });
    // Created tasks come inside a field of the same name.
    let inner = message::fields(raw).into_iter().find(|(name, _)| name == "task").map(|(_, task)| task);
    let raw = inner.as_ref().unwrap_or(raw);
    let state: State<'_> = raw.read().map_err(|_| malformed())?;
    let poll = state.poll_interval_ms.or(state.poll_interval);
    let poll = poll.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    let keep = |part: &RawValue| raw.part(part);
    Ok(Look {
        id: state.task_id,
        status: state.status.ok_or_else(malformed)?,
        poll: poll.unwrap_or(USUAL_POLL).clamp(SHORTEST_POLL, LONGEST_POLL),
        result: state.result.map(keep),
        error: state.error.map(keep),
        requests: state.input_requests.map(|requests| message::fields(&keep(requests))).unwrap_or_default(),
    })
}

/// The name of a task that was made in place of a result, and by which rules.
pub(super) fn created(result: &Json) -> Option<(String, Rules)> {
    let name = |task: &Json| task.get("taskId").and_then(|id| id.text());
    if let Some(task) = result.get("task") {
        return Some((name(&task)?, Rules::Handshake));
    }
    let is_task = result.get("resultType").and_then(|kind| kind.text()).as_deref() == Some("task");
    is_task.then(|| name(result)).flatten().map(|name| (name, Rules::Modern))
}

impl Shared {
    /// Waits for a task and gives the result of the call it stands for. What it asks goes to whose errand it is.
    pub(super) async fn follow_task(&self, created: &Json, errand: Option<&Errand>) -> Result<Json, Error> {
        let mut state = look(created)?;
        let id = state
            .id
            .clone()
            .ok_or_else(|| Error::maybe(Cause::Malformed { why: "the task has no id".to_owned() }))?;
        let mut leash = Leash { shared: self, id: &id, is_open: true };
        let followed = match self.rules() {
            Rules::Handshake => self.follow_handshake_task((&id, errand), &mut state).await,
            Rules::Modern => self.follow_modern_task((&id, errand), state).await,
        };
        // Where nothing was learnt of its end, the task may go on for nobody.
        leash.is_open = followed.as_ref().is_err_and(|error| !matches!(error.cause, Cause::Rpc(_)));
        followed
    }

    async fn follow_handshake_task(&self, task: Task<'_>, state: &mut Look) -> Result<Json, Error> {
        // A task that wants input asks while somebody waits for its result.
        while state.status == "working" || state.status == "submitted" {
            sleep(state.poll).await;
            *state = look(&self.of_task("tasks/get", task, Patience::of(self.timeout())).await?)?;
        }
        let patience = Patience::of(Some(self.limits.longest_call));
        self.of_task("tasks/result", task, patience).await
    }

    async fn follow_modern_task(&self, task: Task<'_>, mut state: Look) -> Result<Json, Error> {
        let mut answered = BTreeSet::new();
        loop {
            match state.status.as_str() {
                "completed" => {
                    return state.result.ok_or_else(|| {
                        Error::maybe(Cause::Malformed { why: "the completed task has no result".to_owned() })
                    });
                }
                "failed" => return Err(Error::maybe(Cause::Rpc(failure(state.error.as_ref())))),
                "cancelled" => return Err(Error::maybe(Cause::Rpc(failure(None)))),
                "input_required" => self.answer_task(task, &state.requests, &mut answered).await?,
                _ => {}
            }
            sleep(state.poll).await;
            state = look(&self.of_task("tasks/get", task, Patience::of(self.timeout())).await?)?;
        }
    }

    /// Answers what was not answered before: keys are unique for the life of a task.
    async fn answer_task(
        &self,
        (id, errand): Task<'_>,
        requests: &[(String, Json)],
        answered: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        let new: Vec<_> = requests.iter().filter(|(key, _)| !answered.contains(key)).cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        let responses = self.answers(&new, errand).await?;
        answered.extend(new.into_iter().map(|(key, _)| key));
        let params = Params::new().with("taskId", json!(id)).with("inputResponses", responses);
        let mut asking = self.plain("tasks/update", params);
        (asking.name, asking.errand) = (Some(id), errand);
        self.ask(asking, &mut |_| {}).await.map(drop)
    }

    async fn of_task(&self, method: &str, (id, errand): Task<'_>, patience: Patience) -> Result<Json, Error> {
        let params = Params::new().with("taskId", json!(id));
        let asking = Asking { name: Some(id), patience, errand, ..self.plain(method, params) };
        self.ask(asking, &mut |_| {}).await
    }
}

fn failure(error: Option<&Json>) -> message::RpcError {
    #[derive(Deserialize)]
    struct Loose {
        #[serde(default)]
        code: i64,
        #[serde(default)]
        message: String,
    }
    let loose = error.and_then(|error| error.parse::<Loose>().ok());
    let (code, text) =
        loose.map_or((0, "the task was cancelled".to_owned()), |loose| (loose.code, loose.message));
    message::RpcError { code, message: text, data: error.cloned() }
}

/// Cancels the task when whoever waits for it goes away.
struct Leash<'a> {
    shared: &'a Shared,
    id: &'a str,
    is_open: bool,
}

impl Drop for Leash<'_> {
    fn drop(&mut self) {
        if self.is_open {
            let params = Params::new().with("taskId", json!(self.id));
            self.shared.ask_and_forget("tasks/cancel", params, self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_between_two_looks_is_read_in_either_spelling_and_in_both() {
        for (text, expected) in [
            (r#"{"status":"working","pollInterval":50}"#, Duration::from_millis(50)),
            (r#"{"status":"working","pollIntervalMs":60}"#, Duration::from_millis(60)),
            (r#"{"status":"working","pollInterval":50,"pollIntervalMs":60}"#, Duration::from_millis(60)),
            (r#"{"status":"working"}"#, USUAL_POLL),
            (r#"{"status":"working","pollInterval":0}"#, SHORTEST_POLL),
            (r#"{"status":"working","pollInterval":-1}"#, USUAL_POLL),
        ] {
            let look = look(&Json::from_text(text).unwrap()).unwrap();
            assert_eq!(look.poll, expected, "{text}");
        }
    }
}
