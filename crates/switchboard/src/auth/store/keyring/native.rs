//! The keyrings of macOS and Windows.

#[cfg(target_os = "macos")]
use apple_native_keyring_store::keychain::Store;
use keyring_core::api::CredentialStoreApi as _;
use keyring_core::{Entry, Error};
#[cfg(windows)]
use windows_native_keyring_store::Store;

use super::{NoKey, Place};
use crate::env::Env;
use crate::visible::excerpt;

const SERVICE: &str = "switchboard";
const SHOWN: usize = 120;

/// Whoever has no user has no keyring either. So tests, which have none, use nobody's.
pub(super) fn address(env: &Env) -> Option<String> {
    env.non_empty(if cfg!(windows) { "USERNAME" } else { "USER" }).map(str::to_owned)
}

/// The entry of our key.
pub(super) struct Ring(Entry);

impl Ring {
    pub(super) fn open(place: &Place) -> Result<Self, NoKey> {
        let store = Store::new().map_err(|error| failed(&error))?;
        store.build(SERVICE, &place.home, None).map(Self).map_err(|error| failed(&error))
    }

    pub(super) fn get(&self) -> Result<Option<Vec<u8>>, NoKey> {
        match self.0.get_secret() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    pub(super) fn set(&self, key: &[u8]) -> Result<(), NoKey> {
        self.0.set_secret(key).map_err(|error| failed(&error))
    }
}

fn failed(error: &Error) -> NoKey {
    match error {
        Error::NoStorageAccess(_) => NoKey::Locked,
        other => NoKey::Failed(excerpt(&other.to_string(), SHOWN)),
    }
}
