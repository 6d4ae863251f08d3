//! One login, from the challenge to what is kept of it.

mod machine;
mod page;

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use url::Url;

use super::challenge::{Challenge, Scheme};
use super::discover::{Published, discover};
use super::error::{self, Error};
use super::fetch::Fetcher;
use super::grant::{Desk, Prover, Tokens};
use super::kept::{Client, CredentialId, Hidden, Kept, Login, State, TokenType, Unknown};
use super::keys::{Facts, Keys, Need, Together, Token, now};
use super::place::Place;
use super::register;
use super::sign::{DpopKey, SigningKey};
use crate::declared::Grant;
use crate::host::Host;

/// More rights are asked for so often at most, in one session.
const MOST_STEPS: u32 = 3;

/// How to log in.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// These rights instead of those that are published.
    pub scopes: Vec<String>,
}

impl Keys {
    /// Logs in to a place. Only what the whole login brought takes the place of what was there.
    pub async fn login(
        self: &Arc<Self>,
        place: &Place,
        challenge: Option<&str>,
        (host, wishes): (&dyn Host, &Wishes),
    ) -> Result<Facts, Error> {
        let challenge = challenge.and_then(super::challenge::parse).unwrap_or_default();
        self.go(place, &challenge, (Some(host), wishes)).await?;
        self.facts(place)?.ok_or(Error::LoggedOut)
    }

    /// Where a person would log in, without doing so; an error if nothing says where.
    pub async fn issuer(&self, place: &Place, challenge: Option<&str>) -> Result<String, Error> {
        place.check_encrypted()?;
        let challenge = challenge.and_then(super::challenge::parse).unwrap_or_default();
        let server = discover(&self.fetcher(&place.url), place, &challenge).await?.server;
        if server.is_guessed {
            return Err(Error::NoEndpoints { server: place.server.clone() });
        }
        Ok(server.issuer)
    }

