//! `install`: puts the gateway into other tools' files, and moves their servers behind it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchboard::install::{self, Gateway, NAME, Prepared, Target, Wish};
use switchboard::sources::places::Project;
use switchboard::sources::syntax::Format;
use switchboard::visible::{excerpt, shell_word, visible};
use switchboard::{Origin, Provider, Scope, State};

use super::difference::difference;
use super::{Context, Outcome, add, connection, s};
use crate::args::{Install, ScopeArg, ToolArg};
use crate::error::{CommandError, Kind};

pub(super) fn run(context: &Context, install: &Install) -> Result<Outcome, CommandError> {
    let project = Project::find(&context.env);
    let (gateway, how) = gateway(context, install)?;
    let targets = targets(context, &project, install)?;
    if targets.is_empty() {
        context
            .printer
            .remark("None of the tools seems to be here; name one: switchboard install --into TOOL");
    }
    if !how.is_empty() {
        context.printer.remark(&how);
    }
    let (mut rows, mut failure) = (Vec::new(), None);
    let n = targets.len();
    for target in targets {
        let (tool, path) = (target.tool, target.path.clone());
        match one(context, &project, install, (target, &gateway)) {
            Ok(row) => rows.push(row),
            // With several tools, one that cannot have it does not keep the others from it.
            Err(error) if n > 1 && error.kind != Kind::Interrupted => {
                // As JSON an error is one object; the data has all of them.
                if failure.is_none() || !context.printer.json {
                    context.printer.error(&error, Some(&context.env));
                }
                let why = error.to_json()["error"].take();
                rows.push(json!({"tool": tool.id(), "path": path, "state": "failed", "error": why}));
                failure.get_or_insert(error.kind);
            }
            Err(error) => return Err(error),
        }
    }
    let is_changed = rows.iter().any(|row| !matches!(row["state"].as_str(), Some("unchanged" | "failed")));
    if install.dry_run {
        context.printer.remark("Nothing was changed: this was a dry run.");
    } else if is_changed {
        next(context, &rows);
    }
    if context.printer.json {
        context.printer.json(&json!({"tools": rows, "dryRun": install.dry_run}))?;
    }
    Ok(if failure.is_some() { Outcome::Broken } else { Outcome::Done })
}

/// How tools get to the gateway, and a word about it.
fn gateway(context: &Context, install: &Install) -> Result<(Gateway, String), CommandError> {
    if let Some(url) = &install.http {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(CommandError::usage("usage", "--http needs the address of a gateway that runs")
                .hint("for example --http http://127.0.0.1:8080/mcp"));
        }
        let mut headers = Vec::new();
        for header in &install.headers {
            let (name, value) = header
                .split_once(':')
                .ok_or_else(|| CommandError::usage("usage", "--header needs 'NAME: VALUE'"))?;
            headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        return Ok((Gateway::Address { url: url.clone(), headers }, String::new()));
    }
    let own = std::env::current_exe()
        .map_err(|error| CommandError::new(Kind::Failed, "environment", error.to_string()))?;
    let args: Vec<String> = std::iter::once("serve".to_owned()).chain(install.args.iter().cloned()).collect();
    let (command, how) = if is_on_path(context, &own) {
        (
            "switchboard".to_owned(),
            "Tools will start `switchboard`, which is this program on your PATH.".to_owned(),
        )
    } else {
        let path = own.to_string_lossy().into_owned();
        let why = match on_path(context) {
            Some(_) => "`switchboard` on your PATH is another program",
            None => "`switchboard` is not on your PATH",
        };
        let how = format!("Tools will start {}, since {why}.", visible(&path));
        (path, how)
    };
    Ok((Gateway::Program { command, args }, how))
}

/// Whether `switchboard` on the PATH is the program that runs.
fn is_on_path(context: &Context, own: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    on_path(context).and_then(|path| real(&path)).is_some_and(|path| Some(path) == real(own))
}

