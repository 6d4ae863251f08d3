//! Calls, large results and lists, each with everybody in turn.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::front::{Client, Load, Question};

use crate::contender::{Contender, Running};
use crate::goal::{Goal, median};
use crate::usage;
use crate::world::World;

/// Rounds in which everybody has a turn.
const ROUNDS: usize = 5;
/// Calls before it counts.
const WARM_UP: usize = 2000;

/// Medians over all rounds, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// A second.
    pub(crate) rate: f64,
    /// Computed by the gateway for each.
    pub(crate) cpu: f64,
}

/// What one turn took.
pub(crate) struct Turn {
    pub(crate) load: Load,
    pub(crate) cpu: Duration,
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

pub(crate) fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

impl Figures {
    pub(crate) fn of(turns: &[Turn]) -> Self {
        let at = |turn: &Turn, percent: usize| {
            turn.load.latencies[(turn.load.latencies.len() - 1) * percent / 100]
        };
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let n = |turn: &Turn| turn.load.latencies.len() as f64;
        Self {
            p50: micros(median(turns.iter().map(|turn| at(turn, 50)).collect())),
            p99: micros(median(turns.iter().map(|turn| at(turn, 99)).collect())),
            rate: middle(turns.iter().map(|turn| n(turn) / turn.load.elapsed.as_secs_f64()).collect()),
            cpu: middle(turns.iter().map(|turn| micros(turn.cpu) / n(turn)).collect()),
        }
    }

    fn json(&self) -> Value {
        json!({"p50_us": self.p50, "p99_us": self.p99, "per_second": self.rate, "cpu_us": self.cpu})
    }
}

/// A call that is answered with a word.
pub(crate) fn call(tool: &str) -> Question {
    Question::call(tool, "{}", "hello")
}

/// Somebody that runs, and a client of it.
pub(crate) struct Party {
    pub(crate) name: String,
    pub(crate) running: Running,
    pub(crate) client: Client,
    /// The tool that is called.
    tool: String,
    /// Megabytes before the first call: itself, and with what it started.
    idle: (f64, f64),
}

impl Party {
    /// Starts it and waits until it has all tools.
    pub(crate) async fn start(contender: &Contender, world: &World, n_tools: usize) -> Self {
        let running = contender.start(world);
        let client = Client::open(&running.url, running.protocol).await;
        let list = loop {
            let list = client.ask(&Question::list(n_tools)).await;
            if list.matches("\"inputSchema\"").count() >= n_tools {
                break list;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let end = list.find("tool_0\"").unwrap() + "tool_0".len();
        let start = list[..end].rfind('"').unwrap() + 1;
        let idle = usage::memory(running.pid(), "VmRSS");
        let tool = list[start..end].to_owned();
        Self { name: contender.name.clone(), running, client, tool, idle }
    }

    pub(crate) async fn turn(&self, questions: &[Question], times: usize, at_once: usize) -> Turn {
        let before = usage::cpu(self.running.pid());
        let load = self.client.load(questions, times, at_once).await;
        Turn { load, cpu: usage::cpu(self.running.pid()).saturating_sub(before) }
    }
}

/// The same for everybody, in another order each round.
async fn rounds(
    parties: &[Party],
    question: impl Fn(&Party) -> Question,
    (times, at_once): (usize, usize),
) -> Vec<Figures> {
    let mut turns: Vec<Vec<Turn>> = parties.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        for n in 0..parties.len() {
            let party = (n + round) % parties.len();
            turns[party].push(parties[party].turn(&[question(&parties[party])], times, at_once).await);
        }
    }
    turns.iter().map(|turns| Figures::of(turns)).collect()
}

fn show(title: &str, parties: &[Party], figures: &[Figures]) -> Value {
    println!("  {title:<22} {:>9} {:>9} {:>9} {:>9}", "p50 µs", "p99 µs", "a second", "CPU µs");
    let mut all = serde_json::Map::new();
    for (party, figures) in parties.iter().zip(figures) {
        let Figures { p50, p99, rate, cpu } = figures;
        println!("  {:<22} {p50:>9.1} {p99:>9.1} {rate:>9.0} {cpu:>9.1}", party.name);
        all.insert(party.name.clone(), figures.json());
    }
    all.into()
}

/// The figures of one of them.
fn of<'a>(name: &str, parties: &[Party], figures: &'a [Figures]) -> &'a Figures {
    &figures[parties.iter().position(|party| party.name == name).unwrap()]
}

fn on_one_thread<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn contenders(more: &[Contender]) -> Vec<Contender> {
    let ours = [Contender::direct(), Contender::floor(), Contender::ours(), Contender::ours_modern()];
    ours.into_iter().chain(more.iter().cloned()).collect()
}

