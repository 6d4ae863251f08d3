//! The logins of a user, in use: read from the store, renewed once for all who need it, in this process and others.
//!
//! A renewal runs in a task of its own. Whoever waits for it may go away; the new token is written all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::task::JoinSet;
use url::Url;

use super::error::Error;
use super::fetch::Fetcher;
use super::gate::Gate;
use super::grant::{Desk, Prover, Tokens};
use super::kept::{CredentialId, Hidden, Kept, Login, Refreshing, State, TokenType};
use super::pass::Pass;
use super::place::Place;
use super::sign::DpopKey;
use super::store::{Keyring, Lock, Outline, Store};
use crate::config::{ServerSpec, Transport, settings};
use crate::declared::Auth;
use crate::env::Env;
use crate::resolve::{Launch, Target};
use crate::secret::Secrets;

/// How long another process may hold a login while it renews it.
const LOCK_PATIENCE: Duration = Duration::from_mins(1);
/// A token is renewed this long before its end, or a tenth of its life if that is less.
const EARLY: u64 = 60;

/// What logins of a session need to know besides the entries.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where the document that describes us stands, for login servers that read it.
    pub document: Option<String>,
    /// Whether the keyring of the system is used.
    pub keyring: settings::Keyring,
    /// Login servers in private networks that servers outside of them may name.
    pub private_hosts: BTreeSet<String>,
}

impl Options {
    /// The same, with what the user's settings say where nothing else is said.
    #[must_use]
    pub fn with(mut self, settings: &settings::Login) -> Self {
        self.document = self.document.or_else(|| settings.document.clone());
        if settings.keyring == settings::Keyring::Off {
            self.keyring = settings.keyring;
        }
        self.private_hosts.extend(settings.private_hosts.iter().cloned());
        self
    }
}

/// The logins of a user.
pub struct Keys {
    pub(super) store: Store,
    pub(super) options: Options,
    /// Renewals under way, by login.
    // Held for a few instructions, never across a wait.
    flights: Mutex<BTreeMap<CredentialId, watch::Receiver<Landing>>>,
    tasks: Mutex<JoinSet<()>>,
    /// Logins under way that a refusal began, by login.
    pub(super) asked: Mutex<BTreeMap<CredentialId, watch::Receiver<Together>>>,
    /// What the user did not want to log in for, by login and rights: they are not asked again.
    pub(super) declined: Mutex<BTreeSet<(CredentialId, Vec<String>)>>,
    /// How often somebody logged in or out: whoever holds a token looks again.
    pub(super) turns: AtomicU64,
    /// How often more rights were asked for, by login.
    pub(super) steps: Mutex<BTreeMap<CredentialId, u32>>,
}

type Landing = Option<Result<Arc<Token>, Error>>;

/// What becomes of a login that several wait for.
pub(super) type Together = Option<Result<(), Error>>;

/// What somebody needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// One that is good for a while.
    Fresh,
    /// Another one than this generation, which was refused.
    Newer(u64),
}

/// A token in use.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) access: Hidden,
    pub(super) generation: u64,
    expires_at: Option<u64>,
    due_at: Option<u64>,
    pub(super) prover: Option<Arc<Prover>>,
    /// The address that was logged in to. A token goes to no other origin.
    server: String,
}

impl Token {
    fn of(kept: &Kept, login: &Login) -> Option<Self> {
        let key = login.dpop_key.as_ref().and_then(|key| DpopKey::from_text(key.expose()).ok());
        Some(Self {
            access: login.access.clone()?,
            generation: login.generation,
            expires_at: login.expires_at,
            due_at: due_at(login),
            prover: key.map(|key| Arc::new(Prover::new(key))),
            server: kept.server.clone(),
        })
    }

    pub(super) fn is_due(&self) -> bool {
        self.due_at.is_some_and(|due| due <= now())
    }

    /// Whether it was made for a server at this origin.
    pub(super) fn is_for(&self, url: &Url) -> bool {
        Url::parse(&self.server).is_ok_and(|server| server.origin() == url.origin())
    }

