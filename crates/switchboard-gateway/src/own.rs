//! Connections of clients' own to servers that ask them something: opened at their first use, told what the client can be
//! asked, ended when the client leaves or nobody used them for long. Which one a request gets is decided in `seats`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde_json::json;
use switchboard::connect::Event;
use switchboard::host::{Abilities, Host, Passed, Refusal, Reply};
use switchboard::json::Json;
use switchboard::notice::Notice;
use switchboard::session::{Apart, Events, Session};
use switchboard::wire::Era;
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::call::failed;
use crate::client::{Caller, Client, can_answer};
use crate::park::Line;
use crate::rpc::{self, INTERNAL, RpcError};
use crate::seats::{Choice, Holder, MOST, Need, Seat, Telling, Use, choose, need};

/// What a client said it can be asked, as far as a server with a handshake understands it.
const ASKED: [&str; 4] = ["roots", "sampling", "elicitation", "experimental"];

/// So long a call waits for what its client was asked when the connection was opened.
const SETTLING: Duration = Duration::from_secs(30);

/// A server whose lists changed is listened to for so long.
const RESTLESS: Duration = Duration::from_mins(1);

/// The capabilities of a client that a server with a handshake knows.
pub(crate) fn asked(capabilities: &Json) -> Json {
    Json::object(ASKED.iter().filter_map(|name| Some((*name, capabilities.get(name)?))))
}

/// Every connection that is a client's own.
#[derive(Debug, Default)]
pub(crate) struct Own {
    // Held to choose, never across a wait.
    seats: Mutex<BTreeMap<String, Vec<Held>>>,
    next: AtomicU64,
    /// What follows the connections; ends with them.
    tasks: Mutex<JoinSet<()>>,
    /// When the lists of a server were last said to have changed.
    changed: Arc<Mutex<BTreeMap<String, Instant>>>,
}

#[derive(Debug)]
struct Held {
    seat: Seat,
    connection: Arc<Connection>,
}

/// A connection, once it is opened.
#[derive(Debug)]
struct Connection {
    desk: Arc<Desk>,
    apart: OnceCell<Apart>,
}

impl Connection {
    fn is_over(&self) -> bool {
        self.apart.get().is_some_and(Apart::is_over)
    }
}

/// The right to use a connection, and to be asked on it. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Lease {
    own: Arc<Own>,
    server: String,
    seat: u64,
    line: u64,
    connection: Arc<Connection>,
}

impl Lease {
    /// The connection.
    pub(crate) fn apart(&self) -> Option<&Apart> {
        self.connection.apart.get()
    }

