//! What can go wrong on the wire, as facts: what happened, and whether the request can have reached the server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::era::{HANDSHAKES, MODERN};
use super::message::{HEADER_MISMATCH, RpcError};
use crate::auth::challenge;
use crate::json::Json;
use crate::problem::{Explain, Problem};
use crate::secret::Secrets;

/// Whether a request reached the server. Only what was never sent, or is safe to repeat, may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Not one byte left, or the server said that it did not look at it.
    Never,
    /// Some or all of it left: the server may have acted on it.
    Maybe,
}

/// Why a request or a connection failed.
#[derive(Debug, Clone)]
pub struct Error {
    /// What happened.
    pub cause: Cause,
    /// Whether the request can have reached the server.
    pub sent: Sent,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The program could not be started.
    Start {
        /// Which one.
        program: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The process ended.
    Exited {
        /// With which code or signal.
        how: Exit,
    },
    /// The server closed its output, or the stream of its messages ended.
    Closed,
    /// We stopped the connection ourselves.
    Stopped,
    /// No answer in time.
    Timeout {
        /// To what.
        waiting_for: String,
        /// So long.
        after: Duration,
    },
    /// The caller gave up.
    Cancelled,
    /// A message is larger than allowed.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The answer breaks the rules of the protocol.
    Malformed {
        /// How.
        why: String,
    },
    /// The server answered with an error.
    Rpc(RpcError),
    /// The server answered with an HTTP status that says no.
    Http {
        /// The status.
        status: u16,
        /// The start of what came with it.
        body: String,
        /// How long to wait before the next try, if the server said so.
        retry_after: Option<Duration>,
    },
    /// The server wants to know who asks.
    Unauthorized {
        /// 401 or 403.
        status: u16,
        /// The `WWW-Authenticate` header, whole.
        challenge: Option<String>,
        /// Why the login that was there is of no use, if there was one.
        why: Option<String>,
    },
    /// The server answered, but not in the protocol.
    NotMcp {
        /// The type of what came instead.
        content_type: String,
    },
    /// The server points to another address.
    Redirected {
        /// Where we asked.
        from: String,
        /// Where it points.
        to: String,
    },
    /// No connection to the address.
    Unreachable {
        /// The address, without secrets.
        url: String,
        /// At which step.
        step: Step,
        /// In words.
        why: String,
    },
    /// The stream of the answer ended before the answer came.
    CutOff,
    /// The server does not know our session any more.
    SessionLost,
    /// No common protocol version.
    Version {
        /// What the server speaks.
        theirs: String,
    },
    /// The server asked for input again and again.
    TooManyRounds {
        /// So often.
        rounds: usize,
    },
    /// The server needs an answer that nobody here gives.
    Declined {
        /// To what.
        what: String,
    },
}

/// The steps on the way to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The name has no address.
    Dns,
    /// Nobody accepts the connection.
    Connect,
    /// The certificate or the encryption.
    Tls,
    /// Whoever answers does not encrypt at all.
    NoTls,
    /// The connection broke.
    Transfer,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With a code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// Nobody knows.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "ended with code {code}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}{}", name_of(*signal)),
            Self::Unknown => f.write_str("ended"),
        }
    }
}

fn name_of(signal: i32) -> &'static str {
    match signal {
        6 => " (abort)",
        9 => " (kill)",
        11 => " (segmentation fault)",
        15 => " (terminate)",
        _ => "",
    }
}

impl Error {
    pub(crate) const fn never(cause: Cause) -> Self {
        Self { cause, sent: Sent::Never }
    }

    pub(crate) const fn maybe(cause: Cause) -> Self {
        Self { cause, sent: Sent::Maybe }
    }

    /// Something on our own side broke.
    pub(crate) fn broken() -> Self {
        Self::never(Cause::Malformed { why: "opening it failed on our side".to_owned() })
    }

    /// Whether the connection itself is gone, rather than one request.
    pub const fn is_lost(&self) -> bool {
        matches!(self.cause, Cause::Exited { .. } | Cause::Closed | Cause::Stopped | Cause::Start { .. })
    }

    /// Whether a login would help.
    pub const fn needs_login(&self) -> bool {
        matches!(self.cause, Cause::Unauthorized { .. })
    }

