//! JSON text as it came, kept without copying: what nobody asks for is never taken apart, and what is passed on is
//! passed on as it was.

use std::fmt;

use bytes::Bytes;
use memchr::{memchr, memmem};
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// In longer texts it is cheaper to look for the letters of a key before anything is taken apart.
const WORTH_A_LOOK: usize = 512;

/// One JSON value, unparsed. Cloning shares the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Bytes);

impl Json {
    /// The text `null`.
    pub const fn null() -> Self {
        Self(Bytes::from_static(b"null"))
    }

    /// Text that is known to be JSON.
    pub(crate) const fn from_static(text: &'static str) -> Self {
        Self(Bytes::from_static(text.as_bytes()))
    }

    /// A part of a message that was already read as JSON; the bytes are shared with the message.
    pub fn within(message: &Bytes, part: &RawValue) -> Self {
        Self(message.slice_ref(part.get().as_bytes()))
    }

    /// Checks that the text is one JSON value.
    pub fn from_text(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let text = text.into();
        serde_json::from_str::<&RawValue>(&text)?;
        Ok(Self(Bytes::from(text)))
    }

    /// The same of bytes, which are shared.
    pub fn from_bytes(bytes: &Bytes) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_slice(bytes)?;
        Ok(Self::within(bytes, raw))
    }

    /// The value as text.
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(|text| Self(Bytes::from(text)))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // Only text that was read as JSON comes in, and JSON is UTF-8.
        std::str::from_utf8(&self.0).unwrap_or("null")
    }

    /// Number of bytes of the text.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the text has no bytes, which no JSON value has.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is the same text at the same place in memory: cheaper than comparing, and true for clones.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq::<[u8]>(self.0.as_ref(), other.0.as_ref())
    }

    /// Whether these words are anywhere in the text: cheaper than taking it apart.
    pub fn mentions(&self, words: &str) -> bool {
        memmem::find(&self.0, words.as_bytes()).is_some()
    }

    /// Takes it apart as a type that borrows from it.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// Takes it apart as a type of its own.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// The value as a tree; `null` for what nests deeper than any reader allows.
    pub fn value(&self) -> Value {
        self.parse().unwrap_or(Value::Null)
    }

    /// The same text in memory of its own: a small part of a large message does not keep all of it.
    #[must_use]
    pub(crate) fn apart(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// The fields of an object, in order; nothing for what is no object.
    pub fn fields(&self) -> Vec<(String, Self)> {
        fields(self)
    }

    /// The value under a key of an object. Of a key that comes twice the last one counts.
    pub fn get(&self, key: &str) -> Option<Self> {
        if self.len() > WORTH_A_LOOK && !self.may_have(key) {
            return None;
        }
        let [value] = object(self.as_str(), [key])?;
        value.map(|value| self.part(value))
    }

    /// Whether a key can be in it. A letter may also be written as its number, and a slash with a backslash before it.
    fn may_have(&self, key: &str) -> bool {
        self.mentions(key)
            || self.mentions("\\u")
            || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
    }

    /// The bytes of the text.
    pub const fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// The values of a list; nothing for what is none.
    pub fn items(&self) -> Option<Vec<Self>> {
        Some(list(self.as_str())?.into_iter().map(|item| self.part(item)).collect())
    }

    /// The text it stands for; nothing for what is no string.
    pub fn text(&self) -> Option<String> {
        string(self.read().ok()?)
    }

    /// An object with these fields, in this order.
    pub fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let fields: Vec<(&str, Self)> = fields.into_iter().collect();
        // Long texts are copied once, into a place that is large enough.
        let length = fields.iter().map(|(name, value)| name.len() + value.len() + 8).sum::<usize>();
        let mut text = Vec::with_capacity(length + 2);
        text.push(b'{');
        for (name, value) in fields {
            if text.len() > 1 {
                text.push(b',');
            }
            // Writing a string into memory cannot fail.
            let _infallible = serde_json::to_writer(&mut text, name);
            text.push(b':');
            text.extend_from_slice(&value.0);
        }
        text.push(b'}');
        Self(Bytes::from(text))
    }

    /// A list of these.
    pub fn list<'a>(items: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut text = vec![b'['];
        for item in items {
            if text.len() > 1 {
                text.push(b',');
            }
            text.extend_from_slice(&item.0);
        }
        text.push(b']');
        Self(Bytes::from(text))
    }

    /// The same object with a field set, in its place if it is there, else at the end.
    #[must_use]
    pub fn with(&self, key: &str, value: Self) -> Self {
        let mut fields = self.fields();
        match fields.iter_mut().rev().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => fields.push((key.to_owned(), value)),
        }
        Self::object(fields.iter().map(|(name, value)| (name.as_str(), value.clone())))
    }

    /// The same object without a field.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        if !self.may_have(key) {
            return self.clone();
        }
        let fields = self.fields();
        let kept = fields.iter().filter(|(name, _)| name != key);
        Self::object(kept.map(|(name, value)| (name.as_str(), value.clone())))
    }

    /// A part of it, sharing the bytes.
    #[must_use]
    pub fn part(&self, part: &RawValue) -> Self {
        Self::within(&self.0, part)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self(Bytes::from(value.to_string()))
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = self.read().map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: Box<RawValue> = Deserialize::deserialize(deserializer)?;
        Ok(Self(Bytes::from(String::from(Box::<str>::from(raw)))))
    }
}

