//! What carries messages between a client of the tests and the gateway: a pipe, or HTTP written by hand. Whatever comes
//! back, on whatever stream, ends up in one queue.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use crate::client::PATIENCE;

/// A message as it came, and read.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) message: Value,
}

impl Said {
    fn new(text: &str) -> Self {
        let message = serde_json::from_str(text).unwrap_or_else(|_| json!({ "no message": text }));
        Self { text: text.to_owned(), message }
    }
}

#[derive(Debug)]
pub(crate) enum Carrier {
    Pipe(Pipe),
    Http(Http),
}

/// The gateway as our own process.
#[derive(Debug)]
pub(crate) struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
}

impl Pipe {
    pub(crate) fn open(mut command: Command, said: Sender<Said>) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut lines = output.lines().map_while(Result::ok);
            lines.try_for_each(|line| said.send(Said::new(&line)))
        });
        let input = child.stdin.take();
        Self { child, input }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.input.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The gateway at an address. One connection a request, by HTTP/1.0, so that an answer ends with its connection.
#[derive(Debug)]
pub(crate) struct Http {
    address: String,
    said: Sender<Said>,
    pub(crate) session: Option<String>,
    /// Connections of requests, to be closed by whoever takes one back.
    open: HashMap<u64, TcpStream>,
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
}

impl Http {
    pub(crate) fn new(url: &str, said: Sender<Said>) -> Self {
        let address = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
        Self { address: address.to_owned(), said, session: None, open: HashMap::new() }
    }

    fn exchange(
        &self,
        method: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> (TcpStream, Receiver<Head>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let mut text = format!("{method} /mcp HTTP/1.0\r\nHost: {}\r\n", self.address);
        text += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
        text += &format!("Content-Length: {}\r\n", body.len());
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if let Some(session) = &self.session {
            text += &format!("Mcp-Session-Id: {session}\r\n");
        }
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        let (reader, said) = (stream.try_clone().unwrap(), self.said.clone());
        let (told, head) = channel();
        std::thread::spawn(move || receive(reader, &told, &said));
        (stream, head)
    }

    /// Sends a message; what comes back is heard later.
    pub(crate) fn post(&mut self, message: &Value, headers: &[(String, String)]) -> Receiver<Head> {
        let (stream, head) = self.exchange("POST", headers, &message.to_string());
        if let (Some(id), true) = (message["id"].as_u64(), message.get("method").is_some()) {
            self.open.insert(id, stream);
        }
        head
    }

    /// Opens the stream of what is not about a request, and comes back when it is open.
    pub(crate) fn get(&mut self, headers: &[(String, String)]) {
        let (stream, head) = self.exchange("GET", headers, "");
        assert_eq!(head.recv_timeout(PATIENCE).unwrap().status, 200);
        self.open.insert(u64::MAX, stream);
    }

    /// Closes the connection of a request.
    pub(crate) fn hang_up(&mut self, id: u64) {
        drop(self.open.remove(&id).unwrap().shutdown(Shutdown::Both));
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        for stream in self.open.values() {
            drop(stream.shutdown(Shutdown::Both));
        }
        if self.session.is_some() {
            let (_stream, head) = self.exchange("DELETE", &[], "");
            drop(head.recv_timeout(PATIENCE));
        }
    }
}

/// Reads an answer: one message, or a stream of them.
fn receive(stream: TcpStream, told: &Sender<Head>, said: &Sender<Said>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let (mut session, mut is_stream) = (None, false);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "mcp-session-id" => session = Some(value.to_owned()),
            "content-type" => is_stream = value.starts_with("text/event-stream"),
            _ => {}
        }
    }
    told.send(Head { status, session }).ok();
    if is_stream {
        for line in reader.lines().map_while(Result::ok) {
            let data = line.strip_prefix("data: ").filter(|data| !data.trim().is_empty());
            data.map_or(Ok(()), |data| said.send(Said::new(data))).ok()?;
        }
    } else {
        let mut body = String::new();
        reader.read_to_string(&mut body).ok()?;
        if !body.is_empty() {
            said.send(Said::new(&body)).ok()?;
        }
    }
    Some(())
}
