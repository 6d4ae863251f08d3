//! What differs between the tools: placeholders, what a bare `url` means, and the meaning of each field.
//!
//! Pure data. A field of any tool is one row here; the reader in `entry` knows only meanings.

use Meaning::{
    Allow, ApiKey, Approval, ApprovalMode, Args, Auth, AutoApprove, BearerEnv, Cannot, CannotBut, Command,
    Cwd, Deny, Description, Disabled, Enabled, Env, EnvFile, EnvHeaders, Headers, HttpUrl, IdleTimeout,
    InheritEnv, InheritNames, Lazy, Nothing, OAuth, OAuthPart, Prefix, Refuse, RequestOptions, Required,
    Share, StartupTimeout, Timeout, ToolModes, Tools, Transport, Trust, Url,
};

use crate::declared::Remote;
use crate::provider::Provider;
use crate::template::Syntax;

/// How a tool's file is to be read.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// The placeholders its strings may hold.
    pub(crate) placeholders: Syntax,
    /// What a `url` without a `type` is.
    pub(crate) bare_url: Remote,
    /// Whether a path that ends in `/sse` tells the transport.
    pub(crate) sse_by_path: bool,
    /// The tool's own fields; they come before the shared ones.
    fields: &'static [&'static [(&'static str, Meaning)]],
}

/// What a field says, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Transport,
    Command,
    Args,
    Env,
    EnvFile,
    Cwd,
    InheritEnv,
    /// Names of variables to pass on.
    InheritNames,
    Url,
    /// An address that says it is Streamable HTTP.
    HttpUrl,
    Headers,
    /// Header to the name of the variable with its value.
    EnvHeaders,
    /// The name of the variable with the bearer token.
    BearerEnv,
    /// A bearer token.
    ApiKey,
    /// Continue's `requestOptions`, of which only `headers` concerns us.
    RequestOptions,
    Enabled,
    Disabled,
    Timeout(Unit),
    StartupTimeout(Unit),
    IdleTimeout(Unit),
    Auth,
    OAuth,
    /// One key of `oauth`, standing alone in the entry.
    OAuthPart(&'static str),
    Approval,
    /// Codex's words for it.
    ApprovalMode,
    /// `true` runs everything without asking.
    Trust,
    /// Tools that run without asking.
    AutoApprove,
    Tools,
    /// Codex's `tools.<name>.approval_mode`.
    ToolModes,
    Allow,
    Deny,
    Prefix,
    Required,
    Lazy,
    Share,
    Description,
    /// Known, and nothing is lost without it.
    Nothing,
    /// Known, and we cannot do it, for this reason.
    Cannot(&'static str),
    /// As [`Meaning::Cannot`], but this value is what happens anyway.
    CannotBut(&'static str, &'static str),
    /// Known, and the server cannot be reached without it.
    Refuse(&'static str),
}

impl Meaning {
    /// Whether two fields of these meanings would say the same thing twice.
    pub(crate) fn is_same_slot(self, other: Self) -> bool {
        let accumulates = matches!(
            self,
            Env | Headers
                | EnvHeaders
                | Allow
                | Deny
                | AutoApprove
                | OAuthPart(_)
                | Nothing
                | Disabled
                | ApiKey
        );
        let slot = |meaning: Self| std::mem::discriminant(&if meaning == HttpUrl { Url } else { meaning });
        !accumulates && !matches!(self, Cannot(_) | CannotBut(..) | Refuse(_)) && slot(self) == slot(other)
    }
}

/// The unit of a time limit, and the values the tool itself accepts, in that unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) word: &'static str,
    pub(crate) millis: u32,
    pub(crate) least: u32,
    pub(crate) most: u32,
}

type Fields = &'static [(&'static str, Meaning)];

/// Above a year it is a mistake.
const YEAR: u32 = 365 * 24 * 60 * 60;

const fn seconds(least: u32, most: u32) -> Unit {
    Unit { word: "seconds", millis: 1000, least, most }
}

const fn milliseconds(least: u32) -> Unit {
    Unit { word: "milliseconds", millis: 1, least, most: u32::MAX }
}

const ANY_SECONDS: Unit = seconds(0, YEAR);
const AN_HOUR: Unit = seconds(1, 3600);
const A_MINUTE: Unit = seconds(1, 60);
const MILLISECONDS: Unit = milliseconds(0);

