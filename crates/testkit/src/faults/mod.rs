//! Runs a program under a tracer that makes one of its system calls fail, or kills the program there.
//!
//! In: a command and a directory. Out: the calls that touched something below the directory, how the program ended and
//! what it said. The program is the real one and knows nothing of this; the tracer sees every call, whichever library
//! makes it. Linux on `x86_64` only: elsewhere registers have other names.

mod table;
mod trace;

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

pub use table::{Call, Kind};

use crate::Sandbox;
use trace::Tracer;

/// Stops until the tracer is there, then becomes the program.
const PRELUDE: &str = r#"kill -STOP $$; exec "$0" "$@""#;

/// What happens at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The disk is full, from here on.
    NoSpace,
    /// Half of it is written, then the disk is full.
    Half,
    /// The disk does not work, this once.
    Broken,
    /// The file system is read-only, from here on.
    ReadOnly,
    /// A signal came in between, this once.
    Interrupted,
    /// The program is killed before the call is made.
    Killed,
    /// The program is killed when the call is done.
    KilledAfter,
}

impl Fault {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NoSpace => "no space",
            Self::Half => "half written",
            Self::Broken => "I/O error",
            Self::ReadOnly => "read-only",
            Self::Interrupted => "interrupted",
            Self::Killed => "killed before",
            Self::KilledAfter => "killed after",
        }
    }

    /// Whether the program is killed.
    pub const fn kills(self) -> bool {
        matches!(self, Self::Killed | Self::KilledAfter)
    }

    /// What can happen at a call.
    pub const fn at(kind: Kind) -> &'static [Self] {
        match kind {
            // These wait for nothing that a signal could come before.
            Kind::Look => &[Self::Broken],
            Kind::Read | Kind::Lock => &[Self::Broken, Self::Interrupted],
            Kind::Write => &[
                Self::NoSpace,
                Self::Half,
                Self::Broken,
                Self::ReadOnly,
                Self::Interrupted,
                Self::Killed,
                Self::KilledAfter,
            ],
            Kind::Make | Kind::Sync | Kind::Rename | Kind::Remove | Kind::Mode => &[
                Self::NoSpace,
                Self::Broken,
                Self::ReadOnly,
                Self::Interrupted,
                Self::Killed,
                Self::KilledAfter,
            ],
        }
    }
}

/// How a run went.
#[derive(Debug)]
pub struct Run {
    /// The calls that touched something below the directory, in their order.
    pub calls: Vec<Call>,
    /// Whether the fault came to pass.
    pub is_hit: bool,
    /// The exit code; none if it was killed.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A program that can be run under the tracer.
pub fn command(sandbox: &Sandbox, program: &Path) -> Command {
    let mut command = sandbox.command("/bin/sh");
    command.args(["-c", PRELUDE]).arg(program).stdin(Stdio::null());
    command
}

/// Runs a command of [`command`]. Nothing fails of itself without a fault.
///
/// # Panics
///
/// When it cannot be traced, in which case the test cannot run.
#[expect(clippy::expect_used, reason = "a test that cannot trace must stop")]
pub fn run(mut command: Command, root: &Path, fault: Option<(&Call, Fault)>) -> Run {
    let mut stdout = tempfile::tempfile().expect("a file for its output");
    let mut stderr = tempfile::tempfile().expect("a file for its errors");
    command.stdout(stdout.try_clone().expect("the same file"));
    command.stderr(stderr.try_clone().expect("the same file"));
    let tracer = Tracer::new(root, fault);
    // Whoever traces waits for all its children: a thread of its own has no others.
    let (ended, tracer) = std::thread::scope(|scope| {
        let thread = scope.spawn(|| tracer.trace(command));
        thread.join().expect("a tracer that does not panic")
    });
    let status = ExitStatus::from_raw(ended);
    let (calls, is_hit) = tracer.done();
    Run { calls, is_hit, code: status.code(), stdout: text(&mut stdout), stderr: text(&mut stderr) }
}

#[expect(clippy::expect_used, reason = "a test that cannot read what was said must stop")]
fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("what was said");
    String::from_utf8_lossy(&bytes).into_owned()
}
