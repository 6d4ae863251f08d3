//! What went wrong while reading what people wrote, as data: a stable code, where, and what to do.
//!
//! Reading never fails as a whole; it gives a value and a list of [`Problem`]s. Nothing that is ignored,
//! shadowed, unresolved or filtered goes without one. Doing something gives a `Result` whose error answers
//! the same questions through [`Explain`], so that one renderer serves both.

use std::path::Path;

use crate::origin::Origin;

/// How much a problem costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Something the user declared does not work.
    Error,
    /// It works, but not as written.
    Warning,
    /// Worth knowing, nothing to do.
    Note,
}

impl Severity {
    /// The word used in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $code:literal, $severity:ident;)+) => {
        /// The stable name of a kind of problem. Codes are added, never renamed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[doc = $meaning])+ $variant,)+ }

        impl Code {
            /// Every code, in the order of the reference page.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The code as printed: kebab-case.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// How much a problem of this kind costs.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)+ }
            }

            /// One sentence for the reference page.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($meaning),+).trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    /// The file is there but cannot be opened or read.
    FileUnreadable = "file-unreadable", Error;
    /// The file is larger than the limit and was not read.
    FileTooLarge = "file-too-large", Error;
    /// The path is a directory, pipe, socket or device.
    FileNotRegular = "file-not-regular", Error;
    /// The file is not text in UTF-8.
    FileNotText = "file-not-text", Error;
    /// The file has nothing in it.
    FileEmpty = "file-empty", Note;
    /// The file breaks the rules of JSON, TOML or YAML; all of it is ignored.
    SyntaxError = "syntax-error", Error;
    /// The file, or its list of servers, is not the kind of value it must be.
    WrongShape = "wrong-shape", Error;
    /// The file says something, but has no list of servers under the expected key.
    NoServers = "no-servers", Warning;
    /// The server's definition contradicts itself or lacks what its transport needs.
    InvalidServer = "invalid-server", Error;
    /// A field has the wrong type or an impossible value and is ignored.
    BadField = "bad-field", Warning;
    /// The same key stands twice in one object; the last one counts, as for most readers.
    DuplicateKey = "duplicate-key", Warning;
    /// A field nobody knows; it is kept in the file and ignored.
    UnknownField = "unknown-field", Note;
    /// A field of that tool which we know and cannot honour.
    UnsupportedField = "unsupported-field", Warning;
    /// The entry is not a server one could connect to (an extension built into its tool, or a mere switch).
    NotAServer = "not-a-server", Note;
    /// Another definition of the same name counts more.
    Shadowed = "shadowed", Note;
    /// Another name has exactly the same connection.
    DuplicateServer = "duplicate-server", Warning;
    /// A filter, a setting or a switched-off provider keeps the server out.
    Filtered = "filtered", Note;
    /// The definition waits for the user's consent.
    Untrusted = "untrusted", Note;
    /// The store of approvals cannot be read; nothing counts as approved.
    ApprovalsUnreadable = "approvals-unreadable", Error;
    /// What was approved for good cannot be read; nothing counts as granted.
    GrantsUnreadable = "grants-unreadable", Error;
    /// A yes for good could not be kept; it holds for this session only.
    GrantNotKept = "grant-not-kept", Warning;
    /// A setting has a value it cannot have and is ignored.
    BadSetting = "bad-setting", Warning;
    /// A setting nobody knows.
    UnknownSetting = "unknown-setting", Note;
    /// A setting that only the user's own file may make stands in a project's file.
    SettingNotAllowed = "setting-not-allowed", Warning;
    /// A variable of ours has a value it cannot have and is ignored.
    BadVariable = "bad-variable", Warning;
    /// A placeholder names a variable that is not set.
    VariableUnset = "variable-unset", Warning;
    /// A placeholder asks for something only its own tool can give.
    PlaceholderUnsupported = "placeholder-unsupported", Warning;
    /// The command that should give a value failed or said nothing; the value is left out.
    ValueCommandFailed = "value-command-failed", Warning;
    /// The file that should give a value cannot be read; the value is left out.
    ValueFileUnreadable = "value-file-unreadable", Warning;
    /// A variable or header has an empty value and is left out.
    ValueEmpty = "value-empty", Warning;
    /// A variable or header has a name or a value that cannot be handed on; it is left out.
    ValueNotAllowed = "value-not-allowed", Warning;
    /// A credential would go to another machine without encryption.
    ClearTextCredential = "clear-text-credential", Warning;
    /// The entry of a server wants a login that nobody has made.
    LoginMissing = "login-missing", Warning;
    /// The login of a server was refused, or is over and cannot be renewed.
    LoginOver = "login-over", Error;
    /// The entry of a server wants a login, and its address has no encryption; none is made or sent.
    ClearTextLogin = "clear-text-login", Error;
    /// A kept login cannot be used: its file is open to others, somebody else's, or makes no sense.
    CredentialUnreadable = "credential-unreadable", Error;
    /// A login is kept that no server here uses.
    CredentialUnused = "credential-unused", Note;
    /// The program of a stdio server is not found.
    CommandNotFound = "command-not-found", Error;
    /// A server was tried and does not work.
    ServerFailed = "server-failed", Error;
    /// Two tools would get the same name; each gets a hash at its end.
    NameClash = "name-clash", Warning;
    /// A server lists the same tool twice.
    ToolTwice = "tool-twice", Warning;
    /// A tool no model could take is not offered.
    ToolQuarantined = "tool-quarantined", Warning;
    /// What a model is told of a tool is not what it was.
    ToolChanged = "tool-changed", Warning;
    /// An item in a server's list cannot be used.
    OddItem = "odd-item", Warning;
    /// An item in a server's list was repaired, or the list cut.
    RepairedItem = "repaired-item", Note;
    /// A secret stands in clear text in a file that is shared with the project.
    SecretInProject = "secret-in-project", Warning;
}