// Readers of what others wrote: each takes what it can use and says nothing of the rest, which stays in the text.

/// The values under the given keys; nothing when the text is no object. Of a key that comes twice the last one counts.
pub(crate) fn object<'a, const N: usize>(
    text: &'a str,
    keys: [&str; N],
) -> Option<[Option<&'a RawValue>; N]> {
    let pick = Pick { keys, list: None };
    serde_json::Deserializer::from_str(text).deserialize_map(pick).ok().map(|(found, _)| found)
}

/// The fields of an object, in order; nothing for what is no object.
pub(crate) fn fields(object: &Json) -> Vec<(String, Json)> {
    struct Fields<'a>(Vec<(String, &'a RawValue)>);
    impl<'de> Deserialize<'de> for Fields<'de> {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visit;
            impl<'de> serde::de::Visitor<'de> for Visit {
                type Value = Fields<'de>;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<Self::Value, A::Error> {
                    let mut fields = Vec::new();
                    while let Some(entry) = map.next_entry()? {
                        fields.push(entry);
                    }
                    Ok(Fields(fields))
                }
            }
            deserializer.deserialize_map(Visit)
        }
    }
    let Ok(Fields(fields)) = object.read::<Fields<'_>>() else { return Vec::new() };
    fields.into_iter().map(|(name, value)| (name, object.part(value))).collect()
}

/// As [`object`], with the elements of one list in it found on the way, so that a long one is walked through once less.
/// Nothing also when the list is missing or is none.
pub(crate) fn object_with_list<'a, const N: usize>(
    text: &'a str,
    keys: [&str; N],
    list: &str,
) -> Option<([Option<&'a RawValue>; N], Vec<&'a RawValue>)> {
    let pick = Pick { keys, list: Some(list) };
    let (found, list) = serde_json::Deserializer::from_str(text).deserialize_map(pick).ok()?;
    Some((found, list?))
}

/// The values of a list; nothing when the text is no list.
pub(crate) fn list(text: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(text).ok()
}

/// A string. Half of a character, as JavaScript leaves it where it cuts a text, becomes a replacement character.
pub(crate) fn string(value: &RawValue) -> Option<String> {
    let mut rest = value.get().strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let (character, after) = unescaped(&rest[at + 1..])?;
        text.push(character);
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

/// What stands for itself after a backslash, and what comes after that.
fn unescaped(text: &str) -> Option<(char, &str)> {
    let character = match text.as_bytes().first()? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let (first, rest) = unit(text)?;
            // Characters beyond the first plane come in two halves.
            if let Some((second, rest)) = rest.strip_prefix('\\').and_then(unit)
                && let Some(Ok(whole)) = char::decode_utf16([first, second]).next()
                && (0xd800..0xdc00).contains(&first)
            {
                return Some((whole, rest));
            }
            return Some((char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER), rest));
        }
        other @ (b'"' | b'\\' | b'/') => char::from(*other),
        _ => return None,
    };
    Some((character, &text[1..]))
}

