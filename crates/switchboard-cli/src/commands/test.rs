//! `test`: connects to one server, lists what it offers, and says what is wrong and what to do.

use std::sync::Arc;

use switchboard::config::ServerSpec;
use switchboard::declared::Limit;
use switchboard::examine::{Examination, examine};
use switchboard::host::Headless;
use switchboard::resolve::{Identity, Launch, Subject};
use switchboard::secret::Secrets;
use switchboard::sources::places::Project;
use switchboard::visible::{excerpt, visible};
use switchboard::wire::{Cause, Ending, Era, Memory, Step, Steps, Trace};
use switchboard::{Explain, Origin, Provider, Scope};

use super::connection::{self, Wishes, connectable};
use super::{Context, Outcome, add, login, online, trust};
use crate::args::{Add, Test};
use crate::error::{CommandError, Kind};
use crate::printer::{BAD, FAINT, GOOD, STRONG, problem_lines};
use crate::progress::Progress;
use crate::report::{ErrorRow, ProblemRow, TestCounts, TestReport, TestStep};

/// Lines of a server's standard error that are shown when it failed, and when it did not.
const LAST_WORDS: usize = 20;
const FEW_WORDS: usize = 3;

pub(super) fn run(context: &Context, test: Test) -> Result<Outcome, CommandError> {
    if let Some(name) = &test.name {
        trust::offer_new(context, std::slice::from_ref(name))?;
    }
    let discovery = context.discover();
    let timeout = test.timeout.map(Limit::from_millis).or(discovery.settings.timeout_override);
    let trace = test.trace.as_deref().map(|path| open_trace(context, path)).transpose()?;
    if let Some(name) = &test.name {
        online::say_what_is_lost(context, &discovery);
        let (server, spec) = connectable(&discovery, name)?;
        let subject =
            Subject { name, spec, origin: &server.origin, project: &discovery.project, token: None };
        return look(context, &subject, timeout, trace);
    }
    let name = if test.url.is_some() { "url" } else { "command" };
    let spec = typed(name, test)?;
    let origin = Origin { provider: Provider::Native, scope: Scope::Environment, path: None, line: None };
    let project = Project::find(&context.env);
    look(
        context,
        &Subject { name, spec: &spec, origin: &origin, project: &project, token: None },
        timeout,
        trace,
    )
}

/// A server that was typed and is in no file.
fn typed(name: &str, test: Test) -> Result<ServerSpec, CommandError> {
    let Test { url, transport, headers, env, command, .. } = test;
    let add = Add {
        name: Some(name.to_owned()),
        scope: None,
        url,
        transport,
        token: None,
        headers,
        env,
        timeout: None,
        replace: false,
        command,
    };
    add::spec(name, &add)
}

fn open_trace(context: &Context, path: &std::path::Path) -> Result<Arc<Trace>, CommandError> {
    let path = context.env.absolute(path);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    // Traffic is private even without the secrets we know of.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(|error| {
        let shown = context.env.display(&path);
        CommandError::usage("trace", format!("cannot write the trace to {shown}: {error}"))
            .hint("name another file: --trace FILE")
    })?;
    Ok(Arc::new(Trace::new(Box::new(file))))
}

fn look(
    context: &Context,
    subject: &Subject<'_>,
    timeout: Option<Limit>,
    trace: Option<Arc<Trace>>,
) -> Result<Outcome, CommandError> {
    let (mut seen, mut launch) = attempt(context, subject, timeout, trace.clone())?;
    let mut no_login = None;
    if let Some(error) = seen.error.as_ref().filter(|error| error.needs_login() && context.can_ask()) {
        match connection::block_on(login::offer(context, &launch, login::challenge(error)))? {
            Ok(true) => (seen, launch) = attempt(context, subject, timeout, trace)?,
            Ok(false) => {}
            Err(error) => no_login = Some(error),
        }
    }
    let secrets = &launch.secrets;
    // A server may repeat what it was sent, anywhere.
    if context.printer.json {
        let report = serde_json::to_value(report(subject, &launch, &seen)).unwrap_or_default();
        context.printer.json(&scrubbed(report, secrets))?;
    } else {
        let lines = lines(context, subject, &seen);
        context
            .printer
            .data(&lines.iter().map(|line| secrets.scrub(line).into_owned()).collect::<Vec<_>>())?;
    }
    match (&seen.error, no_login) {
        (None, _) => Ok(Outcome::Done),
        (Some(_), Some(error)) => Err(error),
        (Some(_), None) => {
            Err(failure(subject, &launch, &seen).reworded(|message| secrets.scrub(message).into_owned()))
        }
    }
}