    /// Comes back when the server has what it asked for at its start, such as the folders: a call before that would be made
    /// without them. One that does not come up is told of by the call itself.
    pub(crate) async fn settled(&self, era: Era) {
        let Some(apart) = self.apart() else { return };
        if apart.connected().await.is_err() {
            return;
        }
        let mut open = self.connection.desk.open.subscribe();
        let answered = open.wait_for(|open| *open == 0);
        match era {
            // It is parked meanwhile, and not for ever.
            Era::Modern => drop(answered.await),
            Era::Handshake => drop(tokio::time::timeout(SETTLING, answered).await),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.connection.desk.lines().retain(|(id, _)| *id != self.line);
        self.own.give_back(&self.server, self.seat);
    }
}

impl Own {
    fn seats(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Held>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection for a request, if its server must not be shared. What the server asks without a word about what goes
    /// to the last request that has a lease.
    pub(crate) async fn lease(
        self: &Arc<Self>,
        session: &Session,
        caller: &Caller,
        server: &str,
        line: &Arc<Line>,
    ) -> Result<Option<Lease>, RpcError> {
        let era = session.facts(server).map(|facts| facts.era);
        let telling = if session.asks_on_streams(server) { Telling::ByStream } else { Telling::Not };
        let Need::Own(telling) = need(era, session.is_asking(server), telling) else { return Ok(None) };
        let (seat, connection) = self.sit(caller, server, telling)?;
        let line_id = self.next.fetch_add(1, Ordering::Relaxed);
        connection.desk.lines().push((line_id, Arc::clone(line)));
        // From here on it is given back whatever happens.
        let lease =
            Lease { own: Arc::clone(self), server: server.to_owned(), seat, line: line_id, connection };
        let host: Arc<dyn Host> = Arc::clone(&lease.connection.desk) as Arc<dyn Host>;
        let open = || async {
            let apart = session.apart(server, host).await?;
            self.follow(session, apart.events(), (&caller.client, server));
            Ok(apart)
        };
        lease.connection.apart.get_or_try_init(open).await.map_err(|error| failed(&error, caller.era))?;
        Ok(Some(lease))
    }

    /// Takes a seat, or makes one.
    fn sit(
        &self,
        caller: &Caller,
        server: &str,
        telling: Telling,
    ) -> Result<(u64, Arc<Connection>), RpcError> {
        let holder = caller.holder();
        let mut all = self.seats();
        let seats = all.entry(server.to_owned()).or_default();
        seats.retain(|held| !held.connection.is_over());
        let shown: Vec<Seat> = seats.iter().map(|held| held.seat.clone()).collect();
        match choose(&shown, &holder, telling) {
            Choice::Full => {
                let message = format!(
                    "`{server}` asks its clients, so each has a connection of its own, and there are {MOST} already"
                );
                let data = json!({"code": "too-many-clients", "server": server, "limit": MOST, "hint": "close a client, or try again later"});
                return Err(RpcError::new(INTERNAL, message).with(data));
            }
            Choice::Take(id) => {
                if let Some(held) = seats.iter_mut().find(|held| held.seat.id == id) {
                    held.seat.used = match held.seat.used {
                        Use::Taken(n) => Use::Taken(n + 1),
                        Use::Free(_) => Use::Taken(1),
                    };
                    return Ok((id, Arc::clone(&held.connection)));
                }
            }
            Choice::Replace(id) => seats.retain(|held| held.seat.id != id),
            Choice::Open => {}
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection { desk: Arc::new(Desk::new(caller)), apart: OnceCell::new() });
        let seat = Seat { id, holder, used: Use::Taken(1) };
        seats.push(Held { seat, connection: Arc::clone(&connection) });
        Ok((id, connection))
    }

    fn give_back(&self, server: &str, seat: u64) {
        let mut all = self.seats();
        let Some(held) =
            all.get_mut(server).and_then(|seats| seats.iter_mut().find(|held| held.seat.id == seat))
        else {
            return;
        };
        held.seat.used = match held.seat.used {
            Use::Taken(n) if n > 1 => Use::Taken(n - 1),
            Use::Taken(_) | Use::Free(_) => Use::Free(Instant::now()),
        };
    }

    /// A client is gone, and so are its connections.
    pub(crate) fn leave(&self, client: u64) {
        self.remove(|held| held.seat.holder.client() == Some(client));
    }

    /// Ends what nobody used for so long.
    pub(crate) fn tidy(&self, idle: Duration) {
        let now = Instant::now();
        self.remove(|held| held.seat.is_tired(now, idle) || held.connection.is_over());
    }

    /// The servers whose clients all have connections of their own by now: nobody needs the shared one, until lists change.
    pub(crate) fn unshared(&self) -> Vec<String> {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_calm = |server: &&String| changed.get(*server).is_none_or(|at| at.elapsed() > RESTLESS);
        self.seats().keys().filter(is_calm).cloned().collect()
    }

    fn remove(&self, is_meant: impl Fn(&Held) -> bool) {
        let mut gone = Vec::new();
        self.seats().retain(|_, seats| {
            gone.extend(seats.extract_if(.., |held| is_meant(held)));
            !seats.is_empty()
        });
        for held in gone {
            if let Some(apart) = held.connection.apart.get() {
                apart.end();
            }
        }
    }

    fn of(&self, client: u64) -> Vec<Arc<Connection>> {
        let all = self.seats();
        let theirs = all.values().flatten().filter(|held| held.seat.holder == Holder::Client(client));
        theirs.map(|held| Arc::clone(&held.connection)).collect()
    }

    /// A client says that its folders changed.
    pub(crate) async fn roots_changed(&self, client: u64) {
        for connection in self.of(client) {
            if let Some(apart) = connection.apart.get() {
                // Who does not hear it is told when it comes back.
                let _lost = apart.roots_changed().await;
            }
        }
    }

    /// A client wants log lines from this level on.
    pub(crate) async fn level_changed(&self, client: u64, level: &str) {
        for connection in self.of(client) {
            if let Some(apart) = connection.apart.get() {
                // One that cannot be told keeps only its own lines back.
                let _lost = apart.log_from(level).await;
            }
        }
    }

    /// Passes on what a server says on a connection of one's own.
    fn follow(&self, session: &Session, events: Events, (client, server): (&Arc<Client>, &str)) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        let ears = Ears {
            session: session.clone(),
            client: Arc::downgrade(client),
            server: server.to_owned(),
            changed: Arc::clone(&self.changed),
        };
        tasks.spawn(ears.listen(events));
    }
}

/// Hears what is said on one connection.
struct Ears {
    session: Session,
    client: Weak<Client>,
    server: String,
    changed: Arc<Mutex<BTreeMap<String, Instant>>>,
}

impl Ears {
    async fn listen(self, mut events: Events) {
        while let Some(event) = events.next().await {
            if let Event::Said { notice, .. } = event {
                self.heard(notice).await;
            }
        }
    }

