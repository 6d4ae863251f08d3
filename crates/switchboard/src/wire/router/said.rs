//! What a server says without asking for an answer, and who hears it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Question, Router, Via};
use crate::json::Json;
use crate::notice::{Notice, Progress};
use crate::wire::error::Cause;
use crate::wire::glance::{log_line, number, subscription, text};
use crate::wire::ledger::{Beat, Wants};
use crate::wire::log::End;

/// Most characters of what progress says in words.
const BEAT_TEXT: usize = 4000;

impl Router {
    /// Something said in passing: progress and the like go to the request they belong to, the rest is a notice.
    pub(super) fn notify(&self, method: String, params: Option<Json>, via: Via) {
        let notice = match method.as_str() {
            "notifications/progress" => return self.progress(params),
            "notifications/cancelled" => return self.cancelled(params),
            "notifications/subscriptions/acknowledged" => return self.granted(params),
            "notifications/tools/list_changed" => Notice::ToolsChanged,
            "notifications/prompts/list_changed" => Notice::PromptsChanged,
            "notifications/resources/list_changed" => Notice::ResourcesChanged,
            "notifications/resources/updated" => match params.as_ref().and_then(|params| text(params, "uri"))
            {
                Some(uri) => Notice::ResourceUpdated { uri },
                None => Notice::Other { method, params },
            },
            "notifications/message" => log_line(params),
            "notifications/tasks/status" | "notifications/tasks" => {
                Notice::Task { params: params.unwrap_or_else(Json::null) }
            }
            _ => Notice::Other { method, params },
        };
        match (via, &notice) {
            // What is said on the stream of somebody's request is for them alone.
            (Via::Stream(id), Notice::Log { .. }) if self.lock().is_on_behalf(id) => {
                self.beat(id, Beat::Said(notice));
            }
            (Via::Common, Notice::Log { .. }) => {
                self.meanwhile(&notice);
                self.notices.push(notice);
            }
            _ => self.notices.push(notice),
        }
    }

    /// Whoever has a request made for them hears of it.
    fn meanwhile(&self, notice: &Notice) {
        let state = self.lock();
        let theirs = state.pending.values().filter(|pending| pending.behalf.is_some());
        for beats in theirs.filter_map(|pending| pending.beats.as_ref()) {
            let _full_or_gone = beats.try_send(Beat::Meanwhile(notice.clone()));
        }
    }

    fn progress(&self, params: Option<Json>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Loose<'a> {
            #[serde(borrow)]
            progress_token: &'a RawValue,
            #[serde(default)]
            progress: Option<f64>,
            #[serde(default)]
            total: Option<f64>,
            #[serde(default)]
            message: Option<String>,
        }
        let Some(params) = params else { return };
        let Ok(loose) = params.read::<Loose<'_>>() else { return };
        // It is for showing, and several wait to be seen.
        let message = loose.message.map(|text| text.chars().take(BEAT_TEXT).collect());
        let progress = Progress { progress: loose.progress.unwrap_or(0.0), total: loose.total, message };
        if let Some(id) = number(loose.progress_token.get()) {
            self.beat(id, Beat::Progress(progress));
        }
    }

    fn granted(&self, params: Option<Json>) {
        if let Some(params) = params
            && let Some(id) = subscription(&params)
        {
            self.beat(id, Beat::Granted(params));
        }
    }

    /// Passes on a sign of life; one that finds no room is dropped, the next one tells more.
    fn beat(&self, id: u64, beat: Beat) {
        let beats = self.lock().pending.get(&id).and_then(|entry| entry.beats.clone());
        if let Some(beats) = beats {
            let _full_or_gone = beats.try_send(beat);
        }
    }

    /// The server takes back a question of its own, or ends a subscription of ours.
    fn cancelled(&self, params: Option<Json>) {
        #[derive(Deserialize)]
        struct Loose<'a> {
            #[serde(borrow, rename = "requestId")]
            request_id: &'a RawValue,
        }
        let Some(params) = params else { return };
        let Ok(loose) = params.read::<Loose<'_>>() else { return };
        let ours = subscription(&params).or_else(|| number(loose.request_id.get()));
        let entry = ours.and_then(|id| {
            let mut state = self.lock();
            // Only a subscription of ours can be ended so; the ids of the server's questions are its own.
            let wants = state.pending.get(&id)?.wants;
            if wants == Wants::Subscription { state.pending.remove(&id) } else { None }
        });
        match entry {
            Some(entry) => {
                self.note_end(&entry, End::Nothing, 0);
                entry.answer(Err(Cause::Closed));
            }
            None => self.pass_on(Question::Withdrawn { id: params.part(loose.request_id).apart() }),
        }
    }
}
