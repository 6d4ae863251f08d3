//! A real terminal, and what it shows.

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use testkit::Sandbox;

/// No program of a test runs for longer.
const LONGEST: Duration = Duration::from_secs(45);

/// A program running in a terminal of so many columns.
pub(crate) struct Screen {
    parser: vt100::Parser,
    master: Box<dyn MasterPty + Send>,
    reader: Box<dyn Read + Send>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    /// Ends the program when it is not there for too long, so that a test that waits in vain says what it saw.
    _in_time: Sender<()>,
    /// Everything the program wrote.
    pub(crate) raw: Vec<u8>,
}

impl Screen {
    pub(crate) fn open(sandbox: &Sandbox, columns: u16, line: &[&str]) -> Self {
        let mut command = vec![env!("CARGO_BIN_EXE_switchboard")];
        command.extend(line);
        Self::start(sandbox, columns, &command)
    }

    /// Ours, in a terminal of so many columns and rows.
    pub(crate) fn sized(sandbox: &Sandbox, size: (u16, u16), line: &[&str]) -> Self {
        let mut command = vec![env!("CARGO_BIN_EXE_switchboard")];
        command.extend(line);
        Self::begin(sandbox, size, &command)
    }

    /// Any program, with ours in reach.
    pub(crate) fn start(sandbox: &Sandbox, columns: u16, line: &[&str]) -> Self {
        Self::begin(sandbox, (columns, 60), line)
    }

    fn begin(sandbox: &Sandbox, (columns, rows): (u16, u16), line: &[&str]) -> Self {
        let pair = native_pty_system().openpty(pty_size(columns, rows)).unwrap();
        let mut command = CommandBuilder::new(line[0]);
        command.env_clear();
        command.env("HOME", sandbox.home());
        let own = Path::new(env!("CARGO_BIN_EXE_switchboard")).parent().unwrap();
        command.env("PATH", format!("{}:/usr/bin:/bin", own.display()));
        command.env("TERM", "xterm-256color");
        for (name, value) in sandbox.vars() {
            command.env(name, value);
        }
        command.cwd(sandbox.project());
        command.args(&line[1..]);
        let child = pair.slave.spawn_command(command).unwrap();
        let (in_time, ended) = channel();
        let mut killer = child.clone_killer();
        std::thread::spawn(move || {
            if ended.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
                drop(killer.kill());
            }
        });
        let reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        Self {
            parser: vt100::Parser::new(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap(), 500),
            master: pair.master,
            reader,
            writer,
            child,
            _in_time: in_time,
            raw: Vec::new(),
        }
    }

    /// Reads until the screen shows the text.
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(|contents| contents.contains(text));
    }

    /// Reads until the screen is as it should be. Half of a drawing does not count: the cursor may not be where it belongs.
    pub(crate) fn wait_until(&mut self, is_right: impl Fn(&str) -> bool) {
        while self.is_being_drawn() || !is_right(&self.parser.screen().contents()) {
            assert!(self.read(), "the program ended too early:\n{}", self.text());
        }
    }

    /// Reads until the program wrote what it should.
    pub(crate) fn wait_until_written(&mut self, is_right: impl Fn(&[u8]) -> bool) {
        while !is_right(&self.raw) {
            assert!(self.read(), "the program ended too early:\n{}", self.text());
        }
    }

    pub(crate) fn send(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Makes the terminal another size.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.screen_mut().set_size(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap());
        self.master.resize(pty_size(columns, rows)).unwrap();
    }

    /// The terminal as the emulator knows it.
    pub(crate) fn terminal(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// Reads until the program ends; gives its exit code.
    pub(crate) fn end(&mut self) -> u32 {
        while self.read() {}
        self.child.wait().unwrap().exit_code()
    }

    /// Takes the terminal away; gives the exit code of the program.
    pub(crate) fn hang_up(self) -> u32 {
        let Self { master, reader, writer, mut child, .. } = self;
        drop((reader, writer, master));
        child.wait().unwrap().exit_code()
    }

    /// What is on the screen now.
    pub(crate) fn text(&self) -> String {
        let contents = self.parser.screen().contents();
        let lines: Vec<_> = contents.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Whether a drawing has begun that has not ended.
    fn is_being_drawn(&self) -> bool {
        let last = |mark: &[u8]| self.raw.windows(mark.len()).rposition(|bytes| bytes == mark);
        last(b"\x1b[?2026h") > last(b"\x1b[?2026l")
    }

    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        // A terminal whose program has gone gives an error instead of an end.
        let Ok(count @ 1..) = self.reader.read(&mut buffer) else { return false };
        self.raw.extend_from_slice(&buffer[..count]);
        self.parser.process(&buffer[..count]);
        // Prompts ask where the cursor is.
        if buffer[..count].windows(4).any(|bytes| bytes == b"\x1b[6n") {
            let (row, column) = self.parser.screen().cursor_position();
            self.send(&format!("\x1b[{};{}R", row + 1, column + 1));
        }
        true
    }
}

const fn pty_size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}
