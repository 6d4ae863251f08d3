//! Why a command failed, and the exit code that says so.

use std::path::PathBuf;

use serde_json::{Value, json};
use switchboard::config::edit::EditError;
use switchboard::config::write::WriteError;
use switchboard::install::InstallError;
use switchboard::visible::excerpt;
use switchboard::{Env, Explain};

/// The kinds of failure, by exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The work could not be done.
    Failed = 1,
    /// What was typed or configured makes no sense.
    Usage = 2,
    /// The server wants a login.
    LoginNeeded = 3,
    /// The server cannot be reached or does not speak with us.
    Unreachable = 4,
    /// The tool reported an error.
    ToolFailed = 5,
    /// The server may have acted, and nobody knows.
    OutcomeUnknown = 6,
    /// Consent is missing.
    NotApproved = 7,
    /// The user stopped it.
    Interrupted = 130,
}

/// A failure, ready to be shown.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) kind: Kind,
    /// Boxed: most commands do not fail, and results should stay small.
    words: Box<Words>,
}

#[derive(Debug)]
struct Words {
    code: &'static str,
    message: String,
    hint: Option<String>,
    server: Option<String>,
    place: Option<(PathBuf, u32)>,
    /// The last line the server wrote to its standard error.
    said: Option<String>,
}

impl CommandError {
    pub(crate) fn usage(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, code, message)
    }

    pub(crate) fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        let words =
            Words { code, message: message.into(), hint: None, server: None, place: None, said: None };
        Self { kind, words: Box::new(words) }
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(Kind::Interrupted, "interrupted", "stopped; nothing was changed")
    }

    /// Stopped while something was asked of servers.
    pub(crate) fn stopped() -> Self {
        Self::new(Kind::Interrupted, "interrupted", "stopped")
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.words.hint = Some(hint.into());
        self
    }

    /// What somebody could do about it, for those who are told elsewhere.
    #[cfg(unix)]
    pub(crate) fn what_to_do(&self) -> Option<String> {
        self.words.hint.clone()
    }

    /// Whether the name of something leads nowhere.
    pub(crate) fn is_not_found(&self) -> bool {
        self.words.code.ends_with("-not-found") && self.kind == Kind::Usage
    }

    /// The same failure in other words.
    #[must_use]
    pub(crate) fn reworded(mut self, words: impl FnOnce(&str) -> String) -> Self {
        self.words.message = words(&self.words.message);
        self
    }

    #[must_use]
    pub(crate) fn server(mut self, server: &str) -> Self {
        self.words.server = Some(server.to_owned());
        self
    }

    /// What the server itself said last.
    #[must_use]
    pub(crate) fn last_words(mut self, words: Option<&str>) -> Self {
        self.words.said = words.map(|words| excerpt(words, 200));
        self
    }

    /// The lines for people: what happened, where, what to do.
    pub(crate) fn lines(&self, env: Option<&Env>) -> (String, Vec<String>) {
        let mut lines = Vec::new();
        if let Some((path, line)) = &self.words.place {
            let shown = env.map_or_else(|| path.display().to_string(), |env| env.display(path));
            lines.push(format!("{shown} line {line}"));
        }
        lines.extend(self.words.said.iter().map(|words| format!("it said: {words}")));
        lines.extend(self.words.hint.iter().map(|hint| format!("hint: {hint}")));
        (self.words.message.clone(), lines)
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({"code": self.words.code, "message": self.words.message});
        if let Some(hint) = &self.words.hint {
            error["hint"] = json!(hint);
        }
        if let Some(server) = &self.words.server {
            error["server"] = json!(server);
        }
        if let Some(words) = &self.words.said {
            error["lastWords"] = json!(words);
        }
        json!({ "error": error })
    }

    pub(crate) fn explained(kind: Kind, error: &impl Explain) -> Self {
        let words = Words {
            code: error.code(),
            message: error.message(),
            hint: error.hint(),
            server: error.server().map(str::to_owned),
            place: error.place().and_then(|(path, line)| Some((path.to_owned(), line?))),
            said: None,
        };
        Self { kind, words: Box::new(words) }
    }
}

impl From<EditError> for CommandError {
    fn from(error: EditError) -> Self {
        match error {
            EditError::Write(error) => error.into(),
            EditError::Name(_)
            | EditError::Invalid { .. }
            | EditError::Exists { .. }
            | EditError::Missing { .. } => Self::explained(Kind::Usage, &error),
        }
    }
}

impl From<InstallError> for CommandError {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::Edit(error) => error.into(),
            InstallError::Write(error) => error.into(),
            InstallError::Exists { .. } | InstallError::Unusual { .. } => {
                Self::explained(Kind::Usage, &error)
            }
        }
    }
}

impl From<WriteError> for CommandError {
    fn from(error: WriteError) -> Self {
        let kind = match error {
            WriteError::Content { .. } | WriteError::Unusable { .. } => Kind::Usage,
            _ => Kind::Failed,
        };
        Self::explained(kind, &error)
    }
}

impl From<inquire::InquireError> for CommandError {
    fn from(error: inquire::InquireError) -> Self {
        match error {
            inquire::InquireError::OperationCanceled | inquire::InquireError::OperationInterrupted => {
                Self::interrupted()
            }
            other => Self::new(Kind::Failed, "terminal", format!("cannot ask on this terminal: {other}")),
        }
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self::new(Kind::Failed, "output", format!("cannot write the output: {error}"))
    }
}
