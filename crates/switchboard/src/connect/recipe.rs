//! What opening a server takes: its definition, and what all servers of a session share.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::fault::Fault;
use super::offer::Offer;
use crate::auth::Keys;
use crate::config::ServerSpec;
use crate::context;
use crate::declared::Limit;
use crate::env::Env;
use crate::host::Host;
use crate::origin::Origin;
use crate::resolve::{self, Commands, Launch, Subject};
use crate::sources::places::Project;
use crate::wire::{self, Guard, Limits, Link, Log, Memory, Steps, Terms, Web};

/// Whether failed servers are tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// The session lives on: servers come and go.
    KeepTrying,
    /// One job, then over: the first failure settles a server.
    OneShot,
}

/// What all servers of a session share.
pub struct Shared {
    /// The surroundings.
    pub env: Env,
    /// The project.
    pub project: Project,
    /// The outputs of `!command` values.
    pub commands: Commands,
    /// The HTTP client.
    pub web: Arc<Web>,
    /// The logins of the user.
    pub keys: Arc<Keys>,
    /// What keeps processes from outliving us.
    pub guard: Option<Guard>,
    /// Bounds of what is kept.
    pub limits: Limits,
    /// Overrides the timeout of every server.
    pub timeout: Option<Limit>,
    /// Whether failed servers are tried again.
    pub persistence: Persistence,
    /// Tells where the work stands in a trace.
    pub context: Option<context::Source>,
    /// What the starts and ends of servers belong to.
    pub span: tracing::Span,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("persistence", &self.persistence).finish_non_exhaustive()
    }
}

/// One server, ready to be opened as often as need be.
#[derive(Clone)]
pub struct Recipe {
    /// Its name.
    pub name: String,
    /// Which connection it is, without anything filled in.
    pub key: Arc<str>,
    /// Its definition.
    pub spec: Arc<ServerSpec>,
    /// Where that stands.
    pub origin: Origin,
    /// Who answers its questions.
    pub host: Arc<dyn Host>,
    /// What all share.
    pub shared: Arc<Shared>,
}

impl std::fmt::Debug for Recipe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recipe").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Recipe {
    /// Whether it was seen to ask a client something.
    pub(super) fn has_asked(&self) -> bool {
        Memory::of(&self.shared.env).has_asked(&self.key)
    }

    /// Keeps that it asked. It goes to a disk, so nobody should wait for it.
    pub(super) fn keep_asked(&self) {
        Memory::of(&self.shared.env).keep_asked(&self.key);
    }

    /// The limit of one request.
    pub fn timeout(&self) -> Option<Duration> {
        self.spec.conduct.request_limit(self.shared.timeout)
    }

    /// The limit of connecting and the first list.
    pub fn startup(&self) -> Option<Duration> {
        self.spec.conduct.startup_limit(self.shared.timeout)
    }

    /// Fills in the values. Only for a server the user agreed to.
    pub(crate) async fn launch(&self) -> Result<Launch, resolve::Error> {
        let shared = &self.shared;
        let token = shared.keys.variable(&self.spec).await;
        let subject = Subject {
            name: &self.name,
            spec: &self.spec,
            origin: &self.origin,
            project: &shared.project,
            token: token.as_deref(),
        };
        resolve::launch(&subject, &shared.env, &shared.commands).await
    }

    /// Fills in the values, opens the server, and asks for its tools.
    pub(super) async fn open(&self, log: &Arc<Log>) -> Result<(Link, Offer), Fault> {
        let shared = &self.shared;
        let launch = self.launch().await.map_err(|error| Fault::unresolved(&error))?;
        let memory = Memory::of(&shared.env);
        let terms = Terms {
            server: self.name.clone(),
            host: Arc::clone(&self.host),
            web: Arc::clone(&shared.web),
            pass: shared.keys.pass_for(&launch),
            guard: shared.guard.clone(),
            startup: self.startup(),
            timeout: self.timeout(),
            limits: shared.limits,
            remembered: memory.recall(launch.identity.key()),
            trace: None,
            steps: Arc::new(Steps::new(None)),
            log: Arc::clone(log),
            context: shared.context.clone(),
        };
        let link = wire::open(&launch, &terms).await.map_err(|failure| {
            // What was remembered of it may be why.
            memory.forget(launch.identity.key());
            Fault::not_opened(&launch, *failure)
        })?;
        let listed = match self.startup().map(|limit| (limit, limit.saturating_sub(terms.steps.elapsed()))) {
            None => link.tools().await,
            Some((after, left)) => timeout(left, link.tools()).await.unwrap_or_else(|_| {
                Err(wire::Error::maybe(wire::Cause::Timeout { waiting_for: "tools/list".to_owned(), after }))
            }),
        };
        match listed {
            Ok(tools) => {
                let offer = Offer::new(link.facts().clone(), tools);
                Ok((link, offer))
            }
            Err(error) => {
                let mut fault = Fault::of(&self.name, &error);
                fault.stderr = link.stderr_tail();
                link.stop().await;
                Err(fault)
            }
        }
    }
}
