//! `uninstall`: takes the gateway out of other tools' files again, and puts back what was moved.

use std::path::Path;

use serde_json::{Value, json};
use switchboard::install::{self, NAME, Record, Target, Undo};
use switchboard::sources::places::Project;
use switchboard::sources::syntax::Format;
use switchboard::visible::{excerpt, shell_word, visible};
use switchboard::{Provider, Scope};

use super::difference::difference;
use super::install::{no_file, scope};
use super::{Context, Outcome, s};
use crate::args::{ScopeArg, ToolArg, Uninstall};
use crate::error::{CommandError, Kind};

/// A file, and the project it belongs to or is seen from.
struct Job {
    project: Project,
    target: Target,
}

impl Job {
    fn is_of(&self, record: &Record) -> bool {
        let Target { tool, scope, path, .. } = &self.target;
        tool.id() == record.tool && scope.as_str() == record.scope && *path == record.path
    }
}

pub(super) fn run(context: &Context, uninstall: &Uninstall) -> Result<Outcome, CommandError> {
    let records = install::records(&context.env);
    let jobs = jobs(context, uninstall, &records)?;
    let (elsewhere, mut failures) = others(context, uninstall, (&records, &jobs));
    let is_alone = jobs.len() == 1 && elsewhere.is_empty() && failures.is_empty();
    let mut rows = Vec::new();
    for job in jobs {
        let Target { tool, scope, path, .. } = job.target.clone();
        match one(context, uninstall, job) {
            Ok(row) => rows.push(row),
            Err(error) if is_alone => return Err(error),
            // One that cannot be changed does not keep the others as they are, nor from being named.
            Err(error) => {
                let why = error.to_json()["error"].take();
                let (tool, scope) = (tool.id(), scope.as_str());
                rows.push(
                    json!({"tool": tool, "scope": scope, "path": path, "state": "failed", "error": why}),
                );
                failures.push(error);
            }
        }
    }
    // As JSON an error is one object; the data has all of them.
    let n_said = if context.printer.json { 1 } else { failures.len() };
    for error in failures.iter().take(n_said) {
        context.printer.error(error, Some(&context.env));
    }
    for job in &elsewhere {
        let (tool, shown) = (job.target.tool, context.env.display(&job.target.path));
        let how = how_to_undo(context, job);
        context.printer.remark(&format!("{tool}: `{NAME}` stays in {shown}; this takes it out: {how}"));
    }
    if uninstall.dry_run {
        context.printer.remark("Nothing was changed: this was a dry run.");
    } else if rows.is_empty() && failures.is_empty() && elsewhere.is_empty() {
        context.printer.remark("Nothing to do.");
    }
    if context.printer.json {
        let elsewhere: Vec<_> = elsewhere.iter().map(|job| place(context, job)).collect();
        let errors: Vec<_> = failures.iter().map(|error| error.to_json()["error"].take()).collect();
        context.printer.json(
            &json!({"tools": rows, "elsewhere": elsewhere, "errors": errors, "dryRun": uninstall.dry_run}),
        )?;
    }
    Ok(if failures.is_empty() { Outcome::Done } else { Outcome::Broken })
}

fn one(context: &Context, uninstall: &Uninstall, job: Job) -> Result<Value, CommandError> {
    let Target { tool, path, .. } = job.target.clone();
    let Some(undo) = install::undo(&context.env, &job.project, job.target)? else {
        let shown = context.env.display(&path);
        context.printer.remark(&format!("{tool}: there is no `{NAME}` in {shown}; nothing to do"));
        return Ok(json!({"tool": tool.id(), "path": path, "state": "unchanged", "back": [], "left": []}));
    };
    if uninstall.dry_run {
        show(context, &undo);
    } else {
        undo.perform()?;
        said(context, &undo);
    }
    for left in &undo.left {
        context.printer.remark(&visible(&format!("  `{}`: {}", excerpt(&left.name, 60), left.reason)));
    }
    Ok(row(&undo, uninstall.dry_run))
}

/// The files to look at, each of them once.
fn jobs(context: &Context, uninstall: &Uninstall, records: &[Record]) -> Result<Vec<Job>, CommandError> {
    let here = Project::find(&context.env);
    let mut jobs: Vec<Job> = Vec::new();
    for tool in &uninstall.tools {
        let new = match tool {
            ToolArg::All => everywhere(context, &here, uninstall.scope, records),
            ToolArg::One(tool) => {
                let scope = scope(uninstall.scope.unwrap_or(ScopeArg::User));
                vec![named(context, &here, (*tool, scope), records)?]
            }
        };
        for job in new {
            let is_known =
                |other: &Job| other.target.tool == job.target.tool && other.target.path == job.target.path;
            if !jobs.iter().any(is_known) {
                jobs.push(job);
            }
        }
    }
    Ok(jobs)
}

/// The file of a tool that was named.
fn named(
    context: &Context,
    here: &Project,
    (tool, scope): (Provider, Scope),
    records: &[Record],
) -> Result<Job, CommandError> {
    let mut target = install::target(&context.env, here, tool, scope).ok_or_else(|| no_file(tool, scope))?;
    // Where it was put counts, also if the tool has another file by now.
    let installed = records.iter().find(|record| {
        let same = record.tool == tool.id() && record.scope == scope.as_str();
        same && record.path.extension() == target.path.extension()
    });
    let is_elsewhere = !records.iter().any(|record| record.path == target.path);
    if let (Some(record), true, Scope::User) = (installed, is_elsewhere, scope) {
        target.path.clone_from(&record.path);
    }
    Ok(Job { project: here.clone(), target })
}

