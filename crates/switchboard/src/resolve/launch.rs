//! From a checked server to what one attempt to connect needs, with every value filled in.
//!
//! In: a server the user agreed to, the environment, the commands of this process. Out: a [`Launch`]. Nothing of it
//! is kept: the next attempt fills in afresh. The server itself is neither started nor dialled here.

use std::fmt;
use std::path::PathBuf;

use url::Url;

use super::account::{self, Account};
use super::address;
use super::commands::Commands;
use super::env_file;
use super::error::Error;
use super::identity::Identity;
use super::program::{from_home, hint_for_line, locate};
use super::surroundings::{Variables, is_ours};
use super::values::{Values, read_text};
use crate::config::{Endpoint, Field, ServerSpec, Stdio, Transport};
use crate::declared::{Auth, InheritEnv, Remote};
use crate::env::Env;
use crate::origin::Origin;
use crate::problem::{Code, Problem};
use crate::redact;
use crate::secret::Secrets;
use crate::sources::places::Project;
use crate::visible::{excerpt, visible};

const AUTHORIZATION: &str = "Authorization";
const OAUTH_ACCESS_TOKEN: &str = "OAUTH_ACCESS_TOKEN";

/// The server to launch.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub spec: &'a ServerSpec,
    /// Where its definition stands.
    pub origin: &'a Origin,
    /// The project, which decides the directory it belongs to.
    pub project: &'a Project,
    /// The token of a login, if there is one. It counts more than anything configured.
    pub token: Option<&'a str>,
}

/// Everything one attempt to connect needs.
pub struct Launch {
    /// The server's name.
    pub server: String,
    /// Where its definition stands.
    pub origin: Origin,
    /// What to start, or where to connect.
    pub target: Target,
    /// Which connection this is.
    pub identity: Identity,
    /// What must not be seen in anything that is shown, logged or kept.
    pub secrets: Secrets,
    /// What could not be filled in.
    pub problems: Vec<Problem>,
}

/// What to start, or where to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A child process.
    Child(Child),
    /// A server reached over HTTP.
    Remote(Address),
}

/// A child process to start.
#[derive(Clone, PartialEq, Eq)]
pub struct Child {
    /// The file of the program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// All of its variables, by name. It gets no others.
    pub env: Vec<(String, String)>,
    /// Where it runs.
    pub cwd: PathBuf,
}

/// A server to dial.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Streamable HTTP or legacy SSE.
    pub kind: Remote,
    /// The address, without user and fragment.
    pub url: Url,
    /// Headers sent with each request.
    pub headers: Vec<(String, String)>,
    /// What a login needs to know; none where the entry has a credential of its own, or wants none.
    pub account: Option<Account>,
}

/// Fills in the values of a server. Only for one the user agreed to: commands named in its definition are run.
pub async fn launch(server: &Subject<'_>, env: &Env, commands: &Commands) -> Result<Launch, Error> {
    let mut values = Values::new(server, env, commands);
    let target = match &server.spec.transport {
        Transport::Stdio(stdio) => Target::Child(child(&mut values, stdio).await?),
        Transport::Remote(endpoint) => Target::Remote(remote(&mut values, endpoint).await?),
    };
    Ok(Launch {
        server: server.name.to_owned(),
        origin: server.origin.clone(),
        identity: Identity::of(server, &target),
        target,
        secrets: values.secrets,
        problems: values.problems,
    })
}

async fn child(values: &mut Values<'_>, stdio: &Stdio) -> Result<Child, Error> {
    let cwd = match &stdio.cwd {
        Some(cwd) => {
            let cwd = values.word(Field::Cwd, cwd).await;
            values.directory.join(from_home(&cwd, values.env))
        }
        None => values.directory.to_owned(),
    };
    if !cwd.is_dir() {
        return Err(Error::NoDirectory { directory: values.shown(&cwd), about: Box::new(values.about()) });
    }
    let variables = variables(values, stdio).await?;
    let command = values.word(Field::Command, &stdio.command).await;
    let mut args = Vec::with_capacity(stdio.args.len());
    for (index, arg) in stdio.args.iter().enumerate() {
        args.push(values.word(Field::Arg(index), arg).await);
    }
    values.note_args(&args);
    let find = |command: &str| locate(&from_home(command, values.env), variables.get("PATH"), &cwd);
    let Some(program) = find(&command) else {
        let clean = |text: String| values.secrets.scrub(&text).into_owned();
        let line_hint = hint_for_line(&command, |word| find(word).is_some()).map(clean);
        let command = clean(redact::word(&command));
        return Err(Error::ProgramNotFound { command, line_hint, about: Box::new(values.about()) });
    };
    Ok(Child { program, args, env: variables.into_pairs(), cwd })
}

