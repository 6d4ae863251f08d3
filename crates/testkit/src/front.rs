//! Load on whatever serves MCP over HTTP, such as a gateway: prepared texts over kept connections, answers read to their
//! end and hardly looked at. In: an address and a question. Out: how long each answer took.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How it is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// With a handshake, and a session if there is one.
    Handshake,
    /// Requests that stand for themselves.
    Modern,
}

/// Ids are all of one length, so that a request can be made once and its id written over.
const FIRST_ID: usize = 1_000_000_000;

/// What is asked, and what has to be in the answer so many times.
#[derive(Debug, Clone)]
pub struct Question {
    method: &'static str,
    name: String,
    arguments: String,
    mark: String,
    times: usize,
}

impl Question {
    /// The list of so many tools.
    pub fn list(n_tools: usize) -> Self {
        let mark = "\"inputSchema\"".to_owned();
        Self { method: "tools/list", name: String::new(), arguments: String::new(), mark, times: n_tools }
    }

    /// A call of a tool, with a mark its answer bears.
    pub fn call(tool: &str, arguments: &str, mark: &str) -> Self {
        let (name, arguments) = (tool.to_owned(), arguments.to_owned());
        Self { method: "tools/call", name, arguments, mark: mark.to_owned(), times: 1 }
    }

    fn is_answered_by(&self, body: &str) -> bool {
        body.contains("\"result\"") && body.matches(self.mark.as_str()).take(self.times).count() == self.times
    }

