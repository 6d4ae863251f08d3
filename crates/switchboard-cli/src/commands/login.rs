//! `reauth` and `unauth`: logging in to a server, and out.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::json;
use switchboard::auth::{Facts, Place, Standing, Wishes};
use switchboard::connect::Persistence;
use switchboard::declared::Limit;
use switchboard::resolve::{Launch, Subject, Target};
use switchboard::session::{NoLogin, Options, Session};
use switchboard::visible::{shell_word, visible};
use switchboard::wire::{self, Cause};
use switchboard::{Discovery, Env, Explain, ServerSpec, Transport};

use super::{Context, Outcome, connection, online, test};
use crate::args::Reauth;
use crate::error::{CommandError, Kind};
use crate::progress::Progress;
use crate::report::{LoggedIn, LoginRow};
use crate::terminal;
use crate::visitor::{Browser, Visitor};

/// Logs in, whatever was there before.
pub(super) fn reauth(context: &Context, args: &Reauth) -> Result<Outcome, CommandError> {
    let progress = progress(context, &args.name);
    let options = options(context, &args.name, &progress, |spec| {
        // Nobody is asked where a program logs in as itself.
        let is_alone = spec.conduct.oauth.as_ref().is_some_and(|oauth| oauth.is_alone());
        browser(args.no_browser || is_alone)
    })?;
    let scopes = args.scope.iter().flat_map(|scope| scope.split_whitespace()).map(str::to_owned).collect();
    let wishes = Wishes { scopes };
    let facts = in_session(context, options, &progress, async |session| {
        progress.say(format!("asking where to log in to \"{}\"", args.name));
        login(session, &args.name, &wishes).await
    })?;
    told(context, &args.name, &facts)?;
    Ok(Outcome::Done)
}

/// Forgets a login.
pub(super) fn unauth(context: &Context, name: &str) -> Result<Outcome, CommandError> {
    let progress = progress(context, name);
    let options = options(context, name, &progress, |_| Ok(Browser::Elsewhere))?;
    let was_there = in_session(context, options, &progress, async |session| {
        progress.say(format!("logging out of \"{name}\""));
        session.logout(name).await.map_err(|why| error(name, &why))
    })?;
    told_out(context, name, was_there)?;
    Ok(Outcome::Done)
}

/// Says that nobody is logged in any more.
pub(crate) fn told_out(context: &Context, name: &str, was_there: bool) -> Result<(), CommandError> {
    if context.printer.json {
        context.printer.json(&json!({"name": name, "loggedOut": was_there}))?;
    } else if was_there {
        context.printer.remark(&format!("Logged out of \"{name}\""));
    } else {
        context.printer.remark(&format!("Nobody was logged in to \"{name}\""));
    }
    Ok(())
}

/// Where a login would be made for a server; nowhere if its entry has a credential of its own, or wants none.
pub(super) fn place(launch: &Launch) -> Option<Place> {
    match &launch.target {
        Target::Remote(address) => Place::of(&launch.server, address),
        Target::Child(_) => None,
    }
}

/// What a server says about the login it wants.
pub(super) fn challenge(error: &wire::Error) -> Option<&str> {
    match &error.cause {
        Cause::Unauthorized { challenge, .. } => challenge.as_deref(),
        _ => None,
    }
}

/// Offers the login that a server asks for. True if somebody logged in.
pub(super) async fn offer(
    context: &Context,
    launch: &Launch,
    challenge: Option<&str>,
) -> Result<bool, CommandError> {
    let Some(place) = place(launch) else { return Ok(false) };
    let name = &launch.server;
    let failed = |why: switchboard::auth::Error| error(name, &NoLogin::from(why));
    let keys = connection::keys(context);
    let issuer = keys.issuer(&place, challenge).await.map_err(failed)?;
    let question = format!("\"{}\" wants a login. Log in at {} now?", visible(name), visible(&issuer));
    if !context.ask().confirm(&question, true).await? {
        return Ok(false);
    }
    let visitor = Visitor::new(&context.printer, &context.env, Browser::Open);
    let wishes = Wishes::default();
    let done = tokio::select! {
        done = keys.login(&place, challenge, (&visitor, &wishes)) => done.map_err(failed),
        () = context.stopped() => {
            Err(CommandError::new(Kind::Interrupted, "interrupted", "stopped; nobody logged in"))
        }
    };
    keys.settle().await;
    let facts = done?;
    context.printer.remark(&format!("Logged in to \"{name}\" at {}{}", facts.issuer, sentence(&facts)));
    Ok(true)
}

