//! One run of one contender, for `bench/run`: what came out goes to the standard output, as one line of JSON.
//!
//! Times are in microseconds, memory in kilobytes. Rounds and their order are for the one who starts this.

use serde_json::json;

use crate::world::World;
use crate::{gate, start, warm};

/// Makes this program do one run: `--one start WHO SERVERS TOOLS`, `--one gate WHO`, `--one window`, `--one warm WHO`.
pub(crate) const ONE: &str = "--one";

pub(crate) fn print(wanted: &[String]) {
    let words: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let figures = match words.as_slice() {
        ["start", who, n_servers, n_tools] => {
            let servers: u32 = n_servers.parse().unwrap();
            let (_, run) = start::RUNNERS.iter().find(|(name, _)| name == who).unwrap();
            let cost = run(World::new(usize::try_from(servers).unwrap(), n_tools.parse().unwrap()));
            json!({"wall": micros(cost.wall), "cpu": micros(cost.cpu), "grown": cost.grown / f64::from(servers)})
        }
        ["gate", who] => json!({"wall": micros(gate::one(who))}),
        ["window"] => {
            let start = gate::one_window();
            let [before, _] = start.answered;
            json!({"wall": micros(start.elapsed), "tools": start.n_tools, "answered": before})
        }
        ["warm", who] => {
            let cost = warm::one(who);
            json!({"wall": micros(cost.wall), "cpu": micros(cost.cpu)})
        }
        _ => panic!("unknown words {words:?}"),
    };
    println!("{figures}");
}

fn micros(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
