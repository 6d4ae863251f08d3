//! The one object a host holds: every server of a person, connected, kept alive, and offered as one catalog.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use switchboard::{Env, session::{self, Options}};
//!
//! let loaded = session::load(Options::headless(Env::capture()?)).await;
//! for tool in &loaded.tools {
//!     println!("{}", tool.name);
//! }
//! let outcome = loaded.session.call("mcp_thinking_sequentialthinking", &"{}".parse::<serde_json::Value>()?.into()).await?;
//! println!("{}", outcome.shaped.text);
//! loaded.session.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! Logic lives in the rooms before; here they are wired together.

mod apart;
mod approval;
mod events;
mod gate;
mod keeper;
mod load;
mod login;
mod options;
mod recipes;
mod relay;
mod uses;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::{Notify, broadcast, watch};
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::auth::Keys;
use crate::calls::Grants;
use crate::catalog::{Builder, Cache, Catalog, Pins};
use crate::connect::{Changes, Event, Fleet, Freshness, Handle, Shared, Status};
use crate::discover::{Discovery, discover};
use crate::sources::watch::FilesChanged;
use crate::spans;
use crate::wire::{Logs, Web};

pub use apart::Apart;
pub use approval::Grant;
pub use events::Events;
pub use gate::Gate;
pub use load::{LoadError, Loaded, cached, last_faults, load};
pub use login::NoLogin;
use options::Sight;
pub use options::{Except, Options, Scope};
pub use uses::Found;

/// Every server of a person, as one. Clones share it.
#[derive(Debug, Clone)]
pub struct Session {
    inner: Arc<Inner>,
    scope: Arc<Sight>,
}

#[derive(Debug)]
struct Inner {
    options: Options,
    shared: Arc<Shared>,
    discovery: watch::Sender<Arc<Discovery>>,
    /// Changed by reloads, one at a time. Gone when the session is over.
    fleet: tokio::sync::Mutex<Option<Fleet>>,
    /// What is in the fleet right now.
    // Written by reloads, read by everybody, never held across a wait.
    handles: RwLock<BTreeMap<String, Handle>>,
    catalog: watch::Sender<Arc<Catalog>>,
    /// A server changed.
    changed: Arc<Notify>,
    /// There may be something to write to disk.
    learnt: Arc<Notify>,
    events: broadcast::Sender<Event>,
    cache: Cache,
    pins: Mutex<Pins>,
    // Only ever locked below `pins`.
    builder: Mutex<Builder>,
    /// What the user approved for the rest of the session.
    granted: Mutex<Grants>,
    /// How many calls were asked for.
    n_calls: AtomicU64,
    /// What runs in the background; ends with the session.
    keeper: Mutex<JoinSet<()>>,
    /// One writer of the cache at a time.
    written: tokio::sync::Mutex<keeper::Written>,
}

/// How a server of the session stands.
#[derive(Debug, Clone)]
pub struct ServerReport {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub status: Status,
    /// How many tools it offers, after the rules.
    pub n_tools: usize,
}

impl Session {
    /// Finds and starts all servers. Comes back at once; see [`Session::ready`].
    pub async fn start(options: Options) -> Self {
        let discovery = Arc::new(discover(&options.env, options.discovery));
        let shared = Arc::new(Shared {
            env: options.env.clone(),
            project: discovery.project.clone(),
            commands: crate::resolve::Commands::default(),
            web: Arc::new(Web::default()),
            keys: Keys::of(&options.env, options.logins.clone().with(&discovery.settings.login)),
            guard: options.guard.clone(),
            limits: options.limits,
            timeout: options.timeout.or(discovery.settings.timeout_override),
            persistence: options.persistence,
            context: options.context.clone(),
            span: tracing::Span::current(),
        });
        let changed: Arc<Notify> = Arc::default();
        let fleet = Fleet::new(Arc::clone(&changed));
        let inner = Arc::new(Inner {
            cache: Cache::of(&options.env),
            pins: Mutex::new(Pins::load(&options.env)),
            builder: Mutex::default(),
            options,
            shared,
            discovery: watch::Sender::new(discovery),
            events: fleet.events(),
            fleet: tokio::sync::Mutex::new(Some(fleet)),
            handles: RwLock::default(),
            catalog: watch::Sender::default(),
            changed,
            learnt: Arc::default(),
            granted: Mutex::default(),
            n_calls: AtomicU64::new(0),
            keeper: Mutex::default(),
            written: tokio::sync::Mutex::default(),
        });
        inner.apply(|| None).await;
        *inner.keeper.lock().unwrap_or_else(PoisonError::into_inner) = keeper::start(&inner);
        Self { inner, scope: Arc::default() }
    }

    /// What was found, with every problem.
    pub fn discovery(&self) -> Arc<Discovery> {
        self.inner.discovery.borrow().clone()
    }

    /// The tools, resources and prompts right now, as far as this session may see them.
    pub fn catalog(&self) -> Arc<Catalog> {
        let whole = self.inner.catalog.borrow().clone();
        self.scope.limit(whole)
    }

    /// Tells when the whole catalog may have changed; the way to live refresh. Take [`Session::catalog`] then: it has what
    /// this part of the session may see.
    pub fn watch_catalog(&self) -> watch::Receiver<Arc<Catalog>> {
        self.inner.catalog.subscribe()
    }

