//! How fast messages go to a server and back, beside the official SDK and beside no client at all:
//! `cargo bench -p testkit`, or `-- stdio`, `http`, `decode`, `era` for a part of it.
//!
//! All of them talk to the same small server, in turn, in one run; what counts is the ratio of the medians. Nothing is
//! asserted: a shared machine is no judge. The goals stand beside the figures.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark reports")]

mod bare;
#[path = "../common/clock.rs"]
mod clock;
mod decode;
mod era;
#[path = "../common/goal.rs"]
mod goal;
mod hosted;
mod load;
mod one;
mod ours;
mod report;
mod sdk;

use goal::Goal;
use hosted::Hosted;
use load::{Load, Place, load};
use ours::Ours;
use report::{Figures, Table};
use sdk::{Sdk, Threads};

/// Rounds in which everybody has a turn.
const ROUNDS: usize = 9;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [mark, who] = args.as_slice()
        && mark == decode::PEAK
    {
        return decode::print_peak(who);
    }
    if let [mark, wanted @ ..] = args.as_slice()
        && mark == one::ONE
    {
        return one::print(wanted);
    }
    let wanted = |part: &str| args.is_empty() || args.iter().any(|arg| arg == part);
    let mut goals = Vec::new();
    if wanted("stdio") {
        goals.extend(stdio());
    }
    if wanted("http") {
        goals.extend(http());
    }
    if wanted("decode") {
        goals.extend(decode::measure());
    }
    if wanted("era") {
        goals.extend(era::measure());
    }
    println!("\nGoals");
    for goal in goals {
        println!("  {goal}");
    }
}

/// The path of the server.
fn server() -> &'static str {
    env!("CARGO_BIN_EXE_echo-floor")
}

/// A way to make calls, and how many of them.
#[derive(Debug, Clone, Copy)]
struct Case {
    title: &'static str,
    place: Place,
    in_flight: usize,
    calls: usize,
    /// Calls before it counts.
    warm_up: usize,
}

const ONE_CORE: Case =
    Case { title: "1 in flight, one core", place: Place::OneCore, in_flight: 1, calls: 4000, warm_up: 500 };
const ONE: Case =
    Case { title: "1 in flight", place: Place::Anywhere, in_flight: 1, calls: 3000, warm_up: 500 };
const MANY: Case =
    Case { title: "64 in flight", place: Place::Anywhere, in_flight: 64, calls: 19_200, warm_up: 500 };

/// What a host gets, with everything a session adds to a link.
const HOSTED: &str = "ours, in a session";

type Runner = fn(Case) -> Load;

const STDIO: [(&str, Runner); 6] = [
    ("bare", bare::stdio),
    ("ours", |case| on(Threads::One, async move { run(Ours::stdio(&[], false).await, case).await })),
    (HOSTED, |case| on(Threads::One, async move { run(Hosted::stdio().await, case).await })),
    ("ours, modern", |case| {
        on(Threads::One, async move { run(Ours::stdio(&["--modern"], false).await, case).await })
    }),
    ("rmcp", |case| on(Threads::One, async move { run(Sdk::stdio(&[]).await, case).await })),
    ("rmcp, 2 threads", |case| on(Threads::Two, async move { run(Sdk::stdio(&[]).await, case).await })),
];

const HTTP: [(&str, Runner); 8] = [
    ("bare", bare::http),
    ("ours", |case| on(Threads::One, async move { run(Ours::http(&[]).await, case).await })),
    (HOSTED, |case| on(Threads::One, async move { run(Hosted::http().await, case).await })),
    ("ours, modern", |case| {
        on(Threads::One, async move { run(Ours::http(&["--modern"]).await, case).await })
    }),
    ("rmcp", |case| on(Threads::One, async move { run(Sdk::http(false).await, case).await })),
    ("rmcp, 2 threads", |case| on(Threads::Two, async move { run(Sdk::http(false).await, case).await })),
    ("rmcp with a pool", |case| on(Threads::One, async move { run(Sdk::http(true).await, case).await })),
    ("rmcp with a pool, 2 threads", |case| {
        on(Threads::Two, async move { run(Sdk::http(true).await, case).await })
    }),
];

