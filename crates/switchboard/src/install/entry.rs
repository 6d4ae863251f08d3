//! The one entry, in the shape each tool expects. Pure data.

use serde_json::{Map, Value, json};

use crate::provider::Provider as P;

/// How a tool gets to the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gateway {
    /// It starts the program.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// It dials one that runs.
    Address {
        /// Where.
        url: String,
        /// What it sends with each request.
        headers: Vec<(String, String)>,
    },
}

/// The entry for a tool, or why the tool cannot have one.
pub fn entry(tool: P, name: &str, gateway: &Gateway) -> Result<Value, &'static str> {
    match gateway {
        Gateway::Program { command, args } => Ok(program(tool, name, command, args)),
        Gateway::Address { url, headers } => address(tool, name, url, headers),
    }
}

fn program(tool: P, name: &str, command: &str, args: &[String]) -> Value {
    match tool {
        P::Claude | P::McpJson | P::VsCode | P::Crush => {
            json!({"type": "stdio", "command": command, "args": args})
        }
        P::CopilotCli => json!({"type": "local", "command": command, "args": args, "tools": ["*"]}),
        P::OpenCode => {
            let words: Vec<&str> = std::iter::once(command).chain(args.iter().map(String::as_str)).collect();
            json!({"type": "local", "command": words, "enabled": true})
        }
        P::Goose => json!({
            "enabled": true,
            "type": "stdio",
            "name": name,
            "description": "All MCP servers behind one",
            "cmd": command,
            "args": args,
            "envs": {},
            "timeout": 300,
        }),
        P::Continue => json!({"name": name, "type": "stdio", "command": command, "args": args}),
        _ => json!({"command": command, "args": args}),
    }
}

fn address(tool: P, name: &str, url: &str, headers: &[(String, String)]) -> Result<Value, &'static str> {
    let mut entry = match tool {
        P::ClaudeDesktop => return Err("Claude Desktop only starts programs; leave --http out"),
        P::CoCli if !headers.is_empty() => return Err("co-cli sends no headers; leave --header out"),
        P::Claude | P::McpJson | P::VsCode | P::Crush | P::Omp | P::Xcsh | P::Pisces => {
            json!({"type": "http", "url": url})
        }
        P::CopilotCli => json!({"type": "http", "url": url, "tools": ["*"]}),
        P::OpenCode => json!({"type": "remote", "url": url, "enabled": true}),
        P::Gemini | P::Qwen => json!({"httpUrl": url}),
        P::Windsurf => json!({"serverUrl": url}),
        P::Cline => json!({"type": "streamableHttp", "url": url}),
        P::Roo => json!({"type": "streamable-http", "url": url}),
        P::Goose => json!({
            "enabled": true,
            "type": "streamable_http",
            "name": name,
            "description": "All MCP servers behind one",
            "uri": url,
            "envs": {},
            "timeout": 300,
        }),
        P::Continue => json!({"name": name, "type": "streamable-http", "url": url}),
        _ => json!({"url": url}),
    };
    if !headers.is_empty() {
        let all: Map<String, Value> =
            headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        match tool {
            P::Codex => entry["http_headers"] = json!(all),
            P::Continue => entry["requestOptions"] = json!({ "headers": all }),
            _ => entry["headers"] = json!(all),
        }
    }
    Ok(entry)
}
