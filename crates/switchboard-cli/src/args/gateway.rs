//! What can be typed about the gateway: serving, and putting it into other tools.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use switchboard::Provider;

use super::ScopeArg;
use crate::shell::words::nearest;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  switchboard serve                          for a client that starts it as a program
  switchboard serve --http                   over HTTP, on this machine only
  switchboard serve --http --token           the same, for those who know the token it prints
  switchboard serve --http 0.0.0.0:8080 --token-file ~/token --host gate.example
  switchboard serve --unix ~/run/gate.sock   over HTTP at a socket, for your own processes
  switchboard serve --only time --raw-names  one server under its own names")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Serve {
    /// Serve over HTTP at /mcp instead of standard input and output
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub(crate) http: Option<String>,
    /// Serve over HTTP at a unix socket, for processes of the same user
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, conflicts_with = "http")]
    pub(crate) unix: Option<PathBuf>,
    /// Let in only who sends `Authorization: Bearer TOKEN`; needed beyond this machine. Without a value one is made and
    /// printed
    #[arg(long, requires = "http", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "not given, given without a value, given with one")]
    pub(crate) token: Option<Option<String>>,
    /// The token is in this file, which only you may read (also: `SWITCHBOARD_GATEWAY_TOKEN`)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "http", conflicts_with = "token")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another name this machine is reached by
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// Serve old clients as well, which know only HTTP with SSE, at /sse
    #[arg(long)]
    pub(crate) sse: bool,
    /// How many requests a second one client may make over HTTP; 0 for as many as it likes
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub(crate) rate: u32,
    /// End sessions over HTTP that nobody used for so many seconds; and connections that are not shared, after ten minutes
    /// at the latest
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) session_idle: u32,
    /// Only these servers
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(crate) only: Vec<String>,
    /// Leave names and addresses as the server has them; for one server
    #[arg(long)]
    pub(crate) raw_names: bool,
    /// Show what a profile of the settings shows, and nothing else
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Offer three tools that find, describe and call the others, instead of all
    #[arg(long)]
    pub(crate) search: bool,
    /// Do not read the configuration again when one of its files changes
    #[arg(long)]
    pub(crate) no_watch: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  switchboard install --into claude --into cursor
  switchboard install --into all --dry-run
  switchboard install --into codex --move            its own servers go behind the gateway
  switchboard install --into vscode --scope project -- --only time
  switchboard install --into cursor --http http://127.0.0.1:8080/mcp --header 'Authorization: Bearer TOKEN'")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Install {
    /// The tool; all stands for every tool that seems to be there
    #[arg(long = "into", value_name = "TOOL", required = true, value_parser = tool)]
    pub(crate) tools: Vec<ToolArg>,
    /// Which file of the tool: yours everywhere, or this project's
    #[arg(long, value_enum, default_value = "user")]
    pub(crate) scope: ScopeArg,
    /// The address of a gateway that runs, instead of the program
    #[arg(long, value_name = "URL", conflicts_with = "args")]
    pub(crate) http: Option<String>,
    /// Header for the address
    #[arg(long = "header", value_name = "K: V", requires = "http")]
    pub(crate) headers: Vec<String>,
    /// Move the tool's own servers into your own file, behind the gateway
    #[arg(long = "move")]
    pub(crate) moves: bool,
    /// Put it in the place of something else that has the name
    #[arg(long)]
    pub(crate) force: bool,
    /// Show the difference and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// More arguments for `switchboard serve`
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// The tool; all stands for every tool it was put into
    #[arg(long = "from", value_name = "TOOL", required = true, value_parser = tool)]
    pub(crate) tools: Vec<ToolArg>,
    /// Which file of the tool: yours, or this project's. Without it yours; for all, every one in any project
    #[arg(long, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
    /// Show the difference and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A tool whose file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolArg {
    All,
    One(Provider),
}

fn tool(id: &str) -> Result<ToolArg, String> {
    if id == "all" {
        return Ok(ToolArg::All);
    }
    let known = switchboard::install::tools();
    known.clone().find(|tool| tool.id() == id).map(ToolArg::One).ok_or_else(|| {
        let ids: Vec<_> = known.map(Provider::id).collect();
        let near = nearest(&id.to_ascii_lowercase(), ids.iter().copied().chain(["all"]));
        let all = format!("known are {}, and all", ids.join(", "));
        match near {
            Some(near) => format!("did you mean `{near}`? ({all})"),
            None => all,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_was_mistyped_is_guessed() {
        let check = |id: &str, guess: &str| {
            let said = tool(id).unwrap_err();
            assert!(said.starts_with(guess) && said.contains("known are omp, "), "{said}");
        };
        check("crusor", "did you mean `cursor`? (");
        check("Codex", "did you mean `codex`? (");
        check("al", "did you mean `all`? (");
        check("nothing", "known are ");
    }
}