    /// Whether the mirrored headers were wrong: the tool changed since it was listed. Nothing ran yet.
    pub(super) const fn is_misquoted(&self) -> bool {
        matches!(&self.cause, Cause::Rpc(error) if error.code == HEADER_MISMATCH)
    }

    /// Which of the values that could not be filled in may be why. Who was never reached knows nothing of our headers; the
    /// address may be wrong all the same.
    pub fn likely_cause<'p>(&self, problems: &'p [Problem]) -> Option<&'p Problem> {
        let of_address = |problem: &&Problem| problem.message.starts_with("`url`");
        match &self.cause {
            Cause::Exited { .. }
            | Cause::Closed
            | Cause::Start { .. }
            | Cause::Timeout { .. }
            | Cause::Unauthorized { .. }
            | Cause::Rpc(_)
            | Cause::Http { status: 400..=499, .. } => problems.first(),
            _ => problems.iter().find(of_address),
        }
    }

    /// Whether nothing at all will work without a login; more rights may be wanted for one thing only.
    pub const fn is_logged_out(&self) -> bool {
        matches!(self.cause, Cause::Unauthorized { status: 401, .. })
    }

    /// The rights the server wants and the login does not have, if it says so in words that can be typed again.
    fn missing_rights(&self) -> Option<String> {
        let Cause::Unauthorized { status: 403, challenge: Some(challenge), .. } = &self.cause else {
            return None;
        };
        let challenge = challenge::parse(challenge)?;
        let rights = challenge.scopes.join(" ");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " :._/-".contains(c);
        let is_fit = !rights.is_empty() && rights.len() <= 200 && rights.chars().all(is_plain);
        (is_fit && challenge.error.as_deref() == Some("insufficient_scope")).then_some(rights)
    }

    /// Whether trying again later can help, leaving aside whether this request may be repeated.
    pub const fn is_transient(&self) -> bool {
        match &self.cause {
            Cause::Exited { .. }
            | Cause::Closed
            | Cause::Timeout { .. }
            | Cause::Unreachable { .. }
            | Cause::CutOff
            | Cause::SessionLost => true,
            Cause::Http { status, .. } => matches!(status, 404 | 408 | 425 | 429 | 500..=599),
            Cause::Start { .. }
            | Cause::Stopped
            | Cause::Cancelled
            | Cause::TooLarge { .. }
            | Cause::Malformed { .. }
            | Cause::Rpc(_)
            | Cause::Unauthorized { .. }
            | Cause::NotMcp { .. }
            | Cause::Redirected { .. }
            | Cause::Version { .. }
            | Cause::TooManyRounds { .. }
            | Cause::Declined { .. } => false,
        }
    }

    /// Whether the server may have acted although we have no answer.
    pub const fn is_outcome_unknown(&self) -> bool {
        matches!(self.sent, Sent::Maybe)
            && match &self.cause {
                // The server's own word that it refused or failed is an answer.
                Cause::Rpc(_) | Cause::Unauthorized { .. } | Cause::Redirected { .. } => false,
                Cause::Http { status, .. } => *status >= 500,
                _ => true,
            }
    }
}

impl Error {
    /// The same without secrets: servers like to repeat what they were sent.
    pub(crate) fn scrubbed(self, secrets: &Secrets) -> Self {
        Self { cause: self.cause.scrubbed(secrets), sent: self.sent }
    }
}

