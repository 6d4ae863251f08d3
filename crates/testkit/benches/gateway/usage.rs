//! What a gateway takes, all its processes together but without the servers behind it.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Servers are not the gateway's to answer for.
const SERVERS: [&str; 2] = ["echo-floor", "fake-server"];

/// The processes below one, and itself.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let parent = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let names =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let all: Vec<(u32, u32)> =
        names.filter_map(|name| name.parse().ok()).filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![root];
    let mut at = 0;
    while let Some(of) = found.get(at).copied() {
        found.extend(all.iter().filter(|(_, parent)| *parent == of).map(|(pid, _)| *pid));
        at += 1;
    }
    found
}

fn own(root: u32) -> Vec<u32> {
    let is_server = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        *pid != root && SERVERS.contains(&name.trim())
    };
    tree(root).into_iter().filter(|pid| !is_server(pid)).collect()
}

/// What it computed so far.
pub(crate) fn cpu(root: u32) -> Duration {
    let of = |pid: u32| {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let time = |entry: fs::DirEntry| {
            let text = fs::read_to_string(entry.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        tasks.filter_map(time).sum::<u64>()
    };
    Duration::from_nanos(own(root).into_iter().map(of).sum())
}

/// Megabytes in memory, by the name of the line: of the process itself, and with those it started.
pub(crate) fn memory(root: u32, line: &str) -> (f64, f64) {
    let of = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
        found.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0.0) / 1024.0
    };
    (of(root), own(root).into_iter().map(of).sum())
}

/// Tells a process something; one that is gone needs nothing.
pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap();
    let _gone = kill_process(pid, signal);
}
