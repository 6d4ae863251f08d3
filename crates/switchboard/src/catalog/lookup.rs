//! Finds a tool by whatever spelling somebody uses, as long as it can mean only one.

use super::build::{Catalog, Entry};
use super::naming;
use crate::config::settings::NameStyle;

/// Why a spelling leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missed {
    /// No tool is called so; these come nearest.
    Unknown {
        /// Names that are alike.
        near: Vec<String>,
    },
    /// Several tools could be meant.
    Ambiguous {
        /// Their names.
        candidates: Vec<String>,
    },
}

impl Catalog {
    /// The tool a spelling means: its name, `server/tool`, `server.tool`, `mcp__server__tool`, `mcp__server_tool`, the
    /// name without digits, or the bare name of the tool. `server` limits it to one server.
    pub fn find(&self, spelling: &str, server: Option<&str>) -> Result<&Entry, Missed> {
        let of_server = |entry: &&Entry| server.is_none_or(|server| entry.server == server);
        let exact = self.tools.iter().filter(of_server).find(|entry| entry.name == spelling);
        if let Some(entry) = exact {
            return Ok(entry);
        }
        let readings: [fn(&Entry, &str) -> bool; 3] = [is_spelled, is_styled, is_bare];
        for reading in readings {
            let found: Vec<&Entry> =
                self.tools.iter().filter(of_server).filter(|entry| reading(entry, spelling)).collect();
            match found.as_slice() {
                [] => {}
                [only] => return Ok(only),
                several => {
                    let candidates = several.iter().map(|entry| entry.name.clone()).collect();
                    return Err(Missed::Ambiguous { candidates });
                }
            }
        }
        Err(Missed::Unknown { near: self.near(spelling) })
    }

    fn near(&self, spelling: &str) -> Vec<String> {
        let wanted = spelling.to_lowercase();
        let wanted = wanted.rsplit(['/', '.']).next().unwrap_or(&wanted).trim_start_matches("mcp_");
        let alike = |entry: &&Entry| {
            let tool = entry.tool.name.to_lowercase();
            entry.name.contains(wanted)
                || (wanted.len() > 2 && tool.contains(wanted))
                || wanted.contains(&tool)
        };
        self.tools.iter().filter(alike).take(5).map(|entry| entry.name.clone()).collect()
    }
}

/// Server and tool in their own words, with a mark between.
fn is_spelled(entry: &Entry, spelling: &str) -> bool {
    let (server, tool) = (entry.server.as_str(), entry.tool.name.as_str());
    ["/", "."].iter().any(|mark| {
        spelling
            .strip_prefix(server)
            .and_then(|rest| rest.strip_prefix(mark))
            .is_some_and(|rest| rest == tool)
    }) || spelling
        .strip_prefix("mcp__")
        .and_then(|rest| rest.strip_prefix(server))
        .and_then(|rest| rest.strip_prefix("__"))
        .is_some_and(|rest| rest == tool)
}

/// The name in another style.
fn is_styled(entry: &Entry, spelling: &str) -> bool {
    let styles = [NameStyle::Standard, NameStyle::Letters, NameStyle::Double];
    styles.iter().any(|style| naming::name(&entry.server, &entry.tool.name, *style) == spelling)
        || spelling.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).is_some_and(
            |(server, tool)| {
                naming::name(server, tool, NameStyle::Standard)
                    == naming::name(&entry.server, &entry.tool.name, NameStyle::Standard)
            },
        )
}

/// The tool's own name alone.
fn is_bare(entry: &Entry, spelling: &str) -> bool {
    entry.tool.name == spelling
}
