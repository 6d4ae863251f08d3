//! A server as some file declares it: every tool's fields under one name each, nothing judged yet.
//!
//! `sources` makes it, `config` checks it and turns it into a [`crate::config::ServerSpec`].

use std::collections::BTreeMap;
use std::time::Duration;

use crate::origin::Origin;
use crate::template::Template;

/// A server's limit of one request, unless it says otherwise.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);

/// One entry found in one file.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// The name as written.
    pub name: String,
    /// Where it stands.
    pub origin: Origin,
    /// Its place in the order of precedence: lower counts first.
    pub rank: Rank,
    /// Whether the entry is switched on, which can be told even if nothing else can.
    pub switch: Switch,
    /// What it says, or why it says nothing.
    pub content: Result<Box<Declared>, String>,
}

/// Position in the total order of all declarations: first the file, then the entry in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    /// The file's place among all files we look at.
    pub file: u32,
    /// The entry's place in the file; a repeated key makes the later one count first.
    pub entry: u32,
}

/// The fields of a server, in our words.
#[derive(Debug, Clone)]
pub struct Declared {
    /// The transport as named, if it was.
    pub transport: Option<TransportName>,
    /// What a `url` alone means in this file.
    pub bare_url: Remote,
    /// The program.
    pub command: Option<Template>,
    /// Its arguments.
    pub args: Vec<Template>,
    /// Variables for the child.
    pub env: Vec<(String, Template)>,
    /// A file with more variables for the child.
    pub env_file: Option<Template>,
    /// The child's working directory.
    pub cwd: Option<Template>,
    /// Which variables the child inherits.
    pub inherit_env: InheritEnv,
    /// The address.
    pub url: Option<Template>,
    /// Headers sent with each request.
    pub headers: Vec<(String, Template)>,
    /// Everything that does not say what to connect to.
    pub conduct: Conduct,
}

/// Whether a command is this program as a gateway, whatever its path.
pub fn is_gateway(command: &Template, args: &[Template]) -> bool {
    let program = command.raw().rsplit(['/', '\\']).next().unwrap_or_default();
    let program = program.strip_suffix(".exe").unwrap_or(program);
    program == "switchboard" && args.iter().any(|arg| arg.raw() == "serve")
}

impl Declared {
    /// Whether it starts this program as a gateway.
    pub fn is_gateway(&self) -> bool {
        self.command.as_ref().is_some_and(|command| is_gateway(command, &self.args))
    }

    /// A declaration that says nothing yet.
    pub fn empty(bare_url: Remote) -> Self {
        Self {
            transport: None,
            bare_url,
            command: None,
            args: Vec::new(),
            env: Vec::new(),
            env_file: None,
            cwd: None,
            inherit_env: InheritEnv::Safe,
            url: None,
            headers: Vec::new(),
            conduct: Conduct::default(),
        }
    }
}

/// A transport as a file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportName {
    /// A child process.
    Stdio,
    /// A server somewhere else.
    Remote(Remote),
    /// A word we do not know.
    Unknown(String),
}

/// The two ways to reach a server over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Remote {
    /// Streamable HTTP.
    Http,
    /// Legacy HTTP with server-sent events.
    Sse,
}

/// How we deal with a server, whatever it is.
#[derive(Debug, Clone, Default)]
pub struct Conduct {
    /// Off keeps the name and connects nothing.
    pub enabled: Switch,
    /// Limit of one request.
    pub timeout: Option<Limit>,
    /// Limit of connecting and the first list.
    pub startup_timeout: Option<Limit>,
    /// Where the credential comes from.
    pub auth: Option<Auth>,
    /// What a login needs to know.
    pub oauth: Option<Box<OAuth>>,
    /// When a call needs a yes.
    pub approval: Approval,
    /// Word used in tool names instead of the server's name.
    pub prefix: Option<String>,
    /// Which tools are offered, and on what terms.
    pub tools: ToolRules,
    /// A headless start fails without it.
    pub required: bool,
    /// Start at the first call.
    pub lazy: bool,
    /// Stop after so long without a call.
    pub idle_timeout: Option<Duration>,
    /// Who shares a connection to it.
    pub share: Share,
    /// For people.
    pub description: Option<String>,
}

impl Conduct {
    /// The limit of one request; what overrules the definition comes first.
    pub fn request_limit(&self, overruled: Option<Limit>) -> Option<Duration> {
        overruled.or(self.timeout).map_or(Some(USUAL_TIMEOUT), Limit::duration)
    }

    /// The limit of connecting and the first list.
    pub fn startup_limit(&self, overruled: Option<Limit>) -> Option<Duration> {
        self.startup_timeout.map_or_else(|| self.request_limit(overruled), Limit::duration)
    }
}

