//! One MCP server that fronts all the others: a [`Session`](switchboard::session::Session), served over standard input
//! and output or over HTTP, in either protocol, whatever the servers behind it speak.
//!
//! From the outside in: `stdio` and `http` carry messages; `route` answers what we know and finds the server for the rest;
//! `extensions` are methods not every server has; `call` passes requests on and brings questions back; `park` keeps what waits for an answer; `view` and `rewrite` are
//! names and addresses, both ways; `hub` is what all clients share; `client` is one of them; `rpc` is the envelope.
//!
//! Results pass through as they came. Nothing here decides what a server may be asked: that is the session's.

mod call;
mod client;
mod extensions;
mod http;
mod hub;
mod park;
mod rewrite;
mod route;
mod rpc;
mod stdio;
mod view;

use std::sync::Arc;

use switchboard::session::Session;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use hub::Hub;

pub use http::Edge;
pub use hub::Options;
pub use view::Names;

/// A session as one MCP server. Clones share it.
#[derive(Debug, Clone)]
pub struct Gateway {
    hub: Arc<Hub>,
}

impl Gateway {
    /// Puts a gateway in front of a session.
    pub fn new(session: Session, options: Options) -> Self {
        Self { hub: Hub::start(session, options) }
    }

    /// Serves one client over a pair of streams, a message a line, until it leaves.
    pub async fn stdio(
        &self,
        input: impl AsyncRead + Send + Unpin,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> std::io::Result<()> {
        stdio::serve(&self.hub, input, output).await
    }

    /// Serves clients over HTTP at `/mcp`, until told to stop.
    pub async fn http(
        &self,
        listener: TcpListener,
        edge: Edge,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        http::serve(&self.hub, listener, edge, stop).await
    }

    /// Ends what would otherwise never end: clients that listen are told that it is over.
    pub fn close(&self) {
        self.hub.close();
    }
}
