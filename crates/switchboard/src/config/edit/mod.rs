//! Adds, changes, removes and switches servers in our own files. Other tools' files are for `install`.
//!
//! In: a file and what to change. Out: the same file with that one node changed, or an error and the file as it
//! was. The change of the text is pure (`splice`), the change of the file is `write::update`.

mod redacted;
mod rules;
mod splice;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub use redacted::{holds_secrets, redacted};
pub use rules::SettingsFile;
pub(crate) use splice::plain;
pub use splice::{Document, Edit, Refusal, apply};

use super::file::ServerEntry;
use super::write::{self, Privacy, WriteError};
use super::{schema, validate};
use crate::declared::{Conduct, Switch};
use crate::problem::Explain;

/// Why a server could not be added, changed or removed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The name breaks the rules.
    #[error("{0}")]
    Name(&'static str),
    /// The server contradicts itself or lacks something.
    #[error("Invalid server config: {}", reasons.join("; "))]
    Invalid {
        /// The server.
        name: String,
        /// Everything that is wrong.
        reasons: Vec<String>,
    },
    /// There is one of that name already.
    #[error("Server \"{name}\" already exists in {}", path.display())]
    Exists {
        /// The server.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// There is none of that name.
    #[error("Server \"{name}\" not found in {}", path.display())]
    Missing {
        /// The server.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// The file could not be changed.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Codes of edits that were not made, with their meanings, for the reference page.
pub const CODES: &[(&str, &str)] = &[
    ("bad-name", "No server can have this name."),
    ("server-exists", "There is a server of that name in the file; nothing was changed."),
    ("server-not-found", "There is no server of that name."),
];

impl Explain for EditError {
    fn code(&self) -> &'static str {
        match self {
            Self::Name(_) => "bad-name",
            Self::Invalid { .. } => "invalid-server",
            Self::Exists { .. } => "server-exists",
            Self::Missing { .. } => "server-not-found",
            Self::Write(error) => error.code(),
        }
    }

    fn message(&self) -> String {
        self.to_string()
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Name(_) => None,
            Self::Invalid { .. } => Some("see `switchboard help add`".to_owned()),
            Self::Exists { .. } => Some("choose another name, or use --replace".to_owned()),
            Self::Missing { .. } => Some("see `switchboard list --all` for what is where".to_owned()),
            Self::Write(error) => error.hint(),
        }
    }

    fn server(&self) -> Option<&str> {
        match self {
            Self::Invalid { name, .. } | Self::Exists { name, .. } | Self::Missing { name, .. } => Some(name),
            Self::Name(_) | Self::Write(_) => None,
        }
    }

    fn place(&self) -> Option<(&Path, Option<u32>)> {
        match self {
            Self::Exists { path, .. } | Self::Missing { path, .. } => Some((path, None)),
            Self::Write(error) => error.place(),
            Self::Name(_) | Self::Invalid { .. } => None,
        }
    }
}

/// A file of ours.
#[derive(Debug, Clone)]
pub struct OwnFile {
    path: PathBuf,
    privacy: Privacy,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Servers,
    Settings,
}

/// What to do about an entry that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// Leave it and say so.
    Refuse,
    /// Put the new one in its place.
    Replace,
}

impl OwnFile {
    /// An `mcp.json` or `settings.json` of ours; the name tells which.
    pub fn new(path: &Path, privacy: Privacy) -> Self {
        let is_settings = path.file_name().is_some_and(|name| name == "settings.json");
        Self {
            path: path.to_owned(),
            privacy,
            kind: if is_settings { Kind::Settings } else { Kind::Servers },
        }
    }

    /// Adds a server.
    pub fn add(&self, name: &str, entry: &ServerEntry, if_exists: IfExists) -> Result<(), EditError> {
        self.add_all(&[(name, entry)], if_exists)
    }

    /// Adds servers, all or none.
    pub fn add_all(&self, servers: &[(&str, &ServerEntry)], if_exists: IfExists) -> Result<(), EditError> {
        self.update(|text| self.with(text, servers, if_exists))
    }

    /// The text the file would have with the servers added; `None` stands for a file that is not there.
    pub fn with(
        &self,
        text: Option<&str>,
        servers: &[(&str, &ServerEntry)],
        if_exists: IfExists,
    ) -> Result<String, EditError> {
        let servers: Vec<_> = servers
            .iter()
            .map(|(name, entry)| ((*name).to_owned(), serde_json::to_value(entry).unwrap_or_default()))
            .collect();
        self.with_values(text, &servers, if_exists)
    }

    /// The text with entries added that hold more than we know.
    pub fn with_values(
        &self,
        text: Option<&str>,
        servers: &[(String, Value)],
        if_exists: IfExists,
    ) -> Result<String, EditError> {
        let document = self.read(text)?;
        let mut edits = Vec::new();
        if text.is_none() && self.kind == Kind::Servers {
            edits.push(Edit::Set(vec!["$schema".to_owned()], json!(schema::FILE_REFERENCE)));
        }
        for (name, entry) in servers {
            validate::name(name).map_err(EditError::Name)?;
            let path = self.entry_path(&document, name)?;
            if document.contains(&path) && if_exists == IfExists::Refuse {
                return Err(EditError::Exists { name: name.clone(), path: self.path.clone() });
            }
            edits.push(Edit::Set(path, entry.clone()));
        }
        self.edit(&document, &edits)
    }