/// Everybody in turn, in another order each time.
fn rounds(case: Case, divisor: usize, runners: &[(&'static str, Runner)]) -> Table {
    let case = Case { calls: case.calls / divisor, ..case };
    let mut loads: Vec<Vec<Load>> = runners.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        for n in 0..runners.len() {
            let turn = (n + round) % runners.len();
            loads[turn].push(case.place.with(|| runners[turn].1(case)));
        }
    }
    let rows = runners.iter().zip(loads).map(|((name, _), loads)| (*name, Figures::of(&loads)));
    Table { title: case.title, rows: rows.collect() }
}

fn stdio() -> Vec<Goal> {
    println!("\nCalls over stdio");
    let [one_core, one, many] = [ONE_CORE, ONE, MANY].map(|case| rounds(case, 1, &STDIO));
    for table in [&one_core, &one, &many] {
        println!("{table}");
    }
    let best = many.rate("rmcp").max(many.rate("rmcp, 2 threads"));
    vec![
        Goal::at_most(
            "stdio p50, one core, to rmcp on 2 threads",
            0.55,
            one_core.ratio("ours", "rmcp, 2 threads"),
        ),
        Goal::at_most("stdio p50, one core, to bare", 2.3, one_core.ratio("ours", "bare")),
        Goal::at_least("stdio calls/s, 64 in flight, to the best of rmcp", 1.2, many.rate("ours") / best),
        Goal::at_least("stdio calls/s, 64 in flight, to bare", 0.12, many.rate("ours") / many.rate("bare")),
        Goal::at_most("stdio p50 in a session, one core, to bare", 2.3, one_core.ratio(HOSTED, "bare")),
        Goal::at_least(
            "stdio calls/s in a session, 64 in flight, to the best of rmcp",
            1.2,
            many.rate(HOSTED) / best,
        ),
        Goal::at_least(
            "stdio calls/s in a session, 64 in flight, to bare",
            0.12,
            many.rate(HOSTED) / many.rate("bare"),
        ),
    ]
}

fn http() -> Vec<Goal> {
    println!("\nCalls over HTTP");
    let [one_core, one, many] = [ONE_CORE, ONE, MANY].map(|case| rounds(case, 4, &HTTP));
    for table in [&one_core, &one, &many] {
        println!("{table}");
    }
    let default = one.p50("rmcp").min(one.p50("rmcp, 2 threads"));
    let default_rate = many.rate("rmcp").max(many.rate("rmcp, 2 threads"));
    vec![
        Goal::at_most(
            "HTTP p50 to rmcp as it is",
            0.4,
            one.p50("ours").as_secs_f64() / default.as_secs_f64(),
        ),
        Goal::at_most("HTTP p50 to bare", 6.0, one.ratio("ours", "bare")),
        Goal::at_most("HTTP p50, one core, to bare", 6.0, one_core.ratio("ours", "bare")),
        Goal::at_least("HTTP calls/s, 64 in flight, to rmcp as it is", 4.0, many.rate("ours") / default_rate),
        Goal::at_least("HTTP calls/s, 64 in flight, to bare", 0.35, many.rate("ours") / many.rate("bare")),
        Goal::at_most("HTTP p50 in a session, one core, to bare", 6.0, one_core.ratio(HOSTED, "bare")),
        Goal::at_least(
            "HTTP calls/s in a session, 64 in flight, to bare",
            0.35,
            many.rate(HOSTED) / many.rate("bare"),
        ),
    ]
}

async fn run(client: impl load::Client, case: Case) -> Load {
    load(&client, case.warm_up, case.in_flight).await;
    let measured = load(&client, case.calls, case.in_flight).await;
    client.stop().await;
    measured
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
