//! Why there is no token.

use std::path::Path;

use super::fetch::Failure;
use super::gate::Refusal;
use super::sign::SignError;
use super::store::StoreError;
use crate::problem::Explain;
use crate::visible::excerpt;

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An address that must not be used.
    #[error("{why}")]
    Address {
        /// Which one and why, without secrets.
        why: String,
        /// Whether the user may allow it: it is in a private network.
        is_private: bool,
    },
    /// A document or an endpoint that cannot be had.
    #[error("{why}")]
    Unreachable {
        /// Which one and why, without secrets.
        why: String,
        /// Whether a request can have had an effect.
        may_have_acted: bool,
    },
    /// Nothing says where to log in.
    #[error("Authentication required for \"{server}\", but OAuth endpoints could not be discovered")]
    NoEndpoints {
        /// The server.
        server: String,
    },
    /// The server's document is about another server.
    #[error("the server says that it is {published}, which is not where it was asked")]
    ResourceMismatch {
        /// What it says it is.
        published: String,
    },
    /// A login server that says it is another one.
    #[error("the login server should be {expected}, and says that it is {found}")]
    IssuerMismatch {
        /// Who was meant.
        expected: String,
        /// Who answered.
        found: String,
    },
    /// A login server without protection of the code.
    #[error("the login server {issuer} does not protect the login (no PKCE with S256)")]
    NoPkce {
        /// The login server.
        issuer: String,
    },
    /// It wants to know us and gives us no way to introduce ourselves.
    #[error("the login server {issuer} registers nobody by itself")]
    NoClient {
        /// The login server.
        issuer: String,
    },
    /// It does not want us.
    #[error("the login server {issuer} refused to register Switchboard: {code}")]
    RegistrationRefused {
        /// The login server.
        issuer: String,
        /// Its code or status.
        code: String,
    },
    /// It gives no token.
    #[error("the login server refused the token: {code}{}", if *was_cut_off { " (an earlier renewal was cut off; its token may be lost)" } else { "" })]
    TokenRefused {
        /// Its code or status.
        code: String,
        /// An earlier renewal never came to its end.
        was_cut_off: bool,
    },
    /// It cannot give one right now.
    #[error("the login server cannot give a token right now: {code}")]
    TokenLater {
        /// Its code or status.
        code: String,
    },
    /// Its answer makes no sense.
    #[error("the login server's answer cannot be used: {why}")]
    BadAnswer {
        /// What is wrong with it.
        why: &'static str,
    },
    /// The page said no.
    #[error("Authorization failed: {code}")]
    Refused {
        /// Its code.
        code: String,
    },
    /// The browser came back from somewhere else.
    #[error("the answer did not come from {expected}")]
    WrongIssuer {
        /// Who was meant.
        expected: String,
    },
    /// The user did not want to.
    #[error("the login was declined")]
    Declined,
    /// Nobody came back in time.
    #[error("OAuth flow timed out. Please try again.")]
    TimedOut,
    /// No port to come back to.
    #[error("{0}")]
    NoPort(String),
    /// The pasted text is not what the browser was sent to.
    #[error("{0}")]
    Pasted(String),
    /// More rights were asked for again and again.
    #[error("the server asks for the rights {scopes} which it was just given; asking again would not end")]
    ScopeLimit {
        /// The rights.
        scopes: String,
    },
    /// A token would travel in the clear.
    #[error("a login must not go to {url} without encryption")]
    ClearText {
        /// The address, redacted.
        url: String,
    },
    /// There is no login that still works.
    #[error("nobody is logged in")]
    LoggedOut,
    /// There is a login, and the keyring does not give the key to it.
    #[error("{message}")]
    Sealed {
        /// What happened.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The store of logins does not work.
    #[error("{message}")]
    Store {
        /// The stable code.
        code: &'static str,
        /// What happened.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// A key that cannot be used.
    #[error("the private key cannot be used: {why}")]
    Key {
        /// Why.
        why: String,
    },
    /// A statement that a program is to prove itself with, and that is none.
    #[error("`{field}` of the entry cannot be used: {why}")]
    Statement {
        /// The field.
        field: &'static str,
        /// Why.
        why: String,
    },
}

impl Error {
    /// Whether only a person can help, by logging in.
    pub const fn needs_login(&self) -> bool {
        matches!(self, Self::LoggedOut | Self::TokenRefused { .. } | Self::Sealed { .. })
    }

    /// Whether a request can have had an effect that nobody knows of.
    pub(super) const fn may_have_acted(&self) -> bool {
        matches!(self, Self::Unreachable { may_have_acted: true, .. } | Self::BadAnswer { .. })
    }

    /// Whether trying again later can help.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TokenLater { .. } | Self::TimedOut)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal.into(),
            Failure::Unreachable { may_have_left, .. } => {
                Self::Unreachable { why: failure.to_string(), may_have_acted: may_have_left }
            }
            Failure::TooLarge { .. } | Failure::Redirected { .. } => {
                Self::Unreachable { why: failure.to_string(), may_have_acted: true }
            }
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let is_private = matches!(refusal, Refusal::Private { .. });
        Self::Address { why: refusal.to_string(), is_private }
    }
}

