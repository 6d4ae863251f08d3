//! The tools whose files we read, in the order in which they count.

use std::fmt;

/// A tool, or one of our own files, that declares servers.
///
/// The variants stand in order of precedence; where two have the same priority, the earlier counts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the variants are the names of the tools")]
pub enum Provider {
    Environment,
    Native,
    Settings,
    Omp,
    Xcsh,
    Pisces,
    CoCli,
    Claude,
    Codex,
    Gemini,
    OpenCode,
    Cursor,
    Windsurf,
    CopilotCli,
    Zed,
    Cline,
    Roo,
    Amp,
    Kiro,
    Goose,
    Continue,
    Junie,
    Warp,
    Qwen,
    Crush,
    ClaudeDesktop,
    LmStudio,
    VsCode,
    McpJson,
    BuiltIn,
}

/// `(provider, id, what people call it, priority)`.
const TABLE: &[(Provider, &str, &str, u8)] = &[
    (Provider::Environment, "environment", "SWITCHBOARD_MCP_SERVERS", 255),
    (Provider::Native, "native", "Switchboard", 100),
    (Provider::Settings, "settings", "Switchboard settings", 95),
    (Provider::Omp, "omp", "omp", 90),
    (Provider::Xcsh, "xcsh", "xcsh", 90),
    (Provider::Pisces, "pisces", "pisces", 90),
    (Provider::CoCli, "co-cli", "co-cli", 90),
    (Provider::Claude, "claude", "Claude Code", 80),
    (Provider::Codex, "codex", "Codex", 70),
    (Provider::Gemini, "gemini", "Gemini CLI", 60),
    (Provider::OpenCode, "opencode", "opencode", 55),
    (Provider::Cursor, "cursor", "Cursor", 50),
    (Provider::Windsurf, "windsurf", "Windsurf", 50),
    (Provider::CopilotCli, "copilot-cli", "Copilot CLI", 45),
    (Provider::Zed, "zed", "Zed", 45),
    (Provider::Cline, "cline", "Cline", 45),
    (Provider::Roo, "roo", "Roo Code", 45),
    (Provider::Amp, "amp", "Amp", 45),
    (Provider::Kiro, "kiro", "Kiro", 45),
    (Provider::Goose, "goose", "Goose", 40),
    (Provider::Continue, "continue", "Continue", 40),
    (Provider::Junie, "junie", "Junie", 40),
    (Provider::Warp, "warp", "Warp", 40),
    (Provider::Qwen, "qwen", "Qwen Code", 40),
    (Provider::Crush, "crush", "Crush", 40),
    (Provider::ClaudeDesktop, "claude-desktop", "Claude Desktop", 30),
    (Provider::LmStudio, "lm-studio", "LM Studio", 30),
    (Provider::VsCode, "vscode", "VS Code", 20),
    (Provider::McpJson, "mcp-json", "mcp.json", 5),
    (Provider::BuiltIn, "builtin", "built in", 0),
];

impl Provider {
    /// Every provider, the one that counts most first.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        TABLE.iter().map(|row| row.0)
    }

    /// The provider with this id.
    pub fn from_id(id: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == id).map(|row| row.0)
    }

    /// The stable id, as in `--source claude`.
    pub fn id(self) -> &'static str {
        self.row().1
    }

    /// What people call it.
    pub fn label(self) -> &'static str {
        self.row().2
    }

    /// Higher counts first.
    pub fn priority(self) -> u8 {
        self.row().3
    }

    /// Whether its files are ours to write.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Native | Self::Settings)
    }

    fn row(self) -> &'static (Self, &'static str, &'static str, u8) {
        // The table lists the variants in their own order; a test holds it to that.
        &TABLE[self as usize]
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_the_variants_in_order_of_precedence() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, index, "{} is out of place", row.1);
            assert_eq!(Provider::from_id(row.1), Some(row.0));
        }
        assert!(TABLE.windows(2).all(|pair| pair[0].3 >= pair[1].3), "priorities must not rise");
    }
}
