//! What all clients share: the session behind, what is seen of it, and who is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use switchboard::connect::{Changes, Event, Status};
use switchboard::notice::{Notice, rank};
use switchboard::session::{Gate, Session};
use switchboard::wire::{Era, Subscription};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::approval::Approved;
use crate::client::{Client, Stay};
use crate::facet::Facet;
use crate::levels::{LINGER, Levels};
use crate::metrics::Metrics;
use crate::own::Own;
use crate::park::Park;
use crate::reads::Reads;
use crate::seats::IDLE;
use crate::view::{List, Names, View};
use crate::views::{Differences, Views};
use crate::waited::Waited;

/// Messages that wait for a slow client, beside those about its own requests.
const POST: usize = 256;

/// So long the first list waits for servers of which nothing is known.
const PATIENCE: Duration = Duration::from_secs(10);

/// So long who asks what we are waits for servers of which nothing is known. Clients take silence for an answer soon.
const ACQUAINTANCE: Duration = Duration::from_secs(1);

/// How often it is looked which connections nobody uses.
const TIDY: Duration = Duration::from_secs(5);

/// So long servers have to hear which lines of theirs are wanted.
const TELLING: Duration = Duration::from_secs(2);

/// What a gateway is made with.
#[derive(Debug, Clone)]
pub struct Options {
    /// How things are called.
    pub names: Names,
    /// Whether clients get a search instead of all tools, where their profile says nothing else.
    pub search: bool,
    /// The one profile all clients get; none of the others can be had then.
    pub profile: Option<String>,
    /// So long a connection that is not shared is kept for requests that stand for themselves, without one.
    pub idle: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { names: Names::default(), search: false, profile: None, idle: IDLE }
    }
}

#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) session: Session,
    pub(crate) options: Options,
    pub(crate) park: Park,
    pub(crate) own: Arc<Own>,
    pub(crate) approved: Approved,
    levels: Levels,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) reads: Reads,
    views: Views,
    clients: Mutex<BTreeMap<u64, Weak<Client>>>,
    next_client: AtomicU64,
    /// Resources that are listened to for somebody. Held while servers are told, so that they are told in order.
    subscriptions: tokio::sync::Mutex<BTreeMap<(String, String), Subscription>>,
    tasks: Mutex<JoinSet<()>>,
    end: CancellationToken,
    /// Set when the servers were given a moment, once.
    acquainted: tokio::sync::OnceCell<()>,
    /// Set when the servers were waited for once.
    ready: Waited,
    /// Set when their lists besides the tools were waited for once.
    listed: Waited,
    /// Held while the configuration is read again: until then nobody knows what there is.
    reloading: tokio::sync::Mutex<()>,
    /// Rings when what is seen has changed.
    looked: Notify,
}

impl Hub {
    /// Comes back when there is something to show of every server, or after a while: who lists first gets the whole list
    /// if that can be had, and is told of what comes later.
    pub(crate) async fn ready(&self, list: List) {
        // Servers are asked for their tools first, and for the rest when those are known.
        let once = if list == List::Tools { &self.ready } else { &self.listed };
        let waiting = async {
            self.session.ready(Gate::Correct).await;
            if list != List::Tools {
                self.session.listed().await;
            }
        };
        let in_time = async {
            if tokio::time::timeout(PATIENCE, waiting).await.is_ok() {
                self.look();
            }
        };
        drop(self.reloading.lock().await);
        once.wait(in_time).await;
    }

    /// Reads the configuration again. Servers that are new by it are waited for once, like all of them at the start: whoever
    /// uses a tool of one that was changed is not told that it is gone.
    pub(crate) async fn reload(&self) -> Changes {
        let reloading = self.reloading.lock().await;
        let changes = self.session.reload().await;
        if !changes.added.is_empty() || !changes.changed.is_empty() {
            self.ready.again();
            self.listed.again();
        }
        drop(reloading);
        self.look_again();
        changes
    }

    /// Comes back when it is known what servers say of themselves, or soon: whoever comes first is told of it, and nobody
    /// else waits.
    pub(crate) async fn acquainted(&self) {
        let meeting = async {
            let known = tokio::time::timeout(ACQUAINTANCE, self.session.ready(Gate::Correct));
            // A longer start-up window is a wish to wait for them.
            let (_late, ()) = tokio::join!(known, self.session.ready(Gate::Quick));
            self.look();
        };
        self.acquainted.get_or_init(|| meeting).await;
    }

