//! `/mcp`: the verbs of the command line on a session that runs. Changes take effect at once.

use std::collections::BTreeSet;
use std::time::SystemTime;

use switchboard::auth::Wishes;
use switchboard::visible::excerpt;
use switchboard::wire::{Direction, End, Kind, Passage};

use super::line::{McpLine, Verb, mcp_command};
use super::turn::Turn;
use super::{Front, calls, changes, servers, tools, words};
use crate::args::{Add, Command, Import, Listing, Reauth, Test, Trust};
use crate::commands::{add, connection, login, online, trust, wizard};
use crate::error::CommandError;
use crate::printer::{FAINT, STRONG, harmless};

pub(super) async fn run<F: Front>(turn: &mut Turn<'_, F>, line: McpLine) -> Result<(), CommandError> {
    turn.speak(line.how);
    match line.verb {
        None => help(turn),
        Some(Verb::Logs { name, lines }) => logs(turn, &name, lines),
        Some(Verb::Shared(command)) => shared(turn, command).await,
    }
}

async fn shared<F: Front>(turn: &mut Turn<'_, F>, command: Command) -> Result<(), CommandError> {
    let is_json = turn.context.printer.json;
    match command {
        Command::List { all: false } if !is_json => servers::list(turn).await,
        Command::Status { names } if !is_json => servers::status(turn, &names),
        Command::Tools(listing) => tools::of_servers(turn, &listing),
        Command::Resources(listing) => offers(turn, listing, Command::Resources).await,
        Command::Prompts(listing) => offers(turn, listing, Command::Prompts).await,
        Command::Call(call) => calls::call(turn, calls::line(call, is_json)).await,
        Command::Read { uri, server } => calls::read_from(turn, &uri, server.as_deref()).await,
        Command::Prompt { name, arguments, server } => {
            calls::prompt_from(turn, &name, &arguments, server.as_deref()).await
        }
        Command::Add(add) => self::add(turn, add).await,
        Command::Trust(trust) => self::trust(turn, trust).await,
        Command::Import(import) => self::import(turn, import).await,
        Command::Reauth(reauth) => self::reauth(turn, &reauth).await,
        Command::Unauth { name } => unauth(turn, &name).await,
        Command::Reload => reload(turn).await,
        Command::Reconnect { name } => reconnect(turn, &name).await,
        Command::Test(test) => self::test(turn, test).await,
        command @ (Command::Remove { .. }
        | Command::Enable { .. }
        | Command::Disable { .. }
        | Command::Untrust { .. }) => {
            turn.obey("writing", command).await?;
            changes::apply(turn).await
        }
        command @ Command::Doctor { connect: true, .. } => {
            turn.obey("connecting to every server", command).await
        }
        command @ (Command::List { .. }
        | Command::Status { .. }
        | Command::Why { .. }
        | Command::Doctor { .. }) => turn.obey("reading the configuration", command).await,
        Command::Chat(_)
        | Command::Serve(_)
        | Command::Install(_)
        | Command::Uninstall(_)
        | Command::Completions { .. }
        | Command::Builtin { .. }
        | Command::Conformance { .. }
        | Command::Man { .. }
        | Command::Schema { .. } => {
            Err(CommandError::usage("not-here", "this is for the command line only").hint("see /mcp help"))
        }
    }
}

fn help<F: Front>(turn: &Turn<'_, F>) -> Result<(), CommandError> {
    let text = mcp_command().render_help().ansi().to_string();
    Ok(turn.context.printer.styled(&words::in_session(&text))?)
}

async fn add<F: Front>(turn: &mut Turn<'_, F>, add: Add) -> Result<(), CommandError> {
    let add = match &add.name {
        Some(_) => add,
        None => turn.aside(move |context| wizard::ask(context.ask(), add)).await?,
    };
    let context = turn.context.clone();
    turn.apart("writing", move || add::write(&context, &add).map(drop)).await?;
    changes::apply(turn).await
}

async fn trust<F: Front>(turn: &mut Turn<'_, F>, trust: Trust) -> Result<(), CommandError> {
    let command = Command::Trust(trust);
    let asks = matches!(&command, Command::Trust(trust)
        if trust.names.is_empty() && trust.source.is_none() && !trust.all);
    perform(turn, command, asks).await?;
    changes::apply(turn).await
}

async fn import<F: Front>(turn: &mut Turn<'_, F>, import: Import) -> Result<(), CommandError> {
    let asks = !import.yes && !import.dry_run;
    perform(turn, Command::Import(import), asks).await?;
    changes::apply(turn).await
}

/// Runs a command where it can ask, if it would.
async fn perform<F: Front>(turn: &mut Turn<'_, F>, command: Command, asks: bool) -> Result<(), CommandError> {
    if asks && !turn.context.printer.json {
        return turn.aside(move |context| crate::commands::dispatch(command, context).map(drop)).await;
    }
    turn.obey("writing", command).await
}

async fn reload<F: Front>(turn: &mut Turn<'_, F>) -> Result<(), CommandError> {
    changes::reload(turn).await?;
    let context = turn.context.clone();
    let is_new = turn.apart("reading the configuration", move || Ok(trust::has_new(&context))).await?;
    if is_new && !turn.context.printer.json {
        turn.aside(|context| trust::offer_new(context, &[])).await?;
        changes::apply(turn).await?;
    }
    Ok(())
}

/// A server of this session, or why it is none.
fn known<F: Front>(turn: &Turn<'_, F>, name: &str) -> Result<(), CommandError> {
    let discovery = turn.session.discovery();
    connection::connectable(&discovery, name).map(drop)
}

