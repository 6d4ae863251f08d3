//! YAML 1.2, as Goose and Continue have it. Aliases are expanded under a budget.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, Options};
use serde_saphyr::{Location, Spanned, Tagged};

use super::super::tree::{Key, Node, Value};
use super::SyntaxError;

/// Far above any real file, and little enough for the stack of a small thread.
const MAX_DEPTH: usize = 20;
/// Aliases included.
const MAX_NODES: usize = 50_000;

pub(super) fn parse(text: &str) -> Result<Option<Node<'_>>, SyntaxError> {
    if text.lines().all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(None);
    }
    let tree = read(text).map_err(|error| syntax_error(&error))?;
    Ok(Some(node(tree)))
}

fn read(text: &str) -> Result<Position, serde_saphyr::Error> {
    let options: Options = serde_saphyr::options! {
        // Repeated keys arrive one after the other; the reader of the tree reports them.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        // `no` and `off` are words; only `true` and `false` are booleans.
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH, max_nodes: MAX_NODES },
    };
    serde_saphyr::from_str_with_options(text, options)
}

fn syntax_error(error: &serde_saphyr::Error) -> SyntaxError {
    let location = error.location();
    SyntaxError {
        line: location.as_ref().map(line),
        column: location.map(|location| u32::try_from(location.column()).unwrap_or(u32::MAX)),
        what: reason(error).to_owned(),
    }
}

/// The library's own texts may quote the source, so we only say what kind of mistake it was.
fn reason(error: &serde_saphyr::Error) -> &'static str {
    use serde_saphyr::Error as E;
    match error {
        E::Eof { .. } => "the text ends too early",
        E::MultipleDocuments { .. } => "there is more than one document in the file",
        E::MergeValueNotMapOrSeqOfMaps { .. } => "a merge key (`<<`) needs a mapping",
        E::UnknownAnchor { .. } => "an alias names an anchor that does not exist",
        E::Budget { .. }
        | E::AliasReplayLimitExceeded { .. }
        | E::AliasExpansionLimitExceeded { .. }
        | E::AliasReplayStackDepthExceeded { .. }
        | E::AliasReplayCounterOverflow { .. } => "it is too deep, too large, or has too many aliases",
        E::RecursiveReferencesRequireWeakTypes { .. } => "an alias refers to itself",
        E::DuplicateMappingKey { .. } => "the same key stands twice",
        _ => "the layout or punctuation is wrong here",
    }
}

fn line(location: &Location) -> u32 {
    u32::try_from(location.line()).unwrap_or(u32::MAX)
}

/// A value, its tag and its position.
type Position = Spanned<Tagged<Tree>>;

/// A YAML value; tags and positions come from what is around it.
#[derive(Debug)]
enum Tree {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Position>),
    Map(Vec<(Spanned<Scalar>, Position)>),
}

/// A key: any scalar, as its text.
#[derive(Debug)]
struct Scalar(String);

fn node<'a>(tree: Position) -> Node<'a> {
    let line = line(&tree.referenced).max(1);
    let Tagged(value, tag) = tree.value;
    // `!!str` and the like say what is plain anyway; any other tag means something to another program.
    if tag.is_some_and(|tag| !tag.starts_with("!!") && !tag.starts_with("tag:yaml.org,2002:")) {
        return Node { line, value: Value::Odd("a value with the tag of another program") };
    }
    let value = match value {
        Tree::Null => Value::Null,
        Tree::Bool(value) => Value::Bool(value),
        Tree::Number(number) => Value::Number(Cow::Owned(number)),
        Tree::Text(text) => Value::Text(Cow::Owned(text)),
        Tree::List(items) => Value::List(items.into_iter().map(node).collect()),
        Tree::Map(entries) => Value::Map(
            entries
                .into_iter()
                .map(|(key, value)| {
                    let line = self::line(&key.referenced).max(1);
                    (Key { text: Cow::Owned(key.value.0), line }, node(value))
                })
                .collect(),
        ),
    };
    Node { line, value }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Tree::deserialize(deserializer).map(|key| match key {
            Tree::Text(text) | Tree::Number(text) => Self(text),
            Tree::Bool(value) => Self(value.to_string()),
            Tree::Null => Self("null".to_owned()),
            // No name at all, which every reader refuses.
            Tree::List(_) | Tree::Map(_) => Self(String::new()),
        })
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Tree, E> {
        Ok(Tree::Text(String::from_utf8_lossy(value).into_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Tree::Map(map))
    }
}
