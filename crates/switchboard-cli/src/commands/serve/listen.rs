//! Where a gateway listens: standard input and output, an address, or a socket. Also what it does at a hangup.

use std::io::{self, IsTerminal as _};
use std::net::IpAddr;
use std::time::Duration;

use switchboard::session::Session;
use switchboard::visible::excerpt;
use switchboard_gateway::{Edge, Gateway, Limits, Rate};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::super::streams::{self, Streams};
use super::super::{Context, connection};
use super::token::{self, From, Token};
use crate::args::Serve;
use crate::error::{CommandError, Kind};
#[cfg(unix)]
use crate::socket::{self, Claim};

/// Where clients come in.
pub(super) enum Place {
    Stdio,
    Address(TcpListener, Option<Token>),
    #[cfg(unix)]
    Socket {
        listener: tokio::net::UnixListener,
        claim: Claim,
        address: String,
    },
}

/// Takes the place that was asked for, before anything is started.
pub(super) async fn take(context: &Context, serve: &Serve) -> Result<Place, CommandError> {
    if let Some(address) = &serve.http {
        let token = token::choose(context, serve)?;
        let listener = bind(address, token.as_ref()).await?;
        return Ok(Place::Address(listener, token));
    }
    if let Some(path) = &serve.unix {
        return at_socket(context, path).await;
    }
    if serve.sse || !serve.host.is_empty() {
        return Err(CommandError::usage("usage", "--sse and --host are for HTTP")
            .hint("switchboard serve --http, or --unix PATH"));
    }
    Ok(Place::Stdio)
}

#[cfg(unix)]
async fn at_socket(context: &Context, path: &std::path::Path) -> Result<Place, CommandError> {
    let address = format!("unix:{}", path.display());
    let path = context.env.absolute(path);
    let (listener, claim) = socket::bind(&path).await.map_err(|error| {
        let message = format!("cannot listen on {}: {}", context.env.display(&path), error.message());
        CommandError::usage("cannot-listen", message).hint(error.hint())
    })?;
    Ok(Place::Socket { listener, claim, address })
}

#[cfg(not(unix))]
async fn at_socket(_: &Context, _: &std::path::Path) -> Result<Place, CommandError> {
    let message = "sockets of this kind are not served on this system";
    Err(CommandError::usage("cannot-listen", message).hint("switchboard serve --http"))
}

/// Listens. Beyond this machine only with a token.
async fn bind(address: &str, token: Option<&Token>) -> Result<TcpListener, CommandError> {
    let cannot = |why: String| {
        CommandError::usage("cannot-listen", format!("cannot listen on {}: {why}", excerpt(address, 100)))
    };
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let failed = cannot(error.to_string());
        match what_to_do(address, error.kind()) {
            Some(hint) => failed.hint(hint),
            None => failed,
        }
    })?;
    let ip: IpAddr = listener.local_addr().map_err(|error| cannot(error.to_string()))?.ip();
    if token.is_none() && !ip.is_loopback() {
        return Err(cannot("without a token only this machine may come in".to_owned())
            .hint("switchboard serve --http HOST:PORT --token makes one; --token-file FILE takes yours"));
    }
    Ok(listener)
}

/// What to do where nobody can listen.
fn what_to_do(address: &str, why: io::ErrorKind) -> Option<&'static str> {
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let is_host = !host.is_empty() && (!host.contains(':') || host.starts_with('['));
    if why == io::ErrorKind::AddrInUse {
        return Some("another program has that port: choose another one, or use --http alone for a free one");
    }
    let is_whole = is_host && port.parse::<u16>().is_ok();
    let form = "HOST:PORT is meant, for example --http localhost:8080; --http alone takes a free port";
    (!is_whole).then_some(form)
}

impl Place {
    /// How others would call it.
    pub(super) fn address(&self) -> Option<String> {
        match self {
            Self::Stdio => None,
            Self::Address(listener, _) => {
                listener.local_addr().ok().map(|address| format!("http://{address}/mcp"))
            }
            #[cfg(unix)]
            Self::Socket { address, .. } => Some(address.clone()),
        }
    }

