//! Whether a call may run, must be asked for, or is forbidden. Pure.
//!
//! Rules bind to the server and the tool themselves, never to a spelling. What a tool says of itself can only loosen what
//! the user loosened for its server, and only when the server said it just now.

use crate::catalog::Entry;
use crate::config::settings::{Rule, Settings};
use crate::connect::Freshness;
use crate::declared::{Approval, Conduct};

/// What to do with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Run it.
    Run,
    /// Ask first.
    Ask,
    /// Never run it.
    Deny {
        /// Which rule says so.
        reason: String,
    },
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The host forbids the tool in this run.
    Host,
    /// The lists `allow` and `deny` in the server's entry leave the tool out.
    Lists,
    /// A rule of the user's settings for this tool.
    SettingsTool(Rule),
    /// A rule of the user's settings for all tools of the server.
    SettingsServer(Rule),
    /// The rule for this tool in the server's entry.
    EntryTool(Rule),
    /// The rule in the server's entry.
    Entry(Rule),
    /// Nothing says otherwise, so each call is asked for.
    Default,
}

impl By {
    /// The rule in force, where one is.
    pub const fn rule(self) -> Option<Rule> {
        match self {
            Self::SettingsTool(rule)
            | Self::SettingsServer(rule)
            | Self::EntryTool(rule)
            | Self::Entry(rule) => Some(rule),
            Self::Default => Some(Rule::Auto),
            Self::Host | Self::Lists => None,
        }
    }

    /// Where it stands, for people.
    pub const fn place(self) -> &'static str {
        match self {
            Self::Host => "the rules of this run",
            Self::Lists => "`tools` in the server's entry",
            Self::SettingsTool(_) => "settings.json, for this tool",
            Self::SettingsServer(_) => "settings.json, for all tools of the server",
            Self::EntryTool(_) => "the server's entry, for this tool",
            Self::Entry(_) => "the server's entry",
            Self::Default => "nothing says otherwise",
        }
    }
}

/// What to do with a call, and what says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// What to do.
    pub decision: Decision,
    /// What says so.
    pub by: By,
}

/// Decides. The user's settings count more than the server's entry, a rule for the tool more than one for all.
pub fn rule(entry: &Entry, conduct: &Conduct, settings: &Settings) -> Ruling {
    let tool = entry.tool.name.as_str();
    if !crate::catalog::is_allowed(conduct, tool) {
        let reason = format!("the entry of `{}` leaves out `{tool}`", entry.server);
        return Ruling { decision: Decision::Deny { reason }, by: By::Lists };
    }
    let by = in_force(entry, conduct, settings);
    let decision = match by.rule().unwrap_or(Rule::Auto) {
        Rule::Deny => Decision::Deny { reason: format!("the settings deny `{tool}` of `{}`", entry.server) },
        Rule::Never => Decision::Run,
        Rule::Writes if entry.tool.is_read_only() && entry.freshness == Freshness::Live => Decision::Run,
        Rule::Writes | Rule::Auto => Decision::Ask,
    };
    Ruling { decision, by }
}

fn in_force(entry: &Entry, conduct: &Conduct, settings: &Settings) -> By {
    let tool = entry.tool.name.as_str();
    let rules = settings.approval.get(&entry.server);
    let said = |tool: &str| rules.and_then(|rules| rules.get(tool)).copied();
    if let Some(rule) = said(tool) {
        return By::SettingsTool(rule);
    }
    if let Some(rule) = said("*") {
        return By::SettingsServer(rule);
    }
    match (conduct.tools.approval.get(tool), conduct.approval) {
        (Some(mode), _) => By::EntryTool(of(*mode)),
        // An entry that says so says nothing new.
        (None, Approval::Auto) => By::Default,
        (None, mode) => By::Entry(of(mode)),
    }
}

