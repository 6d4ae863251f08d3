//! One verb a file. Here: what they share, and which is run.

mod about;
pub(crate) mod add;
mod builtin;
mod bundle;
pub(crate) mod call;
pub(crate) mod chat;
mod completions;
mod conformance;
pub(crate) mod connection;
mod difference;
mod doctor;
mod import;
mod install;
pub(crate) mod list;
mod listing;
pub(crate) mod login;
mod man;
pub(crate) mod offers;
pub(crate) mod online;
pub(crate) mod prompt;
pub(crate) mod read;
mod remove;
mod running;
mod schema;
mod serve;
mod status;
mod streams;
mod switch;
mod test;
pub(crate) mod tools;
pub(crate) mod trust;
mod uninstall;
mod why;
pub(crate) mod wizard;

use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use switchboard::config::edit::OwnFile;
use switchboard::config::write::Privacy;
use switchboard::context;
use switchboard::sources::places;
use switchboard::{Code, Discovery, Env, Options, Provider, Scope, Server, Transport, discover};
use tokio_util::sync::CancellationToken;

use crate::args::{self, BuiltinArg, Cli, Command, ScopeArg};
use crate::ask::{Ask, Lines};
use crate::error::{CommandError, Kind};
use crate::printer::{Printer, Volume};
use crate::telemetry::Telemetry;
use crate::{shell, terminal};

/// The verb that makes this program the guard of a server instead.
pub(crate) const GUARD: &str = "__guard";
/// The program that is nothing but a guard.
pub(crate) const SMALL_GUARD: &str = "switchboard-guard";

/// What to do on a machine without servers.
pub(crate) const ADD_ONE: &str =
    "Add one: switchboard add NAME -- COMMAND, or switchboard add NAME --url URL";

/// What every command gets.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) env: Env,
    pub(crate) options: Options,
    pub(crate) printer: Printer,
    /// What somebody types, line by line.
    pub(crate) lines: Lines,
    /// Stops what is being done, besides Ctrl-C.
    pub(crate) cancel: CancellationToken,
    /// Tells where the work stands in a trace.
    pub(crate) trace: Option<context::Source>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Context {
    pub(crate) fn discover(&self) -> Discovery {
        discover(&self.env, self.options)
    }

    /// Whether somebody can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        terminal::is_interactive() && !self.printer.json && self.printer.is_direct()
    }

    /// Questions to whoever sits there.
    pub(crate) fn ask(&self) -> Ask<'_> {
        Ask::new(self)
    }

    /// Resolves when somebody wants it to stop.
    pub(crate) async fn stopped(&self) {
        tokio::select! {
            () = connection::ctrl_c() => {}
            () = self.cancel.cancelled() => {}
        }
    }
}

/// Whether a command that ran found everything in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// It ran, and what it looked at is broken.
    Broken,
}

/// Parses the arguments, runs the command, reports an error.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error)
            if error.kind() == ErrorKind::DisplayVersion && typed(&["--verbose", "-v", "-Vv", "-vV"]) =>
        {
            return tell_about();
        }
        Err(error) => return usage(error),
    };
    let volume = match (cli.global.quiet, cli.global.verbose) {
        (true, _) => Volume::Quiet,
        (false, true) => Volume::Verbose,
        (false, false) => Volume::Normal,
    };
    if cli.global.no_color {
        anstream::ColorChoice::Never.write_global();
    }
    let mute = Printer::early(cli.global.json, volume);
    let context = match context(&cli, volume) {
        Ok(context) => context,
        Err(error) => return failed(&mute, &error, None),
    };
    if cli.command.is_none() && (!terminal::is_lived_in() || context.printer.json) {
        return usage(nothing_to_do());
    }
    let verb = || cli.command.as_ref().map_or_else(|| "session".to_owned(), verb);
    let telemetry = match Telemetry::start(&context.env, cli.global.log_file.as_deref(), verb) {
        Ok(telemetry) => telemetry,
        Err(error) => return failed(&context.printer, &error, Some(&context.env)),
    };
    let mut context = Context { trace: telemetry.source(), ..context };
    if matches!(cli.command, Some(Command::Serve(_))) {
        // Whoever started it may never read what it says.
        context.printer.wait_for_nobody();
    }
    let done = telemetry.run(|| match cli.command {
        Some(command) => dispatch(command, &context),
        None => shell::run(&context),
    });
    telemetry.finish();
    let code = match done {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Broken) => ExitCode::from(Kind::Usage as u8),
        Err(error) => failed(&context.printer, &error, Some(&context.env)),
    };
    context.printer.flush();
    code
}

