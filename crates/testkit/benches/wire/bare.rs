//! No client at all: texts that were made before, written, and whatever comes back, read and not looked at.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::Case;
use crate::clock::cpu_time;
use crate::load::Load;
use crate::ours::HttpServer;
use crate::sdk::Threads;

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{}}}"#;

/// A pipe to the server.
pub(crate) struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    chunk: Vec<u8>,
}

impl Pipe {
    pub(crate) fn open(args: &[&str]) -> Self {
        let mut command = Command::new(crate::server());
        let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, input, output, chunk: vec![0; 64 * 1024] }
    }

    pub(crate) fn write(&mut self, text: &[u8]) {
        self.input.as_mut().unwrap().write_all(text).unwrap();
    }

    /// Reads once and says how many lines ended in it.
    fn read(&mut self) -> usize {
        let n = self.output.read(&mut self.chunk).unwrap();
        self.chunk[..n].split(|byte| *byte == b'\n').count() - 1
    }

    /// Asks, reads the line of the answer to its end, and gives the number of its bytes.
    pub(crate) fn ask(&mut self, method: &str, params: &str) -> usize {
        self.write(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#).as_bytes());
        self.write(b"\n");
        let mut line = Vec::new();
        loop {
            let n = self.output.read(&mut self.chunk).unwrap();
            line.extend_from_slice(&self.chunk[..n]);
            if self.chunk[..n].last() == Some(&b'\n') {
                return line.len();
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }
}

pub(crate) fn stdio(case: Case) -> Load {
    let mut pipe = Pipe::open(&[]);
    flood(&mut pipe, case.in_flight, case.warm_up);
    flood(&mut pipe, case.in_flight, case.calls)
}

/// Keeps so many questions open until there were enough.
fn flood(pipe: &mut Pipe, in_flight: usize, calls: usize) -> Load {
    let text = format!("{CALL}\n").repeat(in_flight);
    let mut open: VecDeque<Instant> = VecDeque::new();
    let mut latencies: Vec<Duration> = Vec::with_capacity(calls);
    let mut left = calls;
    let (cpu, started) = (cpu_time(), Instant::now());
    while latencies.len() < calls {
        let more = (in_flight - open.len()).min(left);
        if more > 0 {
            open.extend(std::iter::repeat_n(Instant::now(), more));
            pipe.write(&text.as_bytes()[..more * (CALL.len() + 1)]);
            left -= more;
        }
        let answered = pipe.read();
        latencies.extend(open.drain(..answered).map(|since| since.elapsed()));
    }
    Load::new(latencies, started.elapsed(), cpu_time().saturating_sub(cpu))
}

pub(crate) fn http(case: Case) -> Load {
    let Case { in_flight, calls, warm_up, .. } = case;
    let server = HttpServer::start(&[]);
    let host = server.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{CALL}",
        CALL.len()
    );
    if in_flight == 1 {
        let mut stream = TcpStream::connect(&host).unwrap();
        stream.set_nodelay(true).unwrap();
        alternate(&mut stream, &request, warm_up);
        return alternate(&mut stream, &request, calls);
    }
    crate::on(Threads::One, async move {
        let (cpu, started) = (cpu_time(), Instant::now());
        let workers: Vec<_> = (0..in_flight)
            .map(|_| tokio::spawn(talk(host.clone(), request.clone(), calls / in_flight)))
            .collect();
        let mut latencies = Vec::new();
        for worker in workers {
            latencies.extend(worker.await.unwrap());
        }
        Load::new(latencies, started.elapsed(), cpu_time().saturating_sub(cpu))
    })
}

/// One connection, one question after the other. An answer is so short that it comes in one piece.
fn alternate(stream: &mut TcpStream, request: &str, calls: usize) -> Load {
    let mut chunk = vec![0; 4096];
    let mut latencies = Vec::with_capacity(calls);
    let (cpu, started) = (cpu_time(), Instant::now());
    for _ in 0..calls {
        let started = Instant::now();
        stream.write_all(request.as_bytes()).unwrap();
        let n = stream.read(&mut chunk).unwrap();
        assert!(chunk[..n].ends_with(b"}}"));
        latencies.push(started.elapsed());
    }
    Load::new(latencies, started.elapsed(), cpu_time().saturating_sub(cpu))
}

async fn talk(host: String, request: String, calls: usize) -> Vec<Duration> {
    let mut stream = tokio::net::TcpStream::connect(&host).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut chunk = vec![0; 4096];
    let mut latencies = Vec::with_capacity(calls);
    for _ in 0..calls {
        let started = Instant::now();
        stream.write_all(request.as_bytes()).await.unwrap();
        let n = stream.read(&mut chunk).await.unwrap();
        assert!(chunk[..n].ends_with(b"}}"));
        latencies.push(started.elapsed());
    }
    latencies
}
