//! The one task that owns a server: waits for what happens, asks the machine, performs what it says, publishes.

mod lists;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::Instrument;

use super::event;
use super::fault::Fault;
use super::handle::{Command, Handle, Parts, Refused, Slot, Status, View};
use super::machine::{Effect, Event, Machine, Nature, State};
use super::offer::Offer;
use super::recipe::{Persistence, Recipe};
use super::refresh::{Fetched, List, Refreshes};
use super::usage::Usage;
use crate::config::Transport;
use crate::notice::Notice;
use crate::spans;
use crate::wire::{Cause, Error, Link, Log};

/// Commands that wait for the owner.
const COMMANDS: usize = 64;
/// A server that does not answer within this time after the machine slept is connected to anew.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// A guard kills what does not go when it is asked well before this.
const LAST_WAIT: Duration = Duration::from_secs(5);

type Fleeting = Arc<Fault>;

/// What a job brought.
enum Done {
    Opened {
        attempt: u64,
        link: Link,
        offer: Box<Offer>,
    },
    NotOpened {
        attempt: u64,
        fault: Fault,
    },
    PauseOver {
        attempt: u64,
    },
    Fetched {
        attempt: u64,
        fetched: Fetched,
    },
    /// Nothing more is to be heard of changes.
    Listened,
    /// Whether the link still works after the machine slept.
    LookedAt {
        link: Link,
        answer: Result<(), Error>,
    },
}

/// What woke the owner.
enum Woken {
    Command(Option<Command>),
    Adopted,
    Done(Result<Done, JoinError>),
    Lost(Error),
    Notice(Notice),
    Refresh(List),
    Idle,
}

pub(super) struct Owner {
    recipe: watch::Receiver<Arc<Recipe>>,
    machine: Machine<Link, Slot, Fleeting>,
    commands: mpsc::Receiver<Command>,
    view: watch::Sender<View>,
    outlets: Outlets,
    usage: Arc<Usage>,
    jobs: JoinSet<Done>,
    /// Links on their way out; never given up.
    closing: JoinSet<()>,
    started: Instant,
    refreshes: Refreshes,
    /// Lists that were not asked for yet since the link stands.
    unasked: Vec<List>,
    /// The job that opens the link, with its attempt.
    opening: Option<(u64, AbortHandle)>,
    /// The job that hears of changes on the link.
    ears: Option<AbortHandle>,
    /// The server whose place it takes; started only when that one is gone.
    predecessor: Option<Handle>,
    reach: Reach,
    log: Arc<Log>,
    leaving: Vec<oneshot::Sender<()>>,
}

/// What an owner begins with.
pub(super) struct Beginning {
    pub(super) recipe: Recipe,
    /// What it offered last time.
    pub(super) cached: Option<Offer>,
    /// The server whose place it takes.
    pub(super) predecessor: Option<Handle>,
    /// What it is asked for.
    pub(super) reach: Reach,
}

/// Which lists a server is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// All there are.
    Everything,
    /// The tools only: somebody else's connection has the rest.
    Tools,
}

/// Where an owner tells what happens.
#[derive(Debug, Clone)]
pub(super) struct Outlets {
    pub(super) events: broadcast::Sender<event::Event>,
    /// Told whenever a view changes.
    pub(super) changed: Arc<Notify>,
}

/// When a server is started first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    AtOnce,
    WhenNeeded,
}