/// Connects, lists everything, and stops again, with a sign of life.
pub(super) fn attempt(
    context: &Context,
    subject: &Subject<'_>,
    timeout: Option<Limit>,
    trace: Option<Arc<Trace>>,
) -> Result<(Examination, Launch), CommandError> {
    let name = subject.name;
    let progress = Arc::new(Progress::new(&format!("{name}: filling in its values"), &context.printer));
    let onlooker = Arc::clone(&progress);
    let steps = Arc::new(Steps::new(Some(Box::new(move |step: &Step| onlooker.say(step.what.clone())))));
    let keys = connection::keys(context);
    let memory = Memory::of(&context.env);
    let work = async {
        let launch = match connection::launch(context, subject, &keys).await {
            Ok(launch) => launch,
            Err(error) => {
                let key = Identity::key_of(subject.spec, subject.origin, subject.project);
                memory.keep_fault(&key, false, &error.message());
                if context.printer.json {
                    context.printer.json(&stillborn(name, &error))?;
                }
                return Err(unresolved(name, &error));
            }
        };
        let host = Arc::new(Headless { folders: vec![context.env.cwd().to_owned()], ..Headless::default() });
        let conduct = &subject.spec.conduct;
        let wishes = Wishes { conduct, keys: &keys, timeout, host, trace, steps };
        let terms = connection::terms(context, &launch, wishes);
        let seen = examine(&launch, &terms).await;
        remember(&memory, &launch, &seen);
        Ok::<_, CommandError>((seen, launch))
    };
    connection::block_on(progress.during(async {
        let seen = tokio::select! {
            seen = work => seen,
            () = context.stopped() => Err(CommandError::stopped()),
        };
        // A token that was just renewed must be kept, or nobody has it.
        keys.settle().await;
        seen
    }))?
}

/// Keeps what was learnt, as a session does.
fn remember(memory: &Memory, launch: &Launch, seen: &Examination) {
    let key = launch.identity.key();
    match &seen.facts {
        Some(facts) => memory.remember(key, facts.era),
        None => memory.forget(key),
    }
    match &seen.error {
        Some(error) => {
            memory.keep_fault(key, error.needs_login(), &launch.secrets.scrub(&error.message()));
        }
        None => memory.forget_fault(key),
    }
}

/// The same report with stars for secrets, wherever a text holds one.
fn scrubbed(value: serde_json::Value, secrets: &Secrets) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(text) => Value::String(secrets.scrub(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(|item| scrubbed(item, secrets)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, scrubbed(value, secrets))).collect()
        }
        other => other,
    }
}

/// The report of what could not even be tried.
fn stillborn(name: &str, error: &switchboard::resolve::Error) -> TestReport {
    TestReport {
        name: name.to_owned(),
        error: Some(ErrorRow {
            server: Some(name.to_owned()),
            code: error.code(),
            message: error.message(),
            hint: error.hint(),
            last_words: None,
            retryable: false,
        }),
        ..TestReport::default()
    }
}

/// What could not even be tried.
fn unresolved(name: &str, error: &switchboard::resolve::Error) -> CommandError {
    CommandError::explained(Kind::Unreachable, error)
        .reworded(|message| format!("Failed to connect to \"{name}\": {message}"))
        .server(name)
}

/// The error in the words of the contract, with the likeliest cause as its hint.
pub(super) fn failure(subject: &Subject<'_>, launch: &Launch, seen: &Examination) -> CommandError {
    let Some(error) = &seen.error else { return CommandError::new(Kind::Failed, "failed", "failed") };
    let kind = if error.needs_login() { Kind::LoginNeeded } else { Kind::Unreachable };
    let name = subject.name;
    let mut failure = CommandError::explained(kind, error)
        .reworded(|message| match seen.facts {
            Some(_) => format!("\"{name}\" does not work: {message}"),
            None => format!("Failed to connect to \"{name}\": {message}"),
        })
        .server(name);
    if let Some(hint) = hint(subject, launch, seen) {
        failure = failure.hint(hint);
    }
    failure
}

/// One cause, and what to do: what could not be filled in before comes first.
fn hint(subject: &Subject<'_>, launch: &Launch, seen: &Examination) -> Option<String> {
    let error = seen.error.as_ref()?;
    let word = switchboard::visible::shell_word(subject.name);
    if let Some(problem) = error.likely_cause(&seen.problems) {
        let what = problem.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
        return Some(format!("likely because {}{what}", problem.message));
    }
    match &error.cause {
        // Somebody is logged in already: what is missing is a right.
        Cause::Unauthorized { status: 403, why: Some(_), .. } => {
            error.hint().map(|hint| hint.replace("NAME", &word))
        }
        Cause::Unauthorized { .. } if subject.origin.path.is_none() => Some(
            "it wants to know who asks: give it a --header, or `switchboard add` it and log in".to_owned(),
        ),
        Cause::Unauthorized { .. } if login::place(launch).is_some() => {
            Some(format!("log in: switchboard reauth {word}"))
        }
        Cause::Unauthorized { .. } => {
            Some(format!("it wants to know who asks: check its token and headers, switchboard why {word}"))
        }
        Cause::Exited { .. } if seen.stderr.trim().is_empty() => {
            Some("it said nothing on its standard error; run the command by hand".to_owned())
        }
        Cause::Exited { .. } => Some("its last words on standard error tell why".to_owned()),
        Cause::Timeout { .. } if seen.noise.0 > 0 => Some(
            "its standard output carries text that is no MCP message; it must keep that for standard error"
                .to_owned(),
        ),
        _ => error.hint(),
    }
}

