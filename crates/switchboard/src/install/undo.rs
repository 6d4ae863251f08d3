//! Takes the entry out again and puts back what was moved.
//!
//! If nobody changed a file since, it gets its old text back, to the byte. Otherwise entry by entry; what cannot be put
//! back is named, stays where it is, and stays in the record.

use std::path::{Path, PathBuf};

use super::moves::Left;
use super::perform::{has_gateway, own_file};
use super::record::{self, Kept, Moved, Place, Record, hash};
use super::target::Target;
use super::{InstallError, NAME};
use crate::config::edit::OwnFile;
use crate::config::write::{self, Privacy, WriteError};
use crate::env::Env;
use crate::origin::Scope;
use crate::sources::places::Project;

/// What would be undone.
#[derive(Debug)]
pub struct Undo {
    /// The tool and its file.
    pub target: Target,
    /// The tool's file as it is.
    pub before: Option<String>,
    /// The tool's file as it would be; nothing if it would be gone.
    pub after: Option<String>,
    /// The servers that are put back.
    pub back: Vec<String>,
    /// What cannot be undone, and why.
    pub left: Vec<Left>,
    /// Our file, before and after; nothing if it does not change.
    pub own: Option<(PathBuf, Option<String>, Option<String>)>,
    /// Whether the project is not there, or not now, so that nothing is done.
    pub is_gone: bool,
    record: Option<Record>,
    /// What stays in the record.
    stuck: Vec<Moved>,
    place: Place,
    inside: Option<PathBuf>,
}

/// What is made of the tool's text.
struct Theirs {
    after: Option<String>,
    /// Those that stand in the tool's file again.
    back: Vec<Moved>,
    stuck: Vec<Moved>,
    left: Vec<Left>,
}

/// Looks at the files and decides; nothing if nothing is installed there. Nothing is written.
pub fn undo(env: &Env, project: &Project, target: Target) -> Result<Option<Undo>, InstallError> {
    let place = Place::of(env, &target);
    let record = place.load()?;
    let before = record::text(&target.path)?;
    if let (Some(record), None) = (&record, &before)
        && is_gone(project, &target)
    {
        return Ok(Some(gone(record, target, place)));
    }
    let theirs = match (&record, &before) {
        (Some(record), _) => theirs(&target, record, before.as_deref(), &place)?,
        (None, Some(text)) if has_gateway(text, &target) => {
            let slot = target.slot(text).map_err(|refusal| refused(&target, refusal))?;
            let (after, _) = slot.cut(text, NAME).map_err(|refusal| refused(&target, refusal))?;
            Theirs { after: Some(after), back: Vec::new(), stuck: Vec::new(), left: Vec::new() }
        }
        (None, _) => {
            // One that is broken says nothing, which is not the same as nothing.
            let text = before.as_deref().unwrap_or_default();
            target.slot(text).map_err(|refusal| refused(&target, refusal))?;
            return Ok(None);
        }
    };
    let Theirs { after, back, stuck, mut left } = theirs;
    let own = match &record {
        Some(record) => ours(env, project, (&target, record), &place, (&back, &mut left))?,
        None => None,
    };
    let inside =
        (target.scope == Scope::Project).then(|| project.ancestors.last().unwrap_or(&project.dir).clone());
    let back = back.into_iter().map(|moved| moved.name).collect();
    let is_gone = false;
    Ok(Some(Undo { target, before, after, back, left, own, is_gone, record, stuck, place, inside }))
}

/// Whether the project of a file is not there, or not now.
fn is_gone(project: &Project, target: &Target) -> bool {
    target.scope == Scope::Project && project.ancestors.first().is_none_or(|dir| !dir.is_dir())
}

/// Where no project is, none is made to put something back. It may be on a disk that comes back, so all stays as it is.
fn gone(record: &Record, target: Target, place: Place) -> Undo {
    let names = std::iter::once(NAME).chain(record.moved.iter().map(|moved| moved.name.as_str()));
    let reason = "the directory of its project is not there";
    let left = names.map(|name| Left { name: name.to_owned(), reason: reason.to_owned() }).collect();
    Undo {
        target,
        before: None,
        after: None,
        back: Vec::new(),
        left,
        own: None,
        is_gone: true,
        record: None,
        stuck: Vec::new(),
        place,
        inside: None,
    }
}

fn refused(target: &Target, refusal: crate::config::edit::Refusal) -> InstallError {
    InstallError::refused(&target.path, refusal, &format!("take `{NAME}` out"))
}

/// What a file was before.
enum Before {
    /// Somebody changed it since.
    Unknown,
    /// It said this, or was not there.
    Known(Option<String>),
}

/// The old text of a file that nobody changed since.
fn exact(kept: &Kept, now: Option<&str>, backup: &Path) -> Result<Before, InstallError> {
    Ok(match kept {
        _ if !kept.is_exact || now.is_none_or(|now| hash(now) != kept.after) => Before::Unknown,
        // Without the old text, nobody knows it.
        Kept { was_there: true, .. } => match record::text(backup)? {
            Some(text) => Before::Known(Some(text)),
            None => Before::Unknown,
        },
        Kept { was_there: false, .. } => Before::Known(None),
    })
}

