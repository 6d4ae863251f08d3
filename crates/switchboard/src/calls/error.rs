//! Why a call gave no outcome.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::deferred::Deferred;
use super::policy::By;
use crate::connect::{Fault, Refused, last_words};
use crate::problem::Explain;
use crate::visible::shell_word;
use crate::wire;

/// What kind of failure it is, for whoever decides what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Nothing will change until somebody changes something.
    Terminal,
    /// May work later.
    Transient,
    /// The call itself is wrong.
    Misuse,
}

impl Class {
    /// The word in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Transient => "transient",
            Self::Misuse => "misuse",
        }
    }
}

/// Codes of refusals, with their meanings, for the reference page.
pub const CODES: &[(&str, &str)] = &[
    ("denied", "A rule or the user said no, or nobody was there to say yes; nothing was sent."),
    ("approval-needed", "The call waits for the user's word; nothing was sent."),
    ("approval-outdated", "The user's word is for a tool that is not what it was; nothing was sent."),
    ("bad-arguments", "The arguments are none the tool can take; nothing was sent."),
];

/// Who said no to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denier {
    /// A rule.
    Rule(By),
    /// The user.
    User,
    /// No rule allows it, and nobody is there to ask.
    Nobody,
    /// The rule wants a yes, and whoever made the call cannot be asked.
    Unasked(By),
    /// It is outside of what this part of a session may do.
    Scope,
}

impl Denier {
    const fn hint(self) -> Option<&'static str> {
        match self {
            Self::Rule(By::SettingsTool(_) | By::SettingsServer(_)) => {
                Some("change the rule under `approval` in settings.json")
            }
            Self::Rule(By::Lists) => Some("change `tools` in the server's entry"),
            Self::Rule(By::Host) => Some("start without the rule that denies it"),
            Self::Rule(By::EntryTool(_) | By::Entry(_) | By::Default) => {
                Some("change the rule in settings.json or in the server's entry")
            }
            Self::User => Some("go on without it, or ask the user what to do instead"),
            Self::Nobody => Some(
                "allow it beforehand: a rule under `approval` in settings.json, or --allow NAME for one run",
            ),
            Self::Unasked(_) => Some(
                "use a client that shows forms, or set the rule under `approval` in settings.json to `never`",
            ),
            Self::Scope => None,
        }
    }
}

/// Why a call gave no outcome.
#[derive(Debug, Clone)]
pub enum CallError {
    /// A rule or the user said no, or nobody was there to say yes.
    Denied {
        /// The server.
        server: String,
        /// Why.
        reason: String,
        /// Who said no.
        by: Denier,
    },
    /// The host put the call aside until the user has a word; nothing was sent. See `Session::resume`.
    Deferred {
        /// What waits.
        request: Box<Deferred>,
    },
    /// The user's word came for a tool that is not what it was; nothing was sent.
    Outdated {
        /// The server.
        server: String,
        /// What changed.
        reason: String,
    },
    /// The arguments are none; nothing was sent.
    Arguments {
        /// The server.
        server: String,
        /// What is wrong with them.
        reason: String,
    },
    /// The server does not work; nothing was sent.
    Down {
        /// What is wrong with it.
        fault: Arc<Fault>,
    },
    /// The server was stopped; nothing was sent.
    Stopped {
        /// The server.
        server: String,
    },
    /// The server did not come up in time; nothing was sent.
    TooLate {
        /// The server.
        server: String,
        /// So long it was waited for.
        after: Duration,
    },
    /// The request failed.
    Failed {
        /// The server.
        server: String,
        /// How.
        error: wire::Error,
        /// The last words of its process.
        stderr: String,
    },
}

impl CallError {
    pub(super) fn refused(server: &str, refused: Refused) -> Self {
        let server = server.to_owned();
        match refused {
            Refused::Fault(fault) => Self::Down { fault },
            Refused::Stopped => Self::Stopped { server },
            Refused::TooLate { after } => Self::TooLate { server, after },
        }
    }

    /// Whether the server may have acted although there is no answer.
    pub const fn is_outcome_unknown(&self) -> bool {
        match self {
            Self::Failed { error, .. } => error.is_outcome_unknown(),
            Self::Denied { .. }
            | Self::Deferred { .. }
            | Self::Outdated { .. }
            | Self::Arguments { .. }
            | Self::Down { .. }
            | Self::Stopped { .. }
            | Self::TooLate { .. } => false,
        }
    }

    /// Whether a login would help.
    pub fn needs_login(&self) -> bool {
        match self {
            Self::Down { fault } => fault.needs_login(),
            Self::Failed { error, .. } => error.needs_login(),
            Self::Denied { .. }
            | Self::Deferred { .. }
            | Self::Outdated { .. }
            | Self::Arguments { .. }
            | Self::Stopped { .. }
            | Self::TooLate { .. } => false,
        }
    }

