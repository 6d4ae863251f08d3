//! What was typed, taken apart: words for the model, or a command. Pure. The verbs of `/mcp` and their flags are those of
//! the command line, because the same types parse them.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use switchboard::config::settings::Rule;

use super::words;
use crate::args::{self, Call};
use crate::complete::line;
use crate::error::CommandError;

/// What can be typed after a slash, with what it does.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    ("mcp", "servers: list, add, remove, enable, disable, test, log in, trust, reload"),
    ("tools", "list, search and show the tools"),
    ("call", "call a tool"),
    ("read", "read a resource"),
    ("prompt", "get a prompt, filled in"),
    ("approve", "see and change what runs without asking"),
    ("model", "see or choose the model"),
    ("clear", "begin the conversation anew"),
    ("save", "write the conversation to a file"),
    ("help", "what can be done here"),
    ("quit", "leave"),
    ("exit", "leave"),
];

/// Verbs of the command line that make no sense in a session.
pub(crate) const NOT_HERE: &[&str] =
    &["builtin", "chat", "completions", "conformance", "install", "man", "schema", "serve", "uninstall"];

/// What was typed.
#[derive(Debug)]
pub(crate) enum Input {
    /// Nothing.
    Nothing,
    /// Words for the model.
    Words(String),
    /// A command.
    Slash(Box<Slash>),
    /// A text that answers it: help.
    Told(String),
}

/// A command.
#[derive(Debug)]
pub(crate) enum Slash {
    Mcp(McpLine),
    Tools(ToolsLine),
    Call(CallLine),
    Read(ReadLine),
    Prompt(PromptLine),
    Approve(ApproveLine),
    Model(ModelLine),
    Clear,
    Save(SaveLine),
    Help,
    Quit,
    /// A prompt of a server, by its own name: `/server:prompt`.
    Fill {
        name: String,
        arguments: Vec<String>,
    },
}

/// How a command is to speak.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct How {
    /// Print data, and errors, as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say also what needs no action
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// Servers: see them, change them, mend them.
#[derive(Debug, Parser)]
#[command(name = "/mcp", bin_name = "/mcp", disable_version_flag = true)]
#[command(
    after_help = "The verbs and their options are those of the command line. `/mcp help VERB` explains one."
)]
pub(crate) struct McpLine {
    #[command(flatten)]
    pub(crate) how: How,
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    #[command(flatten)]
    Shared(args::Command),
    /// Show what a server wrote and sent last
    Logs {
        /// Name of the server
        #[arg(value_name = "NAME")]
        name: String,
        /// So many lines
        #[arg(short = 'n', long, default_value_t = 40)]
        lines: usize,
    },
}

/// List the tools; with words, search them; with the name of one, show it.
#[derive(Debug, Parser)]
#[command(name = "/tools", bin_name = "/tools", disable_version_flag = true)]
pub(crate) struct ToolsLine {
    /// Words to look for, or the name of a tool
    pub(crate) words: Vec<String>,
    /// Show the schemas as the server sent them
    #[arg(long)]
    pub(crate) schema: bool,
    #[command(flatten)]
    pub(crate) how: How,
}

/// Call a tool. Typing it is your approval; only a rule that denies stops it.
#[derive(Debug, Parser)]
#[command(name = "/call", bin_name = "/call", disable_version_flag = true)]
pub(crate) struct CallLine {
    #[command(flatten)]
    pub(crate) call: Call,
    /// Ask as if the model had called it
    #[arg(long)]
    pub(crate) ask: bool,
    #[command(flatten)]
    pub(crate) how: How,
}

/// Read a resource.
#[derive(Debug, Parser)]
#[command(name = "/read", bin_name = "/read", disable_version_flag = true)]
pub(crate) struct ReadLine {
    /// Its address
    pub(crate) uri: String,
    /// The server that has it
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) how: How,
}

/// Get a prompt, filled in.
#[derive(Debug, Parser)]
#[command(name = "/prompt", bin_name = "/prompt", disable_version_flag = true)]
pub(crate) struct PromptLine {
    /// Its name, or server:name
    pub(crate) name: String,
    /// Its arguments
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// The server that has it
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) how: How,
}