/// Understood everywhere: people copy entries from one tool's file to another's.
const SHARED: Fields = &[
    ("type", Transport),
    ("transport", Transport),
    ("command", Command),
    ("args", Args),
    ("env", Env),
    ("envFile", EnvFile),
    ("env_file", EnvFile),
    ("cwd", Cwd),
    ("workingDirectory", Cwd),
    ("working_directory", Cwd),
    // Where a file has several, the one that says most comes first.
    ("httpUrl", HttpUrl),
    ("serverUrl", Url),
    ("url", Url),
    ("headers", Headers),
    ("enabled", Enabled),
    ("disabled", Disabled),
    ("includeTools", Allow),
    ("enabledTools", Allow),
    ("enabled_tools", Allow),
    ("excludeTools", Deny),
    ("disabledTools", Deny),
    ("disabled_tools", Deny),
    ("description", Description),
    ("name", Nothing),
    ("title", Nothing),
];

/// Our own fields, beside the shared ones.
const OWN: Fields = &[
    ("timeout", Timeout(MILLISECONDS)),
    ("startupTimeout", StartupTimeout(MILLISECONDS)),
    ("idleTimeout", IdleTimeout(MILLISECONDS)),
    ("auth", Auth),
    ("oauth", OAuth),
    ("approval", Approval),
    ("prefix", Prefix),
    ("tools", Tools),
    ("inheritEnv", InheritEnv),
    ("required", Required),
    ("lazy", Lazy),
    ("share", Share),
];

/// The other tools' names for them.
const OTHER_NAMES: Fields = &[
    ("trust", Trust),
    ("autoApprove", AutoApprove),
    ("alwaysAllow", AutoApprove),
    ("env_vars", InheritNames),
    ("bearer_token_env_var", BearerEnv),
    ("http_headers", Headers),
    ("env_http_headers", EnvHeaders),
    ("startup_timeout_sec", StartupTimeout(ANY_SECONDS)),
    ("startup_timeout_ms", StartupTimeout(MILLISECONDS)),
    ("tool_timeout_sec", Timeout(ANY_SECONDS)),
];

const CO_CLI: Fields = &[
    ("timeout", StartupTimeout(A_MINUTE)),
    ("connect_timeout_seconds", StartupTimeout(A_MINUTE)),
    ("call_timeout_seconds", Timeout(seconds(1, 600))),
    ("approval", Approval),
    ("prefix", Prefix),
];

const OMP: Fields = &[
    ("timeout", Timeout(MILLISECONDS)),
    ("auth", Auth),
    ("oauth", OAuth),
    (
        "requestIdFormat",
        Cannot("request ids are always numbers here, and answers with either kind are matched"),
    ),
    ("instructions", CannotBut("true", "a server's instructions cannot be switched off one by one")),
];

const CLAUDE: Fields = &[
    ("timeout", Timeout(milliseconds(1000))),
    ("request_timeout_ms", Timeout(milliseconds(1000))),
    ("oauth", OAuth),
    ("headersHelper", Cannot("use a value that starts with `!` to take a header from a command")),
    ("alwaysLoad", Nothing),
];

const CODEX: Fields = &[
    ("env_vars", InheritNames),
    ("bearer_token_env_var", BearerEnv),
    ("http_headers", Headers),
    ("env_http_headers", EnvHeaders),
    ("http_headers_helper", Cannot("use a value that starts with `!` to take a header from a command")),
    ("required", Required),
    ("startup_timeout_sec", StartupTimeout(ANY_SECONDS)),
    ("startup_timeout_ms", StartupTimeout(MILLISECONDS)),
    ("tool_timeout_sec", Timeout(ANY_SECONDS)),
    ("default_tools_approval_mode", ApprovalMode),
    ("tools", ToolModes),
    ("auth", Auth),
    ("oauth", OAuth),
    ("scopes", OAuthPart("scopes")),
    ("oauth_resource", Cannot("the resource is taken from what the server publishes")),
    (
        "bearer_token",
        Cannot("Codex refuses it too; put the token into a variable and name it in `bearer_token_env_var`"),
    ),
    ("supports_parallel_tool_calls", Nothing),
    ("omit_tools_from", Cannot("tools are left out with `disabled_tools`")),
    ("environment_id", Nothing),
];

