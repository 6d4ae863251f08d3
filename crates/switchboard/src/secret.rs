//! Secret values that are in use, and texts without them.
//!
//! In: values nobody may see, and any text. Out: the text with each of them replaced, also where it stands there
//! percent-encoded, in base64 or escaped as in JSON. It hides what it was told of and guesses nothing; guessing is
//! for [`crate::redact`].

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use crate::redact::STARS;

/// A shorter value occurs everywhere by chance; replacing it would hide nothing and tear every text.
const SHORTEST: usize = 4;
/// A line of a longer secret, such as a private key, is one itself from here on.
const SHORTEST_LINE: usize = 8;
/// Stars put in can complete a secret that has stars in it. Nobody has one; somebody may try.
const MOST_ROUNDS: usize = 8;

/// The secret values in use. Clones share them: a token that is renewed later is hidden by whoever holds a clone.
// Written when a value is filled in or renewed, read when a text is shown; never held across a wait.
#[derive(Clone, Default)]
pub struct Secrets(Arc<RwLock<Known>>);

#[derive(Default)]
struct Known {
    values: BTreeSet<String>,
    /// Every spelling to look for.
    spellings: BTreeSet<String>,
}

impl Secrets {
    /// Adds a value, and the token alone if the value is one after its scheme, as in `Bearer abc`.
    pub fn add(&self, value: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).add(value);
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.known().values.is_empty()
    }

    /// The text without any of them.
    pub fn scrub<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.known().scrub(text)
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn add(&mut self, value: &str) {
        let value = value.trim();
        if value.chars().count() < SHORTEST || !self.values.insert(value.to_owned()) {
            return;
        }
        self.spellings.insert(value.to_owned());
        self.spellings.extend(in_base64(value.as_bytes()));
        let lines = value.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE);
        for line in lines.filter(|line| line.len() < value.len()) {
            self.spellings.insert(line.to_owned());
        }
        let Some((scheme, token)) = value.split_once(' ') else { return };
        if !scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) || token.contains(' ') {
            return;
        }
        self.add(token);
        if scheme.eq_ignore_ascii_case("basic")
            && let Some(login) = STANDARD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok())
        {
            let password = login.split_once(':').map(|(_, password)| password.to_owned());
            self.add(&login);
            self.add(&password.unwrap_or_default());
        }
    }

    fn scrub<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut scrubbed = Cow::Borrowed(text);
        if self.values.is_empty() {
            return scrubbed;
        }
        let index = Index::of(&self.spellings);
        for _ in 0..MOST_ROUNDS {
            match index.without(&scrubbed) {
                Some(rest) => scrubbed = Cow::Owned(rest),
                None => return scrubbed,
            }
        }
        Cow::Borrowed(STARS)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.known().values.len())
    }
}

/// The spellings by their first byte, so that most of a text is passed over.
struct Index<'a> {
    all: Vec<&'a str>,
    by_first: Vec<Vec<&'a str>>,
}

impl<'a> Index<'a> {
    fn of(spellings: &'a BTreeSet<String>) -> Self {
        let all: Vec<&str> = spellings.iter().map(String::as_str).collect();
        let mut by_first = vec![Vec::new(); 256];
        for spelling in &all {
            let first = spelling.bytes().next().unwrap_or_default();
            by_first[usize::from(first)].push(*spelling);
        }
        Self { all, by_first }
    }

    /// The text with stars for every stretch that secrets cover; nothing if there is none.
    fn without(&self, text: &str) -> Option<String> {
        let mut stretches: Vec<(usize, usize)> = Vec::new();
        for start in 0..text.len() {
            let Some(length) = self.longest(&text.as_bytes()[start..]) else { continue };
            let end = start + length;
            if !text.is_char_boundary(start) || !text.is_char_boundary(end) {
                continue;
            }
            match stretches.last_mut() {
                // What overlaps is hidden as one, so that no tail of either is left.
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                Some(_) | None => stretches.push((start, end)),
            }
        }
        if stretches.is_empty() {
            return None;
        }
        let mut rest = String::with_capacity(text.len());
        let mut shown = 0;
        for (start, end) in stretches {
            rest.push_str(&text[shown..start]);
            rest.push_str(STARS);
            shown = end;
        }
        rest.push_str(&text[shown..]);
        Some(rest)
    }

