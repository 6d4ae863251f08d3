//! The least a gateway can do, to measure gateways with: `bare-gateway SERVERS PROGRAM ARGS...`.
//!
//! It starts so many servers, asks each for its tools once, and answers lists from what they said. A call goes to the first
//! one, with the id replaced on the way out and on the way back; nothing else is looked at. It prints its address and ends
//! with its standard input. No sessions, no limits, no names: a lower bound, no gateway.

use std::collections::HashMap;
use std::io::{self, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}
"#;
const LIST: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
"#;
const GREETING: &str = r#""result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"1"}}}"#;

/// Everything a connection needs.
struct Gateway {
    tools: String,
    next: AtomicU64,
    out: mpsc::Sender<String>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<String>>>,
}

fn main() -> io::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve())
}

async fn serve() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let n_servers: usize = args.next().and_then(|n| n.parse().ok()).unwrap_or(1);
    let command: Vec<String> = args.collect();
    let (mut servers, mut tools) = (Vec::new(), Vec::new());
    for _ in 0..n_servers {
        let (server, list) = start(&command).await?;
        servers.push(server);
        tools.push(list);
    }
    let (_first, input, output) = servers.remove(0);
    let (out, texts) = mpsc::channel(256);
    let gateway =
        Gateway { tools: tools.join(","), next: AtomicU64::new(10), out, waiting: Mutex::default() };
    let gateway = Arc::new(gateway);
    tokio::spawn(write(input, texts));
    tokio::spawn(read(output, Arc::clone(&gateway)));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    let mut rest = Vec::new();
    let mut input = tokio::io::stdin();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                tokio::spawn(connection(accepted?.0, Arc::clone(&gateway)));
            }
            _ = input.read_to_end(&mut rest) => return Ok(()),
        }
    }
}

type Server = (Child, ChildStdin, Lines<BufReader<ChildStdout>>);

/// A server, and its tools as text.
async fn start(command: &[String]) -> io::Result<(Server, String)> {
    let [program, args @ ..] = command else { return Err(io::Error::other("which server?")) };
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("no streams"));
    };
    let mut lines = BufReader::new(output).lines();
    input.write_all(INITIALIZE.as_bytes()).await?;
    lines.next_line().await?;
    input.write_all(LIST.as_bytes()).await?;
    let list = lines.next_line().await?.unwrap_or_default();
    let tools = list.split_once("\"tools\":[").and_then(|(_, rest)| rest.rsplit_once(']'));
    let tools = tools.map(|(tools, _)| tools.to_owned()).unwrap_or_default();
    Ok(((child, input, lines), tools))
}

async fn write(mut input: ChildStdin, mut texts: mpsc::Receiver<String>) {
    while let Some(mut text) = texts.recv().await {
        while let Ok(more) = texts.try_recv() {
            text.push_str(&more);
        }
        if input.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(mut lines: Lines<BufReader<ChildStdout>>, gateway: Arc<Gateway>) {
    while let Ok(Some(line)) = lines.next_line().await {
        let id = id(&line).and_then(|id| id.parse().ok());
        let waiting = |id| gateway.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(waiting) = id.and_then(waiting) {
            // Whoever went away does not need it.
            let _gone = waiting.send(line);
        }
    }
}

/// Ends with the client.
async fn connection(mut stream: TcpStream, gateway: Arc<Gateway>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer: Vec<u8> = Vec::new();
    loop {
        while let Some(head) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
            let length = text.split_once("content-length:").and_then(|(_, rest)| rest.lines().next());
            let whole = head + 4 + length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
            if buffer.len() < whole {
                break;
            }
            let message = String::from_utf8_lossy(&buffer[head + 4..whole]).into_owned();
            buffer.drain(..whole);
            let answer = gateway.answer(&message).await;
            let status = if answer.is_some() { "200 OK" } else { "202 Accepted" };
            let body = answer.unwrap_or_default();
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await?;
        }
        if stream.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
    }
}

impl Gateway {
    /// Nothing for what wants no answer.
    async fn answer(&self, message: &str) -> Option<String> {
        let theirs = id(message)?;
        if message.contains("\"tools/list\"") {
            return Some(format!(
                r#"{{"jsonrpc":"2.0","id":{theirs},"result":{{"tools":[{}]}}}}"#,
                self.tools
            ));
        }
        if message.contains("\"initialize\"") {
            return Some(format!(r#"{{"jsonrpc":"2.0","id":{theirs},{GREETING}"#));
        }
        let ours = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, told) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(ours, tell);
        let swap = |text: &str, from: &str, to: &str| {
            text.replacen(&format!("\"id\":{from}"), &format!("\"id\":{to}"), 1)
        };
        self.out.send(swap(message, theirs, &ours.to_string()) + "\n").await.ok()?;
        told.await.ok().map(|answer| swap(&answer, &ours.to_string(), theirs))
    }
}

/// The text of the id.
fn id(message: &str) -> Option<&str> {
    let rest = message.split_once("\"id\":")?.1;
    Some(rest[..rest.find([',', '}'])?].trim())
}