    /// The text without these servers; those that are not there are fine.
    pub fn without(&self, text: Option<&str>, names: &[&str]) -> Result<String, EditError> {
        let document = self.read(text)?;
        let paths = names.iter().map(|name| self.entry_path(&document, name));
        let edits = paths.map(|path| path.map(Edit::Remove)).collect::<Result<Vec<_>, _>>()?;
        self.edit(&document, &edits)
    }

    /// What the text says of a server.
    pub fn entry(&self, text: Option<&str>, name: &str) -> Result<Option<Value>, EditError> {
        let document = self.read(text)?;
        let path = self.entry_path(&document, name)?;
        Ok(document.at(&path).cloned())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who may read it when it is made anew.
    pub fn privacy(&self) -> Privacy {
        self.privacy
    }

    /// Whether the text has a server of this name.
    pub fn has(&self, text: Option<&str>, name: &str) -> bool {
        self.read(text)
            .is_ok_and(|document| self.entry_path(&document, name).is_ok_and(|path| document.contains(&path)))
    }

    /// Removes a server.
    pub fn remove(&self, name: &str) -> Result<(), EditError> {
        self.update(|text| {
            let document = self.read(text)?;
            let path = self.existing(&document, name)?;
            self.edit(&document, &[Edit::Remove(path)])
        })
    }

    /// Switches a server on or off in its own entry.
    pub fn switch(&self, name: &str, to: Switch) -> Result<(), EditError> {
        self.update(|text| {
            let document = self.read(text)?;
            self.edit(&document, &self.entry_switch(&document, name, to)?)
        })
    }

    /// Switches a server on or off in its own entry, and takes it out of the lists of our user file, which is this one:
    /// a switch in a list would count more than the entry.
    pub fn switch_here(&self, name: &str, to: Switch) -> Result<(), EditError> {
        self.update(|text| {
            let document = self.read(text)?;
            let mut edits = self.entry_switch(&document, name, to)?;
            edits.extend(list_switch(&document, name, (to, to)));
            self.edit(&document, &edits)
        })
    }

    /// Switches a server of another tool on or off, by name, in our user file. `declared` is what that tool says.
    pub fn switch_foreign(&self, name: &str, to: Switch, declared: &Conduct) -> Result<(), EditError> {
        self.update(|text| {
            let document = self.read(text)?;
            self.edit(&document, &list_switch(&document, name, (declared.enabled, to)))
        })
    }

    fn entry_switch(&self, document: &Document<'_>, name: &str, to: Switch) -> Result<Vec<Edit>, EditError> {
        let entry = self.existing(document, name)?;
        let field = |field: &str| [entry.as_slice(), &[field.to_owned()]].concat();
        let (enabled, disabled) = (field("enabled"), field("disabled"));
        let has_disabled = document.contains(&disabled);
        let mut edits = Vec::new();
        if document.contains(&enabled) || (to == Switch::Off && !has_disabled) {
            edits.push(Edit::Set(enabled, json!(to == Switch::On)));
        }
        if has_disabled {
            edits.push(Edit::Set(disabled, json!(to == Switch::Off)));
        }
        Ok(edits)
    }

    fn update(&self, change: impl Fn(Option<&str>) -> Result<String, EditError>) -> Result<(), EditError> {
        write::update(&self.path, self.privacy, change)
    }

    fn read<'t>(&self, text: Option<&'t str>) -> Result<Document<'t>, EditError> {
        Document::read(text.unwrap_or_default()).map_err(|refusal| self.refused(refusal))
    }

    fn edit(&self, document: &Document<'_>, edits: &[Edit]) -> Result<String, EditError> {
        document.edit(edits).map_err(|refusal| self.refused(refusal))
    }

    fn existing(&self, document: &Document<'_>, name: &str) -> Result<Vec<String>, EditError> {
        let path = self.entry_path(document, name)?;
        if document.contains(&path) {
            Ok(path)
        } else {
            Err(EditError::Missing { name: name.to_owned(), path: self.path.clone() })
        }
    }

    fn entry_path(&self, document: &Document<'_>, name: &str) -> Result<Vec<String>, EditError> {
        let mut path = match self.kind {
            Kind::Settings => vec!["mcp_servers".to_owned()],
            Kind::Servers => document.container().map_err(|refusal| self.refused(refusal))?,
        };
        path.push(name.to_owned());
        Ok(path)
    }

    fn refused(&self, refusal: Refusal) -> EditError {
        WriteError::Content { path: self.path.clone(), line: refusal.line, what: refusal.what }.into()
    }
}

/// The lists with or without a server that is declared to be on or off. Only what differs is written down.
fn list_switch(document: &Document<'_>, name: &str, (declared, to): (Switch, Switch)) -> Vec<Edit> {
    let off = to == Switch::Off && declared == Switch::On;
    let on = to == Switch::On && declared == Switch::Off;
    let mut edits = Vec::new();
    for (key, wanted) in [("disabledServers", off), ("enabledServers", on)] {
        let before = document.strings(key);
        let mut after: Vec<String> = before.iter().filter(|listed| *listed != name).cloned().collect();
        if wanted {
            after.push(name.to_owned());
        }
        after.sort();
        after.dedup();
        if after == before {
            continue;
        }
        let path = vec![key.to_owned()];
        edits.push(if after.is_empty() { Edit::Remove(path) } else { Edit::Set(path, json!(after)) });
    }
    edits
}
