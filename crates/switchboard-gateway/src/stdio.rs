//! One client over standard input and output. Both protocols may be spoken on the same pipe: a request says which.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use switchboard::json::Json;
use switchboard::wire::Era;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::client::{Client, Stay};
use crate::hub::Hub;
use crate::metrics::{self, Metrics};
use crate::route;
use crate::rpc::{self, INVALID_REQUEST, Message, Request, RpcError};

/// The longest message.
const LONGEST: usize = 16 * 1024 * 1024;
/// Messages that wait to be written.
const OUTBOX: usize = 256;
/// Bytes that are worth a write of their own.
const LONG: usize = 64 * 1024;
/// Requests of one client at the same time.
const AT_ONCE: usize = 1024;

pub(crate) async fn serve(
    hub: &Arc<Hub>,
    input: impl AsyncRead + Send + Unpin,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> std::io::Result<()> {
    let (client, mail) = hub.welcome(Stay::Connected);
    let (out, outbox) = mpsc::channel(OUTBOX);
    let writer = tokio::spawn(write(output, (outbox, mail), Arc::clone(&hub.metrics)));
    let mut conversation = Conversation { hub, client: &client, out, running: JoinSet::new() };
    let read = conversation.read(input).await;
    let Conversation { mut running, out, .. } = conversation;
    drop(out);
    // Who closed its end may still want what it asked for, but can neither be asked nor stop listening.
    client.hung_up.cancel();
    while running.join_next().await.is_some() {}
    hub.farewell(&client).await;
    drop(client);
    // The reason why it could not be written is that nobody reads.
    let _gone = writer.await;
    read
}

struct Conversation<'a> {
    hub: &'a Arc<Hub>,
    client: &'a Arc<Client>,
    out: mpsc::Sender<Bytes>,
    running: JoinSet<()>,
}

impl Conversation<'_> {
    async fn read(&mut self, mut input: impl AsyncRead + Send + Unpin) -> std::io::Result<()> {
        let mut buffer = BytesMut::with_capacity(64 * 1024);
        let mut is_skipping = false;
        loop {
            let seen = buffer.len();
            let n_read = input.read_buf(&mut buffer).await?;
            if n_read == 0 {
                return Ok(());
            }
            self.hub.metrics.received(n_read);
            let mut from = seen;
            while let Some(at) = buffer[from..].iter().position(|byte| *byte == b'\n') {
                let line = buffer.split_to(from + at + 1).freeze();
                from = 0;
                if std::mem::take(&mut is_skipping) {
                    continue;
                }
                self.line(line.slice(..line.len() - 1)).await;
            }
            if buffer.len() > LONGEST {
                buffer.clear();
                if !std::mem::replace(&mut is_skipping, true) {
                    let error = RpcError::new(INVALID_REQUEST, "the message is longer than 16 MiB");
                    self.send(rpc::failure(None, &error)).await;
                }
            }
        }
    }

    async fn line(&mut self, line: Bytes) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        while self.running.try_join_next().is_some() {}
        for message in rpc::decode(&line) {
            match message {
                Ok(Message::Request(request)) => self.request(request).await,
                Ok(Message::Notification { method, params }) => self.told(&method, &params).await,
                Ok(Message::Response { id, outcome }) => self.client.answered(&id, outcome),
                Err(error) => self.send(rpc::failure(None, &error)).await,
            }
        }
    }

    async fn told(&self, method: &str, params: &Json) {
        route::told(self.hub, self.client, method, params).await;
    }

    async fn request(&mut self, request: Request) {
        let stop = CancellationToken::new();
        let era = route::era(&request);
        let refused = match &era {
            Err(error) => Some(error.clone()),
            Ok(Era::Handshake) if !self.is_ready_for(&request.method) => {
                Some(RpcError::new(INVALID_REQUEST, "`initialize` comes first"))
            }
            Ok(_) if self.running.len() >= AT_ONCE => {
                Some(RpcError::new(rpc::INTERNAL, format!("more than {AT_ONCE} requests at once")))
            }
            Ok(_) if !self.client.begin(&request.id, &stop) => {
                Some(RpcError::new(INVALID_REQUEST, "a request with this id is under way"))
            }
            Ok(_) => None,
        };
        let (Ok(era), None) = (era, &refused) else {
            let error = refused.unwrap_or_else(|| RpcError::new(INVALID_REQUEST, "not now"));
            return self.send(rpc::failure(Some(&request.id), &error)).await;
        };
        let caller = route::caller(self.hub, self.client, &request, era, self.out.clone());
        let (hub, out) = (Arc::clone(self.hub), self.out.clone());
        // The handshake decides what follows it, so it is not overtaken.
        if request.method == "initialize" {
            let outcome = metrics::answer(&hub, &caller, &request).await;
            self.client.end(&request.id);
            return self.send(rpc::answer(&request.id, &outcome)).await;
        }
        self.running.spawn(async move {
            let outcome = tokio::select! {
                outcome = metrics::answer(&hub, &caller, &request) => Some(outcome),
                () = stop.cancelled() => None,
            };
            caller.client.end(&request.id);
            // A request that was taken back gets no answer.
            if let Some(outcome) = outcome {
                let _gone = out.send(rpc::answer(&request.id, &outcome)).await;
            }
        });
    }

    fn is_ready_for(&self, method: &str) -> bool {
        matches!(method, "initialize" | "ping") || self.client.greeting.get().is_some()
    }

    async fn send(&self, text: Bytes) {
        let _gone = self.out.send(text).await;
    }
}

/// Writes what is to be said, in order, until there is nobody left to say anything.
async fn write(
    mut output: impl AsyncWrite + Send + Unpin,
    (mut outbox, mut mail): (mpsc::Receiver<Bytes>, mpsc::Receiver<Bytes>),
    metrics: Arc<Metrics>,
) -> std::io::Result<()> {
    let mut text = BytesMut::new();
    let mut has_mail = true;
    loop {
        let first = tokio::select! {
            biased;
            line = outbox.recv() => line,
            line = mail.recv(), if has_mail => {
                has_mail = line.is_some();
                match line {
                    Some(line) => Some(line),
                    None => continue,
                }
            }
        };
        let Some(line) = first else { break };
        // What is long goes out from where it is.
        if line.len() >= LONG {
            output.write_all(&line).await?;
        } else {
            text.extend_from_slice(&line);
        }
        text.extend_from_slice(b"\n");
        // Whatever is ready goes out in one piece.
        while text.len() < LONG
            && let Ok(line) = outbox.try_recv()
        {
            text.extend_from_slice(&line);
            text.extend_from_slice(b"\n");
        }
        metrics.sent(text.len());
        output.write_all_buf(&mut text).await?;
        output.flush().await?;
    }
    output.shutdown().await
}
