//! `/approve`: which calls are asked about, and rules for that.

use switchboard::calls::Decision;
use switchboard::catalog::Entry;
use switchboard::config::settings::{Rule, Settings};
use switchboard::declared::{Approval, Conduct};
use switchboard::session::Session;
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

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    SettingsTool,
    SettingsServer,
    EntryTool,
    EntryServer,
    Default,
}

impl Source {
    const fn words(self) -> &'static str {
        match self {
            Self::SettingsTool => "your settings, for this tool",
            Self::SettingsServer => "your settings, for its server",
            Self::EntryTool => "the server's entry, for this tool",
            Self::EntryServer => "the server's entry",
            Self::Default => "no rule says otherwise",
        }
    }
}

/// The rule for a tool, and where it comes from. The same order as when a call is decided.
fn in_force(server: &str, tool: &str, conduct: &Conduct, settings: &Settings) -> (Rule, Source) {
    let rules = settings.approval.get(server);
    if let Some(rule) = rules.and_then(|rules| rules.get(tool)) {
        return (*rule, Source::SettingsTool);
    }
    if let Some(rule) = rules.and_then(|rules| rules.get(ALL)) {
        return (*rule, Source::SettingsServer);
    }
    if let Some(approval) = conduct.tools.approval.get(tool) {
        return (rule(*approval), Source::EntryTool);
    }
    match conduct.approval {
        Approval::Auto => (Rule::Auto, Source::Default),
        other => (rule(other), Source::EntryServer),
    }
}

const fn rule(approval: Approval) -> Rule {
    match approval {
        Approval::Auto => Rule::Auto,
        Approval::Writes => Rule::Writes,
        Approval::Never => Rule::Never,
    }
}

const fn word(rule: Rule) -> &'static str {
    match rule {
        Rule::Auto => "auto",
        Rule::Writes => "writes",
        Rule::Never => "never",
        Rule::Deny => "deny",
    }
}

const fn meaning(rule: Rule) -> &'static str {
    match rule {
        Rule::Auto => "asked each time",
        Rule::Writes => "asked unless it says that it only reads",
        Rule::Never => "runs without asking",
        Rule::Deny => "never runs",
    }
}

/// What happens when the model calls a tool, in words.
pub(super) fn words(session: &Session, entry: &Entry) -> String {
    let discovery = session.discovery();
    let spec = discovery.server(&entry.server).and_then(|server| server.definition.as_ref().ok());
    let conduct = spec.map(|spec| spec.conduct.clone()).unwrap_or_default();
    let (rule, source) = in_force(&entry.server, &entry.tool.name, &conduct, &discovery.settings);
    let now = match session.decision(entry) {
        Decision::Run => "runs without asking",
        Decision::Ask => "you are asked",
        Decision::Deny { .. } => "never runs",
    };
    format!("{now} ({}: {})", word(rule), source.words())
}

pub(super) async fn run<F: Front>(turn: &mut Turn<'_, F>, line: ApproveLine) -> Result<(), CommandError> {
    match line {
        ApproveLine { forget: Some(Forget::Forget { target }), .. } => change(turn, &target, None).await,
        ApproveLine { target: Some(target), rule: Some(rule), .. } => {
            change(turn, &target, Some(rule.into())).await
        }
        ApproveLine { target, .. } => show(turn, target.as_deref()),
    }
}

/// What a target names: a server, and one of its tools.
fn target<F: Front>(turn: &Turn<'_, F>, text: &str) -> Result<(String, Option<String>), CommandError> {
    let discovery = turn.session.discovery();
    if discovery.server(text).is_some() {
        return Ok((text.to_owned(), None));
    }
    if let Ok(entry) = turn.session.catalog().find(text, None) {
        return Ok((entry.server.clone(), Some(entry.tool.name.clone())));
    }
    // A rule may be there before its tool is.
    match text.split_once('/') {
        Some((server, tool)) if discovery.server(server).is_some() && !tool.is_empty() => {
            Ok((server.to_owned(), Some(tool.to_owned())))
        }
        _ => Err(unknown_server(&discovery, text)),
    }
}

