//! Waits for what happens, lets `update` decide, and does what it wants done. Decides nothing itself.

use std::io::{self, Stdout};
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use crossterm::event::{Event as TerminalEvent, EventStream, KeyEventKind};
use futures_util::Stream;
use switchboard::Env;
use switchboard::connect;
use switchboard::notice::Notice;
use switchboard::session::{Events, Session};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::front::{Outbox, Said};
use super::history::{Archive, History};
use super::live::{Live, Size};
use super::look::{BEAT, Look};
use super::model::{Effect, Event, Model};
use super::signals::{Panics, Signal, Signals};
use super::slots::Slots;
use super::status::Standing;
use super::tty::{self, Tty};
use super::update::update;
use super::view::view;
use crate::error::{CommandError, Kind};
use crate::shell::Question;
use crate::shell::{Completer, Next, OnDisk};
use crate::visitor;

/// Keys that are taken at once before anything is drawn.
const MOST_KEYS: usize = 4096;

/// What comes after what was waited for.
#[derive(Debug)]
pub(super) enum Step {
    Run(String),
    Idle,
    Leave,
}

/// The terminal, the session, and what is known of both.
pub(super) struct Stage<'a> {
    env: &'a Env,
    session: &'a Session,
    completer: Completer,
    questions: mpsc::Receiver<Question>,
    events: Events,
    on_disk: OnDisk,
    model: Model,
    slots: Slots,
    outbox: Outbox,
    archive: Archive,
    /// Stops the work that is under way.
    cancel: CancellationToken,
    /// Completions, and pages being opened.
    jobs: JoinSet<Event>,
    signals: Signals,
    started: Instant,
    live: Live<Stdout>,
    /// Nothing while something else has the terminal.
    keys: Option<EventStream>,
    // Dropped in this order: what a panic had to say is said on a terminal that shows it.
    tty: Option<Tty>,
    _panics: Panics,
}

/// What woke us.
enum Woken {
    Keys(io::Result<Vec<TerminalEvent>>),
    Said,
    Question(Question),
    Session(connect::Event),
    OnDisk(String),
    Withdrawn(u64),
    Job(Event),
    Signal(Signal),
    Beat,
    Done(Next),
}

impl<'a> Stage<'a> {
    pub(super) fn new(
        env: &'a Env,
        session: &'a Session,
        completer: Completer,
        on_disk: OnDisk,
        questions: mpsc::Receiver<Question>,
    ) -> Result<Self, CommandError> {
        let archive = Archive::of(env);
        let (look, size) = (Look::of(env), tty::size());
        let outbox = Outbox::default();
        let mut stage = Self {
            env,
            session,
            completer,
            questions,
            events: session.events(),
            on_disk,
            model: Model::new(look, size, History::new(archive.load())),
            slots: Slots::default(),
            archive,
            cancel: CancellationToken::new(),
            jobs: JoinSet::new(),
            signals: Signals::new()?,
            started: Instant::now(),
            live: Live::new(io::stdout(), look, size),
            keys: None,
            tty: None,
            _panics: Panics::catch(outbox.clone()),
            outbox,
        };
        stage.take_terminal()?;
        stage.tell(Event::Stands(Standing::of(session)));
        Ok(stage)
    }

    pub(super) fn outbox(&self) -> Outbox {
        self.outbox.clone()
    }

    pub(super) fn footer(&mut self, footer: Option<String>) {
        self.tell(Event::Footer(footer));
    }

    /// Takes part in what happens while the work lasts, or until there is other work to do.
    pub(super) async fn during(
        &mut self,
        work: impl Future<Output = Next>,
        cancel: &CancellationToken,
    ) -> Result<Step, CommandError> {
        let mut work = std::pin::pin!(work);
        self.cancel = cancel.clone();
        loop {
            self.live.draw(&view(&self.model))?;
            let step = match self.next(work.as_mut()).await {
                Woken::Done(next) => {
                    // What it said last comes before its end.
                    self.hear().await?;
                    self.tell(Event::Stands(Standing::of(self.session)));
                    Some(self.tell(Event::Done(next)).unwrap_or(Step::Idle))
                }
                Woken::Said => {
                    self.hear().await?;
                    None
                }
                Woken::Signal(Signal::End) => return Err(CommandError::stopped()),
                woken => self.heed(woken),
            };
            if let Some(step) = step {
                return Ok(step);
            }
        }
    }

    async fn next(&mut self, work: Pin<&mut impl Future<Output = Next>>) -> Woken {
        let is_moving = self.model.is_moving();
        tokio::select! {
            keys = pressed(&mut self.keys) => Woken::Keys(keys),
            () = self.outbox.filled() => Woken::Said,
            question = some(self.questions.recv()) => Woken::Question(question),
            event = some(self.events.next()) => Woken::Session(event),
            line = self.on_disk.next() => Woken::OnDisk(line),
            ticket = std::future::poll_fn(|cx| self.slots.poll_withdrawn(cx)) => Woken::Withdrawn(ticket),
            Some(job) = self.jobs.join_next() => Woken::Job(job.unwrap_or(Event::Beat)),
            signal = self.signals.next() => Woken::Signal(signal),
            () = tokio::time::sleep(BEAT), if is_moving => Woken::Beat,
            next = work => Woken::Done(next),
        }
    }

