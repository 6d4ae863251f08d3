//! From a launch to a link: starts or dials the server, finds out what it speaks, and shakes hands if it wants that.
//!
//! The question which protocol it is never delays a server that answers. One that keeps silent is offered the handshake
//! as well after a moment, and whichever it understands counts; answers that come late are not held against it. One that
//! ends at the question is started once more without it.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep, timeout_at};

use super::era::{self, Era, Facts, HANDSHAKES, MODERN, Verdict};
use super::error::{Cause, Error};
use super::guard::Guard;
use super::ledger::Wants;
use super::line::Line;
use super::link::Link;
use super::log::{Direction, Log};
use super::message::{self, Params};
use super::peer::{Carrier, Frame, Patience, Peer, Request, Rules};
use super::questions::Desk;
use super::stage::Stage;
use super::steps::Steps;
use super::trace::Trace;
use super::web::Web;
use crate::auth::Pass;
use crate::context;
use crate::declared::Remote;
use crate::host::Host;
use crate::json::Json;
use crate::problem::Problem;
use crate::resolve::{Address, Child, Launch, Target};

/// How long a child may think about the question before it is offered the handshake.
const CHILD_PROBE: Duration = Duration::from_millis(350);
/// The same for a server at the other end of a network.
const REMOTE_PROBE: Duration = Duration::from_millis(1500);

/// On what terms a server is opened.
#[derive(Clone)]
pub struct Terms {
    /// The configured name, for the host and for messages.
    pub server: String,
    /// Who answers its questions.
    pub host: Arc<dyn Host>,
    /// The HTTP client.
    pub web: Arc<Web>,
    /// What lets us in, where a login does.
    pub pass: Option<Pass>,
    /// What keeps its processes from outliving us.
    pub guard: Option<Guard>,
    /// From the start to the end of the handshake; `None` means no limit.
    pub startup: Option<Duration>,
    /// For each request; `None` means no limit.
    pub timeout: Option<Duration>,
    /// Bounds of what is kept.
    pub limits: Limits,
    /// What it spoke last time.
    pub remembered: Option<Era>,
    /// Where its traffic is written.
    pub trace: Option<Arc<Trace>>,
    /// Where the steps are written.
    pub steps: Arc<Steps>,
    /// Where its recent past is kept.
    pub log: Arc<Log>,
    /// Tells where the work stands in a trace; it is passed on to the server.
    pub context: Option<context::Source>,
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terms").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Bounds of what a server can make us keep or do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message.
    pub message: usize,
    /// Pages of a list.
    pub pages: usize,
    /// Items of a list.
    pub items: usize,
    /// Rounds of questions inside one request.
    pub rounds: usize,
    /// A request with progress may take so long in all.
    pub longest_call: Duration,
    /// Messages a second that nobody waits for, in the long run, such as log lines. Who says more is read more slowly.
    pub unasked: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 16 * 1024 * 1024,
            pages: 64,
            items: 2000,
            rounds: 10,
            longest_call: Duration::from_mins(30),
            unasked: Some(2000),
        }
    }
}

/// Why there is no link, with everything known about it.
#[derive(Debug)]
pub struct Failure {
    /// What happened.
    pub error: Error,
    /// The last words of the process, without secrets.
    pub stderr: String,
    /// Lines on its output that were no messages, and the first of them, without secrets.
    pub noise: (u64, Option<String>),
    /// What could not be filled in before: the likely cause.
    pub problems: Vec<Problem>,
}

/// Opens a server.
pub async fn open(launch: &Launch, terms: &Terms) -> Result<Link, Box<Failure>> {
    if let Some(trace) = &terms.trace {
        trace.hide(&launch.secrets);
    }
    terms.log.begin(&launch.secrets);
    let mut attempt =
        Attempt { launch, terms, deadline: terms.startup.map(|limit| Instant::now() + limit), last: None };
    let opened = match &launch.target {
        Target::Child(child) => attempt.child(child).await,
        Target::Remote(address) => attempt.remote(address).await,
    };
    match opened {
        Ok((line, facts)) => {
            terms.steps.note(format!("ready, protocol {}", facts.version));
            Ok(Link::new(line, facts, launch, terms))
        }
        Err(error) => Err(Box::new(attempt.failure(error).await)),
    }
}