    pub(super) fn is_over(&self) -> bool {
        self.expires_at.is_some_and(|end| end <= now())
    }
}

/// Who is logged in where, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The login server.
    pub issuer: String,
    /// Until when the token holds, if that is known.
    pub until: Option<SystemTime>,
    /// The rights that were given.
    pub scopes: Vec<String>,
    /// Whether it is renewed without a person.
    pub is_renewable: bool,
    /// Whether it still works, as far as we know.
    pub works: bool,
    /// Whether its file is sealed with a key in the keyring of the system.
    pub is_sealed: bool,
}

impl Facts {
    pub(super) fn of(outline: &Outline) -> Option<Self> {
        let (issuer, login) = outline.kept.current_login()?;
        Some(Self {
            issuer: issuer.to_owned(),
            until: login.expires_at.map(|at| UNIX_EPOCH + Duration::from_secs(at)),
            scopes: login.granted.clone(),
            is_renewable: login.refresh.is_some(),
            works: login.state == State::Good
                && (login.refresh.is_some() || login.expires_at.is_none_or(|end| end > now())),
            is_sealed: outline.is_sealed,
        })
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl Keys {
    /// The logins below our own directory.
    pub fn of(env: &Env, options: Options) -> Arc<Self> {
        Arc::new(Self {
            store: Store::of(env, Keyring::of(env, options.keyring)),
            options,
            flights: Mutex::default(),
            tasks: Mutex::default(),
            asked: Mutex::default(),
            declined: Mutex::default(),
            turns: AtomicU64::new(0),
            steps: Mutex::default(),
        })
    }

    /// What lets a connection in. Tokens are added to the secrets as they come.
    pub fn pass(self: &Arc<Self>, place: Place, secrets: &Secrets) -> Pass {
        Pass::new(Arc::clone(self), place, secrets.clone())
    }

    /// What lets a launch in, where a login does.
    pub fn pass_for(self: &Arc<Self>, launch: &Launch) -> Option<Pass> {
        let Target::Remote(address) = &launch.target else { return None };
        Some(self.pass(Place::of(&launch.server, address)?, &launch.secrets))
    }

    /// The token of the login that a program takes as a variable, if its entry names one. A login that is missing or
    /// does not work is a problem of the launch, not an error.
    pub async fn variable(self: &Arc<Self>, spec: &ServerSpec) -> Option<String> {
        let (Transport::Stdio(_), Some(Auth::OAuth { credential_id: Some(name) })) =
            (&spec.transport, &spec.conduct.auth)
        else {
            return None;
        };
        let token = self.token(&CredentialId::named(name), Need::Fresh).await.ok()?;
        Some(token.access.expose().to_owned())
    }

    /// Who is logged in to a place.
    pub fn facts(&self, place: &Place) -> Result<Option<Facts>, Error> {
        let outline = self.store.peek(&place.id)?;
        Ok(outline.as_ref().and_then(Facts::of))
    }

    /// Waits for renewals under way: what a login server just gave must be written before the program ends.
    pub async fn settle(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while tasks.join_next().await.is_some() {}
    }

    /// A token that meets the need, renewed if it must be; one renewal for all who ask at the same time.
    pub(super) async fn token(self: &Arc<Self>, id: &CredentialId, need: Need) -> Result<Arc<Token>, Error> {
        // Where nobody ever logged in, a request does not wait for another thread.
        if self.store.has_none(id) {
            return Err(Error::LoggedOut);
        }
        let (store, wanted) = (self.store.clone(), id.clone());
        let kept = blocking(move || store.read(&wanted)).await?.ok_or(Error::LoggedOut)?;
        let (_, login) = kept.current_login().ok_or(Error::LoggedOut)?;
        if let Some(token) = meets(&kept, login, need) {
            return Ok(token);
        }
        if login.state == State::Refused {
            return Err(over(login));
        }
        // The first one may have been under way for somebody who needed less.
        for _ in 0..2 {
            let mut landing = self.flight(id, need);
            let landed = landing.wait_for(Option::is_some).await.ok().and_then(|landed| landed.clone());
            let token = landed.unwrap_or(Err(Error::LoggedOut))?;
            if need.is_met_by(&token) {
                return Ok(token);
            }
        }
        Err(Error::LoggedOut)
    }

    /// The renewal under way, or a new one.
    fn flight(self: &Arc<Self>, id: &CredentialId, need: Need) -> watch::Receiver<Landing> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        // One that landed is looked up in the store.
        if let Some(landing) =
            flights.get(id).filter(|landing| landing.borrow().is_none() && landing.has_changed().is_ok())
        {
            return landing.clone();
        }
        let (sender, landing) = watch::channel(None);
        flights.insert(id.clone(), landing.clone());
        let (keys, id) = (Arc::clone(self), id.clone());
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let landed = keys.renew(&id, need).await;
            sender.send_replace(Some(landed));
        });
        landing
    }

    async fn renew(&self, id: &CredentialId, need: Need) -> Result<Arc<Token>, Error> {
        let (_lock, kept) = self.locked(id).await?;
        let mut kept = kept.ok_or(Error::LoggedOut)?;
        let (issuer, login) = kept.current_login().ok_or(Error::LoggedOut)?;
        // Somebody else was faster.
        if let Some(token) = meets(&kept, login, need) {
            return Ok(token);
        }
        let Some(refresh) = login.refresh.clone().filter(|_| login.state == State::Good) else {
            return Err(over(login));
        };
        let (issuer, mut login) = (issuer.to_owned(), login.clone());
        let cut_off = login.refreshing;
        login.refreshing = Some(Refreshing { at: now(), pid: std::process::id() });
        self.put(&mut kept, (&issuer, &login)).await?;
        let answer = self.exchange(&kept, (&issuer, &login), &refresh).await;
        match answer {
            Ok(tokens) => login.take(tokens),
            Err(Error::TokenRefused { code, .. }) => {
                login.state = State::Refused;
                login.refreshing = cut_off;
                self.put(&mut kept, (&issuer, &login)).await?;
                return Err(Error::TokenRefused { code, was_cut_off: cut_off.is_some() });
            }
            // It may work later, and the token may hold still. If nobody knows whether it was renewed, that stays written.
            Err(error) => {
                if !error.may_have_acted() {
                    login.refreshing = cut_off;
                    self.put(&mut kept, (&issuer, &login)).await?;
                }
                return Err(error);
            }
        }
        self.put(&mut kept, (&issuer, &login)).await?;
        Token::of(&kept, &login).map(Arc::new).ok_or(Error::LoggedOut)
    }

    async fn exchange(
        &self,
        kept: &Kept,
        (issuer, login): (&str, &Login),
        refresh: &Hidden,
    ) -> Result<Tokens, Error> {
        let bad = |_| Error::BadAnswer { why: "the login kept on disk names no server" };
        let server = Url::parse(&kept.server).map_err(bad)?;
        let fetcher = self.fetcher(&server);
        let endpoint = fetcher.gate().endpoint(&login.token_endpoint)?;
        let prover =
            login.dpop_key.as_ref().and_then(|key| DpopKey::from_text(key.expose()).ok()).map(Prover::new);
        let desk = Desk {
            fetcher: &fetcher,
            endpoint: &endpoint,
            issuer,
            client: &login.client,
            key: None,
            proof: prover.as_ref(),
        };
        let fields = [
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh.expose().to_owned()),
            ("resource", login.resource.clone()),
        ];
        desk.ask(&fields).await
    }

    /// Who asks what belongs to the login at a server.
    pub(super) fn fetcher(&self, server: &Url) -> Fetcher {
        Fetcher::new(Gate::of(server).with_private(&self.options.private_hosts))
    }

    /// The login, with the right to change it.
    pub(super) async fn locked(&self, id: &CredentialId) -> Result<(Lock, Option<Kept>), Error> {
        let (store, id) = (self.store.clone(), id.clone());
        blocking(move || {
            let lock = store.lock(&id, LOCK_PATIENCE)?;
            let kept = store.read(&id)?;
            Ok((lock, kept))
        })
        .await
    }

    /// The login, with the right to put another in its place, and its newest generation. What cannot be opened is still
    /// counted: others may hold a token of it.
    pub(super) async fn locked_to_replace(
        &self,
        id: &CredentialId,
    ) -> Result<(Lock, Option<Kept>, u64), Error> {
        let (store, id) = (self.store.clone(), id.clone());
        blocking(move || {
            let lock = store.lock(&id, LOCK_PATIENCE)?;
            let kept = store.read_to_replace(&id)?;
            let logins = store.peek(&id)?.map(|outline| outline.kept.logins).unwrap_or_default();
            let generation = logins.values().map(|login| login.generation).max().unwrap_or_default();
            Ok((lock, kept, generation))
        })
        .await
    }

    /// Writes a login under the lock.
    pub(super) async fn put(&self, kept: &mut Kept, (issuer, login): (&str, &Login)) -> Result<(), Error> {
        kept.logins.insert(issuer.to_owned(), login.clone());
        kept.current = Some(issuer.to_owned());
        let (store, kept) = (self.store.clone(), kept.clone());
        blocking(move || store.write(&kept)).await
    }
}

