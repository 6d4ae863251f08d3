//! Plays the actions of a script for one call, in order.

use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};

use crate::action::{Action, Event, Payload, Repeat, Step};
use crate::answers;
use crate::call::{Call, Port, blocks, tool};
use crate::http::event;
use crate::http::vices;
use crate::process;
use crate::script::Transport;

impl Call {
    /// Plays what the script says of this call, or behaves well; then ends the answer.
    pub(crate) async fn run(mut self) -> Port {
        let server = std::sync::Arc::clone(&self.server);
        let default = [Action::Default];
        let is_request = !self.bare && !self.is_notification();
        let actions = server.actions(&self.method, tool(&self.params), is_request).unwrap_or(&default);
        // Who behaves well in the end notes it then.
        if self.method == "tools/call" && !actions.iter().any(Action::is_default) {
            server.ran(&self.params);
        }
        if let Port::Reply(reply) = &mut self.port
            && actions.iter().filter(|action| action.is_message()).count() > 1
        {
            reply.use_events();
        }
        // A connection that broke is the client's business; there is nobody left to tell.
        drop(self.play(actions).await);
        drop(self.port.finish().await);
        server.done(&self.scope, &self.id);
        self.port
    }

    pub(crate) async fn play(&mut self, actions: &[Action]) -> io::Result<()> {
        for action in actions {
            if action.is_http() {
                self.web(action).await?;
            } else if action.is_message() {
                self.speak(action).await?;
            } else {
                self.misbehave(action).await?;
            }
        }
        Ok(())
    }