/// See which calls are asked about; change the rule of a server or a tool.
#[derive(Debug, Parser)]
#[command(name = "/approve", bin_name = "/approve", disable_version_flag = true)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct ApproveLine {
    #[command(subcommand)]
    pub(crate) forget: Option<Forget>,
    /// The server, or server/tool
    #[arg(value_name = "SERVER[/TOOL]")]
    pub(crate) target: Option<String>,
    /// Ask each time, ask unless it only reads, never ask, or never run it
    #[arg(value_enum, value_name = "RULE")]
    pub(crate) rule: Option<RuleArg>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Forget {
    /// Take back a rule and what was approved for good
    Forget {
        /// The server, or server/tool
        #[arg(value_name = "SERVER[/TOOL]")]
        target: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleArg {
    Auto,
    Writes,
    Never,
    Deny,
}

impl From<RuleArg> for Rule {
    fn from(rule: RuleArg) -> Self {
        match rule {
            RuleArg::Auto => Self::Auto,
            RuleArg::Writes => Self::Writes,
            RuleArg::Never => Self::Never,
            RuleArg::Deny => Self::Deny,
        }
    }
}

/// See the model, or choose one for this session.
#[derive(Debug, Parser)]
#[command(name = "/model", bin_name = "/model", disable_version_flag = true)]
pub(crate) struct ModelLine {
    /// provider/name
    pub(crate) model: Option<String>,
}

/// Write the conversation to a file.
#[derive(Debug, Parser)]
#[command(name = "/save", bin_name = "/save", disable_version_flag = true)]
pub(crate) struct SaveLine {
    /// The file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

/// Verbs that do a little more or less in a session, where servers are connected already.
const ABOUT_HERE: &[(&str, &str)] = &[
    ("list", "List every server and how it stands"),
    ("status", "Tell how each server stands, and what to do"),
    ("tools", "List the tools; /tools can do more"),
    ("resources", "List the resources"),
    ("prompts", "List the prompts"),
    ("reload", "Read the configuration again and restart only what changed"),
    ("reconnect", "Start a server anew"),
];

/// The verbs of `/mcp`, without those that make no sense here.
pub(crate) fn mcp_command() -> clap::Command {
    let command = ABOUT_HERE.iter().fold(McpLine::command(), |command, (verb, about)| {
        command.mut_subcommand(verb, |verb| verb.about(*about))
    });
    NOT_HERE.iter().fold(command, |command, verb| {
        if command.find_subcommand(verb).is_some() {
            command.mut_subcommand(verb, |verb| verb.hide(true))
        } else {
            command
        }
    })
}

/// Takes a line apart.
pub(crate) fn read(line: &str) -> Result<Input, CommandError> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(Input::Nothing);
    }
    let Some(rest) = line.strip_prefix('/') else { return Ok(Input::Words(line.to_owned())) };
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, rest) = (&rest[..end], rest[end..].trim_start());
    // A path is no command.
    if name.contains('/') {
        return Ok(Input::Words(line.to_owned()));
    }
    if name.split_once(':').is_some_and(|(server, prompt)| !server.is_empty() && !prompt.is_empty()) {
        return Ok(Input::Slash(Box::new(Slash::Fill { name: name.to_owned(), arguments: split(rest)? })));
    }
    command(name, rest)
}

fn command(name: &str, rest: &str) -> Result<Input, CommandError> {
    let (rest, json) = if name == "call" { json_tail(rest) } else { (rest, None) };
    let mut typed = vec![format!("/{name}")];
    typed.extend(split(rest)?);
    typed.extend(json.into_iter().flat_map(|json| ["--args".to_owned(), json.to_owned()]));
    let parsed = match name {
        "mcp" => mcp_command()
            .try_get_matches_from(&typed)
            .and_then(|matches| <McpLine as clap::FromArgMatches>::from_arg_matches(&matches))
            .map(Slash::Mcp),
        "tools" => ToolsLine::try_parse_from(&typed).map(Slash::Tools),
        "call" => CallLine::try_parse_from(&typed).map(Slash::Call),
        "read" => ReadLine::try_parse_from(&typed).map(Slash::Read),
        "prompt" => PromptLine::try_parse_from(&typed).map(Slash::Prompt),
        "approve" => ApproveLine::try_parse_from(&typed).map(Slash::Approve),
        "model" => ModelLine::try_parse_from(&typed).map(Slash::Model),
        "save" => SaveLine::try_parse_from(&typed).map(Slash::Save),
        "clear" => Ok(Slash::Clear),
        "help" => Ok(Slash::Help),
        "quit" | "exit" => Ok(Slash::Quit),
        unknown => return Err(unknown_command(unknown)),
    };
    Ok(match parsed {
        Ok(slash) => Input::Slash(Box::new(slash)),
        Err(mut error) => {
            args::advise(&mut error, &typed);
            let text = error.render().ansi().to_string();
            Input::Told(format!("{}\n", words::in_session(text.trim_end())))
        }
    })
}

