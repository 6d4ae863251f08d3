//! Notices when what a model sees of a tool changes behind its name.
//!
//! A pin is a hash of everything a model would be told of a tool. It is set when a tool is first seen, and renewed when
//! the user is told of a change.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::build::{Catalog, Entry};
use crate::config::write::{self, Privacy};
use crate::connect::Freshness;
use crate::digest;
use crate::env::Env;
use crate::problem::{Code, Problem};

/// The pins of a user: by connection, then by tool.
#[derive(Debug)]
pub struct Pins {
    path: PathBuf,
    known: BTreeMap<String, BTreeMap<String, String>>,
    /// What was found changed since this was loaded, by connection and tool.
    changed: BTreeMap<(String, String), Problem>,
}

impl Pins {
    /// The pins below our own directory. A file that cannot be read counts as empty: then everything is new.
    pub fn load(env: &Env) -> Self {
        let path = env.switchboard_home().join("pins.json");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let known = serde_json::from_str(&text).unwrap_or_default();
        Self { path, known, changed: BTreeMap::new() }
    }

    /// The tools that are not what they were, with a problem for each; and what is new is pinned. `key` gives the
    /// connection of a server.
    pub fn compare(&mut self, catalog: &Catalog, key: impl Fn(&str) -> Option<String>) -> Vec<Problem> {
        let mut is_new = false;
        for entry in catalog.tools.iter().filter(|entry| entry.freshness == Freshness::Live) {
            let Some(key) = key(&entry.server) else { continue };
            let pin = pin(entry);
            let tools = self.known.entry(key.clone()).or_default();
            match tools.insert(entry.tool.name.clone(), pin.clone()) {
                None => is_new = true,
                Some(before) if before != pin => {
                    is_new = true;
                    self.changed.insert((key, entry.tool.name.clone()), changed(entry));
                }
                Some(_) => {}
            }
        }
        if is_new {
            self.save();
        }
        self.changed.values().cloned().collect()
    }

    fn save(&self) {
        let text = serde_json::to_string(&self.known).unwrap_or_default();
        // Pins that cannot be kept tell of the same change again, which is the safe side.
        let _unkept =
            write::update(&self.path, Privacy::Private, |_| Ok::<_, write::WriteError>(text.clone()));
    }
}

fn changed(entry: &Entry) -> Problem {
    let message =
        format!("`{}` of this server is not what it was: its description or schema changed", entry.tool.name);
    Problem::new(Code::ToolChanged, message)
        .server(entry.server.clone())
        .origin(entry.origin.clone())
        .hint("read it before you let a model use it: switchboard tools --json")
}

/// A hash of what a model is told; formatting makes no difference.
pub(crate) fn pin(entry: &Entry) -> String {
    let tool = &entry.tool;
    let told: Value = json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input": sorted(tool.input_schema.value()),
        "output": tool.output_schema.as_ref().map(|schema| sorted(schema.value())),
        "annotations": tool.annotations.as_ref().map(|annotations| sorted(annotations.value())),
    });
    digest::hex(told.to_string().as_bytes())
}

/// The same value with its keys in order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let ordered: BTreeMap<String, Value> =
                fields.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            Value::Object(ordered.into_iter().collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}
