//! What servers offered last time, on disk: one file per connection, so that projects do not take each other's place.
//!
//! A hint only. Whatever is wrong with a file, it is as if it were not there. Tools are kept as their servers sent them,
//! with what they say of themselves; but it grants nothing: approval and repeats believe only what was said live. When it
//! was true is the time of the file, so that one which says the same as before need not be written again.

use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::connect::{Freshness, Hints, Offer};
use crate::env::Env;
use crate::json::Json;
use crate::offer::Item;
use crate::replace;
use crate::sweep::{Bounds, sweep};
use crate::wire::{Era, Facts};

const VERSION: u32 = 2;
/// Larger ones are not read.
const LARGEST: u64 = 32 * 1024 * 1024;
/// Older ones do not count.
const LONGEST: Duration = Duration::from_hours(30 * 24);
/// So much may pass between a look at the clock and one at a file that another session writes.
const AHEAD: Duration = Duration::from_mins(1);

/// The cache of a user.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
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
    complete: bool,
    era: String,
    protocol: String,
    #[serde(borrow)]
    info: &'a RawValue,
    #[serde(borrow)]
    capabilities: &'a RawValue,
    instructions: Option<String>,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow)]
    resources: Vec<&'a RawValue>,
    #[serde(borrow)]
    templates: Vec<&'a RawValue>,
    #[serde(borrow)]
    prompts: Vec<&'a RawValue>,
}

impl Cache {
    /// The cache below our own directory.
    pub fn of(env: &Env) -> Self {
        Self { dir: env.switchboard_home().join("cache").join("offers") }
    }

    /// What the connection offered last time, if it is not too long ago.
    pub fn read(&self, key: &str, now: SystemTime) -> Option<Offer> {
        let path = self.file(key);
        let at = usable(&path)?.modified().ok()?;
        // A time to come is no time we know of, unless somebody wrote it just now.
        let is_good =
            now.duration_since(at).map_or_else(|ahead| ahead.duration() < AHEAD, |age| age <= LONGEST);
        if !is_good {
            return None;
        }
        let text = Bytes::from(fs::read(path).ok()?);
        let read: Read<'_> = serde_json::from_slice(&text).ok()?;
        if read.version != VERSION {
            return None;
        }
        let facts = Facts::remembered(
            Era::from_word(&read.era)?,
            &read.protocol,
            (Json::within(&text, read.info), Json::within(&text, read.capabilities)),
            read.instructions,
        );
        Some(Offer {
            facts: Arc::new(facts),
            tools: list(&text, &read.tools)?,
            resources: list(&text, &read.resources)?,
            templates: list(&text, &read.templates)?,
            prompts: list(&text, &read.prompts)?,
            odd: Arc::default(),
            notes: Arc::default(),
            freshness: Freshness::Cached { at },
            is_complete: read.complete,
            hints: Hints::default(),
        })
    }

    /// Keeps what the connection offers. One that cannot be kept costs nothing but time at the next start.
    pub fn write(&self, key: &str, offer: &Offer, now: SystemTime) {
        let written = Written {
            version: VERSION,
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
        let _unkept = self.keep(key, &written, now);
    }

    /// Removes what is too old to count, and the oldest of what is too much.
    pub(crate) fn clear_old(&self, now: SystemTime) {
        sweep(&self.dir, Bounds { age: LONGEST, n_files: 1000, bytes: 256 * 1024 * 1024 }, now);
    }

    fn keep(&self, key: &str, written: &Written<'_>, now: SystemTime) -> std::io::Result<()> {
        let file = self.file(key);
        let bytes = serde_json::to_vec(written).map_err(std::io::Error::other)?;
        let is_known = usable(&file).is_some() && fs::read(&file).is_ok_and(|before| before == bytes);
        if is_known {
            return File::open(&file)?.set_modified(now);
        }
        fs::create_dir_all(&self.dir)?;
        // What servers offer may tell of private things.
        replace::lightly(&file, &bytes)
    }

    fn file(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{key}.json"))
    }
}

/// What is known of a file that can be read: another thing of that name could keep us waiting, or never end.
fn usable(path: &Path) -> Option<Metadata> {
    fs::metadata(path).ok().filter(|data| data.is_file() && data.len() <= LARGEST)
}

/// Items read the way a server's list is; a file with one that cannot be used is no file of ours.
fn list<T: Item>(text: &Bytes, raws: &[&RawValue]) -> Option<Arc<Vec<T>>> {
    let mut notes = Vec::new();
    let read = |raw: &&RawValue| T::read(&Json::within(text, raw), &mut notes).ok();
    raws.iter().map(read).collect::<Option<_>>().map(Arc::new)
}
