//! Finds a tool by whatever spelling somebody uses, as long as it can mean only one.

use super::build::{Catalog, Entry, LeftOut};
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
    /// name without digits, or the bare name of the tool. For the server its own name counts, and so does its prefix.
    /// `server` limits it to one server.
    pub fn find(&self, spelling: &str, server: Option<&str>) -> Result<&Entry, Missed> {
        let of_server = |entry: &&Entry| server.is_none_or(|server| entry.server == server);
        let exact = self.tools.iter().filter(of_server).find(|entry| entry.name == spelling);
        if let Some(entry) = exact {
            return Ok(entry);
        }
        let readings: [Reading; 4] = [is_spelled, is_styled, is_bare, is_like];
        for reading in readings {
            let fits = |entry: &&Entry| {
                [&entry.server, &entry.word].iter().any(|word| reading(word, &entry.tool.name, spelling))
            };
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
        let is_meant = |LeftOut { raw, word, .. }: &&LeftOut| {
            server.is_none_or(|server| raw.server == server)
                && readings
                    .iter()
                    .any(|reading| [&raw.server, word].iter().any(|word| reading(word, &raw.tool, spelling)))
        };
        Err(match self.left_out.iter().find(is_meant) {
            Some(LeftOut { raw: Raw { server, tool }, .. }) => {
                Missed::LeftOut { server: server.clone(), tool: tool.clone() }
            }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::sample::catalog;
    use crate::declared::{Conduct, ToolRules};

    fn known_as(prefix: &str) -> Conduct {
        Conduct { prefix: Some(prefix.to_owned()), ..Conduct::default() }
    }

    #[test]
    fn a_prefix_is_understood_wherever_the_name_of_the_server_is() {
        let tools = json!([{"name": "read-file"}, {"name": "hidden"}]);
        let rules = ToolRules { deny: vec!["hidden".to_owned()], ..ToolRules::default() };
        let keyed = Conduct { tools: rules, ..known_as("k8s") };
        let catalog = catalog(&[
            ("kube-7", keyed, tools.clone()),
            ("other", Conduct::default(), json!([{"name": "x"}])),
        ]);
        for spelling in [
            "mcp_k8s_read_file",
            "k8s/read-file",
            "k8s.read-file",
            "mcp__k8s__read-file",
            "mcp__k8s__read_file",
            "mcp__k8s_read_file",
            "mcp_k_s_read_file",
            "mcp_kube_7_read_file",
            "kube-7/read-file",
            "kube-7.read-file",
            "mcp__kube-7__read-file",
            "mcp__kube_7_read_file",
            "mcp_kube_read_file",
            "read-file",
            "read_file",
        ] {
            let found =
                catalog.find(spelling, None).map(|entry| (entry.server.as_str(), entry.name.as_str()));
            assert_eq!(found, Ok(("kube-7", "mcp_k8s_read_file")), "{spelling}");
        }
        for spelling in ["k8s/hidden", "kube-7.hidden", "mcp_k8s_hidden", "mcp__kube-7__hidden"] {
            let left_out = Missed::LeftOut { server: "kube-7".to_owned(), tool: "hidden".to_owned() };
            assert_eq!(catalog.find(spelling, None).unwrap_err(), left_out, "{spelling}");
        }
    }

    #[test]
    fn what_several_could_mean_is_listed() {
        let tools = json!([{"name": "echo"}]);
        let servers = [("k", Conduct::default(), tools.clone()), ("real", known_as("k"), tools.clone())];
        let catalog = catalog(&servers);
        for spelling in ["k/echo", "k.echo", "mcp__k__echo", "mcp_k_echo", "echo"] {
            let Err(Missed::Ambiguous { candidates }) = catalog.find(spelling, None) else {
                panic!("{spelling}")
            };
            assert_eq!(candidates.len(), 2, "{candidates:?}");
            assert_eq!(catalog.find(spelling, Some("real")).unwrap().server, "real");
            assert_eq!(catalog.find(spelling, Some("k")).unwrap().server, "k");
        }
        assert_eq!(catalog.find("real/echo", None).unwrap().server, "real");
        let Err(Missed::Unknown { near }) = catalog.find("real/ech", None) else { panic!() };
        assert_eq!(near.len(), 2, "{near:?}");
    }
}