impl Owner {
    /// Starts the task. It ends when it is stopped or the last handle is gone.
    pub(super) fn spawn(beginning: Beginning, outlets: &Outlets, tasks: &mut JoinSet<()>) -> Handle {
        let Beginning { recipe, cached, predecessor, reach } = beginning;
        // Whoever waits for the server must not mistake it for one that nobody wants.
        let (start, status) = if recipe.spec.conduct.lazy && cached.is_some() {
            (Start::WhenNeeded, Status::Dormant)
        } else {
            (Start::AtOnce, Status::Connecting)
        };
        let nature = Nature {
            is_remote: matches!(recipe.spec.transport, Transport::Remote(_)),
            keeps_trying: recipe.shared.persistence == Persistence::KeepTrying,
        };
        let (sender, commands) = mpsc::channel(COMMANDS);
        let has_asked = recipe.has_asked();
        let recipe = watch::Sender::new(Arc::new(recipe));
        let view = watch::Sender::new(View { status, offer: cached.map(Arc::new), has_asked, link: None });
        let usage = Arc::new(Usage::new());
        // What the one before it did may be why it was changed.
        let log = predecessor.as_ref().map(|handle| Arc::clone(&handle.0.log)).unwrap_or_default();
        let owner = Self {
            recipe: recipe.subscribe(),
            machine: Machine::new(nature),
            commands,
            outlets: outlets.clone(),
            usage: Arc::clone(&usage),
            jobs: JoinSet::new(),
            closing: JoinSet::new(),
            started: Instant::now(),
            refreshes: Refreshes::default(),
            unasked: Vec::new(),
            opening: None,
            ears: None,
            predecessor,
            reach,
            log: Arc::clone(&log),
            leaving: Vec::new(),
            view: view.clone(),
        };
        tasks.spawn(owner.run(start));
        Handle(Arc::new(Parts { recipe, commands: sender, view: view.subscribe(), usage, log }))
    }

    async fn run(mut self, start: Start) {
        if let Some(predecessor) = self.predecessor.take() {
            predecessor.stop().await;
        }
        if start == Start::AtOnce {
            self.step(Event::Wake);
        }
        let was_opening = loop {
            let woken = self.next().await;
            let is_opening = self.opening.is_some();
            if self.react(woken) {
                break is_opening;
            }
            self.publish();
        };
        self.publish();
        // What is still being opened or fetched is given up; links end in order before the task does.
        self.jobs.shutdown().await;
        while self.closing.join_next().await.is_some() {}
        // A process that was asked to go while it was being opened has no link that could wait for it.
        if was_opening {
            self.log.silence(LAST_WAIT).await;
        }
        for waiting in self.leaving.drain(..) {
            let _gone = waiting.send(());
        }
    }

    /// Waits, never decides.
    async fn next(&mut self) -> Woken {
        let link = match self.machine.state() {
            State::Ready { link } => Some(link.clone()),
            _ => None,
        };
        let idle = self.idle_at().filter(|_| link.is_some());
        let refresh = self.refreshes.due().filter(|_| link.is_some());
        tokio::select! {
            biased;
            // First: nobody may be given a link that is gone.
            error = lost(link.as_ref()) => Woken::Lost(error),
            command = self.commands.recv() => Woken::Command(command),
            Ok(()) = self.recipe.changed() => Woken::Adopted,
            Some(done) = self.jobs.join_next() => Woken::Done(done),
            notice = notice(link.as_ref()) => Woken::Notice(notice),
            list = lists::next_list(refresh) => Woken::Refresh(list),
            () = at(idle) => Woken::Idle,
        }
    }

    /// Decides, never waits. True when it is over.
    fn react(&mut self, woken: Woken) -> bool {
        match woken {
            Woken::Command(Some(Command::Stop(done))) => {
                self.leaving.push(done);
                self.step(Event::Stop);
                return true;
            }
            Woken::Command(None) => {
                self.step(Event::Stop);
                return true;
            }
            Woken::Command(Some(Command::Call(slot))) => self.step(Event::Call(slot)),
            Woken::Command(Some(Command::Wake)) => self.step(Event::Wake),
            Woken::Command(Some(Command::Reconnect)) => self.step(Event::Reconnect),
            Woken::Command(Some(Command::Rest)) => self.step(Event::Rest),
            Woken::Command(Some(Command::RestIfUnused)) => self.idle(|_| true),
            Woken::Command(Some(Command::Useless { link, error })) => self.useless(&link, &error),
            Woken::Command(Some(Command::Resumed)) => self.resumed(),
            // The next wait goes by it.
            Woken::Adopted => {}
            Woken::Done(done) => self.done(done),
            Woken::Lost(error) => {
                let attempt = self.machine.attempt();
                let mut fault = self.fault(&error);
                if let State::Ready { link } = self.machine.state() {
                    fault.stderr = link.stderr_tail();
                }
                spans::lost(&self.recipe.borrow().shared.span, &fault.server, fault.code);
                let gravity = fault.gravity();
                self.step(Event::Lost { attempt, error: Arc::new(fault), gravity });
            }
            Woken::Notice(notice) => self.notice(notice),
            Woken::Refresh(list) => self.fetch(list),
            Woken::Idle => self.idle(|owner| owner.idle_at().is_some_and(|at| at <= Instant::now())),
        }
        false
    }

