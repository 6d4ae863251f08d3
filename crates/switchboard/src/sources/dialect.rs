//! What differs between the tools: placeholders, what a bare `url` means, and the meaning of each field.
//!
//! Pure data. A field of any tool is one row here; the reader in `entry` knows only meanings.

use Meaning::{
    Allow, ApiKey, Approval, ApprovalMode, Args, Auth, AutoApprove, BearerEnv, Cannot, Command, Cwd, Deny,
    Description, Disabled, Enabled, Env, EnvFile, EnvHeaders, Headers, HttpUrl, IdleTimeout, InheritEnv,
    InheritNames, Lazy, Nothing, OAuth, OAuthPart, Prefix, RequestOptions, Required, StartupTimeout, Timeout,
    ToolModes, Tools, Transport, Trust, Url,
};
use Unit::{Milliseconds, Seconds};

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
    Description,
    /// Known, and nothing is lost without it.
    Nothing,
    /// Known, and we cannot do it, for this reason.
    Cannot(&'static str),
}

/// The unit of a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    /// With the largest value the tool itself accepts.
    Seconds {
        most: u32,
    },
}

type Fields = &'static [(&'static str, Meaning)];

const ANY_SECONDS: Unit = Seconds { most: u32::MAX };
const AN_HOUR: Unit = Seconds { most: 3600 };
const A_MINUTE: Unit = Seconds { most: 60 };

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
    ("url", Url),
    ("serverUrl", Url),
    ("httpUrl", HttpUrl),
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

/// Our own fields, and the other tools' names for them.
const NATIVE: Fields = &[
    ("timeout", Timeout(Milliseconds)),
    ("startupTimeout", StartupTimeout(Milliseconds)),
    ("idleTimeout", IdleTimeout(Milliseconds)),
    ("auth", Auth),
    ("oauth", OAuth),
    ("approval", Approval),
    ("prefix", Prefix),
    ("tools", Tools),
    ("inheritEnv", InheritEnv),
    ("required", Required),
    ("lazy", Lazy),
    ("trust", Trust),
    ("autoApprove", AutoApprove),
    ("alwaysAllow", AutoApprove),
    ("env_vars", InheritNames),
    ("bearer_token_env_var", BearerEnv),
    ("http_headers", Headers),
    ("env_http_headers", EnvHeaders),
    ("startup_timeout_sec", StartupTimeout(ANY_SECONDS)),
    ("startup_timeout_ms", StartupTimeout(Milliseconds)),
    ("tool_timeout_sec", Timeout(ANY_SECONDS)),
];

const CO_CLI: Fields = &[
    ("timeout", StartupTimeout(A_MINUTE)),
    ("connect_timeout_seconds", StartupTimeout(A_MINUTE)),
    ("call_timeout_seconds", Timeout(Seconds { most: 600 })),
    ("approval", Approval),
    ("prefix", Prefix),
];

const OMP: Fields = &[
    ("timeout", Timeout(Milliseconds)),
    ("auth", Auth),
    ("oauth", OAuth),
    (
        "requestIdFormat",
        Cannot("request ids are always numbers here, and answers with either kind are matched"),
    ),
    ("instructions", Cannot("a server's instructions cannot be switched off one by one")),
];

const CLAUDE: Fields = &[
    ("timeout", Timeout(Milliseconds)),
    ("request_timeout_ms", Timeout(Milliseconds)),
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
    ("startup_timeout_ms", StartupTimeout(Milliseconds)),
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
    ("omit_tools_from", Nothing),
    ("environment_id", Nothing),
];

const GEMINI: Fields = &[
    ("timeout", Timeout(Milliseconds)),
    ("trust", Trust),
    ("oauth", OAuth),
    ("discoveryTimeoutMs", StartupTimeout(Milliseconds)),
    ("tcp", Cannot("there is no WebSocket transport")),
    ("authProviderType", Cannot("Google's own credentials are not available here")),
    ("targetAudience", Cannot("Google's own credentials are not available here")),
    ("targetServiceAccount", Cannot("Google's own credentials are not available here")),
    ("extensionName", Nothing),
];

