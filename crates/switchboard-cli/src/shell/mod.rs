//! The interactive session: what can be typed in it and what comes of it. How lines are read and shown is for a front to
//! know; there are two, a plain one and a full one.

mod approve;
mod attach;
mod calls;
mod changes;
mod complete;
mod conversation;
mod line;
mod mcp;
mod notices;
mod plain;
pub(crate) mod question;
mod servers;
mod signature;
mod talk;
mod tools;
mod turn;
pub(crate) mod words;

use std::sync::Arc;

use switchboard::connect::Persistence;
use switchboard::session::Session;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::commands::{Context, Outcome, connection, online, trust};
use crate::control::{self, Control, Served};
use crate::error::CommandError;
use crate::printer::Sink;
use crate::tui;
use conversation::Conversation;
use line::{Input, Slash};
use notices::Told;
use turn::Turn;

pub(crate) use complete::{Candidate, Completer, Completion};
pub(crate) use notices::{Notices, OnDisk};
pub(crate) use question::{Asker, Question};

/// How a command reaches the person.
pub(crate) trait Front: Send {
    /// Finished lines, with their colours, safe to show.
    fn print(&mut self, text: &str);

    /// A piece of a text that is still being written.
    fn stream(&mut self, delta: &str);

    /// What is being done right now; nothing when it is done.
    fn working(&mut self, words: Option<&str>);

    /// Gives the whole terminal to a dialog of its own, and takes it back.
    fn aside<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send;
}

/// What comes after a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Go,
    Leave,
}

/// A session somebody sits at.
#[derive(Debug)]
pub(crate) struct Shell {
    context: Context,
    session: Session,
    completer: Completer,
    conversation: Conversation,
    /// What was said of servers already.
    told: Told,
    /// Lets `switchboard reload` and the like reach this session.
    _control: Option<Control>,
}

/// Opens the session and stays in it until somebody leaves.
pub(crate) fn run(context: &Context) -> Result<Outcome, CommandError> {
    // Before anything is drawn: nothing of a new server runs without consent.
    let mut context = context.clone();
    context.printer.sink = Sink::Session;
    trust::offer_new(&context, &[])?;
    connection::block_on(async {
        let (shell, questions) = Shell::start(&context).await?;
        if tui::is_capable(&context.env) {
            Box::pin(tui::run(&context, shell, questions)).await
        } else {
            Box::pin(plain::run(&context, shell, questions)).await
        }
    })??;
    Ok(Outcome::Done)
}

impl Shell {
    /// Starts all servers, and comes back at once. What has to be decided comes out at the other end.
    pub(crate) async fn start(context: &Context) -> Result<(Self, mpsc::Receiver<Question>), CommandError> {
        let conversation = Conversation::new(&context.env, &context.discover().settings.chat);
        let (asker, questions) = Asker::new(context.env.cwd().to_owned(), conversation.sampler());
        let mut options = online::options(context, &[]);
        options.persistence = Persistence::KeepTrying;
        options.host = Arc::new(asker);
        let session = Session::start(options).await;
        let control = control::open(context, Served::session(context, &session)).await;
        let completer = Completer::new(session.clone(), context.env.clone());
        let told = Told::default();
        let context = context.clone();
        Ok((Self { context, session, completer, conversation, told, _control: control }, questions))
    }

    /// The servers of this session.
    pub(crate) fn session(&self) -> Session {
        self.session.clone()
    }

    /// Completes what is being typed.
    pub(crate) fn completer(&self) -> Completer {
        self.completer.clone()
    }

    /// What happens while nobody does anything, in words.
    pub(crate) fn notices(&self) -> Notices {
        Notices::new(&self.session(), self.on_disk(), &self.told)
    }

    /// What changes on disk, in words; part of the notices.
    pub(crate) fn on_disk(&self) -> OnDisk {
        OnDisk::new(&self.session)
    }

    /// Runs one line. Cancelled by the token, it comes back soon.
    pub(crate) async fn run<F: Front>(
        &mut self,
        line: &str,
        front: &mut F,
        cancel: &CancellationToken,
    ) -> Next {
        let mut turn = Turn::new(self, front, cancel);
        let done = match line::read(line) {
            Ok(Input::Slash(slash)) if matches!(*slash, Slash::Quit) => return Next::Leave,
            Ok(input) => Box::pin(obey(&mut turn, input, &mut self.conversation)).await,
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            turn.context.printer.error(&error, Some(&turn.context.env));
        }
        turn.flush();
        Next::Go
    }

    /// The model and how much of it is used, if there is one.
    pub(crate) fn footer(&self) -> Option<String> {
        self.conversation.footer(&self.context.env, &self.session)
    }

    /// Stops the servers in order.
    pub(crate) async fn close(self) {
        self.session.shutdown().await;
    }
}

async fn obey<F: Front>(
    turn: &mut Turn<'_, F>,
    input: Input,
    conversation: &mut Conversation,
) -> Result<(), CommandError> {
    let slash = match input {
        Input::Nothing => return Ok(()),
        Input::Words(text) => return talk::talk(turn, &text, conversation).await,
        Input::Told(text) => return Ok(turn.context.printer.styled(&text)?),
        Input::Slash(slash) => *slash,
    };
    match slash {
        Slash::Mcp(line) => mcp::run(turn, line).await,
        Slash::Tools(line) => tools::run(turn, &line),
        Slash::Call(line) => calls::call(turn, line).await,
        Slash::Read(line) => calls::read(turn, &line).await,
        Slash::Prompt(line) => calls::prompt(turn, &line).await,
        Slash::Fill { name, arguments } => calls::fill(turn, &name, arguments, conversation).await,
        Slash::Approve(line) => approve::run(turn, line).await,
        Slash::Model(line) => talk::choose(turn, line, conversation),
        Slash::Clear => {
            talk::clear(turn, conversation);
            Ok(())
        }
        Slash::Save(line) => talk::save(turn, &line, conversation),
        Slash::Help => Ok(turn.context.printer.styled(&talk::help())?),
        // Dealt with before.
        Slash::Quit => Ok(()),
    }
}
