//! Clients over HTTP: sessions, the end in order, and bytes that are no requests. The requests are written by hand, so that
//! nothing corrects them on the way.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Fake, Mark, PATIENCE, Sandbox, eventually_blocking};

use super::{modern, world};
use crate::{run, switchboard};

/// The program, listening.
pub(super) struct Site {
    pub(super) child: Child,
    pub(super) address: SocketAddr,
    /// What it says after the line with its address.
    errors: BufReader<std::process::ChildStderr>,
}

/// An answer, taken apart.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The message it is, or the last of the stream it is.
    pub(super) fn message(&self) -> Value {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
        serde_json::from_str(data.unwrap_or(&self.body)).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

impl Site {
    pub(super) fn open(sandbox: &Sandbox, flags: &[&str]) -> Self {
        let mut command = switchboard(sandbox);
        command.args(["serve", "--http"]).args(flags).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.and_then(|address| address.parse().ok());
        let Some(address) = address else { panic!("instead of its address it said {line:?}") };
        Self { child, address, errors }
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends these bytes and gives what comes back: nothing, if the connection was just closed.
    pub(super) fn bytes(&self, bytes: &[u8]) -> Option<Answer> {
        let mut stream = self.connect();
        // Who does not like what it reads may close before it has read all.
        drop(stream.write_all(bytes));
        drop(stream.shutdown(Shutdown::Write));
        receive(stream)
    }

    pub(super) fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.connect();
        self.send(&mut stream, line, (headers, body));
        receive(stream).unwrap()
    }

    pub(super) fn send(&self, stream: &mut TcpStream, line: &str, (headers, body): (&[(&str, &str)], &str)) {
        stream.write_all(compose(line, (headers, body), &self.address.to_string()).as_bytes()).unwrap();
    }

    /// A message of a client with a handshake.
    pub(super) fn post(&self, session: Option<&str>, message: &Value) -> Answer {
        self.post_to("/mcp", session, message)
    }

    /// The same at another address.
    pub(super) fn post_to(&self, path: &str, session: Option<&str>, message: &Value) -> Answer {
        let mut headers =
            vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
        self.request(&format!("POST {path}"), &headers, &message.to_string())
    }

    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap(), signal).unwrap();
    }

    /// The next line on its standard error.
    pub(super) fn says(&mut self) -> String {
        let mut line = String::new();
        self.errors.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "it says nothing more");
        line
    }

    /// A value of `/metrics`, by its whole name.
    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        let page = self.request("GET /metrics", &[], "");
        let mut lines = page.body.lines().filter_map(|line| line.rsplit_once(' '));
        lines.find(|(series, _)| *series == name).map(|(_, value)| value.parse().unwrap())
    }

    /// Waits until a value of `/metrics` is as it should be.
    #[track_caller]
    pub(super) fn until(&self, name: &str, is_right: impl Fn(f64) -> bool) {
        let is_right = |value: &Option<f64>| value.is_some_and(&is_right);
        eventually_blocking(format!("the right value of {name}"), || self.metric(name), is_right);
    }

    /// Waits for the end; gives the exit code and the rest of the standard error.
    pub(super) fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.errors.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A request, as it goes over the wire.
pub(super) fn compose(line: &str, (headers, body): (&[(&str, &str)], &str), host: &str) -> String {
    let mut text = format!("{line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "Host") {
        text += &format!("Host: {host}\r\n");
    }
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    format!("{text}\r\n{body}")
}

/// The status of an answer, which may go on without end.
pub(super) fn status(stream: impl Read) -> u16 {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {line:?}")).parse().unwrap()
}

