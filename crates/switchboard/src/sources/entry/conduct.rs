//! The fields that say how to deal with a server: switches, limits, approval, tools.

use std::time::Duration;

use super::super::dialect::{Meaning, Unit};
use super::super::tree::{Node, Value};
use super::Reader;
use crate::declared::{Approval, Limit, Share, Switch};
use crate::problem::{Code, Problem};
use crate::provider::Provider;
use crate::visible::excerpt;

impl Reader<'_> {
    pub(super) fn conduct(&mut self, key: &str, meaning: Meaning, node: &Node<'_>) {
        match meaning {
            Meaning::Enabled => self.switch(key, node, Switch::Off, Switch::On),
            Meaning::Disabled => self.switch(key, node, Switch::On, Switch::Off),
            Meaning::Timeout(unit) => self.timeout(key, node, unit),
            Meaning::StartupTimeout(unit) => {
                if let Some(limit) = self.limit(key, node, unit) {
                    self.declared.conduct.startup_timeout = Some(limit);
                }
            }
            Meaning::IdleTimeout(unit) => {
                self.declared.conduct.idle_timeout = match self.limit(key, node, unit) {
                    Some(Limit::After(duration)) => Some(duration),
                    Some(Limit::None) | None => None,
                };
            }
            Meaning::Approval => self.approval(key, node),
            Meaning::ApprovalMode => match node.text().and_then(codex_approval) {
                Some(approval) => self.declared.conduct.approval = approval,
                None => self.ignore(key, node, "`auto`, `prompt`, `writes` or `approve`"),
            },
            Meaning::Trust => match node.bool() {
                Some(true) => self.declared.conduct.approval = Approval::Never,
                Some(false) => {}
                None => self.ignore(key, node, "true or false"),
            },
            Meaning::AutoApprove => {
                for tool in self.names(key, node) {
                    if tool == "*" {
                        self.declared.conduct.approval = Approval::Never;
                    } else {
                        self.declared.conduct.tools.approval.insert(tool, Approval::Never);
                    }
                }
            }
            Meaning::Tools => self.tools(key, node),
            Meaning::ToolModes => self.tool_modes(key, node),
            Meaning::Allow => self.allow(key, node),
            Meaning::Deny => {
                let names = self.names(key, node);
                self.declared.conduct.tools.deny.extend(names);
            }
            Meaning::Prefix => match node.text().filter(|text| !text.trim().is_empty()) {
                Some(prefix) => self.declared.conduct.prefix = Some(prefix.to_owned()),
                None => self.ignore(key, node, "a word"),
            },
            Meaning::Required => self.declared.conduct.required = self.flag(key, node),
            Meaning::Lazy => self.declared.conduct.lazy = self.flag(key, node),
            Meaning::Share => match node.text().and_then(Share::from_word) {
                Some(share) => self.declared.conduct.share = share,
                None => self.ignore(key, node, "`auto` or `client`"),
            },
            Meaning::Description => match node.text() {
                Some(text) => self.declared.conduct.description = Some(text.to_owned()),
                None => self.ignore(key, node, "a string"),
            },
            _ => {}
        }
    }

    /// Only these tools. An empty list allows none, except in Goose, where it allows all.
    fn allow(&mut self, key: &str, node: &Node<'_>) {
        let names = self.names(key, node);
        let tools = &mut self.declared.conduct.tools;
        match names.as_slice() {
            [] if node.items().is_none() => {}
            [] if self.origin.provider == Provider::Goose => {}
            [] => tools.deny.push("*".to_owned()),
            // How Copilot CLI says "all of them".
            [all] if all == "*" => {}
            _ => tools.allow.extend(names),
        }
    }

    fn flag(&mut self, key: &str, node: &Node<'_>) -> bool {
        node.bool().unwrap_or_else(|| {
            self.ignore(key, node, "true or false");
            false
        })
    }

    /// `enabled` and `disabled`; where both stand, off wins.
    fn switch(&mut self, key: &str, node: &Node<'_>, if_false: Switch, if_true: Switch) {
        let value = match &node.value {
            Value::Bool(value) => Some(*value),
            Value::Text(text) => match text.to_ascii_lowercase().as_str() {
                "true" | "1" => Some(true),
                "false" | "0" => Some(false),
                _ => None,
            },
            Value::Null | Value::Number(_) | Value::List(_) | Value::Map(_) | Value::Odd(_) => None,
        };
        match value.map(|value| if value { if_true } else { if_false }) {
            Some(switch) => {
                self.contradicts |= self.said.is_some_and(|said| said != switch);
                self.said = Some(switch);
                if switch == Switch::Off {
                    self.declared.conduct.enabled = Switch::Off;
                }
            }
            None => self.ignore(key, node, "true or false"),
        }
    }

    /// One limit, or opencode's object of two.
    fn timeout(&mut self, key: &str, node: &Node<'_>, unit: Unit) {
        if node.entries().is_some() {
            for (part, value) in [("startup", node.get("startup")), ("request", node.get("request"))] {
                let Some(limit) = value.and_then(|value| self.limit(&format!("{key}.{part}"), value, unit))
                else {
                    continue;
                };
                match part {
                    "startup" => self.declared.conduct.startup_timeout = Some(limit),
                    _ => self.declared.conduct.timeout = Some(limit),
                }
            }
            return;
        }
        if let Some(limit) = self.limit(key, node, unit) {
            self.declared.conduct.timeout = Some(limit);
        }
    }

    fn limit(&mut self, key: &str, node: &Node<'_>, unit: Unit) -> Option<Limit> {
        let Unit { word, millis, least, most } = unit;
        let number = match &node.value {
            Value::Number(text) | Value::Text(text) => text.trim().parse::<f64>().ok(),
            Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) | Value::Odd(_) => None,
        };
        // The comparison also refuses NaN and infinity.
        let Some(number) = number.filter(|number| (f64::from(least)..f64::INFINITY).contains(number)) else {
            self.ignore(key, node, &format!("a number of {word}, {least} or more"));
            return None;
        };
        if number > f64::from(most) {
            let message = format!("`{key}` is at most {most} {word}; {most} is used");
            let problem = Problem::new(Code::BadField, message);
            let in_seconds = millis > 1 && number >= 1000.0;
            self.report(if in_seconds { problem.hint("was it meant in milliseconds?") } else { problem });
            return Some(Limit::After(Duration::from_millis(u64::from(most) * u64::from(millis))));
        }
        let duration = Duration::from_secs_f64(number * f64::from(millis) / 1000.0);
        // Less than a millisecond is still a limit.
        Some(if number == 0.0 { Limit::None } else { Limit::After(duration.max(Duration::from_millis(1))) })
    }

    fn approval(&mut self, key: &str, node: &Node<'_>) {
        match node.text() {
            // A newer co-cli says `ask` for what we call `auto`.
            Some("ask") => self.declared.conduct.approval = Approval::Auto,
            Some("auto") if self.origin.provider == Provider::CoCli => {
                let message = "`approval: auto` is read as \"ask before each call\"; newer versions of co-cli run without asking";
                self.report(
                    Problem::new(Code::BadField, message).hint("write `never` to run without asking"),
                );
            }
            Some(word) => match Approval::from_word(word) {
                Some(approval) => self.declared.conduct.approval = approval,
                None => self.ignore(key, node, "`auto`, `writes` or `never`"),
            },
            None => self.ignore(key, node, "`auto`, `writes` or `never`"),
        }
    }

    /// Our `{allow, deny, approval}`, or a plain list of what is allowed.
    fn tools(&mut self, key: &str, node: &Node<'_>) {
        if node.items().is_some() {
            return self.conduct(key, Meaning::Allow, node);
        }
        let Some(entries) = node.entries() else {
            return self.ignore(key, node, "an object with `allow`, `deny` or `approval`");
        };
        for (part, value) in entries {
            match part.text.as_ref() {
                "allow" => self.conduct("tools.allow", Meaning::Allow, value),
                "deny" => self.conduct("tools.deny", Meaning::Deny, value),
                "approval" => self.tool_approvals(value),
                other => {
                    let message = format!("`tools.{}` is not a known field", excerpt(other, 60));
                    let problem = Problem::new(Code::UnknownField, message);
                    self.report(problem.hint("`tools` has `allow`, `deny` and `approval`"));
                }
            }
        }
    }

    fn tool_approvals(&mut self, node: &Node<'_>) {
        let Some(entries) = node.entries() else {
            return self.ignore("tools.approval", node, "an object of tool names");
        };
        for (tool, value) in entries {
            if let Some(approval) = value.text().and_then(Approval::from_word) {
                self.declared.conduct.tools.approval.insert(tool.text.clone().into_owned(), approval);
            } else {
                let key = format!("tools.approval.{}", excerpt(&tool.text, 60));
                self.ignore(&key, value, "`auto`, `writes` or `never`");
            }
        }
    }

    /// Codex's `[mcp_servers.x.tools.y] approval_mode`.
    fn tool_modes(&mut self, key: &str, node: &Node<'_>) {
        let Some(entries) = node.entries() else { return self.ignore(key, node, "a table of tools") };
        for (tool, rules) in entries {
            let mode = rules.get("approval_mode");
            if let Some(approval) = mode.and_then(Node::text).and_then(codex_approval) {
                self.declared.conduct.tools.approval.insert(tool.text.clone().into_owned(), approval);
            } else {
                let key = format!("tools.{}.approval_mode", excerpt(&tool.text, 60));
                self.ignore(&key, mode.unwrap_or(rules), "`auto`, `prompt`, `writes` or `approve`");
            }
        }
    }

    /// The names of a list; what is none is reported and costs only itself.
    fn names(&mut self, key: &str, node: &Node<'_>) -> Vec<String> {
        let items = node.items().unwrap_or_default();
        if node.items().is_none() || items.iter().any(|item| item.text().is_none()) {
            self.ignore(key, node, "a list of names");
        }
        items.iter().filter_map(|item| item.text().map(str::to_owned)).collect()
    }
}

/// Codex's words. Its `auto` asks whenever a tool does not say that it only reads.
fn codex_approval(mode: &str) -> Option<Approval> {
    match mode {
        "prompt" => Some(Approval::Auto),
        "auto" | "writes" => Some(Approval::Writes),
        "approve" => Some(Approval::Never),
        _ => None,
    }
}
