//! What servers offered last time, on disk: one file per connection, so that projects do not take each other's place.
//!
//! A hint only. Whatever is wrong with a file, it is as if it were not there. Tools are kept as their servers sent them,
//! with what they say of themselves; but it grants nothing: approval and repeats believe only what was said live.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::connect::{Freshness, Hints, Offer};
use crate::env::Env;
use crate::json::Json;
use crate::offer::{Item, page};
use crate::replace;
use crate::sweep::{Bounds, sweep};
use crate::wire::{Era, Facts};

const VERSION: u32 = 1;
/// Larger ones are not read.
const LARGEST: u64 = 32 * 1024 * 1024;
/// Older ones do not count.
const LONGEST: Duration = Duration::from_hours(30 * 24);

/// The cache of a user.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    at: u64,
    complete: bool,
    era: &'a str,
    protocol: &'a str,
    info: &'a Json,
    capabilities: &'a Json,
    instructions: Option<&'a str>,
    tools: Vec<&'a Json>,
    resources: Vec<&'a Json>,
    templates: Vec<&'a Json>,
    prompts: Vec<&'a Json>,
}

#[derive(Deserialize)]
struct Read<'a> {
    version: u32,
    at: u64,
    complete: bool,
    era: String,
    protocol: String,
    #[serde(borrow)]
    info: &'a RawValue,
    #[serde(borrow)]
    capabilities: &'a RawValue,
    instructions: Option<String>,
    #[serde(borrow)]
    tools: &'a RawValue,
    #[serde(borrow)]
    resources: &'a RawValue,
    #[serde(borrow)]
    templates: &'a RawValue,
    #[serde(borrow)]
    prompts: &'a RawValue,
}

impl Cache {
    /// The cache below our own directory.
    pub fn of(env: &Env) -> Self {
        Self { dir: env.switchboard_home().join("cache").join("offers") }
    }

    /// What the connection offered last time, if it is not too long ago.
    pub fn read(&self, key: &str, now: SystemTime) -> Option<Offer> {
        let path = self.file(key);
        fs::metadata(&path).ok().filter(|data| data.is_file() && data.len() <= LARGEST)?;
        let text = Json::from_text(fs::read_to_string(path).ok()?).ok()?;
        let read: Read<'_> = text.read().ok()?;
        let at = UNIX_EPOCH.checked_add(Duration::from_secs(read.at))?;
        // A time to come is no time we know of.
        let age = now.duration_since(at).ok()?;
        if read.version != VERSION || age > LONGEST {
            return None;
        }
        let facts = Facts::remembered(
            Era::from_word(&read.era)?,
            &read.protocol,
            (text.part(read.info), text.part(read.capabilities)),
            read.instructions,
        );
        Some(Offer {
            facts: Arc::new(facts),
            tools: list(read.tools)?,
            resources: list(read.resources)?,
            templates: list(read.templates)?,
            prompts: list(read.prompts)?,
            odd: Arc::default(),
            notes: Arc::default(),
            freshness: Freshness::Cached { at },
            is_complete: read.complete,
            hints: Hints::default(),
        })
    }

    /// Keeps what the connection offers. One that cannot be kept costs nothing but time at the next start.
    pub fn write(&self, key: &str, offer: &Offer, now: SystemTime) {
        let at = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let written = Written {
            version: VERSION,
            at,
            complete: offer.is_complete,
            era: offer.facts.era.as_str(),
            protocol: &offer.facts.version,
            info: &offer.facts.server_info,
            capabilities: &offer.facts.capabilities,
            instructions: offer.facts.instructions.as_deref(),
            tools: offer.tools.iter().map(|tool| &tool.raw).collect(),
            resources: offer.resources.iter().map(|resource| &resource.raw).collect(),
            templates: offer.templates.iter().map(|template| &template.raw).collect(),
            prompts: offer.prompts.iter().map(|prompt| &prompt.raw).collect(),
        };
        let _unkept = self.keep(key, &written);
    }

    /// Removes what is too old to count, and the oldest of what is too much.
    pub(crate) fn clear_old(&self, now: SystemTime) {
        sweep(&self.dir, Bounds { age: LONGEST, n_files: 1000, bytes: 256 * 1024 * 1024 }, now);
    }

    fn keep(&self, key: &str, written: &Written<'_>) -> std::io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let bytes = serde_json::to_vec(written).map_err(std::io::Error::other)?;
        // What servers offer may tell of private things.
        Ok(replace::privately(&self.file(key), &bytes)?)
    }

    fn file(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{key}.json"))
    }
}

/// Items read the way a server's list is; a file with one that cannot be used is no file of ours.
fn list<T: Item>(raw: &RawValue) -> Option<Arc<Vec<T>>> {
    let result = Json::from_text(format!("{{\"{}\":{}}}", T::LIST, raw.get())).ok()?;
    let page = page::<T>(&result).ok()?;
    page.odd.is_empty().then(|| Arc::new(page.items))
}
