//! `import`: copies servers of other tools into a file of ours, and shows the difference first.

use inquire::{Confirm, MultiSelect};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use switchboard::config::edit::IfExists;
use switchboard::config::file::ServerEntry;
use switchboard::config::{ServerSpec, validate};
use switchboard::redact;
use switchboard::template::{Syntax, Template};
use switchboard::{Discovery, Origin};

use super::{Context, Outcome, add, own_file, s, unknown_server};
use crate::args::Import;
use crate::error::CommandError;
use crate::printer::{BAD, FAINT, GOOD};
use crate::terminal;

/// A server that could be copied.
struct Candidate<'d> {
    name: &'d str,
    origin: &'d Origin,
    spec: &'d ServerSpec,
}

pub(super) fn run(context: &Context, import: &Import) -> Result<Outcome, CommandError> {
    let discovery = context.discover();
    let candidates = choose(context, import, candidates(&discovery, import)?)?;
    let (path, file) = own_file(context, &discovery, import.scope);
    let old = switchboard::sources::read::text(&path).ok().flatten().unwrap_or_default();
    let mut accepted = Vec::new();
    for candidate in &candidates {
        match entry(candidate) {
            Ok(entry) => accepted.push((candidate, entry)),
            Err(why) => context.printer.remark(&format!("skipped `{}`: {why}", candidate.name)),
        }
    }
    let servers: Vec<(String, Value)> = accepted
        .iter()
        .map(|(candidate, entry)| {
            (candidate.name.to_owned(), serde_json::to_value(entry).unwrap_or_default())
        })
        .collect();
    if servers.is_empty() {
        context.printer.remark("Nothing to import.");
        return done(context, &[], import.dry_run);
    }
    let new = file.preview(&old, &servers)?;
    context.printer.show(&difference(&old, &new, &context.env.display(&path)));
    let names: Vec<_> = servers.iter().map(|(name, _)| name.as_str()).collect();
    if import.dry_run {
        context.printer.remark("Nothing was changed: this was a dry run.");
        return done(context, &names, true);
    }
    if terminal::is_interactive() && !import.yes && !context.printer.json {
        let question = format!("Write this to {}?", context.env.display(&path));
        if !Confirm::new(&question).with_default(true).prompt()? {
            return Err(CommandError::interrupted());
        }
    }
    for (candidate, entry) in &accepted {
        file.add(candidate.name, entry, IfExists::Refuse)?;
        add::approve(context, candidate.name, candidate.spec, import.scope, &path)?;
    }
    add::write_schema(&path, import.scope);
    let n = names.len();
    context.printer.remark(&format!(
        "Imported {n} server{} into {}: {}",
        s(n),
        context.env.display(&path),
        names.join(", ")
    ));
    done(context, &names, false)
}

fn done(context: &Context, names: &[&str], dry_run: bool) -> Result<Outcome, CommandError> {
    if context.printer.json {
        context.printer.json(&serde_json::json!({"imported": names, "dryRun": dry_run}))?;
    }
    Ok(Outcome::Done)
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
            candidates.push(Candidate { name, origin, spec });
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
    if !terminal::is_interactive() || context.printer.json {
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
    let picked = MultiSelect::new("Import which? (space marks, right arrow marks all, enter ends)", labels)
        .raw_prompt()?;
    let indices: Vec<usize> = picked.into_iter().map(|option| option.index).collect();
    Ok(candidates
        .into_iter()
        .enumerate()
        .filter(|(index, _)| indices.contains(index))
        .map(|(_, candidate)| candidate)
        .collect())
}

fn entry(candidate: &Candidate<'_>) -> Result<ServerEntry, String> {
    validate::name(candidate.name).map_err(str::to_owned)?;
    ServerEntry::from_spec(candidate.spec).map_err(|inexpressible| {
        format!(
            "`{}` holds a placeholder that only {} can fill in",
            inexpressible.field, candidate.origin.provider
        )
    })
}

/// A difference with the secrets hidden on both sides.
fn difference(old: &str, new: &str, path: &str) -> Vec<String> {
    let (old, new) = (hidden(old), hidden(new));
    let diff = TextDiff::from_lines(&old, &new);
    let mut lines = vec![format!("{FAINT}--- {path}{FAINT:#}"), format!("{FAINT}+++ {path}{FAINT:#}")];
    for group in diff.grouped_ops(2) {
        for op in group {
            for change in diff.iter_changes(&op) {
                let text =
                    switchboard::visible::visible(change.value().trim_end_matches(['\n', '\r'])).into_owned();
                lines.push(match change.tag() {
                    ChangeTag::Insert => format!("{GOOD}+{text}{GOOD:#}"),
                    ChangeTag::Delete => format!("{BAD}-{text}{BAD:#}"),
                    ChangeTag::Equal => format!(" {text}"),
                });
            }
        }
    }
    lines
}

/// The text with every string value that may be a secret replaced by stars, line by line.
fn hidden(text: &str) -> String {
    let mut inside_pairs = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let trimmed = line.trim();
        let opens = trimmed.starts_with("\"env\"") || trimmed.starts_with("\"headers\"");
        let shown = if inside_pairs || opens { hide_values(line, true) } else { hide_values(line, false) };
        if opens && !trimmed.contains('}') {
            inside_pairs = true;
        } else if inside_pairs && trimmed.starts_with('}') {
            inside_pairs = false;
        }
        shown
    });
    lines.collect()
}

/// Hides string literals of a line: all values among variables and headers, else what looks like a secret.
fn hide_values(line: &str, all: bool) -> String {
    let mut shown = String::new();
    let mut rest = line;
    let mut after_colon = false;
    while let Some(start) = rest.find('"') {
        let (before, from) = rest.split_at(start);
        shown.push_str(before);
        after_colon = before.contains(':') || (after_colon && before.trim() == ",");
        let end = literal_end(from);
        let literal = &from[1..end - 1];
        let is_key = from[end..].trim_start().starts_with(':');
        let value = match (is_key, all) {
            (true, _) => literal.to_owned(),
            (false, true) => redact::value(&Template::parse(literal, Syntax::Braced)),
            (false, false) => redact::word(literal),
        };
        shown.push_str(&format!("\"{value}\""));
        rest = &from[end..];
    }
    shown.push_str(rest);
    shown
}

/// The length of the string literal at the start of the text, quotes included.
fn literal_end(text: &str) -> usize {
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}
