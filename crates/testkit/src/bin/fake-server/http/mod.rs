//! HTTP/1.1 by hand: connections in, calls out. Which path means what depends on the transport.

pub(crate) mod event;
pub(crate) mod kept;
pub(crate) mod login;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod sse;
pub(crate) mod streamable;
pub(crate) mod vices;

use std::io::{self, Read};
use std::pin::pin;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};

use crate::call::{Call, Port, tool};
use crate::script::Transport;
use crate::server::Server;
use crate::stdio;
use reply::{Reply, Wire};
use request::Request;

/// Listens, tells where, and serves until the standard input ends.
pub(crate) async fn serve(server: Arc<Server>) -> io::Result<()> {
    stdio::aside(&server).play(&server.script.start).await?;
    let listener = TcpListener::bind(("127.0.0.1", server.script.port)).await?;
    let path = if server.script.transport == Transport::Sse { "/sse" } else { "/mcp" };
    let url = format!("http://{}{path}\n", listener.local_addr()?);
    let mut stdout = server.stdout.lock().await;
    stdout.write_all(url.as_bytes()).await?;
    stdout.flush().await?;
    drop(stdout);
    if !server.script.stay {
        // A thread of its own, so that it works even when everything else hangs.
        std::thread::spawn(|| {
            drop(io::stdin().read_to_end(&mut Vec::new()));
            std::process::exit(0);
        });
    }
    for number in 1_u64.. {
        let (stream, _) = listener.accept().await?;
        server.log(&json!({"connection": number}));
        let server = Arc::clone(&server);
        tokio::spawn(async move { drop(connection(server, stream, number).await) });
    }
    Ok(())
}

async fn connection(server: Arc<Server>, stream: TcpStream, number: u64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (read, write) = stream.into_split();
    let mut visit = Visit { server, number, reader: BufReader::new(read) };
    let mut wire = Wire::new(write);
    while let Some(request) = request::read(&mut visit.reader).await? {
        let is_last = request.header("connection") == Some("close");
        let Some(again) = visit.take(request, wire).await.filter(|_| !is_last) else { break };
        wire = again;
    }
    Ok(())
}

/// Returns when the client has closed the connection.
async fn gone(reader: &mut BufReader<OwnedReadHalf>) {
    if matches!(reader.fill_buf().await, Ok(bytes) if !bytes.is_empty()) {
        // The next request is here already, so the client is too.
        std::future::pending::<()>().await;
    }
}

/// One connection of a client.
struct Visit {
    server: Arc<Server>,
    number: u64,
    reader: BufReader<OwnedReadHalf>,
}

impl Visit {
    /// Serves one request. Gives the connection back if it can take another.
    async fn take(&mut self, request: Request, wire: Wire) -> Option<Wire> {
        let message: Option<Value> = serde_json::from_slice(&request.body).ok();
        let mut line = json!({"http": request.describe()});
        if let Some(message) = &message {
            line["message"] = message.clone();
        } else if !request.body.is_empty() {
            line["text"] = json!(String::from_utf8_lossy(&request.body));
        }
        self.server.log(&line);
        let mut reply = Reply::new(Arc::clone(&self.server), wire);
        let refused = self.server.script.login.as_ref().and_then(|login| login.answer(&request));
        if let Some((status, headers, body)) = refused {
            return finished(reply.whole(status, &headers, &body).await, reply);
        }
        let call = match (self.server.script.transport, request.verb.as_str(), request.path.as_str()) {
            (Transport::Sse, "POST", "/message") => return self.message(request, message, reply).await,
            (Transport::Sse, verb, "/sse") => self.bare(verb.to_owned(), request, reply),
            (Transport::Sse, verb, path) => self.bare(format!("{verb} {path}"), request, reply),
            (_, "POST", "/mcp") => return self.message(request, message, reply).await,
            (_, verb, "/mcp") => self.bare(verb.to_owned(), request, reply),
            (_, verb, path) => self.bare(format!("{verb} {path}"), request, reply),
        };
        self.attend(call).await
    }

    /// A call for a request without a message for us.
    fn bare(&self, name: String, request: Request, reply: Reply) -> Call {
        let scope = streamable::scope(&self.server, &request);
        let mut call = Call::new(Arc::clone(&self.server), &Value::Null, Port::Reply(reply), &scope);
        call.method = name;
        call.bare = true;
        call.http = Some(request);
        call
    }

    async fn message(&mut self, request: Request, message: Option<Value>, mut reply: Reply) -> Option<Wire> {
        let old = self.server.script.transport == Transport::Sse;
        let outlet = if old { sse::outlet(&self.server, &request) } else { None };
        if old && outlet.is_none() {
            return finished(reply.whole(404, &[], b"Session not found").await, reply);
        }
        let Some(message) = message else {
            let error = json!({"code": -32700, "message": "Parse error"});
            let done = reply.answer(&json!({"jsonrpc": "2.0", "error": error, "id": null}), 400).await;
            return finished(done, reply);
        };
        if message.get("method").is_none() {
            self.server.answered(message);
            return finished(reply.accept().await, reply);
        }
        let Some((scope, outlet)) = outlet else {
            let (scope, session) = streamable::enter(&self.server, &request, &message);
            reply.extra.extend(session.map(|id| ("Mcp-Session-Id".to_owned(), id)));
            let mut call = Call::new(Arc::clone(&self.server), &message, Port::Reply(reply), &scope);
            call.http = Some(request);
            return self.attend(call).await;
        };
        if message["method"] == "initialize" {
            self.server.set_ready(&scope);
        }
        let method = message["method"].as_str().unwrap_or_default();
        if self.server.speaks_http(method, tool(&message["params"])) {
            let port = Port::Outlet(outlet, Some(reply));
            return self.attend(Call::new(Arc::clone(&self.server), &message, port, &scope)).await;
        }
        // The answer comes on the stream; this connection is free at once.
        let call = Call::new(Arc::clone(&self.server), &message, Port::Outlet(outlet, None), &scope);
        let done = reply.accept().await;
        tokio::spawn(call.run());
        finished(done, reply)
    }

    /// Plays a call and watches the client at the same time.
    async fn attend(&mut self, call: Call) -> Option<Wire> {
        // In the modern era to close the stream is to cancel. Before, a call goes on without its client.
        let goes_on = !call.modern && !call.bare;
        let mut play = pin!(call.run());
        let port = tokio::select! {
            biased;
            port = &mut play => port,
            () = gone(&mut self.reader) => {
                self.server.log(&json!({"closed": self.number}));
                if !goes_on {
                    return None;
                }
                play.await
            }
        };
        match port {
            Port::Reply(reply) | Port::Outlet(_, Some(reply)) => reply.into_wire(),
            Port::Stdio(_) | Port::Outlet(_, None) => None,
        }
    }
}

fn finished(done: io::Result<()>, reply: Reply) -> Option<Wire> {
    done.ok().and_then(|()| reply.into_wire())
}
