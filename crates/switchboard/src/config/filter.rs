//! Two kinds of servers a host may want to leave out because it has the same thing built in.

use super::spec::{ServerSpec, Transport};

/// A reason to leave a server out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Web search by Exa.
    Exa,
    /// A browser to drive.
    Browser,
}

impl Filter {
    /// Whom it keeps out.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exa => "Exa servers",
            Self::Browser => "browser servers",
        }
    }
}

const BROWSER_NAMES: &[&str] =
    &["puppeteer", "playwright", "browserbase", "browser-tools", "browser-use", "browser"];
const BROWSER_HOSTS: &[&str] = &["browserbase.com", "browser-use.com"];
const BROWSER_PACKAGES: &[&str] = &[
    "@modelcontextprotocol/server-puppeteer",
    "@playwright/mcp",
    "@browserbasehq/mcp-server-browserbase",
    "@agentdeskai/browser-tools-mcp",
    "@agent-infra/mcp-server-browser",
    "puppeteer-mcp",
    "playwright-mcp",
    "pptr-mcp",
    "browser-use-mcp",
    "mcp-browser-use",
];

/// Whether the server drives a browser.
pub(super) fn is_browser(name: &str, spec: &ServerSpec) -> bool {
    if BROWSER_NAMES.contains(&name.to_lowercase().as_str()) {
        return true;
    }
    match &spec.transport {
        Transport::Remote(_) => any_word(spec, |word| BROWSER_HOSTS.iter().any(|host| word.contains(host))),
        Transport::Stdio(_) => {
            any_word(spec, |word| BROWSER_PACKAGES.iter().any(|package| word.contains(package)))
        }
    }
}

/// Whether the server is Exa's and offers nothing but its web search.
pub(super) fn is_exa(name: &str, spec: &ServerSpec) -> bool {
    let is_exa = name.eq_ignore_ascii_case("exa") || any_word(spec, |word| word.contains("mcp.exa.ai"));
    is_exa && !asks_for_other_tools(spec)
}

/// A restriction to tools other than the web search means that the server is wanted for them.
fn asks_for_other_tools(spec: &ServerSpec) -> bool {
    let words = words(spec);
    let mut restrictions = words
        .iter()
        .zip(words.iter().skip(1))
        .filter(|(word, _)| *word == "--tools")
        .map(|pair| pair.1.as_str())
        .chain(words.iter().flat_map(|word| {
            word.split(['?', '&', ' '])
                .filter_map(|part| part.strip_prefix("--tools=").or_else(|| part.strip_prefix("tools=")))
        }));
    restrictions.any(|list| list.split(',').any(|tool| !tool.is_empty() && tool.trim() != "web_search_exa"))
}

fn any_word(spec: &ServerSpec, test: impl Fn(&str) -> bool) -> bool {
    words(spec).iter().any(|word| test(word))
}

/// Command and arguments, or the address, in lower case.
fn words(spec: &ServerSpec) -> Vec<String> {
    match &spec.transport {
        Transport::Stdio(stdio) => {
            std::iter::once(&stdio.command).chain(&stdio.args).map(|word| word.raw().to_lowercase()).collect()
        }
        Transport::Remote(endpoint) => vec![endpoint.url.raw().to_lowercase()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::validate;
    use crate::declared::{Declared, Remote};
    use crate::template::Template;

    fn stdio(words: &[&str]) -> ServerSpec {
        let mut declared = Declared::empty(Remote::Http);
        declared.command = Some(Template::plain(words[0]));
        declared.args = words[1..].iter().map(|word| Template::plain(*word)).collect();
        validate::server("x", declared).unwrap()
    }

    fn remote(url: &str) -> ServerSpec {
        validate::server("x", Declared { url: Some(Template::plain(url)), ..Declared::empty(Remote::Http) })
            .unwrap()
    }

    #[test]
    fn exa_is_known_by_name_address_or_argument() {
        assert!(is_exa("Exa", &stdio(&["true"])));
        assert!(is_exa("search", &remote("https://MCP.exa.ai/mcp?exaApiKey=k")));
        assert!(is_exa("search", &stdio(&["npx", "mcp-remote", "https://mcp.exa.ai/mcp"])));
        assert!(is_exa("exa", &stdio(&["npx", "exa-mcp-server", "--tools", "web_search_exa"])));
        assert!(!is_exa("search", &remote("https://example.com/mcp")));
        for other in [
            remote("https://mcp.exa.ai/mcp?exaApiKey=k&tools=web_search_exa,crawling_exa"),
            stdio(&["npx", "exa-mcp-server", "--tools", "crawling_exa"]),
            stdio(&["npx", "exa-mcp-server", "--tools=crawling_exa"]),
        ] {
            assert!(!is_exa("exa", &other));
        }
    }

    #[test]
    fn browsers_are_known_by_name_host_or_package() {
        assert!(is_browser("Playwright", &stdio(&["true"])));
        assert!(is_browser("web", &stdio(&["npx", "-y", "@playwright/mcp@latest"])));
        assert!(is_browser("web", &remote("https://mcp.browserbase.com/mcp")));
        assert!(!is_browser("web", &remote("https://example.com/mcp")));
        assert!(!is_browser("web", &stdio(&["npx", "-y", "@modelcontextprotocol/server-fetch"])));
    }
}