    /// Comes back when the gateway is about to close.
    pub(crate) async fn closing(&self) {
        self.end.cancelled().await;
    }

    pub(crate) fn close(&self) {
        self.end.cancel();
    }

    pub(crate) fn start(session: Session, options: Options) -> Arc<Self> {
        let hub = Arc::new(Self {
            views: Views::default(),
            park: Park::default(),
            own: Arc::default(),
            approved: Approved::default(),
            levels: Levels::default(),
            metrics: Arc::default(),
            reads: Reads::default(),
            clients: Mutex::default(),
            next_client: AtomicU64::new(1),
            subscriptions: tokio::sync::Mutex::default(),
            tasks: Mutex::default(),
            end: CancellationToken::new(),
            acquainted: tokio::sync::OnceCell::new(),
            ready: Waited::default(),
            listed: Waited::default(),
            reloading: tokio::sync::Mutex::default(),
            looked: Notify::new(),
            session,
            options,
        });
        hub.look();
        let mut tasks = hub.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn(follow_catalog(Arc::downgrade(&hub), hub.session.clone()));
        tasks.spawn(follow_events(Arc::downgrade(&hub), hub.session.clone()));
        tasks.spawn(tidy(Arc::downgrade(&hub)));
        drop(tasks);
        hub
    }

