//! Plain clients: lines on pipes, and HTTP/1.1 by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Fake, FakeScript};

pub(crate) const MODERN: &str = "2026-07-28";

pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A request of the era without a handshake.
pub(crate) fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(id, method, params)
}

pub(crate) fn initialize() -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    request(0, "initialize", params)
}

pub(crate) fn call(id: u64, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// A server on pipes.
pub(crate) struct Pipes {
    pub(crate) script: FakeScript,
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: BufReader<ChildStdout>,
}

impl Pipes {
    pub(crate) fn start(script: Value) -> Self {
        Self::with_vars(script, &[])
    }

    pub(crate) fn with_vars(script: Value, vars: &[(&str, &str)]) -> Self {
        let script = Fake::script(script);
        let mut command = script.command();
        command.envs(vars.iter().copied());
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { script, child, stdin, stdout }
    }

    /// A server that has been greeted.
    pub(crate) fn ready(script: Value) -> Self {
        let mut pipes = Self::start(script);
        assert!(pipes.ask(&initialize())["result"].is_object());
        pipes
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The next line; empty at the end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn receive(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.receive()
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The head of an HTTP answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// A connection to a server.
pub(crate) struct Connection {
    pub(crate) reader: BufReader<TcpStream>,
    pub(crate) headers: Vec<(String, String)>,
    /// What was read of a chunked body and not taken yet.
    left: Vec<u8>,
}

pub(crate) fn authority(url: &str) -> &str {
    url.trim_start_matches("http://").split('/').next().unwrap()
}

impl Connection {
    pub(crate) fn to(fake: &Fake) -> Self {
        let stream = TcpStream::connect(authority(fake.url())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let headers =
            [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Self { reader: BufReader::new(stream), headers, left: Vec::new() }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn send(&mut self, verb: &str, path: &str, body: &str) {
        let mut text = format!("{verb} {path} HTTP/1.1\r\nHost: here\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let text = format!("{text}\r\n{body}");
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn head(&mut self) -> Head {
        let first = self.line();
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Head { status, headers }
    }

    /// The rest of the answer, as far as it comes.
    pub(crate) fn body(&mut self, head: &Head) -> Vec<u8> {
        let mut body = Vec::new();
        if head.get("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk() {
                body.extend(chunk);
            }
        } else if let Some(length) = head.get("content-length") {
            self.reader.by_ref().take(length.parse().unwrap()).read_to_end(&mut body).unwrap();
        } else {
            self.reader.read_to_end(&mut body).unwrap();
        }
        body
    }

    /// The next chunk; nothing at the end, be it proper or not.
    fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&self.line(), 16).unwrap_or(0);
        let mut chunk = vec![0; size];
        self.reader.read_exact(&mut chunk).ok()?;
        self.line();
        (size > 0).then_some(chunk)
    }

    /// The next event of a stream as text; nothing at the end.
    pub(crate) fn event(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.left.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.left.drain(..end + 2).collect();
                return Some(String::from_utf8(event).unwrap().trim_end().to_owned());
            }
            let chunk = self.chunk()?;
            self.left.extend(chunk);
        }
    }

    /// The message in the next event.
    pub(crate) fn event_message(&mut self) -> Value {
        let event = self.event().unwrap();
        let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        serde_json::from_str(data).unwrap()
    }

    /// Posts a message and reads the whole answer.
    pub(crate) fn post(&mut self, message: &Value) -> (Head, Value) {
        self.send("POST", "/mcp", &message.to_string());
        let head = self.head();
        let body = self.body(&head);
        (head, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }
}
