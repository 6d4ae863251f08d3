//! What bad servers cost the others: the same calls to the same six servers, with four good ones beside them and with one
//! that is dead, one that hangs, one that dies at every third call and one that never stops talking.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::front::Question;

use crate::contender::Contender;
use crate::goal::Goal;
use crate::measure::{Figures, Party, Turn, call, middle};
use crate::usage;
use crate::world::World;

/// Rounds, one of each kind.
const ROUNDS: usize = 9;
/// After a pause there is much to be heard at once.
const SETTLE: Duration = Duration::from_millis(1500);

fn bad() -> Vec<(&'static str, Value)> {
    let messages = [
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": "all is well"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 3, "progress": 1}}),
    ];
    let text = messages.map(|message| message.to_string() + "\n").concat();
    let forever = 1_u64 << 40;
    let flood = json!({"on": {
        "notifications/initialized": [{"repeat": {"text": text, "times": forever}}],
        "tools/list": [{"default": true}, {"stderr_repeat": {"text": "all is well\n", "times": forever}}],
    }});
    let crash =
        json!({"on": {"tools/call": {"times": [[{"default": true}], [{"default": true}], [{"exit": 1}]]}}});
    vec![
        ("crashing", crash),
        ("dead", json!({"start": [{"exit": 1}]})),
        ("flooding", flood),
        ("hung", json!({"start": [{"hang": true}]})),
    ]
}

/// All its processes stand still, or go on.
fn tell(party: &Party, signal: Signal) {
    for pid in usage::tree(party.running.pid()) {
        usage::signal(pid, signal);
    }
}

pub(crate) fn measure() -> (Value, Vec<Goal>) {
    println!("\nAmong bad servers: six good ones, with four good ones beside them and with four bad ones");
    let (quiet, noisy) = (World::new(10, 20), World::new(10, 20).with(bad()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let ours = Contender::ours();
        let parties =
            [Party::start(&ours, &quiet, 200).await, Party::start(&ours, &noisy, 120 + 7 + 7).await];
        let tools: Vec<Question> = (0..6).map(|n| call(&format!("mcp_s{n}_tool_0"))).collect();
        let (mut report, mut goals) = (serde_json::Map::new(), Vec::new());
        for party in &parties {
            party.turn(&tools, 4000, 4).await;
        }
        for (at_once, times) in [(1, 4000), (16, 12_000)] {
            let mut turns: [Vec<Turn>; 2] = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                tell(&parties[1], Signal::STOP);
                turns[0].push(turn(&parties[0], &tools, (times, at_once)).await);
                tell(&parties[1], Signal::CONT);
                tokio::time::sleep(SETTLE).await;
                turns[1].push(turn(&parties[1], &tools, (times, at_once)).await);
            }
            let ratios = |percent: usize| {
                let at = |turn: &Turn| {
                    turn.load.latencies[(turn.load.latencies.len() - 1) * percent / 100].as_secs_f64()
                };
                middle(turns[0].iter().zip(&turns[1]).map(|(quiet, noisy)| at(noisy) / at(quiet)).collect())
            };
            let [calm, loud] = [Figures::of(&turns[0]), Figures::of(&turns[1])];
            println!(
                "  {at_once:>2} in flight: p50 {:.0} and {:.0} µs, p99 {:.0} and {:.0} µs, CPU {:.1} and {:.1} µs; ratio of p50 {:.2}, of p99 {:.2}",
                calm.p50, loud.p50, calm.p99, loud.p99, calm.cpu, loud.cpu, ratios(50), ratios(99)
            );
            report.insert(
                format!("{at_once} in flight"),
                json!({"quiet_p50_us": calm.p50, "noisy_p50_us": loud.p50, "quiet_p99_us": calm.p99,
                       "noisy_p99_us": loud.p99, "p50_ratio": ratios(50), "p99_ratio": ratios(99)}),
            );
            goals.push(Goal::at_most(
                &format!("p99 among bad servers, {at_once} in flight, to quiet"),
                1.2,
                ratios(99),
            ));
        }
        (report.into(), goals)
    })
}

/// A turn, with a few calls to those beside them.
async fn turn(party: &Party, tools: &[Question], (times, at_once): (usize, usize)) -> Turn {
    let client = party.client.clone();
    let beside = tokio::spawn(async move {
        let names = ["mcp_crashing_echo", "mcp_flooding_echo", "mcp_s6_tool_0", "mcp_s7_tool_0"];
        for name in names.iter().cycle() {
            client.ask(&Question::call(name, r#"{"text":"x"}"#, "")).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let turn = party.turn(tools, times, at_once).await;
    beside.abort();
    turn
}
