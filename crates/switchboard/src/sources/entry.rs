//! Reads one entry of a file into a [`Declared`] server, field by field.
//!
//! A field that says what to run or where to connect must be right, or the entry is refused with a reason:
//! half a command is a different command. Any other bad field costs only itself.

mod conduct;
mod connection;
mod login;

use super::dialect::{self, Dialect, Meaning};
use super::nearest::nearest;
use super::tree::{Key, LastKeys, Node, Value};
use crate::declared::{Auth, Declared, InheritEnv, Remote, Switch, TransportName};
use crate::origin::Origin;
use crate::problem::{Code, Problem};
use crate::provider::Provider;
use crate::template::{PartRef, Syntax, Template};
use crate::visible::{excerpt, shell_word};

/// What came of one entry.
pub(super) enum Outcome {
    /// A server, or the reason why it is none; and whether it is switched on.
    Server(Result<Box<Declared>, String>, Switch),
    /// Something that is not meant to be a server, and whether it switches one that is.
    Skipped(Problem, Option<bool>),
}

/// Reads the entry; problems that cost only a field go into `problems`.
pub(super) fn read(
    node: &Node<'_>,
    name: &str,
    origin: &Origin,
    dialect: &Dialect,
    problems: &mut Vec<Problem>,
) -> Outcome {
    let Some(fields) = node.entries() else {
        let reason = format!("the entry must be an object, not {}", node.kind());
        return Outcome::Server(Err(reason), Switch::On);
    };
    if let Some(reason) = not_a_server(node, origin.provider) {
        let problem = Problem::new(Code::NotAServer, format!("`{}` is {reason}", excerpt(name, 60)));
        let switch =
            node.get("enabled").and_then(Node::bool).filter(|_| origin.provider == Provider::OpenCode);
        return Outcome::Skipped(problem.server(name).origin(origin.clone()), switch);
    }
    let declared = Declared::empty(dialect.bare_url);
    let mut reader = Reader {
        name,
        origin,
        dialect,
        problems,
        reasons: Vec::new(),
        declared,
        from_command: None,
        line: node.line,
        said: None,
        contradicts: false,
    };
    reader.fields(fields);
    reader.finish();
    let switch = reader.declared.conduct.enabled;
    if reader.reasons.is_empty() {
        Outcome::Server(Ok(Box::new(reader.declared)), switch)
    } else {
        Outcome::Server(Err(reader.reasons.join("; ")), switch)
    }
}

/// Entries that are legal in their tool and mean no server one could connect to.
fn not_a_server(node: &Node<'_>, provider: Provider) -> Option<String> {
    let has = |field: &str| node.get(field).is_some();
    match provider {
        Provider::Goose => match node.get("type").and_then(Node::text) {
            Some(kind @ ("builtin" | "platform" | "frontend" | "inline_python")) => {
                Some(format!("an extension inside Goose (`{kind}`), not a server"))
            }
            _ => None,
        },
        Provider::Claude | Provider::CopilotCli | Provider::Qwen
            if node.get("type").and_then(Node::text) == Some("sdk") =>
        {
            Some("provided by the program that embeds the agent, not a server".to_owned())
        }
        Provider::Zed if !has("command") && !has("url") => {
            Some("run by a Zed extension, which alone knows its command".to_owned())
        }
        Provider::OpenCode if !has("type") && !has("command") && !has("url") => {
            Some("only a switch for a server that is defined elsewhere".to_owned())
        }
        _ => None,
    }
}

/// Words that others use for a field, too far from its name to be a slip of the hand.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("cmd", "command"),
    ("executable", "command"),
    ("program", "command"),
    ("arguments", "args"),
    ("environment", "env"),
    ("envs", "env"),
    ("uri", "url"),
    ("ulr", "url"),
    ("endpoint", "url"),
];

/// More unknown fields than this are counted, not named.
const MAX_UNKNOWN: usize = 20;

/// The state of reading one entry.
struct Reader<'r> {
    name: &'r str,
    origin: &'r Origin,
    dialect: &'r Dialect,
    problems: &'r mut Vec<Problem>,
    /// Why the entry cannot be used.
    reasons: Vec<String>,
    declared: Declared,
    /// Arguments that stood in a `command` given as a list; they go before `args`.
    from_command: Option<Vec<Template>>,
    /// The line of the field that is being read.
    line: u32,
    /// What `enabled` or `disabled` said so far.
    said: Option<Switch>,
    /// Whether the two said different things.
    contradicts: bool,
}

