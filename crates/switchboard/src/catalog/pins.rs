//! Notices when what a model sees of a tool changes behind its name.
//!
//! A pin is a hash of everything a model would be told of a tool. It is set when a tool is first seen, and renewed when
//! the user is told of a change. Sessions side by side share the file: each writes only what it saw itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::build::{Catalog, Entry};
use crate::config::write::{self, Privacy, WriteError};
use crate::connect::Freshness;
use crate::digest;
use crate::env::Env;
use crate::json::Json;
use crate::problem::{Code, Problem};

const VERSION: u32 = 1;
/// Those seen least lately are forgotten beyond this number.
const MOST_CONNECTIONS: usize = 1000;
const SECONDS_A_DAY: u64 = 24 * 60 * 60;

/// What is in the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Kept {
    version: u32,
    connections: BTreeMap<String, Connection>,
}

/// The tools of one connection.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Connection {
    /// The day it was last seen.
    day: u64,
    tools: BTreeMap<String, String>,
}

/// The pins of a user.
#[derive(Debug)]
pub struct Pins {
    path: PathBuf,
    kept: Kept,
    /// What was found changed since this was loaded, by connection and tool.
    changed: BTreeMap<(String, String), Problem>,
    /// Connections with something new.
    unsaved: BTreeSet<String>,
    /// The tools that were looked at last, by server and name, with their pins: those that did not come anew need no look.
    looked_at: BTreeMap<String, LookedAt>,
}

/// Tools by name, as they came, with their pins.
type LookedAt = BTreeMap<String, (Json, String)>;

/// Pins on their way to disk.
#[derive(Debug)]
pub struct Unsaved {
    path: PathBuf,
    connections: BTreeMap<String, Connection>,
}

impl Pins {
    /// The pins below our own directory. A file that cannot be read counts as empty: then everything is new.
    pub fn load(env: &Env) -> Self {
        let path = env.switchboard_home().join("pins.json");
        let kept = read(&std::fs::read_to_string(&path).unwrap_or_default());
        Self { path, kept, changed: BTreeMap::new(), unsaved: BTreeSet::new(), looked_at: BTreeMap::new() }
    }

    /// The tools that are not what they were, with a problem for each; and what is new is pinned. `keys` are the
    /// connections of the servers.
    pub fn compare(
        &mut self,
        catalog: &Catalog,
        keys: &BTreeMap<&str, &str>,
        now: SystemTime,
    ) -> Vec<Problem> {
        let day = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / SECONDS_A_DAY);
        let mut looked_at = std::mem::take(&mut self.looked_at);
        for entry in catalog.tools.iter().filter(|entry| entry.freshness == Freshness::Live) {
            let Some(&key) = keys.get(entry.server.as_str()) else { continue };
            let pin = pin_of(entry, looked_at.get_mut(&entry.server));
            let kept = self.looked_at.entry(entry.server.clone()).or_default();
            kept.insert(entry.tool.name.clone(), (entry.tool.raw.clone(), pin.clone()));
            let connection = self.kept.connections.entry(key.to_owned()).or_default();
            let before = connection.tools.get(&entry.tool.name);
            if before.is_some_and(|before| *before != pin) {
                self.changed.insert((key.to_owned(), entry.tool.name.clone()), changed(entry));
            }
            if before != Some(&pin) || connection.day != day {
                connection.day = day;
                connection.tools.insert(entry.tool.name.clone(), pin);
                self.unsaved.insert(key.to_owned());
            }
        }
        self.changed.values().cloned().collect()
    }

    /// What is not on disk yet.
    pub fn take_unsaved(&mut self) -> Option<Unsaved> {
        let keys = std::mem::take(&mut self.unsaved);
        let connection = |key: String| {
            let connection = self.kept.connections.get(&key)?.clone();
            Some((key, connection))
        };
        let connections: BTreeMap<String, Connection> = keys.into_iter().filter_map(connection).collect();
        (!connections.is_empty()).then(|| Unsaved { path: self.path.clone(), connections })
    }
}

impl Unsaved {
    /// Adds them to the file, whoever else writes to it.
    pub fn save(self) {
        let Self { path, connections } = self;
        let merge = |text: Option<&str>| {
            let mut kept = read(text.unwrap_or_default());
            kept.connections.extend(connections.clone());
            while kept.connections.len() > MOST_CONNECTIONS {
                let oldest = kept.connections.iter().min_by_key(|(_, connection)| connection.day);
                let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
                kept.connections.remove(&key);
            }
            Ok::<_, WriteError>(serde_json::to_string(&kept).unwrap_or_default())
        };
        // Pins that cannot be kept tell of the same change again, which is the safe side.
        let _unkept = write::update(&path, Privacy::Private, merge);
    }
}

