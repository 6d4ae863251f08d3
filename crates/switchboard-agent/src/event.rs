//! What happens in a turn, for whoever shows it.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::usage::Usage;

/// What happens in a turn, in order. As JSON: one object with a `type`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// The model goes on speaking.
    Text {
        /// What came.
        text: String,
    },
    /// The model thinks aloud.
    Thinking {
        /// What came.
        text: String,
    },
    /// A call begins; the user may be asked about it.
    ToolCall {
        /// Tells it from the others.
        id: String,
        /// The name of the tool.
        name: String,
        /// The server, if there is such a tool.
        server: Option<String>,
        /// The server's own name for it.
        tool: Option<String>,
        /// As the model wrote them.
        arguments: String,
    },
    /// A call ended.
    ToolResult {
        /// The call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The beginning of the text the model is given.
        text: String,
        /// The tool or the call failed.
        is_error: bool,
        /// What became of the call.
        fate: Fate,
        /// How long it took.
        #[serde(serialize_with = "milliseconds", rename = "elapsedMs")]
        elapsed: Duration,
    },
    /// The model did not answer; it is asked again.
    Retry {
        /// Why.
        reason: String,
        /// Which try comes now.
        attempt: u32,
        /// After so long.
        #[serde(serialize_with = "milliseconds", rename = "waitMs")]
        wait: Duration,
        /// What came of this answer so far does not count.
        discards: bool,
    },
    /// What the last answer took.
    Usage {
        /// The tokens.
        #[serde(flatten)]
        usage: Usage,
    },
    /// The tools are not what they were at the last step.
    ToolsChanged {
        /// The names of new ones.
        added: Vec<String>,
        /// The names of those that are gone.
        removed: Vec<String>,
    },
    /// Old results were shortened, so that the conversation fits.
    Trimmed {
        /// How many.
        results: usize,
    },
    /// Something the user should know.
    Notice {
        /// What.
        text: String,
    },
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// It was approved and made.
    Made,
    /// A rule or the user said no.
    Denied,
    /// There is no such tool, or its server is gone.
    Unknown,
    /// The arguments are none the tool can take.
    Malformed,
    /// The user stopped it.
    Interrupted,
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