struct Attempt<'a> {
    launch: &'a Launch,
    terms: &'a Terms,
    deadline: Option<Instant>,
    /// The line that failed last, which knows more about it.
    last: Option<Line>,
}

type Opened = Result<(Line, Facts), Error>;

impl Attempt<'_> {
    async fn child(&mut self, child: &Child) -> Opened {
        let line = self.start(child)?;
        let error = match self.greet(&line, CHILD_PROBE, self.terms.remembered).await {
            Ok(facts) => return Ok((line, facts)),
            Err(error) => error,
        };
        // Some servers end at the first message they do not know.
        let ended = matches!(error.cause, Cause::Exited { .. } | Cause::Closed);
        self.give_up(line).await;
        if !ended || self.terms.remembered == Some(Era::Handshake) {
            return Err(error);
        }
        self.step("it ended at the question which protocol it speaks; started again without it");
        let line = self.start(child)?;
        match self.shake_hands(&line).await {
            Ok(facts) => Ok((line, facts)),
            Err(error) => {
                self.give_up(line).await;
                Err(error)
            }
        }
    }

    fn start(&self, child: &Child) -> Result<Line, Error> {
        let line = Line::start(child, self.terms)?;
        self.step(format!("started {}", program_name(&child.program)));
        Ok(line)
    }

    /// Ends a line whose server did not want to talk, and keeps what it knows.
    async fn give_up(&mut self, mut line: Line) {
        line.stop().await;
        self.last = Some(line);
    }

    async fn remote(&mut self, address: &Address) -> Opened {
        let first = match address.kind {
            Remote::Http => self.streamable(address).await,
            Remote::Sse => self.event_stream(address).await,
        };
        let error = match first {
            Err(error) if may_be_the_other_kind(&error) => error,
            settled => return settled,
        };
        self.step(format!("{error}; trying the other kind of HTTP transport"));
        let second = match address.kind {
            Remote::Http => self.event_stream(address).await,
            Remote::Sse => self.streamable(address).await,
        };
        // The error of the kind that was asked for says more, unless the other got as far as a refusal.
        second.map_err(|second| if second.needs_login() { second } else { error })
    }

    async fn streamable(&mut self, address: &Address) -> Opened {
        let line = Line::http(address, &self.launch.secrets, self.terms);
        match self.greet(&line, REMOTE_PROBE, self.terms.remembered).await {
            Ok(facts) => Ok((line, facts)),
            Err(error) => {
                self.last = Some(line);
                Err(error)
            }
        }
    }

    async fn event_stream(&mut self, address: &Address) -> Opened {
        let opening = Line::legacy_sse(address, &self.launch.secrets, self.terms);
        let line = self.within("the event stream", opening).await??;
        self.step("opened the event stream");
        let facts = self.shake_hands(&line).await?;
        Ok((line, facts))
    }

    /// Finds out what the server speaks.
    async fn greet(&self, line: &Line, patience: Duration, remembered: Option<Era>) -> Result<Facts, Error> {
        if remembered == Some(Era::Handshake) {
            match self.shake_hands(line).await {
                Err(error)
                    if matches!(error.cause, Cause::Rpc(_) | Cause::Version { .. } | Cause::Http { .. }) =>
                {
                    self.step(format!("the remembered handshake failed: {error}"));
                }
                settled => return settled,
            }
        }
        let discover = self.discover(line);
        tokio::pin!(discover);
        let early = tokio::select! {
            answer = &mut discover => Some(answer),
            () = sleep(patience) => None,
        };
        match early.map(|answer| self.judged(answer)) {
            Some(Ok(Some(facts))) => return Ok(facts),
            Some(Ok(None)) => return self.shake_hands(line).await,
            Some(Err(error)) => return Err(error),
            None => {}
        }
        self.step("no answer yet; offering the handshake as well");
        let handshake = self.initialize(line);
        tokio::pin!(handshake);
        // Whichever is understood first counts.
        tokio::select! {
            biased;
            answer = &mut discover => match self.judged(answer)? {
                Some(facts) => Ok(facts),
                None => self.finish(line, handshake.await?).await,
            },
            result = &mut handshake => match result {
                Ok(facts) => self.finish(line, facts).await,
                Err(error) if error.is_lost() => Err(error),
                // A modern server that was slow to start refuses the handshake; its first answer came before that.
                Err(error) => match self.judged(discover.await)? {
                    Some(facts) => Ok(facts),
                    None => Err(error),
                },
            },
        }
    }

    /// What the answer to the question means: facts, or a handshake.
    fn judged(&self, answer: Result<Json, Error>) -> Result<Option<Facts>, Error> {
        match era::judge(&answer) {
            Verdict::Modern(facts) => {
                self.step(format!("answered the question: modern, {MODERN}"));
                Ok(Some(facts))
            }
            // It was asked twice in the version it names; it is modern, it just does not say more.
            Verdict::Again => Ok(Some(era::guess())),
            Verdict::Handshake => {
                match answer {
                    Ok(_) => self.step("wants a handshake: the answer is empty"),
                    Err(Error { cause: Cause::Timeout { .. }, .. }) => {}
                    Err(error) => self.step(format!("wants a handshake: {error}")),
                }
                Ok(None)
            }
            Verdict::Unclear => Err(answer.err().unwrap_or_else(|| Error::never(Cause::Closed))),
        }
    }

    async fn discover(&self, line: &Line) -> Result<Json, Error> {
        let answer = self.ask(line, "server/discover", Params::new(), Rules::Modern).await;
        if matches!(era::judge(&answer), Verdict::Again) {
            // It names the version we asked in; one more try is expected.
            return self.ask(line, "server/discover", Params::new(), Rules::Modern).await;
        }
        answer
    }

    async fn shake_hands(&self, line: &Line) -> Result<Facts, Error> {
        let facts = self.initialize(line).await?;
        self.finish(line, facts).await
    }

    async fn initialize(&self, line: &Line) -> Result<Facts, Error> {
        let params = greeting(&line.desk);
        let result = self.ask(line, "initialize", params, Rules::Handshake).await?;
        let facts = era::initialized(&result).map_err(Error::maybe)?;
        self.step(format!("shook hands: {}", facts.version));
        Ok(facts)
    }

    /// The end of the handshake.
    async fn finish(&self, line: &Line, facts: Facts) -> Result<Facts, Error> {
        if facts.era == Era::Handshake {
            // A server that does not take it has not finished the handshake.
            self.within("notifications/initialized", conclude(&line.peer, &facts.version)).await??;
        }
        Ok(facts)
    }

    async fn ask(&self, line: &Line, method: &str, params: Params, rules: Rules) -> Result<Json, Error> {
        let (params, headers) = match rules {
            Rules::Modern => (modern(params, &line.desk), standard_headers(method, None)),
            Rules::Handshake => (params, Vec::new()),
        };
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let patience = Patience::of(left);
        let request =
            Request { method, params, headers, rules, wants: Wants::Answer, patience, behalf: None };
        let answer = line.peer.request(request, &mut |_| {}).await;
        // The time that counts is the one since the start.
        answer.map_err(|error| match (error.cause, self.terms.startup) {
            (Cause::Timeout { waiting_for, .. }, Some(after)) => {
                Error { cause: Cause::Timeout { waiting_for, after }, sent: error.sent }
            }
            (cause, _) => Error { cause, sent: error.sent },
        })
    }

    async fn within<T>(&self, what: &str, work: impl Future<Output = T>) -> Result<T, Error> {
        let (Some(deadline), Some(after)) = (self.deadline, self.terms.startup) else {
            return Ok(work.await);
        };
        timeout_at(deadline, work)
            .await
            .map_err(|_| Error::never(Cause::Timeout { waiting_for: what.to_owned(), after }))
    }

    fn step(&self, what: impl Into<String>) {
        let what = what.into();
        self.terms.steps.note(self.launch.secrets.scrub(&what).into_owned());
    }

    /// Everything known about why it failed.
    async fn failure(mut self, error: Error) -> Failure {
        let secrets = &self.launch.secrets;
        let mut failure = Failure {
            error: error.scrubbed(secrets),
            stderr: String::new(),
            noise: (0, None),
            problems: self.launch.problems.clone(),
        };
        if let Some(line) = self.last.as_mut() {
            if let Some(process) = line.process.clone() {
                failure.stderr = secrets.scrub(&process.stderr_tail()).into_owned();
            }
            failure.noise = line.peer.router.noise(secrets);
            line.stop().await;
        }
        failure
    }
}

