//! From which level on a server logs. The modern protocol wants it with every request; the other is told once for a
//! session, before the first request that wants to see lines.

use std::time::Duration;

use serde_json::json;

use super::era::Era;
use super::error::Error;
use super::link::{Asking, Link, Shared};
use super::message::Params;
use super::peer::Patience;
use crate::notice::rank;

/// So long a server has to hear it, if not less: calls wait for that, whatever they may take themselves.
const TELLING: Duration = Duration::from_secs(2);

impl Link {
    /// Log lines from this level on.
    pub async fn set_log_level(&self, level: &str) -> Result<(), Error> {
        let mut told = self.shared.log_level.lock().await;
        *told = Some(level.to_owned());
        if self.shared.is_told_once() {
            self.shared.ask(self.shared.level(level), &mut |_| {}).await?;
        }
        Ok(())
    }
}

impl Shared {
    fn is_told_once(&self) -> bool {
        self.facts.era == Era::Handshake && self.facts.can("logging")
    }

    fn level(&self, level: &str) -> Asking<'static> {
        let limit = self.timeout().map_or(TELLING, |limit| limit.min(TELLING));
        let params = Params::new().with("level", json!(level));
        Asking { patience: Patience::of(Some(limit)), ..self.plain("logging/setLevel", params) }
    }

    /// Has the server log what a request wants to see, unless it does. Whoever sends the request cannot know what this very
    /// connection was told: it may be newer than what they last heard of the server.
    pub(super) async fn talk_from(&self, level: &str) {
        if !self.is_told_once() {
            return;
        }
        let mut told = self.log_level.lock().await;
        if told.as_deref().is_some_and(|told| rank(told) <= rank(level)) {
            return;
        }
        // One that refuses or does not answer keeps only its own lines back. It would do so before every call.
        *told = Some(level.to_owned());
        let _untold = Box::pin(self.ask(self.level(level), &mut |_| {})).await;
    }

    /// A new session knows nothing of what was said in the one before.
    pub(super) async fn say_level_again(&self) {
        // Whoever holds it is about to say so.
        let Ok(told) = self.log_level.try_lock() else { return };
        if let Some(level) = told.as_deref().filter(|_| self.is_told_once()) {
            let _refused = self.put(&self.level(level), &mut |_| {}).await;
        }
    }
}