    async fn speak(&mut self, action: &Action) -> io::Result<()> {
        match action {
            Action::Default => answers::default(self).await,
            Action::Result(result) => {
                let message = json!({"jsonrpc": "2.0", "id": self.id, "result": self.fill(result)});
                self.port.answer(&message, 200).await
            }
            Action::Error(error) => {
                let message = json!({"jsonrpc": "2.0", "id": self.id, "error": self.fill(error)});
                self.port.answer(&message, 200).await
            }
            Action::Message(message) => {
                let message = self.fill(message);
                self.port.answer(&message, 200).await
            }
            Action::Notify(notification) => {
                let message = self.notification(notification);
                self.port.message(&message).await
            }
            Action::Request(request) => {
                let request = self.fill(request);
                let id = request.get("id").cloned();
                let id = id.unwrap_or_else(|| json!(format!("fake-{}", self.server.number())));
                let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
                self.answer = self.ask(id, method, request.get("params").cloned()).await?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn misbehave(&mut self, action: &Action) -> io::Result<()> {
        match action {
            Action::Broadcast(notification) => {
                let message = self.notification(notification);
                let heard = self.server.broadcast(&message).await;
                if !heard && self.server.script.transport == Transport::Stdio {
                    self.port.message(&message).await?;
                }
            }
            Action::Sleep(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
            Action::Exit(code) => std::process::exit(*code),
            Action::Signal(name) => process::raise(name)?,
            Action::Hang { all } if *all || matches!(self.port, Port::Stdio(_)) => process::freeze(),
            Action::Hang { .. } => std::future::pending().await,
            // Over HTTP the question stays open until the client gives up.
            Action::Silent if matches!(self.port, Port::Reply(_)) => std::future::pending().await,
            Action::Forget => self.server.forget(),
            Action::Raw(text) => self.port.raw(self.fill_text(text).as_bytes()).await?,
            Action::Repeat(repeat) => self.port.repeat(repeat).await?,
            Action::Stderr(text) => io::stderr().write_all(text.as_bytes())?,
            Action::StderrRepeat(repeat) => stderr(repeat).await?,
            Action::DripText { text, ms } => {
                let text = self.fill_text(text);
                self.port.drip(text.as_bytes(), Duration::from_millis(*ms)).await?;
            }
            Action::DripResult { result, ms } => self.drip(result, Duration::from_millis(*ms)).await?,
            Action::CloseStdout => {
                // Nobody may be in the middle of a line.
                let _stdout = self.server.stdout.lock().await;
                process::close_stdout()?;
            }
            Action::Fork(kind) => process::fork(*kind)?,
            _ => {}
        }
        Ok(())
    }

    async fn drip(&mut self, result: &Value, pause: Duration) -> io::Result<()> {
        let message = json!({"jsonrpc": "2.0", "id": self.id, "result": self.fill(result)});
        match &mut self.port {
            Port::Reply(reply) => {
                reply.wire.drip = Some(pause);
                let done = reply.answer(&message, 200).await;
                reply.wire.drip = None;
                done
            }
            Port::Stdio(_) => self.port.drip(format!("{message}\n").as_bytes(), pause).await,
            Port::Outlet(..) => self.port.drip(event::message(&message).as_bytes(), pause).await,
        }
    }

    async fn web(&mut self, action: &Action) -> io::Result<()> {
        if let Action::Sse(steps) = action {
            return self.sse(steps).await;
        }
        if let (Action::Cut, Port::Outlet(outlet, _)) = (action, &mut self.port) {
            return outlet.cut().await;
        }
        let id = self.id.clone();
        let filled = match action {
            Action::Status { headers, body, .. } => {
                let headers: Vec<_> =
                    headers.iter().map(|(name, value)| (name.clone(), self.fill(value))).collect();
                (headers, body.as_ref().map(|body| self.fill(body)))
            }
            _ => Default::default(),
        };
        let Some(reply) = self.port.reply() else { return Ok(()) };
        match action {
            Action::Status { status, .. } => {
                vices::status(reply, *status, &filled.0, filled.1.as_ref()).await
            }
            Action::Cut => reply.cut().await,
            Action::CutAfter { bytes, of_body } => {
                reply.limit(*bytes, *of_body);
                let done = answers::default(self).await;
                if let Some(reply) = self.port.reply() {
                    reply.cut().await?;
                }
                done
            }
            Action::GzipBomb(size) => vices::gzip_bomb(reply, &id, *size).await,
            Action::EndlessHeaders => vices::endless_headers(reply).await,
            Action::Accept => reply.accept().await,
            _ => Ok(()),
        }
    }

    async fn sse(&mut self, steps: &[Step]) -> io::Result<()> {
        if let Port::Reply(reply) = &mut self.port {
            reply.open_exact().await?;
        }
        for step in steps {
            match step {
                Step::Event(event) => {
                    let text = self.event(event);
                    self.port.raw(text.as_bytes()).await?;
                }
                Step::Sleep(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
                Step::Raw(text) => self.port.raw(self.fill_text(text).as_bytes()).await?,
                Step::Repeat(repeat) => self.port.repeat(repeat).await?,
                Step::Cut => {
                    return match &mut self.port {
                        Port::Outlet(outlet, _) => outlet.cut().await,
                        port => match port.reply() {
                            Some(reply) => reply.cut().await,
                            None => Ok(()),
                        },
                    };
                }
                Step::Hang => std::future::pending().await,
            }
        }
        match &mut self.port {
            Port::Reply(reply) => reply.finish().await,
            _ => Ok(()),
        }
    }

    fn event(&self, part: &Event) -> String {
        let data = part.data.as_ref().map(|payload| match payload {
            Payload::Data(value) => bare(&self.fill(value)),
            Payload::Result(value) => {
                json!({"jsonrpc": "2.0", "id": self.id, "result": self.fill(value)}).to_string()
            }
            Payload::Error(value) => {
                json!({"jsonrpc": "2.0", "id": self.id, "error": self.fill(value)}).to_string()
            }
        });
        event::render(part, data.as_deref())
    }

    fn notification(&self, notification: &Value) -> Value {
        let mut message = json!({"jsonrpc": "2.0"});
        if let Value::Object(parts) = self.fill(notification) {
            parts.into_iter().for_each(|(key, value)| message[key] = value);
        }
        message
    }

    /// Puts the request's values where the script names them.
    fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.named(text).unwrap_or_else(|| value.clone()),
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(parts) => {
                parts.iter().map(|(key, value)| (key.clone(), self.fill(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// A text as it is; a value of the request as JSON.
    fn fill_text(&self, text: &str) -> String {
        self.named(text).map_or_else(|| text.to_owned(), |value| value.to_string())
    }

    /// The value of `$id`, `$params.x.y` or `$answer.x.y`; any other text stands for itself.
    fn named(&self, text: &str) -> Option<Value> {
        let mut path = text.strip_prefix('$')?.split('.');
        let mut value = match path.next()? {
            "id" => &self.id,
            "params" => &self.params,
            "answer" => &self.answer,
            _ => return None,
        };
        for key in path {
            let index = key.parse::<usize>().ok().filter(|_| value.is_array());
            let inner = index.map_or_else(|| value.get(key), |index| value.get(index));
            value = inner.unwrap_or(&Value::Null);
        }
        Some(value.clone())
    }
}

/// A text as it is, anything else as JSON.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Floods the standard error. On another thread, so that a full pipe stops this call only.
async fn stderr(repeat: &Repeat) -> io::Result<()> {
    let blocks = blocks(repeat);
    let write = move || {
        for (block, times) in blocks {
            for _ in 0..times {
                io::stderr().write_all(&block)?;
            }
        }
        Ok(())
    };
    tokio::task::spawn_blocking(write).await.map_err(io::Error::other)?
}