/// How long somebody who just added a server waits for it.
const PATIENCE: u64 = 10_000;

/// Tries a server at an address that was just added, and offers the login it asks for. What was added stays, whatever
/// comes out of it.
pub(super) fn welcome(context: &Context, name: &str, path: &Path) {
    let word = shell_word(name);
    if !context.can_ask() {
        context.printer.remark(&format!("If it wants a login: switchboard reauth {word}"));
        return;
    }
    let later = || context.printer.remark(&format!("Log in later: switchboard reauth {word}"));
    match try_it(context, name, path) {
        Ok(true) => {}
        Ok(false) => later(),
        Err(error) if error.kind == Kind::Interrupted => later(),
        Err(error) => {
            let (message, lines) = error.lines(Some(&context.env));
            context.printer.remark(&format!("warning: {message}"));
            for line in lines {
                context.printer.remark(&format!("  {line}"));
            }
        }
    }
}

/// False if it wants a login and nobody wanted to log in.
fn try_it(context: &Context, name: &str, path: &Path) -> Result<bool, CommandError> {
    let discovery = context.discover();
    // Another definition counts: that one was not added here.
    if discovery.server(name).is_none_or(|server| server.origin.path.as_deref() != Some(path)) {
        return Ok(true);
    }
    let (server, spec) = connection::connectable(&discovery, name)?;
    let subject = Subject { name, spec, origin: &server.origin, project: &discovery.project, token: None };
    let (seen, launch) = test::attempt(context, &subject, Some(Limit::from_millis(PATIENCE)), None)?;
    let Some(error) = &seen.error else {
        context.printer.remark(&format!("It works: {}", seen.counts));
        return Ok(true);
    };
    if error.needs_login() && place(&launch).is_some() {
        return connection::block_on(offer(context, &launch, challenge(error)))?;
    }
    Err(test::failure(&subject, &launch, &seen)
        .reworded(|message| launch.secrets.scrub(message).into_owned()))
}

/// Who is logged in to a server, from what is kept: nothing is run or asked for it.
pub(super) fn standing(env: &Env, subject: &Subject<'_>) -> Standing {
    switchboard::auth::Keys::of(env, switchboard::auth::Options::default()).standing(subject, env)
}

/// The status of a server at an address, as far as its login decides it: the word if it is not `ready`, and the detail.
pub(super) fn status(name: &str, standing: Standing) -> Option<(&'static str, String)> {
    let how = format!("switchboard reauth {}", shell_word(name));
    match standing {
        Standing::Unknown | Standing::Out { is_wanted: false } => None,
        Standing::Out { is_wanted: true } => Some((NEEDS_LOGIN, how)),
        Standing::In(facts) if facts.works => Some(("ready", logged_in(&facts))),
        Standing::In(facts) => {
            let issuer = visible(&facts.issuer).into_owned();
            Some((NEEDS_LOGIN, format!("the login at {issuer} was refused or is over: {how}")))
        }
        Standing::Unusable(problem) => Some((NEEDS_LOGIN, problem.message)),
    }
}

/// The same for somebody who wants to know about one server.
pub(super) fn line(name: &str, standing: &Standing) -> Option<String> {
    match standing {
        Standing::Out { is_wanted: true } => {
            Some(format!("nobody is logged in: switchboard reauth {}", shell_word(name)))
        }
        Standing::In(facts) if facts.works => {
            Some(visible(&format!("{}{}", facts.issuer, sentence(facts))).into_owned())
        }
        other => status(name, other.clone()).map(|(_, detail)| detail),
    }
}

const NEEDS_LOGIN: &str = "needs login";

/// Who is logged in, in words.
pub(super) fn logged_in(facts: &Facts) -> String {
    visible(&format!("logged in at {}{}", facts.issuer, sentence(facts))).into_owned()
}

/// Whether a browser may be opened. Never without a terminal.
fn browser(no_browser: bool) -> Result<Browser, CommandError> {
    if no_browser {
        return Ok(Browser::Elsewhere);
    }
    if terminal::is_interactive() {
        return Ok(Browser::Open);
    }
    let message = "logging in needs a person at a terminal";
    Err(CommandError::usage("no-terminal", message)
        .hint("with --no-browser the address is printed, and read back"))
}

/// Shown until there is a page to show.
fn progress(context: &Context, name: &str) -> Arc<Progress> {
    Arc::new(Progress::new(&format!("connecting to \"{name}\""), &context.printer))
}