impl From<SignError> for Error {
    fn from(error: SignError) -> Self {
        Self::Key { why: error.to_string() }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let (code, message, hint) = (error.code(), error.message(), error.hint());
        match error {
            StoreError::Sealed { .. } => Self::Sealed { message, hint },
            _ => Self::Store { code, message, hint },
        }
    }
}

/// A code of a server as it may be shown: short, and without anything odd in it.
pub(super) fn code(text: &str) -> String {
    excerpt(text, 80)
}

/// Every code of its own an error of this room can have, with what it means. The reference page is made from it.
pub const CODES: &[(&str, &str)] = &[
    (
        "url-refused",
        "An address that comes up in a login must not be used: not encrypted, or somebody else's.",
    ),
    ("login-unreachable", "A document or an endpoint that a login needs cannot be had."),
    ("endpoints-unknown", "The server wants a login and nothing says where to log in."),
    ("resource-mismatch", "The document about a server is about another server."),
    ("issuer-mismatch", "A login server, or the answer of one, is not the one that was named."),
    ("no-pkce", "The login server does not protect the code of a login."),
    ("registration-refused", "The login server does not take us as a client by itself."),
    ("token-refused", "The login server gives no token, or an answer that makes no sense."),
    ("login-refused", "The page of the login said no, or the server refuses the new login."),
    ("login-declined", "Nobody wanted to log in."),
    ("login-timeout", "Nobody came back from the page of the login in time."),
    ("no-port", "There is no port on this machine for the browser to come back to."),
    ("bad-paste", "The pasted text is not the address the browser ended at."),
    ("scope-limit", "The server asks for rights again that it was just given."),
    ("credential-busy", "Another process holds the login and does not finish."),
    ("credential-sealed", "A login is sealed with a key of the keyring, and the keyring does not give it."),
    ("bad-key", "The private key cannot be used."),
    ("bad-statement", "What a program is to prove itself with is not a signed statement."),
];

impl Explain for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "url-refused",
            Self::Unreachable { .. } => "login-unreachable",
            Self::NoEndpoints { .. } => "endpoints-unknown",
            Self::ResourceMismatch { .. } => "resource-mismatch",
            Self::IssuerMismatch { .. } | Self::WrongIssuer { .. } => "issuer-mismatch",
            Self::NoPkce { .. } => "no-pkce",
            Self::NoClient { .. } | Self::RegistrationRefused { .. } => "registration-refused",
            Self::TokenRefused { .. } | Self::TokenLater { .. } | Self::BadAnswer { .. } => "token-refused",
            Self::Refused { .. } => "login-refused",
            Self::Declined => "login-declined",
            Self::TimedOut => "login-timeout",
            Self::NoPort(_) => "no-port",
            Self::Pasted(_) => "bad-paste",
            Self::ScopeLimit { .. } => "scope-limit",
            Self::ClearText { .. } => "clear-text-login",
            Self::LoggedOut => "login-needed",
            Self::Sealed { .. } => "credential-sealed",
            Self::Store { code, .. } => code,
            Self::Key { .. } => "bad-key",
            Self::Statement { .. } => "bad-statement",
        }
    }

    fn message(&self) -> String {
        self.to_string()
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Sealed { hint, .. } | Self::Store { hint, .. } => return hint.clone(),
            Self::NoEndpoints { .. } => {
                "if the server takes a token of yours, set it: switchboard add NAME --url URL --token TOKEN"
            }
            Self::NoClient { .. } | Self::RegistrationRefused { .. } => {
                "register Switchboard there by hand and set `oauth.clientId` (and `clientSecret`) in the entry"
            }
            Self::NoPort(_) => "set `oauth.callbackPort` to a free port",
            Self::TokenRefused { .. } | Self::LoggedOut | Self::Refused { .. } | Self::TimedOut => {
                "log in: switchboard reauth NAME"
            }
            Self::ClearText { .. } => "write https:// if the server has it",
            Self::Pasted(_) => "copy the whole address the browser ended at, and paste it",
            Self::Unreachable { .. } | Self::TokenLater { .. } => "try again in a moment",
            Self::Address { is_private: true, .. } => {
                "if that is your own login server, add its host to `login.privateHosts` in your settings.json"
            }
            Self::Address { is_private: false, .. }
            | Self::ResourceMismatch { .. }
            | Self::IssuerMismatch { .. }
            | Self::WrongIssuer { .. }
            | Self::NoPkce { .. }
            | Self::BadAnswer { .. }
            | Self::Declined
            | Self::ScopeLimit { .. }
            | Self::Key { .. }
            | Self::Statement { .. } => return None,
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
