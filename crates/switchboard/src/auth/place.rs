//! A server as far as its login is concerned, and what the user wishes for it.

use std::fmt;

use url::Url;

use super::error::Error;
use super::gate::Gate;
use super::kept::CredentialId;
use crate::redact;
use crate::resolve::{Account, Address};

/// A server to log in to.
#[derive(Clone)]
pub struct Place {
    /// Its configured name.
    pub server: String,
    /// Its address, as dialled.
    pub url: Url,
    /// Which login is meant.
    pub(crate) id: CredentialId,
    /// What the entry says.
    pub account: Account,
}

impl Place {
    /// The place of a server at an address; none if its entry wants no login.
    pub fn of(server: &str, address: &Address) -> Option<Self> {
        let account = address.account.clone()?;
        let id = match &account.credential_id {
            Some(name) => CredentialId::named(name),
            None => CredentialId::of_url(&address.url),
        };
        Some(Self { server: server.to_owned(), url: address.url.clone(), id, account })
    }

    /// Whether a token may go there.
    pub(super) fn check_encrypted(&self) -> Result<(), Error> {
        match Gate::of(&self.url).page(&self.url) {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::ClearText { url: redact::url(self.url.as_str()) }),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("server", &self.server).finish_non_exhaustive()
    }
}