    /// What the server says about the login it wants.
    pub fn challenge(&self) -> Option<&str> {
        match self {
            Self::Down { fault } => fault.challenge.as_deref(),
            Self::Failed { error, .. } => match &error.cause {
                wire::Cause::Unauthorized { challenge, .. } => challenge.as_deref(),
                _ => None,
            },
            Self::Denied { .. }
            | Self::Deferred { .. }
            | Self::Outdated { .. }
            | Self::Arguments { .. }
            | Self::Stopped { .. }
            | Self::TooLate { .. } => None,
        }
    }

    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Stopped { .. } | Self::TooLate { .. } => Class::Transient,
            Self::Down { fault } if fault.is_transient => Class::Transient,
            // A call that waits is not helped by another one.
            Self::Denied { .. } | Self::Deferred { .. } | Self::Outdated { .. } | Self::Down { .. } => {
                Class::Terminal
            }
            Self::Arguments { .. } => Class::Misuse,
            Self::Failed { error, .. } => match &error.cause {
                wire::Cause::Rpc(error) if matches!(error.code, -32602 | -32600) => Class::Misuse,
                _ if error.is_transient() => Class::Transient,
                _ => Class::Terminal,
            },
        }
    }

    /// The last line the server's process wrote to its standard error, advice aside: often the reason.
    pub fn last_words(&self) -> Option<&str> {
        let said = match self {
            Self::Failed { stderr, .. } => stderr,
            Self::Down { fault } => &fault.stderr,
            Self::Denied { .. }
            | Self::Deferred { .. }
            | Self::Outdated { .. }
            | Self::Arguments { .. }
            | Self::Stopped { .. }
            | Self::TooLate { .. } => return None,
        };
        last_words(said)
    }

    /// The text a model is given.
    pub fn text(&self) -> String {
        match self {
            Self::Failed { error, .. } if error.cause == wire::Cause::Cancelled => "Aborted".to_owned(),
            _ if self.is_outcome_unknown() => {
                format!("MCP error: {self} (outcome unknown: the tool may have run; it was not repeated)")
            }
            Self::Deferred { .. } => {
                format!(
                    "Error: {self}. Do not call it again: go on without it, or end and say what is waiting"
                )
            }
            Self::Denied { .. } | Self::Outdated { .. } | Self::Arguments { .. } => format!("Error: {self}"),
            _ => format!("MCP error: {self}"),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { reason, by: Denier::User, .. } if reason.trim().is_empty() => {
                f.write_str("the user said no")
            }
            // Some say so themselves.
            Self::Denied { reason, by: Denier::User, .. } if reason.starts_with("the user ") => {
                f.write_str(reason)
            }
            Self::Denied { reason, by: Denier::User, .. } => write!(f, "the user said no: {reason}"),
            Self::Denied { reason, .. } => write!(f, "not allowed: {reason}"),
            Self::Deferred { request } => {
                write!(f, "`{}` was not run: it waits for the user's approval", request.name)
            }
            Self::Outdated { reason, .. } => write!(f, "the approval does not count any more: {reason}"),
            Self::Arguments { reason, .. } => f.write_str(reason),
            Self::Down { fault } => write!(f, "`{}` is not connected: {}", fault.server, fault.message),
            Self::Stopped { server } => write!(f, "`{server}` was stopped"),
            Self::TooLate { server, after } => {
                write!(f, "`{server}` did not come up within {} ms", after.as_millis())
            }
            Self::Failed { error, .. } => error.fmt(f),
        }
    }
}

impl std::error::Error for CallError {}

impl Explain for CallError {
    fn code(&self) -> &'static str {
        match self {
            Self::Denied { .. } => "denied",
            Self::Deferred { .. } => "approval-needed",
            Self::Outdated { .. } => "approval-outdated",
            Self::Arguments { .. } => "bad-arguments",
            Self::Down { fault } => fault.code,
            Self::Stopped { .. } => "stopped",
            Self::TooLate { .. } => "timeout",
            Self::Failed { error, .. } => error.code(),
        }
    }

    fn message(&self) -> String {
        self.to_string()
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Denied { by, .. } => by.hint().map(str::to_owned),
            Self::Deferred { .. } => Some("approve or deny it, and the call goes on".to_owned()),
            Self::Outdated { .. } => Some("make the call anew".to_owned()),
            Self::Down { fault } => fault.hint.clone(),
            Self::Arguments { .. } | Self::Stopped { .. } => None,
            Self::TooLate { server, .. } => Some(format!("see what it does: switchboard test {server}")),
            Self::Failed { .. } if self.is_outcome_unknown() => {
                Some("the tool may have run: look before you call it again".to_owned())
            }
            Self::Failed { error, server, .. } => {
                error.hint().map(|hint| hint.replace("NAME", &shell_word(server)))
            }
        }
    }

    fn server(&self) -> Option<&str> {
        Some(match self {
            Self::Denied { server, .. }
            | Self::Outdated { server, .. }
            | Self::Arguments { server, .. }
            | Self::Stopped { server }
            | Self::TooLate { server, .. }
            | Self::Failed { server, .. } => server,
            Self::Deferred { request } => &request.server,
            Self::Down { fault } => &fault.server,
        })
    }

    fn place(&self) -> Option<(&Path, Option<u32>)> {
        match self {
            Self::Down { fault } => fault.place(),
            Self::Denied { .. }
            | Self::Deferred { .. }
            | Self::Outdated { .. }
            | Self::Arguments { .. }
            | Self::Stopped { .. }
            | Self::TooLate { .. }
            | Self::Failed { .. } => None,
        }
    }
}