fn context(cli: &Cli, volume: Volume) -> Result<Context, CommandError> {
    let env = env(cli.global.directory.as_deref())?;
    let options = Options { trust_all: cli.global.trust, ..Options::default() };
    let printer = Printer::new(&env, cli.global.json, volume);
    let (lines, cancel) = (Lines::default(), CancellationToken::new());
    Ok(Context { env, options, printer, lines, cancel, trace: None })
}

/// The name of a command, without what was typed after it.
fn verb(command: &Command) -> String {
    let shown = format!("{command:?}");
    let end = shown.find(|c: char| !c.is_alphanumeric()).unwrap_or(shown.len());
    shown[..end].to_lowercase()
}

/// The error of a line without a command where nobody sits.
fn nothing_to_do() -> clap::Error {
    let strict = Cli::command().arg_required_else_help(true).subcommand_required(true);
    let parsed = strict.try_get_matches_from(std::env::args_os());
    parsed.err().unwrap_or_else(|| Cli::command().error(ErrorKind::MissingSubcommand, "no command"))
}

/// The surroundings, as if started in that directory.
pub(crate) fn env(directory: Option<&Path>) -> Result<Env, CommandError> {
    let env =
        Env::capture().map_err(|error| CommandError::new(Kind::Failed, "environment", error.to_string()))?;
    let Some(dir) = directory else { return Ok(env) };
    let dir = env.absolute(dir);
    let dir = dir.canonicalize().ok().filter(|dir| dir.is_dir()).ok_or_else(|| {
        CommandError::usage("no-such-directory", format!("there is no directory {}", dir.display()))
    })?;
    Ok(env.with_cwd(dir))
}

pub(crate) fn dispatch(command: Command, context: &Context) -> Result<Outcome, CommandError> {
    match command {
        Command::List { all } => list::run(context, all),
        Command::Why { name } => why::run(context, &name),
        Command::Status { names } => status::run(context, &names),
        Command::Add(add) => add::run(context, add),
        Command::Remove { name, scope } => remove::run(context, &name, scope),
        Command::Enable { name } => switch::run(context, &name, switch::On),
        Command::Disable { name } => switch::run(context, &name, switch::Off),
        Command::Tools(listing) => tools::run(context, &listing),
        Command::Call(call) => call::run(context, &call),
        Command::Chat(chat) => chat::run(context, &chat),
        Command::Resources(listing) => offers::resources(context, &listing),
        Command::Prompts(listing) => offers::prompts(context, &listing),
        Command::Read { uri, server } => read::run(context, &uri, server.as_deref()),
        Command::Prompt { name, arguments, server } => {
            prompt::run(context, &name, &arguments, server.as_deref())
        }
        Command::Test(test) => test::run(context, test),
        Command::Reauth(reauth) => login::reauth(context, &reauth),
        Command::Unauth { name } => login::unauth(context, &name),
        Command::Reload => running::reload(context),
        Command::Reconnect { name } => running::reconnect(context, &name),
        Command::Conformance { url } => conformance::run(context, &url),
        Command::Trust(trust) => trust::run(context, &trust),
        Command::Untrust { names, all } => trust::untrust(context, &names, all),
        Command::Import(import) => import::run(context, &import),
        Command::Doctor { connect, report } => doctor::run(context, connect, report.as_deref()),
        Command::Man { command } => man::run(context, command.as_deref()),
        Command::Completions { shell } => completions::run(context, shell),
        Command::Schema { file } => schema::run(context, file),
        Command::Serve(serve) => serve::run(context, &serve),
        Command::Install(install) => install::run(context, &install),
        Command::Uninstall(uninstall) => uninstall::run(context, &uninstall),
        Command::Builtin { server: BuiltinArg::Thinking } => builtin::run(),
    }
}

fn failed(printer: &Printer, error: &CommandError, env: Option<&Env>) -> ExitCode {
    printer.error(error, env);
    ExitCode::from(error.kind as u8)
}

/// Whether one of these was typed, where the rest of the line is not to be looked at.
fn typed(any: &[&str]) -> bool {
    std::env::args_os().take_while(|arg| arg != "--").any(|arg| any.iter().any(|wanted| arg == *wanted))
}

