//! A command in a terminal, for what needs a person: everything it wrote so far, and its end.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use testkit::Sandbox;

pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    seen: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    writer: Box<dyn Write + Send>,
    _master: Box<dyn MasterPty + Send>,
}

/// What a terminal can do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Usual,
    /// Shows lines and nothing else.
    Plain,
}

impl Terminal {
    /// Types a line into a shell. The terminal is so wide that nothing is broken into lines.
    pub(crate) fn open(sandbox: &Sandbox, kind: Kind, typed: &str) -> Self {
        let size = PtySize { rows: 60, cols: 2000, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new("/bin/bash");
        command.args(["-c", typed]);
        command.cwd(sandbox.project());
        command.env_clear();
        command.env("HOME", sandbox.home());
        // No colours, and a browser that opens nothing.
        let term = match kind {
            Kind::Usual => "xterm",
            Kind::Plain => "dumb",
        };
        for (name, value) in [("TERM", term), ("NO_COLOR", "1"), ("BROWSER", "/bin/true")] {
            command.env(name, value);
        }
        sandbox.vars().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).unwrap();
        let writer = pair.master.take_writer().unwrap();
        let mut output = pair.master.try_clone_reader().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&seen);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A terminal whose program has gone gives an error instead of an end.
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                all.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..count]);
            }
        });
        Self { child, seen, reader, writer, _master: pair.master }
    }

    /// What was written so far.
    pub(crate) fn seen(&self) -> Vec<u8> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&seen).replace("\r\n", "\n").into_bytes()
    }

    /// Types a line.
    pub(crate) fn say(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\r").as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Ends it, if it does not end by itself.
    pub(crate) fn give_up(&mut self) {
        drop(self.child.kill());
    }

    /// Waits for the end; gives the exit code and all that was written.
    pub(crate) fn end(mut self) -> (i32, Vec<u8>) {
        let code = self.child.wait().map_or(-1, |status| status.exit_code().cast_signed());
        let (seen, reader) = (Arc::clone(&self.seen), self.reader);
        drop(reader.join());
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        (code, String::from_utf8_lossy(&seen).replace("\r\n", "\n").into_bytes())
    }
}
