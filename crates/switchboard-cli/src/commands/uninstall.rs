//! `uninstall`: takes the gateway out of other tools' files again, and puts back what was moved.

use serde_json::{Value, json};
use switchboard::install::{self, NAME, Target, Undo};
use switchboard::sources::places::Project;
use switchboard::sources::syntax::Format;
use switchboard::visible::{excerpt, visible};

use super::difference::difference;
use super::install::{no_file, scope};
use super::{Context, Outcome, s};
use crate::args::{ToolArg, Uninstall};
use crate::error::CommandError;

pub(super) fn run(context: &Context, uninstall: &Uninstall) -> Result<Outcome, CommandError> {
    let project = Project::find(&context.env);
    let mut rows = Vec::new();
    for (target, is_named) in targets(context, &project, uninstall)? {
        let (tool, path) = (target.tool, target.path.clone());
        let Some(undo) = install::undo(&context.env, &project, target)? else {
            if is_named {
                let shown = context.env.display(&path);
                context.printer.remark(&format!("{tool}: there is no `{NAME}` in {shown}; nothing to do"));
                rows.push(
                    json!({"tool": tool.id(), "path": path, "state": "unchanged", "back": [], "left": []}),
                );
            }
            continue;
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
        rows.push(row(&undo, uninstall.dry_run));
    }
    if uninstall.dry_run {
        context.printer.remark("Nothing was changed: this was a dry run.");
    } else if rows.is_empty() {
        context.printer.remark("Nothing to do.");
    }
    if context.printer.json {
        context.printer.json(&json!({"tools": rows, "dryRun": uninstall.dry_run}))?;
    }
    Ok(Outcome::Done)
}

/// The files to look at, and whether their tool was named.
fn targets(
    context: &Context,
    project: &Project,
    uninstall: &Uninstall,
) -> Result<Vec<(Target, bool)>, CommandError> {
    let scope = scope(uninstall.scope);
    let records = install::records(&context.env);
    let mut targets: Vec<(Target, bool)> = Vec::new();
    for tool in &uninstall.tools {
        let (tools, is_named) = match tool {
            ToolArg::All => (install::tools().collect(), false),
            ToolArg::One(tool) => (vec![*tool], true),
        };
        for tool in tools {
            let Some(mut target) = install::target(&context.env, project, tool, scope) else {
                if is_named {
                    return Err(no_file(tool, scope));
                }
                continue;
            };
            // Where it was put counts, also if the tool has another file by now.
            let installed = records.iter().find(|record| {
                let same = record.tool == tool.id() && record.scope == scope.as_str();
                same && record.path.extension() == target.path.extension()
            });
            let is_elsewhere = !records.iter().any(|record| record.path == target.path);
            if let (Some(record), true, switchboard::Scope::User) = (installed, is_elsewhere, scope) {
                target.path.clone_from(&record.path);
            }
            let is_recorded =
                records.iter().any(|record| record.path == target.path && record.tool == tool.id());
            if is_named || is_recorded {
                targets.push((target, is_named));
            }
        }
    }
    Ok(targets)
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
    context.printer.remark(&format!("{}: took `{NAME}` out of {shown}", undo.target.tool));
    if !undo.back.is_empty() {
        let n = undo.back.len();
        let names: Vec<_> = undo.back.iter().map(|name| excerpt(name, 60)).collect();
        context.printer.remark(&format!("  put {n} server{} back: {}", s(n), names.join(", ")));
    }
}

fn row(undo: &Undo, is_dry: bool) -> Value {
    let left: Vec<_> =
        undo.left.iter().map(|left| json!({"name": left.name, "reason": left.reason})).collect();
    json!({
        "tool": undo.target.tool.id(),
        "scope": undo.target.scope.as_str(),
        "path": undo.target.path,
        "state": if is_dry { "planned" } else { "removed" },
        "back": undo.back,
        "left": left,
    })
}