/// The version, with all that goes into the report of a mistake.
fn tell_about() -> ExitCode {
    let printer = Printer::early(typed(&["--json"]), Volume::Normal);
    let told = env(None).and_then(|env| {
        let about = about::About::of(&env);
        if printer.json {
            printer.json(&about)?;
        } else {
            printer.data(&about.lines())?;
        }
        Ok(())
    });
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&printer, &error, None),
    }
}

/// Help and version go to standard output; a mistake is an error like any other.
fn usage(mut error: clap::Error) -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let tip = args::tip(&error, &words);
    args::advise(&mut error, &words);
    if error.use_stderr() && typed(&["--json"]) {
        let message = error.kind().to_string();
        let text = error.to_string();
        let line =
            text.lines().next().and_then(|line| line.strip_prefix("error: ")).unwrap_or(&message).to_owned();
        let printer = Printer::early(true, Volume::Normal);
        let mistake = CommandError::usage("usage", line);
        let mistake = match tip {
            Some(tip) => mistake.hint(tip),
            None => mistake,
        };
        return failed(&printer, &mistake, None);
    }
    // A closed pipe is no error.
    drop(error.print());
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Kind::Usage as u8))
}

/// The file of ours that a scope means.
pub(crate) fn own_file(
    context: &Context,
    discovery: &Discovery,
    scope: ScopeArg,
) -> (std::path::PathBuf, OwnFile) {
    let (path, privacy) = match scope {
        ScopeArg::User => (places::user_file(&context.env), Privacy::Private),
        ScopeArg::Project => (places::project_file(&context.env, &discovery.project), Privacy::Shared),
    };
    let file = OwnFile::new(&path, privacy);
    (path, file)
}

/// The privacy a file of ours has by its scope.
pub(crate) const fn privacy(scope: Scope) -> Privacy {
    match scope {
        Scope::Project => Privacy::Shared,
        Scope::User | Scope::Environment | Scope::BuiltIn => Privacy::Private,
    }
}

/// A name that is nowhere, with the nearest one that is somewhere.
pub(crate) fn unknown_server(discovery: &Discovery, name: &str) -> CommandError {
    let shown = switchboard::visible::excerpt(name, 100);
    if let Some(aside) = discovery.shadowed.iter().find(|aside| aside.name == name) {
        let message = format!("Server \"{shown}\" does not count: {}", aside.problem().message);
        return CommandError::usage("server-set-aside", message)
            .server(name)
            .hint(format!("switchboard why {shown}"));
    }
    if let Some(error) = unread(discovery, name) {
        return error;
    }
    let error = CommandError::usage(
        "server-not-found",
        format!("Server \"{shown}\" not found in any configuration file"),
    )
    .server(name);
    match near_server(discovery, name) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("see `switchboard list --all`"),
    }
}

/// The server that is probably meant by a name that is nowhere.
pub(crate) fn near_server<'d>(discovery: &'d Discovery, name: &str) -> Option<&'d str> {
    let names: Vec<&'d str> = discovery.servers.iter().map(|server| server.name.as_str()).collect();
    let is_alike = |known: &str| {
        known.eq_ignore_ascii_case(name) || (name.len() > 2 && (known.contains(name) || name.contains(known)))
    };
    // Of names this short, any is near to any.
    let is_long = |known: &str| name.len() > 2 && known.len() > 2;
    let alike = names.iter().copied().find(|known| is_alike(known));
    alike.or_else(|| shell::words::nearest(name, names.iter().copied().filter(|known| is_long(known))))
}

/// Why nobody can tell whether there is such a server: a file could not be read.
pub(crate) fn unread(discovery: &Discovery, name: &str) -> Option<CommandError> {
    let problem = discovery.problems.iter().find(|problem| problem.code == Code::FileUnreadable)?;
    let path = problem.origin.as_ref()?.path.as_deref()?.display().to_string();
    let shown = switchboard::visible::excerpt(name, 100);
    let message = format!("Server \"{shown}\" not found, but {path} could not be read: {}", problem.message);
    let hint = problem.hint.clone().unwrap_or_else(|| format!("see to that file first: ls -l {path}"));
    Some(CommandError::usage("server-not-found", message).server(name).hint(hint))
}

/// Whether the server is this very program.
pub(crate) fn is_this_program(server: &Server) -> bool {
    let command = server.definition.as_ref().ok().and_then(|spec| match &spec.transport {
        Transport::Stdio(stdio) => Some(stdio.command.raw()),
        Transport::Remote(_) => None,
    });
    server.origin.provider == Provider::BuiltIn && command == Some("switchboard")
}

/// The plural ending.
pub(crate) const fn s(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