const GEMINI: Fields = &[
    ("timeout", Timeout(MILLISECONDS)),
    ("trust", Trust),
    ("oauth", OAuth),
    ("discoveryTimeoutMs", StartupTimeout(MILLISECONDS)),
    ("tcp", Refuse("\"tcp\" needs a WebSocket transport, which there is not")),
    ("authProviderType", CannotBut("dynamic_discovery", "Google's own credentials are not available here")),
    ("targetAudience", Cannot("Google's own credentials are not available here")),
    ("targetServiceAccount", Cannot("Google's own credentials are not available here")),
    ("extensionName", Nothing),
];

const OPENCODE: Fields = &[("environment", Env), ("timeout", Timeout(MILLISECONDS)), ("oauth", OAuth)];

const CURSOR: Fields = &[("auth", Auth), ("oauth", OAuth), ("timeout", Timeout(MILLISECONDS))];

const WINDSURF: Fields = &[("timeout", Timeout(ANY_SECONDS)), ("alwaysAllow", AutoApprove)];

const COPILOT: Fields = &[
    ("tools", Allow),
    ("timeout", Timeout(MILLISECONDS)),
    ("auth", Auth),
    ("oauthClientId", OAuthPart("clientId")),
    (
        "oauthGrantType",
        CannotBut("authorization_code", "the way to log in is chosen by what the server publishes"),
    ),
    ("oauthPublicClient", CannotBut("true", "a client with a secret needs `oauth.clientSecret`")),
    ("oidc", Cannot("tokens of a CI system are not requested here")),
    ("filterMapping", CannotBut("hidden_characters", "invisible characters are always made visible here")),
    ("deferTools", Nothing),
    ("disableToolCache", CannotBut("false", "the cache of tool lists cannot be switched off one by one")),
];

const ZED: Fields = &[
    ("timeout", Timeout(ANY_SECONDS)),
    ("oauth", OAuth),
    ("settings", Nothing),
    ("source", Nothing),
    ("remote", CannotBut("false", "servers run on this machine")),
];

const CLINE: Fields = &[
    ("transportType", Transport),
    ("timeout", Timeout(AN_HOUR)),
    ("autoApprove", AutoApprove),
    ("alwaysAllow", AutoApprove),
    ("oauth", Nothing),
    ("watchPaths", Cannot("a server is not restarted when files change")),
];

const AMP: Fields = &[("timeout", Timeout(MILLISECONDS)), ("oauth", OAuth)];

const KIRO: Fields = &[
    ("autoApprove", AutoApprove),
    ("timeout", Timeout(MILLISECONDS)),
    ("oauth", OAuth),
    ("oauthScopes", OAuthPart("scopes")),
];

const GOOSE: Fields = &[
    ("cmd", Command),
    ("envs", Env),
    ("env_keys", InheritNames),
    ("uri", Url),
    ("timeout", Timeout(ANY_SECONDS)),
    ("available_tools", Allow),
    ("socket", Refuse("\"socket\" needs a transport over Unix sockets, which there is not")),
    ("bundled", Nothing),
    ("display_name", Nothing),
    ("code", Nothing),
    ("dependencies", Nothing),
];

const CONTINUE: Fields = &[
    ("connectionTimeout", StartupTimeout(MILLISECONDS)),
    ("apiKey", ApiKey),
    ("requestOptions", RequestOptions),
    ("faviconUrl", Nothing),
    ("sourceFile", Nothing),
];

const CRUSH: Fields = &[
    ("timeout", Timeout(ANY_SECONDS)),
    ("oauth", OAuth),
    ("oauth_client_id", OAuthPart("clientId")),
    ("oauth_client_secret", OAuthPart("clientSecret")),
    ("oauth_callback_port", OAuthPart("callbackPort")),
];

const VSCODE: Fields = &[
    ("oauth", OAuth),
    ("sandboxEnabled", Cannot("servers are not run in a sandbox")),
    ("sandbox", Cannot("servers are not run in a sandbox")),
    ("dev", Cannot("a server is neither watched nor debugged here")),
    ("gallery", Nothing),
    ("version", Nothing),
];

const PLAIN_TIMEOUT: Fields = &[("timeout", Timeout(MILLISECONDS))];