/// What is inherited, then the file, then the entry's own, then the login.
async fn variables(values: &mut Values<'_>, stdio: &Stdio) -> Result<Variables, Error> {
    let mut variables = Variables::inherited(values.env, &stdio.inherit_env);
    for (name, value) in variables.iter() {
        values.note_named(name, value);
    }
    report_not_inherited(values, &stdio.inherit_env);
    if let Some(file) = &stdio.env_file {
        let path = values.word(Field::EnvFile, file).await;
        let path = values.directory.join(from_home(&path, values.env));
        for (name, value) in env_file(values, path).await? {
            values.note_named(&name, &value);
            set(values, &mut variables, Field::Env(&name), value);
        }
    }
    for (name, template) in &stdio.env {
        if let Some(value) = values.pair(Field::Env(name), template).await {
            set(values, &mut variables, Field::Env(name), value);
        }
    }
    report_not_logged_in(values);
    if let Some(token) = token(values) {
        set(values, &mut variables, Field::Env(OAUTH_ACCESS_TOKEN), token);
    }
    Ok(variables)
}

/// A login that the entry names and nobody has. The program may do without it.
fn report_not_logged_in(values: &mut Values<'_>) {
    let Some(Auth::OAuth { credential_id: Some(id) }) = &values.subject.spec.conduct.auth else { return };
    if values.subject.token.is_none() {
        let message =
            format!("there is no login `{}` that works, so {OAUTH_ACCESS_TOKEN} is not set", excerpt(id, 60));
        let hint =
            "log in to a server at an address whose entry has the same `credentialId`: switchboard reauth";
        values.report(Code::LoginMissing, message, hint);
    }
}

/// Sets a variable, if the system can hold it.
fn set(values: &mut Values<'_>, variables: &mut Variables, field: Field<'_>, value: String) {
    let name = field.name().unwrap_or_default();
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        let message = format!("`{field}` is left out: no variable can have this name or value");
        values.report(Code::ValueNotAllowed, message, "no `=` in the name, no NUL byte in either");
        return;
    }
    variables.set(name, value);
}

/// Variables that are asked for and not there to inherit.
fn report_not_inherited(values: &mut Values<'_>, wish: &InheritEnv) {
    let InheritEnv::Names(names) = wish else { return };
    for name in names {
        let shown = visible(name);
        if is_ours(name) {
            let message =
                format!("`inheritEnv` names {shown}, which is for switchboard alone; it is not inherited");
            values.report(Code::BadField, message, "set it under `env` if the server needs it");
        } else if values.env.var(name).is_none() {
            let message = format!("`inheritEnv` names the variable {shown}, which is not set");
            values.report(Code::VariableUnset, message, "export it, or take it out of the list");
        }
    }
}

async fn env_file(values: &mut Values<'_>, path: PathBuf) -> Result<Vec<(String, String)>, Error> {
    let shown = values.shown(&path);
    let reason = match read_text(path).await {
        Ok(Some(text)) => match env_file::parse(&text) {
            Ok(variables) => return Ok(variables),
            Err(0) => "it is not a list of NAME=value lines".to_owned(),
            Err(line) => format!("line {line} is not NAME=value"),
        },
        Ok(None) => "there is no such file".to_owned(),
        Err(problem) => problem.message,
    };
    Err(Error::EnvFile { path: shown, reason, about: Box::new(values.about()) })
}