async fn reconnect<F: Front>(turn: &mut Turn<'_, F>, name: &str) -> Result<(), CommandError> {
    known(turn, name)?;
    let session = turn.session.clone();
    let words = format!("reconnecting to {}", excerpt(name, 60));
    turn.wait(&words, online::reconnect(&session, name)).await?;
    changes::outcome(turn, &[name.to_owned()]).await
}

async fn reauth<F: Front>(turn: &mut Turn<'_, F>, args: &Reauth) -> Result<(), CommandError> {
    let name = &args.name;
    login::logs_in(&turn.session.discovery(), name)?;
    let scopes = args.scope.iter().flat_map(|scope| scope.split_whitespace()).map(str::to_owned).collect();
    let (session, wishes) = (turn.session.clone(), Wishes { scopes });
    let words = format!("logging in to {}", excerpt(name, 60));
    let facts = turn.wait(&words, Box::pin(login::login(&session, name, &wishes))).await??;
    login::told(&turn.context, name, &facts)?;
    changes::outcome(turn, std::slice::from_ref(name)).await
}

async fn unauth<F: Front>(turn: &mut Turn<'_, F>, name: &str) -> Result<(), CommandError> {
    login::logs_in(&turn.session.discovery(), name)?;
    let session = turn.session.clone();
    let done = turn.wait("logging out", session.logout(name)).await?;
    let was_there = done.map_err(|why| login::error(name, &why))?;
    login::told_out(&turn.context, name, was_there)
}

/// Tries a server on a connection of its own. If it works and the session gave it up, that tries again.
async fn test<F: Front>(turn: &mut Turn<'_, F>, test: Test) -> Result<(), CommandError> {
    let name = test.name.clone();
    let words = format!("testing {}", excerpt(name.as_deref().unwrap_or("it"), 60));
    turn.obey(&words, Command::Test(test)).await?;
    let Some(name) = name else { return Ok(()) };
    let reports = turn.session.servers();
    let status = reports.into_iter().find(|report| report.name == name).map(|report| report.status);
    match status {
        // It is in a file that was not read yet.
        None => changes::apply(turn).await,
        Some(status) if status.fault().is_some() => reconnect(turn, &name).await,
        Some(_) => Ok(()),
    }
}

/// What servers offer besides tools, as the session knows it.
async fn offers<F: Front>(
    turn: &mut Turn<'_, F>,
    listing: Listing,
    command: fn(Listing) -> Command,
) -> Result<(), CommandError> {
    for name in &listing.servers {
        known(turn, name)?;
    }
    if listing.cached {
        return turn.obey("reading what was offered last time", command(listing)).await;
    }
    let session = turn.session.clone();
    turn.wait("asking what they offer", session.listed()).await?;
    let mut catalog = (*turn.session.catalog()).clone();
    let wanted: BTreeSet<&String> = listing.servers.iter().collect();
    let is_wanted = |server: &String| wanted.is_empty() || wanted.contains(server);
    catalog.resources.retain(|of| is_wanted(&of.server));
    catalog.templates.retain(|of| is_wanted(&of.server));
    catalog.prompts.retain(|of| is_wanted(&of.server));
    match command(Listing { servers: Vec::new(), cached: false, wait: false }) {
        Command::Resources(_) => crate::commands::offers::show_resources(&turn.context, &catalog, &[]),
        _ => crate::commands::offers::show_prompts(&turn.context, &catalog, &[]),
    }
}

/// What a server wrote and sent last.
fn logs<F: Front>(turn: &Turn<'_, F>, name: &str, lines: usize) -> Result<(), CommandError> {
    known(turn, name)?;
    let printer = &turn.context.printer;
    let shown = excerpt(name, 60);
    let Some(logs) = turn.session.logs(name) else {
        printer.remark(&format!("\"{shown}\" is in a file that was not read yet: /mcp reload"));
        return Ok(());
    };
    let wrote: Vec<String> = harmless(&logs.stderr).lines().map(str::to_owned).collect();
    if wrote.is_empty() {
        printer.remark(&format!("\"{shown}\" wrote nothing to its standard error."));
    } else {
        printer.remark_styled(&format!("{STRONG}standard error{STRONG:#}"));
        printer.data(&last(&wrote, lines, 0))?;
    }
    let now = SystemTime::now();
    let passed: Vec<String> = logs.traffic.iter().map(|passage| passed(passage, now)).collect();
    if !passed.is_empty() {
        printer.remark_styled(&format!("{STRONG}traffic{STRONG:#}"));
        printer.data(&last(&passed, lines, logs.n_earlier))?;
    }
    Ok(())
}

/// The last of some lines, after how many are left out.
fn last(all: &[String], lines: usize, n_earlier: u64) -> Vec<String> {
    let hidden = all.len().saturating_sub(lines);
    let before = hidden as u64 + n_earlier;
    let mut shown = Vec::new();
    if before > 0 {
        shown.push(format!("  {FAINT}({before} more before; -n shows more){FAINT:#}"));
    }
    shown.extend(all[hidden..].iter().map(|line| format!("  {line}")));
    shown
}

/// One message: how long ago, which way, what, and how large.
fn passed(passage: &Passage, now: SystemTime) -> String {
    let ago = now.duration_since(passage.at).unwrap_or_default().as_secs();
    let arrow = match passage.direction {
        Direction::Sent => "->",
        Direction::Received => "<-",
    };
    let id = passage.id.as_ref().map(|id| format!(" #{}", excerpt(id, 20))).unwrap_or_default();
    let took = passage.took.map(|took| format!(", {} ms", took.as_millis())).unwrap_or_default();
    let failed = if passage.kind == Kind::Answer(End::Error) { ", an error" } else { "" };
    format!(
        "{ago:>5} s ago {arrow} {}{id}, {} bytes{took}{failed}",
        excerpt(&passage.what(), 100),
        passage.bytes
    )
}
