//! The outside world as one value: operating system, home, working directory and variables.
//!
//! A surface takes it once with [`Env::capture`]; everything below gets it handed in. So the same code
//! can be asked where a file would be on another system, and a test can say what the world looks like.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::visible::visible;

/// Replaces `~/.switchboard`, where our own user files and all state live.
pub const SWITCHBOARD_HOME: &str = "SWITCHBOARD_HOME";
/// A JSON object of servers that replaces everything else.
pub const SWITCHBOARD_MCP_SERVERS: &str = "SWITCHBOARD_MCP_SERVERS";
/// Overrides every server's `timeout`, in milliseconds; 0 means no limit.
pub const SWITCHBOARD_MCP_TIMEOUT_MS: &str = "SWITCHBOARD_MCP_TIMEOUT_MS";
/// Overrides the start-up window, in milliseconds.
pub const SWITCHBOARD_STARTUP_WINDOW_MS: &str = "SWITCHBOARD_STARTUP_WINDOW_MS";
/// The model to talk to, as `provider/name`.
pub const SWITCHBOARD_MODEL: &str = "SWITCHBOARD_MODEL";
/// `1` approves every server for this run.
pub const SWITCHBOARD_TRUST: &str = "SWITCHBOARD_TRUST";
/// What clients of a gateway have to send as their token.
pub const SWITCHBOARD_GATEWAY_TOKEN: &str = "SWITCHBOARD_GATEWAY_TOKEN";

/// From which level on `--log-file` is written.
pub const SWITCHBOARD_LOG: &str = "SWITCHBOARD_LOG";

/// Where spans are sent; `/v1/traces` is added to it.
pub const OTEL_EXPORTER_OTLP_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Where spans are sent, to the letter.
pub const OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
/// `true` sends nothing.
pub const OTEL_SDK_DISABLED: &str = "OTEL_SDK_DISABLED";
/// `none` sends nothing.
pub const OTEL_TRACES_EXPORTER: &str = "OTEL_TRACES_EXPORTER";
/// What we are called there.
pub const OTEL_SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
/// What else is said of us there.
pub const OTEL_RESOURCE_ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";
/// The trace and span we were started in.
pub const TRACEPARENT: &str = "TRACEPARENT";
/// What tracing systems have to say of that.
pub const TRACESTATE: &str = "TRACESTATE";

/// Variables of OpenTelemetry that the program reads, with what they do.
pub const TELEMETRY_VARIABLES: &[(&str, &str)] = &[
    (OTEL_EXPORTER_OTLP_ENDPOINT, "spans are sent there, to `/v1/traces`, as OTLP over HTTP"),
    (OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, "spans are sent exactly there"),
    ("OTEL_EXPORTER_OTLP_HEADERS", "headers that go with them"),
    (OTEL_TRACES_EXPORTER, "`none` sends nothing"),
    (OTEL_SDK_DISABLED, "`true` sends nothing"),
    (OTEL_SERVICE_NAME, "what we are called there; `switchboard` if not set"),
    (OTEL_RESOURCE_ATTRIBUTES, "what else is said of us there"),
    ("OTEL_TRACES_SAMPLER", "which traces are sent; also `OTEL_TRACES_SAMPLER_ARG`"),
    (TRACEPARENT, "the trace and span this run belongs to; passed on to servers, also without a collector"),
    (TRACESTATE, "goes with it"),
];

/// Every variable of our own that we read, with what it does. The reference page is made from it.
pub const VARIABLES: &[(&str, &str)] = &[
    (
        SWITCHBOARD_GATEWAY_TOKEN,
        "what clients have to send as their token to `serve --http`; `--token` and `--token-file` come first",
    ),
    (SWITCHBOARD_HOME, "replaces `~/.switchboard`: user files and all state"),
    (
        SWITCHBOARD_LOG,
        "from which level on `--log-file` is written: `off`, `error`, `warn`, `info` (if not set), `debug`, `trace`",
    ),
    (SWITCHBOARD_MCP_SERVERS, "a JSON object of servers; replaces everything else"),
    (SWITCHBOARD_MCP_TIMEOUT_MS, "overrides every server's `timeout`; 0 means no limit"),
    (SWITCHBOARD_STARTUP_WINDOW_MS, "overrides the setting `startupWindow`"),
    (SWITCHBOARD_MODEL, "the model to talk to, as `provider/name`; before the setting `chat.model`"),
    (SWITCHBOARD_TRUST, "`1` approves every server for this run only"),
];

