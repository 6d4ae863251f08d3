//! Which servers of a tool can go behind the gateway, and as what. Pure.
//!
//! A server moves only if nothing of it is lost: what we know is put into our words, what we do not know is copied, and
//! anything that would mean less here than there keeps it where it is, with the reason.

use serde_json::Value;

use super::target::Target;
use crate::config::edit::OwnFile;
use crate::config::file::ServerEntry;
use crate::config::plan::switched_by_tool;
use crate::config::{Server, ServerSpec, validate};
use crate::declared::{Declaration, Switch};
use crate::origin::Scope;
use crate::problem::{Code, Problem};
use crate::provider::Provider;
use crate::sources::dialect::{self, Meaning};
use crate::sources::places::Project;
use crate::sources::{Found, read_from};

/// A server that moves.
#[derive(Debug, Clone)]
pub struct Move {
    /// Its name.
    pub name: String,
    /// What it is, for people who are asked.
    pub spec: ServerSpec,
    /// Its line in the tool's file.
    pub line: Option<u32>,
    /// Its entry in our words, with what we do not know.
    pub entry: Value,
    /// Whether our file says the same already.
    pub is_known: bool,
    /// What is taken out of the tool's file.
    pub(super) piece: String,
    /// What that says.
    pub(super) theirs: Value,
}

/// A server that stays, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Its name.
    pub name: String,
    /// Why it stays.
    pub reason: String,
}

/// What the servers would come into.
pub(super) struct Into<'a> {
    pub(super) project: &'a Project,
    /// Our file.
    pub(super) own: &'a OwnFile,
    /// What it says; nothing if there is none.
    pub(super) text: Option<&'a str>,
    /// The servers that count now.
    pub(super) counting: &'a [Server],
}

impl Into<'_> {
    /// The server that counts now and would not any more if this one moved here.
    fn loser(&self, target: &Target, name: &str, entry: &ServerEntry) -> Option<&Server> {
        let now = self.counting.iter().find(|server| server.name == name)?;
        // One file may have servers of the user's and of the project's.
        let is_itself =
            now.origin.path.as_deref() == Some(target.path.as_path()) && now.origin.scope == target.scope;
        // Of our own, the project's count more than the user's, and our file more than others of its scope.
        let is_above = now.origin.provider == Provider::Native
            && (now.origin.scope < target.scope || now.origin.path.as_deref() == Some(self.own.path()));
        let said = |entry: &ServerEntry| serde_json::to_value(entry).ok();
        let is_same = now
            .definition
            .as_ref()
            .is_ok_and(|spec| ServerEntry::from_spec(spec).is_ok_and(|there| said(&there) == said(entry)));
        (!is_itself && !is_above && !is_same).then_some(now)
    }
}

/// Decides for every server of a text but the gateway itself.
pub(super) fn moves(text: &str, target: &Target, into: &Into<'_>, gateway: &str) -> (Vec<Move>, Vec<Left>) {
    let found = read_from(text, &target.origin(), target.format, &target.container);
    let (mut moves, mut left) = (Vec::new(), Vec::new());
    for declaration in found.declarations.iter().filter(|declaration| declaration.name != gateway) {
        match one(text, target, into, (&found, declaration)) {
            Ok(one) => moves.push(one),
            Err(reason) => left.push(Left { name: declaration.name.clone(), reason }),
        }
    }
    // What means no server is no server's reason to stay.
    left.sort_by(|left, right| left.name.cmp(&right.name));
    left.dedup();
    (moves, left)
}

fn one(
    text: &str,
    target: &Target,
    into: &Into<'_>,
    (found, declaration): (&Found, &Declaration),
) -> Result<Move, String> {
    let name = &declaration.name;
    validate::name(name).map_err(str::to_owned)?;
    let declared = declaration.content.as_ref().map_err(Clone::clone)?;
    if declared.is_gateway() {
        return Err("it is this program itself, as a gateway".to_owned());
    }
    let about = found.problems.iter().filter(|problem| problem.server.as_ref() == Some(name));
    if let Some(problem) = about.clone().find(|problem| problem.code != Code::UnknownField) {
        return Err(reason(problem));
    }
    let spec = validate::server(name, (**declared).clone()).map_err(|reasons| reasons.join("; "))?;
    if target.scope == Scope::Project && runs_elsewhere(target, into, &spec) {
        return Err("it would run in another directory".to_owned());
    }
    let switch = switched_by_tool(name, &declaration.origin, declaration.switch, &found.switches);
    let mut entry = ServerEntry::from_spec(&spec).map_err(|inexpressible| {
        format!("`{}` holds a placeholder that only {} can fill in", inexpressible.field, target.tool)
    })?;
    if let Some(now) = into.loser(target, name, &entry) {
        return Err(format!(
            "it would take the place of the one from {}, which counts now",
            now.origin.provider
        ));
    }
    if switch == Switch::Off {
        entry.enabled = Some(false);
    }
    let mut entry = serde_json::to_value(entry).unwrap_or_default();
    let slot = target.slot(text).map_err(|refusal| refusal.what)?;
    let theirs = slot.entry(text, name).map_err(|refusal| refusal.what)?.unwrap_or_default();
    copy_unknown(&mut entry, &theirs, target.read_as)?;
    let is_known = match into.own.entry(into.text, name).map_err(|error| error.to_string())? {
        None => false,
        Some(there) if there == entry => true,
        Some(_) => return Err("your own file has another server of that name".to_owned()),
    };
    let (_, piece) = slot.cut(text, name).map_err(|refusal| refusal.what)?;
    Ok(Move { name: name.clone(), spec, line: declaration.origin.line, entry, is_known, piece, theirs })
}

fn reason(problem: &Problem) -> String {
    match (&problem.hint, problem.code) {
        (Some(hint), Code::UnsupportedField) => format!("{}: {hint}", problem.message),
        _ => problem.message.clone(),
    }
}

/// Whether a program of the project would find itself in another directory.
fn runs_elsewhere(target: &Target, into: &Into<'_>, spec: &ServerSpec) -> bool {
    let crate::config::Transport::Stdio(stdio) = &spec.transport else { return false };
    let has_place = stdio.cwd.as_ref().is_some_and(|cwd| cwd.raw().starts_with('/'));
    let mut ours = target.origin();
    ours.provider = Provider::Native;
    ours.path = Some(into.own.path().into());
    !has_place && into.project.directory_of(&target.origin()) != into.project.directory_of(&ours)
}

/// Copies the fields that nobody here knows. One that is known to us but not to the tool would begin to mean something.
fn copy_unknown(entry: &mut Value, theirs: &Value, tool: Provider) -> Result<(), String> {
    let (there, here) = (dialect::of(tool), dialect::of(Provider::Native));
    let Some(entry) = entry.as_object_mut() else { return Ok(()) };
    let has_type = theirs.get("type").is_some();
    for (field, value) in theirs.as_object().into_iter().flatten() {
        let is_known = match there.meaning(field) {
            Some(_) if field == "transport" && has_type => false,
            Some((_, Meaning::Nothing)) | None => false,
            Some(_) => true,
        };
        if is_known || value.is_null() {
            continue;
        }
        match (there.meaning(field), here.meaning(field)) {
            // Without it nothing is lost.
            (Some((_, Meaning::Nothing)), _) => {}
            (_, Some(_)) => {
                let field = crate::visible::excerpt(field, 60);
                return Err(format!("`{field}` would begin to have an effect, which it has not in {tool}"));
            }
            (_, None) => drop(entry.insert(field.clone(), value.clone())),
        }
    }
    Ok(())
}
