//! One MCP server that fronts all the others: a [`Session`](switchboard::session::Session), served over standard input
//! and output or over HTTP, in either protocol, whatever the servers behind it speak.
//!
//! From the outside in: `stdio` and `http` carry messages; `route` answers what we know and finds the server for the rest;
//! `extensions` are methods not every server has; `call` passes requests on and brings questions back; `park` keeps what waits
//! for an answer; `seats` decides which connection a request goes over, `own` has those that are a client's own; `approval` asks
//! where a rule says so; `levels` are those of logs; `view` and `rewrite` are names and addresses, both ways; `facet` and `views`
//! are which part of it a client sees, `pages` how lists go out, `hint` how long they may be kept, `instructions` what is said of
//! them, `search` three tools instead of all; `reads` remembers resources; `hub` is what all clients share; `client` is one of
//! them; `rpc` is the envelope; `metrics` is what is counted.
//!
//! Results pass through as they came. Nothing here decides what a server may be asked: that is the session's.

mod approval;
mod call;
mod client;
mod extensions;
mod facet;
#[doc(hidden)]
pub mod fuzzing;
mod hint;
mod http;
mod hub;
mod instructions;
mod levels;
mod metrics;
mod own;
mod pages;
mod park;
mod reads;
mod rewrite;
mod route;
mod rpc;
mod search;
mod seats;
mod stdio;
mod tell;
mod view;
mod views;
mod waited;

use std::sync::Arc;

use switchboard::connect::Changes;
use switchboard::session::Session;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use hub::Hub;

pub use http::{Edge, Limits, Rate};
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

    /// Serves clients over HTTP at `/mcp`, and each profile at `/mcp/NAME`, until told to stop.
    pub async fn http(
        &self,
        listener: TcpListener,
        edge: Edge,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        http::serve(&self.hub, listener, edge, stop).await
    }

    /// The same at a socket of this machine. Only processes of the same user may come in, and they need no token.
    #[cfg(unix)]
    pub async fn unix(
        &self,
        listener: tokio::net::UnixListener,
        edge: Edge,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        http::serve(&self.hub, listener, Edge { token: None, ..edge }, stop).await
    }

    /// Reads the configuration again, and has clients see what is different then, also where only settings changed.
    pub async fn reload(&self) -> Changes {
        self.hub.reload().await
    }

    /// How many clients there are now.
    pub fn n_clients(&self) -> usize {
        self.hub.present().len()
    }

    /// Ends what would otherwise never end: clients that listen are told that it is over.
    pub fn close(&self) {
        self.hub.close();
    }
}