    /// Logs in because a server refused something. Many calls may be refused at once; one page is shown, and whoever comes
    /// while it is takes what becomes of it.
    pub(crate) async fn login_together(
        self: &Arc<Self>,
        place: &Place,
        challenge: Option<&str>,
        (host, wishes): (&dyn Host, &Wishes),
    ) -> Result<(), Error> {
        let rights = challenge.and_then(super::challenge::parse).unwrap_or_default().scopes;
        let wish = (place.id.clone(), rights);
        let declined = || self.declined.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if declined().contains(&wish) {
                return Err(Error::Declined);
            }
            let mut theirs = match self.first(&place.id) {
                Ok(ours) => {
                    let done = self.login(place, challenge, (host, wishes)).await.map(drop);
                    if done == Err(Error::Declined) {
                        declined().insert(wish);
                    }
                    ours.send_replace(Some(done.clone()));
                    return done;
                }
                Err(theirs) => theirs,
            };
            // Whoever showed it may have gone away; then it is up to us.
            if let Ok(done) = theirs.wait_for(Option::is_some).await
                && let Some(done) = done.clone()
            {
                return done;
            }
        }
    }

    /// The right to log in, or what becomes of the login under way.
    fn first(&self, id: &CredentialId) -> Result<watch::Sender<Together>, watch::Receiver<Together>> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(theirs) = asked.get(id).filter(|theirs| theirs.has_changed().is_ok()) {
            return Err(theirs.clone());
        }
        let (ours, theirs) = watch::channel(None);
        asked.insert(id.clone(), theirs);
        Ok(ours)
    }

    /// Logs in where no person is needed.
    pub(super) async fn login_alone(
        self: &Arc<Self>,
        place: &Place,
        challenge: &Challenge,
    ) -> Result<Arc<Token>, Error> {
        let account = &place.account;
        let is_known = account.client_id.is_some() && account.client_secret.is_some();
        if account.grant == Some(Grant::AuthorizationCode) || (account.machine.is_none() && !is_known) {
            return Err(Error::LoggedOut);
        }
        // Many may be refused at once; one login is for all of them.
        loop {
            let done = match self.first(&place.id) {
                Ok(ours) => {
                    let done = self.go(place, challenge, (None, &Wishes::default())).await;
                    ours.send_replace(Some(done.clone()));
                    Some(done)
                }
                // Whoever began may have gone away; then it is up to us.
                Err(mut theirs) => theirs.wait_for(Option::is_some).await.ok().and_then(|done| done.clone()),
            };
            if let Some(done) = done {
                done?;
                return self.token(&place.id, Need::Fresh).await;
            }
        }
    }

    /// Forgets the login of a place, and tells the login server where that can be done. False if there was none.
    pub async fn forget(self: &Arc<Self>, place: &Place) -> Result<bool, Error> {
        let (_lock, kept, _) = self.locked_to_replace(&place.id).await?;
        if let Some((_, login)) = kept.as_ref().and_then(Kept::current_login) {
            // The token ends by itself if nobody hears.
            let fetcher = self.fetcher(&place.url);
            let _unheard = timeout(Duration::from_secs(10), revoke(&fetcher, login)).await;
        }
        let (store, id) = (self.store.clone(), place.id.clone());
        let was_there = super::keys::blocking(move || store.remove(&id)).await?;
        self.turns.fetch_add(1, Ordering::SeqCst);
        Ok(was_there)
    }

    async fn go(
        self: &Arc<Self>,
        place: &Place,
        challenge: &Challenge,
        (host, wishes): (Option<&dyn Host>, &Wishes),
    ) -> Result<(), Error> {
        // A token must not travel in the clear, wherever it comes from.
        place.check_encrypted()?;
        let fetcher = self.fetcher(&place.url);
        let published = discover(&fetcher, place, challenge).await?;
        let store = self.store.clone();
        let id = place.id.clone();
        let kept = super::keys::blocking(move || store.read_to_replace(&id)).await?;
        let before = kept.as_ref().and_then(|kept| kept.logins.get(&published.server.issuer));
        let scopes = self.scopes(place, challenge, (&published, before, wishes))?;
        let is_bound = challenge.scheme == Scheme::Dpop && published.server.takes_proofs;
        let attempt = Attempt {
            fetcher: &fetcher,
            place,
            published: &published,
            scopes: &scopes,
            before,
            document: self.options.document.as_deref(),
            prover: if is_bound { Some(Prover::new(DpopKey::generate()?)) } else { None },
        };
        let (client, tokens) = attempt.tokens(host).await?;
        let prover = attempt.prover.as_ref().filter(|_| tokens.is_bound);
        let login = Login {
            client,
            resource: published.resource.clone(),
            token_endpoint: published.server.token.to_string(),
            revocation_endpoint: published.server.revocation.as_ref().map(Url::to_string),
            requested: scopes.clone(),
            dpop_key: prover.map(|prover| prover.key.to_text()).transpose()?.map(Hidden::new),
            granted: Vec::new(),
            access: None,
            token_type: TokenType::Bearer,
            received_at: 0,
            expires_at: None,
            refresh: None,
            generation: 0,
            state: State::Good,
            refreshing: None,
            unknown: Unknown::default(),
        };
        self.keep(place, &published.server.issuer, login, tokens).await
    }

    async fn keep(&self, place: &Place, issuer: &str, mut login: Login, tokens: Tokens) -> Result<(), Error> {
        let (_lock, kept, generation) = self.locked_to_replace(&place.id).await?;
        let new = Kept::new(place.id.clone(), &place.url);
        let mut kept = match kept {
            Some(kept) => Kept { server: new.server, ..kept },
            None => new,
        };
        login.generation = generation;
        login.take(tokens);
        self.put(&mut kept, (issuer, &login)).await?;
        self.turns.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// The rights to ask for: what the user says, else what the server says it needs, else what it knows.
    fn scopes(
        &self,
        place: &Place,
        challenge: &Challenge,
        (published, before, wishes): (&Published, Option<&Login>, &Wishes),
    ) -> Result<Vec<String>, Error> {
        let wanted = [&wishes.scopes, &place.account.scopes].into_iter().find(|scopes| !scopes.is_empty());
        let mut scopes: Vec<String> = Vec::new();
        // What the entry says is all there is to be; other wishes come on top of what there is.
        let is_fixed = wishes.scopes.is_empty() && wanted.is_some();
        if let Some(before) = before.filter(|_| !is_fixed) {
            scopes.extend(before.requested.iter().filter(|scope| *scope != OFFLINE).cloned());
        }
        if challenge.error.as_deref() == Some("insufficient_scope") {
            self.step_up(place, challenge, before)?;
        }
        let asked = if challenge.scopes.is_empty() { &published.scopes } else { &challenge.scopes };
        scopes.extend(wanted.unwrap_or(asked).iter().cloned());
        if !challenge.scopes.is_empty() && wanted.is_some() {
            scopes.extend(challenge.scopes.iter().cloned());
        }
        let offers_offline = published.server.scopes.iter().any(|scope| scope == OFFLINE);
        if !scopes.is_empty() && offers_offline {
            scopes.push(OFFLINE.to_owned());
        }
        let mut seen = std::collections::BTreeSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        Ok(scopes)
    }

    /// Asking for rights that were just given would not end.
    fn step_up(&self, place: &Place, challenge: &Challenge, before: Option<&Login>) -> Result<(), Error> {
        let limit = || Error::ScopeLimit { scopes: error::code(&challenge.scopes.join(" ")) };
        let has_all =
            before.is_some_and(|login| challenge.scopes.iter().all(|scope| login.granted.contains(scope)));
        if has_all {
            return Err(limit());
        }
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let n_steps = steps.entry(place.id.clone()).or_default();
        *n_steps += 1;
        if *n_steps > MOST_STEPS { Err(limit()) } else { Ok(()) }
    }
}