fn split(text: &str) -> Result<Vec<String>, CommandError> {
    line::words(text).ok_or_else(|| {
        CommandError::usage("usage", "a quotation mark is not closed").hint("close it, or put a \\ before it")
    })
}

/// Arguments as one JSON text at the end of a line: what is typed there keeps its quotes.
fn json_tail(rest: &str) -> (&str, Option<&str>) {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in rest.char_indices() {
        match (quote, c) {
            (None, '{') if before.is_whitespace() => return (&rest[..at], Some(rest[at..].trim_end())),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
        before = c;
    }
    (rest, None)
}

fn unknown_command(name: &str) -> CommandError {
    let shown = switchboard::visible::excerpt(name, 40);
    let error = CommandError::usage("unknown-command", format!("there is no command /{shown}"));
    let verbs: Vec<String> = mcp_command().get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    if verbs.iter().any(|verb| verb == name) && !NOT_HERE.contains(&name) {
        return error.hint(format!("did you mean /mcp {name}?"));
    }
    match words::nearest(name, COMMANDS.iter().map(|(name, _)| *name)) {
        Some(near) => error.hint(format!("did you mean /{near}?")),
        None => error.hint("see what there is: /help"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        match read(line) {
            Ok(Input::Told(text)) => anstream::adapter::strip_str(&text).to_string(),
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("{:?}", error.lines(None)),
        }
    }

    #[test]
    fn words_and_commands_are_told_apart() {
        for line in ["", "  ", "\n"] {
            assert!(matches!(read(line), Ok(Input::Nothing)));
        }
        for line in ["what is in /etc?", "/usr/bin is what?", "a /mcp b"] {
            assert!(matches!(read(line), Ok(Input::Words(words)) if words == line), "{line}");
        }
        assert!(matches!(read(" /quit "), Ok(Input::Slash(slash)) if matches!(*slash, Slash::Quit)));
        let filled = shown("/everything:args-prompt city='New York'");
        assert!(filled.contains("everything:args-prompt") && filled.contains("city=New York"), "{filled}");
    }

    #[test]
    fn every_command_that_is_named_can_be_typed() {
        for (name, _) in COMMANDS {
            let read = read(&format!("/{name} x"));
            assert!(!matches!(&read, Err(error) if error.lines(None).0.contains("no command")), "{name}");
        }
    }

    #[test]
    fn json_keeps_its_quotes() {
        let check = |line: &str, args: Option<&str>| {
            let Ok(Input::Slash(slash)) = read(line) else { panic!("{line}") };
            let Slash::Call(call) = *slash else { panic!("{line}") };
            assert_eq!(call.call.args.as_deref(), args, "{line}");
        };
        check(r#"/call a/b {"x": "y z"} "#, Some(r#"{"x": "y z"}"#));
        check("/call a/b x='{1}'", None);
        check("/call a/b x=' {1}'", None);
        check("/call --ask a/b {}", Some("{}"));
    }

    #[test]
    fn what_is_said_of_mistakes() {
        let lines = [
            "/mpc list",
            "/list",
            "/xyzzy",
            "/mcp lst",
            "/mcp remove",
            "/mcp enable 'a",
            "/mcp add --scope nowhere x",
            "/call",
            "/approve a sometimes",
            "/tools --nonsense",
        ];
        let all: Vec<String> = lines.iter().map(|line| format!("{line}\n{}\n", shown(line))).collect();
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn the_help_of_mcp_names_every_verb() {
        insta::assert_snapshot!(shown("/mcp help"));
        insta::assert_snapshot!(shown("/mcp help add"));
    }

    #[test]
    fn flags_are_those_of_the_command_line() {
        let session = mcp_command();
        let program = args::command();
        for verb in program.get_subcommands() {
            let here = session.find_subcommand(verb.get_name()).unwrap();
            let flags = |verb: &clap::Command| -> Vec<String> {
                verb.get_arguments().map(|argument| argument.get_id().to_string()).collect()
            };
            assert_eq!(flags(here), flags(verb), "{}", verb.get_name());
        }
    }
}
