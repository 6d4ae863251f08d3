//! The key that logins are sealed with, and the sealing. Pure, but for the random numbers.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, MAX_TAG_LEN, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::rand;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::digest;
use crate::redact::STARS;

const LENGTH: usize = 32;
/// Characters of a key's name: enough to tell two apart, and nothing to find the key by.
const NAME: usize = 16;

/// What seals logins. Shows itself to nobody.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key([u8; LENGTH]);

impl Key {
    pub(super) fn generate() -> Option<Self> {
        let mut bytes = [0; LENGTH];
        rand::fill(&mut bytes).ok().map(|()| Self(bytes))
    }

    /// A key as the keyring gave it back.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(super) const fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Which key it is, for whoever has several.
    pub(super) fn name(&self) -> String {
        digest::hex(&[b"switchboard key ".as_slice(), &self.0].concat()).chars().take(NAME).collect()
    }

    /// Seals a text for a purpose.
    pub(super) fn seal(&self, purpose: &str, text: &str) -> Option<String> {
        let key = RandomizedNonceKey::new(&AES_256_GCM, &self.0).ok()?;
        let mut sealed = text.as_bytes().to_vec();
        let nonce = key.seal_in_place_append_tag(Aad::from(purpose), &mut sealed).ok()?;
        Some(STANDARD.encode([nonce.as_ref().as_slice(), &sealed].concat()))
    }

    /// The text that was sealed for a purpose, if it was this key and nobody changed anything.
    pub(super) fn open(&self, purpose: &str, sealed: &str) -> Option<Vec<u8>> {
        let bytes = STANDARD.decode(sealed).ok().filter(|bytes| bytes.len() >= NONCE_LEN + MAX_TAG_LEN)?;
        let (nonce, rest) = bytes.split_at(NONCE_LEN);
        let key = RandomizedNonceKey::new(&AES_256_GCM, &self.0).ok()?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = rest.to_vec();
        let length = key.open_in_place(nonce, Aad::from(purpose), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({STARS})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_and_the_purpose_open_it() {
        let key = Key::generate().unwrap();
        let sealed = key.seal("one", "a secret text").unwrap();
        assert_eq!(key.open("one", &sealed).unwrap(), b"a secret text");
        assert_ne!(sealed, key.seal("one", "a secret text").unwrap(), "each time another");
        assert_eq!(key.open("two", &sealed), None);
        let other = Key::generate().unwrap();
        assert_eq!(other.open("one", &sealed), None);
        assert_ne!(key.name(), other.name());
        assert_eq!(Key::from_bytes(key.as_bytes()), Some(key.clone()));
        assert_eq!(Key::from_bytes(b"short"), None);
        assert_eq!(format!("{key:?}"), "Key(***)");
    }

    #[test]
    fn what_was_changed_does_not_open() {
        let key = Key::generate().unwrap();
        let sealed = STANDARD.decode(key.seal("one", "text").unwrap()).unwrap();
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert_eq!(key.open("one", &STANDARD.encode(&changed)), None);
            assert_eq!(key.open("one", &STANDARD.encode(&sealed[..index])), None);
        }
        assert_eq!(key.open("one", "no base64!"), None);
    }
}