/// What `initialize` says of us.
pub(crate) fn greeting(desk: &Desk) -> Params {
    Params::new()
        .with("protocolVersion", json!(HANDSHAKES[0]))
        .with("capabilities", desk.capabilities(Rules::Handshake))
        .with("clientInfo", client_info())
}

/// Tells the server that the handshake is over.
pub(crate) async fn conclude(peer: &Peer, version: &str) -> Result<(), Error> {
    if let Carrier::Http(http) = &peer.carrier {
        http.negotiated(version);
    }
    let text = message::notification("notifications/initialized", None);
    peer.router.log.said(Direction::Sent, "notifications/initialized", text.len());
    peer.say(text, Rules::Handshake).await
}

/// Whether the failure looks like that of the wrong HTTP transport.
const fn may_be_the_other_kind(error: &Error) -> bool {
    match &error.cause {
        Cause::Http { status, .. } => matches!(status, 400 | 404 | 405 | 406 | 415),
        Cause::NotMcp { .. } | Cause::Malformed { .. } | Cause::CutOff => true,
        Cause::Rpc(error) => matches!(error.code, -32601 | -32000 | -32600),
        _ => false,
    }
}

/// Parameters that stand for themselves: version, who asks, and what may be asked back.
pub(crate) fn modern(params: Params, desk: &Desk) -> Params {
    static VERSION: LazyLock<Json> = LazyLock::new(|| json!(MODERN).into());
    params
        .with_meta("io.modelcontextprotocol/protocolVersion", VERSION.clone())
        .with_meta("io.modelcontextprotocol/clientInfo", client_info())
        .with_meta("io.modelcontextprotocol/clientCapabilities", desk.capabilities(Rules::Modern))
}

