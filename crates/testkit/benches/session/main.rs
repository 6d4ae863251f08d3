//! How fast a session has all tools of all servers, beside the official SDK and beside no client at all:
//! `cargo bench -p testkit --bench session`, or `-- start`, `gate`, `warm`, `memory` for a part of it.
//!
//! All of them start the same small servers, in turn, in one run; what counts is the ratio of the medians. Nothing is
//! asserted of the times: a shared machine is no judge. The goals stand beside the figures.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark reports")]

mod bare;
#[path = "../common/clock.rs"]
mod clock;
mod cost;
mod gate;
#[path = "../common/goal.rs"]
mod goal;
mod memory;
mod one;
mod sdk;
mod start;
mod warm;
mod world;

/// Rounds in which everybody has a turn.
const ROUNDS: usize = 9;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [mark, wanted @ ..] = args.as_slice()
        && mark == one::ONE
    {
        return one::print(wanted);
    }
    let wanted = |part: &str| args.is_empty() || args.iter().any(|arg| arg == part);
    let mut goals = Vec::new();
    if wanted("start") {
        goals.extend(start::measure());
    }
    if wanted("gate") {
        goals.extend(gate::measure());
    }
    if wanted("warm") {
        goals.extend(warm::measure());
    }
    if wanted("memory") {
        memory::measure();
    }
    println!("\nGoals");
    for goal in goals {
        println!("  {goal}");
    }
}

/// How many threads a runtime has.
#[derive(Debug, Clone, Copy)]
enum Threads {
    One,
    Two,
}

/// On a runtime of its own, as a program would have it.
fn on<T: Send + 'static>(threads: Threads, work: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = match threads {
        Threads::One => tokio::runtime::Builder::new_current_thread().enable_all().build(),
        Threads::Two => tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build(),
    }
    .unwrap();
    runtime.block_on(async { tokio::spawn(work).await.unwrap() })
}
