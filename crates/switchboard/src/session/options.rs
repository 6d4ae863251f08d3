//! What a session is started with, and what a part of it may see.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::auth;
use crate::catalog::Catalog;
use crate::config::{self, Server};
use crate::connect::Persistence;
use crate::context;
use crate::declared::Limit;
use crate::env::Env;
use crate::host::{Headless, Host};
use crate::wire::{Guard, Limits};

/// Tells which servers are left out.
pub type Except = Arc<dyn Fn(&Server) -> bool + Send + Sync>;

/// What a session is started with.
#[derive(Clone)]
pub struct Options {
    /// The surroundings.
    pub env: Env,
    /// What counts of what is found.
    pub discovery: config::Options,
    /// Only these servers; all if nothing is said.
    pub only: Option<BTreeSet<String>>,
    /// Servers that are left out, also those that a reload finds.
    pub except: Option<Except>,
    /// Who answers questions of servers, and approves calls.
    pub host: Arc<dyn Host>,
    /// What keeps processes from outliving us.
    pub guard: Option<Guard>,
    /// The program that is the built-in servers.
    pub own_program: Option<PathBuf>,
    /// Bounds of what servers can make us keep or do.
    pub limits: Limits,
    /// Overrides the timeout of every server.
    pub timeout: Option<Limit>,
    /// Whether failed servers are tried again.
    pub persistence: Persistence,
    /// What logins need to know besides the entries.
    pub logins: auth::Options,
    /// Tells where the work stands in a trace. It is passed on to servers with each request.
    pub context: Option<context::Source>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("only", &self.only).finish_non_exhaustive()
    }
}

impl Options {
    /// A session with nobody in front of it: questions are declined, calls that need a yes are not made.
    pub fn headless(env: Env) -> Self {
        let host = Arc::new(Headless { folders: vec![env.cwd().to_owned()], ..Headless::default() });
        Self {
            env,
            discovery: config::Options::default(),
            only: None,
            except: None,
            host,
            guard: None,
            own_program: None,
            limits: Limits::default(),
            timeout: None,
            persistence: Persistence::KeepTrying,
            logins: auth::Options::default(),
            context: None,
        }
    }
}

/// What a part of a session may see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Scope {
    /// Everything.
    #[default]
    All,
    /// Some servers.
    Servers(BTreeSet<String>),
    /// Some tools, by their names.
    Tools(BTreeSet<String>),
}

impl Scope {
    fn sees_server(&self, server: &str) -> bool {
        match self {
            Self::All | Self::Tools(_) => true,
            Self::Servers(servers) => servers.contains(server),
        }
    }

    fn sees_tool(&self, server: &str, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Servers(servers) => servers.contains(server),
            Self::Tools(tools) => tools.contains(name),
        }
    }

    fn sees_rest(&self, server: &str) -> bool {
        match self {
            Self::All => true,
            Self::Servers(servers) => servers.contains(server),
            Self::Tools(_) => false,
        }
    }
}

/// What a part of a part of a session may see: what each of them may.
#[derive(Debug, Clone, Default)]
pub(super) struct Sight(Vec<Scope>);

impl Sight {
    /// The same, and no more than this.
    pub(super) fn narrowed(&self, scope: Scope) -> Self {
        let mut scopes = self.0.clone();
        scopes.extend(Some(scope).filter(|scope| *scope != Scope::All));
        Self(scopes)
    }

    pub(super) const fn is_whole(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn sees_server(&self, server: &str) -> bool {
        self.0.iter().all(|scope| scope.sees_server(server))
    }

    pub(super) fn sees_tool(&self, server: &str, name: &str) -> bool {
        self.0.iter().all(|scope| scope.sees_tool(server, name))
    }

    /// Whether resources and prompts of a server may be used.
    pub(super) fn sees_rest(&self, server: &str) -> bool {
        self.0.iter().all(|scope| scope.sees_rest(server))
    }

    pub(super) fn limit(&self, catalog: Arc<Catalog>) -> Arc<Catalog> {
        if self.is_whole() {
            return catalog;
        }
        let mut part = Arc::unwrap_or_clone(catalog);
        part.tools.retain(|entry| self.sees_tool(&entry.server, &entry.name));
        part.resources.retain(|of| self.sees_rest(&of.server));
        part.templates.retain(|of| self.sees_rest(&of.server));
        part.prompts.retain(|of| self.sees_rest(&of.server));
        part.hints.retain(|of| self.sees_server(&of.server));
        part.instructions.retain(|of| self.sees_server(&of.server));
        Arc::new(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_part_sees_no_more_than_the_part() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let part = Sight::default().narrowed(Scope::Servers(names(&["a", "b"])));
        assert!(part.sees_server("a") && !part.sees_server("c") && !part.is_whole());
        let wider = part.narrowed(Scope::Servers(names(&["b", "c"])));
        assert_eq!(["a", "b", "c"].map(|server| wider.sees_server(server)), [false, true, false]);
        assert!(!part.narrowed(Scope::All).sees_server("c"), "all of it is all of the part");
        let tools = part.narrowed(Scope::Tools(names(&["mcp_a_t", "mcp_c_t"])));
        assert!(tools.sees_tool("a", "mcp_a_t") && !tools.sees_tool("c", "mcp_c_t"));
        assert!(!tools.sees_rest("a"));
        assert!(Sight::default().narrowed(Scope::All).is_whole());
    }
}