fn options(
    context: &Context,
    name: &str,
    progress: &Arc<Progress>,
    browser: impl FnOnce(&ServerSpec) -> Result<Browser, CommandError>,
) -> Result<Options, CommandError> {
    let discovery = context.discover();
    let browser = browser(logs_in(&discovery, name)?)?;
    let mut options = online::options(context, &[name.to_owned()]);
    options.persistence = Persistence::OneShot;
    options.host = Arc::new(Visitor::new(&context.printer, &context.env, browser).after(progress));
    Ok(options)
}

/// The server, if one could log in to it at all.
pub(crate) fn logs_in<'d>(discovery: &'d Discovery, name: &str) -> Result<&'d ServerSpec, CommandError> {
    let (_, spec) = connection::connectable(discovery, name)?;
    if matches!(spec.transport, Transport::Stdio(_)) {
        let message = format!("Server \"{name}\" is a stdio server: it manages its own credentials");
        return Err(CommandError::usage("no-login", message).server(name));
    }
    Ok(spec)
}

fn in_session<T>(
    context: &Context,
    options: Options,
    progress: &Progress,
    work: impl AsyncFnOnce(&Session) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    connection::block_on(progress.during(async {
        let session = Session::start(options).await;
        // What it says when it refuses us names where to log in.
        session.settled(None).await;
        let done = tokio::select! {
            done = work(&session) => done,
            () = context.stopped() => Err(CommandError::stopped()),
        };
        session.shutdown().await;
        done
    }))?
}

pub(crate) async fn login(session: &Session, name: &str, wishes: &Wishes) -> Result<Facts, CommandError> {
    let facts = session.login(name, wishes).await.map_err(|why| error(name, &why))?;
    // A login that lets nobody in is none.
    let status =
        session.wait_for(name, |status| status.is_settled() && status.fault().is_none_or(|_| true)).await;
    match status.as_ref().and_then(|status| status.fault()) {
        Some(fault) if fault.needs_login() => {
            let message = format!("the login worked, and \"{name}\" still refuses it: {}", fault.message);
            Err(CommandError::new(Kind::LoginNeeded, "login-refused", message).server(name))
        }
        _ => Ok(facts),
    }
}

/// Why there is no login, in the words of the contract.
pub(crate) fn error(name: &str, why: &NoLogin) -> CommandError {
    match why {
        NoLogin::Unknown => CommandError::usage("server-not-found", format!("there is no server \"{name}\"")),
        NoLogin::NotThere => {
            let message =
                format!("Server \"{name}\" has a credential of its own in its entry, or wants none");
            CommandError::usage("no-login", message).hint(format!(
                "see what it sends: switchboard why {}",
                switchboard::visible::shell_word(name)
            ))
        }
        NoLogin::Unresolved(error) => CommandError::explained(Kind::Usage, &**error),
        NoLogin::Failed(error) => {
            let message = match error.code() {
                "endpoints-unknown" | "login-timeout" => error.message(),
                _ => format!("OAuth authentication failed: {}", error.message()),
            };
            let hint = error.hint().map(|hint| hint.replace("NAME", &switchboard::visible::shell_word(name)));
            {
                let failed = CommandError::new(Kind::LoginNeeded, error.code(), message);
                match hint {
                    Some(hint) => failed.hint(hint),
                    None => failed,
                }
            }
        }
    }
    .server(name)
}

pub(crate) fn told(context: &Context, name: &str, facts: &Facts) -> Result<(), CommandError> {
    if context.printer.json {
        let login = LoggedIn { name, login: LoginRow::from(facts) };
        return Ok(context.printer.json(&login)?);
    }
    context.printer.remark(&format!("Logged in to \"{name}\" at {}{}", facts.issuer, sentence(facts)));
    Ok(())
}

/// How long a login holds, what it allows and how it is kept, in words.
pub(crate) fn sentence(facts: &Facts) -> String {
    let holds = match (
        facts.is_renewable,
        facts.until.and_then(|until| until.duration_since(SystemTime::now()).ok()),
    ) {
        (true, _) => ", renewed by itself".to_owned(),
        (false, Some(left)) => format!(", for {} more", span(left.as_secs())),
        (false, None) if facts.until.is_some() => ", which is over".to_owned(),
        (false, None) => String::new(),
    };
    let rights =
        if facts.scopes.is_empty() { String::new() } else { format!("; rights: {}", facts.scopes.join(" ")) };
    let kept = if facts.is_sealed { "sealed with a key of the keyring" } else { "kept in a private file" };
    format!("{holds}{rights}; {kept}")
}

fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86400),
    }
}
