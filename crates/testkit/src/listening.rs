//! A process that says in its first line where it listens.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// It listens. It ends with this value.
#[derive(Debug)]
pub struct Listening {
    child: Child,
    url: String,
}

/// Where a process says its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaidOn {
    /// On its standard output.
    Output,
    /// On its standard error.
    Error,
}

impl Listening {
    /// Starts it and reads the line.
    ///
    /// # Panics
    ///
    /// When it does not start, or says something else.
    #[expect(clippy::expect_used, reason = "a test that cannot start its server must stop")]
    pub fn start(mut command: Command, said: SaidOn) -> Self {
        command.stdin(Stdio::piped());
        match said {
            SaidOn::Output => command.stdout(Stdio::piped()),
            SaidOn::Error => command.stderr(Stdio::piped()),
        };
        let mut child = command.spawn().expect("a program that starts");
        let mut line = String::new();
        let read = match said {
            SaidOn::Output => child.stdout.as_mut().map(|output| BufReader::new(output).read_line(&mut line)),
            SaidOn::Error => child.stderr.as_mut().map(|output| BufReader::new(output).read_line(&mut line)),
        };
        read.expect("a pipe").expect("a line");
        let url = line.trim().strip_prefix("listening on ").map(str::to_owned);
        let Some(url) = url else { panic!("instead of its address it said {line:?}") };
        Self { child, url }
    }

    /// The server that offers everything, of `peers/fixture.mjs`, with these flags.
    pub fn fixture(flags: &[&str]) -> Self {
        let mut command = Command::new(crate::peers().join("node"));
        command.arg(crate::workspace().join("peers/fixture.mjs")).args(flags);
        Self::start(command, SaidOn::Output)
    }

    /// The address it said.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