/// Reads to the end.
pub(super) fn receive(mut stream: impl Read) -> Option<Answer> {
    let mut bytes = Vec::new();
    // What came before the connection broke is what there is.
    drop(stream.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

pub(super) fn greeting() -> Value {
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

pub(super) fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn a_session_lasts_until_it_is_ended() {
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let site = Site::open(&sandbox, &[]);
    let [one, another] = [(); 2].map(|()| {
        let greeted = site.post(None, &greeting());
        assert_eq!(
            (greeted.status, greeted.message()["result"]["protocolVersion"].as_str()),
            (200, Some("2025-11-25"))
        );
        greeted.header("mcp-session-id").unwrap().to_owned()
    });
    assert_ne!(one, another);
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(site.post(Some(&one), &told).status, 202);
    let call = request(2, "tools/call", &json!({"name": "mcp_fake_echo", "arguments": {"text": "hi"}}));
    let answer = site.post(Some(&one), &call);
    assert_eq!((answer.status, &answer.message()["result"]["content"][0]["text"]), (200, &json!("hi")));
    let with = |line: &str, session: &str| site.request(line, &[("Mcp-Session-Id", session)], "").status;
    assert_eq!(site.post(None, &call).status, 400);
    assert_eq!(site.post(Some("made up"), &call).status, 404);
    assert_eq!(with("GET /mcp", "made up"), 404);
    assert_eq!(with("DELETE /mcp", &one), 204);
    assert_eq!(site.post(Some(&one), &call).status, 404);
    assert_eq!(with("GET /mcp", &one), 404);
    assert_eq!(with("DELETE /mcp", &one), 404);
    assert_eq!(site.post(Some(&another), &call).status, 200, "the other one goes on");
    // A request that stands for itself needs no session.
    let headers = [
        ("Content-Type", "application/json"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "mcp_fake_echo"),
    ];
    let params = modern(json!({"name": "mcp_fake_echo", "arguments": {"text": "alone"}}));
    let answer = site.request("POST /mcp", &headers, &request(3, "tools/call", &params).to_string());
    assert_eq!((answer.status, &answer.message()["result"]["content"][0]["text"]), (200, &json!("alone")));
    site.terminate();
}

#[test]
fn the_end_lets_answers_out_and_leaves_nothing_behind() {
    let (script, mark) = (Fake::script(json!({})), Mark::new());
    let sandbox = world(&[("fake", &script)], &mark);
    let site = Site::open(&sandbox, &[]);
    let session = site.post(None, &greeting()).header("mcp-session-id").unwrap().to_owned();
    let mut ear = site.connect();
    site.send(&mut ear, "GET /mcp", (&[("Mcp-Session-Id", &session)], ""));
    let params = modern(json!({"name": "mcp_fake_slow", "arguments": {"ms": 1500}}));
    let headers = [
        ("Content-Type", "application/json"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "mcp_fake_slow"),
    ];
    let mut call = site.connect();
    site.send(&mut call, "POST /mcp", (&headers, &request(7, "tools/call", &params).to_string()));
    script.wait_for(|line| line["message"]["method"] == "tools/call");
    site.terminate();
    let answer = receive(call).unwrap();
    assert_eq!(
        (answer.status, &answer.message()["result"]["content"][0]["text"]),
        (200, &json!("waited 1500 ms"))
    );
    assert_eq!(receive(ear).unwrap().status, 200, "a stream of what happens ends");
    assert_eq!(site.end(), (Some(0), String::new()));
    assert!(mark.alive().is_empty(), "a server is left behind");
}

#[test]
fn a_request_that_is_too_large_is_refused() {
    let sandbox = world(&[], &Mark::new());
    let site = Site::open(&sandbox, &[]);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nConnection: close\r\n",
        site.address
    );
    // Nobody waits for a body that is known to be too large.
    let mut stream = site.connect();
    stream.write_all(format!("{head}Content-Length: 16777217\r\n\r\n").as_bytes()).unwrap();
    assert_eq!(receive(stream).unwrap().status, 413);
    let mut chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n1000001\r\n").into_bytes();
    chunked.resize(chunked.len() + 0x0100_0001, b' ');
    chunked.extend_from_slice(b"\r\n0\r\n\r\n");
    assert!(site.bytes(&chunked).is_none_or(|answer| answer.status == 413));
    assert_eq!(site.request("GET /health", &[], "").status, 200);
}

#[test]
fn garbage_is_refused_and_nothing_more() {
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let site = Site::open(&sandbox, &[]);
    let kind = [("Content-Type", "application/json")];
    let bodies = [
        "",
        "{",
        "[]",
        "null",
        "5",
        "[[]]",
        "{}",
        r#"{"id":1}"#,
        r#"{"method":5}"#,
        r#"[{"id":1,"method":"initialize"},{}]"#,
    ];
    for body in bodies.into_iter().map(str::to_owned).chain(["[".repeat(200_000), "\0".repeat(100)]) {
        assert_eq!(site.request("POST /mcp", &kind, &body).status, 400, "{body:.60}");
    }
    for kind in ["text/plain", "application/jsonp", ""] {
        assert_eq!(site.request("POST /mcp", &[("Content-Type", kind)], &greeting().to_string()).status, 415);
    }
    // Pieces of requests, put together at random, but always in the same way.
    let pieces: [&[u8]; 16] = [
        b"POST /mcp HTTP/1.1\r\n",
        b"GET ",
        b"/mcp",
        b" HTTP/1.1\r\n",
        b"Host: localhost\r\n",
        b"\r\n",
        b"\0\xff\xfe",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"ffffffffffffffffff\r\n",
        b"{\"id\":1,",
        b"\"method\":\"initialize\"}",
        b"Mcp-Session-Id: \x80\r\n",
        b"Content-Type: application/json\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b":",
    ];
    let mut seed = 7_u64;
    for _ in 0..400 {
        let mut bytes = Vec::new();
        for _ in 0..12 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bytes.extend_from_slice(pieces[usize::try_from(seed >> 60).unwrap()]);
        }
        if let Some(answer) = site.bytes(&bytes) {
            assert!(answer.status < 500, "{} {answer:?}", String::from_utf8_lossy(&bytes));
        }
    }
    assert_eq!(site.request("GET /health", &[], "").status, 200);
    site.terminate();
    assert_eq!(site.end(), (Some(0), String::new()));
}

#[test]
fn nobody_listens_beyond_this_machine_without_a_token() {
    let sandbox = world(&[], &Mark::new());
    insta::assert_snapshot!(run(&sandbox, &["serve", "--http", "0.0.0.0:0"]));
    let seen = run(&sandbox, &["serve", "--http", "nowhere"]);
    assert!(seen.contains("cannot listen on nowhere") && seen.contains("--- exit 2"), "{seen}");
    // With one it does, and the token is not repeated.
    let mut command = switchboard(&sandbox);
    command.args(["serve", "--http", "0.0.0.0:0", "--token", "s3cret"]).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let [first, second] = [lines.next().unwrap().unwrap(), lines.next().unwrap().unwrap()];
    assert!(first.starts_with("listening on http://0.0.0.0:"), "{first}");
    assert!(second.contains("Authorization: Bearer TOKEN") && !second.contains("s3cret"), "{second}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_address_that_cannot_be_had_says_what_to_do() {
    let sandbox = world(&[], &Mark::new());
    let seen = run(&sandbox, &["serve", "--http", "localhost"]);
    assert!(seen.contains("hint: HOST:PORT is meant, for example --http localhost:8080"), "{seen}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let seen = run(&sandbox, &["serve", "--http", &address]);
    assert!(seen.contains("hint: another program has that port") && seen.contains("--- exit 2"), "{seen}");
}
