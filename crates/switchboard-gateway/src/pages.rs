//! Lists in pages, as the text that goes out. Pure.
//!
//! Items are ordered by a key, and a cursor is the last key before the page. So a list that changes between two pages
//! neither loses nor repeats what was in it all along. Pages that begin where pages usually do are put together once.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use switchboard::json::Json;

/// Items of one page.
const PAGE: usize = 500;

/// One item, as clients get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// What the list is ordered by; unique in it.
    pub(crate) key: String,
    pub(crate) json: Json,
}

/// Part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// The items, as a list.
    pub(crate) items: Json,
    /// Where the next one begins, if there is one.
    pub(crate) next: Option<Json>,
    /// Both, as the result that older clients get. The items are a part of its text.
    pub(crate) whole: Json,
}

/// A whole list.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// The field that holds it; part of its cursors.
    field: &'static str,
    items: Vec<Listed>,
    usual: Vec<Page>,
}

impl Pages {
    /// In the order of their keys. Of two items with one key the first counts.
    pub(crate) fn new(field: &'static str, mut items: Vec<Listed>) -> Self {
        items.sort_by(|one, another| one.key.cmp(&another.key));
        items.dedup_by(|one, another| one.key == another.key);
        let mut pages = Self { field, items, usual: Vec::new() };
        let n_pages = pages.items.len().div_ceil(PAGE).max(1);
        pages.usual = (0..n_pages).map(|n| pages.build(n * PAGE)).collect();
        pages
    }

    pub(crate) fn items(&self) -> &[Listed] {
        &self.items
    }

    /// The page after a cursor, or the first one; none if the cursor is none of ours.
    pub(crate) fn page(&self, cursor: Option<&str>) -> Option<Page> {
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let last = decode(self.field, cursor)?;
                self.items.partition_point(|item| item.key <= last)
            }
        };
        let usual = start.is_multiple_of(PAGE).then(|| self.usual.get(start / PAGE)).flatten();
        Some(usual.cloned().unwrap_or_else(|| self.build(start)))
    }

    fn build(&self, start: usize) -> Page {
        let end = self.items.len().min(start + PAGE);
        let shown = self.items.get(start..end).unwrap_or_default();
        let next = shown.last().filter(|_| end < self.items.len());
        let items = Json::list(shown.iter().map(|item| &item.json));
        let next: Option<Json> = next.map(|last| json!(encode(self.field, &last.key)).into());
        let fields = [(self.field, items)].into_iter().chain(next.clone().map(|next| ("nextCursor", next)));
        let whole = Json::object(fields);
        Page { items: whole.get(self.field).unwrap_or_else(Json::null), next, whole }
    }
}

fn encode(field: &str, key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{field}\0{key}"))
}

fn decode(field: &str, cursor: &str) -> Option<String> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (of, key) = text.split_once('\0')?;
    (of == field).then(|| key.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn pages(field: &'static str, keys: impl IntoIterator<Item = u16>) -> Pages {
        let listed = |key: u16| Listed { key: format!("{key:05}"), json: json!(key).into() };
        Pages::new(field, keys.into_iter().map(listed).collect())
    }

    fn cursor(page: &Page) -> Option<String> {
        page.next.as_ref().and_then(Json::text)
    }

    #[test]
    fn a_cursor_is_good_for_its_own_list_only() {
        let tools = pages("tools", 0..1200);
        let first = tools.page(None).unwrap();
        let next = cursor(&first).unwrap();
        assert_eq!(tools.page(Some(&next)).unwrap(), tools.usual[1]);
        assert_eq!(pages("prompts", 0..1200).page(Some(&next)), None);
        for bad in ["", "!", "AAAA", "dG9vbHM", &next[1..]] {
            assert_eq!(tools.page(Some(bad)), None, "{bad}");
        }
        assert_eq!(cursor(&tools.usual[2]), None);
        assert_eq!(pages("tools", []).page(None).unwrap().items.as_str(), "[]");
    }

    #[test]
    fn a_page_is_kept_as_the_result_it_is_part_of() {
        let page = pages("tools", 0..1200).page(None).unwrap();
        let [items, next] = ["tools", "nextCursor"].map(|field| page.whole.get(field));
        assert_eq!((items.as_ref(), next), (Some(&page.items), page.next.clone()));
        let place = page.whole.bytes().as_ptr_range();
        assert!(place.contains(&page.items.bytes().as_ptr()), "the items are not there twice");
        assert_eq!(pages("prompts", []).page(None).unwrap().whole.as_str(), r#"{"prompts":[]}"#);
    }

    proptest! {
        #[test]
        fn what_is_there_all_along_comes_exactly_once(
            before in prop::collection::btree_set(0_u16..2000, 0..1600),
            gone in prop::collection::btree_set(0_u16..2000, 0..600),
            new in prop::collection::btree_set(0_u16..2000, 0..600),
        ) {
            let after: BTreeSet<u16> =
                before.difference(&gone).copied().chain(new.iter().copied()).collect();
            let (old, later) = (pages("tools", before.clone()), pages("tools", after.clone()));
            let mut page = old.page(None).unwrap();
            let mut seen: Vec<u16> = page.items.parse().unwrap();
            let mut n_pages = 1;
            while let Some(next) = cursor(&page) {
                page = later.page(Some(&next)).unwrap();
                seen.extend(page.items.parse::<Vec<u16>>().unwrap());
                n_pages += 1;
                prop_assert!(n_pages < 10);
            }
            let unique: BTreeSet<u16> = seen.iter().copied().collect();
            prop_assert_eq!(unique.len(), seen.len(), "nothing comes twice");
            for stays in before.intersection(&after) {
                prop_assert!(unique.contains(stays), "{} is lost", stays);
            }
        }

        #[test]
        fn the_order_in_which_items_come_makes_no_difference(
            keys in prop::collection::vec(any::<u16>(), 0..700),
        ) {
            let mut turned = keys.clone();
            turned.reverse();
            prop_assert_eq!(pages("tools", keys).usual, pages("tools", turned).usual);
        }
    }
}
