//! Reads one entry of a file into a [`Declared`] server, field by field.
//!
//! A field that says what to run or where to connect must be right, or the entry is refused with a reason:
//! half a command is a different command. Any other bad field costs only itself.

mod conduct;
mod login;

use std::borrow::Cow;

use super::dialect::{Dialect, Meaning};
use super::tree::{Node, Value};
use crate::declared::{Auth, Declared, InheritEnv, Remote, TransportName};
use crate::origin::Origin;
use crate::problem::{Code, Problem};
use crate::provider::Provider;
use crate::template::Template;
use crate::visible::excerpt;

/// What came of one entry.
pub(super) enum Outcome {
    /// A server, or the reason why it is none.
    Server(Result<Box<Declared>, String>),
    /// Something that is not meant to be a server.
    Skipped(Problem),
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
        return Outcome::Server(Err(format!("the entry must be an object, not {}", node.kind())));
    };
    if let Some(reason) = not_a_server(node, origin.provider) {
        let problem = Problem::new(Code::NotAServer, format!("`{}` is {reason}", excerpt(name, 60)));
        return Outcome::Skipped(problem.server(name).origin(origin.clone()));
    }
    let declared = Declared::empty(dialect.bare_url);
    let mut reader =
        Reader { name, origin, dialect, problems, reasons: Vec::new(), declared, from_command: None };
    for (index, (key, value)) in fields.iter().enumerate() {
        if fields[index + 1..].iter().any(|(later, _)| later.text == key.text) {
            let message = format!("`{}` stands more than once; the last one counts", excerpt(&key.text, 60));
            reader.report(Problem::new(Code::DuplicateKey, message).hint("remove one of them"), key.line);
            continue;
        }
        match dialect.meaning(&key.text) {
            Some(meaning) => reader.field(&key.text, meaning, value),
            None => reader.unknown(&key.text, key.line),
        }
    }
    if let Some(mut args) = reader.from_command.take() {
        args.append(&mut reader.declared.args);
        reader.declared.args = args;
    }
    if reader.reasons.is_empty() {
        Outcome::Server(Ok(Box::new(reader.declared)))
    } else {
        Outcome::Server(Err(reader.reasons.join("; ")))
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
}

