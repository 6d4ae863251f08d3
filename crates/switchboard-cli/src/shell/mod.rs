//! The commands of the interactive session.

mod host;
pub(crate) mod question;

use std::sync::Arc;

use switchboard::calls::Request;
use switchboard::connect::Persistence;
use switchboard::json::Json;
use switchboard::session::{Options, Session};
use switchboard::visible::visible;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::commands::{Context, GUARD};
use host::Asker;
use question::Question;

/// What a line leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Go,
    Leave,
}

/// How a command reaches the person.
pub(crate) trait Front: Send {
    /// Finished lines, styled, safe.
    fn print(&mut self, text: &str);
    /// A piece of running text.
    fn stream(&mut self, delta: &str);
    /// What is being done right now; nothing when done.
    fn working(&mut self, words: Option<&str>);
    /// Gives the whole terminal to a dialog of its own and takes it back.
    fn aside<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send;
}

#[derive(Debug)]
pub(crate) struct Shell {
    session: Session,
}

impl Shell {
    pub(crate) async fn start(context: &Context) -> (Self, mpsc::Receiver<Question>) {
        let (sender, questions) = mpsc::channel(64);
        let mut options = Options::headless(context.env.clone());
        options.discovery = context.options;
        options.own_program = std::env::current_exe().ok();
        options.guard = options
            .own_program
            .clone()
            .filter(|_| cfg!(unix))
            .map(|program| switchboard::wire::Guard { program, args: vec![GUARD.into()] });
        options.persistence = Persistence::KeepTrying;
        options.host = Arc::new(Asker::new(sender, context.env.cwd()));
        (Self { session: Session::start(options).await }, questions)
    }

    pub(crate) fn session(&self) -> Session {
        self.session.clone()
    }

    pub(crate) fn completer(&self) -> Completer {
        Completer { session: self.session.clone() }
    }

    pub(crate) async fn run<F: Front>(
        &mut self,
        line: &str,
        front: &mut F,
        cancel: &CancellationToken,
    ) -> Next {
        let mut words = line.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some("/quit"), ..) => return Next::Leave,
            (Some("/call"), Some(tool), arguments) => {
                front.working(Some(&format!("calling {tool}")));
                let work = self.call(tool, arguments.unwrap_or("{}"));
                let text = tokio::select! {
                    text = work => text,
                    () = cancel.cancelled() => "stopped".to_owned(),
                };
                front.working(None);
                front.print(&text);
            }
            (Some("/aside"), ..) => {
                let answer = front.aside(|| inquire::prompt_text("Your name:").unwrap_or_default()).await;
                front.print(&format!("hello {}", visible(&answer)));
            }
            _ => {
                for word in line.split_inclusive(' ') {
                    front.stream(word);
                }
            }
        }
        Next::Go
    }

    async fn call(&self, tool: &str, arguments: &str) -> String {
        let Ok(arguments) = Json::from_text(arguments) else { return "the arguments are no JSON".into() };
        let catalog = self.session.catalog();
        let Ok(entry) = catalog.find(tool, None) else { return "no such tool".into() };
        match self.session.call_entry(entry, &arguments, Request::default()).await {
            Ok(outcome) => {
                outcome.shaped.text.lines().map(|line| visible(line)).collect::<Vec<_>>().join("\n")
            }
            Err(error) => format!("error: {}", visible(&error.to_string())),
        }
    }

    pub(crate) async fn close(self) {
        self.session.shutdown().await;
    }

    #[expect(clippy::unused_self, reason = "there is no model yet")]
    pub(crate) fn footer(&self) -> Option<String> {
        None
    }
}

/// What could be typed next.
#[derive(Debug, Clone)]
pub(crate) struct Completer {
    session: Session,
}

/// What could stand in place of a part of the line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Completion {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) candidates: Vec<Candidate>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) insert: String,
    pub(crate) shown: String,
    pub(crate) note: Option<String>,
}

impl Completer {
    #[expect(clippy::unused_async, reason = "the real one asks servers")]
    pub(crate) async fn complete(&self, text: &str, cursor: usize) -> Completion {
        let start = text[..cursor].rfind(' ').map_or(0, |space| space + 1);
        let word = &text[start..cursor];
        let commands = ["/call", "/quit"].map(str::to_owned).to_vec();
        let tools = || self.session.catalog().tools.iter().map(|entry| entry.name.clone()).collect();
        let all: Vec<String> = if start == 0 { commands } else { tools() };
        let fits = all.into_iter().filter(|name| name.starts_with(word));
        let candidates = fits.map(|name| Candidate { insert: name.clone(), shown: name, note: None });
        Completion { start, end: cursor, candidates: candidates.collect() }
    }
}
