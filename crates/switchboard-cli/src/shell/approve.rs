//! `/approve`: which calls are asked about, what was said yes to for longer, and rules for that.

use switchboard::calls::{Decision, GrantKind, Ruling, Standing};
use switchboard::catalog::Entry;
use switchboard::config::edit::SettingsFile;
use switchboard::config::settings::Rule;
use switchboard::session::{Grant, Session};
use switchboard::visible::excerpt;

use super::Front;
use super::line::{ApproveLine, Forget};
use super::turn::Turn;
use crate::commands::unknown_server;
use crate::error::CommandError;
use crate::printer::{BAD, FAINT, GOOD, STRONG, WAITING};
use crate::table::{Cell, Table};

/// Every tool of a server, in a rule.
const ALL: &str = "*";

const fn word(rule: Option<Rule>) -> &'static str {
    match rule {
        Some(Rule::Auto) => "auto",
        Some(Rule::Writes) => "writes",
        Some(Rule::Never) => "never",
        Some(Rule::Deny) | None => "deny",
    }
}

const fn meaning(rule: Option<Rule>) -> &'static str {
    match rule {
        Some(Rule::Auto) => "asked each time",
        Some(Rule::Writes) => "asked unless it says that it only reads",
        Some(Rule::Never) => "runs without asking",
        Some(Rule::Deny) | None => "never runs",
    }
}

/// Why a tool that would be asked about is not: what somebody said for longer.
fn yes(decision: &Decision, grants: &[Grant], entry: &Entry) -> Option<&'static str> {
    let covers = |grant: &&Grant| {
        grant.server == entry.server && grant.tool == entry.tool.name && grant.standing == Standing::Holds
    };
    let grant = grants.iter().find(covers).filter(|_| *decision == Decision::Ask)?;
    Some(match grant.kind {
        GrantKind::Session => "runs: you said yes for this session",
        GrantKind::Always => "runs: you said yes for good",
    })
}

/// What happens when the model calls a tool, in words.
pub(super) fn words(session: &Session, entry: &Entry) -> String {
    let Ruling { decision, by } = session.explain(entry);
    let now = match decision {
        Decision::Run => "runs without asking",
        Decision::Ask => yes(&decision, &session.grants(), entry).unwrap_or("you are asked"),
        Decision::Deny { .. } => "never runs",
    };
    format!("{now} ({}: {})", word(by.rule()), by.place())
}

pub(super) async fn run<F: Front>(turn: &mut Turn<'_, F>, line: ApproveLine) -> Result<(), CommandError> {
    match line {
        ApproveLine { forget: Some(Forget::Forget { target }), .. } => forget(turn, &target).await,
        ApproveLine { target: Some(target), rule: Some(rule), .. } => {
            change(turn, &target, rule.into()).await
        }
        ApproveLine { target, .. } => show(turn, target.as_deref()),
    }
}

/// A server, and one of its tools or all.
struct Target {
    server: String,
    tool: Option<String>,
}

impl Target {
    fn shown(&self) -> String {
        let Self { server, tool } = self;
        excerpt(&tool.as_ref().map_or_else(|| server.clone(), |tool| format!("{server}/{tool}")), 100)
    }

    fn covers(&self, server: &str, tool: &str) -> bool {
        self.server == server && self.tool.as_deref().is_none_or(|wanted| wanted == tool)
    }
}

fn target<F: Front>(turn: &Turn<'_, F>, text: &str) -> Result<Target, CommandError> {
    let discovery = turn.session.discovery();
    if discovery.server(text).is_some() {
        return Ok(Target { server: text.to_owned(), tool: None });
    }
    if let Ok(entry) = turn.session.catalog().find(text, None) {
        return Ok(Target { server: entry.server.clone(), tool: Some(entry.tool.name.clone()) });
    }
    // A rule may be there before its tool is.
    match text.split_once('/') {
        Some((server, tool)) if discovery.server(server).is_some() && !tool.is_empty() => {
            Ok(Target { server: server.to_owned(), tool: Some(tool.to_owned()) })
        }
        _ => Err(unknown_server(&discovery, text)),
    }
}

