//! What can be typed, and the help for it. Nothing else.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use switchboard::Provider;

mod advice;
mod gateway;

pub(crate) use advice::{advise, tip};
pub(crate) use gateway::{Install, Serve, ToolArg, Uninstall};

/// The MCP runtime for coding agents: every server you have configured, in any tool.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version, propagate_version = true)]
#[command(
    after_help = "Servers of projects and of other tools start nothing until you approve them: see `switchboard help trust`."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    /// Without one, in a terminal: the interactive session
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Global {
    /// Work as if started in this directory
    #[arg(
        short = 'C',
        long = "directory",
        value_name = "DIR",
        value_hint = ValueHint::DirPath,
        global = true,
        help_heading = "Global options"
    )]
    pub(crate) directory: Option<PathBuf>,
    /// Print data, and errors, as JSON
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Say only what was asked for, and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Global options")]
    pub(crate) quiet: bool,
    /// Say also what needs no action
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) verbose: bool,
    /// Never use colour
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) no_color: bool,
    /// Add what happens to this file, as JSON lines
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        global = true,
        help_heading = "Global options"
    )]
    pub(crate) log_file: Option<PathBuf>,
    /// Approve every server for this run (also: `SWITCHBOARD_TRUST=1`)
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) trust: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List every server found, in any tool's files; never connects
    List {
        /// Also what does not count: shadowed, duplicate, filtered
        #[arg(long)]
        all: bool,
    },
    /// Explain one server: which file won, what it shadows, what its values are made of
    Why {
        /// Name of the server
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Tell for each server whether it could start; never connects
    Status {
        /// Only these
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Add a server to the project's file; without NAME, asks step by step
    Add(Add),
    /// Remove a server from the Switchboard file that has it
    #[command(visible_alias = "rm")]
    Remove {
        /// Name of the server
        #[arg(value_name = "NAME")]
        name: String,
        /// Only in this file
        #[arg(long, value_enum)]
        scope: Option<ScopeArg>,
    },
    /// Switch a server on
    Enable {
        /// Name of the server
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Switch a server off; one of another tool is switched in your own file, not in theirs
    Disable {
        /// Name of the server
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Connect to every server and list its tools
    Tools(Listing),
    /// Call a tool
    Call(Call),
    /// Talk to a model that uses the tools of your servers
    Chat(Chat),
    /// Connect to every server and list its resources
    Resources(Listing),
    /// Read a resource
    Read {
        /// Its address
        uri: String,
        /// The server that has it
        #[arg(long, value_name = "NAME")]
        server: Option<String>,
    },
    /// Connect to every server and list its prompts
    Prompts(Listing),
    /// Get a prompt, filled in
    Prompt {
        /// Its name, or server:name
        name: String,
        /// Its arguments
        #[arg(value_name = "KEY=VALUE")]
        arguments: Vec<String>,
        /// The server that has it
        #[arg(long, value_name = "NAME")]
        server: Option<String>,
    },
    /// Connect to one server, list what it offers, and say what is wrong if something is
    Test(Test),
    /// Log in to a server, whatever login there was before
    Reauth(Reauth),
    /// Forget the login of a server
    Unauth {
        /// Name of the server
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Have running sessions and gateways read the configuration again and restart only what changed
    Reload,
    /// Have running sessions and gateways start a server anew
    Reconnect {
        /// Name of the server
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Approve servers as they are defined now; a changed definition asks again
    Trust(Trust),
    /// Take approvals back
    Untrust {
        /// Only those given to servers of these names
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// All approvals there are
        #[arg(long, conflicts_with = "names")]
        all: bool,
    },
    /// Copy servers of other tools into your own file, showing the difference first
    Import(Import),
    /// Name what is wrong with the configuration, worst first, and what to do about it
    Doctor {
        /// Also connect to every approved server
        #[arg(long)]
        connect: bool,
        /// Write all there is to know into a file for whoever helps, without secrets
        #[arg(
            long,
            value_name = "FILE",
            value_hint = ValueHint::FilePath,
            num_args = 0..=1,
            default_missing_value = "switchboard-report.json"
        )]
        report: Option<PathBuf>,
    },
    /// Print a manual page
    Man {
        /// Of this command; without one, of the program
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
    },
    /// Print the completion script for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: ShellArg,
    },
    /// Be one MCP server that fronts all the others
    Serve(Serve),
    /// Put the gateway into another tool's file, and move that tool's servers behind it
    Install(Install),
    /// Take the gateway out of a tool's file again, and put its servers back
    Uninstall(Uninstall),
    /// Be a built-in server on standard input and output
    #[command(hide = true)]
    Builtin {
        #[arg(value_enum)]
        server: BuiltinArg,
    },
    /// Be the client of the official conformance suite
    #[command(hide = true)]
    Conformance {
        /// Address of the server to talk to
        url: String,
    },
    /// Print the JSON Schema of our own files
    Schema {
        /// Which of our files
        #[arg(value_enum, default_value = "mcp")]
        file: SchemaArg,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BuiltinArg {
    Thinking,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  switchboard add files -- npx -y @modelcontextprotocol/server-filesystem .
  switchboard add sentry --url https://mcp.sentry.dev/mcp
  switchboard add search --scope user --url https://example.com/mcp --header 'X-Key: ${SEARCH_KEY}'")]
pub(crate) struct Add {
    /// Letters, numbers, dash, underscore and dot
    pub(crate) name: Option<String>,
    /// Whose file: yours everywhere, or this project's, which is the default
    #[arg(long, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
    /// Address of a remote server
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// How to talk to the address
    #[arg(long, value_enum, requires = "url")]
    pub(crate) transport: Option<TransportArg>,
    /// Bearer token for the address; better a placeholder such as '${TOKEN}'
    #[arg(long)]
    pub(crate) token: Option<String>,
    /// Header for the address
    #[arg(long = "header", value_name = "K: V")]
    pub(crate) headers: Vec<String>,
    /// Variable for the command
    #[arg(long = "env", value_name = "K=V")]
    pub(crate) env: Vec<String>,
    /// Limit of one request in milliseconds; 0 for none
    #[arg(long, value_name = "MS")]
    pub(crate) timeout: Option<u64>,
    /// Put it in the place of one with the same name
    #[arg(long)]
    pub(crate) replace: bool,
    /// The command to run, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Listing {
    /// Only of these servers
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// What they offered last time, without connecting
    #[arg(long)]
    pub(crate) cached: bool,
    /// Wait for slow servers instead of showing what they offered last time
    #[arg(long, conflicts_with = "cached")]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  switchboard call mcp_files_read_file path=README.md
  switchboard call files/search --args '{\"query\": \"todo\"}'
  echo '{\"a\": 1}' | switchboard call calculator.add --args -")]
pub(crate) struct Call {
    /// Its name, in any spelling that means only one tool
    pub(crate) tool: String,
    /// Arguments; the tool's schema decides what each value becomes
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as JSON, from a @file, or from standard input with -
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with = "arguments")]
    pub(crate) args: Option<String>,
    /// The server that has it
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Limit without a sign of life in milliseconds; 0 for none
    #[arg(long, value_name = "MS")]
    pub(crate) timeout: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
What no --allow fits is denied, unless its server or your settings let it run without asking. The model is told why.
Keys and addresses come from ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL, GEMINI_API_KEY, OLLAMA_HOST and the like.

Examples:
  switchboard chat -p 'What changed this week?' --model anthropic/NAME --allow 'mcp_github_list_*'
  git diff | switchboard chat -p - --model ollama/qwen3 --only files
  OPENAI_BASE_URL=http://127.0.0.1:8080/v1 switchboard chat -p hello --model openai/local --json")]
pub(crate) struct Chat {
    /// What to say; - reads it from standard input
    #[arg(short, long, value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// The model, as PROVIDER/NAME: anthropic, openai, openai-responses, gemini or ollama
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Tools that may be called without asking, by name or server/tool; * is any text
    #[arg(long, value_name = "GLOB")]
    pub(crate) allow: Vec<String>,
    /// Tools that are never called, whatever else allows them
    #[arg(long, value_name = "GLOB")]
    pub(crate) deny: Vec<String>,
    /// Only these servers
    #[arg(long, value_name = "SERVER", num_args = 1..)]
    pub(crate) only: Vec<String>,
    /// How often the model is asked at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: Option<u32>,
    /// Whether the model must call a tool first: auto, required, none, or the name of one
    #[arg(long, value_name = "CHOICE", default_value = "auto")]
    pub(crate) tool_choice: String,
    /// What the model is told before anything else, instead of the usual words
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Print what happens, one JSON object a line
    #[arg(long)]
    pub(crate) stream_json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Reauth {
    /// Name of the server
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Open no browser: print the address, and read where the browser ended
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Ask for these rights, besides those you have, instead of those the server names
    #[arg(long, value_name = "RIGHTS")]
    pub(crate) scope: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  switchboard test github
  switchboard test --url http://127.0.0.1:3000/mcp --header 'X-Key: 1'
  switchboard test --trace traffic.jsonl -- npx -y @modelcontextprotocol/server-everything")]
pub(crate) struct Test {
    /// Name of a configured server
    #[arg(value_name = "NAME", required_unless_present_any = ["url", "command"])]
    pub(crate) name: Option<String>,
    /// An address instead, without any configuration
    #[arg(long, conflicts_with_all = ["name", "command"])]
    pub(crate) url: Option<String>,
    /// How to talk to the address; the other way is tried when this one turns out wrong
    #[arg(long, value_enum, requires = "url")]
    pub(crate) transport: Option<TransportArg>,
    /// Header for the address
    #[arg(long = "header", value_name = "K: V", requires = "url")]
    pub(crate) headers: Vec<String>,
    /// Variable for the command
    #[arg(long = "env", value_name = "K=V", requires = "command")]
    pub(crate) env: Vec<String>,
    /// Limit of connecting and of each request in milliseconds; 0 for none
    #[arg(long, value_name = "MS")]
    pub(crate) timeout: Option<u64>,
    /// Write the traffic to a file, without secrets
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    /// A command instead, without any configuration
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "name")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Only these; without any, you choose
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// All servers of this tool
    #[arg(long, value_name = "PROVIDER", value_parser = provider)]
    pub(crate) source: Option<Provider>,
    /// All servers that wait
    #[arg(long, conflicts_with_all = ["names", "source"])]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Only these servers
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Only servers of this tool
    #[arg(long, value_name = "PROVIDER", value_parser = provider)]
    pub(crate) from: Option<Provider>,
    /// Whose file to copy into
    #[arg(long, value_enum, default_value = "user")]
    pub(crate) scope: ScopeArg,
    /// Show the difference and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    User,
    Project,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportArg {
    Http,
    Sse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaArg {
    Mcp,
    Settings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellArg {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

impl ShellArg {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Elvish => "elvish",
            Self::Fish => "fish",
            Self::Powershell => "powershell",
            Self::Zsh => "zsh",
        }
    }
}

pub(crate) fn command() -> clap::Command {
    Cli::command()
}

fn provider(id: &str) -> Result<Provider, String> {
    Provider::from_id(id).ok_or_else(|| {
        let ids: Vec<_> = Provider::all().map(Provider::id).collect();
        format!("known are {}", ids.join(", "))
    })
}