impl Cause {
    fn scrubbed(self, secrets: &Secrets) -> Self {
        let clean = |text: String| secrets.scrub(&text).into_owned();
        match self {
            Self::Start { program, why } => Self::Start { program, why: clean(why) },
            Self::Malformed { why } => Self::Malformed { why: clean(why) },
            Self::Rpc(RpcError { code, message, data }) => {
                // Stars in place of a number are no JSON any more; then nothing is left of it.
                let data = data.and_then(|data| Json::from_text(secrets.scrub(data.as_str())).ok());
                Self::Rpc(RpcError { code, message: clean(message), data })
            }
            Self::Http { status, body, retry_after } => Self::Http { status, body: clean(body), retry_after },
            Self::Unauthorized { status, challenge, why } => {
                Self::Unauthorized { status, challenge: challenge.map(clean), why }
            }
            Self::NotMcp { content_type } => Self::NotMcp { content_type: clean(content_type) },
            Self::Redirected { from, to } => Self::Redirected { from: clean(from), to: clean(to) },
            Self::Unreachable { url, step, why } => {
                Self::Unreachable { url: clean(url), step, why: clean(why) }
            }
            Self::Version { theirs } => Self::Version { theirs: clean(theirs) },
            Self::Declined { what } => Self::Declined { what: clean(what) },
            Self::Timeout { .. }
            | Self::Exited { .. }
            | Self::Closed
            | Self::Stopped
            | Self::Cancelled
            | Self::TooLarge { .. }
            | Self::CutOff
            | Self::SessionLost
            | Self::TooManyRounds { .. } => self,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { program, why } => write!(f, "cannot start `{}`: {why}", program.display()),
            Self::Exited { how } => write!(f, "the server {how}"),
            Self::Closed => f.write_str("the server closed the connection"),
            Self::Stopped => f.write_str("the connection was stopped"),
            Self::Timeout { waiting_for, after } => {
                write!(f, "no answer to {waiting_for} within {} ms", after.as_millis())
            }
            Self::Cancelled => f.write_str("Aborted"),
            Self::TooLarge { limit } => write!(f, "a message exceeds {limit} bytes"),
            Self::Malformed { why } => write!(f, "the answer breaks the protocol: {why}"),
            Self::Rpc(error) => write!(f, "{} (code {})", error.message, error.code),
            Self::Http { status, body, .. } if body.is_empty() => write!(f, "HTTP {status}"),
            Self::Http { status, body, .. } => write!(f, "HTTP {status}: {body}"),
            // Who is logged in does not have to be told that a login is wanted.
            Self::Unauthorized { status: 403, why: Some(why), .. } => write!(f, "HTTP 403: {why}"),
            Self::Unauthorized { status, why: Some(why), .. } => {
                write!(f, "HTTP {status}: the server wants a login; {why}")
            }
            Self::Unauthorized { status, .. } => write!(f, "HTTP {status}: the server wants a login"),
            Self::NotMcp { content_type } => {
                write!(f, "the address answers with `{content_type}`, not with MCP")
            }
            Self::Redirected { from, to } => write!(f, "{from} redirects to {to}"),
            Self::Unreachable { url, step: Step::NoTls, .. } => {
                write!(f, "cannot reach {url}: it does not speak TLS there")
            }
            Self::Unreachable { url, step, why } => write!(f, "cannot reach {url}: {} {why}", step.word()),
            Self::CutOff => f.write_str("the answer was cut off"),
            Self::SessionLost => f.write_str("the server forgot the session"),
            Self::Version { theirs } => {
                let ours = HANDSHAKES.join(", ");
                write!(f, "no common protocol version: the server speaks {theirs}, we speak {MODERN}, {ours}")
            }
            Self::TooManyRounds { rounds } => write!(f, "the server asked for input {rounds} times"),
            Self::Declined { what } => write!(f, "the server needs {what}, which nobody here answers"),
        }
    }
}

impl Step {
    const fn word(self) -> &'static str {
        match self {
            Self::Dns => "name lookup:",
            Self::Connect => "connect:",
            Self::Tls | Self::NoTls => "TLS:",
            Self::Transfer => "transfer:",
        }
    }
}

/// Every code an error of the wire can have, with what it means. The reference page is made from it.
pub const CODES: &[(&str, &str)] = &[
    ("start-failed", "The program of the server could not be started."),
    ("server-exited", "The process of the server ended."),
    ("connection-closed", "The server closed its output or the stream of its messages."),
    ("stopped", "The connection was stopped on our side."),
    ("timeout", "The server did not answer in time."),
    ("cancelled", "The caller gave up; the server was told."),
    ("message-too-large", "A message is larger than the limit; it costs only itself."),
    ("malformed-answer", "An answer breaks the rules of the protocol."),
    ("server-error", "The server answered with a JSON-RPC error."),
    ("http-error", "The server answered with an HTTP status that says no."),
    ("login-needed", "The server wants a login (HTTP 401 or 403)."),
    ("not-mcp", "The address answers with something that is not MCP."),
    ("redirected", "The address redirects to another origin, or in a way that would lose the request."),
    ("unreachable", "No connection to the address: name, connect, TLS or transfer."),
    ("answer-cut-off", "The stream ended before the answer came."),
    ("session-lost", "The server does not know our session any more."),
    ("version-mismatch", "There is no protocol version both sides speak."),
    ("too-many-rounds", "The server asked for input again and again."),
    ("input-declined", "The server needs an answer nobody here gives."),
];