/// Every file it was put into: with a scope only yours, or only those of this project.
fn everywhere(context: &Context, here: &Project, wanted: Option<ScopeArg>, records: &[Record]) -> Vec<Job> {
    let mut records: Vec<&Record> = records.iter().collect();
    records.sort_by_key(|record| install::tools().position(|tool| tool.id() == record.tool));
    let all = records.into_iter().filter_map(|record| install::recorded(&context.env, record));
    let is_here = |job: &Job| job.project.ancestors.first().is_some_and(|dir| here.ancestors.contains(dir));
    all.map(|(project, target)| Job { project, target })
        .filter(|job| match wanted {
            None => true,
            Some(ScopeArg::User) => job.target.scope == Scope::User,
            Some(ScopeArg::Project) => job.target.scope == Scope::Project && is_here(job),
        })
        .collect()
}

/// Where else it was put for the tools that were asked for, and stays; and what cannot be found again: the record is
/// damaged, or the tool has no such file.
fn others(
    context: &Context,
    uninstall: &Uninstall,
    (records, jobs): (&[Record], &[Job]),
) -> (Vec<Job>, Vec<CommandError>) {
    let is_asked = |record: &Record| {
        uninstall.tools.iter().any(|tool| match tool {
            ToolArg::All => true,
            ToolArg::One(tool) => tool.id() == record.tool,
        })
    };
    let (mut elsewhere, mut lost) = (Vec::new(), Vec::new());
    // Whose a damaged one is, it does not tell.
    if uninstall.tools.contains(&ToolArg::All) {
        lost.extend(install::unreadable(&context.env).into_iter().map(CommandError::from));
    }
    let stays = |record: &&Record| is_asked(record) && !jobs.iter().any(|job| job.is_of(record));
    for record in records.iter().filter(stays) {
        match install::recorded(&context.env, record) {
            Some((project, target)) => elsewhere.push(Job { project, target }),
            None => lost.push(unknown(context, record)),
        }
    }
    (elsewhere, lost)
}

fn unknown(context: &Context, record: &Record) -> CommandError {
    let (tool, shown) = (excerpt(&record.tool, 60), context.env.display(&record.path));
    let message = format!("`{tool}` is not known to have the file {shown}, so nothing was changed in it");
    CommandError::new(Kind::Failed, "not-possible", message).hint(format!("take `{NAME}` out of it by hand"))
}

/// The command that takes it out of that file.
fn how_to_undo(context: &Context, job: &Job) -> String {
    let line = format!("switchboard uninstall --from {}", job.target.tool.id());
    let dir = job.project.ancestors.first().filter(|_| job.target.scope == Scope::Project);
    match dir {
        None => line,
        Some(dir) if dir.is_dir() => {
            format!("{line} --scope project -C {}", typed(context.env.home(), dir))
        }
        // Nobody can go there any more.
        Some(_) => "switchboard uninstall --from all".to_owned(),
    }
}

/// A path as one types it into a shell, which knows `~`, but only outside of quotes.
fn typed(home: &Path, path: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) if !rest.as_os_str().is_empty() => format!("~/{}", shell_word(&rest.to_string_lossy())),
        _ => shell_word(&path.to_string_lossy()),
    }
}

fn place(context: &Context, job: &Job) -> Value {
    json!({
        "tool": job.target.tool.id(),
        "scope": job.target.scope.as_str(),
        "path": job.target.path,
        "command": how_to_undo(context, job),
    })
}

fn show(context: &Context, undo: &Undo) {
    let shown = context.env.display(&undo.target.path);
    let (old, new) = (undo.before.as_deref(), undo.after.as_deref());
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    context.printer.show(&difference(undo.target.format, old, new, &shown));
    if let Some((path, before, after)) = &undo.own {
        let (old, new) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
        context.printer.show(&difference(Format::Json, old, new, &context.env.display(path)));
    }
}

fn said(context: &Context, undo: &Undo) {
    let shown = context.env.display(&undo.target.path);
    let tool = undo.target.tool;
    if undo.before.is_none() && undo.after.is_none() {
        context.printer.remark(&format!("{tool}: {shown} is not there any more"));
    } else {
        context.printer.remark(&format!("{tool}: took `{NAME}` out of {shown}"));
    }
    if !undo.back.is_empty() {
        let n = undo.back.len();
        let names: Vec<_> = undo.back.iter().map(|name| excerpt(name, 60)).collect();
        context.printer.remark(&format!("  put {n} server{} back: {}", s(n), names.join(", ")));
    }
}

fn row(undo: &Undo, is_dry: bool) -> Value {
    let left: Vec<_> =
        undo.left.iter().map(|left| json!({"name": left.name, "reason": left.reason})).collect();
    let state = if undo.is_gone {
        "unchanged"
    } else if is_dry {
        "planned"
    } else {
        "removed"
    };
    json!({
        "tool": undo.target.tool.id(),
        "scope": undo.target.scope.as_str(),
        "path": undo.target.path,
        "state": state,
        "back": undo.back,
        "left": left,
    })
}