/// On or off; on unless a file says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    /// In use.
    #[default]
    On,
    /// Declared, holding its name, never connected.
    Off,
}

/// A time limit, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Written as 0.
    None,
    /// So long.
    After(Duration),
}

impl Limit {
    /// As a duration; none means without end.
    pub const fn duration(self) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::After(duration) => Some(duration),
        }
    }
}

impl Limit {
    /// From milliseconds, where 0 means no limit.
    pub const fn from_millis(millis: u64) -> Self {
        if millis == 0 { Self::None } else { Self::After(Duration::from_millis(millis)) }
    }

    /// In milliseconds, where 0 means no limit.
    pub fn as_millis(self) -> u64 {
        match self {
            Self::None => 0,
            Self::After(duration) => u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// When a call needs the user's yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Approval {
    /// Ask before each call.
    #[default]
    Auto,
    /// Ask unless the tool says it only reads.
    Writes,
    /// Run without asking.
    Never,
}

impl Approval {
    /// The word in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Writes => "writes",
            Self::Never => "never",
        }
    }

    /// From the word in the file.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Auto, Self::Writes, Self::Never].into_iter().find(|approval| approval.as_str() == word)
    }
}

/// Who shares a connection, where several clients use one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Share {
    /// All clients, until it is seen to ask one of them something.
    #[default]
    Auto,
    /// Nobody: each client has one of its own.
    Client,
}

impl Share {
    /// The word in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Client => "client",
        }
    }

    /// From the word in the file.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Auto, Self::Client].into_iter().find(|share| share.as_str() == word)
    }
}

/// Which variables of ours a child gets besides its own `env`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum InheritEnv {
    /// The safe list.
    #[default]
    Safe,
    /// Everything.
    All,
    /// The safe list and these.
    Names(Vec<String>),
}

/// Where the credential comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Auth {
    /// A login kept in our store.
    OAuth {
        /// The entry in the store.
        credential_id: Option<String>,
    },
    /// A token in a variable.
    Bearer {
        /// The variable.
        token_env: String,
    },
    /// No credential, whatever the server asks.
    None,
}

/// What a login needs to know beforehand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OAuth {
    /// A client registered by hand.
    pub client_id: Option<Template>,
    /// Its secret.
    pub client_secret: Option<Template>,
    /// Scopes to ask for, separated by spaces.
    pub scope: Option<String>,
    /// Where the browser comes back to.
    pub redirect_uri: Option<String>,
    /// The local port for that.
    pub callback_port: Option<u16>,
    /// The `prompt` parameter of the login page.
    pub prompt: Option<String>,
    /// How tokens are got.
    pub grant: Option<Grant>,
    /// The private key of a program that proves itself by signing: the key, or a path.
    pub private_key: Option<Template>,
    /// A signed statement of whoever runs the program: the statement, or a path.
    pub assertion: Option<Template>,
    /// The user's identity at the company's own login server.
    pub enterprise: Option<Enterprise>,
}

impl OAuth {
    /// Every string of it that may hold a placeholder, with its name.
    pub fn values(&self) -> Vec<(&'static str, &Template)> {
        let own = [
            ("clientId", &self.client_id),
            ("clientSecret", &self.client_secret),
            ("privateKey", &self.private_key),
            ("assertion", &self.assertion),
        ];
        let mut values: Vec<_> =
            own.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))).collect();
        if let Some(enterprise) = &self.enterprise {
            values.push(("enterprise.endpoint", &enterprise.endpoint));
            values.push(("enterprise.clientId", &enterprise.client_id));
            values.push(("enterprise.idToken", &enterprise.id_token));
        }
        values
    }

    /// Whether it takes no person to log in.
    pub fn is_alone(&self) -> bool {
        self.grant == Some(Grant::ClientCredentials)
            || self.private_key.is_some()
            || self.assertion.is_some()
            || self.enterprise.is_some()
    }
}

/// How tokens are got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// A person logs in.
    AuthorizationCode,
    /// The client itself is let in.
    ClientCredentials,
}

impl Grant {
    /// The word for it, which is that of the standard.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::ClientCredentials => "client_credentials",
        }
    }

    /// The grant of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::AuthorizationCode, Self::ClientCredentials].into_iter().find(|grant| grant.as_str() == word)
    }
}

/// The user's identity at the company's own login server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enterprise {
    /// Where it is exchanged.
    pub endpoint: Template,
    /// Our name there.
    pub client_id: Template,
    /// The user's identity token from there: the token, or a path.
    pub id_token: Template,
}

/// Which tools of a server are offered, and when they ask.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolRules {
    /// Only these, if any are named.
    pub allow: Vec<String>,
    /// Never these; wins over `allow`.
    pub deny: Vec<String>,
    /// Approval of single tools.
    pub approval: BTreeMap<String, Approval>,
}

impl ToolRules {
    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
