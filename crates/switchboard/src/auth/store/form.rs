//! How a credential looks on disk. Nothing else knows.
//!
//! Version 1 is the credential itself. Version 2 is what may be seen of it, with stars for its secrets, and beside that
//! all of it, sealed. What is used is what was sealed: whoever changes the rest misleads nobody but the reader.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::keyring::{Keyring, NoKey};
use super::seal::Key;
use super::{MOST_BYTES, StoreError};
use crate::auth::kept::{Kept, VERSION};

/// The version of files that are sealed.
const SEALED: u64 = 2;

/// What may be seen of a credential: all but its secrets.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    pub(crate) kept: Kept,
    /// Whether its secrets are sealed.
    pub(crate) is_sealed: bool,
}

/// What all versions have in common.
#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    #[serde(flatten)]
    outline: Kept,
    /// Which key it takes.
    key: String,
    #[serde(rename = "sealed")]
    whole: String,
}

pub(super) fn encode(kept: &Kept, key: Option<&Key>) -> Result<String, String> {
    let json = |error: serde_json::Error| error.to_string();
    let text = match key {
        None => serde_json::to_string_pretty(kept).map_err(json)?,
        Some(key) => {
            let whole = serde_json::to_string(kept).map_err(json)?;
            let sealed = key.seal(&purpose(kept), &whole).ok_or("the login could not be sealed")?;
            let outline = Kept { version: SEALED, ..kept.outline() };
            serde_json::to_string_pretty(&Sealed { outline, key: key.name(), whole: sealed }).map_err(json)?
        }
    } + "\n";
    if text.len() as u64 > MOST_BYTES {
        return Err("the login does not fit into 1 MiB".to_owned());
    }
    Ok(text)
}

pub(super) fn decode(path: &Path, bytes: &[u8], keyring: &Keyring) -> Result<Kept, StoreError> {
    match read(path, bytes)? {
        Form::Open(kept) => Ok(kept),
        Form::Sealed(form) => open(path, &form, keyring),
    }
}

pub(super) fn outline(path: &Path, bytes: &[u8]) -> Result<Outline, StoreError> {
    Ok(match read(path, bytes)? {
        Form::Open(kept) => Outline { kept: kept.outline(), is_sealed: false },
        Form::Sealed(form) => Outline { kept: form.outline, is_sealed: true },
    })
}

enum Form {
    Open(Kept),
    Sealed(Box<Sealed>),
}

fn read(path: &Path, bytes: &[u8]) -> Result<Form, StoreError> {
    // What serde says may repeat a value; where it is says enough.
    let at = |error: serde_json::Error| broken(path, format!("line {} cannot be understood", error.line()));
    if bytes.len() as u64 > MOST_BYTES {
        return Err(broken(path, "it is larger than 1 MiB"));
    }
    let Versioned { version } = serde_json::from_slice(bytes).map_err(at)?;
    let form = match version {
        VERSION => Form::Open(serde_json::from_slice(bytes).map_err(at)?),
        SEALED => Form::Sealed(serde_json::from_slice(bytes).map_err(at)?),
        newer if newer > SEALED => return Err(StoreError::Newer { path: path.to_owned(), version }),
        other => return Err(broken(path, format!("there is no version {other}"))),
    };
    match &form {
        Form::Open(kept) => check(path, kept)?,
        Form::Sealed(form) => check(path, &form.outline)?,
    }
    Ok(form)
}

fn open(path: &Path, form: &Sealed, keyring: &Keyring) -> Result<Kept, StoreError> {
    let closed = |why| StoreError::Sealed { path: path.to_owned(), why };
    let key = keyring.find().map_err(closed)?;
    // Another key is no reason to throw away what the right one would open.
    if key.name() != form.key {
        return Err(closed(NoKey::Unknown));
    }
    let bytes = key.open(&purpose(&form.outline), &form.whole);
    let kept: Option<Kept> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let kept = kept.ok_or_else(|| broken(path, "its seal is broken"))?;
    check(path, &kept).map(|()| kept)
}

/// A file under another name would send a token to where it does not belong.
fn check(path: &Path, kept: &Kept) -> Result<(), StoreError> {
    if path.file_stem().and_then(|stem| stem.to_str()) == Some(&kept.id.key()) {
        Ok(())
    } else {
        Err(broken(path, "it belongs to another credential"))
    }
}

fn purpose(kept: &Kept) -> String {
    format!("switchboard login 2 {}", kept.id.key())
}

