//! What others hold of a server: its status and offer as they change, and a way to its link.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::fault::Fault;
use super::offer::Offer;
use super::recipe::Recipe;
use super::usage::{Usage, User};
use crate::declared::Share;
use crate::wire::{Error, Facts, Link, Log, Logs};

/// Where a server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Nobody needed it yet, or for long.
    Dormant,
    /// It is being opened.
    Connecting,
    /// It is up.
    Connected,
    /// It was lost or could not be opened, and will be tried again.
    Waiting(Arc<Fault>),
    /// It needs a login.
    NeedsLogin(Arc<Fault>),
    /// It failed and is not tried again by itself.
    Failed(Arc<Fault>),
    /// It was lost too often.
    Suspended(Arc<Fault>),
    /// It was stopped.
    Stopped,
}

impl Status {
    /// The word in reports.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Dormant | Self::Stopped => "disconnected",
            Self::Connecting | Self::Waiting(_) => "connecting",
            Self::Connected => "connected",
            Self::NeedsLogin(_) => "needs login",
            Self::Failed(_) => "failed",
            Self::Suspended(_) => "suspended",
        }
    }

    /// Why it does not work, if it does not.
    pub const fn fault(&self) -> Option<&Arc<Fault>> {
        match self {
            Self::Waiting(fault) | Self::NeedsLogin(fault) | Self::Failed(fault) | Self::Suspended(fault) => {
                Some(fault)
            }
            Self::Dormant | Self::Connecting | Self::Connected | Self::Stopped => None,
        }
    }

    /// Whether its first attempt has come to an end, good or bad.
    pub const fn is_settled(&self) -> bool {
        !matches!(self, Self::Connecting)
    }
}

/// A server as it is right now.
#[derive(Debug, Clone)]
pub struct View {
    /// Where it stands.
    pub status: Status,
    /// What it offers, live or from before.
    pub offer: Option<Arc<Offer>>,
    /// It was seen to ask a client something, now or an earlier time.
    pub has_asked: bool,
    pub(super) link: Option<Link>,
}

/// Why there is no link to be had.
#[derive(Debug, Clone)]
pub enum Refused {
    /// The server does not work.
    Fault(Arc<Fault>),
    /// It was stopped.
    Stopped,
    /// It did not come up in time.
    TooLate {
        /// So long it was waited for.
        after: Duration,
    },
}

pub(super) type Slot = oneshot::Sender<Result<Link, Refused>>;

/// What an owner is told.
#[derive(Debug)]
pub(super) enum Command {
    Call(Slot),
    Wake,
    Reconnect,
    Rest,
    RestIfUnused,
    Useless { link: Link, error: Error },
    Resumed,
    Stop(oneshot::Sender<()>),
}

/// A server, for everybody who wants something of it. Clones are the same; each call takes several.
#[derive(Debug, Clone)]
pub struct Handle(pub(super) Arc<Parts>);

/// What a handle consists of.
#[derive(Debug)]
pub(super) struct Parts {
    /// Limits and rules may change under a connection that stays.
    pub(super) recipe: watch::Sender<Arc<Recipe>>,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) view: watch::Receiver<View>,
    pub(super) usage: Arc<Usage>,
    pub(super) log: Arc<Log>,
}

/// A link in use: as long as it is held, the server does not count as idle.
#[derive(Debug)]
pub struct Lease {
    /// The link.
    pub link: Link,
    _user: User,
}

impl Handle {
    /// What it is made from.
    pub fn recipe(&self) -> Arc<Recipe> {
        self.0.recipe.borrow().clone()
    }

    /// From now on it is dealt with in another way; the connection is the same.
    pub(super) fn adopt(&self, recipe: Recipe) {
        if let Some(link) = &self.0.view.borrow().link {
            link.set_timeout(recipe.timeout());
        }
        self.0.recipe.send_replace(Arc::new(recipe));
    }

    /// What it says of itself, now or last time.
    pub(crate) fn facts(&self) -> Option<Arc<Facts>> {
        self.0.view.borrow().offer.as_ref().map(|offer| Arc::clone(&offer.facts))
    }

