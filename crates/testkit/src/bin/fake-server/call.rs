//! One message that came in, and the way back to who sent it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

use crate::action::Repeat;
use crate::http::reply::Reply;
use crate::http::request::Request;
use crate::http::sse::Outlet;
use crate::script::Era;
use crate::server::Server;

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Where messages go.
pub(crate) enum Port {
    Stdio(Arc<Server>),
    /// The answer to a POST, or to a GET or DELETE.
    Reply(Reply),
    /// The stream of the old transport; the POST itself may still wait for its answer.
    Outlet(Outlet, Option<Reply>),
}

/// A message, or an HTTP request without one, for which a list of actions is played.
pub(crate) struct Call {
    pub(crate) server: Arc<Server>,
    pub(crate) port: Port,
    /// The method; for an HTTP request without a message `GET`, `DELETE` or such as `GET /other`.
    pub(crate) method: String,
    /// Null for a notification.
    pub(crate) id: Value,
    pub(crate) params: Value,
    pub(crate) http: Option<Request>,
    /// Whether there is no message at all, but a GET, a DELETE or a request to another path.
    pub(crate) bare: bool,
    /// The session, or another name for those who share the state of a handshake.
    pub(crate) scope: String,
    /// Whether this message is of the era without a handshake.
    pub(crate) modern: bool,
    /// The client's last answer to a question.
    pub(crate) answer: Value,
    pub(crate) cancel: Arc<Notify>,
}

impl Call {
    pub(crate) fn new(server: Arc<Server>, message: &Value, port: Port, scope: &str) -> Self {
        let get = |name: &str| message.get(name).cloned().unwrap_or(Value::Null);
        let params = get("params");
        let has_version = params.get("_meta").is_some_and(|meta| meta.get(VERSION_KEY).is_some());
        let modern = match server.script.era {
            Era::Legacy => false,
            Era::Modern => true,
            Era::Both => has_version,
        };
        let id = get("id");
        let cancel = server.begin(scope, &id);
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (scope, answer) = (scope.to_owned(), Value::Null);
        Self { server, port, method, id, params, http: None, bare: false, scope, modern, answer, cancel }
    }

    /// Whether nobody waits for an answer.
    pub(crate) fn is_notification(&self) -> bool {
        self.id.is_null()
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) -> io::Result<()> {
        self.port.message(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    /// Asks the client. The answer is the whole message.
    pub(crate) async fn ask(&mut self, id: Value, method: &str, params: Option<Value>) -> io::Result<Value> {
        let answer = self.server.expect(&id);
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        self.port.message(&message).await?;
        answer.await.map_err(io::Error::other)
    }
}

impl Port {
    /// The HTTP exchange, as long as it can be decided how it ends.
    pub(crate) fn reply(&mut self) -> Option<&mut Reply> {
        match self {
            Self::Stdio(_) => None,
            Self::Reply(reply) => Some(reply),
            Self::Outlet(_, reply) => reply.as_mut(),
        }
    }

    /// Says that the message was taken, where the answer comes on another way.
    async fn accept(&mut self) -> io::Result<()> {
        match self {
            Self::Outlet(_, Some(reply)) => reply.accept().await,
            _ => Ok(()),
        }
    }

    /// Sends a message; an answer to HTTP stays open for more.
    pub(crate) async fn message(&mut self, message: &Value) -> io::Result<()> {
        self.accept().await?;
        match self {
            Self::Stdio(server) => say(server, format!("{message}\n").as_bytes()).await,
            Self::Reply(reply) => reply.message(message).await,
            Self::Outlet(outlet, _) => outlet.message(message).await,
        }
    }

    /// Sends the answer to a request.
    pub(crate) async fn answer(&mut self, message: &Value, status: u16) -> io::Result<()> {
        match self {
            Self::Reply(reply) => reply.answer(message, status).await,
            _ => self.message(message).await,
        }
    }

    /// Sends bytes as they are: a part of the stream if there is one, else a part of the connection.
    pub(crate) async fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.accept().await?;
        match self {
            Self::Stdio(server) => say(server, bytes).await,
            Self::Reply(reply) => reply.raw(bytes).await,
            Self::Outlet(outlet, _) => outlet.bytes(bytes.to_vec()).await,
        }
    }

    pub(crate) async fn repeat(&mut self, repeat: &Repeat) -> io::Result<()> {
        for (block, times) in blocks(repeat) {
            for _ in 0..times {
                self.raw(&block).await?;
            }
        }
        Ok(())
    }

    /// Sends bytes one at a time.
    pub(crate) async fn drip(&mut self, bytes: &[u8], pause: Duration) -> io::Result<()> {
        if let Self::Stdio(server) = self {
            // One lock for all, so that no other message comes in between.
            let mut stdout = server.stdout.lock().await;
            for byte in bytes {
                stdout.write_all(&[*byte]).await?;
                stdout.flush().await?;
                tokio::time::sleep(pause).await;
            }
            return Ok(());
        }
        for byte in bytes {
            self.raw(&[*byte]).await?;
            tokio::time::sleep(pause).await;
        }
        Ok(())
    }

    /// Ends what was opened.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        self.accept().await?;
        match self {
            Self::Reply(reply) => reply.finish().await,
            _ => Ok(()),
        }
    }
}

/// The tool that a call of one names.
pub(crate) fn tool(params: &Value) -> Option<&str> {
    params.get("name")?.as_str()
}

/// Writes to the standard output in one piece.
async fn say(server: &Server, bytes: &[u8]) -> io::Result<()> {
    let mut stdout = server.stdout.lock().await;
    stdout.write_all(bytes).await?;
    stdout.flush().await
}

/// The copies as a few large blocks: many small writes would take minutes.
pub(crate) fn blocks(repeat: &Repeat) -> Vec<(Vec<u8>, u64)> {
    let length = u64::try_from(repeat.text.len()).unwrap_or(u64::MAX).max(1);
    let at_once = (65_536 / length).max(1);
    let block = |copies: u64| repeat.text.repeat(usize::try_from(copies).unwrap_or(0)).into_bytes();
    let blocks = [(at_once, repeat.times / at_once), (repeat.times % at_once, 1)];
    let used = blocks.into_iter().filter(|(copies, times)| *copies > 0 && *times > 0);
    used.map(|(copies, times)| (block(copies), times)).collect()
}
