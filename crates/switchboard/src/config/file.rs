//! Our own files as types: what we write into `mcp.json`, and what its JSON Schema is generated from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::spec::{ServerSpec, Transport};
use crate::declared::{self, Limit, Switch};
use crate::template::Template;

/// Servers that Switchboard connects to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Switchboard mcp.json")]
#[serde(rename_all = "camelCase")]
pub struct McpFile {
    /// The address of this schema.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The servers, by name.
    #[schemars(default)]
    pub mcp_servers: BTreeMap<String, ServerEntry>,
    /// Servers of other tools that are switched off. Read in the user's file only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub disabled_servers: Vec<String>,
    /// Servers of other tools that are switched on although their file says off. Read in the user's file only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub enabled_servers: Vec<String>,
}

/// One server. Either `command` or `url` is set.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerEntry {
    /// How to talk to it. Inferred from `command` or `url` when missing.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<TransportSynonym>")]
    pub transport: Option<TransportWord>,
    /// The program of a stdio server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub args: Vec<String>,
    /// Variables it gets. A value may hold `${VAR}` or `${VAR:-default}`, start with `!` to be the output of a
    /// command, or be the name of a variable.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default, with = "BTreeMap<String, Scalar>")]
    pub env: BTreeMap<String, String>,
    /// A file with more variables, one `NAME=value` a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_file: Option<String>,
    /// Where it runs. The project's directory when missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Which of the user's variables it inherits: `false` for a safe few, `true` for all, or more names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherit_env: Option<InheritEnv>,
    /// The address of an http or sse server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers sent with each request. Values as in `env`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default, with = "BTreeMap<String, Scalar>")]
    pub headers: BTreeMap<String, String>,
    /// `false` keeps the entry and its name, and never connects. True when missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Limit of one request in milliseconds, 0 for none. 30000 when missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// Limit of connecting and the first list in milliseconds, 0 for none. As `timeout` when missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_timeout: Option<u64>,
    /// Where the credential comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// What a login needs to know beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OAuth>,
    /// When a call needs a yes. `auto` when missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ApprovalSynonym>")]
    pub approval: Option<ApprovalWord>,
    /// Word used in tool names instead of the server's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Which tools are offered, and on what terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Tools>,
    /// `true` makes a headless start fail without this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// `true` starts it at the first call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lazy: Option<bool>,
    /// Stop after so many milliseconds without a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<u64>,
    /// `client` gives each client of the gateway a connection of its own. `auto` when missing: only once it asked a client
    /// something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<ShareWord>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A string, or a number or boolean that is read as one.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Scalar {
    Text(String),
    Number(f64),
    Boolean(bool),
}

/// How to talk to a server.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TransportWord {
    /// A child process.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// Legacy HTTP with server-sent events.
    Sse,
}

/// How to talk to a server: our words, and the other tools' words for the same.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
enum TransportSynonym {
    #[schemars(rename = "stdio")]
    Stdio,
    #[schemars(rename = "local")]
    Local,
    #[schemars(rename = "http")]
    Http,
    #[schemars(rename = "streamable-http")]
    StreamableHttp,
    #[schemars(rename = "streamableHttp")]
    CamelStreamableHttp,
    #[schemars(rename = "streamable_http")]
    SnakeStreamableHttp,
    #[schemars(rename = "remote")]
    Remote,
    #[schemars(rename = "sse")]
    Sse,
}

/// When a call needs a yes.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalWord {
    /// Ask before each call.
    Auto,
    /// Ask unless the tool says it only reads.
    Writes,
    /// Run without asking.
    Never,
}

/// When a call needs a yes: our words, and co-cli's word for `auto`.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum ApprovalSynonym {
    Auto,
    Ask,
    Writes,
    Never,
}

impl From<declared::Approval> for ApprovalWord {
    fn from(approval: declared::Approval) -> Self {
        match approval {
            declared::Approval::Auto => Self::Auto,
            declared::Approval::Writes => Self::Writes,
            declared::Approval::Never => Self::Never,
        }
    }
}

/// Who shares a connection.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ShareWord {
    /// All clients, until it is seen to ask one of them something.
    Auto,
    /// Nobody: each client has one of its own.
    Client,
}

impl From<declared::Share> for ShareWord {
    fn from(share: declared::Share) -> Self {
        match share {
            declared::Share::Auto => Self::Auto,
            declared::Share::Client => Self::Client,
        }
    }
}

/// Which variables a child inherits.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum InheritEnv {
    /// All of them, or only the safe list.
    All(bool),
    /// The safe list and these.
    Names(Vec<String>),
}

/// Where the credential comes from.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum Auth {
    /// A login kept in the credential store.
    OAuth {
        /// The entry in the store.
        #[serde(skip_serializing_if = "Option::is_none")]
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
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OAuth {
    /// A client registered by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Its secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// Scopes to ask for, separated by blanks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Where the browser comes back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<String>,
    /// The local port for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_port: Option<u16>,
    /// The `prompt` parameter of the login page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// How tokens are got. When missing, a person logs in unless the login server offers nothing but the other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantWord>,
    /// The private key (PKCS#8, for ES256 or RS256) of a program that logs in as itself. A value with a `/` in it is the
    /// path of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// A signed statement (JWT) of whoever runs the program, which is exchanged for a token. A value with a `/` in it is
    /// the path of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion: Option<String>,
    /// The user's identity at the company's own login server, which is exchanged for a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enterprise: Option<Enterprise>,
}

/// How tokens are got.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantWord {
    /// A person logs in.
    AuthorizationCode,
    /// The client itself is let in, with `clientSecret` or `privateKey`.
    ClientCredentials,
}

