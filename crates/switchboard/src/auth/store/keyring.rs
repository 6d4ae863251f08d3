//! The keyring of the system, as far as logins need it: one key for each directory of ours.
//!
//! In: the surroundings, which say where the keyring is. Out: the key, or why there is none. The key is looked for when
//! it is needed and then kept in memory, so that a keyring that goes away meanwhile loses no token. Nothing here opens a
//! dialog: a keyring that is locked counts as one that is not there.

#[cfg(all(feature = "keyring", any(target_os = "macos", windows)))]
mod native;
#[cfg(not(feature = "keyring"))]
mod none;
#[cfg(all(feature = "keyring", unix, not(target_vendor = "apple")))]
mod secret_service;

use std::fmt;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

#[cfg(all(feature = "keyring", any(target_os = "macos", windows)))]
use self::native as system;
#[cfg(not(feature = "keyring"))]
use self::none as system;
#[cfg(all(feature = "keyring", unix, not(target_vendor = "apple")))]
use self::secret_service as system;
use super::seal::Key;
use crate::config::settings;
use crate::env::Env;

/// A keyring that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(5);

/// The keyring of the system. Clones share what was learnt of it.
#[derive(Debug, Clone)]
pub(crate) struct Keyring {
    place: Result<Place, NoKey>,
    // Held while the keyring is asked: whoever else wants the key waits for the same answer. Only threads that may wait
    // come here.
    known: Arc<Mutex<Known>>,
}

/// Where a key is kept.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// How the keyring is reached.
    #[cfg_attr(
        not(all(feature = "keyring", unix, not(target_vendor = "apple"))),
        expect(dead_code, reason = "the others are where the system says")
    )]
    address: String,
    /// What the key is kept under.
    #[cfg_attr(not(feature = "keyring"), expect(dead_code, reason = "nobody asks"))]
    home: String,
}

#[derive(Debug, Default)]
enum Known {
    /// Nobody asked yet, or there was no key when somebody did.
    #[default]
    Nothing,
    Key(Key),
    /// It did not answer. Nobody waits for it again.
    Silent,
}

/// Why there is no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// The user does not want the keyring to be used.
    Off,
    /// There is no keyring.
    NoKeyring,
    /// There is one, and it is locked.
    #[cfg_attr(not(feature = "keyring"), expect(dead_code, reason = "where there is none, none is locked"))]
    Locked,
    /// It does not answer.
    Silent,
    /// It has no key of ours, or another one.
    Unknown,
    /// It failed.
    Failed(String),
}

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("the setting `login.keyring` is off"),
            Self::NoKeyring => f.write_str("there is no keyring here"),
            Self::Locked => f.write_str("the keyring is locked"),
            Self::Silent => f.write_str("the keyring does not answer"),
            Self::Unknown => f.write_str("the keyring does not have it any more"),
            Self::Failed(why) => write!(f, "the keyring failed: {why}"),
        }
    }
}

/// What is asked of the keyring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ask {
    /// The key, if there is one.
    Find,
    /// The key; a new one if there is none.
    Make,
}

impl Keyring {
    /// The keyring of these surroundings.
    pub(crate) fn of(env: &Env, wish: settings::Keyring) -> Self {
        let place = match (wish, system::address(env)) {
            (settings::Keyring::Off, _) => Err(NoKey::Off),
            (settings::Keyring::Auto, None) => Err(NoKey::NoKeyring),
            (settings::Keyring::Auto, Some(address)) => {
                Ok(Place { address, home: env.switchboard_home().to_string_lossy().into_owned() })
            }
        };
        Self { place, known: Arc::default() }
    }

    /// A keyring that has this key.
    #[cfg(test)]
    pub(super) fn with(key: Key) -> Self {
        let place = Place { address: String::new(), home: String::new() };
        Self { place: Ok(place), known: Arc::new(Mutex::new(Known::Key(key))) }
    }

    /// The key that something was sealed with. May wait.
    pub(super) fn find(&self) -> Result<Key, NoKey> {
        self.ask(Ask::Find)
    }

    /// The key to seal with, made if need be. Two at once would make two: whoever calls holds a lock. May wait.
    pub(super) fn make(&self) -> Result<Key, NoKey> {
        self.ask(Ask::Make)
    }

    fn ask(&self, ask: Ask) -> Result<Key, NoKey> {
        let place = self.place.clone()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Known::Key(key) => return Ok(key.clone()),
            Known::Silent => return Err(NoKey::Silent),
            Known::Nothing => {}
        }
        let asked = in_time(move || key(&place, ask));
        match &asked {
            Ok(key) => *known = Known::Key(key.clone()),
            Err(NoKey::Silent) => *known = Known::Silent,
            Err(_) => {}
        }
        asked
    }
}

fn key(place: &Place, ask: Ask) -> Result<Key, NoKey> {
    let read = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| Key::from_bytes(&bytes));
    let ring = system::Ring::open(place)?;
    match (read(ring.get()?), ask) {
        (Some(key), _) => Ok(key),
        (None, Ask::Find) => Err(NoKey::Unknown),
        (None, Ask::Make) => {
            let failed = || NoKey::Failed("no random numbers".to_owned());
            let key = Key::generate().ok_or_else(failed)?;
            ring.set(key.as_bytes())?;
            // What takes a key and does not give it back is no keyring.
            let kept = read(ring.get()?).filter(|kept| *kept == key);
            kept.ok_or_else(|| NoKey::Failed("it does not keep what it is given".to_owned()))
        }
    }
}

/// What a thread of its own finds out. One that never does is left behind: a call over the bus cannot be taken back.
fn in_time(work: impl FnOnce() -> Result<Key, NoKey> + Send + 'static) -> Result<Key, NoKey> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let started = thread::Builder::new().name("keyring".to_owned()).spawn(move || drop(sender.send(work())));
    if let Err(error) = started {
        return Err(NoKey::Failed(error.to_string()));
    }
    match receiver.recv_timeout(PATIENCE) {
        Ok(found) => found,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(NoKey::Silent),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(NoKey::Failed("it stopped".to_owned())),
    }
}