    /// How much of the text's beginning is a secret.
    fn longest(&self, text: &[u8]) -> Option<usize> {
        let candidates = match text.first()? {
            // Any byte may be behind these.
            b'%' | b'\\' => &self.all,
            first => &self.by_first[usize::from(*first)],
        };
        let length = |spelling: &&str| {
            let raw = text.starts_with(spelling.as_bytes()).then_some(spelling.len());
            raw.max(percent_encoded(text, spelling)).max(escaped(text, spelling))
        };
        candidates.iter().filter_map(length).max()
    }
}

/// The value in both alphabets of base64: alone, and what stays the same wherever it stands inside something longer.
fn in_base64(value: &[u8]) -> Vec<String> {
    let mut spellings: Vec<String> =
        [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].iter().map(|way| way.encode(value)).collect();
    // A digit is six bits, so those at the ends also hold bits of what stands before and after.
    for (n_before, touched) in [(0, 0), (1, 2), (2, 3)] {
        let mut bytes = vec![0; n_before];
        bytes.extend_from_slice(value);
        let whole_digits = bytes.len() * 8 / 6;
        for way in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            spellings.extend(way.encode(&bytes).get(touched..whole_digits).map(str::to_owned));
        }
    }
    spellings.retain(|spelling| spelling.len() >= SHORTEST);
    spellings
}

/// The length of the secret at the start of a text in which any byte may be written as `%41`.
fn percent_encoded(text: &[u8], secret: &str) -> Option<usize> {
    let mut at = 0;
    for byte in secret.bytes() {
        match text.get(at)? {
            b'%' if number(text.get(at + 1..at + 3)?)? == u32::from(byte) => at += 3,
            // A percent sign by itself does not occur where it has a meaning.
            b'%' => return None,
            b'+' if byte == b' ' => at += 1,
            raw if *raw == byte => at += 1,
            _ => return None,
        }
    }
    Some(at)
}

/// The length of the secret at the start of a text in which any character may be written as in JSON.
fn escaped(text: &[u8], secret: &str) -> Option<usize> {
    let mut at = 0;
    for c in secret.chars() {
        if text.get(at)? == &b'\\' {
            let (found, length) = escape(&text[at..])?;
            if found != c {
                return None;
            }
            at += length;
        } else {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).as_bytes();
            if !text[at..].starts_with(bytes) {
                return None;
            }
            at += bytes.len();
        }
    }
    Some(at)
}

/// The character behind a backslash, and how long it is written.
fn escape(text: &[u8]) -> Option<(char, usize)> {
    let plain = match text.get(1)? {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let high = number(text.get(2..6)?)?;
            if let Some(c) = char::from_u32(high) {
                return Some((c, 6));
            }
            let low = text.get(6..8)?.starts_with(b"\\u").then(|| number(text.get(8..12)?))??;
            let pair = 0x10000 + (high.checked_sub(0xd800)? << 10) + low.checked_sub(0xdc00)?;
            return Some((char::from_u32(pair)?, 12));
        }
        other => char::from(*other),
    };
    Some((plain, 2))
}

