//! What the user said yes to for more than one call: for the session in memory, for good in a file.
//!
//! A yes is for a tool as it was: it is bound to the definition of its server and to the tool's pin. What is not that any
//! more is asked about again. The file is `grants.json` below our home, for the user alone. If it cannot be read, nothing
//! counts as granted, and it is never overwritten. Sessions side by side share it: each reads it when it matters.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::catalog::{Entry, pin};
use crate::config::write::{self, Privacy, WriteError};
use crate::env::Env;
use crate::origin::{Origin, Scope};
use crate::problem::{Code, Problem};
use crate::provider::Provider;
use crate::sources::read;

const VERSION: u32 = 1;
/// The oldest go beyond this number.
const MOST: usize = 5000;

/// A tool as it is now: what a yes holds for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Binding {
    pub(crate) server: String,
    pub(crate) tool: String,
    /// A hash of the server's definition.
    pub(crate) connection: String,
    /// A hash of all a model is told of the tool.
    pub(crate) pin: String,
}

impl Binding {
    /// `connection` is the key of its server's connection.
    pub(crate) fn of(entry: &Entry, connection: String) -> Self {
        Self { server: entry.server.clone(), tool: entry.tool.name.clone(), connection, pin: pin(entry) }
    }

    /// Whether both are about one tool of one server, whatever became of it.
    fn is_about(&self, other: &Self) -> bool {
        self.server == other.server && self.tool == other.tool
    }
}

/// How a yes stands to the tool as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It holds.
    Holds,
    /// The tool or its server is not what it was: the user is asked again.
    Changed,
    /// The tool is not there now.
    Unseen,
}

/// How long a yes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantKind {
    /// Until the session ends.
    Session,
    /// For good.
    Always,
}

/// One yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Yes {
    #[serde(flatten)]
    pub(crate) binding: Binding,
    /// The name of the tool then.
    pub(crate) name: String,
    /// When, in seconds since 1970.
    pub(crate) at: u64,
}

impl Yes {
    pub(crate) fn new(binding: Binding, name: &str, now: SystemTime) -> Self {
        let at = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { binding, name: name.to_owned(), at }
    }

    pub(crate) fn when(&self) -> SystemTime {
        UNIX_EPOCH.checked_add(Duration::from_secs(self.at)).unwrap_or(UNIX_EPOCH)
    }
}

/// What was said yes to.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Grants {
    version: u32,
    grants: Vec<Yes>,
}

impl Grants {
    /// Where those for good are kept.
    pub fn path(env: &Env) -> PathBuf {
        env.join(&env.switchboard_home(), "grants.json")
    }

    /// Reads those for good; a file that cannot be read grants nothing.
    pub fn load(env: &Env) -> (Self, Option<Problem>) {
        let path = Self::path(env);
        let why = match read::text(&path) {
            Ok(None) => return (Self::default(), None),
            Ok(Some(text)) => match Self::parse(&text) {
                Some(grants) => return (grants, None),
                None => "it is damaged, or was written by a newer version".to_owned(),
            },
            Err(problem) => problem.message,
        };
        let message =
            format!("what you approved for good cannot be used ({why}), so every such call is asked for");
        let hint = format!("move {} aside and approve again when you are asked", env.display(&path));
        let origin =
            Origin { provider: Provider::Native, scope: Scope::User, path: Some(path.into()), line: None };
        let problem = Problem::new(Code::GrantsUnreadable, message).hint(hint).origin(origin);
        (Self::default(), Some(problem))
    }

    /// Keeps a yes for good.
    pub(crate) fn keep(env: &Env, yes: &Yes) -> Result<(), WriteError> {
        Self::change(&Self::path(env), |grants| grants.add(yes.clone()))
    }

    /// Takes back what was granted for good to a tool of a server, or to all its tools; tells how many there were.
    pub fn take_back(env: &Env, server: &str, tool: Option<&str>) -> Result<usize, WriteError> {
        Self::forget(env, |binding| binding.server == server && tool.is_none_or(|tool| binding.tool == tool))
    }

