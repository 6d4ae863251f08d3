//! Consent: which definitions the user has agreed to.
//!
//! An approval is the hash of a definition, kept in `approvals.json` below our home. If the store cannot be read,
//! nothing counts as approved and it is never overwritten.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::write::{self, Privacy, WriteError};
use crate::env::Env;
use crate::origin::{Origin, Scope};
use crate::problem::{Code, Problem};
use crate::provider::Provider;
use crate::sources::read;

/// Why a server may run, or that it may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// The user wrote it into one of our own user-level files.
    OwnFile,
    /// Part of this program.
    BuiltIn,
    /// Whoever started us said so, in `SWITCHBOARD_MCP_SERVERS`.
    Environment,
    /// The user approved this exact definition.
    Approved,
    /// Everything is approved for this run.
    ThisRun,
    /// Nobody agreed yet.
    Missing,
}

impl Consent {
    /// Whether the server may run.
    pub const fn is_given(self) -> bool {
        !matches!(self, Self::Missing)
    }

    /// The reason, for people.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::OwnFile => "it stands in your own Switchboard file",
            Self::BuiltIn => "it is part of this program",
            Self::Environment => "it was given in SWITCHBOARD_MCP_SERVERS",
            Self::Approved => "you approved this exact definition",
            Self::ThisRun => "everything is approved for this run",
            Self::Missing => "nobody has approved this definition yet",
        }
    }
}

/// Consent that needs no approval, by where the entry stands.
pub(super) fn by_origin(origin: &Origin, name: &str) -> Option<Consent> {
    match (origin.provider, origin.scope) {
        (Provider::Native | Provider::Settings, Scope::User) => Some(Consent::OwnFile),
        (Provider::Environment, _) => Some(Consent::Environment),
        // The other built-in servers download their code.
        (Provider::BuiltIn, _) if name == "thinking" => Some(Consent::BuiltIn),
        _ => None,
    }
}

/// The store of approvals.
#[derive(Debug, Clone, Default)]
pub struct Approvals {
    /// Definition hash to what was approved.
    approved: BTreeMap<String, Approved>,
}

/// What an approval was given for; for people only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approved {
    /// The server's name then.
    pub server: String,
    /// The file it stood in then.
    pub source: String,
}

impl Approvals {
    /// Where the store is.
    pub fn path(env: &Env) -> PathBuf {
        env.join(&env.switchboard_home(), "approvals.json")
    }

    /// Reads the store; one that cannot be read approves nothing.
    pub fn load(env: &Env) -> (Self, Option<Problem>) {
        let path = Self::path(env);
        let result = match read::text(&path) {
            Ok(None) => return (Self::default(), None),
            Ok(Some(text)) => Self::parse(&text).ok_or_else(|| "it is damaged".to_owned()),
            Err(problem) => Err(problem.message),
        };
        match result {
            Ok(approvals) => (approvals, None),
            Err(why) => {
                let message =
                    format!("the store of approvals cannot be used ({why}), so nothing counts as approved");
                let hint =
                    format!("move {} aside and approve again with `switchboard trust`", env.display(&path));
                let origin = Origin {
                    provider: Provider::Native,
                    scope: Scope::User,
                    path: Some(path.into()),
                    line: None,
                };
                (
                    Self::default(),
                    Some(Problem::new(Code::ApprovalsUnreadable, message).hint(hint).origin(origin)),
                )
            }
        }
    }

    /// Whether nothing was ever approved.
    pub fn is_empty(&self) -> bool {
        self.approved.is_empty()
    }

    /// Whether this definition was approved.
    pub fn contains(&self, hash: &str) -> bool {
        self.approved.contains_key(hash)
    }

    /// Adds approvals to the store on disk.
    pub fn add(env: &Env, new: &[(String, Approved)]) -> Result<(), WriteError> {
        Self::change(env, |approvals| approvals.approved.extend(new.iter().cloned()))
    }

