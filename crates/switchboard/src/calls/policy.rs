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

/// Decides. The user's settings count more than the server's entry, a rule for the tool more than one for all.
pub fn decide(entry: &Entry, conduct: &Conduct, settings: &Settings) -> Decision {
    let tool = entry.tool.name.as_str();
    if !crate::catalog::is_allowed(conduct, tool) {
        return Decision::Deny { reason: format!("the entry of `{}` leaves out `{tool}`", entry.server) };
    }
    let by_settings =
        settings.approval.get(&entry.server).and_then(|rules| rules.get(tool).or_else(|| rules.get("*")));
    let rule = match by_settings {
        Some(rule) => *rule,
        None => match conduct.tools.approval.get(tool).copied().unwrap_or(conduct.approval) {
            Approval::Auto => Rule::Auto,
            Approval::Writes => Rule::Writes,
            Approval::Never => Rule::Never,
        },
    };
    match rule {
        Rule::Deny => Decision::Deny { reason: format!("the settings deny `{tool}` of `{}`", entry.server) },
        Rule::Never => Decision::Run,
        Rule::Writes if entry.tool.is_read_only() && entry.freshness == Freshness::Live => Decision::Run,
        Rule::Writes | Rule::Auto => Decision::Ask,
    }
}