/// What `switchboard` on the PATH is.
fn on_path(context: &Context) -> Option<PathBuf> {
    let dirs = context.env.var("PATH").map(std::env::split_paths).into_iter().flatten();
    let name = format!("switchboard{}", std::env::consts::EXE_SUFFIX);
    dirs.map(|dir| dir.join(&name)).find(|path| path.is_file())
}

fn targets(context: &Context, project: &Project, install: &Install) -> Result<Vec<Target>, CommandError> {
    let scope = add::scope(install.scope);
    let find = |tool: Provider| install::target(&context.env, project, tool, scope);
    let mut targets: Vec<Target> = Vec::new();
    for tool in &install.tools {
        match tool {
            ToolArg::All => {
                targets.extend(
                    install::tools().filter_map(find).filter(|target| target.is_present(&context.env)),
                );
            }
            ToolArg::One(tool) => targets.push(find(*tool).ok_or_else(|| no_file(*tool, scope))?),
        }
    }
    // A file that two tools share gets one entry.
    let mut seen = Vec::new();
    targets.retain(|target| {
        let is_new = !seen.contains(&target.path);
        seen.push(target.path.clone());
        is_new
    });
    Ok(targets)
}

pub(super) fn no_file(tool: Provider, scope: Scope) -> CommandError {
    let error = CommandError::usage("no-such-file", format!("{tool} has no file for the scope `{scope}`"));
    match scope {
        Scope::Project => error.hint("leave --scope out: it has one of yours"),
        _ => error.hint("use --scope project"),
    }
}

fn one(
    context: &Context,
    project: &Project,
    install: &Install,
    (target, gateway): (Target, &Gateway),
) -> Result<Value, CommandError> {
    let entry =
        install::entry(target.tool, NAME, gateway).map_err(|why| CommandError::usage("not-possible", why))?;
    // The tool before this one may have changed what counts.
    let counting = if install.moves { context.discover().servers } else { Vec::new() };
    let wish = Wish { entry, force: install.force, moves: install.moves.then_some(counting.as_slice()) };
    let prepared = install::prepare(&context.env, project, target, &wish)?;
    let shown = context.env.display(&prepared.target.path);
    let tool = prepared.target.tool;
    if prepared.is_done() {
        context.printer.remark(&format!("{tool}: {shown} has it already; nothing to do"));
    } else {
        if install.dry_run || !prepared.moves.is_empty() {
            show(context, &prepared);
        }
        if !install.dry_run {
            consent(context, install, &prepared)?;
            prepared.perform()?;
            let names: Vec<&str> = prepared.moves.iter().map(|one| one.name.as_str()).collect();
            add::approve(context, &names, install.scope, prepared.own_path())?;
            if prepared.own_after.is_some() {
                add::write_schema(prepared.own_path(), install.scope);
            }
            said(context, &prepared);
        }
    }
    for left in &prepared.left {
        context.printer.remark(&visible(&format!("  `{}` stays: {}", excerpt(&left.name, 60), left.reason)));
    }
    Ok(row(&prepared, install.dry_run))
}

fn show(context: &Context, prepared: &Prepared) {
    let shown = context.env.display(&prepared.target.path);
    let old = prepared.before.as_deref().unwrap_or_default();
    context.printer.show(&difference(prepared.target.format, old, &prepared.after, &shown));
    if let Some(after) = &prepared.own_after {
        let shown = context.env.display(prepared.own_path());
        let old = prepared.own_before.as_deref().unwrap_or_default();
        context.printer.show(&difference(Format::Json, old, after, &shown));
    }
}