    /// Everything, whoever sees it. For the way out: names and addresses are the same for all.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view_of(&Facet::Whole)
    }

    /// What is seen with these eyes.
    pub(crate) fn view_of(&self, facet: &Facet) -> Arc<View> {
        self.views.of(facet)
    }

    /// What is seen, once something is in it or the servers were waited for.
    pub(crate) async fn view_with(
        &self,
        facet: &Facet,
        list: List,
        is_there: impl Fn(&View) -> bool,
    ) -> Arc<View> {
        loop {
            let looked = self.looked.notified();
            tokio::pin!(looked);
            looked.as_mut().enable();
            let view = self.view_of(facet);
            if is_there(&view) {
                return view;
            }
            // A server that hangs holds up nobody who wants something of another.
            tokio::select! {
                () = self.ready(list) => return self.view_of(facet),
                () = looked => {}
            }
        }
    }

    /// Takes what there is now; gives the lists that changed.
    fn look(&self) -> Differences {
        let changes = self.views.look(&self.session, &self.options);
        if changes.has_new_words {
            self.reads.forget_all();
        }
        self.looked.notify_waiters();
        changes.lists
    }

    /// Takes what there is now, and tells those to whom it looks different.
    pub(crate) fn look_again(&self) {
        let changes = self.look();
        self.tell_changes(&changes);
    }

    /// A new client, and what it is to be told.
    pub(crate) fn welcome(&self, stay: Stay) -> (Arc<Client>, mpsc::Receiver<Bytes>) {
        let id = self.next_client.fetch_add(1, Ordering::Relaxed);
        let (post, mail) = mpsc::channel(POST);
        let client = Arc::new(Client::new(id, stay, post));
        if let Some(only) = &self.options.profile {
            client.enter(Facet::of(only));
        }
        self.clients().insert(id, Arc::downgrade(&client));
        (client, mail)
    }

    /// A client is gone; what only it wanted ends.
    pub(crate) async fn farewell(&self, client: &Client) {
        self.clients().remove(&client.id);
        client.leave();
        self.park.leave(client.owner);
        self.reads.leave(client.id);
        self.own.leave(client.id);
        self.match_subscriptions().await;
    }

    /// A client that was here for one request only is gone. Nothing of it can be waited for here.
    pub(crate) fn forget(self: &Arc<Self>, client: &Client) {
        self.clients().remove(&client.id);
        let had_ears = !client.uris().is_empty();
        client.leave();
        if had_ears {
            let hub = Arc::clone(self);
            self.later(async move { hub.match_subscriptions().await });
        }
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<u64, Weak<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn present(&self) -> Vec<Arc<Client>> {
        self.clients().values().filter_map(Weak::upgrade).collect()
    }

    /// Listens to just the resources somebody wants to hear of.
    pub(crate) async fn match_subscriptions(&self) {
        let wanted: BTreeSet<_> = self.present().iter().flat_map(|client| client.uris()).collect();
        let mut held = self.subscriptions.lock().await;
        held.retain(|uri, _| wanted.contains(uri));
        for (server, uri) in wanted {
            if held.contains_key(&(server.clone(), uri.clone())) {
                continue;
            }
            // A server that cannot tell is not an error of whoever wants to hear.
            if let Ok(subscription) = self.session.subscribe(&server, std::slice::from_ref(&uri)).await {
                held.insert((server, uri), subscription);
            }
        }
    }

    /// Has servers of the older protocol log what somebody wants to see. They are told once, for all clients.
    pub(crate) async fn match_levels(&self) {
        let servers = self.session.servers();
        let up = servers.iter().filter(|server| server.status == Status::Connected);
        futures_util::future::join_all(up.map(|server| self.match_level(&server.name))).await;
    }

    /// The same for one server.
    async fn match_level(&self, server: &str) {
        let facts = self.session.facts(server);
        if !facts.is_some_and(|facts| facts.era == Era::Handshake && facts.can("logging")) {
            return;
        }
        let held = self.levels.told(server);
        let mut told = held.lock().await;
        let clients = self.present();
        let least = clients.iter().filter_map(|client| client.level()).min_by_key(|level| rank(level));
        let Some(level) = self.levels.due(server, least, *told) else { return };
        // One that cannot be told keeps only its own lines back. It is not asked again: every request would wait for that.
        drop(tokio::time::timeout(TELLING, self.session.log_from(server, level)).await);
        *told = Some(level);
    }

    /// Has a shared server log for one request what that wants to see, for as long as it is held.
    pub(crate) async fn hear_from(self: &Arc<Self>, server: &str, level: &str) -> Hearing {
        self.levels.begin(server, level);
        let hearing = Hearing { hub: Arc::clone(self), server: server.to_owned(), level: level.to_owned() };
        self.match_level(server).await;
        hearing
    }

    /// Does something in the background, until the end.
    fn later(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    async fn heard(&self, event: Event) {
        match event {
            Event::Said { server, notice: Notice::ResourceUpdated { uri } } => {
                self.reads.forget(&server, &uri);
                self.tell_updated(&server, &uri);
            }
            Event::Said { server, notice: Notice::Log { level, logger, data } } => {
                self.tell_log(&server, (&level, logger.as_deref(), &data));
            }
            Event::Said { server, notice: Notice::Task { params } } => self.tell_task(&server, &params),
            // A connection that is new knows nothing of what was subscribed to.
            Event::Status { server, status: Status::Connected } => {
                self.metrics.started(&server);
                self.reads.forget_server(&server);
                self.subscriptions.lock().await.retain(|(of, _), _| *of != server);
                self.levels.forget(&server);
                self.match_subscriptions().await;
                self.match_levels().await;
            }
            Event::Said { server, notice: Notice::ResourcesChanged | Notice::SessionRenewed }
            | Event::Status { server, .. } => self.reads.forget_server(&server),
            Event::Missed { .. } => self.reads.forget_all(),
            Event::Said { .. } | Event::TooLarge { .. } | Event::Problem { .. } => {}
        }
    }
}

/// A level that a request wants, until it is dropped.
#[derive(Debug)]
pub(crate) struct Hearing {
    hub: Arc<Hub>,
    server: String,
    level: String,
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.hub.levels.end(&self.server, &self.level);
        let (hub, server) = (Arc::downgrade(&self.hub), self.server.clone());
        self.hub.later(async move {
            tokio::time::sleep(LINGER).await;
            if let Some(hub) = hub.upgrade() {
                hub.match_level(&server).await;
            }
        });
    }
}

async fn follow_catalog(hub: Weak<Hub>, session: Session) {
    let mut changes = session.watch_catalog();
    while changes.changed().await.is_ok() {
        let Some(hub) = hub.upgrade() else { return };
        hub.look_again();
    }
}

async fn tidy(hub: Weak<Hub>) {
    loop {
        tokio::time::sleep(TIDY).await;
        let Some(hub) = hub.upgrade() else { return };
        hub.own.tidy(hub.options.idle);
        let listened: BTreeSet<String> =
            hub.subscriptions.lock().await.keys().map(|(server, _)| server.clone()).collect();
        for server in hub.own.unshared().iter().filter(|server| !listened.contains(*server)) {
            hub.session.rest(server).await;
        }
    }
}

async fn follow_events(hub: Weak<Hub>, session: Session) {
    let mut events = session.events();
    while let Some(event) = events.next().await {
        let Some(hub) = hub.upgrade() else { return };
        hub.heard(event).await;
    }
}
