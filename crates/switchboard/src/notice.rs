//! What a server says unasked: log lines, progress, changes.

use crate::json::Json;

/// Levels of log lines, from talkative to terse.
pub const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// How grave a level is. One that nobody knows is none to be afraid of.
pub fn rank(level: &str) -> usize {
    LEVELS.iter().position(|known| *known == level).unwrap_or(1)
}

/// Something a surface may show or act on.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// The list of tools changed.
    ToolsChanged,
    /// The list of prompts changed.
    PromptsChanged,
    /// The list of resources changed.
    ResourcesChanged,
    /// A resource somebody subscribed to changed.
    ResourceUpdated {
        /// Which one.
        uri: String,
    },
    /// A line for the log.
    Log {
        /// `debug`, `info`, `warning`, `error` and so on, as sent.
        level: String,
        /// Which part of the server speaks.
        logger: Option<String>,
        /// Its words, as JSON.
        data: Json,
    },
    /// The state of a task changed.
    Task {
        /// The parameters as sent.
        params: Json,
    },
    /// The server forgot our session and a new one was made: what it offers must be asked anew.
    SessionRenewed,
    /// The server asked a client something: from its handshake on it has to know which one.
    Asked,
    /// A notification nobody here knows, passed on as it came.
    Other {
        /// Its method.
        method: String,
        /// Its parameters.
        params: Option<Json>,
    },
}

impl Notice {
    /// What it carries, in bytes.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::ToolsChanged
            | Self::PromptsChanged
            | Self::ResourcesChanged
            | Self::SessionRenewed
            | Self::Asked => 0,
            Self::ResourceUpdated { uri } => uri.len(),
            Self::Log { level, logger, data } => {
                level.len() + logger.as_ref().map_or(0, String::len) + data.len()
            }
            Self::Task { params } => params.len(),
            Self::Other { method, params } => method.len() + params.as_ref().map_or(0, Json::len),
        }
    }
}

/// How far a request has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// So much is done.
    pub progress: f64,
    /// Of so much, if it is known.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
}
