//! Clients that write their requests by hand, so that nothing is corrected or repeated on the way.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The gateway closes connections that nobody uses after 30 seconds. One that is near it is not used again.
const FRESH: Duration = Duration::from_secs(10);

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    session: Option<String>,
    pub(crate) body: String,
}

impl Reply {
    /// The messages that answer something, whether it is one or a stream of them.
    pub(crate) fn answers(&self) -> Vec<Value> {
        let read = |text: &str| serde_json::from_str::<Value>(text).ok();
        let all: Vec<Value> = if self.body.starts_with('{') {
            read(&self.body).into_iter().collect()
        } else {
            self.body.lines().filter_map(|line| line.strip_prefix("data: ")).filter_map(read).collect()
        };
        all.into_iter().filter(|message| message.get("method").is_none()).collect()
    }
}

/// One client of the gateway, of either era.
#[derive(Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    is_modern: bool,
    session: Option<String>,
    line: Option<(BufReader<TcpStream>, Instant)>,
    /// When nobody waits any longer, however much still comes.
    deadline: Instant,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, is_modern: bool) -> Self {
        Self { address, is_modern, session: None, line: None, deadline: Instant::now() }
    }

    /// Breaks the connection.
    pub(crate) fn hang_up(&mut self) {
        self.line = None;
    }

    /// Sends a call. A client with a handshake is greeted before, if it is not yet.
    pub(crate) fn send(&mut self, id: u64, tool: &str, arguments: &Value, bound: Duration) -> io::Result<()> {
        let mut params = json!({"name": tool, "arguments": arguments});
        let mut headers = String::new();
        if self.is_modern {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            headers =
                format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n");
        } else {
            if self.session.is_none() {
                self.session = Some(self.greet(bound)?);
            }
            headers.extend(self.session.iter().map(|session| format!("Mcp-Session-Id: {session}\r\n")));
        }
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        self.post("POST /mcp", &headers, &body.to_string(), bound)
    }

    /// Takes a call back, on a connection of its own. Who has no session hangs up instead.
    pub(crate) fn cancel(&mut self, id: u64) -> io::Result<()> {
        let Some(session) = &self.session else {
            self.hang_up();
            return Ok(());
        };
        let body =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        let mut other = Self::new(self.address, false);
        let header = format!("Mcp-Session-Id: {session}\r\n");
        let bound = Duration::from_secs(10);
        other.post("POST /mcp", &header, &body.to_string(), bound)?;
        other.receive().map(drop)
    }

    fn greet(&mut self, bound: Duration) -> io::Result<String> {
        let info = json!({"name": "soak", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        self.post("POST /mcp", "", &body.to_string(), bound)?;
        self.receive()?.session.ok_or_else(|| io::Error::other("no session"))
    }

    /// Ends its session.
    pub(crate) fn leave(&mut self) {
        if let Some(session) = self.session.take() {
            let header = format!("Mcp-Session-Id: {session}\r\n");
            let left = self.post("DELETE /mcp", &header, "", Duration::from_secs(10));
            drop(left.and_then(|()| self.receive()));
        }
        self.hang_up();
    }

    /// What is at another address of the gateway.
    pub(crate) fn get(&mut self, path: &str, bound: Duration) -> io::Result<Reply> {
        self.post(&format!("GET {path}"), "", "", bound)?;
        self.receive()
    }

    fn post(&mut self, what: &str, headers: &str, body: &str, bound: Duration) -> io::Result<()> {
        let kept = self.line.take().filter(|(_, used)| used.elapsed() < FRESH);
        let stream = if let Some((stream, _)) = kept {
            stream
        } else {
            let stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(5))?;
            stream.set_nodelay(true)?;
            BufReader::new(stream)
        };
        let (stream, _) = self.line.insert((stream, Instant::now()));
        stream.get_ref().set_read_timeout(Some(bound))?;
        self.deadline = Instant::now() + bound;
        let head = format!(
            "{what} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.get_mut().write_all(head.as_bytes())
    }

    /// The answer to what was sent.
    pub(crate) fn receive(&mut self) -> io::Result<Reply> {
        let Some((mut stream, _)) = self.line.take() else { return Err(io::ErrorKind::NotConnected.into()) };
        let reply = receive(&mut stream, self.deadline)?;
        self.line = Some((stream, Instant::now()));
        if reply.status == 404 {
            self.session = None;
        }
        Ok(reply)
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end().len());
    Ok(line)
}

fn receive(stream: &mut BufReader<TcpStream>, deadline: Instant) -> io::Result<Reply> {
    let status = line(stream)?;
    let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or(io::ErrorKind::InvalidData)?;
    let (mut length, mut is_chunked, mut session) = (0, false, None);
    loop {
        let line = line(stream)?;
        let Some((name, value)) = line.split_once(": ") else { break };
        match name {
            "content-length" => length = value.parse().map_err(io::Error::other)?,
            "transfer-encoding" => is_chunked = value == "chunked",
            "mcp-session-id" => session = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = Vec::new();
    while is_chunked {
        let size = usize::from_str_radix(&line(stream)?, 16).map_err(io::Error::other)?;
        part(stream, &mut body, size)?;
        line(stream)?;
        is_chunked = size > 0;
        if is_chunked && Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    part(stream, &mut body, length)?;
    Ok(Reply { status, session, body: String::from_utf8(body).map_err(io::Error::other)? })
}

fn part(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>, size: usize) -> io::Result<()> {
    let start = body.len();
    body.resize(start + size, 0);
    stream.read_exact(&mut body[start..])
}
