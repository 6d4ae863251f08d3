//! Blocks that are not walked through as they stand, each with the reason. A block that is neither run, nor checked, nor
//! in this list makes a test fail.

use crate::page::{Block, Page};
use crate::snippets::parses;

/// The page, how the block begins, and why it is not run.
const LIST: &[(&str, &str, &str)] = &[
    ("README.md", "cargo run --release -- tools", BUILDS),
    ("README.md", "Switchboard 0.1.0. /help for help", SCREEN),
    ("README.md", "› When it is noon", SCREEN),
    ("README.md", "› /tools convert_time", SCREEN),
    ("docs/start.md", "cargo install", BUILDS),
    ("docs/guide.md", "cargo install", BUILDS),
    (
        "docs/guide.md",
        "$ switchboard trust",
        "asks; tests/it/terminal.rs, consent_takes_some_and_leaves_some",
    ),
    ("docs/guide.md", "$ switchboard add", "asks; tests/it/terminal.rs, the_wizard_asks_and_writes"),
    (
        "docs/guide.md",
        "warning: the result does not match",
        "tests/it/online.rs, a_result_that_is_not_what_was_promised",
    ),
    ("docs/guide.md", "✗ db failed", SCREEN),
    ("docs/guide.md", "May github run", SCREEN),
    (
        "docs/guide.md",
        "warning: `vs-code` is not",
        "two of the problems that the tests of settings bring about",
    ),
    (
        "docs/faq.md",
        "switchboard uninstall",
        "takes the program away; tests/it/install.rs undoes all installs",
    ),
    (
        "docs/security.md",
        "error: the store of approvals",
        "tests/it/trust.rs and the bad inputs show the same",
    ),
    ("docs/security.md", "sk-aaaaaaaaaaaa;curl", "an example of redaction, as in the tests of `redact`"),
    ("docs/security.md", "evil\\u{1b}", "an example of hostile text, as in tests/it/hostile.rs"),
    ("docs/gateway.md", "claude mcp add", "another program"),
    ("docs/gateway.md", "curl -s", "not every machine has it; tests/it/serve/http.rs sends the same"),
    ("CONTRIBUTING.md", "cargo run --release -- tools", BUILDS),
    ("CONTRIBUTING.md", "INSTA_UPDATE=always", BUILDS),
    ("CONTRIBUTING.md", "{ \"on\": {", "a script for the scripted server, whose own tests read many"),
    ("ARCHITECTURE.md", "files    -> sources", "a picture"),
    ("docs/library.md", "[dependencies]", "the workspace itself depends on the crate in this way"),
    ("docs/performance.md", "bench/run", "takes half an hour"),
    ("docs/faults.md", "cargo test -p switchboard-cli --test faults", "is itself one of the tests"),
];

const BUILDS: &str = "builds or tests the whole repository; `tools` itself is run elsewhere on these pages";
const SCREEN: &str =
    "a screen of the session; tests/it/tui.rs and tests/it/conversation.rs show the same in a real terminal";

pub(crate) fn is_listed(path: &str, block: &Block) -> bool {
    let first = block.text.first().map(String::as_str).unwrap_or_default();
    let is_run = block.info == "console" || block.word("file").is_some();
    is_made(path) || !is_run && LIST.iter().any(|(page, begin, _)| *page == path && first.starts_with(begin))
}

/// Pages that other tests make from the code.
fn is_made(path: &str) -> bool {
    path == "docs/commands.md"
}

/// What is not run is at least something the program understands.
pub(crate) fn check(block: &Block) -> Result<(), String> {
    if block.info != "sh" {
        return Ok(());
    }
    let own = block.text.iter().filter(|line| line.starts_with("switchboard "));
    own.map(String::as_str).try_for_each(parses)
}

#[test]
fn the_list_has_nothing_that_is_gone() {
    let pages = Page::all();
    for (path, begin, _) in LIST {
        let page = pages.iter().find(|page| page.path == *path).unwrap_or_else(|| panic!("{path} is gone"));
        let is_there =
            page.blocks().iter().any(|block| block.text.first().is_some_and(|line| line.starts_with(begin)));
        assert!(is_there, "{path} has no block that begins with {begin}");
    }
}