/// The headers that mirror a modern request.
pub(crate) fn standard_headers(method: &str, name: Option<&str>) -> Vec<(String, String)> {
    let mut headers = vec![
        ("mcp-protocol-version".to_owned(), MODERN.to_owned()),
        ("mcp-method".to_owned(), method.to_owned()),
    ];
    if let Some(name) = name {
        headers.push(("mcp-name".to_owned(), super::headers::encode(name)));
    }
    headers
}

/// Sends a request whose answer nobody waits for.
pub(super) fn ask_and_forget(
    desk: &Desk,
    peer: &Peer,
    rules: Rules,
    (method, params, name): (&str, Params, &str),
) {
    let (params, headers) = match rules {
        Rules::Modern => (modern(params, desk), standard_headers(method, Some(name))),
        Rules::Handshake => (params, Vec::new()),
    };
    let id = peer.router.fresh_id();
    let text = message::request(id, method, &peer.traced(params));
    peer.router.log.asked(id, method, text.len());
    let stage: Arc<Stage> = Arc::default();
    let (may_repeat, starts_session) = (true, false);
    peer.send_later(Frame { id: None, text, stage, headers, rules, may_repeat, starts_session });
}

/// Goes with every modern request, so it is made once.
fn client_info() -> Json {
    static INFO: LazyLock<Json> = LazyLock::new(|| {
        json!({"name": "switchboard", "title": "Switchboard", "version": env!("CARGO_PKG_VERSION")}).into()
    });
    INFO.clone()
}

fn program_name(program: &Path) -> String {
    program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
