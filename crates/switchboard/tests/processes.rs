//! Processes: none outlives the one that started it, and none leaves something in it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::wire::{self, Ending};
use testkit::connect::{command, terms};
use testkit::{Fake, Mark, fake_server, guard, host};

/// The tests count what belongs to the whole process, so one runs at a time.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

const SERVERS: usize = 20;
const ROUNDS: usize = 50;

/// When the host is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// So long after its start, whatever it does then.
    After(Duration),
    /// When so many servers are open.
    Open(usize),
}

impl Moment {
    fn of(round: usize) -> Self {
        // Spawning twenty servers takes some hundred milliseconds.
        if round.is_multiple_of(2) {
            Self::After(Duration::from_millis(12 * round as u64))
        } else {
            Self::Open(1 + (round * SERVERS) / ROUNDS)
        }
    }
}

#[tokio::test]
async fn nothing_outlives_a_host_that_is_killed() {
    let _alone = ALONE.lock().await;
    let _there = (fake_server(), guard());
    let stubborn = json!({"start": [{"fork": "tree"}], "eof": [{"hang": true}], "sigterm": "ignore"});
    let script = Fake::script(stubborn);
    for round in 0..ROUNDS {
        let mark = Mark::new();
        let instant = Moment::of(round);
        kill_at(instant, script.path().as_path(), &mark);
        let killed = Instant::now();
        while !mark.alive().is_empty() {
            let left = mark.alive();
            assert!(killed.elapsed() < Duration::from_secs(3), "{instant:?}: {} are left", left.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Starts a host and kills it.
fn kill_at(instant: Moment, script: &Path, mark: &Mark) {
    let mut command = Command::new(host());
    command.arg(SERVERS.to_string()).arg(script).arg(mark.value());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    match instant {
        Moment::After(pause) => std::thread::sleep(pause),
        Moment::Open(count) => assert_eq!(output.lines().take(count).count(), count, "it ended by itself"),
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What a process holds.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    files: usize,
    threads: usize,
    children: Vec<String>,
}

fn held() -> Held {
    let count = |path: &str| std::fs::read_dir(path).unwrap().count();
    let own = std::process::id().to_string();
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((head, rest)) = stat.rsplit_once(')') else { continue };
        if rest.split_whitespace().nth(1) == Some(own.as_str()) {
            children.push(format!("{head}){}", &rest[..2]));
        }
    }
    Held { files: count("/proc/self/fd"), threads: count("/proc/self/task"), children }
}

#[tokio::test]
async fn five_hundred_starts_and_stops_leave_nothing() {
    let _alone = ALONE.lock().await;
    let script = Fake::script(json!({}));
    let launch = command(&fake_server(), &[&script.path().to_string_lossy()], &[]).await;
    let once = async || {
        let link = wire::open(&launch, &terms()).await.unwrap();
        assert_eq!(link.stop().await, Ending::ByItself);
    };
    once().await;
    let before = held();
    for _ in 0..500 {
        once().await;
    }
    assert_eq!(held(), before);
}
