//! Clients that write their requests by hand: quick, and nothing is corrected or repeated on the way.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};
use testkit::PATIENCE;

/// A connection that is used again and again.
pub(crate) struct Line {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    pub(crate) body: String,
    /// The messages of the body, whether it is one or a stream of them.
    pub(crate) messages: Vec<Value>,
}

impl Reply {
    /// The one answer, and nothing if there is none.
    pub(crate) fn answer(&self) -> Option<&Value> {
        let mut answers = self.messages.iter().filter(|message| message.get("method").is_none());
        let first = answers.next();
        assert!(answers.next().is_none(), "two answers: {self:?}");
        first
    }
}

impl Line {
    pub(crate) fn open(address: SocketAddr) -> Self {
        Self::try_open(address).unwrap()
    }

    pub(crate) fn try_open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { address, stream: BufReader::new(stream) })
    }

    /// Breaks the connection and makes another.
    pub(crate) fn renew(&mut self) {
        *self = Self::open(self.address);
    }

    pub(crate) fn send(&mut self, verb: &str, headers: &str, body: &str) -> io::Result<()> {
        let head = format!(
            "{verb} /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(head.as_bytes())
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }

    pub(crate) fn receive(&mut self) -> io::Result<Reply> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        let (mut length, mut is_chunked, mut session) = (0, false, None);
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            match name {
                "content-length" => length = value.parse().unwrap(),
                "transfer-encoding" => is_chunked = value == "chunked",
                "mcp-session-id" => session = Some(value.to_owned()),
                _ => {}
            }
        }
        let mut body = Vec::new();
        while is_chunked {
            let size = usize::from_str_radix(&self.line()?, 16).unwrap();
            self.part(&mut body, size)?;
            self.line()?;
            is_chunked = size > 0;
        }
        self.part(&mut body, length)?;
        let body = String::from_utf8(body).unwrap();
        let messages = messages(&body);
        Ok(Reply { status, session, body, messages })
    }

    fn part(&mut self, body: &mut Vec<u8>, size: usize) -> io::Result<()> {
        let start = body.len();
        body.resize(start + size, 0);
        self.stream.read_exact(&mut body[start..])
    }

    pub(crate) fn ask(&mut self, verb: &str, headers: &str, body: &str) -> Reply {
        self.send(verb, headers, body).unwrap();
        self.receive().unwrap()
    }
}

fn messages(body: &str) -> Vec<Value> {
    if body.starts_with('{') {
        return vec![serde_json::from_str(body).unwrap()];
    }
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| !data.is_empty()).map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The text of a request.
pub(crate) fn request(id: usize, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// What a modern request says of itself.
pub(crate) fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    params
}

/// The headers that go with it.
pub(crate) fn modern_headers(method: &str, name: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!("Mcp-Name: {name}\r\n") };
    format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}")
}

/// A modern request that stands for itself.
pub(crate) fn ask(line: &mut Line, id: usize, (method, name): (&str, &str), params: Value) -> Reply {
    line.ask("POST", &modern_headers(method, name), &request(id, method, &modern(params)))
}

pub(crate) fn greeting() -> String {
    let info = json!({"name": "load", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    request(0, "initialize", &params)
}

/// A client with a handshake over HTTP.
pub(crate) struct Guest {
    pub(crate) line: Line,
    pub(crate) session: String,
}

impl Guest {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let mut line = Line::open(address);
        let greeted = line.ask("POST", "", &greeting());
        assert_eq!(greeted.status, 200, "{greeted:?}");
        Self { line, session: Self::header(&greeted) }
    }

    fn header(greeted: &Reply) -> String {
        format!("Mcp-Session-Id: {}\r\n", greeted.session.as_deref().unwrap())
    }

    pub(crate) fn send(&mut self, body: &str) {
        self.line.send("POST", &self.session, body).unwrap();
    }

    pub(crate) fn ask(&mut self, body: &str) -> Reply {
        self.send(body);
        self.line.receive().unwrap()
    }

    pub(crate) fn leave(&mut self) {
        let left = self.line.ask("DELETE", &self.session, "");
        assert_eq!(left.status, 204, "{left:?}");
    }

    /// Leaves and comes back as somebody else.
    pub(crate) fn begin_anew(&mut self) {
        self.leave();
        let greeted = self.line.ask("POST", "", &greeting());
        assert_eq!(greeted.status, 200, "{greeted:?}");
        self.session = Self::header(&greeted);
    }
}

/// A client at a pipe.
pub(crate) struct Pipe(BufReader<UnixStream>);

impl Pipe {
    pub(crate) fn open(stream: UnixStream) -> Self {
        let mut pipe = Self(BufReader::new(stream));
        pipe.send(&greeting());
        assert_eq!(pipe.receive()["id"], 0);
        pipe
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    pub(crate) fn receive(&mut self) -> Value {
        self.last_words().unwrap()
    }

    /// The next message, if there is one before the end.
    pub(crate) fn last_words(&mut self) -> Option<Value> {
        let mut line = String::new();
        let n = self.0.read_line(&mut line).unwrap();
        (n > 0).then(|| serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}")))
    }
}
