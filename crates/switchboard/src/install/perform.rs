//! What an installation would change, and then the change itself.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::moves::{self, Into, Left, Move};
use super::record::{self, Kept, Moved, Place, Record, hash};
use super::target::Target;
use super::{InstallError, NAME};
use crate::config::Server;
use crate::config::edit::{IfExists, OwnFile};
use crate::config::write::{self, Privacy};
use crate::env::Env;
use crate::origin::Scope;
use crate::sources::places::{self, Project};
use crate::sources::read_from;

/// What the user wants.
#[derive(Debug, Clone)]
pub struct Wish<'a> {
    /// The entry.
    pub entry: Value,
    /// Put it in the place of something else of that name.
    pub force: bool,
    /// Move the tool's own servers behind the gateway, where these are the servers that count.
    pub moves: Option<&'a [Server]>,
}

/// What becomes of the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is there already.
    Same,
    /// There was none.
    New,
    /// There was one with another path or other arguments.
    Updated,
    /// There was something else.
    Replaced,
}

/// What would be done.
#[derive(Debug)]
pub struct Prepared {
    /// The tool and its file.
    pub target: Target,
    /// What becomes of the entry.
    pub state: State,
    /// The servers that move.
    pub moves: Vec<Move>,
    /// The servers that stay, if they were to move.
    pub left: Vec<Left>,
    /// The tool's file as it is; nothing if there is none.
    pub before: Option<String>,
    /// The tool's file as it would be.
    pub after: String,
    /// Our file as it is.
    pub own_before: Option<String>,
    /// Our file as it would be; nothing if it does not change.
    pub own_after: Option<String>,
    entry: Value,
    replaced: Option<String>,
    own: OwnFile,
    place: Place,
    record: Option<Record>,
    /// A project's file stays in here.
    inside: Option<PathBuf>,
}

/// Looks at the files and decides. Nothing is written.
pub fn prepare(
    env: &Env,
    project: &Project,
    target: Target,
    wish: &Wish<'_>,
) -> Result<Prepared, InstallError> {
    let place = Place::of(env, &target);
    let record = place.load()?;
    let before = record::text(&target.path)?;
    let text = before.as_deref().unwrap_or_else(|| target.head());
    let own = own_file(env, project, target.scope);
    let own_before = record::text(own.path())?;
    let (state, replaced) = state(text, &target, wish, record.as_ref())?;
    let (moves, left) = match wish.moves {
        Some(counting) => {
            let into = Into { project, own: &own, text: own_before.as_deref(), counting };
            moves::moves(text, &target, &into, NAME)
        }
        None => Default::default(),
    };
    let after = edited(text, &target, &wish.entry, state, &moves)?;
    let own_after = with_moves(&own, own_before.as_deref(), &moves)?;
    let inside =
        (target.scope == Scope::Project).then(|| project.ancestors.last().unwrap_or(&project.dir).clone());
    let entry = wish.entry.clone();
    Ok(Prepared {
        target,
        state,
        moves,
        left,
        before,
        after,
        own_before,
        own_after,
        entry,
        replaced,
        own,
        place,
        record,
        inside,
    })
}

/// Our file that a tool's servers go into.
pub(super) fn own_file(env: &Env, project: &Project, scope: Scope) -> OwnFile {
    match scope {
        Scope::Project => OwnFile::new(&places::project_file(env, project), Privacy::Shared),
        _ => OwnFile::new(&places::user_file(env), Privacy::Private),
    }
}

/// Whether the entry of our name in a text starts this program.
pub(super) fn has_gateway(text: &str, target: &Target) -> bool {
    let found = read_from(text, &target.origin(), target.format, &target.container);
    let mut named = found.declarations.iter().filter(|declaration| declaration.name == NAME);
    named.any(|declaration| declaration.content.as_ref().is_ok_and(|declared| declared.is_gateway()))
}

fn state(
    text: &str,
    target: &Target,
    wish: &Wish<'_>,
    record: Option<&Record>,
) -> Result<(State, Option<String>), InstallError> {
    let refused = |refusal| InstallError::refused(&target.path, refusal, &by_hand(target, &wish.entry));
    let slot = target.slot(text).map_err(refused)?;
    let Some(there) = slot.entry(text, NAME).map_err(refused)? else { return Ok((State::New, None)) };
    if there == wish.entry {
        return Ok((State::Same, None));
    }
    if record.is_some_and(|record| record.entry == there) {
        return Ok((State::Updated, record.and_then(|record| record.replaced.clone())));
    }
    let state = if has_gateway(text, target) { State::Updated } else { State::Replaced };
    if state == State::Replaced && !wish.force {
        return Err(InstallError::Exists { path: target.path.clone() });
    }
    let (_, piece) = slot.cut(text, NAME).map_err(refused)?;
    Ok((state, Some(piece)))
}

/// The tool's text with the entry, without what moves.
fn edited(
    text: &str,
    target: &Target,
    entry: &Value,
    state: State,
    moves: &[Move],
) -> Result<String, InstallError> {
    let refused = |refusal| InstallError::refused(&target.path, refusal, &by_hand(target, entry));
    let slot = target.slot(text).map_err(refused)?;
    let mut text = match state {
        State::Same => text.to_owned(),
        State::New => slot.insert(text, NAME, entry).map_err(refused)?,
        State::Updated | State::Replaced => slot.replace(text, NAME, entry).map_err(refused)?,
    };
    for one in moves {
        let (new, piece) = slot.cut(&text, &one.name).map_err(refused)?;
        if piece != one.piece {
            return Err(write::WriteError::Busy { path: target.path.clone() }.into());
        }
        text = new;
    }
    Ok(text)
}