const OPENCODE: Fields = &[("environment", Env), ("timeout", Timeout(Milliseconds)), ("oauth", OAuth)];

const CURSOR: Fields = &[("auth", Auth), ("oauth", OAuth), ("timeout", Timeout(Milliseconds))];

const WINDSURF: Fields = &[("timeout", Timeout(ANY_SECONDS)), ("alwaysAllow", AutoApprove)];

const COPILOT: Fields = &[
    ("tools", Allow),
    ("timeout", Timeout(Milliseconds)),
    ("auth", Auth),
    ("oauthClientId", OAuthPart("clientId")),
    ("oauthGrantType", Cannot("the way to log in is chosen by what the server publishes")),
    ("oauthPublicClient", Nothing),
    ("oidc", Cannot("tokens of a CI system are not requested here")),
    ("filterMapping", Cannot("invisible characters are always made visible here")),
    ("deferTools", Nothing),
    ("disableToolCache", Nothing),
];

const ZED: Fields = &[
    ("timeout", Timeout(ANY_SECONDS)),
    ("oauth", OAuth),
    ("settings", Nothing),
    ("source", Nothing),
    ("remote", Nothing),
];

const CLINE: Fields = &[
    ("transportType", Transport),
    ("timeout", Timeout(AN_HOUR)),
    ("autoApprove", AutoApprove),
    ("alwaysAllow", AutoApprove),
    ("oauth", Nothing),
    ("watchPaths", Cannot("a server is not restarted when files change")),
];

const AMP: Fields = &[("timeout", Timeout(Milliseconds)), ("oauth", OAuth)];

const KIRO: Fields = &[
    ("autoApprove", AutoApprove),
    ("timeout", Timeout(Milliseconds)),
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
    ("socket", Cannot("there is no transport over a Unix socket")),
    ("bundled", Nothing),
    ("display_name", Nothing),
    ("code", Nothing),
    ("dependencies", Nothing),
];

const CONTINUE: Fields = &[
    ("connectionTimeout", StartupTimeout(Milliseconds)),
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
    ("dev", Nothing),
    ("gallery", Nothing),
    ("version", Nothing),
];

const PLAIN_TIMEOUT: Fields = &[("timeout", Timeout(Milliseconds))];

/// The dialect of a provider's files.
pub(crate) fn of(provider: Provider) -> Dialect {
    use Provider as P;
    let (placeholders, fields): (Syntax, &'static [Fields]) = match provider {
        P::Environment | P::Native | P::BuiltIn => (Syntax::Braced, &[NATIVE]),
        // Our settings hold servers in co-cli's shape, and our own fields besides.
        P::Settings => (Syntax::Braced, &[CO_CLI, NATIVE]),
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
        P::Goose => (Syntax::Bare, &[GOOSE]),
        P::Continue => (Syntax::Secrets, &[CONTINUE]),
        P::Warp => (Syntax::Prompted, &[PLAIN_TIMEOUT]),
        P::Junie | P::ClaudeDesktop | P::LmStudio => (Syntax::Plain, &[PLAIN_TIMEOUT]),
        P::Crush => (Syntax::Shell, &[CRUSH]),
        P::VsCode => (Syntax::Editor, &[VSCODE]),
        // Claude Code's project file first of all, but everybody's in practice.
        P::McpJson => (Syntax::Braced, &[CLAUDE, NATIVE, COPILOT]),
    };
    let bare_url = match provider {
        P::Gemini | P::Qwen | P::Cline => Remote::Sse,
        _ => Remote::Http,
    };
    let sse_by_path = matches!(provider, P::CoCli | P::Settings);
    Dialect { placeholders, bare_url, sse_by_path, fields }
}

impl Dialect {
    /// What the field says, if it is known in this file.
    pub(crate) fn meaning(&self, field: &str) -> Option<Meaning> {
        self.known().find(|(name, _)| *name == field).map(|(_, meaning)| meaning)
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