    /// What happens to servers this session may see, and what they say unasked, from now on.
    pub fn events(&self) -> Events {
        Events::new(self.inner.events.subscribe(), Arc::clone(&self.scope))
    }

    /// How each server stands.
    pub fn servers(&self) -> Vec<ServerReport> {
        let catalog = self.catalog();
        let report = |(name, handle): (String, Handle)| {
            let n_tools = catalog.tools.iter().filter(|entry| entry.server == name).count();
            ServerReport { status: handle.view().status, name, n_tools }
        };
        self.handles().into_iter().map(report).collect()
    }

    /// Servers this session may see that wait for consent. Nobody asked for those that are built in.
    pub fn waiting(&self) -> Vec<String> {
        let waiting = self.inner.waiting(&self.discovery());
        waiting.into_iter().filter(|server| self.scope.sees_server(server)).collect()
    }

    /// What went over the connections of a server of late, and what its processes wrote to standard error: without
    /// content and without secrets. None if there is no such server.
    pub fn logs(&self, server: &str) -> Option<Logs> {
        self.own(server).map(|handle| handle.logs())
    }

    /// A session over the same connections that sees only some servers or tools, of those this one sees.
    #[must_use]
    pub fn scoped(&self, scope: Scope) -> Self {
        Self { inner: Arc::clone(&self.inner), scope: Arc::new(self.scope.narrowed(scope)) }
    }

    /// Reads the configuration again, restarts only what changed, and tells what that was. While a file of the user's own
    /// is broken, what it declared before goes on; the problem is in [`Session::discovery`].
    pub async fn reload(&self) -> Changes {
        let watched = spans::reload();
        let find = || Some(self.find());
        let changes = self.inner.apply(find).instrument(watched.span()).await;
        for (field, list) in [
            ("n_added", &changes.added),
            ("n_removed", &changes.removed),
            ("n_changed", &changes.changed),
            ("n_kept", &changes.kept),
            ("n_waiting", &changes.waiting),
        ] {
            watched.span().record(field, list.len());
        }
        watched.done(spans::OK);
        changes
    }

    /// What a reload would do now. Nothing is started or stopped.
    pub async fn preview_reload(&self) -> Changes {
        self.inner.preview(&self.find()).await
    }

    /// What there is now, and what the user's own files said before they broke.
    fn find(&self) -> Discovery {
        let options = &self.inner.options;
        discover(&options.env, options.discovery).keeping(&self.discovery())
    }

    /// Tells when a file that declares servers, settings or approvals appears, changes or goes, also one of a tool that was
    /// not there before. It only tells: see [`Session::preview_reload`] and [`Session::reload`].
    pub fn watch_files(&self) -> FilesChanged {
        FilesChanged::new(&self.inner.options.env)
    }

    /// Says that the machine slept, for hosts that know. A long-lived session also notices by itself, within seconds.
    pub async fn resumed(&self) {
        self.inner.resumed().await;
    }

    /// Starts a server anew. False if there is none of that name.
    pub async fn reconnect(&self, server: &str) -> bool {
        match self.own(server) {
            Some(handle) => {
                handle.reconnect().await;
                true
            }
            None => false,
        }
    }

    /// Stops a server until somebody needs it again. False if there is none of that name.
    pub async fn disconnect(&self, server: &str) -> bool {
        match self.own(server) {
            Some(handle) => {
                handle.rest().await;
                true
            }
            None => false,
        }
    }

    /// Stops a server until somebody needs it again, if nobody uses it and all its lists are known.
    pub async fn rest(&self, server: &str) {
        let is_listed = |handle: &Handle| {
            let offer = handle.view().offer;
            offer.is_some_and(|offer| offer.is_complete && offer.freshness == Freshness::Live)
        };
        if let Some(handle) = self.own(server).filter(is_listed) {
            handle.rest_if_unused().await;
        }
    }

    /// Starts a server that rests, such as to see what it offers now.
    pub async fn wake(&self, server: &str) {
        if let Some(handle) = self.own(server) {
            handle.wake().await;
        }
    }

    /// Stops all servers in order, for good. Calls under way fail. A part of a session cannot end what it shares.
    pub async fn shutdown(&self) {
        if !self.scope.is_whole() {
            return;
        }
        // Taken first: a reload that comes now starts nothing.
        let fleet = self.inner.fleet.lock().await.take();
        let stop = async {
            if let Some(mut fleet) = fleet {
                fleet.stop().await;
            }
        };
        tokio::join!(self.inner.write_down(keeper::Moment::End), stop);
        // What a login server just gave must be written.
        self.inner.shared.keys.settle().await;
        self.inner.keeper.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// A server that this part of the session has as a whole.
    fn own(&self, server: &str) -> Option<Handle> {
        self.handle(server).filter(|_| self.scope.sees_rest(server))
    }

    fn handle(&self, server: &str) -> Option<Handle> {
        let handles = self.inner.handles.read().unwrap_or_else(PoisonError::into_inner);
        handles.get(server).filter(|_| self.scope.sees_server(server)).cloned()
    }

    fn handles(&self) -> Vec<(String, Handle)> {
        let handles = self.inner.handles.read().unwrap_or_else(PoisonError::into_inner);
        let seen = handles.iter().filter(|(name, _)| self.scope.sees_server(name));
        seen.map(|(name, handle)| (name.clone(), handle.clone())).collect()
    }
}
