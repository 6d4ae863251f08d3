//! From the start until the tools of all servers are known.

use std::time::Duration;

use switchboard::session::Session;

use crate::cost::Cost;
use crate::goal::Goal;
use crate::world::{Guarded, World};
use crate::{Threads, bare, on, sdk};

type Runner = fn(World) -> Cost;

const BARE: &str = "bare, 8 threads";
pub(crate) const RUNNERS: [(&str, Runner); 8] = [
    (BARE, |world| {
        let commands = world.commands();
        let counted = Cost::count();
        let pipes = bare::start(&commands);
        let cost = counted();
        drop(pipes);
        cost
    }),
    ("rmcp", |world| on(Threads::One, sdk_start(world))),
    ("rmcp, 2 threads", |world| on(Threads::Two, sdk_start(world))),
    ("ours", |world| on(Threads::One, ours(world, Guarded::No))),
    ("ours, 2 threads", |world| on(Threads::Two, ours(world, Guarded::No))),
    ("ours, guarded", |world| on(Threads::One, ours(world, Guarded::Yes))),
    ("ours, not the first time", |world| on(Threads::One, again(world, Guarded::No))),
    ("ours, guarded, the same", |world| on(Threads::One, again(world, Guarded::Yes))),
];

async fn sdk_start(world: World) -> Cost {
    let commands = world.commands();
    let counted = Cost::count();
    let services = sdk::start(commands).await;
    let cost = counted();
    sdk::stop(services).await;
    cost
}

async fn ours(world: World, guarded: Guarded) -> Cost {
    let options = world.options(guarded);
    let counted = Cost::count();
    let session = Session::start(options).await;
    assert!(session.settled(None).await);
    assert_eq!(session.catalog().tools.len(), world.n_all_tools());
    let cost = counted();
    session.shutdown().await;
    cost
}

/// Servers are known, but not relied on: all of them have to answer.
async fn again(world: World, guarded: Guarded) -> Cost {
    World::visit(world.options(guarded)).await;
    ours(world, guarded).await
}

pub(crate) fn measure() -> Vec<Goal> {
    println!("\nFrom the start until all tools are known");
    let tables = [1, 10, 50, 100].map(table);
    let [_, _, _, rows] = tables;
    let of = |name: &str| rows.iter().find(|(row, _)| *row == name).unwrap().1;
    let (bare, ours, guarded) = (of(BARE), of("ours"), of("ours, guarded"));
    let best = of("rmcp").wall.min(of("rmcp, 2 threads").wall);
    let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    vec![
        Goal::at_most("100 servers, to rmcp", 0.85, ratio(ours.wall, best)),
        Goal::at_most("100 servers, to bare", 1.25, ratio(ours.wall, bare.wall)),
        Goal::at_most("100 servers, CPU, to bare", 1.5, ratio(ours.cpu, bare.cpu)),
        Goal::at_most("100 servers below guards, to rmcp", 0.85, ratio(guarded.wall, best)),
        Goal::at_most("100 servers below guards, to bare", 1.25, ratio(guarded.wall, bare.wall)),
        Goal::at_most("100 servers below guards, CPU, to bare", 1.5, ratio(guarded.cpu, bare.cpu)),
    ]
}

/// Everybody in turn, in another order each time.
fn table(n_servers: usize) -> Vec<(&'static str, Cost)> {
    let mut costs: [Vec<Cost>; RUNNERS.len()] = Default::default();
    for round in 0..crate::ROUNDS {
        for n in 0..RUNNERS.len() {
            let turn = (n + round) % RUNNERS.len();
            costs[turn].push(RUNNERS[turn].1(World::new(n_servers, 1)));
        }
    }
    let rows: Vec<_> =
        RUNNERS.iter().zip(&costs).map(|((name, _), costs)| (*name, Cost::median(costs))).collect();
    println!(
        "  {:<28} {:>9} {:>9} {:>8} {:>8}",
        format!("{n_servers} servers"),
        "ms",
        "CPU ms",
        "ms : 1",
        "CPU : 1"
    );
    let first = rows[0].1;
    for (name, cost) in &rows {
        println!(
            "  {name:<28} {:>9.1} {:>9.1} {:>8.2} {:>8.2}",
            cost.wall.as_secs_f64() * 1e3,
            cost.cpu.as_secs_f64() * 1e3,
            cost.wall.as_secs_f64() / first.wall.as_secs_f64(),
            cost.cpu.as_secs_f64() / first.cpu.as_secs_f64(),
        );
    }
    println!();
    rows
}