impl Kept {
    /// The login that counts, with its issuer.
    pub(super) fn current_login(&self) -> Option<(&str, &Login)> {
        Some((self.current.as_deref()?, self.login()?))
    }
}

impl Login {
    /// Puts new tokens in the place of the old ones. A server that gives no new refresh token means the old one.
    pub(super) fn take(&mut self, tokens: Tokens) {
        let now = now();
        self.access = Some(tokens.access);
        self.token_type = if tokens.is_bound { TokenType::Dpop } else { TokenType::Bearer };
        self.received_at = now;
        self.expires_at = tokens.life.map(|life| now + life);
        self.refresh = tokens.refresh.or_else(|| self.refresh.take());
        self.granted = tokens.scopes.unwrap_or_else(|| {
            if self.granted.is_empty() { self.requested.clone() } else { self.granted.clone() }
        });
        self.generation += 1;
        self.state = State::Good;
        self.refreshing = None;
    }
}

/// Why a login is of no use any more.
fn over(login: &Login) -> Error {
    match login.refreshing.filter(|_| login.state == State::Refused) {
        Some(_) => Error::TokenRefused { code: "it is over".to_owned(), was_cut_off: true },
        None => Error::LoggedOut,
    }
}

/// The token of a login, if it meets the need. One that cannot be renewed any more is used to its end.
fn meets(kept: &Kept, login: &Login, need: Need) -> Option<Arc<Token>> {
    let token = Token::of(kept, login)?;
    let is_last = login.refresh.is_none() || login.state == State::Refused;
    let is_good = match need {
        Need::Fresh => !token.is_due() || (is_last && !token.is_over()),
        Need::Newer(_) => need.is_met_by(&token) && login.state == State::Good,
    };
    is_good.then(|| Arc::new(token))
}

impl Need {
    fn is_met_by(self, token: &Token) -> bool {
        match self {
            Self::Fresh => !token.is_over(),
            Self::Newer(generation) => token.generation > generation && !token.is_over(),
        }
    }
}

/// When a token is better renewed: a bit before its end, if it has one.
fn due_at(login: &Login) -> Option<u64> {
    let end = login.expires_at?;
    let life = end.saturating_sub(login.received_at);
    Some(end.saturating_sub((life / 10).clamp(1, EARLY)))
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Files are read and written where waiting hurts nobody.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, super::store::StoreError> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(Error::from),
        Err(_) => Err(Error::LoggedOut),
    }
}
