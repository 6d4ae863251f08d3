//! Entries in JSON. The splices are those of our own files.

use jsonc_parser::CollectOptions;
use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::Ranged;
use serde_json::Value;

use super::refusal;
use crate::config::edit::{Edit, Refusal, apply};
use crate::digest;
use crate::sources::syntax::JSON_OPTIONS;

pub(super) fn insert(text: &str, path: &[String], entry: &Value) -> Result<String, Refusal> {
    apply(text, &[Edit::Set(path.to_vec(), entry.clone())])
}

pub(super) fn cut(text: &str, path: &[String]) -> Result<(String, String), Refusal> {
    let piece = raw(text, path)?.to_owned();
    Ok((apply(text, &[Edit::Remove(path.to_vec())])?, piece))
}

/// A stand-in takes the place first, so that the piece keeps its own comments and layout.
pub(super) fn paste(text: &str, path: &[String], piece: &str) -> Result<String, Refusal> {
    let stand_in = Value::String(digest::hex(format!("{text}{piece}").as_bytes()));
    let new = apply(text, &[Edit::Set(path.to_vec(), stand_in.clone())])?;
    Ok(new.replacen(&stand_in.to_string(), piece, 1))
}

/// The text of a value; of repeated keys the last.
fn raw<'t>(text: &'t str, path: &[String]) -> Result<&'t str, Refusal> {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &JSON_OPTIONS);
    let root = parsed.map_err(|_| refusal("it is not valid JSON"))?.value;
    let mut at = root.as_ref();
    for key in path {
        let Some(Ast::Object(object)) = at else { break };
        let last = object.properties.iter().rev().find(|property| property.name.as_str() == key);
        at = last.map(|property| &property.value);
    }
    at.map(|value| &text[value.start()..value.end()]).ok_or_else(|| refusal("the entry is not there"))
}