fn broken(path: &Path, what: impl Into<String>) -> StoreError {
    StoreError::Broken { path: path.to_owned(), what: what.into(), aside: None }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::super::{Found, Store};
    use super::*;
    use crate::auth::kept::example;
    use crate::config::settings;
    use crate::env::{Env, Os};
    use crate::problem::Explain as _;

    /// Two views of one directory: with this key, and without a keyring.
    fn stores(key: &Key) -> (TempDir, Store, Store) {
        let home = tempfile::tempdir().unwrap();
        let env = Env::new(Os::current(), home.path(), home.path());
        let with = Store::of(&env, Keyring::with(key.clone()));
        let without = Store::of(&env, Keyring::of(&env, settings::Keyring::Auto));
        (home, with, without)
    }

    fn path(store: &Store) -> std::path::PathBuf {
        store.path(&example::kept().id)
    }

    fn text(store: &Store) -> String {
        fs::read_to_string(path(store)).unwrap()
    }

    #[test]
    fn a_sealed_file_shows_whose_it_is_and_no_secret() {
        let key = Key::generate().unwrap();
        let (_home, store, without) = stores(&key);
        let mut value = serde_json::to_value(example::kept()).unwrap();
        value["new"] = json!("secret-new");
        let kept: Kept = serde_json::from_value(value).unwrap();
        store.write(&kept).unwrap();
        assert_eq!(store.read(&kept.id).unwrap(), Some(kept.clone()));
        let text = text(&store);
        assert!(!text.contains("secret-"), "{text}");
        let shown: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&shown["version"], &shown["key"]), (&json!(2), &json!(key.name())));
        let login = &shown["logins"][example::ISSUER];
        assert_eq!((&login["refresh"], &login["granted"]), (&json!("***"), &json!(["read"])));
        // Whoever only looks needs no keyring.
        let outline = without.peek(&kept.id).unwrap().unwrap();
        assert!(outline.is_sealed && outline.kept.login().unwrap().refresh.is_some());
        assert!(matches!(&without.all()[0].found, Found::Kept(outline) if outline.is_sealed));
    }

    #[test]
    fn without_its_key_it_stays_as_it_is() {
        let (_home, store, without) = stores(&Key::generate().unwrap());
        let kept = example::kept();
        store.write(&kept).unwrap();
        let before = text(&store);
        let env = Env::new(Os::current(), "/", "/");
        let other = Store { keyring: Keyring::with(Key::generate().unwrap()), ..store.clone() };
        let off = Store { keyring: Keyring::of(&env, settings::Keyring::Off), ..store.clone() };
        for (closed, why, cure) in [
            (&without, "there is no keyring here", "where your desktop is"),
            (&other, "the keyring does not have it any more", "put the keyring back"),
            (&off, "the setting `login.keyring` is off", "set `login.keyring` to `auto`"),
        ] {
            let error = closed.read(&kept.id).unwrap_err();
            assert_eq!(error.code(), "credential-sealed");
            assert!(error.to_string().ends_with(why), "{error}");
            assert!(error.hint().unwrap().contains(cure), "{:?}", error.hint());
            assert!(matches!(closed.check_seals(), Some(StoreError::Sealed { .. })));
            assert_eq!(closed.read_to_replace(&kept.id).unwrap(), None);
        }
        assert!(store.check_seals().is_none());
        assert_eq!(text(&store), before);
        // A new login takes its place, and the old one is there still.
        without.write(&kept).unwrap();
        assert_eq!(without.read(&kept.id).unwrap(), Some(kept.clone()));
        let aside = path(&store).with_extension("json.broken-1");
        assert_eq!(fs::read_to_string(aside).unwrap(), before);
    }

    #[test]
    fn a_file_of_before_is_read_and_sealed_when_it_is_written() {
        let (_home, store, without) = stores(&Key::generate().unwrap());
        let kept = example::kept();
        without.write(&kept).unwrap();
        assert!(text(&store).contains("secret-refresh"));
        assert_eq!(store.read(&kept.id).unwrap(), Some(kept.clone()));
        assert!(!store.peek(&kept.id).unwrap().unwrap().is_sealed);
        store.write(&kept).unwrap();
        assert!(!text(&store).contains("secret-"));
        assert_eq!(store.read(&kept.id).unwrap(), Some(kept.clone()));
        assert!(store.remove(&kept.id).unwrap());
    }

    #[test]
    fn what_is_used_is_what_was_sealed() {
        let key = Key::generate().unwrap();
        let (_home, store, _) = stores(&key);
        let kept = example::kept();
        store.write(&kept).unwrap();
        let shown: Value = serde_json::from_str(&text(&store)).unwrap();
        let plant = |value: &Value| fs::write(path(&store), value.to_string()).unwrap();
        // Where a token goes is not decided by what stands in the clear.
        let mut elsewhere = shown.clone();
        elsewhere["logins"][example::ISSUER]["tokenEndpoint"] = json!("https://evil.example/token");
        plant(&elsewhere);
        assert_eq!(store.read(&kept.id).unwrap(), Some(kept.clone()));
        // The seal of another credential does not fit.
        let mut other = shown.clone();
        other["sealed"] = json!(key.seal("switchboard login 2 other", "{}").unwrap());
        plant(&other);
        let error = store.read(&kept.id).unwrap_err();
        assert!(error.to_string().contains("its seal is broken"), "{error}");
        assert!(!path(&store).exists(), "it was put aside");
    }
}
