//! A server in canonical form: checked, with exactly one transport, nothing expanded.

use std::fmt;
use std::hash::Hash;
use std::path::Path;

use crate::declared::{Auth, Conduct, InheritEnv, Remote};
use crate::origin::Origin;
use crate::provider::Provider;
use crate::template::Template;
use crate::visible::visible;

/// A server one could connect to.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// What to run, or where to connect.
    pub transport: Transport,
    /// How to deal with it.
    pub conduct: Conduct,
}

impl ServerSpec {
    /// The same, but one of our own servers is run by the program that has them, wherever it is installed.
    #[must_use]
    pub fn run_by(&self, program: Option<&Path>, origin: &Origin) -> Self {
        let mut spec = self.clone();
        if let (Some(program), Transport::Stdio(stdio)) = (program, &mut spec.transport)
            && origin.provider == Provider::BuiltIn
            && stdio.command.raw() == "switchboard"
        {
            stdio.command = Template::plain(program.to_string_lossy());
        }
        spec
    }
}

/// What to run, or where to connect.
#[derive(Debug, Clone)]
pub enum Transport {
    /// A child process that speaks on its standard streams.
    Stdio(Stdio),
    /// A server reached over HTTP.
    Remote(Endpoint),
}

/// A child process.
#[derive(Debug, Clone)]
pub struct Stdio {
    /// The program.
    pub command: Template,
    /// Its arguments.
    pub args: Vec<Template>,
    /// Variables it gets.
    pub env: Vec<(String, Template)>,
    /// A file with more of them.
    pub env_file: Option<Template>,
    /// Where it runs; the project's directory unless said otherwise.
    pub cwd: Option<Template>,
    /// Which of our variables it inherits.
    pub inherit_env: InheritEnv,
}

/// An address.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Streamable HTTP or legacy SSE.
    pub kind: Remote,
    /// The address.
    pub url: Template,
    /// Headers sent with each request.
    pub headers: Vec<(String, Template)>,
}

impl ServerSpec {
    /// Every string of it that may hold a placeholder, with its field.
    pub fn values(&self) -> Vec<(Field<'_>, &Template)> {
        let mut values = self.transport.values();
        // A program logs in by itself.
        if let (Transport::Remote(_), Some(oauth)) = (&self.transport, &self.conduct.oauth) {
            values.extend(oauth.values().into_iter().map(|(name, value)| (Field::OAuth(name), value)));
        }
        values
    }
}

impl Transport {
    /// The word in the file.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Remote(Endpoint { kind: Remote::Http, .. }) => "http",
            Self::Remote(Endpoint { kind: Remote::Sse, .. }) => "sse",
        }
    }

    fn values(&self) -> Vec<(Field<'_>, &Template)> {
        match self {
            Self::Stdio(stdio) => {
                let mut values = vec![(Field::Command, &stdio.command)];
                values.extend(stdio.args.iter().enumerate().map(|(index, arg)| (Field::Arg(index), arg)));
                values.extend(stdio.env.iter().map(|(name, value)| (Field::Env(name), value)));
                values.extend(stdio.env_file.iter().map(|file| (Field::EnvFile, file)));
                values.extend(stdio.cwd.iter().map(|cwd| (Field::Cwd, cwd)));
                values
            }
            Self::Remote(endpoint) => {
                let mut values = vec![(Field::Url, &endpoint.url)];
                values.extend(endpoint.headers.iter().map(|(name, value)| (Field::Header(name), value)));
                values
            }
        }
    }
}

/// A field of a server that holds a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// The program.
    Command,
    /// One argument, counted from 0.
    Arg(usize),
    /// A variable.
    Env(&'a str),
    /// The file with more variables.
    EnvFile,
    /// The directory.
    Cwd,
    /// The address.
    Url,
    /// A header.
    Header(&'a str),
    /// What a login needs to know.
    OAuth(&'a str),
}

impl Field<'_> {
    /// The name of the variable or header, whose value is a secret, may be a `!command` or the name of a variable.
    pub const fn name(&self) -> Option<&str> {
        match self {
            Self::Env(name) | Self::Header(name) | Self::OAuth(name) => Some(name),
            Self::Command | Self::Arg(_) | Self::EnvFile | Self::Cwd | Self::Url => None,
        }
    }
}

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => f.write_str("command"),
            Self::Arg(index) => write!(f, "args[{index}]"),
            Self::Env(name) => write!(f, "env.{}", visible(name)),
            Self::EnvFile => f.write_str("envFile"),
            Self::Cwd => f.write_str("cwd"),
            Self::Url => f.write_str("url"),
            Self::Header(name) => write!(f, "headers.{}", visible(name)),
            Self::OAuth(name) => write!(f, "oauth.{}", visible(name)),
        }
    }
}

/// What makes two servers one: the same program with the same surroundings, or the same address with the same
/// headers. A different variable or header is a different account.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Connection<'a> {
    is_remote: bool,
    target: &'a Template,
    args: &'a [Template],
    /// The only variable or header; most servers have no more.
    pair: Option<Pair<'a>>,
    /// All of them, sorted, if there are several.
    pairs: Vec<Pair<'a>>,
    places: [Option<&'a Template>; 2],
    /// Another credential is another account.
    auth: Option<&'a Auth>,
}

type Pair<'a> = (&'a str, &'a Template);

impl<'a> Connection<'a> {
    pub(super) fn of(spec: &'a ServerSpec) -> Self {
        let auth = spec.conduct.auth.as_ref();
        match &spec.transport {
            Transport::Stdio(stdio) => {
                let (pair, pairs) = Self::pairs(&stdio.env);
                let places = [stdio.cwd.as_ref(), stdio.env_file.as_ref()];
                Self {
                    is_remote: false,
                    target: &stdio.command,
                    args: &stdio.args,
                    pair,
                    pairs,
                    places,
                    auth,
                }
            }
            Transport::Remote(endpoint) => {
                let (pair, pairs) = Self::pairs(&endpoint.headers);
                Self {
                    is_remote: true,
                    target: &endpoint.url,
                    args: &[],
                    pair,
                    pairs,
                    places: [None, None],
                    auth,
                }
            }
        }
    }

    fn pairs(list: &'a [(String, Template)]) -> (Option<Pair<'a>>, Vec<Pair<'a>>) {
        let borrow = |(name, value): &'a (String, Template)| (name.as_str(), value);
        match list {
            [] => (None, Vec::new()),
            [only] => (Some(borrow(only)), Vec::new()),
            several => {
                let mut pairs: Vec<_> = several.iter().map(borrow).collect();
                pairs.sort_by_key(|pair| pair.0);
                (None, pairs)
            }
        }
    }
}