    /// Somebody could not use the link. If it is still the one we have, it is made anew.
    fn useless(&mut self, link: &Link, error: &Error) {
        let is_current = matches!(self.machine.state(), State::Ready { link: current } if current.is(link));
        if is_current {
            let (attempt, fault) = (self.machine.attempt(), self.fault(error));
            let gravity = fault.gravity();
            self.step(Event::Useless { attempt, error: Arc::new(fault), gravity });
        }
    }

    /// A link over a network may be dead without a word; a process slept with us.
    fn resumed(&mut self) {
        self.step(Event::Resumed);
        let State::Ready { link } = self.machine.state() else { return };
        if link.transport() == "stdio" {
            return;
        }
        let link = link.clone();
        self.jobs.spawn(async move {
            let late = Error::never(Cause::Timeout { waiting_for: "ping".to_owned(), after: SIGN_OF_LIFE });
            let answer = timeout(SIGN_OF_LIFE, link.ping()).await.unwrap_or(Err(late));
            Done::LookedAt { link, answer }
        });
    }

    /// Nobody uses it. Hidden first: whoever comes now either is counted already, or waits for the next link.
    fn idle(&mut self, is_over: impl Fn(&Self) -> bool) {
        self.view.send_modify(|view| view.link = None);
        if is_over(self) && self.usage.unused_since().is_some() {
            self.step(Event::Idle);
        }
    }

    fn fault(&self, error: &Error) -> Fault {
        Fault::of(&self.recipe.borrow().name, error)
    }

    fn done(&mut self, done: Result<Done, JoinError>) {
        match done {
            Ok(Done::Opened { attempt, link, offer }) => {
                let is_current = attempt == self.machine.attempt();
                // The definition may have changed while it was opened.
                link.set_timeout(self.recipe.borrow().timeout());
                self.step(Event::Opened { attempt, link });
                if is_current {
                    self.usage.touch();
                    self.refreshes = Refreshes::default();
                    self.refreshes.opened(Instant::now(), &offer);
                    let before = self.view.borrow().offer.clone();
                    self.offer(offer.after(before.as_deref()));
                    // The other lists were not waited for.
                    if self.reach == Reach::Everything {
                        self.unasked = vec![List::Resources, List::Templates, List::Prompts];
                        self.unasked.clone().into_iter().for_each(|list| self.fetch(list));
                        self.listen();
                    }
                }
            }
            Ok(Done::NotOpened { attempt, fault }) => {
                let gravity = fault.gravity();
                self.step(Event::NotOpened { attempt, error: Arc::new(fault), gravity });
            }
            Ok(Done::PauseOver { attempt }) => self.step(Event::PauseOver { attempt }),
            Ok(Done::Fetched { attempt, fetched }) => {
                if attempt == self.machine.attempt() {
                    self.fetched(fetched);
                }
            }
            Ok(Done::Listened | Done::LookedAt { answer: Ok(()), .. }) => {}
            Ok(Done::LookedAt { link, answer: Err(error) }) => self.useless(&link, &error),
            // It was given up, and whoever did that knows.
            Err(error) if error.is_cancelled() => {}
            // A panic in a job costs that attempt only.
            Err(_) => {
                self.refreshes.gave_up();
                let attempt = self.machine.attempt();
                let fault = self.fault(&Error::broken());
                let gravity = fault.gravity();
                self.step(Event::NotOpened { attempt, error: Arc::new(fault), gravity });
            }
        }
    }

