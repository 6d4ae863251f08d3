//! `/call`, `/read`, `/prompt` and `/server:prompt`: trying by hand what servers offer.

use switchboard::State;
use switchboard::calls::Request;
use switchboard::catalog::Entry;
use switchboard::notice::Progress as Heard;
use switchboard::offer::Argument;
use switchboard::session::{Gate, Session};
use switchboard::visible::excerpt;
use tokio::sync::watch;

use super::conversation::Conversation;
use super::line::{CallLine, How, PromptLine, ReadLine};
use super::turn::Turn;
use super::{Front, talk};
use crate::args::Call;
use crate::commands::{call as calling, connection, online, prompt as prompting, read as reading};
use crate::error::{CommandError, Kind};

/// A call that came as `/mcp call`.
pub(super) const fn line(call: Call, json: bool) -> CallLine {
    CallLine { call, ask: false, how: How { json, verbose: false } }
}

pub(super) async fn call<F: Front>(turn: &mut Turn<'_, F>, line: CallLine) -> Result<(), CommandError> {
    turn.speak(line.how);
    let CallLine { call, ask, .. } = line;
    if call.args.as_deref() == Some("-") {
        return Err(CommandError::usage("bad-arguments", "there is no standard input to read here")
            .hint("write the JSON into the line, or give a file: --args @FILE"));
    }
    let given = calling::given(&turn.context, &call)?;
    let entry = find(turn, &call).await?;
    let wanted = calling::wanted(&entry, &call, given)?;
    let (sender, words) = watch::channel(format!("calling {}", entry.name));
    let mut hear = |heard: Heard| drop(sender.send(calling::how_far(&entry, heard)));
    let request = Request { timeout: calling::patience(&call), on_progress: Some(&mut hear) };
    let session = turn.session.clone();
    let work = Box::pin(async {
        if ask {
            session.call_entry(&entry, &wanted, request).await
        } else {
            session.call_approved(&entry, &wanted, request).await
        }
    });
    // Stopped, it is dropped, and the server is told.
    let done = turn.follow(words, work).await.map_err(|error| match error.kind {
        Kind::Interrupted => {
            error.reworded(|_| "stopped; the call was taken back, but may have run".to_owned())
        }
        _ => error,
    })?;
    calling::say_unlisted(&turn.context, &entry, &wanted);
    let outcome = done.map_err(|error| calling::failed(&entry, &error))?;
    calling::show(&turn.context, &outcome)
}

/// The tool that is meant, as soon as a server has it.
async fn find<F: Front>(turn: &mut Turn<'_, F>, call: &Call) -> Result<Entry, CommandError> {
    let session = turn.session.clone();
    let server = call.server.as_deref();
    let looking = online::found(&session, session.ready(Gate::Correct), |catalog| {
        catalog.find(&call.tool, server).ok().cloned()
    });
    let words = format!("looking for {}", excerpt(&call.tool, 60));
    if let Some(entry) = turn.wait(&words, looking).await? {
        return Ok(entry);
    }
    let discovery = turn.session.discovery();
    // One that is switched off, or waits for a yes, is the reason.
    let is_meant = |name: &str, begins: bool| server == Some(name) || (server.is_none() && begins);
    let idle = discovery.servers.iter().find(|server| {
        server.state() != State::Enabled && is_meant(&server.name, calling::begins_with(&call.tool, server))
    });
    if let Some(idle) = idle {
        connection::connectable(&discovery, &idle.name)?;
    }
    calling::find(&turn.session.catalog(), &turn.session, call).cloned()
}

pub(super) async fn read<F: Front>(turn: &mut Turn<'_, F>, line: &ReadLine) -> Result<(), CommandError> {
    turn.speak(line.how);
    read_from(turn, &line.uri, line.server.as_deref()).await
}

