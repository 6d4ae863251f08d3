//! What commands that connect share: the terms, the guard, the waiting, and a sign of life while it lasts.

use std::sync::Arc;

use switchboard::auth::{self, Keys};
use switchboard::declared::{Conduct, Limit};
use switchboard::host::Host;
use switchboard::resolve::{self, Commands, Launch, Subject};
use switchboard::wire::{Guard, Limits, Memory, Steps, Terms, Trace, Web};
use switchboard::{Code, Discovery, Server, ServerSpec, State};

use super::{Context, GUARD, SMALL_GUARD, unknown_server};
use crate::error::{CommandError, Kind};

/// Waits for something in this thread.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, CommandError> {
    Ok(runtime()?.block_on(work))
}

/// The same for work that reads the standard input: such a read cannot be stopped, so nobody waits for it.
pub(crate) fn block_on_input<T>(work: impl Future<Output = T>) -> Result<T, CommandError> {
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    Ok(done)
}

fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        CommandError::new(Kind::Failed, "runtime", format!("cannot wait for anything: {error}"))
    })
}

/// Resolves at the next Ctrl-C.
pub(crate) async fn ctrl_c() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Resolves when the program is to end: by Ctrl-C, or because whoever started it says so. Both count from this call on, also
/// if it is waited for later.
#[cfg(unix)]
pub(crate) fn ended() -> impl Future<Output = ()> {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    async fn sent(signal: std::io::Result<Signal>) {
        match signal {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    }
    let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    async {
        tokio::select! {
            () = sent(interrupt) => {}
            () = sent(terminate) => {}
        }
    }
}

#[cfg(not(unix))]
pub(crate) async fn ended() {
    ctrl_c().await;
}

/// The server of that name, if it may be connected to.
pub(crate) fn connectable<'a>(
    discovery: &'a Discovery,
    name: &str,
) -> Result<(&'a Server, &'a ServerSpec), CommandError> {
    let server = discovery.server(name).ok_or_else(|| unknown_server(discovery, name))?;
    let word = switchboard::visible::shell_word(name);
    match (server.state(), &server.definition) {
        (State::Disabled, _) => {
            let message = format!("Server \"{name}\" is disabled. Run /mcp enable {name} first.");
            Err(CommandError::usage("server-disabled", message)
                .server(name)
                .hint(format!("switchboard enable {word}")))
        }
        (State::Untrusted, _) => {
            let message = format!("Server \"{name}\" is not approved");
            Err(CommandError::new(Kind::NotApproved, "untrusted", message)
                .server(name)
                .hint(format!("look at it with `switchboard why {word}`, then `switchboard trust {word}`")))
        }
        (_, Err(reason)) => {
            let hint = misspelled(discovery, name)
                .unwrap_or_else(|| format!("see where it stands: switchboard why {word}"));
            Err(CommandError::usage("invalid-server", reason.clone()).server(name).hint(hint))
        }
        (State::Enabled | State::Invalid, Ok(spec)) => Ok((server, spec)),
    }
}

/// The field of an entry whose name is wrong, if that is why it cannot be used.
fn misspelled(discovery: &Discovery, name: &str) -> Option<String> {
    let is_it = |code: Code, server: Option<&str>| code == Code::InvalidServer && server == Some(name);
    let mut problems = discovery.problems.iter();
    let problem = problems.find(|problem| is_it(problem.code, problem.server.as_deref()))?;
    problem.hint.clone().filter(|hint| hint.contains("did you mean"))
}

/// The logins of the user.
pub(super) fn keys(context: &Context) -> Arc<Keys> {
    let settings = context.discover().settings;
    Keys::of(&context.env, auth::Options::default().with(&settings.login))
}

/// Fills in the values of a server.
pub(super) async fn launch(
    context: &Context,
    subject: &Subject<'_>,
    keys: &Arc<Keys>,
) -> Result<Launch, resolve::Error> {
    // Our own servers are run by this very program, wherever it is installed.
    let spec = subject.spec.run_by(std::env::current_exe().ok().as_deref(), subject.origin);
    let token = keys.variable(subject.spec).await;
    let subject = Subject { spec: &spec, token: token.as_deref(), ..*subject };
    resolve::launch(&subject, &context.env, &Commands::default()).await
}

/// On what terms a server is opened.
pub(super) struct Wishes<'a> {
    pub(super) conduct: &'a Conduct,
    pub(super) keys: &'a Arc<Keys>,
    /// Overrides what the server says.
    pub(super) timeout: Option<Limit>,
    pub(super) host: Arc<dyn Host>,
    pub(super) trace: Option<Arc<Trace>>,
    pub(super) steps: Arc<Steps>,
}

pub(super) fn terms(context: &Context, launch: &Launch, wishes: Wishes<'_>) -> Terms {
    let Wishes { conduct, keys, timeout, host, trace, steps } = wishes;
    Terms {
        server: launch.server.clone(),
        host,
        web: Arc::new(Web::default()),
        pass: keys.pass_for(launch),
        guard: guard(),
        startup: conduct.startup_limit(timeout),
        timeout: conduct.request_limit(timeout),
        limits: Limits::default(),
        remembered: Memory::of(&context.env).recall(launch.identity.key()),
        trace,
        steps,
        log: Arc::default(),
        context: context.trace.clone(),
    }
}

/// The small program that is installed beside this one. Where somebody left it behind this one does the same, and only
/// takes longer to load.
pub(crate) fn guard() -> Option<Guard> {
    let own = std::env::current_exe().ok().filter(|_| cfg!(unix))?;
    let small = own.with_file_name(SMALL_GUARD);
    if small.is_file() {
        return Some(Guard { program: small, args: Vec::new() });
    }
    Some(Guard { program: own, args: vec![GUARD.into()] })
}
