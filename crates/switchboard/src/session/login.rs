//! Logging in to a server of the session, and out.

use std::sync::Arc;

use tracing::Instrument;

use super::Session;
use crate::auth::{self, Facts, Place, Wishes};
use crate::calls::CallError;
use crate::connect::Handle;
use crate::problem::Explain;
use crate::resolve::{self, Target};
use crate::spans;

/// Why there is no login.
#[derive(Debug)]
pub enum NoLogin {
    /// The session has no such server.
    Unknown,
    /// The server takes no login: it is a program, has a credential of its own, or wants none.
    NotThere,
    /// Its values could not be filled in.
    Unresolved(Box<resolve::Error>),
    /// It did not work.
    Failed(Box<auth::Error>),
}

impl std::fmt::Display for NoLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown => f.write_str("there is no such server"),
            Self::NotThere => f.write_str("this server takes no login"),
            Self::Unresolved(error) => error.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NoLogin {}

impl NoLogin {
    fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "server-not-found",
            Self::NotThere => "no-login",
            Self::Unresolved(error) => error.code(),
            Self::Failed(error) => error.code(),
        }
    }
}

impl From<auth::Error> for NoLogin {
    fn from(error: auth::Error) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl Session {
    /// Logs in to a server, with the host's help, and connects to it anew.
    pub async fn login(&self, server: &str, wishes: &Wishes) -> Result<Facts, NoLogin> {
        let watched = spans::login(server);
        let login = self.log_in(server, wishes).instrument(watched.span()).await;
        watched.over(&login, NoLogin::code);
        login
    }

    async fn log_in(&self, server: &str, wishes: &Wishes) -> Result<Facts, NoLogin> {
        let host = Arc::clone(&self.inner.options.host);
        let (handle, place) = self.place(server).await?;
        let challenge = handle.view().status.fault().and_then(|fault| fault.challenge.clone());
        let keys = &self.inner.shared.keys;
        let facts = keys.login(&place, challenge.as_deref(), (&*host, wishes)).await?;
        // A link that stands shows the new token by itself.
        handle.wake().await;
        Ok(facts)
    }

    /// Forgets the login of a server. False if there was none.
    pub async fn logout(&self, server: &str) -> Result<bool, NoLogin> {
        let (handle, place) = self.place(server).await?;
        let was_there = self.inner.shared.keys.forget(&place).await?;
        handle.reconnect().await;
        Ok(was_there)
    }

    /// Logs in because a call was refused, where the host can show a page. True if it is worth calling again: the server
    /// did not look at the call.
    pub(super) async fn login_for(&self, server: &str, error: &CallError) -> bool {
        let host = Arc::clone(&self.inner.options.host);
        if !host.abilities().urls || !error.needs_login() {
            return false;
        }
        let Ok((handle, place)) = Box::pin(self.place(server)).await else { return false };
        let keys = &self.inner.shared.keys;
        let wishes = Wishes::default();
        // Rare and large: every call would carry it along.
        let watched = spans::login(server);
        let login = keys.login_together(&place, error.challenge(), (&*host, &wishes));
        let login = Box::pin(login.instrument(watched.span())).await;
        watched.over(&login, Explain::code);
        let is_in = login.is_ok();
        if is_in {
            handle.wake().await;
        }
        is_in
    }

    pub(super) async fn place(&self, server: &str) -> Result<(Handle, Place), NoLogin> {
        let handle = self.handle(server).ok_or(NoLogin::Unknown)?;
        let launch = handle.recipe().launch().await.map_err(|error| NoLogin::Unresolved(Box::new(error)))?;
        let Target::Remote(address) = &launch.target else { return Err(NoLogin::NotThere) };
        let place = Place::of(server, address).ok_or(NoLogin::NotThere)?;
        Ok((handle, place))
    }
}
