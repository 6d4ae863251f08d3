//! Why there is no answer: no model was named, or the model did not do what it was asked.

use std::path::Path;
use std::time::Duration;

use switchboard::Explain;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nobody said which model.
    #[error("no model is set")]
    NoModel,
    /// What was said is no model.
    #[error("`{given}` is no model: it must be PROVIDER/NAME, with one of the providers {}", crate::choose::PROVIDERS.join(", "))]
    BadModel {
        /// What was given.
        given: String,
    },
    /// The provider wants a key.
    #[error("there is no key for `{provider}`: {variable} is not set")]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// The variable to set.
        variable: &'static str,
    },
    /// The address of the provider is none.
    #[error("{variable} is no address: it must start with http:// or https://")]
    BadAddress {
        /// The variable.
        variable: &'static str,
    },
    /// The provider does not take the key.
    #[error("{model} refuses the key ({status}): {message}")]
    Unauthorized {
        /// The model.
        model: String,
        /// The HTTP status.
        status: u16,
        /// What it says.
        message: String,
    },
    /// The provider has too much to do, or trouble of its own.
    #[error("{model} is busy ({status}): {message}")]
    Busy {
        /// The model.
        model: String,
        /// The HTTP status, or 0 if it said so in the middle of an answer.
        status: u16,
        /// What it says.
        message: String,
        /// When to come back.
        retry_after: Option<Duration>,
    },
    /// The conversation is longer than the model can look at.
    #[error("the conversation is too long for {model}: {message}")]
    TooLong {
        /// The model.
        model: String,
        /// What it says.
        message: String,
    },
    /// The provider does not take the request.
    #[error("{model} refuses the request ({status}): {message}")]
    Rejected {
        /// The model.
        model: String,
        /// The HTTP status, or 0 if it said so in the middle of an answer.
        status: u16,
        /// What it says.
        message: String,
    },
    /// Nobody answers at the address.
    #[error("{model} cannot be reached: {message}")]
    Unreachable {
        /// The model.
        model: String,
        /// Why.
        message: String,
    },
    /// The answer broke off.
    #[error("the answer of {model} broke off")]
    Cut {
        /// The model.
        model: String,
    },
    /// The answer cannot be read.
    #[error("the answer of {model} cannot be read: {message}")]
    Garbled {
        /// The model.
        model: String,
        /// What is wrong with it.
        message: String,
    },
}

/// Codes with their meanings, for the reference page.
pub const CODES: &[(&str, &str)] = &[
    ("no-model", "No model is set to talk to."),
    ("bad-model", "The model is not written as provider and name."),
    ("no-key", "The provider of the model wants a key and none is set."),
    ("bad-model-address", "The address of the model's provider is none."),
    ("model-unauthorized", "The provider of the model does not take the key."),
    ("model-busy", "The provider of the model has too much to do, or trouble of its own."),
    ("conversation-too-long", "The conversation is longer than the model can look at."),
    ("model-rejected", "The provider of the model does not take the request."),
    ("model-unreachable", "Nobody answers at the address of the model."),
    ("answer-cut", "The answer of the model broke off."),
    ("answer-garbled", "The answer of the model cannot be read."),
];

impl Error {
    /// Whether asking again can help.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Unreachable { .. } | Self::Cut { .. } | Self::Garbled { .. })
    }

    /// Whether it is for the user to set something.
    pub const fn is_of_the_setup(&self) -> bool {
        matches!(self, Self::NoModel | Self::BadModel { .. } | Self::NoKey { .. } | Self::BadAddress { .. })
    }
}

impl Explain for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::NoModel => "no-model",
            Self::BadModel { .. } => "bad-model",
            Self::NoKey { .. } => "no-key",
            Self::BadAddress { .. } => "bad-model-address",
            Self::Unauthorized { .. } => "model-unauthorized",
            Self::Busy { .. } => "model-busy",
            Self::TooLong { .. } => "conversation-too-long",
            Self::Rejected { .. } => "model-rejected",
            Self::Unreachable { .. } => "model-unreachable",
            Self::Cut { .. } => "answer-cut",
            Self::Garbled { .. } => "answer-garbled",
        }
    }

    fn message(&self) -> String {
        self.to_string()
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoModel | Self::BadModel { .. } => {
                "give one with --model PROVIDER/NAME, in SWITCHBOARD_MODEL, or as `chat.model` in your settings.json, \
                 such as anthropic/NAME, openai/NAME, gemini/NAME or ollama/NAME"
                    .to_owned()
            }
            Self::NoKey { provider: "openai" | "openai-responses", variable } => {
                format!("export {variable}=..., or OPENAI_BASE_URL for a server of your own that wants no key")
            }
            Self::NoKey { variable, .. } => format!("export {variable}=..."),
            Self::Unauthorized { .. } => "look at the key, and at what it may be used for".to_owned(),
            Self::TooLong { .. } => {
                "begin a new conversation, or say how much the model takes: `chat.contextTokens`".to_owned()
            }
            Self::Unreachable { .. } => "is the address right, and does the server run?".to_owned(),
            Self::BadAddress { .. }
            | Self::Busy { .. }
            | Self::Rejected { .. }
            | Self::Cut { .. }
            | Self::Garbled { .. } => return None,
        })
    }

    fn server(&self) -> Option<&str> {
        None
    }

    fn place(&self) -> Option<(&Path, Option<u32>)> {
        None
    }
}
