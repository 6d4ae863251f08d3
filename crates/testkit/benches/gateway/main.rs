//! How fast calls go through the gateway, beside the least a gateway can do and beside the server itself, and what bad
//! servers cost their neighbours: `cargo bench -p testkit --bench gateway`, or `-- calls`, `large`, `list`, `neighbours`
//! for a part of it. `--json FILE` writes the figures down; `--gateway FILE` adds one that is described there (see
//! `contender`).
//!
//! Everybody has a turn in each round; what counts is the ratio of the medians. Nothing is asserted: a shared machine is no
//! judge. The goals stand beside the figures.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark reports")]

mod contender;
#[path = "../common/goal.rs"]
mod goal;
mod measure;
mod neighbours;
mod usage;
mod world;

use std::fs;
use std::process::Command;

use contender::Contender;
use serde_json::{Value, json};

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (mut parts, mut more, mut file) = (Vec::new(), Vec::new(), None);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--json" => file = args.next(),
            "--gateway" => more.push(Contender::read(&fs::read_to_string(args.next().unwrap()).unwrap())),
            _ => parts.push(arg),
        }
    }
    build();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|arg| arg == part);
    let (mut goals, mut figures) = (Vec::new(), serde_json::Map::new());
    let mut add = |name: &str, (value, met): (Value, Vec<goal::Goal>)| {
        figures.insert(name.to_owned(), value);
        goals.extend(met);
    };
    if wanted("calls") {
        add("calls", measure::calls(&more));
    }
    if wanted("large") {
        add("large", measure::large(&more));
    }
    if wanted("list") {
        add("list", measure::list(&more));
    }
    if wanted("neighbours") {
        add("neighbours", neighbours::measure());
    }
    println!("\nGoals");
    for goal in goals {
        println!("  {goal}");
    }
    if let Some(file) = file {
        fs::write(file, format!("{:#}\n", json!(figures))).unwrap();
    }
}

/// The program itself is of another crate. Building it can take minutes, so what is built is seen.
fn build() {
    println!("Building the program");
    let args = ["build", "--locked", "--release", "-p", "switchboard-cli"];
    assert!(Command::new(env!("CARGO")).args(args).status().unwrap().success());
}