/// What to put where, for people.
fn by_hand(target: &Target, entry: &Value) -> String {
    let keys = target.slot(target.head()).map(|slot| slot.keys.join(".")).unwrap_or_default();
    format!("under `{keys}`, `{NAME}` with {entry}")
}

/// Our text with the servers that are not there yet; nothing if none is missing.
fn with_moves(own: &OwnFile, text: Option<&str>, moves: &[Move]) -> Result<Option<String>, InstallError> {
    let new: Vec<(String, Value)> =
        moves.iter().filter(|one| !one.is_known).map(|one| (one.name.clone(), one.entry.clone())).collect();
    if new.is_empty() {
        return Ok(None);
    }
    Ok(Some(own.with_values(text, &new, IfExists::Refuse)?))
}

impl Prepared {
    /// Whether there is nothing to do.
    pub fn is_done(&self) -> bool {
        self.before.as_deref() == Some(self.after.as_str()) && self.own_after.is_none()
    }

    /// Our file that servers move into.
    pub fn own_path(&self) -> &Path {
        self.own.path()
    }

    /// Where the tool's file is kept as it was.
    pub fn backup(&self) -> PathBuf {
        self.place.backup()
    }

    /// Does it.
    pub fn perform(&self) -> Result<(), InstallError> {
        if self.is_done() {
            return Ok(());
        }
        let mut record = self.remember()?;
        if let Some(own_after) = &self.own_after {
            write::update(self.own.path(), self.own.privacy(), |text| {
                if text == self.own_before.as_deref() {
                    return Ok(own_after.clone());
                }
                Ok::<_, InstallError>(with_moves(&self.own, text, &self.moves)?.unwrap_or_default())
            })?;
        }
        let last: RefCell<Option<(bool, String)>> = RefCell::new(None);
        let privacy = if self.inside.is_some() { Privacy::Shared } else { Privacy::Private };
        write::update_inside(&self.target.path, privacy, self.inside.as_deref(), |text| {
            let is_as_seen = text == self.before.as_deref();
            let new = if is_as_seen {
                self.after.clone()
            } else {
                let text = text.unwrap_or_else(|| self.target.head());
                edited(text, &self.target, &self.entry, self.state, &self.moves)?
            };
            last.replace(Some((is_as_seen, hash(&new))));
            Ok::<_, InstallError>(new)
        })?;
        if let Some((false, after)) = last.into_inner() {
            // Somebody saved in between: what is kept is older than what was changed.
            record.file = Kept { after, is_exact: false, ..record.file };
            self.place.save(&record)?;
        }
        Ok(())
    }

    /// Keeps what is needed to undo it, before anything is changed.
    fn remember(&self) -> Result<Record, InstallError> {
        let kept = |kept: &Kept, backup: &Path| -> Result<(Kept, Option<String>), InstallError> {
            let text = if kept.was_there { Some(record::text(backup)?.unwrap_or_default()) } else { None };
            Ok((kept.clone(), text))
        };
        let old = self.record.as_ref();
        let old_file = old.map(|old| kept(&old.file, &self.place.backup())).transpose()?;
        let (file, is_fresh) = Kept::of(old_file.as_ref(), self.before.as_deref(), &self.after);
        if let (true, Some(before)) = (is_fresh, &self.before) {
            record::put(&self.place.backup(), before)?;
        }
        let old_own = old.and_then(|old| old.own.as_ref());
        let mut own = old_own.cloned();
        if let Some(own_after) = &self.own_after {
            let old_own = old_own.map(|(_, own)| kept(own, &self.place.own_backup())).transpose()?;
            let (kept, is_fresh) = Kept::of(old_own.as_ref(), self.own_before.as_deref(), own_after);
            if let (true, Some(before)) = (is_fresh, &self.own_before) {
                record::put(&self.place.own_backup(), before)?;
            }
            own = Some((self.own.path().to_owned(), kept));
        }
        let mut moved: Vec<Moved> = old.map(|old| old.moved.clone()).unwrap_or_default();
        for one in &self.moves {
            let earlier = moved.iter().position(|earlier| earlier.name == one.name);
            // After a crash in the middle it stands in our file because of us.
            let is_known = match earlier.map(|earlier| moved.remove(earlier)) {
                Some(earlier) => earlier.is_known,
                None => one.is_known,
            };
            let (name, piece) = (one.name.clone(), one.piece.clone());
            moved.push(Moved { name, piece, theirs: one.theirs.clone(), entry: one.entry.clone(), is_known });
        }
        let record = Record {
            tool: self.target.tool.id().to_owned(),
            scope: self.target.scope.to_string(),
            path: self.target.path.clone(),
            entry: self.entry.clone(),
            replaced: self.replaced.clone().or_else(|| old.and_then(|old| old.replaced.clone())),
            file,
            own,
            moved,
            made: old.and_then(|old| old.made.clone()).or_else(|| first_missing(&self.target.path)),
        };
        self.place.save(&record)?;
        Ok(record)
    }
}

/// The first directory on the way to a file that is not there.
fn first_missing(path: &Path) -> Option<PathBuf> {
    // One that cannot be looked at was not made by us.
    let missing = path.ancestors().skip(1).take_while(|dir| dir.try_exists().is_ok_and(|there| !there));
    missing.last().map(Path::to_owned)
}
