//! The fastest server there is, to measure clients with:
//! `echo-floor [--http] [--modern] [--mute] [--tools N] [--wait FILE] [--log FILE]`.
//!
//! It looks for the id and the method in the text and never parses it, so what is measured is the client. The tool `echo`
//! says a word; the tool `text` gives back so many bytes as its argument `bytes` says. `--modern` also answers
//! `server/discover`; `--mute` ignores that question, as some older servers do. `--wait` makes it sleep first, for as many
//! milliseconds as the file says, if there is one. `--log` adds the time, in microseconds since 1970, of each list it gave.
//! With `--http` it prints its address and ends with its standard input.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One read.
const CHUNK: usize = 64 * 1024;

#[derive(Debug, Default)]
struct Server {
    is_http: bool,
    is_modern: bool,
    is_mute: bool,
    tools: Arc<str>,
    /// The text that was asked for last, so that making it is not measured.
    text: Mutex<Arc<str>>,
    log: Option<File>,
}

/// What is to be said: up to the long part, the long part, and the end.
struct Answer {
    start: String,
    long: Arc<str>,
    end: &'static str,
}

fn main() -> io::Result<()> {
    let mut server = Server::default();
    let mut n_tools = 1;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--http" => server.is_http = true,
            "--modern" => server.is_modern = true,
            "--mute" => server.is_mute = true,
            "--tools" => n_tools = args.next().and_then(|n| n.parse().ok()).unwrap_or(n_tools),
            "--wait" => wait(&args.next().unwrap_or_default()),
            "--log" => {
                let path = args.next().unwrap_or_default();
                server.log = Some(File::options().create(true).append(true).open(path)?);
            }
            _ => return Err(io::Error::other(format!("unknown argument {arg}"))),
        }
    }
    server.tools = Arc::from((0..n_tools).map(tool).collect::<Vec<_>>().join(","));
    if server.is_http { http(&Arc::new(server)) } else { stdio(&server) }
}

fn wait(path: &str) {
    let time = fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
    std::thread::sleep(Duration::from_millis(time.unwrap_or(0)));
}

/// About 1,650 bytes, as tools with a good description have.
fn tool(n: usize) -> String {
    let words =
        "Looks up the records that match, newest first, and says of each what it is and where. ".repeat(6);
    let property = |name: &str| {
        format!(
            r#""{name}":{{"type":"string","description":"The {name} of the records, as they were entered; part of it will do","maxLength":200}}"#
        )
    };
    let properties = ["owner", "title", "status", "place", "since", "until", "order"].map(property).join(",");
    format!(
        r#"{{"name":"tool_{n}","title":"Tool {n}","description":"{words}","inputSchema":{{"type":"object","properties":{{{properties}}},"required":["owner"]}}}}"#
    )
}

fn stdio(server: &Server) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = BufWriter::with_capacity(CHUNK, io::stdout().lock());
    let mut chunk = vec![0; CHUNK];
    let mut buffer = Vec::new();
    loop {
        let n = input.read(&mut chunk)?;
        if n == 0 {
            return Ok(());
        }
        buffer.extend_from_slice(&chunk[..n]);
        let mut done = 0;
        while let Some(end) = buffer[done..].iter().position(|byte| *byte == b'\n') {
            let message = String::from_utf8_lossy(&buffer[done..done + end]);
            if let Some(answer) = server.answer(&message) {
                answer.write(&mut output)?;
                output.write_all(b"\n")?;
            }
            if let Some(mut log) = server.log.as_ref().filter(|_| message.contains("\"tools/list\"")) {
                output.flush()?;
                let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                log.write_all(format!("{}\n", time.as_micros()).as_bytes())?;
            }
            done += end + 1;
        }
        buffer.drain(..done);
        output.flush()?;
    }
}

fn http(server: &Arc<Server>) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    let server = Arc::clone(server);
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            // A client that goes away ends its thread.
            std::thread::spawn(move || serve(&server, connection));
        }
    });
    io::copy(&mut io::stdin(), &mut io::sink()).map(drop)
}

fn serve(server: &Server, mut connection: TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut output = BufWriter::with_capacity(CHUNK, connection.try_clone()?);
    let mut chunk = vec![0; CHUNK];
    let mut buffer: Vec<u8> = Vec::new();
    loop {
        while let Some(head) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
            let length = text.split_once("content-length:").and_then(|(_, rest)| rest.lines().next());
            let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
            let whole = head + 4 + length;
            if buffer.len() < whole {
                break;
            }
            let answer = server.answer(&String::from_utf8_lossy(&buffer[head + 4..whole]));
            match answer {
                Some(answer) => {
                    let length = answer.start.len() + answer.long.len() + answer.end.len();
                    write!(
                        output,
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
                    )?;
                    answer.write(&mut output)?;
                }
                None if text.starts_with("post") => {
                    output.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")?;
                }
                None => output.write_all(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n")?,
            }
            output.flush()?;
            buffer.drain(..whole);
        }
        match connection.read(&mut chunk)? {
            0 => return Ok(()),
            n => buffer.extend_from_slice(&chunk[..n]),
        }
    }
}

impl Server {
    /// Nothing for what wants no answer.
    fn answer(&self, message: &str) -> Option<Answer> {
        let id = value(message, "\"id\":")?;
        let method = value(message, "\"method\":")?.trim_matches('"');
        let kind = if self.is_modern { r#""resultType":"complete","# } else { "" };
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{kind}"#);
        let short = |body: &str| Answer { start: start.clone() + body, long: Arc::default(), end: "" };
        Some(match method {
            "tools/call" if message.contains("\"bytes\":") => {
                let bytes = value(message, "\"bytes\":")?.parse().ok()?;
                let start = start + r#""content":[{"type":"text","text":""#;
                Answer { start, long: self.text(bytes), end: r#""}]}}"# }
            }
            "tools/call" => short(r#""content":[{"type":"text","text":"hello"}]}}"#),
            "tools/list" => {
                Answer { start: start + r#""tools":["#, long: Arc::clone(&self.tools), end: "]}}" }
            }
            "server/discover" if self.is_mute => return None,
            "server/discover" if self.is_modern => {
                short(r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#)
            }
            "initialize" => short(
                r#""protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo-floor","version":"1"}}}"#,
            ),
            "ping" => short("}}"),
            _ => {
                let start =
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"unknown"}}}}"#);
                Answer { start, long: Arc::default(), end: "" }
            }
        })
    }

    /// Lines of text, so many bytes of JSON.
    fn text(&self, bytes: usize) -> Arc<str> {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if text.len() != bytes {
            let line =
                "It was a bright cold day in April, and the clocks were striking thirteen, all of them.\\n";
            let mut new = line.repeat(bytes / line.len());
            new.extend(std::iter::repeat_n('x', bytes - new.len()));
            *text = Arc::from(new);
        }
        Arc::clone(&text)
    }
}

impl Answer {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(self.start.as_bytes())?;
        out.write_all(self.long.as_bytes())?;
        out.write_all(self.end.as_bytes())
    }
}

/// What follows the first such key, up to the next comma or brace.
fn value<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    let rest = &message[message.find(key)? + key.len()..];
    Some(rest[..rest.find([',', '}'])?].trim())
}