    fn step(&mut self, event: Event<Link, Slot, Fleeting>) {
        let now = self.started.elapsed();
        for effect in self.machine.step(event, now) {
            self.perform(effect);
        }
        // A server that nobody waits for any more is not left to itself while it starts.
        let is_opening = matches!(self.machine.state(), State::Starting { .. });
        let attempt = self.machine.attempt();
        if let Some((_, job)) = self.opening.take_if(|(of, _)| !is_opening || *of != attempt) {
            job.abort();
        }
    }

    /// Starts things, never waits.
    fn perform(&mut self, effect: Effect<Link, Slot, Fleeting>) {
        match effect {
            Effect::Open { attempt } => {
                let (recipe, log) = (Arc::clone(&self.recipe.borrow()), Arc::clone(&self.log));
                let transport = recipe.spec.transport.as_str();
                let watched = spans::server_start(&recipe.shared.span, &recipe.name, transport, attempt);
                let span = watched.span();
                let open = async move {
                    let opened = recipe.open(&log).await;
                    if let Ok((link, _)) = &opened {
                        watched.span().record("mcp.protocol.version", link.facts().version.as_str());
                    }
                    watched.over(&opened, |fault| fault.code);
                    match opened {
                        Ok((link, offer)) => Done::Opened { attempt, link, offer: Box::new(offer) },
                        Err(fault) => Done::NotOpened { attempt, fault },
                    }
                };
                let job = self.jobs.spawn(open.instrument(span));
                if let Some((_, before)) = self.opening.replace((attempt, job)) {
                    before.abort();
                }
            }
            Effect::Pause { attempt, time } => {
                self.jobs.spawn(async move {
                    sleep(time).await;
                    Done::PauseOver { attempt }
                });
            }
            Effect::Send { link, call } => drop(call.send(Ok(link))),
            Effect::Refuse { call, error } => {
                drop(call.send(Err(error.map_or(Refused::Stopped, Refused::Fault))));
            }
            Effect::Close { link } => {
                while self.closing.try_join_next().is_some() {}
                let recipe = self.recipe.borrow();
                let watched = spans::server_stop(&recipe.shared.span, &recipe.name);
                let span = watched.span();
                let close = async move { watched.done(link.stop().await.as_str()) };
                self.closing.spawn(close.instrument(span));
            }
            Effect::Release { link } => {
                // It would hold the link for ever, and subscribe again on it when the server is back.
                if let Some(ears) = self.ears.take() {
                    ears.abort();
                }
                drop(link);
            }
        }
    }

    /// When it will have been unused for too long, if nobody comes.
    fn idle_at(&self) -> Option<Instant> {
        let limit = self.recipe.borrow().spec.conduct.idle_timeout?;
        Some(self.usage.unused_since().unwrap_or_else(Instant::now) + limit)
    }

    /// Tells what the machine's state means to others, if it changed.
    fn publish(&self) {
        let (status, link) = match self.machine.state() {
            State::Dormant => (Status::Dormant, None),
            State::Starting { before: None } => (Status::Connecting, None),
            State::Ready { link } => (Status::Connected, Some(link.clone())),
            State::Starting { before: Some(error) } | State::Waiting { error } => {
                (Status::Waiting(Arc::clone(error)), None)
            }
            State::NeedsLogin { error } => (Status::NeedsLogin(Arc::clone(error)), None),
            State::Failed { error } => (Status::Failed(Arc::clone(error)), None),
            State::Suspended { error } => (Status::Suspended(Arc::clone(error)), None),
            State::Stopped => (Status::Stopped, None),
        };
        let mut is_news = false;
        let is_changed = self.view.send_if_modified(|view| {
            is_news = view.status != status;
            let is_changed = is_news || view.link.is_some() != link.is_some();
            view.status = status.clone();
            view.link = link;
            is_changed
        });
        if is_news {
            let server = self.recipe.borrow().name.clone();
            // Nobody may be listening.
            let _unheard = self.outlets.events.send(event::Event::Status { server, status });
        }
        if is_changed {
            self.outlets.changed.notify_one();
        }
    }
}

async fn lost(link: Option<&Link>) -> Error {
    match link {
        Some(link) => link.lost().await,
        None => std::future::pending().await,
    }
}

async fn notice(link: Option<&Link>) -> Notice {
    match link {
        Some(link) => link.notice().await,
        None => std::future::pending().await,
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