fn show<F: Front>(turn: &Turn<'_, F>, text: Option<&str>) -> Result<(), CommandError> {
    let meant = text.map(|text| target(turn, text)).transpose()?;
    let is_meant = |server: &str, tool: &str| meant.as_ref().is_none_or(|meant| meant.covers(server, tool));
    let catalog = turn.session.catalog();
    let mut table = Table::new(&[("TOOL", 20), ("RULE", 6), ("MEANS", 20), ("FROM", 10)]).keep(2);
    let entries: Vec<&Entry> =
        catalog.tools.iter().filter(|entry| is_meant(&entry.server, &entry.tool.name)).collect();
    let grants = turn.session.grants();
    for entry in &entries {
        table.row(row(entry, turn.session.explain(entry), &grants));
    }
    let printer = &turn.context.printer;
    if entries.is_empty() {
        printer.remark("No tools.");
    } else {
        printer.data(&table.lines(printer.width))?;
    }
    for grant in grants.iter().filter(|grant| is_meant(&grant.server, &grant.tool)) {
        printer.remark(&granted(grant));
    }
    printer.remark(
        "Change one: /approve SERVER[/TOOL] auto|writes|never|deny; take it back: /approve forget ...",
    );
    Ok(())
}

fn row(entry: &Entry, Ruling { decision, by }: Ruling, grants: &[Grant]) -> Vec<Cell> {
    let rule = by.rule();
    let yes = yes(&decision, grants, entry);
    let style = match rule {
        Some(Rule::Auto | Rule::Writes) if yes.is_none() => WAITING,
        Some(Rule::Auto | Rule::Writes | Rule::Never) => GOOD,
        Some(Rule::Deny) | None => BAD,
    };
    let name = format!("{}/{}", entry.server, entry.tool.name);
    vec![
        Cell::styled(excerpt(&name, 100), STRONG),
        Cell::styled(word(rule), style),
        Cell::new(yes.unwrap_or_else(|| meaning(rule))),
        Cell::styled(by.place(), FAINT),
    ]
}

/// A yes that is remembered, in words.
fn granted(grant: &Grant) -> String {
    let name = excerpt(&format!("{}/{}", grant.server, grant.tool), 100);
    let kind = match grant.kind {
        GrantKind::Session => "for this session",
        GrantKind::Always => "for good",
    };
    let standing = match grant.standing {
        Standing::Holds => "",
        Standing::Changed => "; it has changed since, so you are asked again",
        Standing::Unseen => "; it is not there now",
    };
    format!("{name}: you said yes {kind}{standing}")
}

/// Writes a rule into the user's settings.
async fn change<F: Front>(turn: &mut Turn<'_, F>, text: &str, rule: Rule) -> Result<(), CommandError> {
    let target = target(turn, text)?;
    let shown = target.shown();
    let file = SettingsFile::of(&turn.context.env);
    let path = turn.context.env.display(file.path());
    let write = move || {
        let tool = target.tool.as_deref().unwrap_or(ALL);
        Ok(file.set_rule(&target.server, tool, rule)?)
    };
    turn.apart("writing", write).await?;
    heed(turn).await?;
    turn.context.printer.remark(&format!("{shown}: {} ({path})", meaning(Some(rule))));
    Ok(())
}

/// Takes back a rule, and every yes that is remembered.
async fn forget<F: Front>(turn: &mut Turn<'_, F>, text: &str) -> Result<(), CommandError> {
    let target = target(turn, text)?;
    let mut taken = 0;
    let session = turn.session.clone();
    for grant in session.grants().iter().filter(|grant| target.covers(&grant.server, &grant.tool)) {
        taken += turn.wait("writing", session.forget_grant(&grant.server, &grant.tool)).await??;
    }
    let shown = target.shown();
    let file = SettingsFile::of(&turn.context.env);
    let remove = move || Ok(file.remove_rule(&target.server, target.tool.as_deref().unwrap_or(ALL))?);
    let had_rule = turn.apart("writing", remove).await?;
    heed(turn).await?;
    let rule = if had_rule { "the rule is gone" } else { "there was no rule" };
    let yes = match taken {
        0 => String::new(),
        1 => "; so is the yes you gave".to_owned(),
        n => format!("; so are {n} times you said yes"),
    };
    turn.context.printer.remark(&format!("{shown}: {rule}{yes}"));
    Ok(())
}

/// Makes the session go by what was just written.
async fn heed<F: Front>(turn: &mut Turn<'_, F>) -> Result<(), CommandError> {
    let session = turn.session.clone();
    turn.wait("reading the configuration", session.reload()).await.map(drop)
}