fn read(text: &str) -> Kept {
    let kept: Kept = serde_json::from_str(text).unwrap_or_default();
    if kept.version == VERSION { kept } else { Kept { version: VERSION, ..Kept::default() } }
}

fn changed(entry: &Entry) -> Problem {
    let message =
        format!("`{}` of this server is not what it was: its description or schema changed", entry.tool.name);
    Problem::new(Code::ToolChanged, message)
        .server(entry.server.clone())
        .origin(entry.origin.clone())
        .hint("read it before you let a model use it: switchboard tools --json")
}

/// The pin of a tool, without a look at it if it is the one that was looked at before.
fn pin_of(entry: &Entry, before: Option<&mut LookedAt>) -> String {
    match before.and_then(|before| before.remove(&entry.tool.name)) {
        Some((raw, pin)) if raw.is_same(&entry.tool.raw) => pin,
        _ => pin(entry),
    }
}

/// A hash of what a model is told; formatting makes no difference.
pub(crate) fn pin(entry: &Entry) -> String {
    let tool = &entry.tool;
    let input = tool.input_schema.value();
    let [output, annotations] =
        [&tool.output_schema, &tool.annotations].map(|json| json.as_ref().map(Json::value));
    let told = Told {
        name: &tool.name,
        title: tool.title.as_deref(),
        description: tool.description.as_deref(),
        input: Sorted(&input),
        output: output.as_ref().map(Sorted),
        annotations: annotations.as_ref().map(Sorted),
    };
    // Writing into memory cannot fail.
    digest::hex(&serde_json::to_vec(&told).unwrap_or_default())
}

/// What a model is told of a tool.
#[derive(Serialize)]
struct Told<'a> {
    name: &'a str,
    title: Option<&'a str>,
    description: Option<&'a str>,
    input: Sorted<'a>,
    output: Option<Sorted<'a>>,
    annotations: Option<Sorted<'a>>,
}

/// A value, written with its keys in order.
struct Sorted<'a>(&'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let mut fields: Vec<(&String, Sorted<'_>)> =
                    fields.iter().map(|(name, value)| (name, Sorted(value))).collect();
                fields.sort_unstable_by_key(|(name, _)| *name);
                serializer.collect_map(fields)
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            other => other.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::sample;
    use crate::declared::Conduct;

    fn unsaved(path: &std::path::Path, name: &str, day: u64) -> Unsaved {
        let tools = BTreeMap::from([("t".to_owned(), name.to_owned())]);
        let connections = BTreeMap::from([(name.to_owned(), Connection { day, tools })]);
        Unsaved { path: path.to_owned(), connections }
    }

    #[test]
    fn a_pin_is_of_what_is_said_and_not_of_how_it_is_written() {
        let pin = |tool: &str| {
            let tools = serde_json::from_str(&format!("[{tool}]")).unwrap();
            pin(&sample::catalog(&[("s", Conduct::default(), tools)]).tools[0])
        };
        let one = r#"{"name":"t","inputSchema":{"type":"object","properties":{"b":{"enum":[2,1]},"a":{}}}}"#;
        let same =
            r#"{"inputSchema":{"properties":{"a":{},"b":{"enum": [2, 1]}},"type":"object"},"name":"t"}"#;
        let other =
            r#"{"name":"t","inputSchema":{"type":"object","properties":{"b":{"enum":[1,2]},"a":{}}}}"#;
        assert_eq!(pin(one), pin(same));
        assert_ne!(pin(one), pin(other), "the order of a list means something");
        // As it was computed before: pins on disk stay good.
        let told = r#"{"name":"t","title":null,"description":null,"input":{"properties":{"a":{},"b":{"enum":[2,1]}},"type":"object"},"output":null,"annotations":null}"#;
        assert_eq!(pin(one), digest::hex(told.as_bytes()));
    }

    #[test]
    fn sessions_side_by_side_keep_each_others_pins_and_the_oldest_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pins.json");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || unsaved(path, &number.to_string(), 5).save());
            }
        });
        assert_eq!(read(&std::fs::read_to_string(&path).unwrap()).connections.len(), 8);
        let many = (0..MOST_CONNECTIONS).map(|number| (format!("n{number}"), Connection::default()));
        Unsaved { path: path.clone(), connections: many.collect() }.save();
        let kept = read(&std::fs::read_to_string(&path).unwrap());
        assert_eq!(kept.connections.len(), MOST_CONNECTIONS);
        assert!(kept.connections.contains_key("7"), "those seen last stay");
        assert!(read("no json").connections.is_empty());
        assert!(
            read(r#"{"version": 9, "connections": {"x": {"day": 1, "tools": {}}}}"#).connections.is_empty()
        );
    }
}
