//! The end of a session or gateway that runs: takes a request at a time and answers it. Whoever hangs holds up nobody.

use std::time::Duration;

use switchboard::session::Session;
use switchboard::visible::excerpt;
use switchboard_gateway::Gateway;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Answer, Changes, LONGEST, Refusal, Reply, Request, Row, Standing, Who, ask, dir};
use crate::commands::{Context, connection, online};
use crate::error::{CommandError, Kind};
use crate::socket::{self, Claim};

/// So many are talked to at once.
const AT_ONCE: usize = 16;
/// So long one of them has.
const PATIENCE: Duration = Duration::from_secs(30);

/// What can be reached.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    who: Who,
    session: Session,
    gateway: Option<Gateway>,
}

impl Served {
    pub(crate) fn session(context: &Context, session: &Session) -> Self {
        Self { who: this(context, "session", None), session: session.clone(), gateway: None }
    }

    pub(crate) fn gateway(
        context: &Context,
        session: &Session,
        gateway: &Gateway,
        address: Option<String>,
    ) -> Self {
        let who = this(context, "gateway", address);
        Self { who, session: session.clone(), gateway: Some(gateway.clone()) }
    }
}

fn this(context: &Context, kind: &str, address: Option<String>) -> Who {
    Who {
        pid: std::process::id(),
        kind: kind.to_owned(),
        directory: context.env.cwd().display().to_string(),
        address,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Can be reached as long as this lives.
#[derive(Debug)]
pub(crate) struct Control {
    _claim: Claim,
    // Ends with it.
    _task: JoinSet<()>,
}

/// Lets commands reach this process. If that cannot be had it is said, and all else goes on.
pub(crate) async fn open(context: &Context, served: Served) -> Option<Control> {
    let dir = dir(&context.env);
    ask::sweep(&dir).await;
    match socket::bind(&dir.join(format!("{}.sock", served.who.pid))).await {
        Ok((listener, claim)) => {
            let mut task = JoinSet::new();
            task.spawn(attend(listener, served));
            Some(Control { _claim: claim, _task: task })
        }
        Err(error) => {
            let place = context.env.display(&dir);
            let why = error.message();
            context.printer.remark(&format!("`switchboard reload` cannot reach this: {place}: {why}"));
            None
        }
    }
}

async fn attend(listener: UnixListener, served: Served) {
    let mut talks = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if talks.len() < AT_ONCE && socket::is_ours(&stream) => {
                    let served = served.clone();
                    talks.spawn(async move {
                        // Who takes too long is left alone.
                        drop(timeout(PATIENCE, talk(stream, &served)).await);
                    });
                }
                Ok(_) => {}
                // There may be no room for another open file right now.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            Some(_) = talks.join_next(), if !talks.is_empty() => {}
        }
    }
}

async fn talk(mut stream: UnixStream, served: &Served) -> std::io::Result<()> {
    let (input, mut output) = stream.split();
    let mut line = String::new();
    BufReader::new(input.take(LONGEST)).read_line(&mut line).await?;
    let reply = match serde_json::from_str(&line) {
        Ok(request) => obey(request, served).await,
        Err(_) => Reply::Refused(Refusal {
            exit: Kind::Failed as u8,
            message: "it does not understand what is wanted; is it of another version?".to_owned(),
            hint: None,
        }),
    };
    let answer = Answer { who: served.who.clone(), reply };
    let mut text = serde_json::to_vec(&answer)?;
    text.push(b'\n');
    output.write_all(&text).await
}

async fn obey(request: Request, served: &Served) -> Reply {
    let session = &served.session;
    match request {
        Request::Status => Reply::Status(Standing {
            servers: session.servers().into_iter().map(Row::from).collect(),
            clients: served.gateway.as_ref().map(Gateway::n_clients),
        }),
        Request::Reload => {
            let changes = match &served.gateway {
                Some(gateway) => gateway.reload().await,
                None => session.reload().await,
            };
            Reply::Reload(Changes::from(changes).beside(&session.discovery()))
        }
        Request::Reconnect { server } => match reconnect(served, &server).await {
            Ok(row) => Reply::Reconnect(row),
            Err(error) => {
                let (message, _) = error.lines(None);
                Reply::Refused(Refusal { exit: error.kind as u8, message, hint: error.what_to_do() })
            }
        },
    }
}

async fn reconnect(served: &Served, name: &str) -> Result<Row, CommandError> {
    let session = &served.session;
    connection::connectable(&session.discovery(), name)?;
    let is_here = online::reconnect(session, name).await;
    online::settle(session, &[name.to_owned()]).await;
    let report = session.servers().into_iter().find(|report| report.name == name);
    report.filter(|_| is_here).map(Row::from).ok_or_else(|| {
        let shown = excerpt(name, 100);
        CommandError::usage("server-not-found", format!("Server \"{shown}\" is not one of those it serves"))
    })
}
