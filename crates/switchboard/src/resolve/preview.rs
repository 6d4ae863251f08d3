//! What each value is made of, for people: placeholders filled in where that is harmless, secrets hidden.

use std::path::Path;

use crate::config::{Field, ServerSpec, Transport};
use crate::declared::Auth;
use crate::env::Env;
use crate::origin::Origin;
use crate::problem::{Code, Problem};
use crate::redact;
use crate::template::{Folder, PartRef, Template};
use crate::visible::visible;

/// One value of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The field, such as `env.TOKEN`.
    pub field: String,
    /// As it stands in the file, without secrets.
    pub from: String,
    /// What it becomes, without secrets; nothing when it cannot be told or filled in.
    pub resolved: Option<String>,
}

/// Every value of a server, and what is missing.
pub fn preview(name: &str, spec: &ServerSpec, origin: &Origin, env: &Env) -> (Vec<Preview>, Vec<Problem>) {
    let mut previews = Vec::new();
    let mut problems = Vec::new();
    let shown_args = match &spec.transport {
        Transport::Stdio(stdio) => redact::args(&stdio.args),
        Transport::Remote(_) => Vec::new(),
    };
    for (field, template) in spec.values() {
        let (from, resolved) = match field {
            // Who we are is no secret.
            Field::OAuth(name) if !redact::is_telling(name) => {
                (redact::word(template.raw()), shown_word(template, env))
            }
            Field::Env(_) | Field::Header(_) | Field::OAuth(_) => {
                (redact::value(template), pair(template, env))
            }
            Field::Arg(index) => {
                let from = shown_args[index].clone();
                // After a telling option even a variable's value is a secret.
                let is_secret = from.contains(redact::STARS) || follows_option(spec, index);
                let hidden = || expand(template, env, env.cwd()).map(|_| redact::STARS.to_owned());
                let resolved = if is_secret { hidden() } else { shown_word(template, env) };
                (from, resolved)
            }
            Field::Command | Field::EnvFile | Field::Cwd | Field::Url => {
                (redact::word(template.raw()), shown_word(template, env))
            }
        };
        problems
            .extend(missing(field, template, env).map(|problem| problem.server(name).origin(origin.clone())));
        let resolved =
            if template.is_plain() && field.name().is_none() { Some(from.clone()) } else { resolved };
        previews.push(Preview { field: field.to_string(), from, resolved });
    }
    problems.extend(missing_token(spec, env).map(|problem| problem.server(name).origin(origin.clone())));
    (previews, problems)
}

/// Whether the argument follows an option that tells of a secret.
fn follows_option(spec: &ServerSpec, index: usize) -> bool {
    let Transport::Stdio(stdio) = &spec.transport else { return false };
    index.checked_sub(1).is_some_and(|before| redact::is_telling_option(stdio.args[before].raw()))
}

/// A word with its variables filled in, except for those whose names tell of a secret.
fn shown_word(template: &Template, env: &Env) -> Option<String> {
    let mut text = String::new();
    for part in template.parts() {
        match part {
            PartRef::Variable { name, .. } if redact::is_telling(name) && env.non_empty(name).is_some() => {
                text.push_str(redact::STARS);
            }
            PartRef::Text(plain) | PartRef::Unknown(plain) => text.push_str(plain),
            PartRef::Variable { name, default } => {
                text.push_str(env.non_empty(name).or(default).or_else(|| env.var(name))?);
            }
            PartRef::Folder(folder) => text.push_str(&directory(folder, env, env.cwd())),
            PartRef::File(_) | PartRef::Input(_) | PartRef::Stored(_) | PartRef::Command(_) => return None,
        }
    }
    Some(redact::word(&text))
}

/// A variable's or header's value: where it comes from, never what it is.
fn pair(template: &Template, env: &Env) -> Option<String> {
    if let Some(command) = template.shell_command() {
        return Some(format!("{} (output of `{}`, not run)", redact::STARS, redact::word(command)));
    }
    if template.is_plain() {
        let raw = template.raw();
        let is_variable = env.non_empty(raw).is_some();
        return Some(match (raw, is_variable) {
            ("", _) => String::new(),
            (name, true) => format!("{} (variable {name})", redact::STARS),
            (_, false) => redact::STARS.to_owned(),
        });
    }
    let mut sources = Vec::new();
    for part in template.parts() {
        match part {
            PartRef::Text(_) | PartRef::Unknown(_) => {}
            PartRef::Variable { name, default } => match (env.non_empty(name), default) {
                (Some(_), _) => sources.push(format!("variable {name}")),
                (None, Some(_)) => sources.push(format!("default of {name}")),
                (None, None) => return None,
            },
            PartRef::Folder(_) => sources.push("a directory".to_owned()),
            PartRef::File(path) => sources.push(format!("file {path}, not read")),
            PartRef::Command(command) => {
                sources.push(format!("output of `{}`, not run", redact::word(command)));
            }
            PartRef::Input(_) | PartRef::Stored(_) => return None,
        }
    }
    Some(format!("{} ({})", redact::STARS, sources.join(", ")))
}