    /// Takes back everything that was granted for good; tells how many there were.
    pub fn take_back_all(env: &Env) -> Result<usize, WriteError> {
        Self::forget(env, |_| true)
    }

    fn forget(env: &Env, is_meant: impl Fn(&Binding) -> bool) -> Result<usize, WriteError> {
        let path = Self::path(env);
        // One that cannot be looked at may hold what is to be taken back.
        if !write::is_there(&path)? {
            return Ok(0);
        }
        let n_taken = Cell::new(0);
        Self::change(&path, |grants| n_taken.set(grants.remove(&is_meant)))?;
        Ok(n_taken.get())
    }

    /// How the tool stands to what was said yes to; nothing if it never was.
    pub(crate) fn look(&self, binding: &Binding) -> Option<Standing> {
        let mut about = self.grants.iter().filter(|yes| yes.binding.is_about(binding)).peekable();
        about.peek()?;
        let holds = about.any(|yes| yes.binding == *binding);
        Some(if holds { Standing::Holds } else { Standing::Changed })
    }

    /// Adds a yes, in the place of the one for the same tool of the same definition.
    pub(crate) fn add(&mut self, yes: Yes) {
        let is_same = |other: &Yes| {
            other.binding.is_about(&yes.binding) && other.binding.connection == yes.binding.connection
        };
        self.grants.retain(|other| !is_same(other));
        self.grants.push(yes);
        let excess = self.grants.len().saturating_sub(MOST);
        self.grants.drain(..excess);
    }