pub(super) async fn read_from<F: Front>(
    turn: &mut Turn<'_, F>,
    uri: &str,
    server: Option<&str>,
) -> Result<(), CommandError> {
    let session = turn.session.clone();
    let work = Box::pin(async {
        let server = match server {
            Some(server) => {
                connection::connectable(&session.discovery(), server)?;
                server.to_owned()
            }
            None => reading::owner(&session, uri).await?,
        };
        let read = session.read(&server, uri).await.map_err(|error| reading::failed(&error))?;
        Ok::<_, CommandError>((server, read))
    });
    let (server, read) = turn.wait(&format!("reading {}", excerpt(uri, 100)), work).await??;
    reading::show(&turn.context, &server, &read)
}

pub(super) async fn prompt<F: Front>(turn: &mut Turn<'_, F>, line: &PromptLine) -> Result<(), CommandError> {
    turn.speak(line.how);
    prompt_from(turn, &line.name, &line.arguments, line.server.as_deref()).await
}

pub(super) async fn prompt_from<F: Front>(
    turn: &mut Turn<'_, F>,
    name: &str,
    words: &[String],
    server: Option<&str>,
) -> Result<(), CommandError> {
    let arguments = prompting::pairs(words)?;
    let session = turn.session.clone();
    let work = Box::pin(async {
        let (server, name) = prompting::owner(&session, name, server).await?;
        let prompt =
            session.prompt(&server, &name, &arguments).await.map_err(|error| reading::failed(&error))?;
        Ok::<_, CommandError>((server, prompt))
    });
    let (server, prompt) = turn.wait(&format!("getting {}", excerpt(name, 100)), work).await??;
    prompting::show(&turn.context, &server, &prompt)
}

/// A prompt as a command: what is needed and not given is asked for; then it goes to the model.
pub(super) async fn fill<F: Front>(
    turn: &mut Turn<'_, F>,
    name: &str,
    words: Vec<String>,
    conversation: &mut Conversation,
) -> Result<(), CommandError> {
    let mut arguments = prompting::pairs(&words)?;
    let session = turn.session.clone();
    let looking = format!("looking for {}", excerpt(name, 60));
    let (server, prompt) = turn.wait(&looking, prompting::owner(&session, name, None)).await??;
    let missing = missing(&session, (&server, &prompt), &arguments);
    if !missing.is_empty() {
        let asked = turn.aside(move |context| connection::block_on(ask(context.ask(), missing))).await;
        arguments.extend(asked??);
    }
    let getting = format!("getting {}", excerpt(name, 60));
    let done = turn.wait(&getting, Box::pin(session.prompt(&server, &prompt, &arguments))).await?;
    let filled = done.map_err(|error| reading::failed(&error))?;
    prompting::show(&turn.context, &server, &filled)?;
    talk::send(turn, &filled, conversation).await
}

/// The arguments that have to be given and were not.
fn missing(session: &Session, (server, prompt): (&str, &str), given: &[(String, String)]) -> Vec<Argument> {
    let catalog = session.catalog();
    let is_it = |of: &&switchboard::catalog::Of<switchboard::offer::Prompt>| {
        of.server == server && of.item.name == prompt
    };
    let arguments =
        catalog.prompts.iter().find(is_it).map(|of| of.item.arguments.clone()).unwrap_or_default();
    let is_missing =
        |argument: &Argument| argument.required && !given.iter().any(|(key, _)| *key == argument.name);
    arguments.into_iter().filter(is_missing).collect()
}

async fn ask(
    ask: crate::ask::Ask<'_>,
    missing: Vec<Argument>,
) -> Result<Vec<(String, String)>, CommandError> {
    let mut given = Vec::new();
    for argument in missing {
        let words = argument.description.as_deref().or(argument.title.as_deref()).unwrap_or_default();
        let words = if words.is_empty() { String::new() } else { format!(" ({})", excerpt(words, 200)) };
        let question = format!("{}{words}:", excerpt(&argument.name, 60));
        given.push((argument.name, ask.text(&question, |_| Ok(())).await?));
    }
    Ok(given)
}
