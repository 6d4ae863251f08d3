//! Clients of a gateway over HTTP, several at once: their requests, what they are asked meanwhile, and their answers.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;

use serde_json::{Value, json};
use testkit::{Mark, eventually_blocking};

use super::http::Site;

/// What comes back on a request, message by message.
pub(super) struct Stream {
    reader: BufReader<TcpStream>,
    kept: VecDeque<Value>,
}

impl Stream {
    /// Sends a request and reads what comes back as it comes.
    pub(super) fn open(site: &Site, line: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let mut stream = site.connect();
        site.send(&mut stream, line, (headers, body));
        Self { reader: BufReader::new(stream), kept: VecDeque::new() }
    }

    fn read(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let text = line.trim();
            let text = text.strip_prefix("data: ").unwrap_or(text);
            if text.starts_with('{') {
                return Some(serde_json::from_str(text).unwrap_or_else(|_| panic!("{line}")));
            }
        }
    }

    /// The first message for which this holds. What comes before it is kept.
    pub(super) fn wait(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&is_meant) {
            return self.kept.remove(at).unwrap();
        }
        loop {
            let Some(message) = self.read() else { panic!("it ended; there were {:#?}", self.kept) };
            if is_meant(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    pub(super) fn question(&mut self, method: &str) -> Value {
        self.wait(|message| message["method"] == method)
    }

    /// The answer to the request.
    pub(super) fn answer(&mut self) -> Value {
        self.wait(|message| message.get("method").is_none())
    }

    /// The text of the first block of its result.
    pub(super) fn text(&mut self) -> String {
        let answer = self.answer();
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

const HEADERS: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

/// A client with a handshake.
pub(super) struct Guest<'a> {
    site: &'a Site,
    session: String,
}

impl<'a> Guest<'a> {
    pub(super) fn greet(site: &'a Site, capabilities: &Value) -> Self {
        let mut message = super::http::greeting();
        message["params"]["capabilities"] = capabilities.clone();
        let greeted = site.post(None, &message);
        let session = greeted.header("mcp-session-id").unwrap().to_owned();
        let guest = Self { site, session };
        guest.tell("notifications/initialized");
        guest
    }

    pub(super) fn tell(&self, method: &str) {
        let told = self.site.post(Some(&self.session), &json!({"jsonrpc": "2.0", "method": method}));
        assert_eq!(told.status, 202);
    }

    /// A message of the client's, and what comes back on it.
    pub(super) fn send(&self, message: &Value) -> Stream {
        let mut headers = HEADERS.to_vec();
        headers.push(("Mcp-Session-Id", &self.session));
        Stream::open(self.site, "POST /mcp", &headers, &message.to_string())
    }

    pub(super) fn call(&self, id: u32, tool: &str, arguments: &Value) -> Stream {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
    }

    /// What is said about no request.
    pub(super) fn listen(&self) -> Stream {
        let headers = [("Accept", "text/event-stream"), ("Mcp-Session-Id", self.session.as_str())];
        let mut stream = Stream::open(self.site, "GET /mcp", &headers, "");
        let mut status = String::new();
        stream.reader.read_line(&mut status).unwrap();
        assert!(status.contains("200"), "{status}");
        stream
    }

    pub(super) fn reply(&self, question: &Value, result: &Value) {
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        assert_eq!(self.site.post(Some(&self.session), &answer).status, 202);
    }

    pub(super) fn cancel(&self, id: u32) {
        let params = json!({"requestId": id});
        let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        assert_eq!(self.site.post(Some(&self.session), &message).status, 202);
    }

    pub(super) fn leave(self) {
        let headers = [("Mcp-Session-Id", self.session.as_str())];
        assert_eq!(self.site.request("DELETE /mcp", &headers, "").status, 204);
    }
}

/// A call of a client without a session, under a name of its own.
pub(super) fn modern_call(site: &Site, who: &str, (tool, params): (&str, Value)) -> Stream {
    let mut params = super::modern(params);
    params["name"] = json!(tool);
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": who, "version": "1"});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut headers = HEADERS.to_vec();
    headers.extend([
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ]);
    Stream::open(site, "POST /mcp", &headers, &message.to_string())
}

/// Waits until a process with this mark is gone.
#[track_caller]
pub(super) fn gone(mark: &Mark, pid: u32) {
    eventually_blocking(format!("process {pid} is gone"), || mark.alive(), |alive| !alive.contains(&pid));
}
