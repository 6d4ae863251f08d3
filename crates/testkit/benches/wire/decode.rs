//! Large answers: how long they take, and how much memory the client needs for one.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::bare::Pipe;
use crate::goal::{Goal, median};
use crate::load::Client;
use crate::on;
use crate::ours::Ours;
use crate::sdk::{Sdk, Threads};

/// Makes this program tell how much memory one client needs for one large answer.
pub(crate) const PEAK: &str = "--peak";
const MEGABYTE: usize = 1024 * 1024;

/// Whoever can be asked for much.
pub(crate) trait Reader: Client {
    /// Lists the tools and says how many there are.
    fn list(&self) -> impl Future<Output = usize> + Send;
    /// Gets so many bytes of text and says how many characters came.
    fn text(&self, bytes: usize) -> impl Future<Output = usize> + Send;
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask {
    Tools(usize),
    Text(usize),
}

impl Ask {
    pub(crate) fn new(kind: &str, n: usize) -> Self {
        if kind == "tools" { Self::Tools(n) } else { Self::Text(n) }
    }

    fn args(self) -> Vec<String> {
        match self {
            Self::Tools(n) => vec!["--tools".to_owned(), n.to_string()],
            Self::Text(_) => Vec::new(),
        }
    }

    /// So often in each round.
    const fn times(self) -> usize {
        match self {
            Self::Tools(_) => 20,
            Self::Text(MEGABYTE) => 30,
            Self::Text(_) => 7,
        }
    }

    async fn put(self, client: &impl Reader) {
        match self {
            Self::Tools(n) => assert_eq!(client.list().await, n),
            Self::Text(bytes) => assert!(client.text(bytes).await > bytes * 9 / 10),
        }
    }
}

async fn time(client: impl Reader, ask: Ask, times: usize) -> Duration {
    let mut all = Vec::new();
    for _ in 0..times {
        let started = Instant::now();
        ask.put(&client).await;
        all.push(started.elapsed());
    }
    client.stop().await;
    median(all)
}

fn bare(ask: Ask, times: usize) -> Duration {
    let args = ask.args();
    let mut pipe = Pipe::open(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let all = (0..times).map(|_| {
        let started = Instant::now();
        match ask {
            Ask::Tools(n) => assert!(pipe.ask("tools/list", "{}") > n),
            Ask::Text(bytes) => {
                let params = format!(r#"{{"name":"text","arguments":{{"bytes":{bytes}}}}}"#);
                assert!(pipe.ask("tools/call", &params) > bytes);
            }
        }
        started.elapsed()
    });
    median(all.collect())
}

async fn ours(ask: Ask, times: usize) -> Duration {
    let args = ask.args();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    time(Ours::stdio(&args, false).await, ask, times).await
}

async fn sdk(ask: Ask, times: usize) -> Duration {
    let args = ask.args();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    time(Sdk::stdio(&args).await, ask, times).await
}

/// The middle time of one contender.
pub(crate) fn one(who: &str, ask: Ask, times: usize) -> Duration {
    match who {
        "bare" => bare(ask, times),
        "ours" => on(Threads::One, ours(ask, times)),
        "rmcp" => on(Threads::One, sdk(ask, times)),
        _ => on(Threads::Two, sdk(ask, times)),
    }
}

pub(crate) fn measure() -> Vec<Goal> {
    println!("\nLarge answers over stdio, ms");
    println!(
        "  {:<28} {:>9} {:>9} {:>9} {:>9} {:>11}",
        "", "bare", "ours", "rmcp", "ours : 1", "ours : rmcp"
    );
    let asks = [
        ("200 tools", Ask::Tools(200)),
        ("1,000 tools", Ask::Tools(1000)),
        ("1 MB of text", Ask::Text(MEGABYTE)),
        ("10 MB of text", Ask::Text(10 * MEGABYTE)),
    ];
    let ratios = asks.map(|(title, ask)| {
        let (mut bares, mut our_own, mut sdks, mut sdks_two) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..crate::ROUNDS {
            let times = ask.times();
            bares.push(bare(ask, times));
            our_own.push(on(Threads::One, ours(ask, times)));
            sdks.push(on(Threads::One, sdk(ask, times)));
            sdks_two.push(on(Threads::Two, sdk(ask, times)));
        }
        let [bare, ours, sdk] = [median(bares), median(our_own), median(sdks).min(median(sdks_two))]
            .map(|time| time.as_secs_f64());
        let [to_bare, to_sdk] = [ours / bare, ours / sdk];
        println!(
            "  {title:<28} {:>9.2} {:>9.2} {:>9.2} {to_bare:>9.2} {to_sdk:>11.2}",
            bare * 1e3,
            ours * 1e3,
            sdk * 1e3
        );
        (to_bare, to_sdk)
    });
    let peaks = ["bare", "ours", "rmcp"].map(|who| (who, peak(who)));
    let peak_of = |who: &str| peaks.iter().find(|(name, _)| *name == who).map_or(0.0, |(_, peak)| *peak);
    for (who, peak) in peaks {
        println!("  memory for 10 MB of text, as a multiple of it: {who} {peak:.2}");
    }
    vec![
        Goal::at_most("1,000 tools, to rmcp", 0.3, ratios[1].1),
        Goal::at_most("10 MB over stdio, to rmcp", 0.65, ratios[3].1),
        Goal::at_most("10 MB over stdio, to bare", 1.7, ratios[3].0),
        Goal::at_most("memory for 10 MB, to the text", 3.0, peak_of("ours")),
    ]
}

/// In a process of its own, because a peak does not go away.
fn peak(who: &str) -> f64 {
    let program = std::env::current_exe().unwrap();
    let peaks = (0..5).map(|_| {
        let output = Command::new(&program).args([PEAK, who]).output().unwrap();
        Duration::from_secs_f64(String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0.0))
    });
    median(peaks.collect()).as_secs_f64()
}

pub(crate) fn print_peak(who: &str) {
    println!("{}", peak_of(who));
}

/// How much the memory grew, as a multiple of the answer.
pub(crate) fn peak_of(who: &str) -> f64 {
    let ask = Ask::Text(10 * MEGABYTE);
    let grown = match who {
        "bare" => {
            let mut pipe = Pipe::open(&[]);
            pipe.ask("tools/call", "{}");
            let before = memory("VmRSS:");
            let params = format!(r#"{{"name":"text","arguments":{{"bytes":{}}}}}"#, 10 * MEGABYTE);
            pipe.ask("tools/call", &params);
            memory("VmHWM:") - before
        }
        "ours" => on(Threads::One, async move { grown(Ours::stdio(&[], false).await, ask).await }),
        _ => on(Threads::One, async move { grown(Sdk::stdio(&[]).await, ask).await }),
    };
    grown / 10_240.0
}

async fn grown(client: impl Reader, ask: Ask) -> f64 {
    client.call().await;
    let before = memory("VmRSS:");
    ask.put(&client).await;
    let after = memory("VmHWM:");
    client.stop().await;
    after - before
}

/// Kilobytes, as Linux tells them; nothing elsewhere.
fn memory(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0.0)
}
