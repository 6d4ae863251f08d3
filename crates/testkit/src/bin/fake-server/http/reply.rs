//! The answer to one HTTP request: plain, or a stream of events, whole or torn.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;

use crate::http::event;
use crate::http::kept::Kept;
use crate::server::{Server, lock};

/// The writing half of a connection, with its faults.
pub(crate) struct Wire {
    out: OwnedWriteHalf,
    /// One byte at a time, with this pause after each.
    pub(crate) drip: Option<Duration>,
    /// How many bytes may still pass.
    limit: Option<usize>,
    dead: bool,
}

impl Wire {
    pub(crate) fn new(out: OwnedWriteHalf) -> Self {
        Self { out, drip: None, limit: None, dead: false }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.dead {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let allowed = self.limit.map_or(bytes.len(), |limit| limit.min(bytes.len()));
        if let Some(pause) = self.drip {
            for byte in &bytes[..allowed] {
                self.out.write_all(&[*byte]).await?;
                tokio::time::sleep(pause).await;
            }
        } else {
            self.out.write_all(&bytes[..allowed]).await?;
        }
        if let Some(limit) = &mut self.limit {
            *limit -= allowed;
            if *limit == 0 {
                return self.cut().await;
            }
        }
        Ok(())
    }

    async fn cut(&mut self) -> io::Result<()> {
        self.dead = true;
        self.out.shutdown().await
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was sent.
    Fresh,
    /// A stream of events has begun.
    Open,
    /// The answer is complete.
    Done,
    /// Who knows what was sent; the connection cannot be used again.
    Spoilt,
}

pub(crate) struct Reply {
    server: Arc<Server>,
    pub(crate) wire: Wire,
    state: State,
    /// Headers of every proper answer.
    pub(crate) extra: Vec<(String, String)>,
    events: bool,
    quiet: bool,
    limit_of_body: Option<usize>,
    kept: Option<Arc<Kept>>,
    stream: u64,
    sent: usize,
}

pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Whatever",
    }
}

impl Reply {
    pub(crate) fn new(server: Arc<Server>, wire: Wire) -> Self {
        let events = server.script.events;
        Self {
            server,
            wire,
            state: State::Fresh,
            extra: Vec::new(),
            events,
            quiet: false,
            limit_of_body: None,
            kept: None,
            stream: 0,
            sent: 0,
        }
    }

    /// The connection, if it can take another request.
    pub(crate) fn into_wire(self) -> Option<Wire> {
        (self.state == State::Done && !self.wire.dead).then_some(self.wire)
    }

    /// More than one message is to come.
    pub(crate) fn use_events(&mut self) {
        self.events = true;
    }

    /// There will be no answer, because the call was cancelled.
    pub(crate) fn say_nothing(&mut self) {
        self.quiet = true;
    }

    /// The connection breaks after so many bytes.
    pub(crate) fn limit(&mut self, bytes: usize, of_body: bool) {
        if of_body {
            self.limit_of_body = Some(bytes);
        } else {
            self.wire.limit = Some(bytes);
        }
    }

    async fn head(&mut self, status: u16, headers: &[(String, String)]) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        for (name, value) in headers.iter().chain(&self.extra) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.wire.write(head.as_bytes()).await?;
        self.wire.limit = self.limit_of_body.take().or(self.wire.limit);
        Ok(())
    }

    /// A complete answer with these headers. Those about the body's length are added unless they are given.
    pub(crate) async fn whole(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        body: &[u8],
    ) -> io::Result<()> {
        let framed = |name: &str| ["content-length", "transfer-encoding"].contains(&name);
        let own = headers.iter().any(|(name, _)| framed(&name.to_ascii_lowercase()));
        let mut headers = headers.to_vec();
        if !own {
            headers.push(("Content-Length".to_owned(), body.len().to_string()));
        }
        self.head(status, &headers).await?;
        self.wire.write(body).await?;
        // Who gives the length of the body may well lie about it.
        self.state = if own { State::Spoilt } else { State::Done };
        Ok(())
    }

    pub(crate) async fn accept(&mut self) -> io::Result<()> {
        match self.state {
            State::Fresh => self.whole(202, &[], b"").await,
            _ => Ok(()),
        }
    }

    /// Begins a stream of events of which the script says everything.
    pub(crate) async fn open_exact(&mut self) -> io::Result<()> {
        if self.state != State::Fresh {
            return Ok(());
        }
        let headers = [
            ("Content-Type", "text/event-stream"),
            ("Cache-Control", "no-cache"),
            ("Transfer-Encoding", "chunked"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.head(200, &headers).await?;
        self.state = State::Open;
        Ok(())
    }

    async fn open(&mut self) -> io::Result<()> {
        if self.state != State::Fresh {
            return Ok(());
        }
        self.open_exact().await?;
        self.stream = self.server.number();
        if self.server.script.resumable {
            let kept = Arc::new(Kept::default());
            lock(&self.server.kept).insert(self.stream, Arc::clone(&kept));
            self.kept = Some(kept);
            // An id without a message, so that there is something to resume from at once.
            let id = self.next_id().unwrap_or_default();
            self.event(format!("id: {id}\ndata:\n\n")).await?;
        }
        Ok(())
    }

    fn next_id(&mut self) -> Option<String> {
        let script = &self.server.script;
        let id = (script.event_ids || script.resumable).then(|| format!("{}-{}", self.stream, self.sent));
        self.sent += 1;
        id
    }

    async fn event(&mut self, text: String) -> io::Result<()> {
        let written = self.chunk(text.as_bytes()).await;
        match &self.kept {
            // Whoever lost the connection will ask for it.
            Some(kept) => {
                kept.push(text);
                Ok(())
            }
            None => written,
        }
    }

    async fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            // An empty chunk would end the stream.
            return Ok(());
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.wire.write(&chunk).await
    }

    /// A message with more to come.
    pub(crate) async fn message(&mut self, message: &Value) -> io::Result<()> {
        self.open().await?;
        if self.state != State::Open {
            return Ok(());
        }
        let id = self.next_id();
        self.event(event::numbered(message, id)).await
    }

    /// The answer: JSON if nothing else is asked for and nothing came before.
    pub(crate) async fn answer(&mut self, message: &Value, status: u16) -> io::Result<()> {
        let plain = self.state == State::Fresh && (status != 200 || !self.events);
        if !plain {
            return self.message(message).await;
        }
        let kind = ("Content-Type".to_owned(), "application/json".to_owned());
        self.whole(status, &[kind], message.to_string().as_bytes()).await
    }

    pub(crate) async fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.state == State::Open {
            return self.chunk(bytes).await;
        }
        self.state = State::Spoilt;
        self.wire.write(bytes).await
    }

    /// Breaks the connection. A stream that is kept goes on without it.
    pub(crate) async fn cut(&mut self) -> io::Result<()> {
        if self.kept.is_none() {
            self.state = State::Spoilt;
        }
        self.wire.cut().await
    }

    /// Ends what was begun; without anything to say, the message was taken.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        if let Some(kept) = self.kept.take() {
            kept.end();
        }
        if self.state == State::Fresh && self.quiet {
            self.open_exact().await?;
        }
        match self.state {
            State::Fresh => self.accept().await,
            State::Open => {
                self.state = State::Done;
                self.wire.write(b"0\r\n\r\n").await
            }
            State::Done | State::Spoilt => Ok(()),
        }
    }
}
