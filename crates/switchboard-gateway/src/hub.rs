//! What all clients share: the session behind, what is seen of it, and who is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use switchboard::connect::{Event, Status};
use switchboard::json::Json;
use switchboard::notice::Notice;
use switchboard::session::{Gate, Session};
use switchboard::wire::{Era, Subscription};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::client::{Client, Stay, rank};
use crate::park::Park;
use crate::rpc;
use crate::view::{List, Names, View};

/// Messages that wait for a slow client, beside those about its own requests.
const POST: usize = 256;

/// So long the first list waits for servers of which nothing is known.
const PATIENCE: Duration = Duration::from_secs(10);

/// So long servers have to hear which lines of theirs are wanted.
const TELLING: Duration = Duration::from_secs(2);

/// What a gateway is made with.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How things are called.
    pub names: Names,
}

#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) session: Session,
    pub(crate) options: Options,
    pub(crate) park: Park,
    // Written when the catalog changes, read by every request, never held across a wait.
    view: RwLock<Arc<View>>,
    clients: Mutex<BTreeMap<u64, Weak<Client>>>,
    next_client: AtomicU64,
    /// Resources that are listened to for somebody.
    subscriptions: tokio::sync::Mutex<BTreeMap<(String, String), Subscription>>,
    tasks: Mutex<JoinSet<()>>,
    end: CancellationToken,
    /// Set when the servers were waited for once.
    ready: tokio::sync::OnceCell<()>,
    /// Set when their lists besides the tools were waited for once.
    listed: tokio::sync::OnceCell<()>,
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
        once.get_or_init(|| in_time).await;
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
            view: RwLock::default(),
            park: Park::default(),
            clients: Mutex::default(),
            next_client: AtomicU64::new(1),
            subscriptions: tokio::sync::Mutex::default(),
            tasks: Mutex::default(),
            end: CancellationToken::new(),
            ready: tokio::sync::OnceCell::new(),
            listed: tokio::sync::OnceCell::new(),
            looked: Notify::new(),
            session,
            options,
        });
        hub.look();
        let mut tasks = hub.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn(follow_catalog(Arc::downgrade(&hub), hub.session.clone()));
        tasks.spawn(follow_events(Arc::downgrade(&hub), hub.session.clone()));
        drop(tasks);
        hub
    }

    pub(crate) fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is seen, once something is in it or the servers were waited for.
    pub(crate) async fn view_with(&self, list: List, is_there: impl Fn(&View) -> bool) -> Arc<View> {
        loop {
            let looked = self.looked.notified();
            tokio::pin!(looked);
            looked.as_mut().enable();
            let view = self.view();
            if is_there(&view) {
                return view;
            }
            // A server that hangs holds up nobody who wants something of another.
            tokio::select! {
                () = self.ready(list) => return self.view(),
                () = looked => {}
            }
        }
    }

    /// Takes what there is now; gives the lists that changed.
    fn look(&self) -> BTreeSet<List> {
        let servers: BTreeSet<String> =
            self.session.servers().into_iter().map(|server| server.name).collect();
        let style = self.session.discovery().settings.tool_names;
        let new = Arc::new(View::new(self.session.catalog(), &servers, self.options.names, style));
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        let changes = new.changes(&view);
        *view = new;
        drop(view);
        self.looked.notify_waiters();
        changes
    }

    /// A new client, and what it is to be told.
    pub(crate) fn welcome(&self, stay: Stay) -> (Arc<Client>, mpsc::Receiver<Bytes>) {
        let id = self.next_client.fetch_add(1, Ordering::Relaxed);
        let (post, mail) = mpsc::channel(POST);
        let client = Arc::new(Client::new(id, stay, post));
        self.clients().insert(id, Arc::downgrade(&client));
        (client, mail)
    }

    /// A client is gone; what only it wanted ends.
    pub(crate) async fn farewell(&self, client: &Client) {
        self.clients().remove(&client.id);
        client.leave();
        self.park.leave(client.owner);
        self.match_subscriptions().await;
    }

    /// A client that was here for one request only is gone. Nothing of it can be waited for here.
    pub(crate) fn forget(self: &Arc<Self>, client: &Client) {
        self.clients().remove(&client.id);
        let had_ears = !client.uris().is_empty();
        client.leave();
        if had_ears {
            let hub = Arc::clone(self);
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(async move { hub.match_subscriptions().await });
        }
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<u64, Weak<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn present(&self) -> Vec<Arc<Client>> {
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
        let clients = self.present();
        let least = clients.iter().filter_map(|client| client.level()).min_by_key(|level| rank(level));
        let Some(level) = least else { return };
        let servers = self.session.servers();
        let is_told =
            |server: &str| self.session.facts(server).is_some_and(|facts| facts.era == Era::Handshake);
        let told = servers
            .iter()
            .filter(|server| server.status == Status::Connected && is_told(&server.name))
            .map(|server| self.session.log_from(&server.name, level));
        // One that cannot be told keeps only its own lines back.
        let _deaf = tokio::time::timeout(TELLING, futures_util::future::join_all(told)).await;
    }

    fn tell_changes(&self, lists: &BTreeSet<List>) {
        for client in self.present() {
            for list in
                lists.iter().filter(|list| **list != List::Templates || !lists.contains(&List::Resources))
            {
                let method = match list {
                    List::Tools => "notifications/tools/list_changed",
                    List::Resources | List::Templates => "notifications/resources/list_changed",
                    List::Prompts => "notifications/prompts/list_changed",
                };
                if client.greeting.get().is_some() {
                    let _full = client.post.try_send(rpc::notification(method, Json::object([])));
                }
                let kind = if *list == List::Templates { List::Resources } else { *list };
                for listening in client.listening().iter().filter(|listening| listening.lists.contains(&kind))
                {
                    let _full = listening.lane.try_send(rpc::notification(method, tagged(&listening.id, [])));
                }
            }
        }
    }

    fn tell_updated(&self, server: &str, uri: &str) {
        let key = (server.to_owned(), uri.to_owned());
        let shown: Json = serde_json::json!(self.view().outward(server, uri)).into();
        let method = "notifications/resources/updated";
        for client in self.present() {
            if client.is_subscribed(&key) {
                let params = Json::object([("uri", shown.clone())]);
                let _full = client.post.try_send(rpc::notification(method, params));
            }
            for listening in client.listening().iter().filter(|listening| listening.uris.contains(&key)) {
                let params = tagged(&listening.id, [("uri", shown.clone())]);
                let _full = listening.lane.try_send(rpc::notification(method, params));
            }
        }
    }

    /// What a server logs for nobody in particular goes to whoever wants such lines.
    fn tell_log(&self, server: &str, (level, logger, data): (&str, Option<&str>, &Json)) {
        let logger = logger.map_or_else(|| server.to_owned(), |logger| format!("{server}/{logger}"));
        let params = Json::object([
            ("level", serde_json::json!(level).into()),
            ("logger", serde_json::json!(logger).into()),
            ("data", data.clone()),
        ]);
        for client in self.present().iter().filter(|client| client.wants(level)) {
            let _full = client.post.try_send(rpc::notification("notifications/message", params.clone()));
        }
    }

    async fn heard(&self, event: Event) {
        match event {
            Event::Said { server, notice: Notice::ResourceUpdated { uri } } => {
                self.tell_updated(&server, &uri);
            }
            Event::Said { server, notice: Notice::Log { level, logger, data } } => {
                self.tell_log(&server, (&level, logger.as_deref(), &data));
            }
            // A connection that is new knows nothing of what was subscribed to.
            Event::Status { server, status: Status::Connected } => {
                self.subscriptions.lock().await.retain(|(of, _), _| *of != server);
                self.match_subscriptions().await;
                self.match_levels().await;
            }
            Event::Said { .. }
            | Event::Status { .. }
            | Event::TooLarge { .. }
            | Event::Problem { .. }
            | Event::Missed { .. } => {}
        }
    }
}

/// Parameters that say which request to listen they belong to.
pub(crate) fn tagged<'a>(id: &Json, fields: impl IntoIterator<Item = (&'a str, Json)>) -> Json {
    let meta = Json::object([("io.modelcontextprotocol/subscriptionId", id.clone())]);
    Json::object(fields.into_iter().chain([("_meta", meta)]))
}

async fn follow_catalog(hub: Weak<Hub>, session: Session) {
    let mut changes = session.watch_catalog();
    while changes.changed().await.is_ok() {
        let Some(hub) = hub.upgrade() else { return };
        let lists = hub.look();
        hub.tell_changes(&lists);
    }
}

async fn follow_events(hub: Weak<Hub>, session: Session) {
    let mut events = session.events();
    while let Some(event) = events.next().await {
        let Some(hub) = hub.upgrade() else { return };
        hub.heard(event).await;
    }
}
