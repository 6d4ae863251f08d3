//! What a request costs on its way through the gateway: `cargo bench -p switchboard-gateway`.
//!
//! The client is at the other end of a pipe in memory, so that only the gateway is measured, and beside it somebody who
//! answers each line with the same prepared bytes. What counts is the ratio of the medians. Nothing is asserted of times.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark reports")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::session::{Gate, Options, Session};
use switchboard_gateway::Gateway;
use testkit::{Fake, Sandbox, fake_server};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split};

const N_SERVERS: usize = 10;
const N_TOOLS: usize = 20;
const ROUNDS: usize = 500;
const PIPE: usize = 4 * 1024 * 1024;

/// A client that waits for each answer.
struct Client {
    input: WriteHalf<DuplexStream>,
    output: BufReader<ReadHalf<DuplexStream>>,
}

impl Client {
    fn new(end: DuplexStream) -> Self {
        let (output, input) = split(end);
        Self { input, output: BufReader::with_capacity(PIPE, output) }
    }

    async fn ask(&mut self, line: &str) -> Vec<u8> {
        self.input.write_all(line.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        self.output.read_until(b'\n', &mut answer).await.unwrap();
        answer
    }

    /// The median of many answers to the same request.
    async fn median(&mut self, line: &str) -> Duration {
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let started = Instant::now();
            self.ask(line).await;
            times.push(started.elapsed());
        }
        times.sort();
        times[ROUNDS / 2]
    }
}

fn line(method: &str, params: &Value) -> String {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

/// Somebody who answers every line with the same bytes.
async fn floor(end: DuplexStream, answer: Vec<u8>) {
    let (input, mut output) = split(end);
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(_)) = lines.next_line().await {
        output.write_all(&answer).await.unwrap();
    }
}

async fn compare(client: &mut Client, what: &str, line: &str) {
    let answer = client.ask(line).await;
    assert!(!answer.windows(8).any(|part| part == b"\"error\":"), "{}", String::from_utf8_lossy(&answer));
    let n_bytes = answer.len();
    let (near, far) = tokio::io::duplex(PIPE);
    let bare = tokio::spawn(floor(far, answer));
    let least = Client::new(near).median(line).await;
    bare.abort();
    let ours = client.median(line).await;
    let ratio = ours.as_secs_f64() / least.as_secs_f64();
    println!("{what:<32} {n_bytes:>9} bytes  {ours:>10.1?}  bare {least:>10.1?}  {ratio:.1}");
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let tool = |n: usize| {
        let text =
            json!({"type": "string", "description": "What is to be done, and on what it is to be done"});
        json!({"name": format!("tool_{n}"), "description": "Does one of the things that can be done. ".repeat(4),
            "inputSchema": {"type": "object", "properties": {"text": text, "path": text}, "required": ["text"]}})
    };
    let script = Fake::script(json!({"tools": (0..N_TOOLS).map(tool).collect::<Vec<_>>()}));
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    // Each is another connection, or they would count as one.
    let entry =
        |n: usize| json!({"command": fake_server(), "args": [script.path()], "env": {"N": n.to_string()}});
    let entries: serde_json::Map<String, Value> =
        (0..N_SERVERS).map(|n| (format!("s{n}"), entry(n))).collect();
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": entries}).to_string());
    let session = Session::start(Options::headless(sandbox.env())).await;
    session.ready(Gate::Correct).await;
    session.settled(None).await;
    let gateway = Gateway::new(session.clone(), switchboard_gateway::Options::default());
    let (near, far) = tokio::io::duplex(PIPE);
    let served = tokio::spawn(async move {
        let (input, output) = split(far);
        gateway.stdio(input, output).await
    });
    let mut client = Client::new(near);
    let modern = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
    client.ask(&line("initialize", &hello)).await;
    compare(&mut client, "ping", &line("ping", &json!({}))).await;
    compare(&mut client, "tools/list", &line("tools/list", &json!({}))).await;
    compare(&mut client, "tools/list, modern", &line("tools/list", &json!({"_meta": modern}))).await;
    for (what, n_bytes) in [("tools/call", 100), ("tools/call, 1 MB", 1_000_000)] {
        let arguments = json!({"name": "mcp_s1_tool_3", "arguments": {"text": "x".repeat(n_bytes)}});
        compare(&mut client, what, &line("tools/call", &arguments)).await;
    }
    drop(client);
    served.await.unwrap().unwrap();
    session.shutdown().await;
}