const fn of(mode: Approval) -> Rule {
    match mode {
        Approval::Auto => Rule::Auto,
        Approval::Writes => Rule::Writes,
        Approval::Never => Rule::Never,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::SystemTime;

    use serde_json::{Value, json};

    use super::*;
    use crate::catalog::sample::catalog;
    use crate::declared::ToolRules;

    /// What may stand in the user's settings, and what in the entry of a server.
    const RULES: [Rule; 4] = [Rule::Auto, Rule::Writes, Rule::Never, Rule::Deny];
    const MODES: [Approval; 3] = [Approval::Auto, Approval::Writes, Approval::Never];

    /// What tools say of themselves, and whether that is that they only read.
    fn hints() -> [(Value, bool); 9] {
        [
            (Value::Null, false),
            (json!({}), false),
            (json!({"readOnlyHint": true}), true),
            (json!({"readOnlyHint": false}), false),
            (json!({"readOnlyHint": "true"}), false),
            (json!({"destructiveHint": true}), false),
            (json!({"destructiveHint": false}), false),
            (json!({"idempotentHint": true}), false),
            // The second means nothing beside the first.
            (json!({"readOnlyHint": true, "destructiveHint": true}), true),
        ]
    }

    /// The table of the contract: what the mode in force means for a tool that says so now, and for any other.
    fn by_the_table(in_force: &str, says_now_that_it_only_reads: bool) -> &'static str {
        match (in_force, says_now_that_it_only_reads) {
            ("auto", _) | ("writes", false) => "ask",
            ("writes", true) | ("never", _) => "run",
            ("deny", _) => "deny",
            other => panic!("{other:?}"),
        }
    }

    fn word(rule: Rule) -> &'static str {
        match rule {
            Rule::Auto => "auto",
            Rule::Writes => "writes",
            Rule::Never => "never",
            Rule::Deny => "deny",
        }
    }

    fn maybe<T: Copy>(all: &[T]) -> Vec<Option<T>> {
        std::iter::once(None).chain(all.iter().copied().map(Some)).collect()
    }

    fn settings(exact: Option<Rule>, star: Option<Rule>) -> Settings {
        let mut tools: BTreeMap<String, Rule> = BTreeMap::new();
        // Rules for others, which must make no difference.
        tools.insert("T".to_owned(), Rule::Never);
        tools.insert("mcp_s_t".to_owned(), Rule::Never);
        tools.extend(exact.map(|rule| ("t".to_owned(), rule)));
        tools.extend(star.map(|rule| ("*".to_owned(), rule)));
        let other = BTreeMap::from([("t".to_owned(), Rule::Deny), ("*".to_owned(), Rule::Never)]);
        let approval = BTreeMap::from([("s".to_owned(), tools), ("S".to_owned(), other)]);
        Settings { approval, ..Settings::default() }
    }

    fn conduct(mode: Approval, tool: Option<Approval>, filter: &(Vec<String>, Vec<String>)) -> Conduct {
        let mut approval = BTreeMap::from([("other".to_owned(), Approval::Never)]);
        approval.extend(tool.map(|mode| ("t".to_owned(), mode)));
        let tools = ToolRules { allow: filter.0.clone(), deny: filter.1.clone(), approval };
        Conduct { approval: mode, tools, ..Conduct::default() }
    }

    #[test]
    fn every_rule_with_every_other() {
        let none = Vec::new;
        let list = |pattern: &str| vec![pattern.to_owned()];
        // Which tools the entry lets through, and whether this one is among them.
        let filters = [
            ((none(), none()), true),
            ((list("t"), none()), true),
            ((list("*"), list("x")), true),
            ((list("x"), none()), false),
            ((none(), list("t")), false),
            ((list("t"), list("*")), false),
        ];
        let mut n_cases = 0;
        for (annotations, only_reads) in hints() {
            let tool = json!([{"name": "t", "annotations": annotations}]);
            let live = catalog(&[("s", Conduct::default(), tool)]).tools.remove(0);
            let cached =
                Entry { freshness: Freshness::Cached { at: SystemTime::UNIX_EPOCH }, ..live.clone() };
            for (entry, says_so_now) in [(live, only_reads), (cached, false)] {
                for (mode, tool, exact, star) in combinations() {
                    // The user's word before the entry's; the word on one tool before that on all.
                    let by_settings = exact.or(star).map(word);
                    let in_force = by_settings.unwrap_or(tool.unwrap_or(mode).as_str());
                    for (filter, is_let_through) in &filters {
                        let expected =
                            if *is_let_through { by_the_table(in_force, says_so_now) } else { "deny" };
                        let ruling = rule(&entry, &conduct(mode, tool, filter), &settings(exact, star));
                        let by = match (is_let_through, exact, star, tool, mode) {
                            (false, ..) => By::Lists,
                            (true, Some(rule), ..) => By::SettingsTool(rule),
                            (true, None, Some(rule), ..) => By::SettingsServer(rule),
                            (true, None, None, Some(mode), _) => By::EntryTool(of(mode)),
                            (true, None, None, None, Approval::Auto) => By::Default,
                            (true, None, None, None, mode) => By::Entry(of(mode)),
                        };
                        let Ruling { decision, by: decided_by } = ruling;
                        assert_eq!(decided_by, by);
                        let decided = match decision {
                            Decision::Run => "run",
                            Decision::Ask => "ask",
                            Decision::Deny { .. } => "deny",
                        };
                        let case = (mode, tool, exact, star, &annotations, entry.freshness, filter);
                        assert_eq!(decided, expected, "{case:?}");
                        n_cases += 1;
                    }
                }
            }
        }
        assert_eq!(n_cases, 9 * 2 * (3 * 4 * 5 * 5) * 6);
    }

    /// The mode of the server and of the tool; the rule for the tool and for all.
    type Case = (Approval, Option<Approval>, Option<Rule>, Option<Rule>);

    fn combinations() -> Vec<Case> {
        let mut all = Vec::new();
        for mode in MODES {
            for tool in maybe(&MODES) {
                for exact in maybe(&RULES) {
                    all.extend(maybe(&RULES).into_iter().map(|star| (mode, tool, exact, star)));
                }
            }
        }
        all
    }
}
