//! The least a client can do, to measure command lines with: `bare-client list|call PROGRAM ARGS...`.
//!
//! It starts a server, writes prepared texts, reads one line for each, and prints the last one. It looks at nothing and
//! survives nothing: a lower bound, no client.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tool_0","arguments":{"owner":"x"}}}"#;

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let ask = if args.next().as_deref() == Some("call") { CALL } else { LIST };
    let program = args.next().ok_or_else(|| io::Error::other("which server?"))?;
    let mut server = Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(mut input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(io::Error::other("no streams"));
    };
    let mut output = BufReader::new(output);
    let mut line = String::new();
    for text in [INITIALIZE.to_owned(), format!("{INITIALIZED}\n{ask}")] {
        line.clear();
        input.write_all(format!("{text}\n").as_bytes())?;
        output.read_line(&mut line)?;
    }
    drop(input);
    server.wait()?;
    io::stdout().write_all(line.as_bytes())
}
