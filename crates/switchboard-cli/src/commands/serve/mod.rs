//! `serve`: one MCP server that fronts all the others, over standard input and output or over HTTP.

mod follow;
mod listen;
mod token;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard::connect::Persistence;
use switchboard::declared::is_gateway;
use switchboard::host::{Abilities, Host, Reply, Root};
use switchboard::json::Json;
use switchboard::session::{Except, Session};
use switchboard::sources::watch::FilesChanged;
use switchboard::{Discovery, Server, State, Transport};
use switchboard_gateway::{Gateway, Names, Options};
use tokio_util::sync::CancellationToken;

use super::{Context, Outcome, connection, online};
use crate::args::Serve;
use crate::control::{self, Served};
use crate::error::CommandError;

pub(super) fn run(context: &Context, serve: &Serve) -> Result<Outcome, CommandError> {
    if serve.raw_names && serve.only.len() != 1 {
        return Err(CommandError::usage("usage", "--raw-names needs --only with one server")
            .hint("switchboard serve --only NAME --raw-names"));
    }
    let discovery = context.discover();
    let is_this: Except = Arc::new(is_gateway_entry);
    for name in &serve.only {
        connection::connectable(&discovery, name)?;
    }
    if let Some(name) = &serve.profile {
        known_profile(&discovery, name)?;
    }
    online::say_what_is_lost(context, &discovery);
    if serve.only.is_empty() {
        online::say_who_waits(context, &discovery);
        say_who_is_left_out(context, &discovery, &is_this);
    }
    connection::block_on_input(async {
        let place = listen::take(context, serve).await?;
        let mut options = online::options(context, &serve.only);
        options.except = Some(is_this);
        options.persistence = Persistence::KeepTrying;
        options.host = Arc::new(Nobody { folder: context.env.cwd().to_owned() });
        // Before they are read, so that no change goes unseen.
        let watched = (!serve.no_watch).then(|| FilesChanged::new(&context.env));
        let session = Session::start(options).await;
        let events = session.events();
        let names = if serve.raw_names { Names::Raw } else { Names::Prefixed };
        let usual = Options::default();
        let idle = usual.idle.min(Duration::from_secs(serve.session_idle.into()));
        let gateway = Gateway::new(
            session.clone(),
            Options { names, search: serve.search, profile: serve.profile.clone(), idle },
        );
        let reachable = Served::gateway(context, &session, &gateway, place.address());
        let control = control::open(context, reachable).await;
        let gone = CancellationToken::new();
        let hangups = async {
            listen::heed_hangups(context, (&session, &gateway), &gone).await;
            std::future::pending().await
        };
        let files = async {
            if let Some(files) = watched {
                follow::files(context, files, (&session, &gateway)).await;
            }
            std::future::pending().await
        };
        let servers = async {
            follow::servers(context, &session, events).await;
            std::future::pending().await
        };
        // These first: whoever reads that we listen may send a hangup, or change a file.
        let served = tokio::select! {
            biased;
            never = hangups => never,
            never = files => never,
            served = place.serve(context, &gateway, serve, gone.clone()) => served,
            never = servers => never,
        };
        drop(control);
        session.shutdown().await;
        served.map(|()| Outcome::Done)
    })?
}

/// A profile of the settings, or an error that names those there are.
fn known_profile(discovery: &Discovery, name: &str) -> Result<(), CommandError> {
    let names: Vec<&str> =
        discovery.settings.gateway.profiles.iter().map(|profile| profile.name.as_str()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let message = format!("there is no profile `{}`", switchboard::visible::excerpt(name, 60));
    let hint = if names.is_empty() {
        "profiles stand under `gateway.profiles` in ~/.switchboard/settings.json".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    };
    Err(CommandError::usage("unknown-profile", message).hint(hint))
}

/// Says which servers would start us again, without end, and are left out for that.
fn say_who_is_left_out(context: &Context, discovery: &Discovery, is_this: &Except) {
    let own = discovery.servers.iter().filter(|server| is_this(server) && server.state() == State::Enabled);
    for server in own {
        let name = switchboard::visible::excerpt(&server.name, 60);
        context.printer.remark(&format!("left out, since it is this gateway itself: {name}"));
    }
}

/// Whether a server of the user's own files is the gateway. What agents have in theirs was set aside before.
fn is_gateway_entry(server: &Server) -> bool {
    let Ok(spec) = &server.definition else { return false };
    let Transport::Stdio(stdio) = &spec.transport else { return false };
    is_gateway(&stdio.command, &stdio.args)
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

    fn sample(&self, _server: String, _params: Json) -> Reply<'_, Result<Json, String>> {
        Box::pin(std::future::ready(Err("it is not clear which client to ask".to_owned())))
    }
}