const OFFLINE: &str = "offline_access";

/// One login under way.
struct Attempt<'a> {
    fetcher: &'a Fetcher,
    place: &'a Place,
    published: &'a Published,
    scopes: &'a [String],
    before: Option<&'a Login>,
    document: Option<&'a str>,
    prover: Option<Prover>,
}

impl Attempt<'_> {
    /// Gets tokens in the way that is open to us.
    async fn tokens(&self, host: Option<&dyn Host>) -> Result<(Client, Tokens), Error> {
        let server = &self.published.server;
        // A registration may be for the rights it was made with.
        let asks_no_more = |login: &&Login| self.scopes.iter().all(|scope| login.requested.contains(scope));
        let before = self.before.filter(asks_no_more).map(|login| &login.client);
        let known = register::known(self.place, server, before, now());
        if let Some(done) = self.alone(known.as_ref()).await? {
            return Ok(done);
        }
        let host = host.ok_or(Error::LoggedOut)?;
        self.by_page(host, known).await
    }

    fn desk<'d>(&'d self, client: &'d Client, key: Option<&'d SigningKey>) -> Desk<'d> {
        let server = &self.published.server;
        Desk {
            fetcher: self.fetcher,
            endpoint: &server.token,
            issuer: &server.issuer,
            client,
            key,
            proof: self.prover.as_ref(),
        }
    }

    fn common(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![("resource", self.published.resource.clone())];
        if !self.scopes.is_empty() {
            fields.push(("scope", self.scopes.join(" ")));
        }
        fields
    }
}

async fn revoke(fetcher: &Fetcher, login: &Login) -> Result<(), Error> {
    let Some(endpoint) = &login.revocation_endpoint else { return Ok(()) };
    let endpoint = fetcher.gate().endpoint(endpoint)?;
    let token = login.refresh.as_ref().or(login.access.as_ref());
    let Some(token) = token.filter(|_| login.state == State::Good) else { return Ok(()) };
    let desk =
        Desk { fetcher, endpoint: &endpoint, issuer: "", client: &login.client, key: None, proof: None };
    desk.tell(&[("token", token.expose().to_owned())]).await
}
