//! How much memory a connected server takes, in the process that holds the connection.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::goal::median;
use crate::one::ONE;

const N_SERVERS: &str = "100";

pub(crate) fn measure() {
    println!("\nMemory, kB for each connected server, {N_SERVERS} servers");
    for n_tools in ["1", "20"] {
        let of = ["bare, 8 threads", "ours", "rmcp"].map(|who| grown(who, n_tools));
        println!("  {n_tools:>2} tools each: bare {:.0}, ours {:.0}, rmcp {:.0}", of[0], of[1], of[2]);
    }
}

/// In a process of its own, because memory that was used once is not given back.
fn grown(who: &str, n_tools: &str) -> f64 {
    let program = std::env::current_exe().unwrap();
    let all = (0..5).map(|_| {
        let output = Command::new(&program).args([ONE, "start", who, N_SERVERS, n_tools]).output().unwrap();
        let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
        Duration::from_secs_f64(figures["grown"].as_f64().unwrap())
    });
    median(all.collect()).as_secs_f64()
}