impl Reader<'_> {
    fn field(&mut self, key: &str, meaning: Meaning, node: &Node<'_>) {
        // An explicit null says nothing, in every tool.
        if node.value == Value::Null && !matches!(meaning, Meaning::Cannot(_)) {
            return;
        }
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
                self.declared.headers.extend(headers);
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
                    self.declared.headers.push(("Authorization".to_owned(), self.bearer(&token)));
                }
            }
            Meaning::RequestOptions => self.request_options(key, node),
            Meaning::Auth => self.auth(key, node),
            Meaning::OAuth => self.oauth(key, node),
            Meaning::OAuthPart(part) => self.oauth_part(part, node),
            Meaning::Nothing => {}
            Meaning::Cannot(reason) => self.cannot(key, node, reason),
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

    /// A word, a list of words, or Zed's older object with a `path`.
    fn command(&mut self, key: &str, node: &Node<'_>) {
        match &node.value {
            Value::Text(text) => self.declared.command = non_blank(text).map(|text| self.parse(text)),
            Value::List(_) => {
                let mut words = self.templates(key, node).into_iter();
                self.declared.command = words.next().filter(|command| !command.raw().trim().is_empty());
                self.from_command = Some(words.collect());
            }
            Value::Map(_) if node.get("path").is_some() => {
                for (field, meaning) in
                    [("path", Meaning::Command), ("args", Meaning::Args), ("env", Meaning::Env)]
                {
                    if let Some(value) = node.get(field) {
                        self.field(field, meaning, value);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Map(_) => {
                self.refuse(key, node, "a string");
            }
        }
    }

    fn templates(&mut self, key: &str, node: &Node<'_>) -> Vec<Template> {
        let Some(items) = node.items() else {
            self.refuse(key, node, "a list of strings");
            return Vec::new();
        };
        let mut templates = Vec::with_capacity(items.len());
        for item in items {
            if let Some(text) = item.scalar() {
                templates.push(self.parse(&text));
            } else {
                self.refuse(key, item, "a list of strings");
                return Vec::new();
            }
        }
        templates
    }

    /// Names to values; numbers and booleans are read as strings.
    fn pairs(&mut self, key: &str, node: &Node<'_>) -> Vec<(String, Template)> {
        let Some(entries) = node.entries() else {
            self.refuse(key, node, "an object of strings");
            return Vec::new();
        };
        let mut pairs: Vec<(String, Template)> = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            if pairs.iter().any(|(known, _)| *known == name.text) {
                let message =
                    format!("`{key}.{}` stands more than once; the last one counts", excerpt(&name.text, 60));
                self.report(Problem::new(Code::DuplicateKey, message).hint("remove one of them"), name.line);
                pairs.retain(|(known, _)| *known != name.text);
            }
            match value.scalar() {
                Some(text) => pairs.push((name.text.clone().into_owned(), self.parse(&text))),
                // VS Code documents null as "leave it unset".
                None if value.value == Value::Null && self.origin.provider == Provider::VsCode => {}
                None if value.value == Value::Null => {
                    let message = format!("`{key}.{}` is null and is left out", excerpt(&name.text, 60));
                    let problem =
                        Problem::new(Code::BadField, message).hint("give it a string, or remove it");
                    self.report(problem, value.line);
                }
                None => self.refuse(&format!("{key}.{}", excerpt(&name.text, 60)), value, "a string"),
            }
        }
        pairs
    }

    /// Header names to names of variables.
    fn env_headers(&mut self, key: &str, node: &Node<'_>) {
        let Some(entries) = node.entries() else { return self.refuse(key, node, "an object of strings") };
        for (header, variable) in entries {
            match variable.text() {
                Some(name) => {
                    self.declared.headers.push((header.text.clone().into_owned(), Template::variable(name)));
                }
                None => self.refuse(key, variable, "the name of a variable"),
            }
        }
    }

    fn request_options(&mut self, key: &str, node: &Node<'_>) {
        for (name, value) in node.entries().unwrap_or_default() {
            match name.text.as_ref() {
                "headers" => {
                    let headers = self.pairs("requestOptions.headers", value);
                    self.declared.headers.extend(headers);
                }
                other => self.cannot(&format!("{key}.{other}"), value, "only its headers are used"),
            }
        }
    }

    fn inherit_env(&mut self, key: &str, node: &Node<'_>) {
        self.declared.inherit_env = match (&node.value, node.texts()) {
            (Value::Bool(true), _) => InheritEnv::All,
            (Value::Bool(false), _) => InheritEnv::Safe,
            (Value::List(_), Some(names)) => InheritEnv::Names(names),
            _ => return self.ignore(key, node, "true, false, or a list of names"),
        };
    }

    /// Names, or Codex's objects with a `name`.
    fn inherit_names(&mut self, key: &str, node: &Node<'_>) {
        let names: Option<Vec<String>> = node.items().and_then(|items| {
            items
                .iter()
                .map(|item| item.text().or_else(|| item.get("name")?.text()).map(str::to_owned))
                .collect()
        });
        match names {
            Some(names) if names.is_empty() => {}
            Some(names) => {
                self.declared.inherit_env = InheritEnv::Names(names);
                if self.origin.provider == Provider::Goose {
                    self.cannot(
                        key,
                        node,
                        "Goose's secret store is not read; the environment is used instead",
                    );
                }
            }
            None => self.ignore(key, node, "a list of names"),
        }
    }

    fn template(&mut self, key: &str, node: &Node<'_>) -> Option<Template> {
        if let Some(text) = node.text() {
            non_blank(text).map(|text| self.parse(text))
        } else {
            self.refuse(key, node, "a string");
            None
        }
    }

    fn parse(&self, text: &str) -> Template {
        Template::parse(text, self.dialect.placeholders)
    }

    fn bearer(&self, token: &Template) -> Template {
        self.parse(&format!("Bearer {}", token.raw()))
    }

    /// The entry cannot be used: the field decides what would run, and it is wrong.
    fn refuse(&mut self, key: &str, node: &Node<'_>, expected: &str) {
        self.reasons.push(format!("\"{key}\" must be {expected}, not {}", node.kind()));
    }

    /// The field is wrong and goes without effect.
    fn ignore(&mut self, key: &str, node: &Node<'_>, expected: &str) {
        let got = match &node.value {
            Value::Number(number) => Cow::Owned(excerpt(number, 30)),
            Value::Bool(value) => Cow::Owned(value.to_string()),
            _ => Cow::Borrowed(node.kind()),
        };
        let message = format!("`{key}` must be {expected}, not {got}; it is ignored");
        self.report(Problem::new(Code::BadField, message), node.line);
    }

    /// The field is right and we cannot do it.
    fn cannot(&mut self, key: &str, node: &Node<'_>, reason: &str) {
        let label = self.origin.provider.label();
        let message = format!("`{}` of {label} has no effect here", excerpt(key, 60));
        self.report(Problem::new(Code::UnsupportedField, message).hint(reason), node.line);
    }

    fn unknown(&mut self, key: &str, line: u32) {
        let problem =
            Problem::new(Code::UnknownField, format!("`{}` is not a known field", excerpt(key, 60)));
        let near = nearest(key, self.dialect.known().map(|(name, _)| name));
        let problem = match near {
            Some(name) => problem.hint(format!("did you mean `{name}`?")),
            None => problem,
        };
        self.report(problem, line);
    }

    fn report(&mut self, problem: Problem, line: u32) {
        self.problems.push(problem.server(self.name).origin(self.origin.at(line)));
    }
}

fn non_blank(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.trim().is_empty())
}

/// The known word that is at most two keystrokes away.
pub(crate) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if word.chars().count() > 40 {
        return None;
    }
    let lower = word.to_lowercase();
    known
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 2 && *distance < candidate.len() / 2)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let substitution = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substitution.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