/// Moving a server into our own file is a yes to it, so it is asked for.
fn consent(context: &Context, install: &Install, prepared: &Prepared) -> Result<(), CommandError> {
    if prepared.moves.is_empty() {
        return Ok(());
    }
    for one in &prepared.moves {
        let origin = Origin {
            provider: prepared.target.read_as,
            scope: prepared.target.scope,
            path: Some(prepared.target.path.as_path().into()),
            line: one.line,
        };
        context.printer.show(&super::trust::defined(context, &one.name, &one.spec, &origin));
    }
    if install.yes {
        return Ok(());
    }
    let n = prepared.moves.len();
    if !context.can_ask() {
        let message = format!("to move {n} server{} is to approve, and nobody can be asked here", s(n));
        return Err(CommandError::new(Kind::NotApproved, "not-approved", message)
            .hint("look at them with --dry-run, then use --yes"));
    }
    let file = context.env.display(prepared.own_path());
    let question = format!("Move {n} server{} of {} to {file} and approve?", s(n), prepared.target.tool);
    if connection::block_on(context.ask().confirm(&question, false))?? {
        return Ok(());
    }
    Err(CommandError::interrupted())
}

fn said(context: &Context, prepared: &Prepared) {
    let shown = context.env.display(&prepared.target.path);
    let tool = prepared.target.tool;
    let what = match prepared.state {
        install::State::Same => format!("{tool}: `{NAME}` is in {shown}"),
        install::State::New => format!("{tool}: added `{NAME}` to {shown}"),
        install::State::Updated => format!("{tool}: updated `{NAME}` in {shown}"),
        install::State::Replaced => format!("{tool}: replaced `{NAME}` in {shown}"),
    };
    context.printer.remark(&what);
    if !prepared.moves.is_empty() {
        let names: Vec<_> = prepared.moves.iter().map(|one| excerpt(&one.name, 60)).collect();
        let n = names.len();
        let file = context.env.display(prepared.own_path());
        context.printer.remark(&format!("  moved {n} server{} to {file}: {}", s(n), names.join(", ")));
    }
}

/// What there is to do now.
fn next(context: &Context, rows: &[Value]) {
    let tools: Vec<&str> = rows
        .iter()
        .filter(|row| !matches!(row["state"].as_str(), Some("unchanged" | "failed")))
        .filter_map(|row| row["tool"].as_str())
        .filter_map(Provider::from_id)
        // A file that many tools read is not one of them.
        .map(|tool| if tool == Provider::McpJson { "the tools that read it" } else { tool.label() })
        .collect();
    context.printer.remark(&format!("Restart {} to use it.", tools.join(", ")));
    let discovery = context.discover();
    let waits = |server: &&switchboard::Server| {
        server.state() == State::Untrusted && server.origin.provider != Provider::BuiltIn
    };
    let names: Vec<_> =
        discovery.servers.iter().filter(waits).map(|server| shell_word(&server.name)).collect();
    if !names.is_empty() {
        let (n, how) = (names.len(), super::trust::how_to_approve(&names));
        let verb = if n == 1 { "waits" } else { "wait" };
        context.printer.remark(&format!("{n} server{} {verb} for your approval: {how}", s(n)));
    }
}

fn row(prepared: &Prepared, is_dry: bool) -> Value {
    let state = match prepared.state {
        _ if prepared.is_done() => "unchanged",
        _ if is_dry => "planned",
        install::State::Same => "moved",
        install::State::New => "added",
        install::State::Updated => "updated",
        install::State::Replaced => "replaced",
    };
    let moved: Vec<_> = prepared.moves.iter().map(|one| one.name.as_str()).collect();
    let left: Vec<_> =
        prepared.left.iter().map(|left| json!({"name": left.name, "reason": left.reason})).collect();
    let mut row = json!({
        "tool": prepared.target.tool.id(),
        "scope": prepared.target.scope.as_str(),
        "path": prepared.target.path,
        "state": state,
        "moved": moved,
        "left": left,
    });
    if !is_dry && !prepared.is_done() && prepared.before.is_some() {
        row["backup"] = json!(prepared.backup());
    }
    row
}

/// Whose file a scope means, for `uninstall` too.
pub(super) const fn scope(scope: ScopeArg) -> Scope {
    add::scope(scope)
}