impl Cause {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start-failed",
            Self::Exited { .. } => "server-exited",
            Self::Closed => "connection-closed",
            Self::Stopped => "stopped",
            Self::Timeout { .. } => "timeout",
            Self::Cancelled => "cancelled",
            Self::TooLarge { .. } => "message-too-large",
            Self::Malformed { .. } => "malformed-answer",
            Self::Rpc(_) => "server-error",
            Self::Http { .. } => "http-error",
            Self::Unauthorized { .. } => "login-needed",
            Self::NotMcp { .. } => "not-mcp",
            Self::Redirected { .. } => "redirected",
            Self::Unreachable { .. } => "unreachable",
            Self::CutOff => "answer-cut-off",
            Self::SessionLost => "session-lost",
            Self::Version { .. } => "version-mismatch",
            Self::TooManyRounds { .. } => "too-many-rounds",
            Self::Declined { .. } => "input-declined",
        }
    }
}

impl Explain for Error {
    fn code(&self) -> &'static str {
        self.cause.code()
    }

    fn message(&self) -> String {
        self.cause.to_string()
    }

    fn hint(&self) -> Option<String> {
        if let Some(rights) = self.missing_rights() {
            return Some(format!(
                "log in for the rights it needs: switchboard reauth NAME --scope '{rights}'"
            ));
        }
        let hint = match &self.cause {
            Cause::Start { .. } => "check `command`, and that the file may be executed",
            Cause::Exited { .. } => "see what it says: switchboard test NAME",
            Cause::Timeout { .. } => {
                "raise `timeout` or `startupTimeout` of this server (milliseconds, 0 = no limit)"
            }
            Cause::Unauthorized { status: 403, why: Some(_), .. } => {
                "log in as somebody who may: switchboard reauth NAME (or ask its owner for the right)"
            }
            Cause::Unauthorized { .. } => {
                "log in: switchboard reauth NAME (or, if it has a token of its own, check that: switchboard why NAME)"
            }
            Cause::NotMcp { .. } | Cause::Http { status: 404 | 405, .. } => {
                "check the address; MCP endpoints often end in /mcp or /sse"
            }
            Cause::Redirected { .. } => "write the address it points to into `url`, if you trust it",
            Cause::Unreachable { step: Step::NoTls, .. } => "is it `http://`?",
            Cause::Unreachable { step: Step::Tls, .. } => "check the certificate and the system's clock",
            Cause::Unreachable { .. } => "check the address, that the server runs, and the proxy variables",
            Cause::Version { .. } => "update the server or Switchboard",
            Cause::TooLarge { .. } => "ask the server for less",
            Cause::Declined { .. } => "use a session with a person in front of it",
            Cause::Closed
            | Cause::Stopped
            | Cause::Cancelled
            | Cause::Malformed { .. }
            | Cause::Rpc(_)
            | Cause::Http { .. }
            | Cause::CutOff
            | Cause::SessionLost
            | Cause::TooManyRounds { .. } => return None,
        };
        Some(hint.to_owned())
    }

    fn server(&self) -> Option<&str> {
        None
    }

    fn place(&self) -> Option<(&Path, Option<u32>)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_logged_in_and_refused_is_told_of_rights() {
        let said = |status: u16, challenge: Option<&str>, why: Option<&str>| {
            let (challenge, why) = (challenge.map(str::to_owned), why.map(str::to_owned));
            let error = Error::never(Cause::Unauthorized { status, challenge, why });
            (error.to_string(), error.hint().unwrap())
        };
        let (message, hint) = said(403, None, Some("it lacks rights"));
        assert_eq!(message, "HTTP 403: it lacks rights");
        assert!(hint.starts_with("log in as somebody who may: switchboard reauth NAME"), "{hint}");
        let scope = "Bearer error=\"insufficient_scope\", scope=\"write\"";
        let (_, hint) = said(403, Some(scope), Some("it lacks rights"));
        assert_eq!(hint, "log in for the rights it needs: switchboard reauth NAME --scope 'write'");
        let (message, hint) = said(403, None, None);
        assert_eq!(message, "HTTP 403: the server wants a login");
        assert!(hint.starts_with("log in: switchboard reauth NAME"), "{hint}");
        let (message, _) = said(401, None, Some("it has ended"));
        assert_eq!(message, "HTTP 401: the server wants a login; it has ended");
    }
}
