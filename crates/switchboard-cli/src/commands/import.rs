//! `import`: copies servers of other tools into a file of ours, and shows the difference first.

use switchboard::config::edit::{IfExists, OwnFile};
use switchboard::config::file::ServerEntry;
use switchboard::config::write::WriteError;
use switchboard::config::{ServerSpec, validate};
use switchboard::declared::Switch;
use switchboard::sources::read;
use switchboard::sources::syntax::Format;
use switchboard::visible::visible;
use switchboard::{Discovery, Origin};

use super::difference::difference;
use super::{Context, Outcome, add, connection, own_file, s, unknown_server};
use crate::args::Import;
use crate::error::CommandError;

/// A server that could be copied.
struct Candidate<'d> {
    name: &'d str,
    origin: &'d Origin,
    spec: &'d ServerSpec,
    is_off: bool,
}

pub(super) fn run(context: &Context, import: &Import) -> Result<Outcome, CommandError> {
    let discovery = context.discover();
    let candidates = choose(context, import, candidates(&discovery, import)?)?;
    let (path, file) = own_file(context, &discovery, import.scope);
    let old = read::text(&path)
        .map_err(|problem| WriteError::Unusable { path: path.clone(), problem: Box::new(problem) })?;
    let mut accepted = Vec::new();
    let mut skipped = Vec::new();
    for candidate in &candidates {
        match entry(candidate, &file, old.as_deref()) {
            Ok(entry) => accepted.push((candidate, entry)),
            Err(why) => skipped.push((candidate.name, why)),
        }
    }
    for (name, why) in &skipped {
        context.printer.remark(&visible(&format!("skipped `{name}`: {why}")));
    }
    let servers: Vec<_> = accepted.iter().map(|(candidate, entry)| (candidate.name, entry)).collect();
    let report =
        Report { names: servers.iter().map(|server| server.0).collect(), skipped, dry_run: import.dry_run };
    if servers.is_empty() {
        context.printer.remark("Nothing to import.");
        return report.print(context);
    }
    let new = file.with(old.as_deref(), &servers, IfExists::Refuse)?;
    let shown = context.env.display(&path);
    context.printer.show(&difference(Format::Json, old.as_deref().unwrap_or_default(), &new, &shown));
    if import.dry_run {
        context.printer.remark("Nothing was changed: this was a dry run.");
        return report.print(context);
    }
    if context.can_ask() && !import.yes {
        let question = format!("Write this to {shown}?");
        if !connection::block_on(context.ask().confirm(&question, true))?? {
            return Err(CommandError::interrupted());
        }
    }
    file.add_all(&servers, IfExists::Refuse)?;
    add::approve(context, &report.names, import.scope, &path)?;
    add::write_schema(&path, import.scope);
    let n = servers.len();
    context.printer.remark(&format!("Imported {n} server{} into {shown}: {}", s(n), report.names.join(", ")));
    for warning in
        accepted.iter().filter_map(|(candidate, _)| add::secret_warning(candidate.spec, import.scope))
    {
        warning.say(context);
    }
    report.print(context)
}

/// What came of it.
struct Report<'d> {
    names: Vec<&'d str>,
    skipped: Vec<(&'d str, String)>,
    dry_run: bool,
}

impl Report<'_> {
    fn print(&self, context: &Context) -> Result<Outcome, CommandError> {
        if context.printer.json {
            let skipped: Vec<_> = self
                .skipped
                .iter()
                .map(|(name, why)| serde_json::json!({"name": name, "reason": why}))
                .collect();
            let report =
                serde_json::json!({"imported": self.names, "skipped": skipped, "dryRun": self.dry_run});
            context.printer.json(&report)?;
        }
        Ok(Outcome::Done)
    }
}

/// What could be copied: definitions of other tools, the one that counts first.
fn candidates<'d>(discovery: &'d Discovery, import: &Import) -> Result<Vec<Candidate<'d>>, CommandError> {
    let winners = discovery.servers.iter().map(|server| (&server.name, &server.origin, &server.definition));
    let aside = discovery.shadowed.iter().map(|aside| (&aside.name, &aside.origin, &aside.definition));
    let mut candidates: Vec<Candidate<'d>> = Vec::new();
    for (name, origin, definition) in winners.chain(aside) {
        let wanted = import.names.is_empty() || import.names.contains(name);
        let from = import.from.is_none_or(|provider| origin.provider == provider);
        let known = candidates.iter().any(|candidate| candidate.name == name);
        let foreign = !origin.provider.is_ours() && origin.path.is_some();
        if let (true, true, false, true, Ok(spec)) = (wanted, from, known, foreign, definition) {
            let is_off = discovery
                .server(name)
                .is_some_and(|server| server.origin == *origin && server.switch == Switch::Off);
            candidates.push(Candidate { name, origin, spec, is_off });
        }
    }
    for name in &import.names {
        if !candidates.iter().any(|candidate| candidate.name == name) {
            return Err(match discovery.server(name) {
                Some(_) => CommandError::usage(
                    "nothing-to-import",
                    format!("there is no definition of `{name}` to import"),
                )
                .server(name)
                .hint(format!("see `switchboard why {name}`")),
                None => unknown_server(discovery, name),
            });
        }
    }
    candidates.sort_by(|left, right| left.name.cmp(right.name));
    Ok(candidates)
}

/// Without names, a person picks; a script takes all of the named tool.
fn choose<'d>(
    context: &Context,
    import: &Import,
    candidates: Vec<Candidate<'d>>,
) -> Result<Vec<Candidate<'d>>, CommandError> {
    if !import.names.is_empty() || import.dry_run || import.yes || candidates.is_empty() {
        return Ok(candidates);
    }
    if !context.can_ask() {
        if import.from.is_some() {
            return Ok(candidates);
        }
        return Err(CommandError::usage(
            "usage",
            "name the servers, or the tool with --from, where nobody can be asked",
        )
        .hint("see what there is: switchboard import --dry-run"));
    }
    let labels: Vec<_> = candidates
        .iter()
        .map(|candidate| {
            format!("{} ({})", switchboard::visible::excerpt(candidate.name, 60), candidate.origin.provider)
        })
        .collect();
    let indices = connection::block_on(context.ask().several("Import which?", labels))??;
    Ok(candidates
        .into_iter()
        .enumerate()
        .filter(|(index, _)| indices.contains(index))
        .map(|(_, candidate)| candidate)
        .collect())
}

/// The entry to write, or why it is left out.
fn entry(candidate: &Candidate<'_>, file: &OwnFile, text: Option<&str>) -> Result<ServerEntry, String> {
    validate::name(candidate.name).map_err(str::to_owned)?;
    if file.has(text, candidate.name) {
        return Err("your file has a server of that name already".to_owned());
    }
    let entry = ServerEntry::from_spec(candidate.spec);
    // A server that its tool has switched off elsewhere stays off.
    let entry = entry.map(|entry| {
        let enabled = if candidate.is_off { Some(false) } else { entry.enabled };
        ServerEntry { enabled, ..entry }
    });
    entry.map_err(|inexpressible| {
        format!(
            "`{}` holds a placeholder that only {} can fill in",
            inexpressible.field, candidate.origin.provider
        )
    })
}
