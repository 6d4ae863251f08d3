//! The tracer: follows a program and its threads from call to call. Programs that it starts are not followed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::Fault;
use super::table::{Call, Kind, Row, Where, find};

/// No path is longer.
const LONGEST: usize = 4096;

/// One run.
pub(super) struct Tracer<'a> {
    root: &'a Path,
    fault: Option<(&'a Call, Fault)>,
    calls: Vec<Call>,
    counts: BTreeMap<(&'static str, String), usize>,
    is_hit: bool,
    /// What each thread that is in a call is to be told instead of the truth.
    answers: BTreeMap<Pid, Answer>,
}

#[derive(Clone, Copy)]
enum Answer {
    Error(Errno),
    Death,
}

/// What is done at the start of a call.
enum Act {
    Pass,
    Fail(Errno),
    Halve,
    Kill,
    KillAfter,
}

impl<'a> Tracer<'a> {
    pub(super) fn new(root: &'a Path, fault: Option<(&'a Call, Fault)>) -> Self {
        let (calls, counts, answers) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { root, fault, calls, counts, is_hit: false, answers }
    }

    pub(super) fn done(self) -> (Vec<Call>, bool) {
        (self.calls, self.is_hit)
    }

    /// Starts the command and follows it to its end: how it ended, as the system has it.
    #[expect(clippy::expect_used, reason = "a test that cannot trace must stop")]
    #[expect(clippy::zombie_processes, reason = "it is waited for with its threads, by another call")]
    pub(super) fn trace(mut self, mut command: Command) -> (i32, Self) {
        let child = command.spawn().expect("a program");
        let main = Pid::from_raw(i32::try_from(child.id()).expect("the number of a process"));
        waitpid(main, Some(WaitPidFlag::WUNTRACED)).expect("a program that waits for us");
        let options =
            Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
        ptrace::seize(main, options).expect("the right to trace");
        kill(main, Signal::SIGCONT).expect("a program that goes on");
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            let (pid, signal) = match waitpid(None, Some(flags)).expect("a program that is still there") {
                WaitStatus::Exited(pid, code) if pid == main => return (code << 8, self),
                WaitStatus::Signaled(pid, signal, _) if pid == main => return (signal as i32, self),
                WaitStatus::PtraceSyscall(pid) => {
                    self.step(main, pid);
                    (pid, None)
                }
                WaitStatus::Stopped(pid, signal) => (pid, Some(signal)),
                WaitStatus::PtraceEvent(pid, ..) => (pid, None),
                _ => continue,
            };
            // Whoever was killed meanwhile is waited for above.
            let _gone = ptrace::syscall(pid, signal);
        }
    }

    /// A thread is at the start or at the end of a call.
    fn step(&mut self, main: Pid, pid: Pid) {
        let Ok(mut registers) = ptrace::getregs(pid) else { return };
        match self.answers.remove(&pid) {
            None => {}
            Some(Answer::Error(error)) => {
                registers.rax = result(error);
                let _gone = ptrace::setregs(pid, registers);
                return;
            }
            Some(Answer::Death) => return die(main),
        }
        // The kernel puts this there before it does anything, and no call of the table ends with it.
        if registers.rax != result(Errno::ENOSYS) {
            return;
        }
        let Some(row) = find(registers.orig_rax) else { return };
        let arguments =
            [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9];
        let Some(path) = self.path(pid, row, &arguments) else { return };
        match self.act(row.name, path, row.kind(&arguments)) {
            Act::Pass => {}
            Act::Fail(error) => {
                // A call that there is not: the kernel does nothing.
                registers.orig_rax = u64::MAX;
                let _gone = ptrace::setregs(pid, registers);
                self.answers.insert(pid, Answer::Error(error));
            }
            Act::Halve => {
                registers.rdx /= 2;
                let _gone = ptrace::setregs(pid, registers);
            }
            Act::Kill => die(main),
            Act::KillAfter => {
                self.answers.insert(pid, Answer::Death);
            }
        }
    }

    /// Writes the call down and decides what becomes of it.
    fn act(&mut self, name: &'static str, path: String, kind: Kind) -> Act {
        let count = self.counts.entry((name, path.clone())).or_default();
        let call = Call { name, path, nth: *count, kind };
        *count += 1;
        let act = match self.fault {
            Some((at, fault)) if !self.is_hit && *at == call => {
                self.is_hit = true;
                first(fault)
            }
            Some((_, fault)) if self.is_hit => later(fault, kind),
            _ => Act::Pass,
        };
        self.calls.push(call);
        act
    }

    /// What a call touches, if it is below the directory.
    fn path(&self, pid: Pid, row: &Row, arguments: &[u64; 6]) -> Option<String> {
        let of_open = |number: u64| {
            let number = i32::try_from(number & 0xffff_ffff).ok();
            let link = match number {
                Some(number) => format!("/proc/{pid}/fd/{number}"),
                // The directory we are in is a negative number.
                None => format!("/proc/{pid}/cwd"),
            };
            fs::read_link(link).ok()
        };
        let path = match row.place {
            Where::Path(path) => of_open(u64::MAX)?.join(text(pid, arguments[path])?),
            Where::At(dir, path) => of_open(arguments[dir])?.join(text(pid, arguments[path])?),
            Where::Open(file) => of_open(arguments[file])?,
        };
        let below = path.strip_prefix(self.root).ok()?.to_string_lossy().into_owned();
        Some(without_numbers(below.trim_end_matches('/')))
    }
}

/// The whole program ends, without another step.
fn die(main: Pid) {
    let _gone = kill(main, Signal::SIGKILL);
}

fn result(error: Errno) -> u64 {
    i64::from(-(error as i32)).cast_unsigned()
}

const fn first(fault: Fault) -> Act {
    match fault {
        Fault::NoSpace => Act::Fail(Errno::ENOSPC),
        Fault::Half => Act::Halve,
        Fault::Broken => Act::Fail(Errno::EIO),
        Fault::ReadOnly => Act::Fail(Errno::EROFS),
        Fault::Interrupted => Act::Fail(Errno::EINTR),
        Fault::Killed => Act::Kill,
        Fault::KilledAfter => Act::KillAfter,
    }
}

/// What becomes of the calls after it: a full disk stays full, but things can be removed from it.
const fn later(fault: Fault, kind: Kind) -> Act {
    match (fault, kind) {
        (Fault::NoSpace | Fault::Half, Kind::Make | Kind::Write | Kind::Sync) => Act::Fail(Errno::ENOSPC),
        (Fault::ReadOnly, Kind::Make | Kind::Write | Kind::Rename | Kind::Remove | Kind::Mode) => {
            Act::Fail(Errno::EROFS)
        }
        _ => Act::Pass,
    }
}

/// A text in the memory of a program.
fn text(pid: Pid, address: u64) -> Option<PathBuf> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut bytes = vec![0; LONGEST];
    // It may be at the end of what is mapped.
    let n_read = memory.read_at(&mut bytes, address).ok()?;
    let end = bytes[..n_read].iter().position(|byte| *byte == 0)?;
    Some(PathBuf::from(OsStr::from_bytes(&bytes[..end])))
}

fn without_numbers(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for letter in path.chars() {
        match letter {
            '0'..='9' if text.ends_with('#') => {}
            '0'..='9' => text.push('#'),
            other => text.push(other),
        }
    }
    text
}