fn report(subject: &Subject<'_>, launch: &Launch, seen: &Examination) -> TestReport {
    let facts = seen.facts.as_ref();
    TestReport {
        name: subject.name.to_owned(),
        ok: seen.error.is_none(),
        transport: seen.transport,
        era: facts.map(|facts| facts.era.as_str()),
        protocol_version: facts.map(|facts| facts.version.clone()),
        server_info: facts.map(|facts| facts.server_info.clone()),
        capabilities: facts.map(|facts| facts.capabilities.clone()),
        counts: TestCounts::from(seen.counts),
        connect_ms: millis(seen.connect),
        list_ms: millis(seen.list),
        steps: seen
            .steps
            .iter()
            .map(|step| TestStep { at_ms: millis(step.at), what: step.what.clone() })
            .collect(),
        stderr_tail: seen.stderr.clone(),
        noise: seen.noise.0,
        oddities: seen.oddities.clone(),
        problems: seen.problems.iter().map(ProblemRow::from).collect(),
        error: seen.error.as_ref().map(|error| ErrorRow {
            server: Some(subject.name.to_owned()),
            code: error.code(),
            message: error.message(),
            hint: hint(subject, launch, seen),
            retryable: error.is_transient(),
            // All it said is in `stderrTail`.
            last_words: None,
        }),
    }
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn lines(context: &Context, subject: &Subject<'_>, seen: &Examination) -> Vec<String> {
    let mut lines = Vec::new();
    let place = match (&subject.origin.path, subject.origin.line) {
        (Some(path), Some(line)) => format!("{} line {line}", context.env.display(path)),
        (Some(path), None) => context.env.display(path),
        (None, _) if subject.origin.scope == Scope::Environment => "as typed".to_owned(),
        (None, _) => subject.origin.provider.label().to_owned(),
    };
    let transport = subject.spec.transport.as_str();
    let name = excerpt(subject.name, 100);
    lines.push(format!("{STRONG}{name}{STRONG:#}  {transport}  {FAINT}{place}{FAINT:#}"));
    for step in &seen.steps {
        lines.push(format!("{:>8} ms  {}", step.at.as_millis(), visible(&step.what)));
    }
    if seen.error.is_some() {
        lines.push(format!("{BAD}failed{BAD:#} after {} ms", (seen.connect + seen.list).as_millis()));
    }
    lines.extend(facts(seen));
    for oddity in &seen.oddities {
        lines.push(format!("  odd           {}", excerpt(oddity, 300)));
    }
    if seen.noise.0 > 0 {
        let first = seen.noise.1.as_deref().unwrap_or_default();
        let count = seen.noise.0;
        let lines_word = if count == 1 { "line" } else { "lines" };
        lines.push(format!("  noise         {count} {lines_word} on standard output that are no messages"));
        lines.push(format!("                first: {}", excerpt(first, 200)));
    }
    if seen.ending == Some(Ending::Killed) {
        lines.push("  ending        it had to be killed".to_owned());
    }
    let most = if seen.error.is_some() { LAST_WORDS } else { FEW_WORDS };
    lines.extend(last_words(&seen.stderr, most));
    for problem in &seen.problems {
        lines.extend(problem_lines(problem, &context.env));
    }
    lines
}

fn facts(seen: &Examination) -> Vec<String> {
    let Some(facts) = &seen.facts else { return Vec::new() };
    let info = facts.server_info.value();
    let word = |name: &str| info.get(name).and_then(serde_json::Value::as_str).map(|word| excerpt(word, 60));
    let server = [word("name"), word("version")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let era = match facts.era {
        Era::Modern => "no handshake",
        Era::Handshake => "with a handshake",
    };
    let capabilities = match facts.capabilities.value() {
        serde_json::Value::Object(capabilities) => {
            capabilities.keys().map(|name| excerpt(name, 40)).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    };
    let mut lines = Vec::new();
    if seen.error.is_none() {
        let style = GOOD;
        lines.push(format!("{style}works{style:#}"));
    }
    lines.push(format!("  server        {}", if server.is_empty() { "says no name" } else { &server }));
    lines.push(format!("  protocol      {} ({era}), over {}", facts.version, seen.transport.unwrap_or("?")));
    if !capabilities.is_empty() {
        lines.push(format!("  capabilities  {capabilities}"));
    }
    lines.push(format!("  offers        {}", seen.counts));
    lines.push(format!(
        "  times         connect {} ms, list {} ms",
        seen.connect.as_millis(),
        seen.list.as_millis()
    ));
    lines
}

/// The end of what the process said on its standard error.
fn last_words(stderr: &str, most: usize) -> Vec<String> {
    let all: Vec<_> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let hidden = all.len().saturating_sub(most);
    let mut lines = vec!["  standard error".to_owned()];
    if hidden > 0 {
        lines.push(format!("    {FAINT}({hidden} more before, see --json){FAINT:#}"));
    }
    lines.extend(all[hidden..].iter().map(|line| format!("    {}", excerpt(line, 300))));
    lines
}
