//! The servers that come with the program, as the text of a file.

/// `thinking` runs inside this program; the other two download their code and so wait for consent.
pub(super) const DECLARATIONS: &str = r#"{
  "mcpServers": {
    "thinking": {
      "command": "switchboard",
      "args": ["builtin", "thinking"],
      "approval": "never",
      "description": "Sequential thinking, built into this program"
    },
    "github": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_TOKEN}" },
      "approval": "auto",
      "description": "GitHub; the token is taken from GITHUB_TOKEN"
    },
    "context7": {
      "command": "npx",
      "args": ["-y", "@upstash/context7-mcp"],
      "approval": "never",
      "description": "Current documentation of libraries"
    }
  }
}
"#;
