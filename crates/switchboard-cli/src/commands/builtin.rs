//! `builtin`: a built-in server on standard input and output. Started by a connection, not by people.

use std::io::{BufRead, BufReader, Read, Write};

use super::Outcome;
use crate::error::CommandError;
use crate::thinking::Thinking;

/// Longer messages are refused: 16 MiB.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// Answers line by line until the input ends.
pub(super) fn run() -> Result<Outcome, CommandError> {
    let mut server = Thinking::default();
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        // One byte over the limit tells that the line goes on.
        let count = input.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line)?;
        if count == 0 {
            return Ok(Outcome::Done);
        }
        if count as u64 > MAX_LINE_BYTES {
            input.skip_until(b'\n')?;
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim().is_empty() {
            continue;
        }
        if let Some(answer) = server.line(&text) {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
}
