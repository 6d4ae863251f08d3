//! When a session can be used although a server is slow: how long that takes, and whether what answered is there.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use switchboard::session::{Gate, Session};

use crate::goal::{Goal, median};
use crate::world::{Guarded, World};
use crate::{Threads, bare, on};

/// Longer than anybody waits.
const HANGS: u64 = 5000;
/// As it is without a word in the settings.
const WINDOW: Duration = Duration::from_millis(250);
/// What answered so short a time before need not be there.
const LATELY: Duration = Duration::from_millis(10);

pub(crate) fn measure() -> Vec<Goal> {
    let mut goals = one_hangs();
    goals.extend(many_are_slow());
    goals
}

/// Ten servers that are known from last time, one of which hangs.
fn one_hangs() -> Vec<Goal> {
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..crate::ROUNDS {
        for (times, who) in times.iter_mut().zip(["bare", "quick", "correct"]) {
            times.push(one(who));
        }
    }
    let [bare, quick, correct] = times.map(median);
    println!("\nTen servers, all known from last time, one of them hangs");
    println!("  nine of them, bare:      {bare:.2?}");
    println!("  ready, somebody waits:   {quick:.2?}");
    println!("  ready, nobody waits:     {correct:.2?}");
    let ratio = |time: Duration| time.as_secs_f64() / bare.as_secs_f64();
    vec![
        Goal::at_most("one of ten hangs, to nine bare", 2.0, ratio(quick)),
        Goal::at_most("the same when nobody waits", 2.0, ratio(correct)),
    ]
}

/// The time of one contender.
pub(crate) fn one(who: &str) -> Duration {
    match who {
        "bare" => nine_bare(),
        "quick" => on(Threads::One, ready(Gate::Quick)),
        _ => on(Threads::One, ready(Gate::Correct)),
    }
}

/// One start below guards.
pub(crate) fn one_window() -> Start {
    on(Threads::One, window(Guarded::Yes))
}

fn nine_bare() -> Duration {
    let world = World::new(9, 1);
    let commands = world.commands();
    let started = Instant::now();
    let pipes = bare::start(&commands);
    let elapsed = started.elapsed();
    drop(pipes);
    elapsed
}

async fn ready(gate: Gate) -> Duration {
    let world = World::new(10, 1);
    World::visit(world.options(Guarded::Yes)).await;
    world.slow_down(4, HANGS);
    let options = world.options(Guarded::Yes);
    let started = Instant::now();
    let session = Session::start(options).await;
    session.ready(gate).await;
    let elapsed = started.elapsed();
    assert_eq!(session.catalog().tools.len(), 10);
    session.shutdown().await;
    elapsed
}

/// What a start found when its window was over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) elapsed: Duration,
    pub(crate) n_tools: usize,
    /// Servers that had given their tools a moment before, and by then.
    pub(crate) answered: [usize; 2],
}

/// A hundred servers nobody knows yet, every third of them slower than the window.
fn many_are_slow() -> Vec<Goal> {
    println!("\n100 servers nobody knows yet, 34 of them slow, a window of {WINDOW:?}");
    let mut late = Duration::ZERO;
    let mut share: f64 = 1.0;
    for guarded in [Guarded::No, Guarded::Yes] {
        let starts: Vec<Start> = (0..crate::ROUNDS).map(|_| on(Threads::One, window(guarded))).collect();
        for start in starts {
            let Start { elapsed, n_tools, answered: [before, then] } = start;
            late = late.max(elapsed.saturating_sub(WINDOW));
            let number = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
            share = share.min(number(n_tools) / number(before.max(1)));
            let word = if guarded == Guarded::Yes { "guarded" } else { "plain" };
            println!(
                "  {word:<8} {elapsed:>9.2?}, {n_tools} tools; answered: {before}, and {} in the last {LATELY:?}",
                then - before
            );
        }
    }
    vec![
        Goal::at_most("window kept, milliseconds too late", 10.0, late.as_secs_f64() * 1e3),
        Goal::at_least("tools there, to servers that had answered", 1.0, share),
    ]
}

async fn window(guarded: Guarded) -> Start {
    let world = World::new(100, 1);
    for n in (0..world.n_servers()).step_by(3) {
        world.slow_down(n, HANGS);
    }
    let options = world.options(guarded);
    let started = Instant::now();
    let session = Session::start(options).await;
    session.ready(Gate::Quick).await;
    let elapsed = started.elapsed();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let n_tools = session.catalog().tools.len();
    let log = world.log();
    let by = |time: Duration| log.iter().filter(|at| **at <= time.as_micros()).count();
    let answered = [by(now.saturating_sub(LATELY)), by(now)];
    session.shutdown().await;
    Start { elapsed, n_tools, answered }
}