    /// Serves until it is over.
    pub(super) async fn serve(
        self,
        context: &Context,
        gateway: &Gateway,
        serve: &Serve,
        gone: CancellationToken,
    ) -> Result<(), CommandError> {
        let lost = |error: io::Error| CommandError::new(Kind::Failed, "input-output", error.to_string());
        // Before anything is said: whoever reads it may end us at once.
        let ended = connection::ended();
        let over = async move {
            tokio::select! {
                () = ended => {}
                () = gone.cancelled() => {}
            }
        };
        if let Some(address) = self.address() {
            context.printer.remark(&format!("listening on {address}"));
            if let Self::Address(_, token) = &self {
                tell(context, token.as_ref());
            }
            // If somebody reads it, it is out before anybody is served.
            context.printer.flush();
        }
        match self {
            Self::Stdio => {
                if io::stdin().is_terminal() {
                    say_what_it_waits_for(context);
                }
                let Streams { input, output, modes } = streams::standard();
                let served = tokio::select! {
                    served = gateway.stdio(input, output) => served.map_err(lost),
                    () = over => Ok(()),
                };
                drop(modes);
                served
            }
            Self::Address(listener, token) => {
                let edge = edge(serve, token.map(|token| token.text));
                gateway.http(listener, edge, over).await.map_err(lost)
            }
            #[cfg(unix)]
            Self::Socket { listener, claim, .. } => {
                let served = gateway.unix(listener, edge(serve, None), over).await.map_err(lost);
                drop(claim);
                served
            }
        }
    }
}

fn edge(serve: &Serve, token: Option<String>) -> Edge {
    let rate = (serve.rate > 0).then(|| Rate::per_second(serve.rate));
    let idle = Duration::from_secs(serve.session_idle.into());
    let limits = Limits { rate, idle, ..Limits::default() };
    Edge { token, hosts: serve.host.clone(), sse: serve.sse, limits }
}

/// Whoever types it sees nothing otherwise, and does not know why.
fn say_what_it_waits_for(context: &Context) {
    let how = "an agent is meant to start it: switchboard install --into TOOL";
    context.printer.remark(&format!("speaking MCP on standard input and output; {how}"));
    context.printer.remark("Ctrl-C or Ctrl-D ends it");
}

/// What clients need. A token that was given is known already, and shown to nobody.
fn tell(context: &Context, token: Option<&Token>) {
    let given = "clients need the header Authorization: Bearer TOKEN, with the token you gave";
    match token {
        None => {}
        Some(Token { text, from: From::Made }) => {
            // Otherwise nobody could ever come in.
            context.printer.urge(&format!("clients need the header Authorization: Bearer {text}"));
        }
        Some(Token { from: From::Hidden, .. }) => context.printer.remark(given),
        Some(Token { from: From::Argument, .. }) => {
            context.printer.remark(given);
            context.printer.remark(
                "others on this machine can see it in the list of processes; --token-file FILE hides it",
            );
        }
    }
}

/// Reads the configuration again at each hangup. If it was our terminal that hung up, we are to end instead.
#[cfg(unix)]
pub(super) async fn heed_hangups(
    context: &Context,
    (session, gateway): (&Session, &Gateway),
    gone: &CancellationToken,
) {
    use tokio::signal::unix::{SignalKind, signal};

    use crate::control::Changes;
    let Ok(mut hangups) = signal(SignalKind::hangup()) else { return };
    let had_terminal = crate::terminal::is_seen();
    while hangups.recv().await.is_some() {
        if had_terminal && !crate::terminal::is_there() {
            gone.cancel();
            return;
        }
        let changes = Changes::from(gateway.reload().await).beside(&session.discovery());
        let words = changes.words(&context.env);
        context.printer.remark(&format!("read the configuration again: {words}"));
    }
}

#[cfg(not(unix))]
pub(super) async fn heed_hangups(_: &Context, _: (&Session, &Gateway), _: &CancellationToken) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_is_told_its_form() {
        let check = |address: &str, is_told: bool| {
            let hint = what_to_do(address, io::ErrorKind::InvalidInput);
            assert_eq!(hint.is_some_and(|hint| hint.contains("HOST:PORT")), is_told, "{address}");
        };
        check("localhost", true);
        check("8080", true);
        check(":8080", true);
        check("localhost:", true);
        check("localhost:http", true);
        check("127.0.0.1:70000", true);
        check("::1", true);
        check("[::1]:8080", false);
        check("nowhere.example:8080", false);
    }
}
