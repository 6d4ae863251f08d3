//! The keyring of Linux desktops: the Secret Service, over the bus of the session.
//!
//! The bus is the one that the surroundings name, and no other: where none is named there is none, whatever else the
//! system may have. What is locked stays locked: unlocking opens a dialog.

use std::collections::HashMap;

use secret_service::blocking::SecretService;
use secret_service::{EncryptionType, Error};
use zbus::blocking::connection;

use super::{NoKey, PATIENCE, Place};
use crate::env::Env;
use crate::visible::excerpt;

const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";
const SHOWN: usize = 120;

/// A bus that would have to be started first, or is not on this machine, is none of ours.
pub(super) fn address(env: &Env) -> Option<String> {
    env.non_empty(BUS).filter(|address| address.starts_with("unix:")).map(str::to_owned)
}

/// An open keyring, and what our key is called there.
pub(super) struct Ring {
    service: SecretService<'static>,
    home: String,
}

impl Ring {
    pub(super) fn open(place: &Place) -> Result<Self, NoKey> {
        let bus = connection::Builder::address(place.address.as_str())
            .and_then(|builder| builder.method_timeout(PATIENCE).build())
            .map_err(|_| NoKey::NoKeyring)?;
        let service =
            SecretService::connect_with_existing(EncryptionType::Dh, bus).map_err(|error| why(&error))?;
        Ok(Self { service, home: place.home.clone() })
    }

    pub(super) fn get(&self) -> Result<Option<Vec<u8>>, NoKey> {
        let found = self.service.search_items(self.attributes()).map_err(|error| why(&error))?;
        match found.unlocked.first() {
            Some(item) => item.get_secret().map(Some).map_err(|error| why(&error)),
            None if !found.locked.is_empty() => Err(NoKey::Locked),
            None => Ok(None),
        }
    }

    pub(super) fn set(&self, key: &[u8]) -> Result<(), NoKey> {
        // One that forgets everything at the next login, such as `session`, would be worse than none.
        let collection = self.service.get_default_collection().map_err(|error| why(&error))?;
        if collection.is_locked().map_err(|error| why(&error))? {
            return Err(NoKey::Locked);
        }
        let label = format!("Switchboard: key to the logins in {}", self.home);
        let kind = "application/octet-stream";
        let made = collection.create_item(&label, self.attributes(), key, true, kind);
        made.map(drop).map_err(|error| why(&error))
    }

    fn attributes(&self) -> HashMap<&str, &str> {
        HashMap::from([("application", "switchboard"), ("home", self.home.as_str())])
    }
}

fn why(error: &Error) -> NoKey {
    match error {
        Error::Locked | Error::Prompt | Error::PromptDisconnected => NoKey::Locked,
        // Nobody answers to the name, or nobody made a keyring yet.
        Error::Unavailable | Error::NoResult => NoKey::NoKeyring,
        Error::Zbus(zbus::Error::MethodError(name, ..))
            if name.as_str() == "org.freedesktop.DBus.Error.ServiceUnknown" =>
        {
            NoKey::NoKeyring
        }
        other => NoKey::Failed(excerpt(&other.to_string(), SHOWN)),
    }
}