    fn note_change(&self) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.insert(self.server.clone(), Instant::now());
    }

    async fn heard(&self, notice: Notice) {
        match notice {
            // The client hears it, if it wants to.
            Notice::Log { level, logger, data } => {
                if let Some(client) = self.client.upgrade().filter(|client| client.wants(&level)) {
                    let params = crate::tell::log_params(&self.server, (&level, logger.as_deref(), &data));
                    let _full = client.post.try_send(rpc::notification("notifications/message", params));
                }
            }
            // Lists are those of the shared connection, which may rest.
            Notice::ToolsChanged | Notice::PromptsChanged | Notice::ResourcesChanged => {
                self.note_change();
                self.session.wake(&self.server).await;
            }
            Notice::ResourceUpdated { .. }
            | Notice::Task { .. }
            | Notice::SessionRenewed
            | Notice::Asked
            | Notice::Other { .. } => {}
        }
    }
}

/// Answers on a connection that is one client's own: by the request that is under way there, or by asking the client.
struct Desk {
    declared: Json,
    /// A client that can be asked at any time.
    client: Option<Weak<Client>>,
    lines: Mutex<Vec<(u64, Arc<Line>)>>,
    /// How many questions wait for an answer.
    open: watch::Sender<usize>,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("declared", &self.declared).finish_non_exhaustive()
    }
}

impl Desk {
    fn new(caller: &Caller) -> Self {
        let is_reachable = matches!(caller.holder(), Holder::Client(_));
        Self {
            declared: asked(&caller.capabilities),
            client: is_reachable.then(|| Arc::downgrade(&caller.client)),
            lines: Mutex::default(),
            open: watch::Sender::new(0),
        }
    }

    fn lines(&self) -> MutexGuard<'_, Vec<(u64, Arc<Line>)>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, method: String, params: Option<Json>) -> Result<Json, Refusal> {
        let _open = Open::new(&self.open);
        let line = self.lines().last().map(|(_, line)| Arc::clone(line));
        if let Some(line) = line {
            return line.put(method, params).await;
        }
        let gone = || Refusal { code: INTERNAL, message: "nobody is there to answer".to_owned() };
        let client = self.client.as_ref().and_then(Weak::upgrade).ok_or_else(gone)?;
        can_answer(&self.declared, &method, params.as_ref())?;
        client.ask(&client.post, &method, params).await
    }
}

/// A question that waits for an answer, while it lives.
struct Open<'a>(&'a watch::Sender<usize>);

impl<'a> Open<'a> {
    fn new(open: &'a watch::Sender<usize>) -> Self {
        open.send_modify(|open| *open += 1);
        Self(open)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open = open.saturating_sub(1));
    }
}

impl Host for Desk {
    fn abilities(&self) -> Abilities {
        let has = |name: &str| self.declared.get(name).is_some();
        Abilities {
            roots: has("roots"),
            forms: has("elicitation"),
            urls: has("elicitation"),
            sampling: has("sampling"),
        }
    }

    fn declared(&self) -> Option<Json> {
        Some(self.declared.clone())
    }

    fn pass(&self, question: Passed) -> Option<Reply<'_, Result<Json, Refusal>>> {
        Some(Box::pin(self.answer(question.method, question.params)))
    }
}