/// The operating system whose path rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    /// Linux and every other Unix that follows XDG.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Os {
    /// The system this program was built for.
    pub const fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// What of the process's surroundings we may look at.
#[derive(Debug, Clone)]
pub struct Env {
    os: Os,
    home: PathBuf,
    cwd: PathBuf,
    vars: BTreeMap<String, String>,
    unreadable: Vec<String>,
}

/// Why the surroundings could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    /// Neither `HOME` nor the system says where the user's files are.
    #[error("cannot tell the home directory: `HOME` is not set")]
    NoHome,
    /// The working directory is gone or unreadable.
    #[error("cannot tell the working directory: {source}")]
    NoWorkingDirectory {
        /// What the system said.
        source: std::io::Error,
    },
}

impl Env {
    /// Takes the surroundings of this process. The only place that looks.
    #[expect(clippy::disallowed_methods, reason = "this is the one door to the process environment")]
    pub fn capture() -> Result<Self, EnvError> {
        let home =
            std::env::home_dir().filter(|home| !home.as_os_str().is_empty()).ok_or(EnvError::NoHome)?;
        let cwd = std::env::current_dir().map_err(|source| EnvError::NoWorkingDirectory { source })?;
        // The working directory comes without links in it; a home that is one must be recognised there.
        let home = match home.canonicalize() {
            Ok(real) if cwd.starts_with(&real) && !cwd.starts_with(&home) => real,
            Ok(_) | Err(_) => home,
        };
        let mut env = Self::new(Os::current(), home, cwd);
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(env.vars.insert(name, value)),
                Err(_) => env.unreadable.push(name),
            }
        }
        Ok(env)
    }

    /// Surroundings with no variable set.
    pub fn new(os: Os, home: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self { os, home: home.into(), cwd: cwd.into(), vars: BTreeMap::new(), unreadable: Vec::new() }
    }

    /// The same surroundings with one more variable.
    #[must_use]
    pub fn with_var(mut self, name: &str, value: &str) -> Self {
        self.vars.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same surroundings seen from another working directory.
    #[must_use]
    pub fn with_cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = cwd.into();
        self
    }

    /// The same surroundings without a variable.
    #[must_use]
    pub fn without_var(mut self, name: &str) -> Self {
        self.vars.remove(name);
        self
    }

    /// The operating system.
    pub const fn os(&self) -> Os {
        self.os
    }

    /// The user's home directory.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The directory the user works in.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// A variable's value, also when it is empty.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    /// A variable's value if there is something in it.
    pub fn non_empty(&self, name: &str) -> Option<&str> {
        self.var(name).filter(|value| !value.is_empty())
    }

    /// Every variable that is text, by name.
    pub fn vars(&self) -> impl Iterator<Item = (&str, &str)> {
        self.vars.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether the variable is set to bytes that are not text.
    pub fn is_unreadable(&self, name: &str) -> bool {
        self.unreadable.iter().any(|unreadable| unreadable == name)
    }

    /// `SWITCHBOARD_HOME`, or `~/.switchboard`.
    pub fn switchboard_home(&self) -> PathBuf {
        match self.non_empty(SWITCHBOARD_HOME) {
            Some(home) => self.absolute(Path::new(home)),
            None => self.in_home(".switchboard"),
        }
    }

    /// A file below the home directory; `relative` is written with `/`.
    pub fn in_home(&self, relative: &str) -> PathBuf {
        self.join(&self.home, relative)
    }

    /// Joins with the separator of this environment's system, which need not be the one we run on.
    pub fn join(&self, base: &Path, relative: &str) -> PathBuf {
        match self.os {
            Os::Windows if !cfg!(windows) => {
                let base = base.to_string_lossy();
                let separator = if base.ends_with('\\') { "" } else { "\\" };
                PathBuf::from(format!("{base}{separator}{}", relative.replace('/', "\\")))
            }
            Os::Windows | Os::Linux | Os::MacOs => base.join(relative),
        }
    }

    /// A path as given if absolute, else below the working directory.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        if path.is_absolute() { path.to_owned() } else { self.cwd.join(path) }
    }

    /// A path as a person would write it: relative below the working directory, `~` below home.
    pub fn display(&self, path: &Path) -> String {
        let below =
            |base: &Path| path.strip_prefix(base).ok().filter(|relative| !relative.as_os_str().is_empty());
        let shown = match (below(&self.cwd), below(&self.home)) {
            (Some(relative), _) => relative.display().to_string(),
            (None, Some(relative)) => format!("~/{}", relative.display()),
            (None, None) => path.display().to_string(),
        };
        visible(&shown).into_owned()
    }
}