    /// How it is right now.
    pub fn view(&self) -> View {
        self.0.view.borrow().clone()
    }

    /// Whether each client should have a connection of its own to it.
    pub fn is_asking(&self) -> bool {
        self.0.recipe.borrow().spec.conduct.share == Share::Client || self.0.view.borrow().has_asked
    }

    /// Whether its owner has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.0.commands.is_closed()
    }

    /// The link, if there is one right now.
    pub(crate) fn link(&self) -> Option<Link> {
        self.0.view.borrow().link.clone().filter(Link::is_up)
    }

    /// What went over its connections of late.
    pub fn logs(&self) -> Logs {
        self.0.log.read()
    }

    /// To be told of changes.
    pub fn watch(&self) -> watch::Receiver<View> {
        self.0.view.clone()
    }

    /// A link, at once if it is up, else when it comes up; for so long at most.
    pub async fn lease(&self, limit: Option<Duration>) -> Result<Lease, Refused> {
        // Counted first, so that the server cannot fall idle in between.
        let user = Usage::begin(&self.0.usage);
        let up = self.0.view.borrow().link.clone().filter(Link::is_up);
        let link = match up {
            Some(link) => link,
            None => self.wait_for_link(limit).await?,
        };
        Ok(Lease { link, _user: user })
    }

    async fn wait_for_link(&self, limit: Option<Duration>) -> Result<Link, Refused> {
        let (slot, link) = oneshot::channel();
        self.0.commands.send(Command::Call(slot)).await.map_err(|_| Refused::Stopped)?;
        let link = async { link.await.unwrap_or(Err(Refused::Stopped)) };
        match limit {
            None => link.await,
            Some(after) => tokio::time::timeout(after, link).await.unwrap_or(Err(Refused::TooLate { after })),
        }
    }

    /// Starts it, if it is not up, and comes back when it no longer stands as it did.
    pub(crate) async fn wake(&self) {
        let mut view = self.0.view.clone();
        let before = view.borrow_and_update().status.fault().cloned();
        if self.0.commands.send(Command::Wake).await.is_err() {
            return;
        }
        if let (Some(before), Status::NeedsLogin(_) | Status::Failed(_)) = (before, &self.view().status) {
            let is_another =
                |view: &View| view.status.fault().is_none_or(|fault| !Arc::ptr_eq(fault, &before));
            let _stopped = view.wait_for(is_another).await;
        }
    }

    /// Starts it anew, whatever happened before.
    pub async fn reconnect(&self) {
        let _stopped = self.0.commands.send(Command::Reconnect).await;
    }

    /// Says that the link could not be used, and comes back when it is no longer handed out.
    pub(crate) async fn useless(&self, link: &Link, error: &Error) {
        let command = Command::Useless { link: link.clone(), error: error.clone() };
        if self.0.commands.send(command).await.is_ok() {
            let mut view = self.0.view.clone();
            let is_gone = |view: &View| view.link.as_ref().is_none_or(|current| !current.is(link));
            let _stopped = view.wait_for(is_gone).await;
        }
    }

    /// Says that the machine slept.
    pub(crate) async fn resumed(&self) {
        let _stopped = self.0.commands.send(Command::Resumed).await;
    }

    /// Stops it until it is needed again.
    pub async fn rest(&self) {
        let _stopped = self.0.commands.send(Command::Rest).await;
    }

    /// Stops it until it is needed again, unless somebody uses it.
    pub(crate) async fn rest_if_unused(&self) {
        let _stopped = self.0.commands.send(Command::RestIfUnused).await;
    }

    /// Stops it in order, and waits for nothing.
    pub(crate) fn stop_soon(&self) {
        let (done, _nobody) = oneshot::channel();
        let _stopped = self.0.commands.try_send(Command::Stop(done));
    }

    /// Stops it in order.
    pub async fn stop(&self) {
        let (done, wait) = oneshot::channel();
        if self.0.commands.send(Command::Stop(done)).await.is_ok() {
            let _gone = wait.await;
        }
    }
}