/// The number after the `u` of an escape.
fn unit(text: &str) -> Option<(u16, &str)> {
    let digits = text.strip_prefix('u')?;
    Some((u16::from_str_radix(digits.get(..4)?, 16).ok()?, &digits[4..]))
}

/// A number that is whole and not negative, also when it is written as `5.0`.
pub(crate) fn count(value: &RawValue) -> Option<u64> {
    serde_json::from_str(value.get()).ok().or_else(|| whole(serde_json::from_str(value.get()).ok()?))
}

/// The float as a whole number, if it is one.
fn whole(float: f64) -> Option<u64> {
    (float >= 0.0 && float.fract() == 0.0).then(|| format!("{float:.0}").parse().ok()).flatten()
}

/// Whether it is `true`, and no word or number that might mean it.
pub(crate) fn is_true(value: &RawValue) -> bool {
    value.get() == "true"
}

/// Whether it is an object.
pub(crate) fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}

/// Picks the values of some keys, and the elements under another, and walks past the rest.
struct Pick<'k, const N: usize> {
    keys: [&'k str; N],
    list: Option<&'k str>,
}

/// What a key is.
enum Place {
    Wanted(usize),
    List,
    Other,
}

impl<'de, const N: usize> Visitor<'de> for Pick<'_, N> {
    type Value = ([Option<&'de RawValue>; N], Option<Vec<&'de RawValue>>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut found, mut list) = ([None; N], None);
        while let Some(place) = map.next_key_seed(PlaceOf(&self))? {
            match place {
                Place::Wanted(place) => found[place] = Some(map.next_value()?),
                Place::List => list = Some(map.next_value()?),
                Place::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok((found, list))
    }
}

/// Reads a key without making a string of it.
struct PlaceOf<'k, const N: usize>(&'k Pick<'k, N>);

impl<'de, const N: usize> DeserializeSeed<'de> for PlaceOf<'_, N> {
    type Value = Place;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<const N: usize> Visitor<'_> for PlaceOf<'_, N> {
    type Value = Place;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let place = self.0.keys.iter().position(|wanted| *wanted == key).map(Place::Wanted);
        let other = || if self.0.list == Some(key) { Place::List } else { Place::Other };
        Ok(place.unwrap_or_else(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn an_object_is_read_by_its_keys() {
        let text = r#"{"b":1,"a":{"b":2},"\u0061":3,"c":null,"b":[]}"#;
        let found = object(text, ["a", "b", "c", "d"]).unwrap().map(|value| value.map(RawValue::get));
        assert_eq!(found, [Some("3"), Some("[]"), Some("null"), None]);
        for other in ["[]", "null", "1", "\"a\"", "{", ""] {
            assert!(object(other, ["a"]).is_none(), "{other}");
        }
        let text = r#"{"a":1,"b":[2,{}],"c":{"b":3}}"#;
        let ([a], inside) = object_with_list(text, ["a"], "b").unwrap();
        assert_eq!((a.map(RawValue::get), inside.len()), (Some("1"), 2));
        assert!(object_with_list(text, ["a"], "c").is_none() && object_with_list(text, ["a"], "d").is_none());
        assert_eq!(list("[1, {}]").unwrap().len(), 2);
        assert!(list("{}").is_none());
    }

    #[test]
    fn a_value_is_what_it_is_written_as() {
        assert_eq!(string(raw(r#""a\u00e9""#)).as_deref(), Some("aé"));
        assert_eq!(
            string(raw(r#""\"\\\/\b\f\n\r\t\u0041\ud83d\ude00""#)).as_deref(),
            Some("\"\\/\u{8}\u{c}\n\r\tA😀")
        );
        assert_eq!(string(raw(r#""cut \ud83d""#)).as_deref(), Some("cut \u{fffd}"));
        assert_eq!(string(raw(r#""\ud83d\u0041\ude00""#)).as_deref(), Some("\u{fffd}A\u{fffd}"));
        assert_eq!(string(raw("1")), None);
        assert_eq!(string(raw("[1]")), None);
        let counts =
            ["5", "5.0", "1e3", "0", "-1", "1.5", "\"5\"", "null", "1e300"].map(|text| count(raw(text)));
        assert_eq!(counts, [Some(5), Some(5), Some(1000), Some(0), None, None, None, None, None]);
        assert!(is_true(raw("true")) && !is_true(raw("\"true\"")) && !is_true(raw("1")));
    }

    proptest! {
        #[test]
        fn a_string_is_what_it_was_before_it_was_written(text: String) {
            let written = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(string(raw(&written)), Some(text.clone()));
            let units: Vec<_> = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            prop_assert_eq!(string(raw(&format!("\"{}\"", units.concat()))), Some(text));
        }
    }

    #[test]
    fn an_object_is_changed_in_one_place_and_stays_as_it_was_elsewhere() {
        let object = Json::from_text(r#"{"b": 1.0,"a":123456789012345678901234567890,"c":[1, 2]}"#).unwrap();
        assert_eq!(object.with("a", Json::null()).as_str(), r#"{"b":1.0,"a":null,"c":[1, 2]}"#);
        let more = object.with("\"", Json::list([&Json::null(), &Json::null()]));
        let expected = r#"{"b":1.0,"a":123456789012345678901234567890,"c":[1, 2],"\"":[null,null]}"#;
        assert_eq!(more.as_str(), expected);
        assert_eq!(
            more.without("\"").without("b").without("c").as_str(),
            r#"{"a":123456789012345678901234567890}"#
        );
        assert_eq!(object.get("c").unwrap().items().unwrap().len(), 2);
        assert_eq!((object.get("d"), object.items(), object.text()), (None, None, None));
        assert_eq!(Json::from_text(r#""x\u0041""#).unwrap().text().as_deref(), Some("xA"));
        assert_eq!(Json::object([]).as_str(), "{}");
    }

    #[test]
    fn a_key_is_found_in_a_long_text_however_it_is_written() {
        let long = "x".repeat(WORTH_A_LOOK);
        let written = |key: &str| Json::from_text(format!(r#"{{"t":"{long}","{key}":1}}"#)).unwrap();
        assert_eq!(written("_meta").get("_meta").unwrap().as_str(), "1");
        assert_eq!(written(r"\u005fmeta").get("_meta").unwrap().as_str(), "1");
        assert_eq!(written(r"a\/b").get("a/b").unwrap().as_str(), "1");
        assert_eq!(written("meta").get("_meta"), None);
        let bytes = Bytes::from_static(b" {\"a\": 1} ");
        assert_eq!(Json::from_bytes(&bytes).unwrap().as_str(), r#"{"a": 1}"#);
        assert!(Json::from_bytes(&Bytes::from_static(b"\"\xff\"")).is_err());
    }

    #[test]
    fn text_stays_as_it_was() {
        let text = r#"{"b":1.0,"a":123456789012345678901234567890,"a":"\u00e9"}"#;
        let json = Json::from_text(text).unwrap();
        assert_eq!(json.as_str(), text);
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
        assert!(Json::from_text("{} {}").is_err());
    }
}
