//! How much memory a connected server takes, in the process that holds the connection.

use std::process::Command;
use std::time::Duration;

use switchboard::session::Session;

use crate::goal::median;
use crate::world::{Guarded, World};
use crate::{Threads, bare, on, sdk};

/// Makes this program tell how much it grew.
pub(crate) const GROWN: &str = "--grown";

pub(crate) fn measure() {
    println!("\nMemory, kB for each connected server, 100 servers");
    for n_tools in [1, 20] {
        let of = ["bare", "ours", "rmcp"].map(|who| grown(who, n_tools));
        println!("  {n_tools:>2} tools each: bare {:.0}, ours {:.0}, rmcp {:.0}", of[0], of[1], of[2]);
    }
}

/// In a process of its own, because memory that was used once is not given back.
fn grown(who: &str, n_tools: usize) -> f64 {
    let program = std::env::current_exe().unwrap();
    let all = (0..5).map(|_| {
        let output = Command::new(&program).args([GROWN, who, &n_tools.to_string()]).output().unwrap();
        Duration::from_secs_f64(String::from_utf8_lossy(&output.stdout).trim().parse().unwrap())
    });
    median(all.collect()).as_secs_f64()
}

/// Prints by how many kilobytes the memory grew for each server.
pub(crate) fn print_grown(who: &str, n_tools: usize) {
    let world = World::new(100, n_tools);
    let grown = match who {
        "bare" => {
            let before = resident();
            let pipes = bare::start(&world.commands());
            let grown = resident() - before;
            drop(pipes);
            grown
        }
        "ours" => on(Threads::One, async move {
            let before = resident();
            let session = Session::start(world.options(Guarded::No)).await;
            session.settled(None).await;
            session.listed().await;
            let grown = resident() - before;
            session.shutdown().await;
            grown
        }),
        _ => on(Threads::One, async move {
            let before = resident();
            let services = sdk::start(world.commands()).await;
            let grown = resident() - before;
            sdk::stop(services).await;
            grown
        }),
    };
    println!("{}", grown / 100.0);
}

/// Kilobytes, as Linux tells them; nothing elsewhere.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0.0)
}
