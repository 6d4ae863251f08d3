//! A start when everything is known from last time: until the tools can be used, before any server answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::value::RawValue;
use switchboard::session::{self, Options, Session};

use crate::cost::Cost;
use crate::goal::Goal;
use crate::world::{Guarded, World};
use crate::{Threads, on};

type Index = BTreeMap<String, Box<RawValue>>;

pub(crate) fn measure() -> Vec<Goal> {
    let (world, file, bytes) = known();
    let (mut raws, mut starts) = (Vec::new(), Vec::new());
    for _ in 0..crate::ROUNDS * 10 {
        raws.push(index(&file));
        starts.push(start(&world));
    }
    let [raw, start] = [raws, starts].map(|costs| Cost::median(&costs));
    println!("\n100 servers with 20 tools each, all known from last time, {bytes} bytes");
    println!("  reading and indexing one file:  {:.2?}, computing {:.2?}", raw.wall, raw.cpu);
    println!("  until they can be used:         {:.2?}, computing {:.2?}", start.wall, start.cpu);
    let ratio = |of: fn(&Cost) -> Duration| of(&start).as_secs_f64() / of(&raw).as_secs_f64();
    vec![
        Goal::at_most("2,000 known tools, to one file read and indexed", 3.0, ratio(|cost| cost.wall)),
        Goal::at_most("the same, CPU", 3.0, ratio(|cost| cost.cpu)),
    ]
}

/// The middle of several starts of one contender.
pub(crate) fn one(who: &str) -> Cost {
    let (world, file, _) = known();
    let costs: Vec<Cost> =
        (0..crate::ROUNDS).map(|_| if who == "index" { index(&file) } else { start(&world) }).collect();
    Cost::median(&costs)
}

/// Servers that are known, what is known of them in one file, and its size.
fn known() -> (World, PathBuf, usize) {
    let world = World::new(100, 20);
    on(Threads::One, World::visit(world.options(Guarded::No)));
    // From now on a server is started when it is called: what is measured does not wait for them anyhow.
    world.make_lazy();
    let file = world.path("~/one.json");
    let bytes = in_one_file(&world.options(Guarded::No), &file);
    (world, file, bytes)
}

fn start(world: &World) -> Cost {
    let options = world.options(Guarded::No);
    on(Threads::One, async move {
        let counted = Cost::count();
        let session = Session::start(options).await;
        let n_tools = session.catalog().tools.len();
        let cost = counted();
        assert_eq!(n_tools, 2000);
        session.shutdown().await;
        cost
    })
}

/// What is known, as one object by name.
fn in_one_file(options: &Options, file: &Path) -> usize {
    let (_, known) = session::cached(options);
    let tools = known.tools.iter().map(|entry| (entry.name.clone(), entry.tool.raw.parse().unwrap()));
    let all: Index = tools.collect();
    assert_eq!(all.len(), 2000);
    let text = serde_json::to_vec(&all).unwrap();
    fs::write(file, &text).unwrap();
    text.len()
}

fn index(file: &Path) -> Cost {
    let counted = Cost::count();
    let all: Index = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(all.len(), 2000);
    counted()
}
