//! The transport of 2024-11-05: one stream for all messages of the server, another address for the client's.

use std::io;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::call::{Call, Port};
use crate::http::event;
use crate::http::request::Request;
use crate::server::{Server, lock};

enum Out {
    Bytes(Vec<u8>),
    Cut,
}

/// The way to an open stream. It is short: a flood waits for the client instead of filling the memory.
#[derive(Clone)]
pub(crate) struct Outlet(mpsc::Sender<Out>);

impl Outlet {
    async fn send(&self, out: Out) -> io::Result<()> {
        self.0.send(out).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    pub(crate) async fn bytes(&self, bytes: Vec<u8>) -> io::Result<()> {
        self.send(Out::Bytes(bytes)).await
    }

    pub(crate) async fn message(&self, message: &Value) -> io::Result<()> {
        self.bytes(event::message(message).into_bytes()).await
    }

    pub(crate) async fn cut(&self) -> io::Result<()> {
        self.send(Out::Cut).await
    }
}

/// The session a message belongs to and its stream, if both are alive.
pub(crate) fn outlet(server: &Server, request: &Request) -> Option<(String, Outlet)> {
    let session = request.query.strip_prefix("session=")?;
    let outlet = lock(&server.outlets).get(session).cloned()?;
    (!outlet.0.is_closed()).then(|| (session.to_owned(), outlet))
}

/// Opens the stream, tells where messages go, and passes on what comes.
pub(crate) async fn stream(call: &mut Call) -> io::Result<()> {
    let server = Arc::clone(&call.server);
    let Port::Reply(reply) = &mut call.port else { return Ok(()) };
    let session = server.number().to_string();
    let (sender, mut receiver) = mpsc::channel(16);
    lock(&server.outlets).insert(session.clone(), Outlet(sender));
    let mut broadcasts = server.listen();
    reply.open_exact().await?;
    let endpoint = format!("event: endpoint\ndata: /message?session={session}\n\n");
    reply.raw(endpoint.as_bytes()).await?;
    loop {
        tokio::select! {
            out = receiver.recv() => match out {
                Some(Out::Bytes(bytes)) => reply.raw(&bytes).await?,
                Some(Out::Cut) | None => return reply.cut().await,
            },
            Some(message) = broadcasts.recv() => {
                reply.raw(event::message(&message).as_bytes()).await?;
            }
        }
    }
}
