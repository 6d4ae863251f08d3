//! Settings: what our `settings.json` files and variables say, checked key by key.
//!
//! The project's file comes before the user's, but may only set what cannot weaken the user's safety.
//! A bad value is a [`Problem`] and is ignored.

mod chat;
mod gateway;
mod login;

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use self::gateway::GatewaySchema;
pub use self::gateway::{Gateway, Profile};
use self::login::LoginSchema;
pub use self::login::{Keyring, Login};
use crate::declared::Limit;
use crate::env::{Env, SWITCHBOARD_MCP_TIMEOUT_MS, SWITCHBOARD_STARTUP_WINDOW_MS};
use crate::origin::{Origin, Scope};
use crate::problem::{Code, Problem};
use crate::provider::Provider;
use crate::sources::tree::{LastKeys, Node, Value};
use crate::sources::{SettingsFile, nearest};
use crate::visible::excerpt;

use chat::ChatSchema;
pub use chat::{Chat, Price};

/// How Switchboard behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether entries of the project count at all.
    pub enable_project_config: bool,
    /// How long a start waits before it goes on with what it has.
    pub startup_window: Duration,
    /// Whether the built-in servers are offered.
    pub defaults: bool,
    /// Providers whose entries do not count.
    pub disabled_providers: Vec<Provider>,
    /// Rules by server, then by tool; `*` is every tool of the server.
    pub approval: BTreeMap<String, BTreeMap<String, Rule>>,
    /// How tool names are made.
    pub tool_names: NameStyle,
    /// How much of a result a model is shown.
    pub max_output_bytes: u64,
    /// The model to talk to.
    pub chat: Chat,
    /// How logins are made and kept.
    pub login: Login,
    /// What clients of the gateway see.
    pub gateway: Gateway,
    /// Overrides the timeout of every server.
    pub timeout_override: Option<Limit>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enable_project_config: true,
            startup_window: Duration::from_millis(250),
            defaults: true,
            disabled_providers: Vec::new(),
            approval: BTreeMap::new(),
            tool_names: NameStyle::Standard,
            max_output_bytes: 50 * 1024,
            chat: Chat::default(),
            login: Login::default(),
            gateway: Gateway::default(),
            timeout_override: None,
        }
    }
}

/// What a rule says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Ask before each call.
    Auto,
    /// Ask unless the tool says it only reads.
    Writes,
    /// Run without asking.
    Never,
    /// Never run.
    Deny,
}

impl Rule {
    const WORDS: &str = "`auto`, `writes`, `never` or `deny`";

    /// The rule a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "auto" => Some(Self::Auto),
            "writes" => Some(Self::Writes),
            "never" => Some(Self::Never),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Writes => "writes",
            Self::Never => "never",
            Self::Deny => "deny",
        }
    }
}

/// How tool names are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NameStyle {
    /// `mcp_<server>_<tool>`.
    Standard,
    /// The same with digits turned into `_`.
    Letters,
    /// `mcp__<server>_<tool>`.
    Double,
}