impl Reader<'_> {
    /// Reads the known fields in the order of the table, so that of two that say the same the first counts.
    fn fields(&mut self, fields: &[(Key<'_>, Node<'_>)]) {
        let keys = LastKeys::of(fields);
        let has_type = fields.iter().any(|(key, _)| key.text == "type");
        let mut known = Vec::with_capacity(fields.len());
        let mut unknown = 0;
        for (index, (key, value)) in fields.iter().enumerate() {
            self.line = key.line;
            if !keys.is_last(index) {
                let message =
                    format!("`{}` stands more than once; the last one counts", excerpt(&key.text, 60));
                self.report(Problem::new(Code::DuplicateKey, message).hint("remove one of them"));
                continue;
            }
            // Where both stand, `type` is the transport, and `transport` something of its tool's own.
            let is_other = key.text == "transport" && has_type;
            match self.dialect.meaning(&key.text).filter(|_| !is_other) {
                Some((place, meaning)) => known.push((place, meaning, key, value)),
                None if unknown < MAX_UNKNOWN => {
                    unknown += 1;
                    self.unknown(&key.text);
                }
                None => unknown += 1,
            }
        }
        if unknown > MAX_UNKNOWN {
            let message = format!("{} more fields are not known", unknown - MAX_UNKNOWN);
            self.report(Problem::new(Code::UnknownField, message));
        }
        known.sort_by_key(|(place, ..)| *place);
        let mut taken: Vec<(Meaning, &str)> = Vec::new();
        for (_, meaning, key, value) in known {
            self.line = key.line;
            if value.value == Value::Null {
                // An explicit null says nothing, in every tool.
                continue;
            }
            if let Some((_, first)) = taken.iter().find(|(other, _)| meaning.is_same_slot(*other)) {
                let message = format!("`{}` is ignored, because `{first}` says the same", key.text);
                self.report(Problem::new(Code::BadField, message).hint("remove one of them"));
                continue;
            }
            taken.push((meaning, &key.text));
            self.field(&key.text, meaning, value);
        }
    }

    /// What can only be told when all fields are known.
    fn finish(&mut self) {
        if let Some(mut args) = self.from_command.take() {
            args.append(&mut self.declared.args);
            self.declared.args = args;
        }
        self.line = self.origin.line.unwrap_or(self.line);
        if self.contradicts {
            let message = "`enabled` and `disabled` contradict each other; the server is off";
            self.report(Problem::new(Code::BadField, message).hint("remove one of them"));
        }
        let remote = match &self.declared.transport {
            Some(TransportName::Remote(_)) => true,
            Some(_) => false,
            None => self.declared.command.is_none() && self.declared.url.is_some(),
        };
        if remote && self.origin.provider == Provider::Goose {
            self.fill_from_env();
        }
        let declared = &self.declared;
        let unused: &[(&str, bool)] = if remote {
            &[
                ("args", !declared.args.is_empty()),
                ("env", !declared.env.is_empty()),
                ("envFile", declared.env_file.is_some()),
                ("cwd", declared.cwd.is_some()),
                ("inheritEnv", declared.inherit_env != InheritEnv::Safe),
            ]
        } else {
            &[("headers", !declared.headers.is_empty()), ("oauth", declared.conduct.oauth.is_some())]
        };
        let kind = if remote { "remote" } else { "stdio" };
        let unused: Vec<_> = unused.iter().filter(|(_, is_set)| *is_set).map(|(field, _)| *field).collect();
        for field in unused {
            let message = format!("`{field}` means nothing for a {kind} server and is ignored");
            self.report(Problem::new(Code::BadField, message));
        }
    }

    /// Goose fills in addresses and headers from the entry's own variables, and from nothing else.
    fn fill_from_env(&mut self) {
        let env = std::mem::take(&mut self.declared.env);
        let inherited = match std::mem::take(&mut self.declared.inherit_env) {
            InheritEnv::Names(names) => names,
            InheritEnv::Safe | InheritEnv::All => Vec::new(),
        };
        let fill = |template: &Template| {
            let bare = Template::parse(template.raw(), Syntax::Bare);
            let knows = bare.parts().all(|part| match part {
                PartRef::Variable { name, .. } => {
                    env.iter().any(|(known, _)| known == name) || inherited.iter().any(|known| known == name)
                }
                _ => true,
            });
            if !knows {
                return template.clone();
            }
            bare.filled(|name| env.iter().find(|(known, _)| known == name).map(|(_, value)| value.raw()))
        };
        self.declared.url = self.declared.url.as_ref().map(fill);
        for (_, value) in &mut self.declared.headers {
            *value = fill(value);
        }
    }

    fn field(&mut self, key: &str, meaning: Meaning, node: &Node<'_>) {
        match meaning {
            Meaning::Transport => self.transport(key, node),
            Meaning::Command => self.command(key, node),
            Meaning::Args => self.declared.args = self.templates(key, node),
            Meaning::Env => {
                let env = self.pairs(key, node);
                self.declared.env.extend(env);
            }
            Meaning::EnvFile => self.declared.env_file = self.template(key, node),
            Meaning::Cwd => self.declared.cwd = self.template(key, node),
            Meaning::InheritEnv => self.inherit_env(key, node),
            Meaning::InheritNames => self.inherit_names(key, node),
            Meaning::Url => {
                self.declared.url = self.template(key, node);
                if self.dialect.sse_by_path && node.text().is_some_and(|url| url.ends_with("/sse")) {
                    self.declared.bare_url = Remote::Sse;
                }
            }
            Meaning::HttpUrl => {
                self.declared.url = self.template(key, node);
                self.declared.bare_url = Remote::Http;
            }
            Meaning::Headers => {
                let headers = self.pairs(key, node);
                self.headers(headers);
            }
            Meaning::EnvHeaders => self.env_headers(key, node),
            Meaning::BearerEnv => match node.text() {
                Some(name) => {
                    self.declared.conduct.auth = Some(Auth::Bearer { token_env: name.to_owned() });
                }
                None => self.refuse(key, node, "the name of a variable"),
            },
            Meaning::ApiKey => {
                if let Some(token) = self.template(key, node) {
                    let bearer = self.parse(&format!("Bearer {}", token.raw()));
                    self.headers(vec![("Authorization".to_owned(), bearer)]);
                }
            }
            Meaning::RequestOptions => self.request_options(key, node),
            Meaning::Auth => self.auth(key, node),
            Meaning::OAuth => self.oauth(key, node),
            Meaning::OAuthPart(part) => self.oauth_part("oauth", part, node),
            Meaning::Nothing => {}
            Meaning::CannotBut(usual, _) if node.scalar().is_some_and(|value| value == usual) => {}
            Meaning::Cannot(reason) | Meaning::CannotBut(_, reason) => self.cannot(key, reason),
            Meaning::Refuse(reason) => self.reasons.push(reason.to_owned()),
            other => self.conduct(key, other, node),
        }
    }

    fn transport(&mut self, key: &str, node: &Node<'_>) {
        let Some(word) = node.text() else {
            return self.refuse(key, node, "a word such as `stdio` or `http`");
        };
        self.declared.transport = Some(match word {
            "stdio" | "local" => TransportName::Stdio,
            "http" | "streamable-http" | "streamableHttp" | "streamable_http" | "remote" => {
                TransportName::Remote(Remote::Http)
            }
            "sse" => TransportName::Remote(Remote::Sse),
            other => TransportName::Unknown(other.to_owned()),
        });
    }

    fn parse(&self, text: &str) -> Template {
        Template::parse(text, self.dialect.placeholders)
    }

    /// The entry cannot be used: the field decides what would run, and it is wrong.
    fn refuse(&mut self, key: &str, node: &Node<'_>, expected: &str) {
        self.reasons.push(format!("\"{key}\" must be {expected}, not {}", node.kind()));
    }

    /// The field is wrong and goes without effect.
    fn ignore(&mut self, key: &str, node: &Node<'_>, expected: &str) {
        // Where one word of several is expected, another word is best left unsaid.
        let got = match &node.value {
            Value::Text(_) if expected.starts_with('`') => "another word".to_owned(),
            Value::Map(_) if expected.starts_with("an object") => "one without it".to_owned(),
            Value::Text(_) if expected.starts_with("a word") => "an empty one".to_owned(),
            _ => node.description(),
        };
        let message = format!("`{key}` must be {expected}, not {got}; it is ignored");
        self.report(Problem::new(Code::BadField, message));
    }

    /// The field is right and we cannot do it.
    fn cannot(&mut self, key: &str, reason: &str) {
        let label = self.origin.provider.label();
        let message = format!("`{}` of {label} has no effect here", excerpt(key, 60));
        self.report(Problem::new(Code::UnsupportedField, message).hint(reason));
    }

    fn unknown(&mut self, key: &str) {
        if dialect::is_own(key) {
            let label = self.origin.provider.label();
            let message = format!(
                "`{key}` counts in Switchboard's own files, and is not a known field in those of {label}"
            );
            let hint = format!("switchboard import {}, then write it there", shell_word(self.name));
            return self.report(Problem::new(Code::UnknownField, message).hint(hint));
        }
        let problem =
            Problem::new(Code::UnknownField, format!("`{}` is not a known field", excerpt(key, 60)));
        let known = || self.dialect.known().map(|(name, _)| name);
        let by_other_word = || {
            let (_, name) = OTHER_WORDS.iter().find(|(word, _)| key.eq_ignore_ascii_case(word))?;
            known().find(|known| known == name)
        };
        let problem = match nearest(key, known()).or_else(by_other_word) {
            Some(name) => problem.hint(format!("did you mean `{name}`?")),
            None => problem,
        };
        self.report(problem);
    }

    fn report(&mut self, problem: Problem) {
        self.problems.push(problem.server(self.name).origin(self.origin.at(self.line)));
    }
}
