//! `reauth` and `unauth`: logging in to a server, and out.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use switchboard::auth::{Facts, Wishes};
use switchboard::connect::Persistence;
use switchboard::session::{NoLogin, Options, Session};
use switchboard::{Explain, Transport};

use super::{Context, Outcome, connection, online};
use crate::args::Reauth;
use crate::error::{CommandError, Kind};
use crate::terminal;
use crate::visitor::{Browser, Visitor};

/// Logs in, whatever was there before.
pub(super) fn reauth(context: &Context, args: &Reauth) -> Result<Outcome, CommandError> {
    let browser = browser(args.no_browser)?;
    let options = options(context, &args.name, browser)?;
    let scopes = args.scope.iter().flat_map(|scope| scope.split_whitespace()).map(str::to_owned).collect();
    let wishes = Wishes { scopes };
    let facts = in_session(options, async |session| login(session, &args.name, &wishes).await)?;
    told(context, &args.name, &facts)
}

/// Forgets a login.
pub(super) fn unauth(context: &Context, name: &str) -> Result<Outcome, CommandError> {
    let options = options(context, name, Browser::Elsewhere)?;
    let was_there =
        in_session(options, async |session| session.logout(name).await.map_err(|why| error(name, &why)))?;
    if context.printer.json {
        context.printer.json(&json!({"name": name, "loggedOut": was_there})).map_err(CommandError::from)?;
    } else if was_there {
        context.printer.remark(&format!("Logged out of \"{name}\""));
    } else {
        context.printer.remark(&format!("Nobody was logged in to \"{name}\""));
    }
    Ok(Outcome::Done)
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

fn options(context: &Context, name: &str, browser: Browser) -> Result<Options, CommandError> {
    let discovery = context.discover();
    let (_, spec) = connection::connectable(&discovery, name)?;
    if matches!(spec.transport, Transport::Stdio(_)) {
        let message = format!("Server \"{name}\" is a stdio server: it manages its own credentials");
        return Err(CommandError::usage("no-login", message).server(name));
    }
    let mut options = online::options(context, &[name.to_owned()]);
    options.persistence = Persistence::OneShot;
    options.host = Arc::new(Visitor::new(&context.printer, &context.env, browser));
    Ok(options)
}

fn in_session<T>(
    options: Options,
    work: impl AsyncFnOnce(&Session) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    connection::block_on(async {
        let session = Session::start(options).await;
        // What it says when it refuses us names where to log in.
        session.settled(None).await;
        let done = tokio::select! {
            done = work(&session) => done,
            () = connection::ctrl_c() => Err(CommandError::stopped()),
        };
        session.shutdown().await;
        done
    })?
}

async fn login(session: &Session, name: &str, wishes: &Wishes) -> Result<Facts, CommandError> {
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
pub(super) fn error(name: &str, why: &NoLogin) -> CommandError {
    match why {
        NoLogin::Unknown => CommandError::usage("no-such-server", format!("there is no server \"{name}\"")),
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

fn told(context: &Context, name: &str, facts: &Facts) -> Result<Outcome, CommandError> {
    if context.printer.json {
        let until =
            facts.until.and_then(|until| until.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs());
        let login = json!({"name": name, "issuer": facts.issuer, "expiresAt": until, "scopes": facts.scopes,
            "renewable": facts.is_renewable});
        context.printer.json(&login).map_err(CommandError::from)?;
        return Ok(Outcome::Done);
    }
    context.printer.remark(&format!("Logged in to \"{name}\" at {}{}", facts.issuer, sentence(facts)));
    Ok(Outcome::Done)
}

/// How long a login holds and what it allows, in words.
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
    format!("{holds}{rights}")
}

fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86400),
    }
}