async fn start(contenders: &[Contender], world: &World, n_tools: usize) -> Vec<Party> {
    let mut parties = Vec::new();
    for contender in contenders {
        parties.push(Party::start(contender, world, n_tools).await);
    }
    parties
}

pub(crate) fn calls(more: &[Contender]) -> (Value, Vec<Goal>) {
    println!("\nCalls, one server behind");
    let world = World::new(1, 1);
    on_one_thread(async {
        let parties = start(&contenders(more), &world, 1).await;
        for party in &parties {
            party.turn(&[call(&party.tool)], WARM_UP, 4).await;
        }
        let (mut report, mut all) = (serde_json::Map::new(), Vec::new());
        for (at_once, times) in [(1, 2000), (16, 6400), (64, 12_800)] {
            let figures = rounds(&parties, |party| call(&party.tool), (times, at_once)).await;
            let title = format!("{at_once} in flight");
            report.insert(title.clone(), show(&title, &parties, &figures));
            all.push(figures);
        }
        println!("  {:<22} {:>9} {:>9} {:>9}", "memory, MB", "idle", "with all", "peak");
        let mut memory = serde_json::Map::new();
        for party in &parties {
            let (peak, _) = usage::memory(party.running.pid(), "VmHWM");
            let (own, with_all) = party.idle;
            println!("  {:<22} {own:>9.1} {with_all:>9.1} {peak:>9.1}", party.name);
            memory.insert(
                party.name.clone(),
                json!({"idle_mb": own, "idle_tree_mb": with_all, "peak_mb": peak}),
            );
        }
        report.insert("memory".to_owned(), memory.into());
        let at = |name: &str, case: usize| *of(name, &parties, &all[case]);
        let idle = parties.iter().find(|party| party.name == "ours").unwrap().idle.0;
        let goals = vec![
            Goal::at_most(
                "CPU of a call, 1 in flight, to floor",
                2.5,
                at("ours", 0).cpu / at("floor", 0).cpu,
            ),
            Goal::at_least("calls/s, 64 in flight, to floor", 0.5, at("ours", 2).rate / at("floor", 2).rate),
            Goal::at_most("idle memory, MB", 10.6, idle),
        ];
        (report.into(), goals)
    })
}

pub(crate) fn large(more: &[Contender]) -> (Value, Vec<Goal>) {
    println!("\nLarge results");
    let world = World::new(1, 1);
    on_one_thread(async {
        let parties = start(&contenders(more), &world, 1).await;
        let mut report = serde_json::Map::new();
        for (title, bytes, times) in [("1 MB", 1_000_000, 20), ("10 MB", 10_000_000, 4)] {
            let arguments = format!(r#"{{"bytes":{bytes}}}"#);
            let call = |party: &Party| Question::call(&party.tool, &arguments, "striking thirteen");
            rounds(&parties, call, (2, 1)).await;
            let figures = rounds(&parties, call, (times, 1)).await;
            report.insert(title.to_owned(), show(title, &parties, &figures));
        }
        for party in &parties {
            println!("  {:<22} peak {:.1} MB", party.name, usage::memory(party.running.pid(), "VmHWM").0);
        }
        (report.into(), Vec::new())
    })
}

pub(crate) fn list(more: &[Contender]) -> (Value, Vec<Goal>) {
    println!("\nLists, ten servers with twenty tools each");
    let world = World::new(10, 20);
    on_one_thread(async {
        let many: Vec<_> = contenders(more).into_iter().filter(|contender| contender.fronts_many).collect();
        let parties = start(&many, &world, 200).await;
        rounds(&parties, |_| Question::list(200), (40, 1)).await;
        let figures = rounds(&parties, |_| Question::list(200), (300, 1)).await;
        let lists = show("tools/list", &parties, &figures);
        let calls = rounds(&parties, |party| call(&party.tool), (4800, 16)).await;
        let calls = show("calls, 16 in flight", &parties, &calls);
        let mut idle = serde_json::Map::new();
        for party in &parties {
            println!(
                "  {:<22} idle {:.1} MB, with all it started {:.1} MB",
                party.name, party.idle.0, party.idle.1
            );
            idle.insert(party.name.clone(), json!({"idle_mb": party.idle.0, "idle_tree_mb": party.idle.1}));
        }
        let ratio = of("ours", &parties, &figures).p50 / of("floor", &parties, &figures).p50;
        let cpu = of("ours", &parties, &figures).cpu / of("floor", &parties, &figures).cpu;
        let goals = vec![
            Goal::at_most("tools/list of 10 x 20, p50 to floor", 4.0, ratio),
            Goal::at_most("tools/list of 10 x 20, CPU to floor", 4.0, cpu),
        ];
        (json!({"tools/list": lists, "calls, 16 in flight": calls, "memory": idle}), goals)
    })
}