/// Settings of Switchboard.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Switchboard settings.json")]
#[serde(rename_all = "camelCase")]
pub struct SettingsSchema {
    /// The address of this schema.
    #[serde(rename = "$schema")]
    schema: Option<String>,
    /// Whether entries of the project count. True when missing. User file only.
    enable_project_config: Option<bool>,
    /// How long a start waits, in milliseconds. 250 when missing.
    startup_window: Option<u64>,
    /// Whether the built-in servers are offered. True when missing.
    defaults: Option<bool>,
    /// Providers. User file only.
    providers: Option<Providers>,
    /// Rules by server, then by tool. User file only.
    approval: Option<BTreeMap<String, ServerRules>>,
    /// How tool names are made.
    tool_names: Option<ToolNames>,
    /// Size of what is shown.
    output: Option<Output>,
    /// The model to talk to. User file only.
    chat: Option<ChatSchema>,
    /// Logins. User file only.
    login: Option<LoginSchema>,
    /// What clients of `switchboard serve` see. User file only.
    gateway: Option<GatewaySchema>,
    /// Servers in co-cli's shape. In a project's file they replace those of the user's file.
    #[serde(rename = "mcp_servers")]
    mcp_servers: Option<BTreeMap<String, super::file::ServerEntry>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Providers {
    /// Ids of providers whose entries do not count.
    disabled: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum ServerRules {
    /// One rule for all tools of the server.
    All(Rule),
    /// A rule for each tool; `*` is every other.
    ByTool(BTreeMap<String, Rule>),
}

#[derive(Debug, Serialize, JsonSchema)]
struct ToolNames {
    /// `standard` when missing.
    style: Option<NameStyle>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// How many bytes of a result a model is shown. 51200 when missing.
    max_bytes: Option<u64>,
}

/// Keys, and whether a project's file may set them.
const KEYS: &[(&str, bool)] = &[
    ("enableProjectConfig", false),
    ("startupWindow", true),
    ("defaults", true),
    ("providers", false),
    ("approval", false),
    ("toolNames", true),
    ("output", true),
    ("chat", false),
    ("login", false),
    ("gateway", false),
    ("mcp_servers", true),
    ("$schema", true),
];

/// Settings from files and variables; the project's file counts first, variables before all.
pub fn read(files: &[SettingsFile], env: &Env) -> (Settings, Vec<Problem>) {
    let mut reader = Reader { settings: Settings::default(), problems: Vec::new(), origin: None };
    let mut ordered: Vec<_> = files.iter().collect();
    // The user's file first, so that the project's may overwrite what it is allowed to.
    ordered.sort_by_key(|file| file.origin.scope == Scope::Project);
    for file in ordered {
        reader.file(file);
        reader.check_model(file);
    }
    reader.variables(env);
    (reader.settings, reader.problems)
}

struct Reader {
    settings: Settings,
    problems: Vec<Problem>,
    origin: Option<Origin>,
}

impl Reader {
    fn file(&mut self, file: &SettingsFile) {
        self.origin = Some(file.origin.clone());
        let entries = file.root.entries().unwrap_or_default();
        let keys = LastKeys::of(entries);
        for (index, (key, node)) in entries.iter().enumerate() {
            let name = key.text.as_ref();
            if !keys.is_last(index) {
                let message = format!("`{}` stands more than once; the last one counts", excerpt(name, 60));
                // The map of servers has its own word for it.
                if name != "mcp_servers" {
                    self.report(
                        Problem::new(Code::DuplicateKey, message).hint("remove one of them"),
                        key.line,
                    );
                }
                continue;
            }
            match KEYS.iter().find(|(known, _)| *known == name) {
                None => self.unknown(name, key.line),
                Some((_, false)) if file.origin.scope == Scope::Project => {
                    let message = format!("`{name}` in a project's settings has no effect");
                    let problem = Problem::new(Code::SettingNotAllowed, message);
                    self.report(problem.hint("set it in your own settings.json"), key.line);
                }
                Some(_) if node.value == Value::Null => {}
                Some(_) => self.key(name, node),
            }
        }
    }

    fn key(&mut self, name: &str, node: &Node<'_>) {
        match name {
            "enableProjectConfig" => match node.bool() {
                Some(value) => self.settings.enable_project_config = value,
                None => self.bad(name, node, "true or false"),
            },
            "defaults" => match node.bool() {
                Some(value) => self.settings.defaults = value,
                None => self.bad(name, node, "true or false"),
            },
            "startupWindow" => match whole_number(node) {
                Some(millis) => self.settings.startup_window = Duration::from_millis(millis),
                None => self.bad(name, node, "a number of milliseconds, 0 or more"),
            },
            "providers" => self.object(name, node, &["disabled"], Self::providers),
            "approval" => self.approval(node),
            "login" => self.login(node),
            "gateway" => self.gateway(node),
            "toolNames" => self.object(name, node, &["style"], |reader, _, node| {
                reader.settings.tool_names = match node.text() {
                    Some("standard") => NameStyle::Standard,
                    Some("letters") => NameStyle::Letters,
                    Some("double") => NameStyle::Double,
                    _ => return reader.bad("toolNames.style", node, "`standard`, `letters` or `double`"),
                };
            }),
            "output" => self.object(name, node, &["maxBytes"], |reader, _, node| match whole_number(node) {
                Some(bytes) if bytes > 0 => reader.settings.max_output_bytes = bytes,
                _ => reader.bad("output.maxBytes", node, "a number of bytes, 1 or more"),
            }),
            "chat" => self.chat(node),
            _ => {}
        }
    }

    /// Goes through an object whose keys are known.
    fn object(
        &mut self,
        name: &str,
        node: &Node<'_>,
        known: &[&str],
        mut part: impl FnMut(&mut Self, &str, &Node<'_>),
    ) {
        let Some(entries) = node.entries() else { return self.bad(name, node, "an object") };
        for (key, value) in entries {
            if known.contains(&key.text.as_ref()) {
                part(self, &key.text, value);
            } else {
                self.unknown(&format!("{name}.{}", excerpt(&key.text, 60)), key.line);
            }
        }
    }

    fn providers(&mut self, _: &str, node: &Node<'_>) {
        let Some(ids) = node.texts() else {
            return self.bad("providers.disabled", node, "a list of provider ids");
        };
        for id in ids {
            if let Some(provider) = Provider::from_id(&id) {
                self.settings.disabled_providers.push(provider);
            } else {
                let message = format!("`{}` is not a provider", excerpt(&id, 60));
                let near = nearest(&id, Provider::all().map(Provider::id));
                let problem = Problem::new(Code::BadSetting, message);
                let problem = match near {
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None => problem.hint("the ids are listed in the configuration reference"),
                };
                self.report(problem, node.line);
            }
        }
    }

    fn approval(&mut self, node: &Node<'_>) {
        let Some(servers) = node.entries() else { return self.bad("approval", node, "an object of servers") };
        for (server, rules) in servers {
            let name = server.text.clone().into_owned();
            let key = format!("approval.{}", excerpt(&name, 60));
            let list: Vec<(String, &Node<'_>)> = match rules.entries() {
                Some(tools) => {
                    tools.iter().map(|(tool, rule)| (tool.text.clone().into_owned(), rule)).collect()
                }
                None => vec![("*".to_owned(), rules)],
            };
            for (tool, rule) in list {
                match rule.text().and_then(Rule::from_word) {
                    Some(rule) => {
                        self.settings.approval.entry(name.clone()).or_default().insert(tool, rule);
                    }
                    None => self.bad(&key, rule, Rule::WORDS),
                }
            }
        }
    }

    /// A model needs a provider, in its name or beside it.
    fn check_model(&mut self, file: &SettingsFile) {
        let chat = &self.settings.chat;
        if let (Some(model), None) = (&chat.model, &chat.provider)
            && !model.contains('/')
        {
            self.settings.chat.model = None;
            let line = file.root.at(&["chat", "model"]).map_or(1, |node| node.line);
            let message = "`chat.model` must be `provider/name`; it is ignored";
            self.report(Problem::new(Code::BadSetting, message).hint("or set `chat.provider`"), line);
        }
    }

    fn variables(&mut self, env: &Env) {
        self.origin = None;
        for (name, what) in
            [(SWITCHBOARD_MCP_TIMEOUT_MS, "timeout"), (SWITCHBOARD_STARTUP_WINDOW_MS, "window")]
        {
            let Some(text) = env.non_empty(name) else { continue };
            match (text.trim().parse::<u64>(), what) {
                (Ok(millis), "timeout") => self.settings.timeout_override = Some(Limit::from_millis(millis)),
                (Ok(millis), _) => self.settings.startup_window = Duration::from_millis(millis),
                (Err(_), _) => {
                    let message =
                        format!("{name} must be a number of milliseconds, 0 or more; it is ignored");
                    self.problems.push(Problem::new(Code::BadVariable, message));
                }
            }
        }
    }

    fn bad(&mut self, name: &str, node: &Node<'_>, expected: &str) {
        let message = format!("`{name}` must be {expected}; it is ignored");
        self.report(Problem::new(Code::BadSetting, message), node.line);
    }

    fn unknown(&mut self, name: &str, line: u32) {
        let problem =
            Problem::new(Code::UnknownSetting, format!("`{}` is not a known setting", excerpt(name, 60)));
        let problem = match nearest(name, KEYS.iter().map(|(known, _)| *known)) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem,
        };
        self.report(problem, line);
    }

    fn report(&mut self, problem: Problem, line: u32) {
        self.problems.push(match &self.origin {
            Some(origin) => problem.origin(origin.at(line)),
            None => problem,
        });
    }
}

fn whole_number(node: &Node<'_>) -> Option<u64> {
    match &node.value {
        Value::Number(number) => number.parse().ok(),
        _ => None,
    }
}