    /// Takes some back; tells how many there were.
    pub(crate) fn remove(&mut self, is_meant: impl Fn(&Binding) -> bool) -> usize {
        let n_before = self.grants.len();
        self.grants.retain(|yes| !is_meant(&yes.binding));
        n_before - self.grants.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Yes> {
        self.grants.iter()
    }

    fn change(path: &Path, change: impl Fn(&mut Self)) -> Result<(), WriteError> {
        write::update(path, Privacy::Private, |old| {
            let mut grants = match old {
                None => Self { version: VERSION, grants: Vec::new() },
                Some(text) => Self::parse(text).ok_or_else(|| damaged(path))?,
            };
            change(&mut grants);
            Ok::<_, WriteError>(serde_json::to_string(&grants).unwrap_or_default() + "\n")
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let grants: Self = serde_json::from_str(text).ok()?;
        (grants.version == VERSION).then_some(grants)
    }
}

fn damaged(path: &Path) -> WriteError {
    let what = "it is damaged, or was written by a newer version".to_owned();
    WriteError::Content { path: path.to_owned(), line: None, what }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::env::Os;

    fn binding(server: &str, tool: &str, connection: &str, pin: &str) -> Binding {
        let [server, tool, connection, pin] = [server, tool, connection, pin].map(str::to_owned);
        Binding { server, tool, connection, pin }
    }

    fn yes(binding: Binding) -> Yes {
        Yes::new(binding, "mcp_s_t", UNIX_EPOCH)
    }

    #[test]
    fn a_yes_is_for_one_tool_of_one_definition() {
        let mut grants = Grants::default();
        assert_eq!(grants.look(&binding("s", "t", "c", "p")), None);
        grants.add(yes(binding("s", "t", "c", "p")));
        assert_eq!(grants.look(&binding("s", "t", "c", "p")), Some(Standing::Holds));
        assert_eq!(grants.look(&binding("s", "t", "c", "q")), Some(Standing::Changed));
        assert_eq!(grants.look(&binding("s", "t", "d", "p")), Some(Standing::Changed));
        assert_eq!(grants.look(&binding("s", "u", "c", "p")), None);
        assert_eq!(grants.look(&binding("S", "t", "c", "p")), None);
        // The same name in another project is another server; both may be granted.
        grants.add(yes(binding("s", "t", "d", "p")));
        assert_eq!(grants.look(&binding("s", "t", "c", "p")), Some(Standing::Holds));
        // What the tool was before does not count again.
        grants.add(yes(binding("s", "t", "c", "q")));
        assert_eq!(grants.look(&binding("s", "t", "c", "p")), Some(Standing::Changed));
        assert_eq!(grants.remove(|binding| binding.tool == "t"), 2);
        assert_eq!(grants.look(&binding("s", "t", "c", "q")), None);
    }

    #[test]
    fn sessions_side_by_side_keep_each_others_and_the_oldest_go() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::new(Os::current(), dir.path(), dir.path());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let env = &env;
                scope.spawn(move || {
                    Grants::keep(env, &yes(binding("s", &number.to_string(), "c", "p"))).unwrap();
                });
            }
        });
        assert_eq!(Grants::load(&env).0.iter().count(), 8);
        assert_eq!(Grants::take_back(&env, "s", Some("3")).unwrap(), 1);
        assert_eq!(Grants::take_back(&env, "s", None).unwrap(), 7);
        Grants::keep(&env, &yes(binding("r", "t", "c", "p"))).unwrap();
        assert_eq!(Grants::take_back_all(&env).unwrap(), 1);
        assert_eq!(Grants::take_back(&env, "s", None).unwrap(), 0);
        let mut many = Grants::default();
        for number in 0..=MOST {
            many.add(yes(binding("s", &number.to_string(), "c", "p")));
        }
        assert_eq!(many.iter().count(), MOST);
        assert_eq!(many.look(&binding("s", "0", "c", "p")), None, "the first of all");
    }

    #[test]
    fn a_file_that_makes_no_sense_grants_nothing_and_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::new(Os::current(), dir.path(), dir.path());
        let path = Grants::path(&env);
        assert!(Grants::load(&env).1.is_none(), "there is none yet");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let whole = r#"{"version":1,"grants":[{"server":"s","tool":"t","connection":"c","pin":"p","name":"n","at":1}]}"#;
        let broken = [
            "",
            "null",
            "[]",
            "{}",
            "no json",
            &whole[..40],
            &whole.replace("\"version\":1", "\"version\":2"),
            &whole.replace("\"pin\":\"p\",", ""),
            &whole.replace("\"at\":1", "\"at\":-1"),
        ];
        for text in broken {
            std::fs::write(&path, text).unwrap();
            let (grants, problem) = Grants::load(&env);
            assert_eq!(grants.iter().count(), 0, "{text}");
            assert_eq!(problem.unwrap().code, Code::GrantsUnreadable, "{text}");
            assert!(Grants::keep(&env, &yes(binding("s", "t", "c", "p"))).is_err(), "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        std::fs::write(&path, whole).unwrap();
        assert_eq!(Grants::load(&env).0.look(&binding("s", "t", "c", "p")), Some(Standing::Holds));
    }

    proptest! {
        /// Whatever was granted and taken back: a yes holds exactly for the last thing said of that tool and definition.
        #[test]
        fn the_last_word_on_a_tool_counts(words in prop::collection::vec((0..2_u8, 0..2_u8, 0..2_u8, 0..3_u8, any::<bool>()), 0..40)) {
            let named = |(server, tool, connection, pin): (u8, u8, u8, u8)| {
                binding(&server.to_string(), &tool.to_string(), &connection.to_string(), &pin.to_string())
            };
            let mut grants = Grants::default();
            let mut model: std::collections::BTreeMap<(u8, u8, u8), u8> = std::collections::BTreeMap::new();
            for (server, tool, connection, pin, is_yes) in words {
                if is_yes {
                    grants.add(yes(named((server, tool, connection, pin))));
                    model.insert((server, tool, connection), pin);
                } else {
                    let target = named((server, tool, 0, 0));
                    grants.remove(|binding| binding.is_about(&target));
                    model.retain(|key, _| (key.0, key.1) != (server, tool));
                }
                let expected = match model.get(&(server, tool, connection)) {
                    Some(granted) if *granted == pin => Some(Standing::Holds),
                    _ if model.keys().any(|key| (key.0, key.1) == (server, tool)) => Some(Standing::Changed),
                    _ => None,
                };
                prop_assert_eq!(grants.look(&named((server, tool, connection, pin))), expected);
            }
        }
    }
}
