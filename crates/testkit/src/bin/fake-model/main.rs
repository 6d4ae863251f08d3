//! A model that says what a script says, over HTTP on this machine, in the wire format the request is in:
//! `fake-model SCRIPT.json`. Prints its address as one line, and ends when its standard input does.

#![allow(clippy::exit, reason = "it ends with its standard input, whatever it is doing")]

mod formats;
mod script;

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use formats::Format;
use script::{Script, Turn};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

struct Shared {
    script: Script,
    n_asked: AtomicUsize,
    log: Mutex<std::fs::File>,
}

fn main() -> ExitCode {
    let path = std::env::args().nth(1).unwrap_or_default();
    let script = match Script::load(&path) {
        Ok(script) => script,
        Err(why) => {
            drop(writeln!(io::stderr(), "fake-model: {path}: {why}"));
            return ExitCode::from(64);
        }
    };
    std::thread::spawn(|| {
        drop(io::copy(&mut io::stdin().lock().take(u64::MAX), &mut io::sink()));
        std::process::exit(0);
    });
    let served = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|it| it.block_on(serve(script)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "fake-model: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn serve(script: Script) -> io::Result<()> {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(&script.log)?;
    let shared = Arc::new(Shared { script, n_asked: AtomicUsize::new(0), log: Mutex::new(log) });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(io::stdout(), "http://{}", listener.local_addr()?)?;
    io::stdout().flush()?;
    loop {
        let (stream, _) = listener.accept().await?;
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { drop(answer(&shared, stream).await) });
    }
}

impl Shared {
    fn note(&self, line: &Value) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        drop(log.write_all(format!("{line}\n").as_bytes()));
    }
}

/// One request a connection.
async fn answer(shared: &Shared, stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let Some((path, headers, body)) = request(&mut stream).await? else { return Ok(()) };
    let index = shared.n_asked.fetch_add(1, Ordering::SeqCst);
    shared.note(&json!({"path": path, "headers": headers, "body": body}));
    let turn = shared.script.turn(index);
    let format = Format::of(&path);
    let (Some(turn), Some(format)) = (turn, format) else {
        let words = if format.is_none() { "no model lives here" } else { "the script is over" };
        return status(
            &mut stream,
            &Turn { status: Some(404), body: json!({"error": {"message": words}}), ..Turn::default() },
        )
        .await;
    };
    if turn.status.is_some() {
        return status(&mut stream, turn).await;
    }
    let spoken = speak(&mut stream, format, turn).await;
    if spoken.is_err() || turn.hang {
        shared.note(&json!({"closed": index}));
    }
    spoken
}

async fn speak(stream: &mut BufReader<TcpStream>, format: Format, turn: &Turn) -> io::Result<()> {
    let kind = if format == Format::Ollama { "application/x-ndjson" } else { "text/event-stream" };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    for frame in formats::body(format, turn) {
        chunk(stream, &frame).await?;
    }
    if turn.hang {
        // Until the other side goes away.
        let mut rest = [0];
        while !matches!(stream.read(&mut rest).await, Ok(0) | Err(_)) {}
        return Ok(());
    }
    match turn.cut.as_deref() {
        Some("clean") => {}
        Some(_) => return Ok(()),
        None => {
            for frame in formats::end(format, turn) {
                chunk(stream, &frame).await?;
            }
        }
    }
    stream.write_all(b"0\r\n\r\n").await?;
    stream.flush().await
}

/// One piece, by itself on the wire.
async fn chunk(stream: &mut BufReader<TcpStream>, text: &str) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await?;
    stream.flush().await?;
    tokio::time::sleep(Duration::from_millis(1)).await;
    Ok(())
}

async fn status(stream: &mut BufReader<TcpStream>, turn: &Turn) -> io::Result<()> {
    let body = turn.body.to_string();
    let mut head = format!("HTTP/1.1 {} X\r\nContent-Type: application/json\r\n", turn.status.unwrap_or(500));
    for (name, value) in &turn.headers {
        head.push_str(&format!("{name}: {}\r\n", value.as_str().unwrap_or_default()));
    }
    let whole = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    stream.write_all(whole.as_bytes()).await?;
    stream.flush().await
}

type Asked = (String, Map<String, Value>, Value);

async fn request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let Some(path) = line.split(' ').nth(1).map(str::to_owned) else { return Ok(None) };
    let mut headers = Map::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), json!(value.trim()));
    }
    let length =
        headers.get("content-length").and_then(Value::as_str).and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some((path, headers, serde_json::from_slice(&body).unwrap_or_default())))
}
