//! A server in canonical form: checked, with exactly one transport, nothing expanded.

use std::hash::Hash;

use crate::declared::{Auth, Conduct, InheritEnv, Remote};
use crate::template::Template;

/// A server one could connect to.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// What to run, or where to connect.
    pub transport: Transport,
    /// How to deal with it.
    pub conduct: Conduct,
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

impl Transport {
    /// The word in the file.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Remote(Endpoint { kind: Remote::Http, .. }) => "http",
            Self::Remote(Endpoint { kind: Remote::Sse, .. }) => "sse",
        }
    }

    /// Every string of it that may hold a secret command or placeholder, with the name of its field.
    pub fn values(&self) -> Vec<(String, &Template)> {
        let pairs = |field: &str, pairs: &'_ [(String, Template)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| format!("{field}.{name}")).collect()
        };
        match self {
            Self::Stdio(stdio) => {
                let mut values = vec![("command".to_owned(), &stdio.command)];
                values.extend(stdio.args.iter().enumerate().map(|(i, arg)| (format!("args[{i}]"), arg)));
                values.extend(pairs("env", &stdio.env).into_iter().zip(stdio.env.iter().map(|pair| &pair.1)));
                values.extend(stdio.env_file.iter().map(|file| ("envFile".to_owned(), file)));
                values.extend(stdio.cwd.iter().map(|cwd| ("cwd".to_owned(), cwd)));
                values
            }
            Self::Remote(endpoint) => {
                let mut values = vec![("url".to_owned(), &endpoint.url)];
                let headers = endpoint.headers.iter().map(|pair| &pair.1);
                values.extend(pairs("headers", &endpoint.headers).into_iter().zip(headers));
                values
            }
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
