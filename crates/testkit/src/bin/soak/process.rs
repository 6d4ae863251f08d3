//! What the system knows of processes: read from `/proc`, and told by signals.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use rustix::process::{Pid, Signal, kill_process};
use testkit::Mark;

/// What guards are called: by the small program, as far as the system keeps a name, and by the whole one.
const GUARDS: [&str; 2] = ["switchboard-gua", "switchboard"];

/// The variable that names the server a process was started for.
pub(crate) const NAME: &str = "SOAK_SERVER";

/// What one process takes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Kilobytes that are in memory.
    pub(crate) resident: u64,
    pub(crate) fds: usize,
    pub(crate) threads: usize,
}

/// A process that belongs to a server.
#[derive(Debug, Clone)]
pub(crate) struct Belonging {
    pub(crate) pid: u32,
    pub(crate) server: String,
    /// It watches over the server, and is none.
    pub(crate) is_guard: bool,
}

/// What a process takes now; nothing if it is gone.
pub(crate) fn usage(pid: u32) -> Option<Usage> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let number = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    let threads = usize::try_from(number("Threads")?).ok()?;
    Some(Usage { resident: number("VmRSS")?, fds, threads })
}

/// What its open files are, by kind: pipes, sockets, each file by its path.
pub(crate) fn open_files(pid: u32) -> String {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for target in targets {
        let target = target.to_string_lossy().into_owned();
        // `pipe:[4711]`, `socket:[4711]`: the number tells nothing.
        let kind = target.split_once(":[").map_or(target.as_str(), |(kind, _)| kind);
        *kinds.entry(kind.to_owned()).or_default() += 1;
    }
    kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect::<Vec<_>>().join(", ")
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Its parent and its state.
fn stat(pid: u32) -> Option<(u32, char)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.rsplit_once(") ")?.1.split(' ');
    let state = words.next()?.chars().next()?;
    Some((words.next()?.parse().ok()?, state))
}

/// Processes below this one that ended and that nobody asked about.
pub(crate) fn zombies(root: u32) -> Vec<u32> {
    let all: Vec<(u32, u32, char)> =
        pids().filter_map(|pid| stat(pid).map(|(parent, state)| (pid, parent, state))).collect();
    let mut found = vec![root];
    let mut at = 0;
    while let Some(of) = found.get(at).copied() {
        found.extend(all.iter().filter(|(_, parent, _)| *parent == of).map(|(pid, ..)| *pid));
        at += 1;
    }
    let is_zombie = |pid: &u32| all.iter().any(|(other, _, state)| other == pid && *state == 'Z');
    found.into_iter().filter(is_zombie).collect()
}

/// The processes of all servers of this run.
pub(crate) fn belongings(mark: &Mark) -> Vec<Belonging> {
    let named = |pid: u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mut entries = environment.split(|byte| *byte == 0).filter_map(|entry| str::from_utf8(entry).ok());
        let server = entries.find_map(|entry| entry.strip_prefix(NAME)?.strip_prefix('='))?.to_owned();
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(Belonging { pid, server, is_guard: GUARDS.contains(&name.trim()) })
    };
    mark.alive().into_iter().filter_map(named).collect()
}

/// Tells a process something.
pub(crate) fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, signal)?)
}