    /// The whole request, made before anything is measured.
    fn request(&self, to: &Client) -> Prepared {
        let Self { method, name, arguments, .. } = self;
        let mut params = Vec::new();
        let mut headers = to.session.clone();
        if !name.is_empty() {
            params.push(format!(r#""name":"{name}","arguments":{arguments}"#));
        }
        if to.protocol == Protocol::Modern {
            params.push(r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#.to_owned());
            headers = format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n");
            if !name.is_empty() {
                headers += &format!("mcp-name: {name}\r\n");
            }
        }
        let params = params.join(",");
        let start = r#"{"jsonrpc":"2.0","id":"#;
        let body = format!(r#"{start}{FIRST_ID},"method":"{method}","params":{{{params}}}}}"#);
        let text = to.post(&headers, &body);
        let id = text.len() - body.len() + start.len();
        Prepared { text, id }
    }
}

/// A request, and where its id stands.
#[derive(Debug, Clone)]
struct Prepared {
    text: Vec<u8>,
    id: usize,
}

impl Prepared {
    /// The same with another id: a client has no two requests of one id.
    fn number(&mut self, n: usize) -> &[u8] {
        let id = (FIRST_ID + n).to_string();
        self.text[self.id..self.id + id.len()].copy_from_slice(id.as_bytes());
        &self.text
    }
}

/// A client: where, and as whom.
#[derive(Debug, Clone)]
pub struct Client {
    host: String,
    path: String,
    protocol: Protocol,
    session: String,
}

impl Client {
    /// Says hello, where that is wanted.
    ///
    /// # Panics
    ///
    /// When nobody is there, or it does not answer as it should.
    #[expect(clippy::expect_used, reason = "nothing can be measured then")]
    pub async fn open(url: &str, protocol: Protocol) -> Self {
        let (host, path) = url.trim_start_matches("http://").split_once('/').expect("an address with a path");
        let (host, path) = (host.to_owned(), format!("/{path}"));
        let mut client = Self { host, path, protocol, session: String::new() };
        if protocol == Protocol::Handshake {
            let params = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#;
            let hello = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#);
            let mut line = Line::open(&client.host).await;
            let answer = line.ask(&client.post("", &hello)).await;
            assert!(answer.body().contains("protocolVersion"), "{}\n{}", answer.head, answer.body());
            client.session.push_str("mcp-protocol-version: 2025-06-18\r\n");
            if let Some(id) = header(&answer.head, "mcp-session-id") {
                client.session += &format!("mcp-session-id: {id}\r\n");
            }
            let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            line.ask(&client.post(&client.session, told)).await;
        }
        client
    }

    fn post(&self, headers: &str, body: &str) -> Vec<u8> {
        let Self { host, path, .. } = self;
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{headers}content-length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }

    /// One answer, over a connection of its own.
    pub async fn ask(&self, question: &Question) -> String {
        let request = question.request(self).text;
        Line::open(&self.host).await.ask(&request).await.body().into_owned()
    }

    /// Asks so many times, so many at once, in turn from these questions.
    ///
    /// # Panics
    ///
    /// When an answer is not what it has to be.
    #[expect(clippy::expect_used, reason = "nothing can be measured then")]
    pub async fn load(&self, questions: &[Question], times: usize, at_once: usize) -> Load {
        let mut lines = Vec::new();
        let each = times / at_once;
        for worker in 0..at_once {
            let prepared = |question: &Question| (question.request(self), question.clone());
            let questions: Vec<_> = questions.iter().map(prepared).collect();
            lines.push((Line::open(&self.host).await, questions, worker));
        }
        let started = Instant::now();
        let workers: Vec<_> = lines
            .into_iter()
            .map(|(mut line, mut questions, worker)| {
                tokio::spawn(async move {
                    let n_questions = questions.len();
                    let mut latencies = Vec::with_capacity(each);
                    for turn in 0..each {
                        let (request, question) = &mut questions[(worker + turn) % n_questions];
                        let request = request.number(1 + worker * each + turn);
                        let started = Instant::now();
                        let answer = line.ask(request).await;
                        latencies.push(started.elapsed());
                        let body = answer.body();
                        assert!(question.is_answered_by(&body), "{}\n{body:.300}", answer.head);
                    }
                    latencies
                })
            })
            .collect();
        let mut latencies = Vec::with_capacity(times);
        for worker in workers {
            latencies.extend(worker.await.expect("every answer"));
        }
        let elapsed = started.elapsed();
        latencies.sort();
        Load { latencies, elapsed }
    }
}

/// Names of headers are written in capitals by some.
fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// How long it took.
#[derive(Debug)]
pub struct Load {
    /// Each, shortest first.
    pub latencies: Vec<Duration>,
    /// All of them.
    pub elapsed: Duration,
}

/// A kept connection. Nothing is asked before the last answer has come, so that is all there is in the buffer.
struct Line {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer, its body without what frames it.
struct Answer<'a> {
    head: Cow<'a, str>,
    bytes: Cow<'a, [u8]>,
}

impl Answer<'_> {
    /// Not part of what is measured.
    fn body(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

#[expect(clippy::expect_used, reason = "nothing can be measured then")]
impl Line {
    async fn open(host: &str) -> Self {
        let stream = TcpStream::connect(host).await.expect("a connection");
        stream.set_nodelay(true).expect("a connection");
        Self { stream, buffer: Vec::with_capacity(64 * 1024) }
    }

    async fn ask(&mut self, request: &[u8]) -> Answer<'_> {
        self.buffer.clear();
        self.stream.write_all(request).await.expect("somebody who listens");
        let end = self.until(b"\r\n\r\n", 0).await;
        let head = String::from_utf8_lossy(&self.buffer[..end]);
        if header(&head, "transfer-encoding").is_some() {
            let bytes = Cow::Owned(self.chunks(end + 4).await);
            return Answer { head: String::from_utf8_lossy(&self.buffer[..end]), bytes };
        }
        let length = header(&head, "content-length").map_or(0, |length| length.parse().expect("a length"));
        self.fill(end + 4 + length).await;
        let (head, body) = self.buffer.split_at(end);
        Answer { head: String::from_utf8_lossy(head), bytes: Cow::Borrowed(&body[4..]) }
    }

    /// The body that comes in pieces.
    async fn chunks(&mut self, start: usize) -> Vec<u8> {
        let (mut body, mut at) = (Vec::new(), start);
        loop {
            let line = self.until(b"\r\n", at).await;
            let size = String::from_utf8_lossy(&self.buffer[at..line]);
            let size = size.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).expect("the length of a piece");
            let (data, next) = (line + 2, line + 2 + size + 2);
            self.fill(next).await;
            body.extend_from_slice(&self.buffer[data..data + size]);
            at = next;
            if size == 0 {
                return body;
            }
        }
    }

    /// Where the mark stands, at or after a place.
    async fn until(&mut self, mark: &[u8], from: usize) -> usize {
        let mut looked = from;
        loop {
            let rest = self.buffer.get(looked..).unwrap_or_default();
            if let Some(found) = rest.windows(mark.len()).position(|bytes| bytes == mark) {
                return looked + found;
            }
            looked = looked.max((self.buffer.len() + 1).saturating_sub(mark.len()));
            self.read().await;
        }
    }

    async fn fill(&mut self, whole: usize) {
        self.buffer.reserve(whole.saturating_sub(self.buffer.len()));
        while self.buffer.len() < whole {
            self.read().await;
        }
    }

    async fn read(&mut self) {
        let n_bytes = self.stream.read_buf(&mut self.buffer).await.expect("an answer");
        assert!(n_bytes > 0, "the connection was closed");
    }
}
