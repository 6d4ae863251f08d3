//! What lets one connection in: the headers of each request, and what to do when a server refuses them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use url::Url;

use super::challenge;
use super::error::Error;

use super::keys::{Keys, Need, Token};
use super::place::Place;
use crate::secret::Secrets;

/// What lets a connection in. Clones share it.
#[derive(Clone)]
pub struct Pass {
    keys: Arc<Keys>,
    place: Arc<Place>,
    secrets: Secrets,
    // Held for a few instructions, never across a wait.
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    held: Option<Arc<Token>>,
    /// As often somebody had logged in when it was read.
    turns: u64,
    /// The generation that was got because the one before was refused, until a server takes it.
    unproven: Option<u64>,
}

/// Why a login that is there is of no use for what was asked.
const NO_RIGHTS: &str = "the login is there, but lacks the rights for this";

/// Which token a request went out with.
#[derive(Debug, Clone)]
pub(crate) struct Stamp(Option<Arc<Token>>);

/// What to make of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Ask once more.
    Again,
    /// It stays refused; why the login that was there is of no use, if there was one.
    Final(Option<String>),
}

/// The headers of a request.
pub(crate) type Headers = Vec<(HeaderName, HeaderValue)>;

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pass").field("server", &self.place.server).finish_non_exhaustive()
    }
}

impl Pass {
    pub(super) fn new(keys: Arc<Keys>, place: Place, secrets: Secrets) -> Self {
        Self { keys, place: Arc::new(place), secrets, state: Arc::default() }
    }

    /// Waits for renewals under way: see [`Keys::settle`].
    pub async fn settle(&self) {
        self.keys.settle().await;
    }

    /// What a request needs; nothing if nobody is logged in, or the request goes elsewhere.
    pub(crate) async fn headers(&self, method: &str, url: &Url) -> Result<(Stamp, Headers), Error> {
        if url.origin() != self.place.url.origin() {
            return Ok((Stamp(None), Headers::new()));
        }
        let Some(token) = self.current().await? else { return Ok((Stamp(None), Headers::new())) };
        // A login that goes by a name may be named anywhere; its token goes where it was made for, and never in the clear.
        self.place.check_encrypted()?;
        if !token.is_for(url) {
            return Ok((Stamp(None), Headers::new()));
        }
        let mut headers = Headers::new();
        let scheme = if token.prover.is_some() { "DPoP" } else { "Bearer" };
        headers.extend(sensitive(AUTHORIZATION, &format!("{scheme} {}", token.access.expose())));
        if let Some(prover) = &token.prover {
            let proof = prover.proof(method, url, Some(token.access.expose()))?;
            headers.extend(sensitive(HeaderName::from_static("dpop"), &proof));
        }
        Ok((Stamp(Some(token)), headers))
    }

    /// The server took it.
    pub(crate) fn accepted(&self, stamp: &Stamp) {
        let mut state = self.state();
        if stamp.generation().is_some() && state.unproven == stamp.generation() {
            state.unproven = None;
        }
    }

    /// The server refused it. True if it is worth asking once more; an error if it would be, and there is no token to do it
    /// with right now.
    pub(crate) async fn refused(
        &self,
        stamp: &Stamp,
        (status, challenge): (u16, Option<&str>),
        nonce: Option<&str>,
    ) -> Result<Verdict, Error> {
        let challenge = challenge.and_then(challenge::parse).unwrap_or_default();
        let prover = stamp.0.as_ref().and_then(|token| token.prover.as_ref());
        if let (Some(prover), Some(nonce)) = (prover, nonce) {
            prover.learn(&self.place.url, nonce);
            if challenge.error.as_deref() == Some("use_dpop_nonce") {
                return Ok(Verdict::Again);
            }
        }
        let is_new = stamp.generation().is_some() && self.state().unproven == stamp.generation();
        if status != 401 || is_new {
            // The server knows who asks, and says no all the same.
            let why = (status == 403 && stamp.0.is_some()).then(|| NO_RIGHTS.to_owned());
            return Ok(Verdict::Final(why));
        }
        let refused = stamp.generation().unwrap_or_default();
        let why = match Box::pin(self.keys.token(&self.place.id, Need::Newer(refused))).await {
            Ok(token) => {
                self.hold(token, true);
                return Ok(Verdict::Again);
            }
            // The login is as good as before: nobody has to log in because its server is away.
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => error,
        };
        self.state().held = None;
        // Rare and large: every request would carry it along.
        match Box::pin(self.keys.login_alone(&self.place, &challenge)).await {
            Ok(token) => {
                self.hold(token, true);
                Ok(Verdict::Again)
            }
            // Its login server is away; nobody else can help either.
            Err(error) if error.is_transient() => Err(error),
            // What a program could not log in with says more than that nobody did.
            Err(error) => Ok(Verdict::Final(words(if why == Error::LoggedOut { &error } else { &why }))),
        }
    }

    /// The token of now, renewed if its end is near.
    async fn current(&self) -> Result<Option<Arc<Token>>, Error> {
        let held = {
            let mut state = self.state();
            let turns = self.keys.turns.load(Ordering::SeqCst);
            if std::mem::replace(&mut state.turns, turns) != turns {
                state.held = None;
            }
            state.held.clone()
        };
        if let Some(token) = held.as_ref().filter(|token| !token.is_due()) {
            return Ok(Some(Arc::clone(token)));
        }
        match Box::pin(self.keys.token(&self.place.id, Need::Fresh)).await {
            Ok(token) => {
                self.hold(Arc::clone(&token), false);
                Ok(Some(token))
            }
            // What still holds is used to its end.
            Err(error) => match held.filter(|token| !token.is_over()) {
                Some(token) => Ok(Some(token)),
                None if error.needs_login() => Ok(None),
                None => Err(error),
            },
        }
    }

    fn hold(&self, token: Arc<Token>, after_refusal: bool) {
        self.secrets.add(token.access.expose());
        let mut state = self.state();
        if after_refusal {
            state.unproven = Some(token.generation);
        }
        // What a server wanted in proofs is known to the one that is held.
        let is_same = state.held.as_ref().is_some_and(|held| held.generation == token.generation);
        if !is_same {
            state.held = Some(token);
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a login is of no use, in words; nothing if there was none.
fn words(why: &Error) -> Option<String> {
    match why {
        Error::LoggedOut => None,
        Error::Sealed { hint: Some(hint), .. } => Some(format!("{why} ({hint})")),
        other => Some(other.to_string()),
    }
}

impl Stamp {
    fn generation(&self) -> Option<u64> {
        self.0.as_ref().map(|token| token.generation)
    }
}

fn sensitive(name: HeaderName, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}
