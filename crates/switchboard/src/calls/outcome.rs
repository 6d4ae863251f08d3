//! What a call brought.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::conform::{judge, warning};
use super::shape::{Shaped, shape};
use super::spill::spill;
use crate::catalog::{Entry, Promise, Verdict};
use crate::json::Json;
use crate::offer::CallResult;
use crate::origin::Origin;

/// What a call brought, as the server sent it and as a model is shown it.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The name of the tool.
    pub name: String,
    /// The server.
    pub server: String,
    /// The server's own name for the tool.
    pub tool: String,
    /// Where the server's definition stands.
    pub origin: Origin,
    /// The tool reports a failure.
    pub is_error: bool,
    /// What came, block by block, as it came.
    pub result: CallResult,
    /// The text for a model, and what else it is given.
    pub shaped: Shaped,
    /// Whether the shown text is only the head and tail of the whole.
    pub is_cut: bool,
    /// The whole text, where the shown one is only its head and tail; none also when it could not be kept.
    pub spilled: Option<PathBuf>,
    /// Whether the structured result is what the tool promises; none when it promises nothing or reports a failure.
    pub verdict: Option<Verdict>,
    /// From the request to the answer.
    pub elapsed: Duration,
}

impl Outcome {
    pub(super) fn new(entry: &Entry, result: CallResult, elapsed: Duration) -> Self {
        Self {
            name: entry.name.clone(),
            server: entry.server.clone(),
            tool: entry.tool.name.clone(),
            origin: entry.origin.clone(),
            is_error: result.is_error,
            shaped: shape(&result),
            result,
            is_cut: false,
            spilled: None,
            verdict: None,
            elapsed,
        }
    }

    /// The content blocks, raw.
    pub fn content(&self) -> Vec<&Json> {
        self.result.content.iter().map(|block| &block.raw).collect()
    }

    /// The whole text, also where a model is shown less of it.
    pub fn whole_text(&self) -> String {
        shape(&self.result).text
    }

    /// The shown text without the line for the model that says what is wrong with the result.
    pub fn said(&self) -> &str {
        let text = self.shaped.text.as_str();
        let before = self.note().and_then(|note| text.strip_suffix(&note));
        before.map_or(text, |before| before.strip_suffix("\n\n").unwrap_or(before))
    }

    /// What to say of a result that is not what the tool promises.
    pub fn warning(&self) -> Option<String> {
        self.verdict.as_ref().and_then(warning)
    }

    /// Shortens a text that is too long for a model, and keeps the whole of it.
    pub(crate) fn fit(&mut self, limit: usize, dir: &Path, now: SystemTime) {
        if let Some(spilled) = spill(&self.shaped.text, limit, dir, now) {
            self.shaped.text = spilled.text;
            self.spilled = spilled.path;
            self.is_cut = true;
        }
    }

    /// Holds the result against what the tool promises, and tells the model where it does not fit. The work is bounded,
    /// but not small, so it is not done where others wait.
    pub(crate) async fn hold(&mut self, promise: Option<Arc<Promise>>) {
        let Some(promise) = promise.filter(|_| !self.is_error) else { return };
        let structured = self.result.structured.clone();
        let judged = tokio::task::spawn_blocking(move || judge(&promise, structured.as_ref())).await;
        let failed = |_| Verdict::Unclear { reason: "the check failed".to_owned() };
        self.verdict = Some(judged.unwrap_or_else(failed));
        if let Some(note) = self.note() {
            let gap = if self.shaped.text.is_empty() { "" } else { "\n\n" };
            self.shaped.text.push_str(&format!("{gap}{note}"));
        }
    }

    fn note(&self) -> Option<String> {
        self.warning().map(|warning| format!("[{warning}]"))
    }
}
