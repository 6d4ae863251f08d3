//! Finds a tool by whatever spelling somebody uses, as long as it can mean only one.

use super::build::{Catalog, Entry};
use super::naming::{self, Raw};
use crate::config::settings::NameStyle;

/// Why a spelling leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missed {
    /// No tool is called so; these come nearest.
    Unknown {
        /// Names that are alike.
        near: Vec<String>,
    },
    /// The rules of its server leave it out.
    LeftOut {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
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
        let readings: [Reading; 4] = [is_spelled, is_styled, is_bare, is_like];
        for reading in readings {
            let fits = |entry: &&Entry| reading(&entry.server, &entry.tool.name, spelling);
            let found: Vec<&Entry> = self.tools.iter().filter(of_server).filter(fits).collect();
            match found.as_slice() {
                [] => {}
                [only] => return Ok(only),
                several => {
                    let candidates = several.iter().map(|entry| entry.name.clone()).collect();
                    return Err(Missed::Ambiguous { candidates });
                }
            }
        }
        let is_meant = |raw: &&Raw| {
            server.is_none_or(|server| raw.server == server)
                && readings.iter().any(|reading| reading(&raw.server, &raw.tool, spelling))
        };
        Err(match self.left_out.iter().find(is_meant) {
            Some(Raw { server, tool }) => Missed::LeftOut { server: server.clone(), tool: tool.clone() },
            None => Missed::Unknown { near: self.near(spelling) },
        })
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

/// Whether a server and a tool can be meant by a spelling.
type Reading = fn(&str, &str, &str) -> bool;

/// Server and tool in their own words, with a mark between.
fn is_spelled(server: &str, tool: &str, spelling: &str) -> bool {
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
fn is_styled(server: &str, tool: &str, spelling: &str) -> bool {
    let styles = [NameStyle::Standard, NameStyle::Letters, NameStyle::Double];
    let standard = || naming::name(server, tool, NameStyle::Standard);
    let apart = spelling.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    styles.iter().any(|style| naming::name(server, tool, *style) == spelling)
        || apart.is_some_and(|(server, tool)| naming::name(server, tool, NameStyle::Standard) == standard())
}

/// The tool's own name, as far as names go.
fn is_like(_server: &str, tool: &str, spelling: &str) -> bool {
    naming::name("x", tool, NameStyle::Standard) == naming::name("x", spelling, NameStyle::Standard)
}

/// The tool's own name alone.
fn is_bare(_server: &str, tool: &str, spelling: &str) -> bool {
    tool == spelling
}
