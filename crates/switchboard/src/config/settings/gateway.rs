//! The settings of the gateway: which servers and tools which client sees. All of them are the user's own.
//!
//! A profile only narrows. One with a mistake in it shows nothing at all: a filter that is left out would show more than
//! was meant.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::Reader;
use crate::glob::matches_glob;
use crate::problem::{Code, Problem};
use crate::sources::tree::Node;
use crate::visible::excerpt;

/// What clients of the gateway see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gateway {
    /// In the order they stand in the file.
    pub profiles: Vec<Profile>,
}

/// What some clients see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Its name, fit for an address.
    pub name: String,
    /// Patterns of the servers; all if nothing is said.
    pub servers: Option<Vec<String>>,
    /// Patterns of the tools; all if there are none.
    pub allow: Vec<String>,
    /// Patterns of tools that are not shown, whatever is allowed.
    pub deny: Vec<String>,
    /// Whether there is a search instead of all tools, if something is said.
    pub search: Option<bool>,
    /// Patterns of the names by which clients introduce themselves.
    pub clients: Vec<String>,
}

impl Profile {
    /// Whether the server is seen.
    pub fn sees_server(&self, server: &str) -> bool {
        self.servers.as_ref().is_none_or(|patterns| fits(patterns, server))
    }

    /// Whether a tool is seen: by its own name, by `server/tool`, or by the name it has in the catalog.
    pub fn sees_tool(&self, server: &str, tool: &str, name: &str) -> bool {
        let spelled = format!("{server}/{tool}");
        let is_meant = |patterns: &[String]| [tool, &spelled, name].iter().any(|name| fits(patterns, name));
        self.sees_server(server) && !is_meant(&self.deny) && (self.allow.is_empty() || is_meant(&self.allow))
    }

    /// Whether it is for a client of this name.
    pub fn is_for(&self, client: &str) -> bool {
        fits(&self.clients, client)
    }
}

fn fits(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches_glob(pattern, name))
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GatewaySchema {
    /// Profiles by name: letters, digits, dash, underscore and dot. `serve --profile NAME` and the address `/mcp/NAME` choose
    /// one; else the first whose `clients` fits counts.
    profiles: Option<BTreeMap<String, ProfileSchema>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ProfileSchema {
    /// Patterns of the servers that are seen. All when missing.
    servers: Option<Vec<String>>,
    /// Which tools of them are seen. All when missing.
    tools: Option<ProfileTools>,
    /// Whether clients get a search instead of all tools. As `--search` says when missing.
    search: Option<bool>,
    /// Patterns of the names by which clients introduce themselves.
    clients: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ProfileTools {
    /// Patterns of tools that are seen: `tool`, `server/tool` or the name in the catalog. All when missing or empty.
    allow: Option<Vec<String>>,
    /// Patterns of tools that are not seen, whatever is allowed.
    deny: Option<Vec<String>>,
}

const KEYS: [&str; 4] = ["servers", "tools", "search", "clients"];

impl Reader {
    pub(super) fn gateway(&mut self, node: &Node<'_>) {
        self.object("gateway", node, &["profiles"], |reader, _, node| {
            let Some(profiles) = node.entries() else {
                return reader.bad("gateway.profiles", node, "an object of profiles");
            };
            for (key, profile) in profiles {
                let name = key.text.as_ref();
                if is_name(name) {
                    reader.profile(name, profile);
                } else {
                    let message = format!("`{}` is no name for a profile; it is ignored", excerpt(name, 60));
                    let hint = "letters, digits, dash, underscore and dot, 64 at most";
                    reader.report(Problem::new(Code::BadSetting, message).hint(hint), key.line);
                }
            }
        });
    }

    fn profile(&mut self, name: &str, node: &Node<'_>) {
        let at = format!("gateway.profiles.{name}");
        let n_problems = self.problems.len();
        let mut profile = Profile { name: name.to_owned(), ..Profile::default() };
        self.object(&at, node, &KEYS, |reader, part, node| {
            let at = format!("{at}.{part}");
            match part {
                "servers" => profile.servers = reader.patterns(&at, node),
                "clients" => profile.clients = reader.patterns(&at, node).unwrap_or_default(),
                "search" => match node.bool() {
                    Some(search) => profile.search = Some(search),
                    None => reader.bad(&at, node, "true or false"),
                },
                _ => reader.object(&at, node, &["allow", "deny"], |reader, part, node| {
                    let patterns = reader.patterns(&format!("{at}.{part}"), node).unwrap_or_default();
                    match part {
                        "allow" => profile.allow = patterns,
                        _ => profile.deny = patterns,
                    }
                }),
            }
        });
        if self.problems.len() > n_problems {
            profile.servers = Some(Vec::new());
            let message = format!("the profile `{name}` has a mistake and shows nothing until it is right");
            self.report(Problem::new(Code::BadSetting, message), node.line);
        }
        self.settings.gateway.profiles.retain(|other| other.name != name);
        self.settings.gateway.profiles.push(profile);
    }

    fn patterns(&mut self, at: &str, node: &Node<'_>) -> Option<Vec<String>> {
        let patterns = node.texts();
        if patterns.is_none() {
            self.bad(at, node, "a list of patterns");
        }
        patterns
    }
}

/// Whether it can stand in an address.
fn is_name(name: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && name.len() <= 64 && name.bytes().all(is_fit) && !name.bytes().all(|byte| byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|pattern| (*pattern).to_owned()).collect()
    }

    #[test]
    fn a_profile_shows_what_is_allowed_and_not_denied() {
        let all = Profile::default();
        assert!(all.sees_server("docs") && all.sees_tool("docs", "search", "mcp_docs_search"));
        assert!(!all.is_for("any"), "it is for nobody in particular");
        let none = Profile { servers: Some(Vec::new()), ..Profile::default() };
        assert!(!none.sees_server("docs") && !none.sees_tool("docs", "search", "mcp_docs_search"));
        let some = Profile {
            servers: Some(patterns(&["d*"])),
            allow: patterns(&["docs/*", "mcp_db_read*"]),
            deny: patterns(&["delete*"]),
            clients: patterns(&["claude*"]),
            ..Profile::default()
        };
        let sees = |server: &str, tool: &str| some.sees_tool(server, tool, &format!("mcp_{server}_{tool}"));
        assert!(sees("docs", "search") && sees("db", "read_rows"));
        assert!(!sees("docs", "delete_page") && !sees("db", "write") && !sees("mail", "search"));
        assert!(some.is_for("claude-code") && !some.is_for("cursor"));
    }

    #[test]
    fn names_fit_into_an_address() {
        assert!(is_name("work") && is_name("a.b-c_1"));
        for name in ["", "a/b", "a b", "é", "..", ".", "a?b"] {
            assert!(!is_name(name), "{name}");
        }
        assert!(!is_name(&"a".repeat(65)));
    }
}
