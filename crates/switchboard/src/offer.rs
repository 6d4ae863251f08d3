//! What servers offer and answer: tools, resources, prompts, and the results of using them.
//!
//! Servers take the protocol lightly, so everything is read leniently: a field of the wrong type is left out of the
//! typed view, an item that cannot be used is set aside alone, and the JSON as it came is always kept beside the view.

mod item;
mod outcome;

use std::time::Duration;

use serde_json::value::RawValue;

pub use item::{Argument, Prompt, Resource, TaskSupport, Template, Tool};
pub use outcome::{Body, CallResult, Completion, Content, Contents, Kind, PromptResult, ReadResult};

use crate::json::{self, Json};

/// A server cannot ask to be believed for longer.
const LONGEST_FRESH: Duration = Duration::from_hours(365 * 24);

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// What can be used, in the server's order.
    pub items: Vec<T>,
    /// What cannot be used, and why.
    pub odd: Vec<Odd>,
    /// What was put right so that it can be used.
    pub notes: Vec<String>,
    /// Where the next page starts; the list ends only where there is none. An empty text is a cursor like any other.
    pub next: Option<String>,
    /// How long and for whom the page may be kept.
    pub hint: CacheHint,
}

/// An item of a list that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Odd {
    /// Its place in the page, from 0.
    pub index: usize,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Why it cannot be used, as the rest of a sentence about it.
    pub reason: String,
    /// As it came.
    pub raw: Json,
}

/// How long and for whom a result may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHint {
    /// How long it stays fresh, a year at most; none when the server did not say so in a way that can be understood.
    pub fresh_for: Option<Duration>,
    /// Whether it must not be shown to anyone else than who asked: unless the server clearly said otherwise.
    pub is_private: bool,
}

impl Default for CacheHint {
    fn default() -> Self {
        Self { fresh_for: None, is_private: true }
    }
}

impl CacheHint {
    /// What holds for both: the shorter time, and private if one is.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let fresh_for = match (self.fresh_for, other.fresh_for) {
            (Some(one), Some(another)) => Some(one.min(another)),
            (None, _) | (_, None) => None,
        };
        Self { fresh_for, is_private: self.is_private || other.is_private }
    }
}

/// What lists are made of.
pub trait Item: Sized {
    /// The field of the result that holds the list.
    const LIST: &'static str;

    /// Reads one item, or says why it cannot be used. What had to be put right is added to `notes`.
    fn read(raw: &Json, notes: &mut Vec<String>) -> Result<Self, String>;
}

/// Reads one page of a list from a result, or says why it is none.
pub fn page<T: Item>(result: &Json) -> Result<Page<T>, String> {
    let keys = ["nextCursor", "ttlMs", "cacheScope"];
    let found = json::object_with_list(result.as_str(), keys, T::LIST);
    let ([next, ttl, scope], list) = if let Some(found) = found {
        found
    } else {
        let [list, next, ttl, scope] =
            json::object(result.as_str(), [T::LIST, "nextCursor", "ttlMs", "cacheScope"])
                .ok_or_else(|| "the result is not an object".to_owned())?;
        ([next, ttl, scope], elements(list, T::LIST)?)
    };
    let mut page = Page {
        items: Vec::with_capacity(list.len()),
        odd: Vec::new(),
        notes: Vec::new(),
        next: next.and_then(json::string),
        hint: CacheHint::read(ttl, scope),
    };
    if page.next.is_none() && next.is_some_and(|next| next.get() != "null") {
        page.notes.push("`nextCursor` is not a string, so the list ends here".to_owned());
    }
    for (index, item) in list.into_iter().enumerate() {
        let raw = result.part(item);
        match T::read(&raw, &mut page.notes) {
            Ok(item) => page.items.push(item),
            Err(reason) => {
                let name = json::object(raw.as_str(), ["name"]).and_then(|[name]| json::string(name?));
                page.odd.push(Odd { index, name, reason, raw });
            }
        }
    }
    Ok(page)
}

impl CacheHint {
    fn read(ttl: Option<&RawValue>, scope: Option<&RawValue>) -> Self {
        let is_private = scope.and_then(json::string).is_none_or(|word| word != "public");
        Self { fresh_for: ttl.and_then(milliseconds), is_private }
    }
}

/// A number of milliseconds, whole or not, also in quotes.
fn milliseconds(value: &RawValue) -> Option<Duration> {
    let quoted = json::string(value);
    let number: f64 = quoted.as_deref().unwrap_or(value.get()).trim().parse().ok()?;
    if number.is_nan() || number < 0.0 {
        return None;
    }
    // What is too large for a duration is more than the longest.
    Some(Duration::try_from_secs_f64(number / 1000.0).unwrap_or(LONGEST_FRESH).min(LONGEST_FRESH))
}

/// The elements of a list that has to be there.
fn elements<'a>(list: Option<&'a RawValue>, key: &str) -> Result<Vec<&'a RawValue>, String> {
    let list = list.ok_or_else(|| format!("the result has no `{key}`"))?;
    json::list(list.get()).ok_or_else(|| format!("`{key}` is not a list"))
}

#[cfg(test)]
mod tests;