impl Code {
    /// Whether nothing that stands in the file counts.
    pub const fn spoils_the_file(self) -> bool {
        matches!(
            self,
            Self::FileUnreadable
                | Self::FileTooLarge
                | Self::FileNotRegular
                | Self::FileNotText
                | Self::FileEmpty
                | Self::SyntaxError
                | Self::WrongShape
                | Self::ApprovalsUnreadable
        )
    }
}

/// One thing that is wrong or worth knowing about what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The kind, for machines.
    pub code: Code,
    /// What happened, for people; never with a secret in it.
    pub message: String,
    /// What to type or edit.
    pub hint: Option<String>,
    /// The server concerned.
    pub server: Option<String>,
    /// The file and line.
    pub origin: Option<Origin>,
}

impl Problem {
    /// A problem with neither hint nor place yet.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, server: None, origin: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the server concerned.
    #[must_use]
    pub fn server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// Adds the file and line.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// How much it costs.
    pub const fn severity(&self) -> Severity {
        self.code.severity()
    }
}

/// What a renderer asks of a problem or an error.
pub trait Explain {
    /// The stable code.
    fn code(&self) -> &'static str;
    /// What happened.
    fn message(&self) -> String;
    /// What to type or edit.
    fn hint(&self) -> Option<String>;
    /// The server concerned.
    fn server(&self) -> Option<&str>;
    /// The file concerned, and the line in it.
    fn place(&self) -> Option<(&Path, Option<u32>)>;
}

impl Explain for Problem {
    fn code(&self) -> &'static str {
        self.code.as_str()
    }

    fn message(&self) -> String {
        self.message.clone()
    }

    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }

    fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    fn place(&self) -> Option<(&Path, Option<u32>)> {
        let origin = self.origin.as_ref()?;
        origin.path.as_deref().map(|path| (path, origin.line))
    }
}