/// The dialect of a provider's files.
pub(crate) fn of(provider: Provider) -> Dialect {
    use Provider as P;
    let (placeholders, fields): (Syntax, &'static [Fields]) = match provider {
        P::Environment | P::Native | P::BuiltIn => (Syntax::Braced, &[OWN, OTHER_NAMES]),
        // Our settings hold servers in co-cli's shape, and our own fields besides.
        P::Settings => (Syntax::Braced, &[CO_CLI, OWN, OTHER_NAMES]),
        P::Omp | P::Xcsh | P::Pisces => (Syntax::Braced, &[OMP]),
        P::CoCli => (Syntax::Plain, &[CO_CLI]),
        P::Claude => (Syntax::Braced, &[CLAUDE]),
        P::Codex => (Syntax::Plain, &[CODEX]),
        P::Gemini | P::Qwen => (Syntax::Bare, &[GEMINI]),
        P::OpenCode => (Syntax::Curly, &[OPENCODE]),
        P::Cursor => (Syntax::Editor, &[CURSOR]),
        P::Windsurf => (Syntax::Editor, &[WINDSURF]),
        P::CopilotCli => (Syntax::Bare, &[COPILOT]),
        P::Zed => (Syntax::Plain, &[ZED]),
        P::Cline => (Syntax::Plain, &[CLINE]),
        P::Roo => (Syntax::Editor, &[CLINE]),
        P::Amp => (Syntax::Braced, &[AMP]),
        P::Kiro => (Syntax::Braced, &[KIRO]),
        // Goose fills in addresses and headers from the entry itself; see `entry`.
        P::Goose => (Syntax::Plain, &[GOOSE]),
        P::Continue => (Syntax::Secrets, &[CONTINUE]),
        P::Warp => (Syntax::Prompted, &[PLAIN_TIMEOUT]),
        P::Junie | P::ClaudeDesktop | P::LmStudio => (Syntax::Plain, &[PLAIN_TIMEOUT]),
        P::Crush => (Syntax::Shell, &[CRUSH]),
        P::VsCode => (Syntax::Editor, &[VSCODE]),
        // Claude Code's project file first of all, but everybody's in practice.
        P::McpJson => (Syntax::Braced, &[CLAUDE, OWN, OTHER_NAMES, OMP, COPILOT]),
    };
    let bare_url = match provider {
        P::Gemini | P::Qwen | P::Cline => Remote::Sse,
        _ => Remote::Http,
    };
    let sse_by_path = matches!(provider, P::CoCli | P::Settings);
    Dialect { placeholders, bare_url, sse_by_path, fields }
}

/// Whether it is one of our own fields, which other tools' files need not know.
pub(crate) fn is_own(field: &str) -> bool {
    OWN.iter().any(|(name, _)| *name == field)
}

impl Dialect {
    /// What the field says, if it is known in this file, and its place in the table: of two fields that say the
    /// same, the first in the table counts.
    pub(crate) fn meaning(&self, field: &str) -> Option<(usize, Meaning)> {
        self.known()
            .enumerate()
            .find(|(_, (name, _))| *name == field)
            .map(|(place, (_, meaning))| (place, meaning))
    }

    /// Every known field.
    pub(crate) fn known(&self) -> impl Iterator<Item = (&'static str, Meaning)> {
        self.fields.iter().copied().chain([SHARED]).flatten().copied()
    }
}

/// The canonical fields of a server, for the schema's test.
#[cfg(test)]
pub(crate) fn canonical_fields() -> Vec<&'static str> {
    let mut fields: Vec<_> = of(Provider::Native).known().map(|(name, _)| name).collect();
    let synonyms = [
        "transport",
        "workingDirectory",
        "working_directory",
        "serverUrl",
        "httpUrl",
        "env_file",
        "includeTools",
        "enabledTools",
        "enabled_tools",
        "excludeTools",
        "disabledTools",
        "disabled_tools",
        "name",
        "title",
        "trust",
        "autoApprove",
        "alwaysAllow",
        "env_vars",
        "bearer_token_env_var",
        "http_headers",
        "env_http_headers",
        "startup_timeout_sec",
        "startup_timeout_ms",
        "tool_timeout_sec",
        "disabled",
    ];
    fields.retain(|field| !synonyms.contains(field));
    fields.sort_unstable();
    fields
}