fn show<F: Front>(turn: &Turn<'_, F>, text: Option<&str>) -> Result<(), CommandError> {
    let meant = text.map(|text| target(turn, text)).transpose()?;
    let discovery = turn.session.discovery();
    let catalog = turn.session.catalog();
    let is_meant = |entry: &&Entry| match &meant {
        None => true,
        Some((server, None)) => entry.server == *server,
        Some((server, Some(tool))) => entry.server == *server && entry.tool.name == *tool,
    };
    let mut table = Table::new(&[("TOOL", 20), ("RULE", 6), ("MEANS", 20), ("FROM", 10)]).keep(2);
    for entry in catalog.tools.iter().filter(is_meant) {
        let spec = discovery.server(&entry.server).and_then(|server| server.definition.as_ref().ok());
        let conduct = spec.map(|spec| spec.conduct.clone()).unwrap_or_default();
        let (rule, source) = in_force(&entry.server, &entry.tool.name, &conduct, &discovery.settings);
        let style = match rule {
            Rule::Auto | Rule::Writes => WAITING,
            Rule::Never => GOOD,
            Rule::Deny => BAD,
        };
        let name = format!("{}/{}", entry.server, entry.tool.name);
        table.row(vec![
            Cell::styled(excerpt(&name, 100), STRONG),
            Cell::styled(word(rule), style),
            Cell::new(meaning(rule)),
            Cell::styled(source.words(), FAINT),
        ]);
    }
    let printer = &turn.context.printer;
    printer.data(&table.lines(printer.width))?;
    for line in grants(&turn.session) {
        printer.remark(&line);
    }
    printer.remark("Change one: /approve SERVER[/TOOL] auto|writes|never|deny");
    Ok(())
}

async fn change<F: Front>(
    turn: &mut Turn<'_, F>,
    text: &str,
    rule: Option<Rule>,
) -> Result<(), CommandError> {
    let (server, tool) = target(turn, text)?;
    let context = turn.context.clone();
    let named = match &tool {
        Some(tool) => format!("{server}/{tool}"),
        None => server.clone(),
    };
    let is_changed = turn
        .apart("writing", move || store::write(&context, &server, tool.as_deref().unwrap_or(ALL), rule))
        .await?;
    let session = turn.session.clone();
    turn.wait("reading the configuration", session.reload()).await?;
    let said = match (rule, is_changed) {
        (Some(rule), _) => format!("{}: {}", excerpt(&named, 100), meaning(rule)),
        (None, true) => format!("{}: the rule is gone", excerpt(&named, 100)),
        (None, false) => format!("{}: there was no rule", excerpt(&named, 100)),
    };
    turn.context.printer.remark(&said);
    Ok(())
}

/// What was approved for good or for this session.
const fn grants(_session: &Session) -> Vec<String> {
    Vec::new()
}

/// Where rules are kept.
mod store {
    use switchboard::config::settings::Rule;

    use super::{ALL, word};
    use crate::commands::Context;
    use crate::error::CommandError;

    /// Writes a rule into the user's settings, or takes it out. True if something changed.
    pub(super) fn write(
        context: &Context,
        server: &str,
        tool: &str,
        rule: Option<Rule>,
    ) -> Result<bool, CommandError> {
        let path = context.env.display(&context.env.switchboard_home().join("settings.json"));
        let tool = if tool == ALL { "*" } else { tool };
        let wanted = serde_json::json!({"approval": {server: {tool: rule.map(word)}}});
        Err(CommandError::usage("not-written", format!("write it into {path} yourself: {wanted}")))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_rule_that_counts_says_where_it_comes_from() {
        let mut settings = Settings::default();
        let mut conduct = Conduct::default();
        let at = |conduct: &Conduct, settings: &Settings| in_force("s", "t", conduct, settings);
        assert_eq!(at(&conduct, &settings), (Rule::Auto, Source::Default));
        conduct.approval = Approval::Writes;
        assert_eq!(at(&conduct, &settings), (Rule::Writes, Source::EntryServer));
        conduct.tools.approval.insert("t".to_owned(), Approval::Never);
        assert_eq!(at(&conduct, &settings), (Rule::Never, Source::EntryTool));
        settings.approval.insert("s".to_owned(), BTreeMap::from([(ALL.to_owned(), Rule::Auto)]));
        assert_eq!(at(&conduct, &settings), (Rule::Auto, Source::SettingsServer));
        settings.approval.insert("s".to_owned(), BTreeMap::from([("t".to_owned(), Rule::Deny)]));
        assert_eq!(at(&conduct, &settings), (Rule::Deny, Source::SettingsTool));
    }
}
