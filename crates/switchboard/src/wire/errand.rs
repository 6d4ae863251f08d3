//! Requests made for somebody else who speaks the protocol, such as a client of a gateway: what they ask goes out as it
//! is, and what comes back goes to them as it came, questions included.
//!
//! Nothing is answered here and nothing is repeated: who sends the errand decides what a result means.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{Cause, Error};
use super::ledger::{Beat, Wants};
use super::link::{Asking, Link, Shared};
use super::message::Params;
use super::peer::Patience;
use crate::host::Behalf;
use crate::json::Json;
use crate::notice::{Notice, Progress};

/// On whose errand a request goes.
#[derive(Debug, Clone)]
pub struct Errand {
    /// What they can be asked, as they said it.
    pub capabilities: Json,
    /// The log lines they want about it.
    pub log_level: Option<String>,
    /// Who answers what the server asks meanwhile.
    pub behalf: Behalf,
    /// What becomes of a task.
    pub tasks: Tasks,
    /// Without any sign of life; the server's usual time-out if not given.
    pub timeout: Option<Duration>,
}

/// What becomes of a call that goes on as a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tasks {
    /// They know tasks and get it as it is.
    Handed,
    /// They want the result: the task is followed to its end.
    Followed,
}

/// What is heard of a request while it is under way.
#[derive(Debug)]
pub enum Heard {
    /// It came so far.
    Progress(Progress),
    /// The server says something about it.
    Said(Notice),
    /// The server says something, and not what it is about.
    Meanwhile(Notice),
}

#[derive(Deserialize)]
struct Loose<'a> {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    uri: Option<String>,
    #[serde(default, rename = "taskId")]
    task: Option<String>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl Link {
    /// Sends the request as it is and gives back the result as it came: it may be complete, a task, or a question.
    pub async fn run_errand(
        &self,
        (method, params): (&str, &Json),
        errand: &Errand,
        hear: &mut (dyn FnMut(Heard) + Send),
    ) -> Result<Json, Error> {
        let shared = &self.shared;
        let malformed = |_| Error::never(Cause::Malformed { why: "the parameters are no object".to_owned() });
        let loose: Loose<'_> = params.read().map_err(malformed)?;
        let name = match method {
            "tools/call" | "prompts/get" => loose.name.as_deref(),
            "resources/read" => loose.uri.as_deref(),
            _ => loose.task.as_deref(),
        };
        let is_call = method == "tools/call";
        if is_call {
            shared.heard().await;
        }
        if let Some(level) = &errand.log_level {
            shared.talk_from(level).await;
        }
        let mut listener = |beat: Beat| match beat {
            Beat::Progress(progress) => hear(Heard::Progress(progress)),
            Beat::Said(notice) => hear(Heard::Said(notice)),
            Beat::Meanwhile(notice) => hear(Heard::Meanwhile(notice)),
            Beat::Granted(_) => {}
        };
        let idle = errand.timeout.or_else(|| shared.timeout());
        // The result of a task is waited for as long as a call is.
        let (idle, total) = match method {
            "tools/call" => (idle, Some(shared.limits.longest_call)),
            "tasks/result" => (Some(shared.limits.longest_call), Some(shared.limits.longest_call)),
            _ => (idle, idle),
        };
        let arguments = loose.arguments.map(|arguments| params.part(arguments));
        let is_followed = is_call && errand.tasks == Tasks::Followed;
        let params_to_send = match name {
            Some(tool) if is_followed => shared.as_task(tool, Params::of(params)),
            _ => Params::of(params),
        };
        let asking = || Asking {
            method,
            params: params_to_send.clone(),
            name,
            headers: shared.errand_headers(name.filter(|_| is_call), arguments.as_ref()),
            wants: Wants::Progress,
            patience: Patience { idle, total },
            errand: Some(errand),
        };
        let result = match shared.ask(asking(), &mut listener).await {
            Err(error) if is_call && error.is_misquoted() => {
                shared.refresh_traits().await?;
                shared.ask(asking(), &mut listener).await?
            }
            answer => answer?,
        };
        if is_followed && shared.is_task(&result) {
            return shared.follow_task(&result, Some(errand)).await;
        }
        Ok(result)
    }
}

impl Shared {
    fn errand_headers(&self, tool: Option<&str>, arguments: Option<&Json>) -> Vec<(String, String)> {
        let (Some(tool), Some(arguments)) = (tool, arguments) else { return Vec::new() };
        self.mirrored(&self.traits_of(tool), arguments)
    }
}
