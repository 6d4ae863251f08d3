//! The fields that say what to run or where to connect: words, lists, and names with values.

use super::super::dialect::Meaning;
use super::super::tree::{LastKeys, Node, Value};
use super::Reader;
use crate::declared::InheritEnv;
use crate::problem::{Code, Problem};
use crate::provider::Provider;
use crate::template::Template;
use crate::visible::excerpt;

impl Reader<'_> {
    /// A word, a list of words, or Zed's older object with a `path`.
    pub(super) fn command(&mut self, key: &str, node: &Node<'_>) {
        match &node.value {
            Value::Text(text) => self.declared.command = Some(self.parse(text)),
            Value::List(_) => {
                let mut words = self.templates(key, node).into_iter();
                self.declared.command = words.next();
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
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Map(_) | Value::Odd(_) => {
                self.refuse(key, node, "a string");
            }
        }
    }

    pub(super) fn templates(&mut self, key: &str, node: &Node<'_>) -> Vec<Template> {
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
    pub(super) fn pairs(&mut self, key: &str, node: &Node<'_>) -> Vec<(String, Template)> {
        let Some(entries) = node.entries() else {
            self.refuse(key, node, "an object of strings");
            return Vec::new();
        };
        let mut pairs: Vec<(String, Template)> = Vec::with_capacity(entries.len());
        let keys = LastKeys::of(entries);
        for (index, (name, value)) in entries.iter().enumerate() {
            if !keys.is_last(index) {
                let message =
                    format!("`{key}.{}` stands more than once; the last one counts", excerpt(&name.text, 60));
                self.report(Problem::new(Code::DuplicateKey, message).hint("remove one of them"));
                continue;
            }
            match value.scalar() {
                Some(text) => pairs.push((name.text.clone().into_owned(), self.parse(&text))),
                // VS Code documents null as "leave it unset".
                None if value.value == Value::Null && self.origin.provider == Provider::VsCode => {}
                None if value.value == Value::Null => {
                    let message = format!("`{key}.{}` is null and is left out", excerpt(&name.text, 60));
                    let problem =
                        Problem::new(Code::BadField, message).hint("give it a string, or remove it");
                    self.report(problem);
                }
                None => self.refuse(&format!("{key}.{}", excerpt(&name.text, 60)), value, "a string"),
            }
        }
        pairs
    }

    /// Headers, of which two names that differ only in case are one.
    pub(super) fn headers(&mut self, headers: Vec<(String, Template)>) {
        for (name, value) in headers {
            let same = |known: &(String, Template)| known.0.eq_ignore_ascii_case(&name);
            if self.declared.headers.iter().any(same) {
                let message =
                    format!("the header `{}` stands more than once; the last one counts", excerpt(&name, 60));
                self.report(Problem::new(Code::DuplicateKey, message).hint("remove one of them"));
                self.declared.headers.retain(|known| !same(known));
            }
            self.declared.headers.push((name, value));
        }
    }

    /// Header names to names of variables.
    pub(super) fn env_headers(&mut self, key: &str, node: &Node<'_>) {
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

    pub(super) fn request_options(&mut self, key: &str, node: &Node<'_>) {
        let Some(entries) = node.entries() else { return self.ignore(key, node, "an object with `headers`") };
        for (name, value) in entries {
            self.line = name.line;
            match name.text.as_ref() {
                "headers" => {
                    let headers = self.pairs("requestOptions.headers", value);
                    self.headers(headers);
                }
                other => self.cannot(&format!("{key}.{other}"), "only its headers are used"),
            }
        }
    }

    pub(super) fn inherit_env(&mut self, key: &str, node: &Node<'_>) {
        self.declared.inherit_env = match (&node.value, node.texts()) {
            (Value::Bool(true), _) => InheritEnv::All,
            (Value::Bool(false), _) => InheritEnv::Safe,
            (Value::List(_), Some(names)) => InheritEnv::Names(names),
            _ => return self.ignore(key, node, "true, false, or a list of names"),
        };
    }

    /// Names, or Codex's objects with a `name`.
    pub(super) fn inherit_names(&mut self, key: &str, node: &Node<'_>) {
        let Some(items) = node.items() else { return self.ignore(key, node, "a list of names") };
        let mut names = Vec::new();
        for item in items {
            let is_remote = item.get("source").and_then(Node::text) == Some("remote");
            match item.text().or_else(|| item.get("name")?.text()) {
                Some(name) if is_remote => {
                    let key = format!("{key}: {}", excerpt(name, 60));
                    self.cannot(&key, "there is no remote machine to take it from");
                }
                Some(name) => names.push(name.to_owned()),
                None => self.ignore(key, node, "a list of names"),
            }
        }
        if names.is_empty() {
            return;
        }
        if self.origin.provider == Provider::Goose {
            let message = format!("`{key}` is taken from the environment, not from Goose's secret store");
            let hint = format!("export {}", names.join(", "));
            self.report(Problem::new(Code::UnsupportedField, message).hint(hint));
        }
        self.declared.inherit_env = InheritEnv::Names(names);
    }

    pub(super) fn template(&mut self, key: &str, node: &Node<'_>) -> Option<Template> {
        if let Some(text) = node.text() {
            Some(self.parse(text))
        } else {
            self.refuse(key, node, "a string");
            None
        }
    }
}