async fn remote(values: &mut Values<'_>, endpoint: &Endpoint) -> Result<Address, Error> {
    let text = values.word(Field::Url, &endpoint.url).await;
    let (url, login) = match address::parse(&text) {
        Ok(parsed) => parsed,
        Err(fault) => {
            let url = redact::word(endpoint.url.raw());
            return Err(Error::BadUrl { url, fault, about: Box::new(values.about()) });
        }
    };
    // The query has names, which tell more than the look of a value.
    values.note_hidden(url.as_str().split('?').next().unwrap_or_default());
    address::telling_queries(&url).for_each(|secret| values.secrets.add(&secret));

    let mut headers = Vec::with_capacity(endpoint.headers.len() + 1);
    for (name, template) in &endpoint.headers {
        if let Some(value) = values.pair(Field::Header(name), template).await {
            push(values, &mut headers, name, value);
        }
    }
    if let Some(login) = login {
        values.secrets.add(&login.header);
        values.secrets.add(&login.user);
        values.secrets.add(&login.password);
        if headers.iter().any(is_authorization) {
            let message = "the login in `url` is left out: `headers.Authorization` is set as well".to_owned();
            values.report(Code::BadField, message, "take one of the two out of the entry");
        } else {
            push(values, &mut headers, AUTHORIZATION, login.header);
        }
    }
    if let Some(token) = token(values) {
        headers.retain(|header| !is_authorization(header));
        push(values, &mut headers, AUTHORIZATION, format!("Bearer {token}"));
    }
    if url.scheme() == "http" && !address::is_loopback(&url) && address::has_credential(&url, &headers) {
        let host = visible(url.host_str().unwrap_or_default()).into_owned();
        let message = format!(
            "a credential goes to {} without encryption: `url` is http://",
            values.secrets.scrub(&host)
        );
        values.report(Code::ClearTextCredential, message, "write https:// if the server has it");
    }
    let account = account::of(values, headers.iter().any(is_authorization)).await;
    Ok(Address { kind: endpoint.kind, url, headers, account })
}

/// Adds a header, if HTTP allows it.
fn push(values: &mut Values<'_>, headers: &mut Vec<(String, String)>, name: &str, value: String) {
    if address::is_header_name(name) && address::is_header_value(&value) {
        headers.push((name.to_owned(), value));
        return;
    }
    let message = format!("`{}` is left out: HTTP does not allow this name or value", Field::Header(name));
    values.report(Code::ValueNotAllowed, message, "no line ends or other control characters");
}

fn is_authorization((name, _): &(String, String)) -> bool {
    name.eq_ignore_ascii_case(AUTHORIZATION)
}

/// The token of the login, else that in the variable the entry names.
fn token(values: &mut Values<'_>) -> Option<String> {
    let token = match (&values.subject.spec.conduct.auth, values.subject.token) {
        (Some(Auth::None), _) | (Some(Auth::OAuth { .. }) | None, None) => None,
        (_, Some(token)) => Some(token),
        (Some(Auth::Bearer { token_env }), None) => {
            let token = values.env.non_empty(token_env);
            if token.is_none() {
                let name = visible(token_env);
                let message = format!("`auth.tokenEnv` names the variable {name}, which is not set");
                values.report(Code::VariableUnset, message, "export it with the token in it");
            }
            token
        }
    }?;
    values.secrets.add(token);
    Some(token.to_owned())
}

impl fmt::Debug for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject")
            .field("name", &self.name)
            .field("origin", self.origin)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("server", &self.server)
            .field("origin", &self.origin)
            .field("target", &self.target)
            .field("identity", &self.identity)
            .field("secrets", &self.secrets)
            .field("problems", &self.problems)
            .finish()
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.program.file_name().unwrap_or_default().to_string_lossy();
        f.debug_struct("Child")
            .field("program", &redact::word(&file))
            .field("n_args", &self.args.len())
            .field("env", &names(&self.env))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("kind", &self.kind)
            .field("url", &self.url.origin().ascii_serialization())
            .field("headers", &names(&self.headers))
            .field("account", &self.account)
            .finish()
    }
}

/// Names may be seen, values not.
fn names(pairs: &[(String, String)]) -> Vec<&str> {
    pairs.iter().map(|(name, _)| name.as_str()).collect()
}