/// Hexadecimal digits of either case as a number.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        let secrets = Secrets::default();
        for value in values {
            secrets.add(value);
        }
        secrets
    }

    fn percent(text: &str) -> String {
        let keep = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
        text.bytes()
            .map(|byte| if keep(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect()
    }

    fn json(text: &str) -> String {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    }

    /// Every code unit as `\u0041`.
    fn units(text: &str) -> String {
        text.encode_utf16().fold(String::new(), |text, unit| format!("{text}\\u{unit:04x}"))
    }

    #[test]
    fn each_encoding_is_hidden() {
        let secret = "p/ss \"wörd\"+%41\\🚀";
        let ways = [
            secret.to_owned(),
            percent(secret),
            percent(secret).to_lowercase(),
            percent(secret).replace("%20", "+").replace("%2F", "/"),
            json(secret),
            units(secret),
            STANDARD.encode(secret),
            URL_SAFE_NO_PAD.encode(secret),
        ];
        for way in ways {
            assert_eq!(secrets(&[secret]).scrub(&format!("a {way} b")), "a *** b", "{way}");
        }
    }

    #[test]
    fn a_secret_inside_something_longer_is_hidden_in_base64_too() {
        for login in ["me:hunter2hunter2", "you:hunter2hunter2!", "a:hunter2hunter2:b"] {
            let shown = secrets(&["hunter2hunter2"]).scrub(&STANDARD.encode(login)).into_owned();
            let read = STANDARD.decode(shown.replace(STARS, "AAAA")).unwrap_or_default();
            assert!(shown.contains(STARS) && !String::from_utf8_lossy(&read).contains("hunter"), "{shown}");
        }
    }

    #[test]
    fn the_token_of_a_header_is_a_secret_by_itself() {
        let known = secrets(&["Bearer abcdef", "Basic bWU6aHVudGVyMg=="]);
        assert_eq!(known.scrub("token abcdef, login me:hunter2"), "token ***, login ***");
        assert_eq!(known.scrub("the password hunter2"), "the password ***");
        assert_eq!(known.scrub("Bearer of news"), "Bearer of news");
    }

    #[test]
    fn overlapping_secrets_leave_no_tail() {
        assert_eq!(secrets(&["abcd", "abcdef", "efgh"]).scrub("xabcdefghx"), "x***x");
        assert_eq!(secrets(&["abcd", "cdef"]).scrub("abcdef"), "***");
    }

    #[test]
    fn a_line_of_a_key_is_a_secret() {
        assert_eq!(secrets(&["-----BEGIN-----\nMIIEvQIBADAN\n"]).scrub("near MIIEvQIBADAN"), "near ***");
    }

    #[test]
    fn nothing_to_hide_costs_nothing() {
        assert!(matches!(Secrets::default().scrub("text"), Cow::Borrowed("text")));
        assert!(matches!(secrets(&["hunter2"]).scrub("text"), Cow::Borrowed("text")));
        assert!(secrets(&["", "abc", " ab "]).is_empty());
        assert_eq!(format!("{:?}", secrets(&["hunter2"])), "Secrets(1)");
    }

    #[test]
    fn stars_in_a_secret_do_not_bring_it_back() {
        let known = secrets(&["hunter2", "***a", "****"]);
        for text in ["hunter2a", "hunter2hunter2", "hunter2*", &format!("hunter2{}", "a".repeat(1000))] {
            let shown = known.scrub(text);
            assert!(!shown.contains("***a") && !shown.contains("****"), "{shown}");
        }
    }

    proptest! {
        #[test]
        fn no_secret_is_left_in_any_encoding(
            values in prop::collection::vec("[a-zA-Z0-9*%+/\\\\\"= \\n\u{e9}\u{1f680}-]{1,12}", 1..5),
            between in prop::collection::vec("[ -~\u{e9}]{0,8}", 12),
            order in prop::collection::vec((0_usize..5, 0_usize..7), 1..12),
        ) {
            let borrowed: Vec<&str> = values.iter().map(String::as_str).collect();
            let known = secrets(&borrowed);
            let encode = |value: &str, way: usize| match way {
                0 => value.to_owned(),
                1 => percent(value),
                2 => json(value),
                3 => STANDARD.encode(value),
                4 => URL_SAFE.encode(value),
                5 => URL_SAFE_NO_PAD.encode(value),
                _ => units(value),
            };
            let mut text = String::new();
            for (index, (value, way)) in order.iter().enumerate() {
                text.push_str(&between[index]);
                text.push_str(&encode(values[value % values.len()].trim(), *way));
            }
            let shown = known.scrub(&text);
            for value in values.iter().map(|value| value.trim()).filter(|value| value.chars().count() >= 4) {
                for way in 0..7 {
                    prop_assert!(!shown.contains(&encode(value, way)), "{:?} in {:?}", value, shown);
                }
            }
        }
    }
}