/// The value with its placeholders filled in, if that needs nothing but the environment.
pub(super) fn expand(template: &Template, env: &Env, workspace: &Path) -> Option<String> {
    let mut text = String::with_capacity(template.raw().len());
    for part in template.parts() {
        match part {
            PartRef::Text(plain) | PartRef::Unknown(plain) => text.push_str(plain),
            PartRef::Variable { name, default: None } => text.push_str(env.var(name)?),
            PartRef::Variable { name, default: Some(default) } => {
                text.push_str(env.non_empty(name).unwrap_or(default));
            }
            PartRef::Folder(folder) => text.push_str(&directory(folder, env, workspace)),
            PartRef::File(_) | PartRef::Input(_) | PartRef::Stored(_) | PartRef::Command(_) => return None,
        }
    }
    Some(text)
}

/// The path a folder stands for.
pub(super) fn directory(folder: Folder, env: &Env, workspace: &Path) -> String {
    match folder {
        Folder::Workspace => workspace.display().to_string(),
        Folder::WorkspaceName => {
            workspace.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        }
        Folder::Home => env.home().display().to_string(),
        Folder::Separator => std::path::MAIN_SEPARATOR.to_string(),
    }
}

/// Everything in a server that cannot be filled in, its token included.
pub fn unresolved(name: &str, spec: &ServerSpec, origin: &Origin, env: &Env) -> Vec<Problem> {
    let mut problems = unfilled(name, spec, origin, env);
    problems.extend(missing_token(spec, env).map(|problem| problem.server(name).origin(origin.clone())));
    problems
}

/// Every value of a server that cannot be filled in.
pub(super) fn unfilled(name: &str, spec: &ServerSpec, origin: &Origin, env: &Env) -> Vec<Problem> {
    let values = spec.values().into_iter().filter(|(_, value)| !value.is_plain());
    let problems = values.flat_map(|(field, value)| missing(field, value, env));
    problems.map(|problem| problem.server(name).origin(origin.clone())).collect()
}

/// A problem if the variable that is to hold the token does not.
fn missing_token(spec: &ServerSpec, env: &Env) -> Option<Problem> {
    let Some(Auth::Bearer { token_env }) = &spec.conduct.auth else { return None };
    if env.non_empty(token_env).is_some() {
        return None;
    }
    let name = visible(token_env);
    let message = format!("`auth.tokenEnv` names the variable {name}, which is not set");
    Some(Problem::new(Code::VariableUnset, message).hint(format!("export {name}=... with the token in it")))
}

/// A problem for each placeholder that cannot be filled in.
fn missing<'a>(field: Field<'a>, template: &'a Template, env: &'a Env) -> impl Iterator<Item = Problem> + 'a {
    template.parts().filter_map(move |part| {
        let problem = match part {
            PartRef::Variable { name, default: None } if env.is_unreadable(name) => Problem::new(
                Code::VariableUnset,
                format!("`{field}` needs the variable {name}, whose value is not text"),
            )
            .hint(format!("export {name} again as UTF-8")),
            PartRef::Variable { name, default: None } if env.var(name).is_none() => Problem::new(
                Code::VariableUnset,
                format!("`{field}` needs the variable {name}, which is not set"),
            )
            .hint(format!("export {name}=..., or write a default: ${{{name}:-...}}")),
            PartRef::Input(id) => {
                let message =
                    format!("`{field}` asks for the input `{id}`, which only its own tool can ask for");
                Problem::new(Code::PlaceholderUnsupported, message)
                    .hint("add the server to your own file with a variable in its place: switchboard add")
            }
            PartRef::Stored(id) => {
                let message = format!("`{field}` needs the secret `{id}` from its tool's own store");
                Problem::new(Code::PlaceholderUnsupported, message)
                    .hint("add the server to your own file with a variable in its place: switchboard add")
            }
            PartRef::Unknown(text) => {
                let message =
                    format!("`{field}` holds `{}`, which nobody fills in", crate::visible::excerpt(text, 60));
                Problem::new(Code::PlaceholderUnsupported, message)
            }
            _ => return None,
        };
        Some(problem)
    })
}
