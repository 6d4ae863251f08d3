//! What a call brought.

use std::path::PathBuf;
use std::time::Duration;

use super::shape::{Shaped, shape};
use crate::catalog::Entry;
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
    /// The whole text, where the shown one is only its head and tail.
    pub spilled: Option<PathBuf>,
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
            spilled: None,
            elapsed,
        }
    }

    /// The content blocks, raw.
    pub fn content(&self) -> Vec<&Json> {
        self.result.content.iter().map(|block| &block.raw).collect()
    }
}