    fn heed(&mut self, woken: Woken) -> Option<Step> {
        match woken {
            Woken::Keys(Ok(events)) => {
                let mut step = None;
                for event in events {
                    step = step.or(self.terminal(event));
                }
                step
            }
            // The terminal is gone.
            Woken::Keys(Err(_)) => Some(Step::Leave),
            Woken::Question(question) => {
                let (ticket, ask) = self.slots.take(question);
                self.tell(Event::Asked(ticket, ask))
            }
            Woken::Session(connect::Event::Status { .. } | connect::Event::Missed { .. }) => {
                self.tell(Event::Stands(Standing::of(self.session)))
            }
            Woken::Session(connect::Event::Said { server, notice: Notice::ToolsChanged }) => {
                self.tell(Event::ToolsChanged(server))
            }
            Woken::Session(_) => None,
            Woken::OnDisk(line) => self.tell(Event::Notice(line)),
            Woken::Withdrawn(ticket) => self.tell(Event::Withdrawn(ticket)),
            Woken::Job(event) => self.tell(event),
            Woken::Signal(_) => self.tell(Event::Interrupt),
            Woken::Beat | Woken::Said | Woken::Done(_) => self.tell(Event::Beat),
        }
    }

    fn terminal(&mut self, event: TerminalEvent) -> Option<Step> {
        match event {
            TerminalEvent::Key(key) if key.kind != KeyEventKind::Release => self.tell(Event::Key(key)),
            TerminalEvent::Paste(text) => self.tell(Event::Paste(text)),
            TerminalEvent::Resize(width, height) => {
                self.resize(tty::sized(width, height));
                None
            }
            _ => None,
        }
    }

    fn resize(&mut self, size: Size) {
        self.live.resize(size);
        self.tell(Event::Resize(size));
    }

    /// Decides and does.
    fn tell(&mut self, event: Event) -> Option<Step> {
        let effects = update(&mut self.model, self.started.elapsed(), event);
        let mut step = None;
        for effect in effects {
            step = step.or(self.perform(effect));
        }
        step
    }

    fn perform(&mut self, effect: Effect) -> Option<Step> {
        match effect {
            Effect::Print(text) => self.live.print(&text),
            Effect::Clear => self.live.clear(),
            Effect::Run(line) => return Some(Step::Run(line)),
            Effect::Cancel => self.cancel.cancel(),
            Effect::Abandon => return Some(self.tell(Event::Done(Next::Go)).unwrap_or(Step::Idle)),
            Effect::Remember(line) => self.remember(&line),
            Effect::Complete { ticket, text, cursor } => {
                let completer = self.completer.clone();
                self.jobs.spawn(async move {
                    Event::Completed { ticket, completion: completer.complete(&text, cursor).await }
                });
            }
            Effect::Answer(ticket, reply) => self.slots.answer(ticket, reply),
            Effect::Open { ticket, url } => {
                let env = self.env.clone();
                self.jobs.spawn_blocking(move || {
                    let is_open = visitor::opened(&env, &url);
                    Event::Opened { ticket, url, is_open }
                });
            }
            Effect::Leave => return Some(Step::Leave),
        }
        None
    }

    fn remember(&self, line: &str) {
        if let Err(error) = self.archive.append(line) {
            tracing::debug!(%error, "the line was not kept");
        }
    }

    /// Shows what a command said.
    async fn hear(&mut self) -> Result<(), CommandError> {
        while let Some(said) = self.outbox.take() {
            match said {
                Said::Print(text) => drop(self.tell(Event::Print(text))),
                Said::Stream(delta) => drop(self.tell(Event::Stream(delta))),
                Said::Working(words) => drop(self.tell(Event::Working(words))),
                Said::Aside(work) => self.aside(work).await?,
            }
        }
        Ok(())
    }

    /// Lends the terminal to a dialog of its own.
    async fn aside(&mut self, work: Box<dyn FnOnce() + Send>) -> Result<(), CommandError> {
        self.live.leave()?;
        self.keys = None;
        self.tty = None;
        let (sender, over) = oneshot::channel();
        // A thread that nobody has to wait for: who is asked may never answer.
        std::thread::spawn(move || {
            work();
            let _gone = sender.send(());
        });
        tokio::pin!(over);
        let ended = loop {
            tokio::select! {
                ended = &mut over => break ended,
                signal = self.signals.next() => if signal == Signal::End {
                    return Err(CommandError::stopped());
                },
            }
        };
        self.take_terminal()?;
        ended.map_err(|_| CommandError::new(Kind::Failed, "terminal", "a dialog broke down"))
    }

    fn take_terminal(&mut self) -> Result<(), CommandError> {
        self.tty = Some(Tty::take(self.env)?);
        self.keys = Some(EventStream::new());
        self.resize(tty::size());
        Ok(())
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing anyway.
        drop(self.live.leave());
    }
}

/// All keys that were pressed. With a waker of its own a stream of keys would sleep for ever, so it is asked here.
async fn pressed(keys: &mut Option<EventStream>) -> io::Result<Vec<TerminalEvent>> {
    let Some(keys) = keys else { return std::future::pending().await };
    std::future::poll_fn(|cx| {
        let mut events = Vec::new();
        while events.len() < MOST_KEYS {
            match Pin::new(&mut *keys).poll_next(cx) {
                Poll::Ready(Some(Ok(event))) => events.push(event),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Poll::Pending => break,
            }
        }
        if events.is_empty() { Poll::Pending } else { Poll::Ready(Ok(events)) }
    })
    .await
}

/// What comes; for ever if nothing comes any more.
async fn some<T>(coming: impl Future<Output = Option<T>>) -> T {
    match coming.await {
        Some(thing) => thing,
        None => std::future::pending().await,
    }
}
