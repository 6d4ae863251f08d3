//! `/tools`: what a model could call. All of them, those that fit some words, or one as a whole.

use std::time::SystemTime;

use switchboard::catalog::Entry;
use switchboard::connect::Freshness;
use switchboard::visible::excerpt;
use unicode_width::UnicodeWidthStr;

use super::line::ToolsLine;
use super::signature::{Parameter, about, parameters, signature, tokens};
use super::turn::Turn;
use super::{Front, approve};
use crate::age::age;
use crate::args::Listing;
use crate::commands::list::place_of;
use crate::commands::tools::{does, name};
use crate::commands::{Context, connection, s};
use crate::error::CommandError;
use crate::printer::{FAINT, STRONG, harmless};
use crate::report::{OriginRow, ToolRow};
use crate::table::{Cell, Table, parts};

/// A longer signature has a line for each argument.
const WIDE: usize = 76;
/// Where there is less room for words, the terminal breaks them as it likes.
const NARROW: usize = 20;

pub(super) fn run<F: Front>(turn: &mut Turn<'_, F>, line: &ToolsLine) -> Result<(), CommandError> {
    turn.speak(line.how);
    let catalog = turn.session.catalog();
    if let [word] = line.words.as_slice()
        && let Ok(entry) = catalog.find(word, None)
    {
        return one(turn, entry, line.schema);
    }
    let found: Vec<&Entry> = catalog.tools.iter().filter(|entry| fits(entry, &line.words)).collect();
    if found.is_empty() && !line.words.is_empty() && !catalog.tools.is_empty() {
        let words = excerpt(&line.words.join(" "), 100);
        return Err(CommandError::usage("tool-not-found", format!("no tool has to do with `{words}`"))
            .hint("see them all: /tools"));
    }
    all(turn, &found, line.schema)
}

/// The tools of some servers, as `/mcp tools` asks for them.
pub(super) fn of_servers<F: Front>(turn: &Turn<'_, F>, listing: &Listing) -> Result<(), CommandError> {
    let discovery = turn.session.discovery();
    for name in &listing.servers {
        connection::connectable(&discovery, name)?;
    }
    let catalog = turn.session.catalog();
    let is_meant = |entry: &&Entry| listing.servers.is_empty() || listing.servers.contains(&entry.server);
    all(turn, &catalog.tools.iter().filter(is_meant).collect::<Vec<_>>(), false)
}

/// Whether every word is somewhere in what is known of a tool.
fn fits(entry: &Entry, words: &[String]) -> bool {
    let tool = &entry.tool;
    let texts = [
        Some(&entry.name),
        Some(&entry.server),
        Some(&tool.name),
        tool.title.as_ref(),
        tool.description.as_ref(),
    ];
    let known: Vec<String> = texts.into_iter().flatten().map(|text| text.to_lowercase()).collect();
    words.iter().map(|word| word.to_lowercase()).all(|word| known.iter().any(|text| text.contains(&word)))
}

fn all<F: Front>(turn: &Turn<'_, F>, found: &[&Entry], schema: bool) -> Result<(), CommandError> {
    let printer = &turn.context.printer;
    if printer.json || schema {
        let rows: Vec<ToolRow> = found.iter().map(|entry| ToolRow::from(*entry)).collect();
        return Ok(printer.json(&serde_json::json!({ "tools": rows }))?);
    }
    if found.is_empty() {
        printer.remark("No tools.");
        printer.remark("See how the servers stand: /mcp list");
        return Ok(());
    }
    let mut table = Table::new(&[("NAME", 24), ("TOKENS", 6), ("DOES", 10)]).keep(2);
    for entry in found {
        table.row(vec![name(entry), Cell::styled(about(tokens(entry)), FAINT), does(entry)]);
    }
    printer.data(&table.lines(printer.width))?;
    printer.remark("");
    printer.remark(&sum(found));
    Ok(())
}

fn sum(found: &[&Entry]) -> String {
    let servers: std::collections::BTreeSet<_> = found.iter().map(|entry| &entry.server).collect();
    let cached = found.iter().filter(|entry| entry.freshness != Freshness::Live).count();
    let (n, m) = (found.len(), servers.len());
    let cost = about(found.iter().map(|entry| tokens(entry)).sum());
    let old = if cached == 0 { String::new() } else { format!("; {cached} as of last time") };
    format!("{n} tool{} of {m} server{}, {cost} tokens{old}", s(n), s(m))
}

fn one<F: Front>(turn: &Turn<'_, F>, entry: &Entry, schema: bool) -> Result<(), CommandError> {
    let printer = &turn.context.printer;
    if printer.json || schema {
        return Ok(printer.json(&ToolRow::from(entry))?);
    }
    let lines = lines(&turn.context, entry, &approve::words(&turn.session, entry));
    Ok(printer.data(&lines)?)
}

fn lines(context: &Context, entry: &Entry, approval: &str) -> Vec<String> {
    let mut lines = vec![format!("{STRONG}{}{STRONG:#}", entry.name)];
    let words = entry.tool.description.as_deref().or(entry.tool.title.as_deref()).unwrap_or_default();
    if !words.trim().is_empty() {
        lines.extend(harmless(words.trim()).lines().map(|line| format!("  {line}")));
    }
    lines.push(String::new());
    let root = entry.input_schema.value();
    let parameters = parameters(&root);
    let line = signature(&entry.tool.name, &root);
    if line.chars().count() <= WIDE && parameters.iter().all(|parameter| parameter.help.is_empty()) {
        lines.push(format!("  {line}"));
    } else {
        lines.push(format!("  {}(", excerpt(&entry.tool.name, 100)));
        let width =
            parameters.iter().map(|parameter| parameter.form.chars().count()).max().unwrap_or(0).min(40);
        for parameter in &parameters {
            lines.extend(explained(parameter, width, context.printer.width));
        }
        lines.push("  )".to_owned());
    }
    lines.push(String::new());
    let place = place_of(context, &OriginRow::from(&entry.origin));
    lines.push(format!("  server     {}, {place}", excerpt(&entry.server, 60)));
    lines.push(format!("  approval   {approval}"));
    lines.push(format!("  seen       {}", seen(entry)));
    lines.push(format!("  tokens     {}", about(tokens(entry))));
    lines.push(format!(
        "  call it    /call {}/{}",
        excerpt(&entry.server, 60),
        excerpt(&entry.tool.name, 100)
    ));
    lines
}

/// An argument and what it is for, which goes on below itself where the terminal ends.
fn explained(parameter: &Parameter, width: usize, terminal: Option<usize>) -> Vec<String> {
    let form = format!("{:width$}", parameter.form);
    if parameter.help.is_empty() {
        return vec![format!("    {}", form.trim_end())];
    }
    let indent = form.width() + 6;
    let room = terminal.map(|terminal| terminal.saturating_sub(indent)).filter(|room| *room >= NARROW);
    let parts = parts(&parameter.help, room.unwrap_or(usize::MAX));
    let line = |(at, part): (usize, String)| {
        let before = if at == 0 { format!("    {form}  ") } else { " ".repeat(indent) };
        format!("{before}{FAINT}{part}{FAINT:#}")
    };
    parts.into_iter().enumerate().map(line).collect()
}

fn seen(entry: &Entry) -> String {
    match entry.freshness {
        Freshness::Live => "live".to_owned(),
        Freshness::Cached { at } => match age(at, SystemTime::now()) {
            Some(age) => format!("as of {age} ago"),
            None => "as of just now".to_owned(),
        },
    }
}
