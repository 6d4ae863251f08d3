//! `serve`: one MCP server that fronts all the others, over standard input and output or over HTTP.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard::connect::Persistence;
use switchboard::host::{Abilities, Answer, Elicitation, Host, Reply, Root};
use switchboard::json::Json;
use switchboard::session::Session;
use switchboard::{Discovery, Server, State, Transport};
use switchboard_gateway::{Edge, Gateway, Names, Options};
use tokio::net::TcpListener;

use super::{Context, Outcome, connection, online};
use crate::args::Serve;
use crate::error::{CommandError, Kind};

pub(super) fn run(context: &Context, serve: Serve) -> Result<Outcome, CommandError> {
    if serve.raw_names && serve.only.len() != 1 {
        return Err(CommandError::usage("usage", "--raw-names needs --only with one server")
            .hint("switchboard serve --only NAME --raw-names"));
    }
    let discovery = context.discover();
    for name in &serve.only {
        connection::connectable(&discovery, name)?;
    }
    let served = if serve.only.is_empty() {
        online::say_who_waits(context, &discovery);
        others(context, &discovery)
    } else {
        serve.only.clone()
    };
    connection::block_on_input(async {
        let listener = match &serve.http {
            Some(address) => Some(bind(address, serve.token.as_deref()).await?),
            None => None,
        };
        let mut options = online::options(context, &served);
        options.persistence = Persistence::KeepTrying;
        options.host = Arc::new(Nobody { folder: context.env.cwd().to_owned() });
        let session = Session::start(options).await;
        let names = if serve.raw_names { Names::Raw } else { Names::Prefixed };
        let gateway = Gateway::new(session.clone(), Options { names });
        let served = match listener {
            Some(listener) => http(context, &gateway, listener, serve).await,
            None => stdio(&gateway).await,
        };
        session.shutdown().await;
        served.map(|()| Outcome::Done)
    })?
}

/// All servers, or all but those that would start us again, without end. Empty if nothing has to be left out.
fn others(context: &Context, discovery: &Discovery) -> Vec<String> {
    let (own, others): (Vec<&Server>, Vec<&Server>) =
        discovery.servers.iter().partition(|server| is_this(server));
    for server in own.iter().filter(|server| server.state() == State::Enabled) {
        let name = switchboard::visible::excerpt(&server.name, 60);
        context.printer.remark(&format!("left out, since it is this gateway itself: {name}"));
    }
    if own.is_empty() { Vec::new() } else { others.iter().map(|server| server.name.clone()).collect() }
}

/// Whether a server is the gateway, as agents have it in their files.
fn is_this(server: &Server) -> bool {
    let Ok(spec) = &server.definition else { return false };
    let Transport::Stdio(stdio) = &spec.transport else { return false };
    let program = Path::new(stdio.command.raw()).file_stem();
    program.is_some_and(|program| program == "switchboard")
        && stdio.args.iter().any(|arg| arg.raw() == "serve")
}

async fn stdio(gateway: &Gateway) -> Result<(), CommandError> {
    let lost = |error: std::io::Error| CommandError::new(Kind::Failed, "input-output", error.to_string());
    tokio::select! {
        served = gateway.stdio(tokio::io::stdin(), tokio::io::stdout()) => served.map_err(lost),
        () = connection::ended() => Ok(()),
    }
}

async fn http(
    context: &Context,
    gateway: &Gateway,
    listener: TcpListener,
    serve: Serve,
) -> Result<(), CommandError> {
    let lost = |error: std::io::Error| CommandError::new(Kind::Failed, "input-output", error.to_string());
    let address = listener.local_addr().map_err(lost)?;
    context.printer.remark(&format!("listening on http://{address}/mcp"));
    if serve.token.is_some() {
        context
            .printer
            .remark("clients need the header Authorization: Bearer TOKEN, with the token you gave");
    }
    let edge = Edge { token: serve.token, hosts: serve.host };
    gateway.http(listener, edge, connection::ended()).await.map_err(lost)
}

/// Listens. Beyond this machine only with a token.
async fn bind(address: &str, token: Option<&str>) -> Result<TcpListener, CommandError> {
    let cannot = |why: String| {
        CommandError::usage(
            "cannot-listen",
            format!("cannot listen on {}: {why}", switchboard::visible::excerpt(address, 100)),
        )
    };
    let listener = TcpListener::bind(address).await.map_err(|error| cannot(error.to_string()))?;
    let ip: IpAddr = listener.local_addr().map_err(|error| cannot(error.to_string()))?.ip();
    if token.is_none() && !ip.is_loopback() {
        return Err(cannot("without a token only this machine may come in".to_owned())
            .hint("switchboard serve --http HOST:PORT --token TOKEN"));
    }
    Ok(listener)
}

/// Answers what servers ask about no request in particular: there is nobody to ask.
struct Nobody {
    folder: PathBuf,
}

impl Host for Nobody {
    /// Servers are told that they may ask: when they do, it is about a request of a client, and the client is asked.
    fn abilities(&self) -> Abilities {
        Abilities { roots: true, forms: true, urls: true, sampling: true }
    }

    fn roots(&self) -> Vec<Root> {
        vec![Root::new(&self.folder)]
    }

    fn elicit(&self, _question: Elicitation) -> Reply<'_, Answer> {
        Box::pin(std::future::ready(Answer::Decline))
    }

    fn sample(&self, _server: String, _params: Json) -> Reply<'_, Result<Json, String>> {
        Box::pin(std::future::ready(Err("it is not clear which client to ask".to_owned())))
    }
}