fn theirs(
    target: &Target,
    record: &Record,
    now: Option<&str>,
    place: &Place,
) -> Result<Theirs, InstallError> {
    if let Before::Known(after) = exact(&record.file, now, &place.backup())? {
        return Ok(Theirs { after, back: record.moved.clone(), stuck: Vec::new(), left: Vec::new() });
    }
    if now.is_none() && record.moved.is_empty() {
        return Ok(Theirs { after: None, back: Vec::new(), stuck: Vec::new(), left: Vec::new() });
    }
    let mut text = now.unwrap_or_else(|| target.head()).to_owned();
    let slot = target.slot(&text).map_err(|refusal| refused(target, refusal))?;
    let (mut back, mut stuck, mut left) = (Vec::new(), Vec::new(), Vec::new());
    match slot.entry(&text, NAME).map_err(|refusal| refused(target, refusal))? {
        None => {}
        Some(there) if there == record.entry || has_gateway(&text, target) => {
            text = slot.cut(&text, NAME).map_err(|refusal| refused(target, refusal))?.0;
            if let Some(piece) = &record.replaced {
                text = slot.paste(&text, NAME, piece).map_err(|refusal| refused(target, refusal))?;
            }
        }
        Some(_) => {
            left.push(Left { name: NAME.to_owned(), reason: "it is something else by now".to_owned() });
        }
    }
    for moved in &record.moved {
        let there = slot.entry(&text, &moved.name).map_err(|refusal| refused(target, refusal))?;
        let pasted = match there {
            Some(there) if there == moved.theirs => Ok(text.clone()),
            Some(_) => Err(format!("{} has another server of that name by now", target.tool)),
            None => slot.paste(&text, &moved.name, &moved.piece).map_err(|refusal| refusal.what),
        };
        match pasted {
            Ok(new) => {
                text = new;
                back.push(moved.clone());
            }
            Err(reason) => {
                left.push(Left { name: moved.name.clone(), reason });
                stuck.push(moved.clone());
            }
        }
    }
    Ok(Theirs { after: Some(text), back, stuck, left })
}

type Change = (PathBuf, Option<String>, Option<String>);

/// What becomes of our own file.
fn ours(
    env: &Env,
    project: &Project,
    (target, record): (&Target, &Record),
    place: &Place,
    (back, left): (&[Moved], &mut Vec<Left>),
) -> Result<Option<Change>, InstallError> {
    let Some((path, kept)) = &record.own else { return Ok(None) };
    let file = OwnFile::new(path, own_file(env, project, target.scope).privacy());
    let now = record::text(path)?;
    if back.len() == record.moved.len()
        && let Before::Known(after) = exact(kept, now.as_deref(), &place.own_backup())?
    {
        return Ok(Some((path.clone(), now, after)));
    }
    let mut names = Vec::new();
    for moved in back.iter().filter(|moved| !moved.is_known) {
        match file.entry(now.as_deref(), &moved.name)? {
            None => {}
            Some(there) if there == moved.entry => names.push(moved.name.as_str()),
            Some(_) => {
                let reason =
                    format!("it was changed in {} since, and stays there as well", env.display(path));
                left.push(Left { name: moved.name.clone(), reason });
            }
        }
    }
    if names.is_empty() {
        return Ok(None);
    }
    let after = file.without(now.as_deref(), &names)?;
    Ok(Some((path.clone(), now, Some(after))))
}

impl Undo {
    /// Does it.
    pub fn perform(&self) -> Result<(), InstallError> {
        if self.is_gone {
            return Ok(());
        }
        let privacy = if self.inside.is_some() { Privacy::Shared } else { Privacy::Private };
        change(&self.target.path, (&self.before, &self.after), privacy, self.inside.as_deref())?;
        if let Some((path, before, after)) = &self.own {
            change(path, (before, after), privacy, self.inside.as_deref())?;
        }
        if let Some(record) = self.record.as_ref().filter(|_| !self.stuck.is_empty()) {
            let file = Kept { is_exact: false, ..record.file.clone() };
            let own = record.own.clone().map(|(path, own)| (path, Kept { is_exact: false, ..own }));
            let record = Record { moved: self.stuck.clone(), file, own, replaced: None, ..record.clone() };
            return Ok(self.place.save(&record)?);
        }
        if let (None, Some(made)) =
            (&self.after, self.record.as_ref().and_then(|record| record.made.as_deref()))
        {
            // Only what is empty goes, and nothing above what was made.
            let dirs = self.target.path.ancestors().skip(1).take_while(|dir| dir.starts_with(made));
            let mut dirs = dirs.map(std::fs::remove_dir);
            while let Some(Ok(())) = dirs.next() {}
        }
        Ok(self.place.forget()?)
    }
}

/// Gives a file its new text, or takes it away.
fn change(
    path: &Path,
    (before, after): (&Option<String>, &Option<String>),
    privacy: Privacy,
    inside: Option<&Path>,
) -> Result<(), InstallError> {
    if before == after {
        return Ok(());
    }
    let busy = || InstallError::from(WriteError::Busy { path: path.to_owned() });
    match (before, after) {
        (Some(before), None) => {
            if write::remove(path, before)? {
                Ok(())
            } else {
                Err(busy())
            }
        }
        (_, Some(after)) => write::update_inside(path, privacy, inside, |text| {
            if text == before.as_deref() { Ok(after.clone()) } else { Err(busy()) }
        }),
        (None, None) => Ok(()),
    }
}
