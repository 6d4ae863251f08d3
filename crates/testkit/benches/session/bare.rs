//! No client at all: processes are started, prepared texts are written, and one line is read for each.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use crate::world::server;

const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}
"#;
const LIST: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
"#;

/// A server that gave its tools.
#[derive(Debug)]
pub(crate) struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    fn open(args: &[String]) -> Self {
        let mut command = Command::new(server());
        let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut pipe = Self { child, input, output };
        pipe.ask(INITIALIZE);
        assert!(pipe.ask(LIST).contains("\"tools\":["));
        pipe
    }

    fn ask(&mut self, text: &[u8]) -> String {
        self.input.as_mut().unwrap().write_all(text).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }
}

/// Starts all and gets the tools of each, on eight threads.
pub(crate) fn start(commands: &[Vec<String>]) -> Vec<Pipe> {
    let (left, pipes) = (Mutex::new(commands.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..commands.len().min(8) {
            scope.spawn(|| {
                let next = || left.lock().unwrap().next();
                while let Some(args) = next() {
                    let pipe = Pipe::open(args);
                    pipes.lock().unwrap().push(pipe);
                }
            });
        }
    });
    pipes.into_inner().unwrap()
}