    /// Takes back every approval of this definition or of a server of this name; tells how many there were.
    pub fn remove(env: &Env, server: &str, definition: Option<&str>) -> Result<usize, WriteError> {
        Self::forget(env, |hash, entry| entry.server == server || definition == Some(hash))
    }

    /// Takes back every approval of a server of this name in this file. One of a definition that another server has as
    /// well is that server's from now on.
    pub fn remove_from(
        env: &Env,
        server: &str,
        source: &str,
        others: &BTreeMap<String, Approved>,
    ) -> Result<(), WriteError> {
        // One that cannot be looked at may hold what is to be taken back.
        if !write::is_there(&Self::path(env))? {
            return Ok(());
        }
        Self::change(env, |approvals| {
            approvals.approved.retain(|hash, entry| {
                if entry.server != server || entry.source != source {
                    return true;
                }
                let other = others.get(hash);
                if let Some(other) = other {
                    entry.clone_from(other);
                }
                other.is_some()
            });
        })
    }

    /// Takes back everything; tells how many there were.
    pub fn remove_all(env: &Env) -> Result<usize, WriteError> {
        Self::forget(env, |_, _| true)
    }

    fn forget(env: &Env, is_meant: impl Fn(&str, &Approved) -> bool) -> Result<usize, WriteError> {
        // One that cannot be looked at may hold what is to be taken back.
        if !write::is_there(&Self::path(env))? {
            return Ok(0);
        }
        let n_taken = Cell::new(0);
        Self::change(env, |approvals| {
            let n_before = approvals.approved.len();
            approvals.approved.retain(|hash, entry| !is_meant(hash, entry));
            n_taken.set(n_before - approvals.approved.len());
        })?;
        Ok(n_taken.get())
    }

    fn change(env: &Env, change: impl Fn(&mut Self)) -> Result<(), WriteError> {
        let path = Self::path(env);
        write::update(&path, Privacy::Private, |old| {
            let mut approvals = match old {
                None => Self::default(),
                Some(text) => Self::parse(text).ok_or_else(|| damaged(&path))?,
            };
            change(&mut approvals);
            Ok(approvals.to_text())
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        if value.get("version")?.as_u64()? != 1 {
            return None;
        }
        let mut approved = BTreeMap::new();
        for (hash, entry) in value.get("approved")?.as_object()? {
            let field = |name: &str| Some(entry.get(name)?.as_str()?.to_owned());
            approved.insert(hash.clone(), Approved { server: field("server")?, source: field("source")? });
        }
        Some(Self { approved })
    }

    fn to_text(&self) -> String {
        let approved: BTreeMap<_, _> = self
            .approved
            .iter()
            .map(|(hash, entry)| (hash, json!({"server": entry.server, "source": entry.source})))
            .collect();
        let value = json!({"version": 1, "approved": approved});
        format!("{value:#}\n")
    }
}

fn damaged(path: &Path) -> WriteError {
    let what = "it is damaged, or was written by a newer version".to_owned();
    WriteError::Content { path: path.to_owned(), line: None, what }
}

/// The definitions the user was asked about, so that nobody is asked twice about the same thing.
#[derive(Debug)]
pub struct Asked {
    path: PathBuf,
    hashes: BTreeSet<String>,
}

impl Asked {
    /// What is kept of it. If that cannot be read, the user is asked again.
    pub fn load(env: &Env) -> Self {
        let path = env.switchboard_home().join("asked.json");
        let text = read::text(&path).ok().flatten().unwrap_or_default();
        let hashes = serde_json::from_str(&text).unwrap_or_default();
        Self { path, hashes }
    }

    /// Whether the user was asked about this definition.
    pub fn contains(&self, hash: &str) -> bool {
        self.hashes.contains(hash)
    }

    /// Keeps that the user was asked. If that fails, the user is asked again next time.
    pub fn add(&mut self, hashes: impl Iterator<Item = String>) {
        self.hashes.extend(hashes);
        let text = json!(self.hashes).to_string();
        let _forgotten = write::update(&self.path, Privacy::Private, |_| Ok::<_, WriteError>(text.clone()));
    }
}