impl From<declared::Grant> for GrantWord {
    fn from(grant: declared::Grant) -> Self {
        match grant {
            declared::Grant::AuthorizationCode => Self::AuthorizationCode,
            declared::Grant::ClientCredentials => Self::ClientCredentials,
        }
    }
}

/// The user's identity at the company's own login server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Enterprise {
    /// Where it is exchanged.
    pub endpoint: String,
    /// Our name there.
    pub client_id: String,
    /// The user's identity token (JWT) from there. A value with a `/` in it is the path of a file.
    pub id_token: String,
}

/// Which tools are offered, and on what terms.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tools {
    /// Only these; `*` stands for anything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub allow: Vec<String>,
    /// Never these; wins over `allow`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub deny: Vec<String>,
    /// Approval of single tools.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pub approval: BTreeMap<String, ApprovalWord>,
}

/// A placeholder that our own files cannot say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inexpressible {
    /// The field it stands in.
    pub field: String,
}

impl ServerEntry {
    /// The entry to write for a server; its placeholders are put into our own syntax.
    pub fn from_spec(spec: &ServerSpec) -> Result<Self, Inexpressible> {
        let mut entry = Self::conduct(spec)?;
        match &spec.transport {
            Transport::Stdio(stdio) => {
                entry.command = Some(native("command", &stdio.command)?);
                let args = stdio.args.iter().enumerate();
                entry.args = args
                    .map(|(index, arg)| native(&format!("args[{index}]"), arg))
                    .collect::<Result<_, _>>()?;
                entry.env = pairs("env", &stdio.env)?;
                entry.env_file = stdio.env_file.as_ref().map(|file| native("envFile", file)).transpose()?;
                entry.cwd = stdio.cwd.as_ref().map(|cwd| native("cwd", cwd)).transpose()?;
                entry.inherit_env = match &stdio.inherit_env {
                    declared::InheritEnv::Safe => None,
                    declared::InheritEnv::All => Some(InheritEnv::All(true)),
                    declared::InheritEnv::Names(names) => Some(InheritEnv::Names(names.clone())),
                };
            }
            Transport::Remote(endpoint) => {
                entry.transport = Some(match endpoint.kind {
                    declared::Remote::Http => TransportWord::Http,
                    declared::Remote::Sse => TransportWord::Sse,
                });
                entry.url = Some(native("url", &endpoint.url)?);
                entry.headers = pairs("headers", &endpoint.headers)?;
            }
        }
        Ok(entry)
    }

    /// The fields that do not depend on the transport.
    fn conduct(spec: &ServerSpec) -> Result<Self, Inexpressible> {
        let conduct = &spec.conduct;
        let yes = |flag: bool| flag.then_some(true);
        let tools = &conduct.tools;
        Ok(Self {
            enabled: (conduct.enabled == Switch::Off).then_some(false),
            timeout: conduct.timeout.map(Limit::as_millis),
            startup_timeout: conduct.startup_timeout.map(Limit::as_millis),
            auth: conduct.auth.as_ref().map(|auth| match auth {
                declared::Auth::OAuth { credential_id } => {
                    Auth::OAuth { credential_id: credential_id.clone() }
                }
                declared::Auth::Bearer { token_env } => Auth::Bearer { token_env: token_env.clone() },
                declared::Auth::None => Auth::None,
            }),
            oauth: conduct.oauth.as_deref().map(oauth).transpose()?,
            approval: (conduct.approval != declared::Approval::Auto).then(|| conduct.approval.into()),
            prefix: conduct.prefix.clone(),
            tools: (!tools.is_empty()).then(|| Tools {
                allow: tools.allow.clone(),
                deny: tools.deny.clone(),
                approval: tools.approval.iter().map(|(tool, mode)| (tool.clone(), (*mode).into())).collect(),
            }),
            required: yes(conduct.required),
            lazy: yes(conduct.lazy),
            idle_timeout: conduct.idle_timeout.map(|idle| Limit::After(idle).as_millis()),
            share: (conduct.share != declared::Share::Auto).then(|| conduct.share.into()),
            description: conduct.description.clone(),
            ..Self::default()
        })
    }
}

fn oauth(oauth: &declared::OAuth) -> Result<OAuth, Inexpressible> {
    let text = |field: &str, part: &Option<Template>| {
        part.as_ref().map(|part| native(&format!("oauth.{field}"), part)).transpose()
    };
    let enterprise = |enterprise: &declared::Enterprise| {
        Ok(Enterprise {
            endpoint: native("oauth.enterprise.endpoint", &enterprise.endpoint)?,
            client_id: native("oauth.enterprise.clientId", &enterprise.client_id)?,
            id_token: native("oauth.enterprise.idToken", &enterprise.id_token)?,
        })
    };
    Ok(OAuth {
        client_id: text("clientId", &oauth.client_id)?,
        client_secret: text("clientSecret", &oauth.client_secret)?,
        scope: oauth.scope.clone(),
        redirect_uri: oauth.redirect_uri.clone(),
        callback_port: oauth.callback_port,
        prompt: oauth.prompt.clone(),
        grant: oauth.grant.map(Into::into),
        private_key: text("privateKey", &oauth.private_key)?,
        assertion: text("assertion", &oauth.assertion)?,
        enterprise: oauth.enterprise.as_ref().map(enterprise).transpose()?,
    })
}

fn pairs(field: &str, pairs: &[(String, Template)]) -> Result<BTreeMap<String, String>, Inexpressible> {
    pairs.iter().map(|(name, value)| Ok((name.clone(), native(&format!("{field}.{name}"), value)?))).collect()
}

fn native(field: &str, template: &Template) -> Result<String, Inexpressible> {
    template.to_native().map_err(|_| Inexpressible { field: field.to_owned() })
}
